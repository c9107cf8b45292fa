// The dial: when a log that need not flush every batch flushes, what is told and shown before, and what a failure or
// a crash may take then.
import { describe, expect, it } from 'vitest';
import type { LogConfig } from '../../storage/log-config.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { type Fault, FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  type StoreFixture,
  valuesOf,
} from '../helpers/store-fixture.ts';

interface Opened extends StoreFixture {
  readonly partition: PartitionLog;
}

class Machine {
  readonly files = new FaultyFileSystem(['/']);
  readonly #index = new MemoryIndex();
  #leaderEpoch = 0;

  async open(config: Partial<LogConfig>, options: Partial<LogStoreOptions> = {}): Promise<Opened> {
    const fileSystem = this.files.process();
    const fixture = await openStore({ directory: '/data', fileSystem, index: this.#index, ...options });
    const leaderEpoch = ++this.#leaderEpoch;
    const partition = await fixture.store.openPartition({
      ...PARTITION,
      leaderEpoch,
      config: logConfig(config),
    });
    partition.onCommitted = (offset) => partition.setHighWatermark(offset);
    return { ...fixture, partition };
  }

  /** The power goes: nothing is left that was not flushed. */
  async afterCrash(): Promise<Opened> {
    this.files.crash('nothing', seededRandom(1));
    return this.open({});
  }

  fileBytes(): number {
    const paths = this.files.paths().filter((path) => path.endsWith('.log'));
    return paths.reduce((bytes, path) => bytes + this.files.bytesOf(path).length, 0);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let each = 0; each < count; each++) await turn();
}

/** So many records, each a batch of its own commit. */
async function commit(log: PartitionLog, values: readonly string[]): Promise<void> {
  for (const value of values) expect(await append(log, [record(value)]).committed).toBeUndefined();
  await turn();
}

const LAZY = { flushMessages: 1_000_000, flushMs: 1000 };

describe('flush.messages = 1', () => {
  it('commits with the flush: nobody is told, and nothing is seen, before', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({});
    machine.files.arm({ kind: 'datasync-hangs' });
    const appended = append(partition, [record('a')]);
    while (!machine.files.isHanging) await turn();
    let isCommitted = false;
    void appended.committed.then(() => {
      isCommitted = true;
    });
    await turns(5);
    expect([isCommitted, partition.highWatermark, partition.flushedOffset]).toEqual([false, 0, 0]);
    machine.files.releaseHanging();
    await appended.committed;
    expect([partition.highWatermark, partition.flushedOffset, store.counters.flushes]).toEqual([1, 1, 1]);
  });
});

describe('flush.messages above 1', () => {
  it('commits with the write, and flushes when as many records wait', async () => {
    const { partition, store } = await new Machine().open({ ...LAZY, flushMessages: 5 });
    await commit(partition, ['a', 'b', 'c', 'd']);
    expect([partition.highWatermark, partition.flushedOffset, store.counters.flushes]).toEqual([4, 0, 0]);
    expect(valuesOf(await readAll(partition, 0, 1 << 16, partition.highWatermark))).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    await append(partition, [record('e')]).flushed;
    expect([partition.highWatermark, partition.flushedOffset]).toEqual([5, 5]);
    expect([store.counters.flushes, store.counters.flushedBatches]).toEqual([1, 5]);
    expect(store.counters.unflushedBytes).toBe(0);
  });

  it('counts records, not batches', async () => {
    const { partition, store } = await new Machine().open({ ...LAZY, flushMessages: 5 });
    await append(
      partition,
      ['a', 'b', 'c', 'd', 'e'].map((value) => record(value)),
    ).flushed;
    expect(store.counters.flushes).toBe(1);
  });

  it('flushes so long after the first record that waits, and not again when nothing does', async () => {
    const { partition, store, clock } = await new Machine().open(LAZY);
    const first = append(partition, [record('a')]);
    await first.committed;
    await turn();
    clock.advance(600);
    const second = append(partition, [record('b')]);
    await second.committed;
    clock.advance(399);
    await turns(5);
    expect(store.counters.flushes).toBe(0);
    clock.advance(1);
    await Promise.all([first.flushed, second.flushed]);
    expect([store.counters.flushes, partition.flushedOffset]).toEqual([1, 2]);
    clock.advance(10_000);
    await turns(5);
    expect(store.counters.flushes).toBe(1);
    await commit(partition, ['c']);
    clock.advance(1000);
    await turns(5);
    expect([store.counters.flushes, partition.flushedOffset]).toEqual([2, 3]);
  });

  it('flushes by time alone when there is no number, and by number alone when there is no time', async () => {
    const never = Number.POSITIVE_INFINITY;
    const byTime = await new Machine().open({ flushMessages: never, flushMs: 50 });
    await commit(byTime.partition, ['a', 'b']);
    byTime.clock.advance(50);
    await turns(5);
    expect(byTime.partition.flushedOffset).toBe(2);
    const byNumber = await new Machine().open({ flushMessages: 2, flushMs: never });
    await commit(byNumber.partition, ['a']);
    byNumber.clock.advance(1e9);
    await turns(5);
    expect(byNumber.partition.flushedOffset).toBe(0);
    await append(byNumber.partition, [record('b')]).flushed;
    expect(byNumber.partition.flushedOffset).toBe(2);
  });

  it('flushes every write when flush.ms is 0, and commits before', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ ...LAZY, flushMs: 0 });
    machine.files.arm({ kind: 'datasync-hangs' });
    await commit(partition, ['a']);
    while (machine.files.isArmed) await turn();
    expect([partition.highWatermark, partition.flushedOffset]).toEqual([1, 0]);
    machine.files.releaseHanging();
    await turns(5);
    expect(partition.flushedOffset).toBe(1);
  });

  it('flushes when memory is short: what waits for the disk cannot leave it', async () => {
    const { partition, store } = await new Machine().open(LAZY, { tailCacheBytes: 20_000 });
    await commit(partition, ['small']);
    expect(store.counters.flushes).toBe(0);
    await append(partition, [record('x'.repeat(30_000))]).flushed;
    expect([store.counters.flushes, store.counters.unflushedBytes]).toEqual([1, 0]);
  });

  it('keeps what waits readable, whatever the cache would rather hold', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open(LAZY, { tailCacheBytes: 100_000 });
    const other = await store.openPartition({ ...PARTITION, partition: 1, logId: 2 });
    await commit(partition, ['unflushed']);
    const read = machine.files.bytesRead;
    for (let each = 0; each < 20; each++) await append(other, [record('x'.repeat(20_000))]).flushed;
    expect(valuesOf(await readAll(partition, 0, 1 << 16, 1))).toEqual(['unflushed']);
    expect(machine.files.bytesRead).toBe(read);
  });

  it('loses no more by a crash than what was not flushed', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ ...LAZY, flushMessages: 3 });
    await commit(partition, ['a', 'b']);
    await append(partition, [record('c')]).flushed;
    await commit(partition, ['d', 'e']);
    expect(valuesOf(await readAll((await machine.afterCrash()).partition))).toEqual(['a', 'b', 'c']);
  });

  it('loses nothing when the process alone dies', async () => {
    const machine = new Machine();
    const { partition } = await machine.open(LAZY);
    await commit(partition, ['a', 'b']);
    machine.files.kill();
    expect(valuesOf(await readAll((await machine.open({})).partition))).toEqual(['a', 'b']);
  });

  it('leaves a closed log on disk, and nothing to scan', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open(LAZY);
    await commit(partition, ['a', 'b']);
    await store.close();
    const again = await machine.open({});
    expect(again.store.counters.recoveredBytes).toBe(0);
    expect(valuesOf(await readAll((await machine.afterCrash()).partition))).toEqual(['a', 'b']);
  });

  it('has a segment on disk when the next one begins', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ ...LAZY, segmentBytes: 300 });
    await commit(partition, ['a', 'b', 'c', 'd']);
    expect(partition.segmentCount).toBeGreaterThan(1);
    const values = valuesOf(await readAll((await machine.afterCrash()).partition));
    expect(values.length).toBeGreaterThan(0);
    expect(values).toEqual(['a', 'b', 'c', 'd'].slice(0, values.length));
  });

  it('writes checkpoints of what is flushed only', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ ...LAZY, flushMessages: 4 }, { checkpointBytes: 100 });
    await commit(partition, ['a', 'b', 'c']);
    await append(partition, [record('d')]).flushed;
    await commit(partition, ['e', 'f']);
    await turns(20);
    const checkpoint: unknown = JSON.parse(
      machine.files.bytesOf('/data/topics/events/0/recovery-checkpoint.json').toString(),
    );
    expect(checkpoint).toMatchObject({ logEndOffset: 4 });
    expect(valuesOf(await readAll((await machine.afterCrash()).partition))).toEqual(['a', 'b', 'c', 'd']);
  });

  it('leaves nothing waiting when the topic is deleted', async () => {
    const { partition, store } = await new Machine().open(LAZY);
    await commit(partition, ['a']);
    expect(store.counters.unflushedBytes).toBeGreaterThan(0);
    await store.deleteTopic(PARTITION.topic, PARTITION.topicId);
    expect(store.counters.unflushedBytes).toBe(0);
  });
});

describe('turning the dial of an open log', () => {
  it('to 1 flushes what was left, and commits with the flush from then on', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open(LAZY);
    const before = append(partition, [record('a')]);
    await before.committed;
    partition.setConfig(logConfig({}));
    await before.flushed;
    expect(partition.flushedOffset).toBe(1);
    machine.files.arm({ kind: 'datasync-hangs' });
    const after = append(partition, [record('b')]);
    while (!machine.files.isHanging) await turn();
    await turns(5);
    expect(partition.highWatermark).toBe(1);
    machine.files.releaseHanging();
    await after.committed;
    expect([partition.highWatermark, store.counters.flushes]).toEqual([2, 2]);
  });

  it('to 1 while a commit is under way flushes that too', async () => {
    const { partition } = await new Machine().open(LAZY);
    const { flushed } = append(partition, [record('a')]);
    await turn();
    partition.setConfig(logConfig({}));
    expect(await flushed).toBeUndefined();
  });

  it('from 1 up keeps the promise of what was appended before', async () => {
    const { partition, store } = await new Machine().open({});
    const { committed } = append(partition, [record('a')]);
    partition.setConfig(logConfig(LAZY));
    await committed;
    expect([partition.flushedOffset, store.counters.flushes]).toEqual([1, 1]);
    await commit(partition, ['b']);
    expect([partition.highWatermark, store.counters.flushes]).toEqual([2, 1]);
  });

  it('changes nothing when nothing waits', async () => {
    const { partition, store } = await new Machine().open(LAZY);
    partition.setConfig(logConfig({}));
    await turns(5);
    expect(store.counters.flushes).toBe(0);
    await store.close();
  });
});

describe('a failure of a log that leaves batches unflushed', () => {
  it.each<[string, Fault]>([
    ['fails', { kind: 'write-fails', code: 'EIO', afterBytes: 50 }],
    ['finds the disk full', { kind: 'write-fails', code: 'ENOSPC', afterBytes: 50 }],
  ])('a write that %s takes nothing with it that was committed before', async (_what, fault) => {
    const machine = new Machine();
    const { partition, store } = await machine.open(LAZY);
    await commit(partition, ['a', 'b']);
    const bytes = machine.fileBytes();
    machine.files.arm(fault);
    expect(await append(partition, [record('c')]).committed).toBeDefined();
    expect(await codeOf(() => append(partition, [record('d')]))).toBe('sticky');
    expect(valuesOf(await readAll(partition, 0, 1 << 16, partition.highWatermark))).toEqual(['a', 'b']);
    await turns(5);
    expect(machine.fileBytes()).toBe(bytes);
    await store.closePartition(partition);
    expect(valuesOf(await readAll((await machine.afterCrash()).partition))).toEqual(['a', 'b']);
  });

  it('a flush that fails leaves it readable until it is reopened, and never calls it durable', async () => {
    const machine = new Machine();
    const { partition, store, clock } = await machine.open(LAZY);
    const first = append(partition, [record('a')]);
    await first.committed;
    await turn();
    clock.advance(1000);
    await first.flushed;
    const lost = append(partition, [record('b')]);
    await lost.committed;
    await turn();
    machine.files.arm({ kind: 'datasync-fails' });
    clock.advance(1000);
    expect((await lost.flushed)?.code).toBe('io');
    expect(await codeOf(() => append(partition, [record('c')]))).toBe('sticky');
    expect(valuesOf(await readAll(partition, 0, 1 << 16, partition.highWatermark))).toEqual(['a', 'b']);
    await turns(5);
    await store.closePartition(partition);
    const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    expect(valuesOf(await readAll(again))).toEqual(['a']);
  });

  it('a flush by time that hangs fails the log in time, and what comes back late is kept', async () => {
    const machine = new Machine();
    const { partition, store, clock } = await machine.open(LAZY);
    const { committed, flushed } = append(partition, [record('a')]);
    await committed;
    await turn();
    machine.files.arm({ kind: 'datasync-hangs' });
    clock.advance(1000);
    while (machine.files.isArmed) await turn();
    clock.advance(30_000);
    expect((await flushed)?.message).toContain('was not done in 30000 ms');
    await store.closePartition(partition);
    expect(await codeOf(store.openPartition({ ...PARTITION, leaderEpoch: 2 }))).toBe('sticky');
    machine.files.releaseHanging();
    await turns(5);
    expect(valuesOf(await readAll((await machine.afterCrash()).partition))).toEqual(['a']);
  });
});
