// Topics and power failures: what was set aside stays, what was deleted does not come back, at whatever step.
import { expect, it } from 'vitest';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  type StoreFixture,
  valuesOf,
} from '../helpers/store-fixture.ts';

const open = (files: FaultyFileSystem): Promise<StoreFixture> =>
  openStore({ directory: '/data', fileSystem: files.process(), index: new MemoryIndex() });

async function withOneRecord(): Promise<FaultyFileSystem> {
  const files = new FaultyFileSystem(['/']);
  const { store } = await open(files);
  await append(await store.openPartition(PARTITION), [record('old')]).flushed;
  await store.close();
  return files;
}

it('what lay where a topic belongs is set aside, and a power failure does not take it', async () => {
  const files = await withOneRecord();
  const { store } = await open(files);
  const log = await store.openPartition({ ...PARTITION, topicId: 'incarnation-2', logId: 2 });
  await append(log, [record('new')]).flushed;
  files.crash('nothing', Math.random);
  const aside = files.paths().filter((path) => path.startsWith('/data/set-aside/incarnation-1/0/'));
  expect(aside.some((path) => path.endsWith('.log'))).toBe(true);
});

it.each(['nothing', 'everything', 'anything'] as const)(
  'a topic is deleted and made again, and the machine stops after any step, keeping %s',
  async (keep) => {
    const image = (await withOneRecord()).image();
    const next = { ...PARTITION, topicId: 'incarnation-2', logId: 2 };
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const files = FaultyFileSystem.of(image);
      let isDeleted = false;
      const work = open(files).then(async ({ store }) => {
        await store.deleteTopic('events', PARTITION.topicId);
        isDeleted = true;
        await append(await store.openPartition(next), [record('new')]).flushed;
        isDone = true;
      });
      work.catch(() => {});
      for (let turns = 0; turns < steps; turns++) await new Promise((resolve) => setImmediate(resolve));
      files.crash(keep, seededRandom(steps));
      const { store } = await open(files);
      if (isDeleted) expect(await store.diskLeaderEpoch('events', PARTITION.topicId, 0), `${steps}`).toBe(0);
      const log = await store.openPartition({ ...next, leaderEpoch: 2 });
      const found = valuesOf(await readAll(log));
      expect(isDone ? [['new']] : [[], ['new']], `${steps} steps`).toContainEqual(found);
      await store.close();
      expect(files.paths().filter((path) => path.startsWith('/data/deleted/'))).toEqual([]);
    }
  },
);
