// Records are deleted on a disk that has no room for the manifest that says so, and the machine stops after any step:
// what is left of the log has no gap.
import { expect, it } from 'vitest';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
} from '../helpers/store-fixture.ts';

const config = logConfig({ segmentBytes: 200 });

it.each([1, 2, 3, 4])('records deleted on a full disk leave a log without a gap (seed %i)', async (seed) => {
  const first = new FaultyFileSystem(['/']);
  const options = { directory: '/data', index: new MemoryIndex(), tailCacheBytes: 0, diskReserveBytes: 0 };
  const { store } = await openStore({ ...options, fileSystem: first.process() });
  const log = await store.openPartition({ ...PARTITION, config });
  for (let n = 0; n < 12; n++) await append(log, [record(`${n}`)]).flushed;
  await store.close();
  const image = first.image();
  const random = seededRandom(seed);
  for (let steps = 0, isDone = false; !isDone; steps++) {
    const files = FaultyFileSystem.of(image);
    const opened = await openStore({ ...options, fileSystem: files.process() });
    const again = await opened.store.openPartition({ ...PARTITION, leaderEpoch: 2, config });
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    files.capacityBytes = files.usedBytes;
    again.deleteRecords(9).then(
      () => {
        isDone = true;
      },
      () => {},
    );
    for (let turns = 0; turns < steps; turns++) await new Promise((resolve) => setImmediate(resolve));
    files.capacityBytes = Number.POSITIVE_INFINITY;
    files.crash('anything', random);
    const after = await openStore({ ...options, fileSystem: files.process() });
    const left = await after.store.openPartition({ ...PARTITION, leaderEpoch: 3, config });
    const offsets = (await readAll(left)).map(({ offset }) => offset);
    expect(left.logEndOffset, `${steps} steps`).toBe(12);
    expect(offsets, `${steps} steps`).toEqual(offsets.map((_, index) => left.logStartOffset + index));
    expect(offsets.at(-1)).toBe(11);
  }
});
