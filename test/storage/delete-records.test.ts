// The log's start moves on demand: at once, durably, and with the files below it, whatever crashes and whatever fails.
import { describe, expect, it } from 'vitest';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
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

const LOG = '/data/topics/events/0';

/** A batch of one record per segment. */
const ONE_EACH = logConfig({ segmentBytes: 1 });

class Machine {
  readonly files = new FaultyFileSystem(['/']);
  readonly index = new MemoryIndex();
  #epoch = 0;

  async open(config = ONE_EACH): Promise<StoreFixture & { readonly partition: PartitionLog }> {
    const { files, index } = this;
    const fixture = await openStore({
      directory: '/data',
      fileSystem: files.process(),
      index,
      checkIntervalMs: 0,
    });
    this.#epoch++;
    const partition = await fixture.store.openPartition({ ...PARTITION, leaderEpoch: this.#epoch, config });
    partition.onCommitted = (offset) => partition.setHighWatermark(offset);
    return { ...fixture, partition };
  }

  /** Records 0 to count − 1, flushed. */
  async filled(
    count: number,
    config = ONE_EACH,
  ): Promise<StoreFixture & { readonly partition: PartitionLog }> {
    const opened = await this.open(config);
    await fill(opened.partition, count);
    return opened;
  }

  get segments(): string[] {
    return this.files.paths().filter((path) => path.endsWith('.log'));
  }
}

async function fill(partition: PartitionLog, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await append(partition, [record(String(partition.logEndOffset))]).flushed;
  }
}

const valuesBetween = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => String(from + index));

describe('deleting records', () => {
  it('moves the start at once, and makes readers below it start over', async () => {
    const { partition } = await new Machine().filled(6);
    let told = -1;
    partition.onStartMoved = () => {
      told = partition.logStartOffset;
    };
    const deleting = partition.deleteRecords(4);
    expect(partition.logStartOffset).toBe(4);
    expect(told).toBe(4);
    expect(await codeOf(partition.read(3, 1000, 6))).toBe('offset-out-of-range');
    expect(await deleting).toBe(4);
    expect(valuesOf(await readAll(partition))).toEqual(['4', '5']);
  });

  it('removes the files that lie wholly below the start, and no other', async () => {
    const machine = new Machine();
    const { partition } = await machine.filled(6, logConfig({ segmentBytes: 250 }));
    const before = machine.segments.length;
    expect(before).toBeGreaterThan(2);
    await partition.deleteRecords(1);
    expect(machine.segments.length).toBe(before);
    await partition.deleteRecords(5);
    expect(machine.segments).toEqual([`${LOG}/00000001-00000000000000000004.log`]);
    expect(partition.segmentCount).toBe(1);
    expect(valuesOf(await readAll(partition, 5))).toContain('5');
  });

  it('empties a log whole, which then goes on at its end, across a restart and a crash', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.filled(3);
    expect(await partition.deleteRecords(3)).toBe(3);
    expect(machine.segments).toEqual([]);
    expect([partition.logStartOffset, partition.logEndOffset]).toEqual([3, 3]);
    expect(partition.endOfEpoch(1)).toEqual({ leaderEpoch: 1, endOffset: 3 });
    await store.close();

    const again = await machine.open();
    expect([again.partition.logStartOffset, again.partition.logEndOffset]).toEqual([3, 3]);
    expect(again.log.named('log.records-missing')).toEqual([]);
    machine.files.crash('nothing', seededRandom(1));

    const { partition: last } = await machine.open();
    expect([last.logStartOffset, last.logEndOffset]).toEqual([3, 3]);
    await fill(last, 1);
    expect(valuesOf(await readAll(last))).toEqual(['3']);
  });

  it('at or below the start changes nothing', async () => {
    const machine = new Machine();
    const { partition } = await machine.filled(4);
    await partition.deleteRecords(2);
    machine.files.arm({ kind: 'open-fails', code: 'EIO', files: /manifest/ });
    expect(await partition.deleteRecords(2)).toBe(2);
    expect(await partition.deleteRecords(0)).toBe(2);
    expect(machine.files.isArmed).toBe(true);
  });

  it('above the high watermark is refused', async () => {
    const { partition } = await new Machine().filled(4);
    partition.setHighWatermark(3);
    expect(await codeOf(partition.deleteRecords(4))).toBe('offset-out-of-range');
    expect(await codeOf(partition.deleteRecords(-1))).toBe('offset-out-of-range');
    expect(partition.logStartOffset).toBe(0);
  });

  it('leaves a segment alone that an append is under way to, and takes it in the next round', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.filled(3, logConfig({}));
    const appending = append(partition, [record('3')]);
    expect(await partition.deleteRecords(3)).toBe(3);
    await appending.flushed;
    expect(valuesOf(await readAll(partition, 3))).toContain('3');
    await partition.deleteRecords(4);
    await store.maintain();
    expect(machine.segments).toEqual([]);
    await fill(partition, 1);
    expect(valuesOf(await readAll(partition))).toEqual(['4']);
  });

  it('several times at once writes the manifest once for those that wait', async () => {
    const machine = new Machine();
    const { partition } = await machine.filled(8);
    const starts = await Promise.all([2, 5, 3, 7].map((offset) => partition.deleteRecords(offset)));
    expect(starts).toEqual([7, 7, 7, 7]);
    expect(machine.segments.length).toBe(1);
  });

  it('while another deletion is being written says nothing against that one', async () => {
    for (const ticks of [1, 3, 5, 7, 9, 12, 15]) {
      const machine = new Machine();
      const { partition } = await machine.filled(8);
      const first = partition.deleteRecords(2);
      for (let tick = 0; tick < ticks; tick++) await new Promise((resolve) => setImmediate(resolve));
      const second = partition.deleteRecords(5);
      expect(await first, `${ticks} turns`).toBeGreaterThanOrEqual(2);
      expect(await second, `${ticks} turns`).toBe(5);
      machine.files.crash('nothing', seededRandom(1));
      expect((await machine.open()).partition.logStartOffset).toBe(5);
    }
  });

  it('is refused by a log that has failed or is closed', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.filled(3);
    machine.files.arm({ kind: 'datasync-fails' });
    await append(partition, [record('3')]).flushed;
    expect(await codeOf(partition.deleteRecords(2))).toBe('sticky');
    expect(partition.logStartOffset).toBe(0);
    await store.closePartition(partition);
    expect(await codeOf(partition.deleteRecords(2))).toBe('closed');
  });
});

describe('when the file system fails', () => {
  it('the error is told, and the next round makes the start durable', async () => {
    const machine = new Machine();
    const { partition, store } = await machine.filled(4);
    machine.files.arm({ kind: 'rename-fails', files: /manifest/ });
    expect(await codeOf(partition.deleteRecords(3))).toBe('io');
    expect(partition.logStartOffset).toBe(3);
    expect(machine.segments.length).toBe(4);
    await store.maintain();
    expect(machine.segments.length).toBe(1);
    machine.files.crash('nothing', seededRandom(2));
    expect((await machine.open()).partition.logStartOffset).toBe(3);
  });

  it('because the disk is full, room is made first', async () => {
    const machine = new Machine();
    const { partition } = await machine.filled(4);
    machine.files.arm({ kind: 'write-fails', code: 'ENOSPC', afterBytes: 0, files: /manifest/ });
    expect(await partition.deleteRecords(4)).toBe(4);
    machine.files.crash('nothing', seededRandom(3));
    const { partition: again } = await machine.open();
    expect([again.logStartOffset, again.logEndOffset]).toEqual([4, 4]);
  });

  it('to remove a file, the log goes on without it, and the next opening removes it', async () => {
    const machine = new Machine();
    const { partition, store, log } = await machine.filled(4);
    machine.files.arm({ kind: 'unlink-fails', files: /\.log$/ });
    expect(await partition.deleteRecords(3)).toBe(3);
    expect(log.named('log.segment-not-removed').length).toBe(1);
    expect(machine.segments.length).toBe(2);
    await store.close();
    const { partition: again } = await machine.open();
    expect(machine.segments.length).toBe(1);
    expect(valuesOf(await readAll(again))).toEqual(['3']);
  });
});

describe('a crash at any point', () => {
  it.each([
    ['of some records', 4, 6],
    ['of all records', 6, 6],
  ])(
    'while records are deleted, %s, leaves the old start or the new one',
    { timeout: 120_000 },
    async (_what, before, end) => {
      for (let seed = 0; seed < 120; seed++) {
        const random = seededRandom(seed);
        const machine = new Machine();
        const { partition } = await machine.filled(end);
        let acknowledged = false;
        void partition.deleteRecords(before).then(() => {
          acknowledged = true;
        });
        for (let turns = Math.floor(random() * 40); turns > 0; turns--) await nextTurn();
        // Of a process that was killed the next one sees what is not on disk yet.
        if (seed % 4 === 3) machine.files.kill();
        else machine.files.crash((['nothing', 'everything', 'anything'] as const)[seed % 4]!, random);

        // The next opening may be interrupted as well, while it removes what is left.
        const reopening = machine.open().catch(() => undefined);
        for (let turns = Math.floor(random() * 60); turns > 0; turns--) await nextTurn();
        machine.files.crash('anything', random);
        void reopening;

        const { partition: again, log } = await machine.open();
        const start = again.logStartOffset;
        expect(again.logEndOffset, `seed ${seed}`).toBe(end);
        expect([0, before], `seed ${seed}`).toContain(start);
        if (acknowledged) expect(start, `seed ${seed}`).toBe(before);
        expect(valuesOf(await readAll(again)), `seed ${seed}`).toEqual(valuesBetween(start, end));
        expect(machine.segments.length, `seed ${seed}`).toBe(end - start);
        expect(log.named('log.records-missing')).toEqual([]);
        machine.files.kill();
      }
    },
  );
});

describe('a manifest that a killed process has renamed and not flushed', () => {
  it('is on disk before the next process removes files for its sake', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const machine = new Machine();
      const { partition } = await machine.filled(2);
      // Whatever else is being written would flush the directory too.
      for (let turns = 0; turns < 50; turns++) await nextTurn();
      void partition.deleteRecords(2).catch(() => {});
      while (!machine.files.bytesOf(`${LOG}/manifest.json`).includes('"logStartOffset":2')) await nextTurn();
      machine.files.kill();
      void machine.open().catch(() => {});
      while (machine.segments.length > 0) await nextTurn();
      machine.files.crash('anything', seededRandom(seed));
      const { partition: again } = await machine.open();
      expect([again.logStartOffset, again.logEndOffset], `seed ${seed}`).toEqual([2, 2]);
      machine.files.kill();
    }
  });
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
