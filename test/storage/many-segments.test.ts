// What does not grow with the number of segments: lookups by time and by offset, epochs' ends, open files.
import { describe, expect, it } from 'vitest';
import type { IndexRow } from '../../storage/index-database.ts';
import { OpenFiles } from '../../storage/open-files.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  recordsOf,
} from '../helpers/store-fixture.ts';

/** Counts what it is asked. */
class CountingIndex extends MemoryIndex {
  questions = 0;

  override get(key: Buffer): Promise<Buffer | undefined> {
    this.questions++;
    return super.get(key);
  }
  override getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    this.questions++;
    return super.getMany(keys);
  }
  override floor(low: Buffer, high: Buffer): Promise<IndexRow | undefined> {
    this.questions++;
    return super.floor(low, high);
  }
}

const SEGMENTS = 500;

describe('a log of many segments', () => {
  it('asks the index as often as one of a few', async () => {
    const fileSystem = new FaultyFileSystem(['/']).process();
    const index = new CountingIndex();
    const config = logConfig({ segmentBytes: 1 });
    const before = await openStore({ directory: '/data', fileSystem, index });
    const written = await before.store.openPartition({ ...PARTITION, config });
    for (let offset = 0; offset < SEGMENTS; offset++) {
      await append(written, [record('x', 1000 + offset)]).flushed;
    }
    await before.store.close();

    const { store } = await openStore({ directory: '/data', fileSystem, index });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch: 2, config });
    expect(log.segmentCount).toBe(SEGMENTS);
    const asking = async (ask: () => Promise<unknown>): Promise<number> => {
      const { questions } = index;
      await ask();
      return index.questions - questions;
    };
    expect(await asking(() => log.offsetForTime(1400, SEGMENTS))).toBeLessThan(4);
    for (const timestampMs of [0, 1001, 1250, 1499]) {
      expect(await asking(() => log.offsetForTime(timestampMs, SEGMENTS))).toBeLessThan(3);
      expect((await log.offsetForTime(timestampMs, SEGMENTS))?.offset).toBe(Math.max(0, timestampMs - 1000));
    }
    expect(await asking(() => log.offsetForTime(1500, SEGMENTS))).toBe(0);
    expect(await asking(() => log.offsetOfMaxTimestamp(SEGMENTS))).toBeLessThan(3);
    expect(await asking(() => log.read(333, 1, SEGMENTS))).toBeLessThan(2);
    expect(recordsOf(await log.read(333, 1, SEGMENTS)).map(({ offset }) => offset)).toEqual([333]);
    expect(log.endOfEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: SEGMENTS });
    await store.close();
  });
});

describe('the budget of open files', () => {
  const names = Array.from({ length: 20 }, (_, index) => `/file-${index}`);

  async function made(max: number): Promise<{ files: OpenFiles; peak: () => number }> {
    const fileSystem = new FaultyFileSystem(['/']).process();
    for (const name of names) await (await fileSystem.open(name, 'create')).close();
    let open = 0;
    let peak = 0;
    const files = new OpenFiles(
      {
        ...fileSystem,
        open: async (path, mode) => {
          peak = Math.max(peak, ++open);
          try {
            const file = await fileSystem.open(path, mode);
            return {
              read: (...args) => file.read(...args),
              write: (...args) => file.write(...args),
              datasync: () => file.datasync(),
              truncate: (size) => file.truncate(size),
              close: async () => {
                await file.close();
                open--;
              },
            };
          } catch (error) {
            open--;
            throw error;
          }
        },
      },
      max,
    );
    return { files, peak: () => peak };
  }

  it('is not passed, whoever asks at once, and everybody gets his turn', async () => {
    const { files, peak } = await made(3);
    const used: string[] = [];
    await Promise.all(
      [...names, ...names].map((name) =>
        files.with(name, async (file) => {
          await file.read(Buffer.alloc(1), 0, 1, 0);
          used.push(name);
        }),
      ),
    );
    expect(used.sort()).toEqual([...names, ...names].sort());
    expect(peak()).toBe(3);
    await Promise.all(Array.from({ length: 9 }, (_, index) => files.create(`/new-${index}`)));
    expect(peak()).toBe(3);
    await files.close();
  });

  it('gets back what a file that cannot be opened took', async () => {
    const { files, peak } = await made(2);
    const missing = Array.from({ length: 9 }, (_, index) => files.with(`/missing-${index}`, async () => {}));
    expect(await Promise.all(missing.map((each) => codeOf(each)))).toEqual(missing.map(() => 'ENOENT'));
    await files.with(names[0]!, async () => {}); // there are twenty
    expect(peak()).toBeLessThanOrEqual(2);
    await files.close();
  });
});
