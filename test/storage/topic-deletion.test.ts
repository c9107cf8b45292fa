// A deleted topic: nothing of it is left, whatever crashes, the one that is made again is another, and thousands that go
// at once leave the file system to the others.
import { describe, expect, it } from 'vitest';
import { CoalescedWork } from '../../storage/coalesced-work.ts';
import type { FileSystem } from '../../storage/file-system.ts';
import type { LogStore } from '../../storage/log-store.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  readAll,
  record,
  valuesOf,
} from '../helpers/store-fixture.ts';

const config = logConfig({ segmentBytes: 30_000 });
const LARGE = 'v'.repeat(5000);

class Machine {
  readonly files = new FaultyFileSystem(['/']);
  readonly index = new MemoryIndex();

  async open(fileSystem: FileSystem = this.files.process()): Promise<LogStore> {
    return (await openStore({ directory: '/data', fileSystem, index: this.index, checkIntervalMs: 0 })).store;
  }

  get paths(): string[] {
    return this.files.paths().filter((path) => /^\/data\/(topics|deleted)\//.test(path));
  }
}

async function openTopic(store: LogStore, topicId: string, logId: number): Promise<PartitionLog[]> {
  const partitions: PartitionLog[] = [];
  for (let partition = 0; partition < 2; partition++) {
    const names = { topic: 'events', topicId, partition, logId: logId + partition };
    partitions.push(await store.openPartition({ ...names, leaderEpoch: 9, config }));
  }
  return partitions;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a topic that is deleted', () => {
  it('and made again has nothing of the old one: no record, no producer, no index entry', async () => {
    const machine = new Machine();
    const store = await machine.open();
    const [old] = await openTopic(store, 'old', 1);
    const producer = { producerId: 5, producerEpoch: 0, recordCount: 1 };
    for (let index = 0; index < 12; index++) {
      await append(old!, [record(LARGE)], { ...producer, baseSequence: index }).flushed;
    }
    await store.deleteTopic('events', 'old');
    expect(await codeOf(() => append(old!, [record('late')]))).toBe('deleted');
    expect(machine.index.size).toBe(0);

    const [anew] = await openTopic(store, 'new', 3);
    expect([anew!.logStartOffset, anew!.logEndOffset]).toEqual([0, 0]);
    // The old one would have refused it as a gap.
    await append(anew!, [record('first')], { ...producer, baseSequence: 40 }).flushed;
    expect(valuesOf(await readAll(anew!))).toEqual(['first']);
    await store.close();
    expect(machine.paths.filter((path) => path.startsWith('/data/deleted/'))).toEqual([]);
  });

  it('goes on going after a crash at any point, and takes no other incarnation with it', {
    timeout: 120_000,
  }, async () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = seededRandom(seed);
      const machine = new Machine();
      const store = await machine.open();
      const [log] = await openTopic(store, 'old', 1);
      for (let index = 0; index < 8; index++) await append(log!, [record(LARGE)]).flushed;
      let isGone = false;
      void store.deleteTopic('events', 'old', [1, 2]).then(() => {
        isGone = true;
      });
      for (let turns = Math.floor(random() * 50); turns > 0; turns--) await nextTurn();
      const wasGone = isGone;
      machine.files.crash((['nothing', 'everything', 'anything'] as const)[seed % 3]!, random);

      const again = await machine.open();
      const onDisk = await again.topicsOnDisk();
      if (wasGone) expect(onDisk, `seed ${seed}`).toEqual([]);
      // Its owner decided the deletion durably before, and asks for it until it is done.
      await again.deleteTopic('events', 'old', [1, 2]);
      const [anew] = await openTopic(again, 'new', 3);
      await append(anew!, [record('new')]).flushed;
      await again.deleteTopic('events', 'old', [1, 2]);
      expect(valuesOf(await readAll(anew!)), `seed ${seed}`).toEqual(['new']);
      await again.close();
      const left = machine.paths.filter((path) => path.startsWith('/data/deleted/'));
      expect(left, `seed ${seed}`).toEqual([]);
      const logIds = new Set(machine.index.rows().map(({ key }) => key.readUInt32BE(1)));
      for (const logId of logIds) expect(logId, `seed ${seed}`).toBeGreaterThan(2);
    }
  });

  it('is deleted while its partitions open, append and are looked after', async () => {
    const machine = new Machine();
    const store = await machine.open();
    const [log] = await openTopic(store, 'old', 1);
    const appended = append(log!, [record('a')]);
    const opening = store.openPartition({
      ...{ topic: 'events', topicId: 'old', partition: 7, logId: 8, leaderEpoch: 9, config },
    });
    const round = store.maintain();
    await store.deleteTopic('events', 'old');
    await Promise.all([appended.flushed, round]);
    expect(await codeOf(() => opening.then((each) => append(each, [record('late')])))).toBe('deleted');
    await store.close();
    expect(machine.paths).toEqual([]);
  });

  it('shares the flushes of names with hundreds of others, and its files go one by one', async () => {
    const machine = new Machine();
    const files = machine.files.process();
    let syncs = 0;
    let unlinking = 0;
    const counted: FileSystem = {
      ...files,
      syncDirectory: async (path) => {
        if (path === '/data/topics') syncs++;
        // A flush takes as long as many a rename.
        for (let turns = 0; turns < 100; turns++) await nextTurn();
        await files.syncDirectory(path);
      },
      removeTree: async (path) => {
        expect(++unlinking).toBe(1);
        await files.removeTree(path);
        unlinking--;
      },
    };
    const store = await machine.open(counted);
    const topics = Array.from({ length: 300 }, (_, index) => `topic-${index}`);
    const opening = topics.map((topic, logId) =>
      store.openPartition({ topic, topicId: `id-${topic}`, partition: 0, logId, leaderEpoch: 1, config }),
    );
    await Promise.all(opening);
    syncs = 0;
    await Promise.all(topics.map((topic) => store.deleteTopic(topic, `id-${topic}`)));
    expect(syncs).toBeLessThan(topics.length / 2);
    await store.close();
    expect(machine.paths).toEqual([]);
  });
});

describe('coalesced work', () => {
  it('is done once for those who ask while it is under way, after their asking', async () => {
    const ends: (() => void)[] = [];
    const work = new CoalescedWork(() => new Promise((resolve) => ends.push(resolve)));
    const first = work.run();
    const later = [work.run(), work.run()];
    expect(ends.length).toBe(1);
    ends[0]!();
    await first;
    await nextTurn();
    expect(ends.length).toBe(2);
    ends[1]!();
    await Promise.all(later);
  });

  it('that fails is tried anew for those behind', async () => {
    let runs = 0;
    const work = new CoalescedWork(async () => {
      await nextTurn();
      if (++runs === 1) throw new Error('the disk');
    });
    const outcomes = await Promise.allSettled([work.run(), work.run(), work.run()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(runs).toBe(2);
  });
});
