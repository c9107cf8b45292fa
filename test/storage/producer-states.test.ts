// The producers of a log: appends that are repeated, refused, forgotten; transactions; and what is known of them after
// the log was opened again, whatever is left of its snapshot.
import { describe, expect, it } from 'vitest';
import { readProducerSnapshot } from '../../storage/producer-snapshot.ts';
import { seededRandom } from '../helpers/faulty-file-system.ts';
import { append, record, write } from '../helpers/store-fixture.ts';
import { CHECKPOINT, PARTITION_DIRECTORY, ProducerLog, SNAPSHOT } from './producer-fixture.ts';

const DAY_MS = 24 * 3_600_000;

describe('a batch that comes again', () => {
  it('is not appended, has its offset of then, and its largest timestamp', async () => {
    const producers = await ProducerLog.open();
    expect(await producers.tell(7, 0, { count: 3 })).toBe(0);
    expect(await producers.tell(7, 3)).toBe(3);
    expect(await producers.tell(7, 0, { count: 3 })).toBe('again 0');
    expect(await producers.tell(7, 4)).toBe(4);
    expect(producers.send(7, 0, { count: 3 }).repeats).toMatchObject({
      maxTimestampMs: 1000,
      recordCount: 3,
    });
    expect(producers.log.logEndOffset).toBe(5);
    await producers.close();
  });

  it('is as safe as the first one, not safer: it waits for its flush', async () => {
    const producers = await ProducerLog.open();
    await producers.tell(7, 0);
    producers.files.arm({ kind: 'datasync-hangs' });
    const first = producers.send(7, 1);
    // The first is under way, then others are, too.
    await producers.ticks(20);
    const second = producers.send(7, 2);
    const [firstAgain, secondAgain, oldAgain] = [
      producers.send(7, 1),
      producers.send(7, 2),
      producers.send(7, 0),
    ];
    const settled: string[] = [];
    for (const [name, each] of Object.entries({ first, second, firstAgain, secondAgain, oldAgain })) {
      each.committed.then(() => settled.push(name));
    }
    await producers.ticks(20);
    expect(settled).toEqual(['oldAgain']);
    producers.files.releaseHanging();
    await Promise.all([secondAgain.committed, secondAgain.flushed]);
    expect(settled.slice(0, 3).sort()).toEqual(['first', 'firstAgain', 'oldAgain']);
    await producers.close();
  });

  it('is told that the first one was lost', async () => {
    const producers = await ProducerLog.open();
    producers.files.arm({ kind: 'datasync-fails' });
    const first = producers.send(7, 0);
    const again = producers.send(7, 0);
    expect([(await first.flushed)?.code, (await again.committed)?.code]).toEqual(['io', 'io']);
    expect(await producers.tell(7, 0)).toBe('sticky');
    await producers.fixture.store.closePartition(producers.log);
    await producers.openPartition();
    expect(await producers.tell(7, 0)).toBe(0);
    await producers.close();
  });

  it('waits for the write alone where that is all that is promised', async () => {
    const producers = await ProducerLog.open({}, { flushMessages: 1000, flushMs: Number.POSITIVE_INFINITY });
    const first = producers.send(7, 0);
    await first.committed;
    expect(producers.log.flushedOffset).toBe(0);
    expect(await producers.send(7, 0).committed).toBeUndefined();
    expect(await producers.send(7, 0).flushed).toBeUndefined();
    expect(producers.log.flushedOffset).toBe(1);
    await producers.close();
  });
});

describe('a batch that is refused', () => {
  it('says why, and changes nothing', async () => {
    const producers = await ProducerLog.open();
    for (let sequence = 0; sequence < 7; sequence++) await producers.tell(7, sequence, { epoch: 3 });
    expect(await producers.tell(7, 8, { epoch: 3 })).toBe('sequence-gap');
    expect(await producers.tell(7, 1, { epoch: 3 })).toBe('old-duplicate');
    expect(await producers.tell(7, 7, { epoch: 2 })).toBe('fenced-producer');
    expect(await producers.tell(7, 7, { epoch: 4 })).toBe('sequence-gap');
    expect(() => producers.end(7, 2)).toThrow('the epoch is 3');
    expect(producers.log.logEndOffset).toBe(7);
    expect(await producers.tell(7, 7, { epoch: 3 })).toBe(7);
    await producers.close();
  });

  it('because of its own records leaves the state as it was', async () => {
    const producers = await ProducerLog.open();
    const options = { producerId: 7, producerEpoch: 0, baseSequence: 0, recordCount: 1 };
    const fail = () => {
      throw new Error('no such record');
    };
    expect(() => producers.log.append(options, fail)).toThrow('no such record');
    const two = (writer: Parameters<typeof write>[0]) => {
      for (const each of [record('a'), record('b')]) write(writer, each);
    };
    expect(() => producers.log.append(options, two)).toThrow('as many records');
    expect(producers.log.logEndOffset).toBe(0);
    expect(await producers.tell(7, 5)).toBe(0);
    await producers.close();
  });
});

describe('what is known after an opening', () => {
  /** Two producers; the second wrote last. */
  async function written(config = {}): Promise<ProducerLog> {
    const producers = await ProducerLog.open({}, config);
    for (let sequence = 0; sequence < 8; sequence++) {
      await producers.tell(7, sequence);
      await producers.tell(8, 2 * sequence, { count: 2, epoch: 1 });
    }
    return producers;
  }

  async function expectAllKnown(producers: ProducerLog): Promise<void> {
    expect(await producers.tell(7, 3)).toBe('again 9');
    expect(await producers.tell(7, 7)).toBe('again 21');
    expect(await producers.tell(7, 9)).toBe('sequence-gap');
    expect(await producers.tell(7, 2)).toBe('old-duplicate');
    expect(await producers.tell(8, 14, { count: 2, epoch: 1 })).toBe('again 22');
    expect(await producers.tell(8, 16, { count: 2, epoch: 0 })).toBe('fenced-producer');
    expect(await producers.tell(7, 8)).toBe(24);
    expect(await producers.tell(8, 16, { count: 2, epoch: 1 })).toBe(25);
  }

  it('is all, after a clean stop, and the log is not read for it', async () => {
    const producers = await written();
    await producers.close();
    const before = producers.files.bytesRead;
    await producers.open();
    expect(producers.files.bytesRead - before).toBeLessThan(8192);
    await expectAllKnown(producers);
    await producers.close();
  });

  it.each(['nothing', 'anything', 'everything'] as const)(
    'is all, after a crash that keeps %s',
    async (keep) => {
      const producers = await written();
      await producers.crash(keep);
      await expectAllKnown(producers);
      await producers.close();
    },
  );

  it('is all, after a crash behind a roll or a checkpoint', async () => {
    const producers = await written({ segmentBytes: 600 });
    expect(producers.log.segmentCount).toBeGreaterThan(3);
    await producers.crash();
    await expectAllKnown(producers);
    await producers.close();
  });

  it.each([
    ['is missing', (files: ProducerLog['files']) => files.process().unlink(SNAPSHOT)],
    ['is empty', async (files: ProducerLog['files']) => files.overwrite(SNAPSHOT, Buffer.alloc(0))],
    [
      'has a changed byte',
      async (files: ProducerLog['files']) => {
        const bytes = Buffer.from(files.bytesOf(SNAPSHOT));
        bytes[40]! ^= 1; // it has some 500
        files.overwrite(SNAPSHOT, bytes);
      },
    ],
    [
      'is cut',
      async (files: ProducerLog['files']) =>
        files.overwrite(SNAPSHOT, files.bytesOf(SNAPSHOT).subarray(0, 99)),
    ],
  ])('is all, when the snapshot %s', async (_title, spoil) => {
    for (const config of [{}, { segmentBytes: 600 }]) {
      const producers = await written(config);
      await producers.close();
      await spoil(producers.files);
      await producers.open();
      await expectAllKnown(producers);
      // And the next opening has a good one.
      await producers.close();
      await producers.open();
      expect(await producers.tell(7, 9)).toBe(27);
      await producers.close();
    }
  });

  it('is all, when the checkpoint is of an earlier version, or missing, or wrong', async () => {
    for (const change of ['old', 'missing', 'wrong']) {
      const producers = await written();
      await producers.close();
      const { segmentBase, bytePosition, logEndOffset } = JSON.parse(
        producers.files.bytesOf(CHECKPOINT).toString(),
      ) as Record<string, number>; // what the store writes
      const old = { segmentBase, bytePosition, logEndOffset };
      await producers.files.process().unlink(CHECKPOINT);
      await producers.files.process().unlink(SNAPSHOT);
      if (change === 'old') producers.files.overwrite(CHECKPOINT, Buffer.from(JSON.stringify(old)));
      const wrong = { ...old, bytePosition: 77, logEndOffset: 3, producers: false };
      if (change === 'wrong') producers.files.overwrite(CHECKPOINT, Buffer.from(JSON.stringify(wrong)));
      await producers.open();
      await expectAllKnown(producers);
      await producers.close();
    }
  });

  it('is what the log says, when the snapshot is of a later or of another end of it', async () => {
    const producers = await written();
    await producers.close();
    const later = producers.files.bytesOf(SNAPSHOT);
    const path = producers.files.paths().find((each) => each.endsWith('.log'))!;
    const bytes = producers.files.bytesOf(path);
    // The log loses its last two batches, as by `log cut`.
    const cutAt = bytes.lastIndexOf(Buffer.from('7/7+0')) - 78 - 16 - 13 - 8;
    producers.files.overwrite(path, bytes.subarray(0, cutAt));
    await producers.files.process().unlink(CHECKPOINT);
    await producers.open();
    expect(producers.log.logEndOffset).toBe(21);
    expect(await producers.tell(7, 7)).toBe(21);
    // It goes on otherwise than the snapshot says, past the snapshot's end, and nothing newer is written.
    for (let sequence = 0; sequence < 5; sequence++) await producers.tell(9, sequence);
    producers.files.overwrite(SNAPSHOT, later);
    await producers.crash();
    expect(producers.log.logEndOffset).toBe(27);
    expect(await producers.tell(7, 7)).toBe('again 21');
    expect(await producers.tell(8, 14, { count: 2, epoch: 1 })).toBe(27);
    expect(await producers.tell(9, 4)).toBe('again 26');
    await producers.close();
  });

  it('is not written before all that it speaks of is on disk', async () => {
    const producers = await ProducerLog.open({ checkpointBytes: 1 });
    await producers.tell(7, 0);
    await producers.ticks(50);
    const first = producers.send(7, 1);
    await producers.ticks(1);
    producers.files.arm({ kind: 'datasync-hangs', files: /\.log$/, after: 1 });
    // With the next flush, which hangs, while the checkpoint of the first one is due.
    producers.send(7, 2);
    await first.flushed;
    await producers.ticks(50);
    const snapshot = await readProducerSnapshot(producers.files.process(), PARTITION_DIRECTORY);
    expect(snapshot?.logEndOffset).toBe(1);
    await producers.crash();
    expect(producers.log.logEndOffset).toBe(2);
    expect(await producers.tell(7, 1)).toBe('again 1');
    expect(await producers.tell(7, 2)).toBe(2);
    await producers.close();
  });

  it('outlives the records, until it expires', async () => {
    for (const ends of ['clean', 'crash']) {
      const producers = await written({ segmentBytes: 600 });
      await producers.log.deleteRecords(24);
      if (ends === 'clean') await producers.reopen();
      else await producers.crash();
      expect(await producers.tell(7, 3)).toBe('again 9');
      expect(await producers.tell(7, 8)).toBe(24);
      await producers.close();
    }
  });

  it('outlives the records wherever a crash comes while they are deleted', async () => {
    for (let ticks = 0; ticks < 30; ticks++) {
      const producers = await written({ segmentBytes: 600 });
      producers.files.crash('nothing', seededRandom(1));
      // What is known of them is in the log alone, until it is written down for the sake of what goes.
      await producers.files.process().unlink(SNAPSHOT);
      await producers.files.process().syncDirectory(PARTITION_DIRECTORY);
      await producers.open();
      void producers.log.deleteRecords(24);
      await producers.ticks(ticks);
      await producers.crash();
      expect(await producers.tell(7, 3), `${ticks} turns`).toBe('again 9');
      await producers.close();
    }
  });

  it('outlives the records that are deleted while an append is under way', async () => {
    for (const isFlushed of [false, true]) {
      const producers = await written();
      const { log, files } = producers;
      log.setConfig({ ...log.config, segmentBytes: log.byteSize });
      files.arm({ kind: 'datasync-hangs', files: /24\.log$/ });
      producers.send(9, 0);
      while (!files.isHanging) await producers.ticks(1);
      const deleting = log.deleteRecords(24);
      await producers.ticks(50);
      if (isFlushed) {
        files.releaseHanging();
        await deleting;
      }
      await producers.crash();
      expect(producers.log.logStartOffset).toBe(isFlushed ? 24 : 0);
      expect(await producers.tell(7, 3)).toBe('again 9');
      expect(await producers.tell(9, 0)).toBe(isFlushed ? 'again 24' : 24);
      await producers.close();
    }
  });

  it('needs no file where there are no producers', async () => {
    const producers = await ProducerLog.open({}, { segmentBytes: 600 });
    for (let count = 0; count < 20; count++) await append(producers.log, [record('plain')]).flushed;
    expect(producers.log.producers).toBeUndefined();
    await producers.reopen();
    expect(producers.log.producers).toBeUndefined();
    expect(producers.files.paths()).not.toContain(SNAPSHOT);
    expect(JSON.parse(producers.files.bytesOf(CHECKPOINT).toString())).toMatchObject({ producers: false });
    await append(producers.log, [record('plain')]).flushed;
    await producers.crash();
    const before = producers.files.bytesRead;
    await producers.reopen();
    expect(producers.files.bytesRead - before).toBeLessThan(3 * 4096 + 600);
    await producers.close();
  });

  it('is nothing, of a topic that was deleted and made again', async () => {
    const producers = await written();
    await producers.fixture.store.deleteTopic('events', 'incarnation-1');
    const log = await producers.fixture.store.openPartition({
      ...{ topic: 'events', topicId: 'incarnation-2', partition: 0, logId: 2, leaderEpoch: 1 },
      config: producers.log.config,
    });
    producers.log = log;
    expect(await producers.tell(7, 3)).toBe(0);
    await producers.close();
  });
});

describe('memory', () => {
  it('has a bound: the longest unused producer of the store is forgotten', async () => {
    const producers = await ProducerLog.open({ producersMax: 3 });
    for (const producerId of [1, 2, 3]) await producers.tell(producerId, 0);
    await producers.tell(1, 1);
    await producers.tell(4, 0);
    expect(producers.fixture.store.counters.evictedProducers).toBe(1);
    expect(await producers.tell(1, 1)).toBe('again 3');
    expect(await producers.tell(3, 0)).toBe('again 2');
    expect(await producers.tell(2, 41)).toBe(5);
    expect(producers.log.producers?.size).toBe(3);
    await producers.close();
  });

  it('keeps those in a transaction, and then takes no more', async () => {
    const producers = await ProducerLog.open({ producersMax: 2 });
    for (const producerId of [1, 2]) await producers.tell(producerId, 0, { transactional: true });
    expect(await producers.tell(3, 0)).toBe('busy');
    await producers.end(1).flushed;
    expect(await producers.tell(3, 0)).toBe(3);
    expect(await producers.tell(2, 0, { transactional: true })).toBe('again 1');
    expect(await producers.tell(1, 7)).toBe(4);
    await producers.close();
  });

  it('is given back when a log closes', async () => {
    const producers = await ProducerLog.open({ producersMax: 3 });
    for (const producerId of [1, 2, 3]) await producers.tell(producerId, 0);
    await producers.fixture.store.closePartition(producers.log);
    await producers.openPartition();
    for (const producerId of [1, 2, 3]) expect(await producers.tell(producerId, 0)).toContain('again');
    expect(producers.fixture.store.counters.evictedProducers).toBe(0);
    await producers.close();
  });

  it('lets go of who wrote nothing for a day, in maintenance and while nothing ran', async () => {
    const producers = await ProducerLog.open({ checkIntervalMs: 0 });
    await producers.tell(1, 0);
    await producers.tell(2, 0, { transactional: true });
    producers.clock.advance(DAY_MS / 2);
    await producers.tell(3, 0);
    await producers.reopen();
    producers.clock.advance(DAY_MS / 2);
    await producers.fixture.store.maintain();
    expect(await producers.tell(1, 9)).toBe(3);
    expect(await producers.tell(3, 1)).toBe(4);
    producers.clock.advance(DAY_MS);
    await producers.fixture.store.maintain();
    expect([...(producers.log.producers?.all ?? [])].map(({ producerId }) => producerId)).toEqual([2]);
    expect(await producers.tell(2, 0, { transactional: true })).toBe('again 1');
    await producers.tell(3, 70);
    await producers.close();
    producers.clock.advance(DAY_MS);
    await producers.open();
    expect([...(producers.log.producers?.all ?? [])].map(({ producerId }) => producerId)).toEqual([2]);
    await producers.close();
  });
});

describe('transactions', () => {
  it('hold the first unstable offset, until their end is seen', async () => {
    const producers = await ProducerLog.open();
    const { log } = producers;
    expect(log.firstUnstableOffset).toBe(Number.POSITIVE_INFINITY);
    await producers.tell(9, 0);
    await producers.tell(1, 0, { transactional: true });
    await producers.tell(2, 0, { transactional: true });
    expect(log.firstUnstableOffset).toBe(1);
    const ended = producers.end(1);
    expect(log.firstUnstableOffset).toBe(1);
    await ended.flushed;
    expect(log.firstUnstableOffset).toBe(2);
    await producers.tell(1, 1, { transactional: true });
    await producers.end(2).flushed;
    expect(log.firstUnstableOffset).toBe(4);
    await producers.close();
  });

  it.each(['clean', 'crash', 'no snapshot', 'no snapshot, days later'])(
    'are open again after an opening: %s',
    async (how) => {
      const producers = await ProducerLog.open({}, { segmentBytes: 400 });
      await producers.tell(1, 0);
      await producers.tell(2, 0, { transactional: true });
      await producers.tell(1, 1, { transactional: true });
      await producers.end(2).flushed;
      await producers.tell(2, 1, { transactional: true });
      if (how === 'crash') await producers.crash();
      else {
        await producers.close();
        if (how !== 'clean') await producers.files.process().unlink(SNAPSHOT);
        if (how.endsWith('days later')) producers.clock.advance(7 * 24 * 3_600_000);
        await producers.open();
      }
      expect(producers.log.firstUnstableOffset).toBe(2);
      expect(await producers.tell(2, 1, { transactional: true })).toBe('again 4');
      await producers.end(1).flushed;
      expect(producers.log.firstUnstableOffset).toBe(4);
      await producers.close();
    },
  );

  describe('one that is open for longer than a producer is remembered, while others write', () => {
    /** Producer 2 began at offset 1, days ago; what producer 3 wrote then is over. */
    async function openForDays(): Promise<ProducerLog> {
      const producers = await ProducerLog.open({}, { segmentBytes: 600 });
      await producers.tell(3, 0);
      await producers.tell(2, 0, { transactional: true });
      for (let day = 0; day < 6; day++) {
        for (let count = 0; count < 6; count++) await append(producers.log, [record('plain')]).flushed;
        producers.clock.advance(DAY_MS);
        await producers.fixture.store.maintain();
      }
      return producers;
    }

    it.each([
      ['the snapshot', [SNAPSHOT]],
      ['the snapshot and the checkpoint', [SNAPSHOT, CHECKPOINT]],
      ['nothing', []],
    ])('is open after a crash that leaves it without %s', async (_title, lost) => {
      const producers = await openForDays();
      producers.files.crash('nothing', seededRandom(1));
      for (const path of lost) await producers.files.process().unlink(path);
      await producers.open();
      expect(producers.log.firstUnstableOffset).toBe(1);
      expect(producers.log.producers?.size).toBe(1);
      expect(await producers.tell(2, 0, { transactional: true })).toBe('again 1');
      await producers.end(2).flushed;
      expect(producers.log.firstUnstableOffset).toBe(Number.POSITIVE_INFINITY);
      await producers.close();
    });

    it('costs no reading of what is older than all that is open', async () => {
      const producers = await openForDays();
      await producers.end(2).flushed;
      await producers.reopen();
      for (const [lost, isCheap] of [
        [[], true],
        [[SNAPSHOT], true],
        [[SNAPSHOT, CHECKPOINT], false],
      ] as const) {
        await producers.close();
        for (const path of lost) await producers.files.process().unlink(path);
        const before = producers.files.bytesRead;
        await producers.open();
        const segmentBytes = producers.files.bytesRead - before;
        expect(segmentBytes < producers.log.byteSize / 2, `without ${lost}`).toBe(isCheap);
      }
      await producers.close();
    });
  });

  it('a control batch that raises the epoch fences', async () => {
    const producers = await ProducerLog.open();
    await producers.tell(1, 0, { transactional: true });
    await producers.end(1, 1).flushed;
    await producers.reopen();
    expect(await producers.tell(1, 1, { transactional: true })).toBe('fenced-producer');
    expect(await producers.tell(1, 1, { transactional: true, epoch: 1 })).toBe('sequence-gap');
    expect(await producers.tell(1, 0, { transactional: true, epoch: 1 })).toBe(2);
    await producers.close();
  });
});

it('a batch without a producer costs no state', async () => {
  const producers = await ProducerLog.open();
  await append(producers.log, [record('plain')]).flushed;
  await append(producers.log, [record('plain')], { producerId: -1, producerEpoch: -1, baseSequence: -1 })
    .flushed;
  expect(producers.log.producers).toBeUndefined();
  expect(producers.files.paths().filter((path) => path.startsWith(PARTITION_DIRECTORY))).not.toContain(
    SNAPSHOT,
  );
  await producers.close();
});
