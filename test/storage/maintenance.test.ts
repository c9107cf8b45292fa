// The life of segments: when they close, what is known of them afterwards, and the rounds that let go of them.
import { describe, expect, it } from 'vitest';
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../storage/log-config.ts';
import { type Maintained, Maintenance } from '../../storage/maintenance.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  type StoreFixture,
  TestClock,
  TestLog,
  valuesOf,
} from '../helpers/store-fixture.ts';

const HOUR_MS = 3_600_000;
const LOG = '/data/topics/events/0';

class Machine {
  readonly files = new FaultyFileSystem(['/']);
  readonly clock = new TestClock();
  index = new MemoryIndex();
  #epoch = 0;

  constructor() {
    this.files.now = () => this.clock.now();
  }

  async open(config: Partial<LogConfig> = {}): Promise<StoreFixture & { readonly partition: PartitionLog }> {
    const { files, index, clock } = this;
    const fixture = await openStore({
      directory: '/data',
      fileSystem: files.process(),
      index,
      clock,
      checkIntervalMs: 0,
      tailCacheBytes: 0,
    });
    this.#epoch++;
    const partition = await fixture.store.openPartition({
      ...PARTITION,
      leaderEpoch: this.#epoch,
      config: logConfig(config),
    });
    partition.onCommitted = (offset) => partition.setHighWatermark(offset);
    return { ...fixture, partition };
  }

  get segments(): string[] {
    return this.files
      .paths()
      .filter((path) => path.endsWith('.log'))
      .map((path) => path.slice(LOG.length + 1));
  }
}

const first = '00000001-00000000000000000000.log';
const second = '00000001-00000000000000000001.log';

describe('a segment closes', () => {
  it('at an append, when it is as old as segment.ms', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ segmentMs: HOUR_MS });
    await append(partition, [record('a')]).flushed;
    machine.clock.advance(HOUR_MS - 1);
    await append(partition, [record('b')]).flushed;
    machine.clock.advance(1);
    await append(partition, [record('c')]).flushed;
    expect(machine.segments).toEqual([first, '00000001-00000000000000000002.log']);
  });

  it('in maintenance, when it is quiet, and nothing of it is left to do', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentMs: HOUR_MS });
    await append(partition, [record('a')]).flushed;
    machine.clock.advance(HOUR_MS);
    expect(partition.maintenanceDue()).toBe(true);
    await store.maintain();
    expect(partition.maintenanceDue()).toBe(false);
    await append(partition, [record('b')]).flushed;
    expect(machine.segments).toEqual([first, second]);
    expect(valuesOf(await readAll(partition))).toEqual(['a', 'b']);
    await store.close();
    machine.files.bytesRead = 0;
    const { partition: again, store: opened } = await machine.open();
    expect(opened.counters.recoveredBytes).toBe(0);
    expect(valuesOf(await readAll(again))).toEqual(['a', 'b']);
  });

  it('in maintenance, and a crash behind it leaves nothing to scan', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentMs: HOUR_MS });
    for (let index = 0; index < 9; index++) await append(partition, [record('a')]).flushed;
    machine.clock.advance(HOUR_MS);
    await store.maintain();
    await machine.index.get(Buffer.alloc(0)); // what closing stores is on its way behind the round
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    machine.files.crash('nothing', seededRandom(4));
    const { store: again, partition: opened } = await machine.open();
    expect(again.counters.recoveredBytes).toBe(0);
    expect(opened.logEndOffset).toBe(9);
  });

  it('when its index entries take segment.index.bytes', async () => {
    const machine = new Machine();
    const { partition } = await machine.open({ indexBytesMax: 32 });
    const value = 'v'.repeat(4096);
    for (let index = 0; index < 4; index++) await append(partition, [record(value)]).flushed;
    expect(machine.segments).toEqual([first, '00000001-00000000000000000003.log']);
  });

  it('earlier in a compacted topic, when compaction may wait no longer', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ compacts: true, maxCompactionLagMs: HOUR_MS });
    await append(partition, [record('a')]).flushed;
    machine.clock.advance(HOUR_MS);
    await store.maintain();
    await append(partition, [record('b')]).flushed;
    expect(machine.segments).toEqual([first, second]);
  });

  it('not while a record waits for the disk', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentMs: HOUR_MS });
    await append(partition, [record('a')]).flushed;
    machine.clock.advance(HOUR_MS - 1);
    const waiting = append(partition, [record('b')]);
    machine.clock.advance(1);
    await store.maintain();
    expect(await waiting.flushed).toBeUndefined();
    await append(partition, [record('c')]).flushed;
    expect(machine.segments).toEqual([first, '00000001-00000000000000000002.log']);
  });
});

describe('retention', () => {
  it('empties a quiet log: its last segment is closed for that, long before its own age', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentMs: 100 * HOUR_MS, retentionMs: 2 * HOUR_MS });
    await append(partition, [record('a', machine.clock.now() - 50 * HOUR_MS)]).flushed;
    machine.clock.advance(2 * HOUR_MS);
    await store.maintain();
    expect(partition.logStartOffset).toBe(0);
    machine.clock.advance(1);
    await store.maintain();
    expect([partition.logStartOffset, partition.logEndOffset]).toEqual([1, 1]);
    expect(machine.segments).toEqual([]);
    machine.files.crash('nothing', seededRandom(5));
    const { partition: again } = await machine.open();
    expect([again.logStartOffset, again.logEndOffset]).toEqual([1, 1]);
  });

  it('never passes the high watermark', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentBytes: 1, retentionBytes: 0 });
    partition.onCommitted = undefined;
    for (const value of ['a', 'b', 'c', 'd']) await append(partition, [record(value)]).flushed;
    partition.setHighWatermark(2);
    await store.maintain();
    expect(partition.logStartOffset).toBe(2);
  });

  it('of a compacted topic leaves all, but for what is below the start', async () => {
    const machine = new Machine();
    const config = { segmentBytes: 1, retentionMs: 1, retentionBytes: 0, deletes: false, compacts: true };
    const { partition, store } = await machine.open({
      ...config,
      minCleanableDirtyRatio: 1,
      minCompactionLagMs: HOUR_MS,
    });
    for (const value of ['a', 'b', 'c']) await append(partition, [record(value)]).flushed;
    await store.maintain();
    expect(partition.logStartOffset).toBe(0);
  });

  it('knows how old segments are after a restart, without reading them', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentBytes: 1 });
    for (const value of ['a', 'b']) await append(partition, [record(value, machine.clock.now())]).flushed;
    machine.clock.advance(2 * HOUR_MS);
    await append(partition, [record('c', machine.clock.now())]).flushed;
    await store.close();
    const { partition: again, store: opened } = await machine.open({ retentionMs: HOUR_MS });
    machine.files.bytesRead = 0;
    await opened.maintain();
    expect(again.logStartOffset).toBe(2);
    expect(machine.files.bytesRead).toBe(0);
  });

  it('looks into the segments when the index was lost, and at their files for the time of the append', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentBytes: 1 });
    const soon = machine.clock.now() + 100 * HOUR_MS;
    await append(partition, [record('back-dated', machine.clock.now() - 9 * HOUR_MS)]).flushed;
    await append(partition, [record('from the future', soon)]).flushed;
    await append(partition, [record('c', soon)]).flushed;
    await store.close();
    machine.index = new MemoryIndex();
    const { partition: again, store: opened } = await machine.open({ retentionMs: HOUR_MS });
    await opened.maintain();
    expect(again.logStartOffset).toBe(1);
    machine.clock.advance(HOUR_MS + 1);
    await opened.maintain();
    expect(again.logStartOffset).toBe(3);
  });

  it('does not need to read a segment whose file is old enough, nor one that is damaged', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentBytes: 1 });
    for (const value of ['a', 'b']) await append(partition, [record(value, machine.clock.now())]).flushed;
    await store.close();
    machine.index = new MemoryIndex();
    const bytes = machine.files.bytesOf(`${LOG}/${first}`);
    bytes[30]! ^= 1;
    machine.files.overwrite(`${LOG}/${first}`, bytes);
    const { partition: again, store: opened } = await machine.open({ retentionMs: HOUR_MS });
    await opened.maintain();
    expect(again.logStartOffset).toBe(0);
    machine.clock.advance(HOUR_MS + 1);
    await opened.maintain();
    expect(again.logStartOffset).toBe(2);
    expect(machine.segments).toEqual([]);
  });

  it('a wall clock that was ahead when an earlier process appended keeps nothing for ever', async () => {
    const machine = new Machine();
    machine.clock.skewMs = 1000 * HOUR_MS;
    const { partition, store } = await machine.open({ segmentBytes: 1 });
    for (const value of ['a', 'b']) await append(partition, [record(value, machine.clock.now())]).flushed;
    await store.close();
    machine.clock.skewMs = 0;
    const { partition: again, store: opened } = await machine.open({ retentionMs: HOUR_MS });
    await opened.maintain();
    expect(again.logStartOffset).toBe(0);
    machine.clock.advance(HOUR_MS + 1);
    await opened.maintain();
    expect(again.logStartOffset).toBe(1);
  });

  it('drops the index entries of what is gone', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.open({ segmentBytes: 30_000, retentionBytes: 0 });
    const value = 'v'.repeat(5000);
    for (let index = 0; index < 20; index++) await append(partition, [record(value)]).flushed;
    await store.maintain();
    await store.closePartition(partition);
    const bases = new Set(machine.index.rows().map(({ key }) => Number(key.readBigUInt64BE(5))));
    expect([...bases]).toEqual([partition.logStartOffset]);
    await store.close();
  });
});

describe('what recovery cut off', () => {
  it('is kept for the newest few cuts, and as long as the log reaches back to them', async () => {
    const machine = new Machine();
    for (let round = 0; round < 6; round++) {
      const { partition } = await machine.open();
      await append(partition, [record(`kept ${round}`)]).flushed;
      machine.files.kill();
      const newest = `${LOG}/${machine.segments.at(-1)}`;
      machine.files.overwrite(newest, Buffer.concat([machine.files.bytesOf(newest), Buffer.alloc(9, 1)]));
    }
    const { partition, store } = await machine.open();
    const cuts = () => machine.files.paths().filter((path) => path.endsWith('.cut'));
    expect(cuts().length).toBe(4);
    expect(cuts().at(-1)).toContain('-00000000000000000005.log');
    await partition.deleteRecords(6);
    await store.close();
    await machine.open();
    expect(cuts()).toEqual([]);
  });
});

/** A log that counts its rounds. */
class FakeLog implements Maintained {
  rounds = 0;
  readonly name: string;
  work: () => Promise<void> = async () => {};

  constructor(name: string) {
    this.name = name;
  }

  maintenanceDue(): boolean {
    return true;
  }

  async maintain(): Promise<void> {
    this.rounds++;
    await this.work();
  }
}

describe('rounds of maintenance', () => {
  const clock = new TestClock();
  const log = new TestLog();
  const maintenanceOf = (logs: FakeLog[], compact = async () => {}) =>
    new Maintenance({
      clock,
      log,
      checkIntervalMs: HOUR_MS,
      logs: () => [...logs],
      maintainShared: () => {},
      compact,
    });

  it('come every check interval, one log after the other, and one that fails keeps no other from its turn', async () => {
    const logs = [new FakeLog('a'), new FakeLog('b'), new FakeLog('c')];
    let running = 0;
    for (const each of logs) {
      each.work = async () => {
        expect(++running).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        if (each.name === 'b') throw new Error('out of order');
      };
    }
    const maintenance = maintenanceOf(logs);
    maintenance.start();
    for (let round = 1; round <= 3; round++) {
      clock.advance(HOUR_MS);
      await maintenance.run(); // the rest of the round that the timer began
      expect(logs.map(({ rounds }) => rounds)).toEqual([round, round, round]);
    }
    expect(log.named('log.not-maintained').length).toBe(3);
    await maintenance.stop();
    clock.advance(5 * HOUR_MS);
    expect(logs[0]!.rounds).toBe(3);
  });

  it('go on when what the logs share cannot be looked after', async () => {
    const logs = [new FakeLog('a')];
    const faults = new TestLog();
    const maintenance = new Maintenance({
      clock,
      log: faults,
      checkIntervalMs: HOUR_MS,
      logs: () => {
        if (faults.events.length === 3) throw new Error('as faulty');
        return logs;
      },
      maintainShared: () => {
        throw new Error('a fault');
      },
      compact: async () => {},
    });
    maintenance.start();
    for (let round = 1; round <= 3; round++) {
      clock.advance(HOUR_MS);
      await maintenance.run();
    }
    await maintenance.stop();
    expect(logs[0]!.rounds).toBe(2);
    expect(faults.named('maintenance.failed').length).toBe(4);
  });

  it('do not wait for a compaction that takes long', async () => {
    const logs = [new FakeLog('a')];
    let finish = () => {};
    const compacting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let compactions = 0;
    const maintenance = maintenanceOf(logs, () => {
      compactions++;
      return compacting;
    });
    const ending = maintenance.run();
    for (let round = 1; round <= 3; round++) {
      void maintenance.run();
      while (logs[0]!.rounds < round) await new Promise((resolve) => setImmediate(resolve));
      while (!maintenance.isBetweenRounds) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(compactions).toBe(1);
    finish();
    await ending;
    await maintenance.stop();
  });

  it('leave logs alone that close or are deleted meanwhile, and the store waits for them when it closes', async () => {
    const files = new FaultyFileSystem(['/']);
    const { store, log: told } = await openStore({
      directory: '/data',
      fileSystem: files.process(),
      index: new MemoryIndex(),
      checkIntervalMs: 0,
    });
    const config = { ...DEFAULT_LOG_CONFIG, segmentBytes: 1, retentionBytes: 0 };
    const partitions: PartitionLog[] = [];
    for (let partition = 0; partition < 4; partition++) {
      const each = await store.openPartition({ ...PARTITION, partition, logId: partition, config });
      each.onCommitted = (offset) => each.setHighWatermark(offset);
      for (const value of ['a', 'b', 'c']) await append(each, [record(value)]).flushed;
      partitions.push(each);
    }
    const round = store.maintain();
    await store.closePartition(partitions[2]!);
    await store.deleteTopic(PARTITION.topic, PARTITION.topicId);
    await round;
    await store.maintain();
    await store.close();
    expect(told.events.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    expect(files.paths().filter((path) => path.startsWith('/data/topics/'))).toEqual([]);
  });
});
