// Appends and reads of one partition on a real disk.
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { CHUNK_BYTES_MAX } from '../../storage/limits.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import {
  append,
  codeOf,
  logConfig,
  openStore,
  PARTITION,
  readAll,
  record,
  recordsOf,
  type StoreFixture,
  valuesOf,
  withDirectory,
  write,
} from '../helpers/store-fixture.ts';

/** A store with one partition, for one test. */
function withLog<Result>(
  use: (log: PartitionLog, fixture: StoreFixture, directory: string) => Promise<Result>,
  options: { segmentBytes?: number; indexIntervalBytes?: number; tailCacheBytes?: number } = {},
): Promise<Result> {
  return withDirectory(async (directory) => {
    const fixture = await openStore({ directory, ...options });
    try {
      const log = await fixture.store.openPartition({
        ...PARTITION,
        config:
          options.segmentBytes === undefined
            ? PARTITION.config
            : logConfig({ segmentBytes: options.segmentBytes }),
      });
      return await use(log, fixture, directory);
    } finally {
      await fixture.store.close();
    }
  });
}

describe('append', () => {
  it('gives each of many concurrent appends its own offsets, contiguous, in the order of the calls', () =>
    withLog(async (log) => {
      const appends = Array.from({ length: 50 }, (_, index) =>
        append(
          log,
          Array.from({ length: 1 + (index % 3) }, () => record(`a${index}`)),
        ),
      );
      let expected = 0;
      for (const [index, { baseOffset }] of appends.entries()) {
        expect(baseOffset).toBe(expected);
        expected += 1 + (index % 3);
      }
      expect(log.logEndOffset).toBe(expected);
      expect(log.flushedOffset).toBe(0);
      await Promise.all(appends.map(({ flushed }) => flushed));
      expect(log.flushedOffset).toBe(expected);
      expect((await readAll(log)).map(({ offset }) => offset)).toEqual([...Array(expected).keys()]);
    }));

  it('gives the appends of a tick one flush and the same promises', () =>
    withLog(async (log, { store }) => {
      const [first, second, third] = [1, 2, 3].map((each) => append(log, [record(String(each))]));
      expect(first!.flushed).toBe(second!.flushed);
      expect(first!.written).toBe(third!.written);
      expect(await first!.written).toBeUndefined();
      expect(await first!.flushed).toBeUndefined();
      expect(store.counters).toMatchObject({
        flushes: 1,
        flushedBatches: 3,
        appendedRecords: 3,
        unflushedBytes: 0,
      });
      expect(append(log, [record('later')]).flushed).not.toBe(first!.flushed);
    }));

  it('tells its owner the flushed offset before the promises resolve', () =>
    withLog(async (log) => {
      const told: number[] = [];
      log.onCommitted = (offset) => {
        told.push(offset, log.flushedOffset);
      };
      await append(log, [record('a'), record('b')]).flushed;
      expect(told).toEqual([2, 2]);
    }));

  it('appends nothing when fill throws, and throws the same', () =>
    withLog(async (log) => {
      const thrown = new Error('not today');
      await append(log, [record('before')]).flushed;
      const failing = (): unknown =>
        log.append({}, (writer) => {
          write(writer, record('gone'));
          writer.startRecord(1, Buffer.from('k'), 0, 1, 3);
          throw thrown;
        });
      expect(failing).toThrow(thrown);
      expect(log.logEndOffset).toBe(1);
      await append(log, [record('after')]).flushed;
      expect(valuesOf(await readAll(log))).toEqual(['before', 'after']);
    }));

  it('refuses a batch without records, and one whose last record is not ended', () =>
    withLog(async (log) => {
      expect(() => log.append({}, () => {})).toThrow('at least one record');
      expect(() => log.append({}, (writer) => writer.startRecord(1, Buffer.alloc(0), 0, 0, 0))).toThrow(
        'ended',
      );
      expect(log.logEndOffset).toBe(0);
      await append(log, [record('good')]).flushed;
      expect(valuesOf(await readAll(log))).toEqual(['good']);
    }));

  it('keeps null, empty and duplicate apart in keys, values and headers', () =>
    withLog(async (log) => {
      const empty = Buffer.alloc(0);
      const records = [
        { timestampMs: -1, key: null, value: null, headers: [] },
        { timestampMs: 0, key: empty, value: empty, headers: [['', empty] as const] },
        {
          timestampMs: 2 ** 45,
          key: Buffer.from('k'),
          value: Buffer.alloc(70_000, 'v'),
          headers: [['n', null] as const, ['n', empty] as const, ['n', Buffer.alloc(300, 'h')] as const],
        },
        {
          timestampMs: 5,
          key: Buffer.alloc(300, 'k'),
          value: empty,
          headers: Array.from({ length: 40 }, (_, i) => [`h${i}`.repeat(20), Buffer.from([i])] as const),
        },
      ];
      await append(log, records).flushed;
      const read = await readAll(log);
      expect(read).toEqual(records.map((each, offset) => ({ ...each, offset })));
    }));

  it('refuses an older leader epoch and a newer one', () =>
    withLog(async (log) => {
      expect(await codeOf(() => append(log, [record('x')], { leaderEpoch: 0 }))).toBe('fenced-epoch');
      expect(await codeOf(() => append(log, [record('x')], { leaderEpoch: 2 }))).toBe('unknown-epoch');
      expect(await append(log, [record('x')], { leaderEpoch: 1 }).flushed).toBeUndefined();
    }));

  it('takes a batch larger than a chunk and than a segment', () =>
    withLog(
      async (log) => {
        const large = 'x'.repeat(3 * CHUNK_BYTES_MAX);
        await Promise.all([
          append(log, [record('small')]).flushed,
          append(log, [record(large), record(large)]).flushed,
          append(log, [record('small too')]).flushed,
        ]);
        expect(valuesOf(await readAll(log))).toEqual(['small', large, large, 'small too']);
        expect(log.segmentCount).toBe(3);
      },
      { segmentBytes: 10_000 },
    ));

  it('says in the batch what the options say', () =>
    withLog(async (log) => {
      await append(log, [record('x')], {
        producerId: 2 ** 40,
        producerEpoch: 7,
        baseSequence: 2 ** 31 - 1,
        recordCount: 1,
        transactional: true,
        logAppendTime: true,
      }).flushed;
      const cursor = new BatchCursor();
      cursor.reset(await log.read(0, 1000, 1));
      expect(cursor.nextBatch()).toBe(true);
      expect(cursor).toMatchObject({
        batchProducerId: 2 ** 40,
        batchProducerEpoch: 7,
        batchBaseSequence: 2 ** 31 - 1,
        batchIsControl: false,
        batchIsTransactional: true,
        batchIsLogAppendTime: true,
        batchLeaderEpoch: 1,
      });
    }));
});

describe('stage', () => {
  it('gives the same records as slices of a foreign source, also when the batch outgrows its chunk', () =>
    withLog(async (log) => {
      const source = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index & 255));
      log.append({ byteLengthHint: 100 }, (writer) => {
        const delta = writer.stage(source);
        const { staged } = writer;
        for (let at = 0; at < source.length; at += 100) {
          writer.startRecord(1, staged, at + delta, at + delta + 10, 0);
          writer.endRecord(staged, at + delta + 10, at + delta + 100, null);
        }
      });
      await append(log, [record('next')]).flushed;
      const read = await readAll(log);
      expect(read.length).toBe(601);
      for (const [index, { key, value }] of read.slice(0, 600).entries()) {
        expect(Buffer.concat([key!, value!]).equals(source.subarray(index * 100, index * 100 + 100))).toBe(
          true,
        );
      }
    }));
});

describe('join', () => {
  it('puts the records of a tick into one batch, each with its offset at once', () =>
    withLog(async (log, { store }) => {
      const ends: number[] = [];
      const joins = [0, 1, 2].map((each) => {
        const commit = log.join((writer) => write(writer, record(`j${each}`)));
        ends.push(log.logEndOffset);
        return commit;
      });
      expect(ends).toEqual([1, 2, 3]);
      expect(joins[0]!.flushed).toBe(joins[2]!.flushed);
      await joins[0]!.flushed;
      expect(store.counters).toMatchObject({ flushes: 1, flushedBatches: 1, appendedRecords: 3 });
    }));

  it('ends the shared batch when an append comes in between', () =>
    withLog(async (log, { store }) => {
      log.join((writer) => write(writer, record('a')));
      append(log, [record('b')]);
      await log.join((writer) => write(writer, record('c'))).flushed;
      expect(valuesOf(await readAll(log))).toEqual(['a', 'b', 'c']);
      expect(store.counters).toMatchObject({ flushes: 1, flushedBatches: 3 });
    }));

  it('takes back only the record whose fill throws, and the batch goes on', () =>
    withLog(async (log) => {
      log.join((writer) => write(writer, record('a', 10)));
      expect(() =>
        log.join((writer) => {
          write(writer, record('gone', 99));
          throw new Error('no');
        }),
      ).toThrow('no');
      expect(() => log.join(() => {})).toThrow('exactly one');
      expect(() =>
        log.join((writer) => {
          write(writer, record('one'));
          write(writer, record('two'));
        }),
      ).toThrow('exactly one');
      await log.join((writer) => write(writer, record('b', 20))).flushed;
      expect(valuesOf(await readAll(log))).toEqual(['a', 'b']);
      expect(await log.offsetOfMaxTimestamp(2)).toMatchObject({ offset: 1, timestampMs: 20 });
    }));

  it('does not flush anything when the first fill of a batch throws', () =>
    withLog(async (log, { store }) => {
      expect(() =>
        log.join(() => {
          throw new Error('no');
        }),
      ).toThrow('no');
      await append(log, [record('x')]).flushed;
      expect(store.counters).toMatchObject({ flushes: 1, flushedBatches: 1 });
    }));

  it('begins another batch at 1,000 records or 64 KiB', () =>
    withLog(async (log, { store }) => {
      for (let index = 0; index < 2500; index++) log.join((writer) => write(writer, record('x')));
      for (let index = 0; index < 3; index++) {
        log.join((writer) => write(writer, record('x'.repeat(65_536))));
      }
      await append(log, [record('end')]).flushed;
      expect(store.counters.flushedBatches).toBe(3 + 3);
      expect((await readAll(log)).length).toBe(2504);
    }));
});

describe('read', () => {
  const values = Array.from({ length: 60 }, (_, index) => `value-${index}`);

  async function fill(log: PartitionLog): Promise<void> {
    for (let index = 0; index < 60; index += 3) {
      await append(log, [record(values[index]!), record(values[index + 1]!), record(values[index + 2]!)])
        .flushed;
    }
  }

  it.each([1, 300, 1000, 1 << 20])('crosses segments without skipping, %i bytes at a time', (maxBytes) =>
    withLog(
      async (log) => {
        await fill(log);
        expect(log.segmentCount).toBeGreaterThan(3);
        expect(valuesOf(await readAll(log, 0, maxBytes))).toEqual(values);
      },
      { segmentBytes: 1000, tailCacheBytes: 0 },
    ),
  );

  it.each([1, 1 << 20])('gives the same from memory, %i bytes at a time', (maxBytes) =>
    withLog(async (log) => {
      await fill(log);
      expect(log.readCached(0, maxBytes, 60)).toBeDefined();
      expect(valuesOf(await readAll(log, 0, maxBytes))).toEqual(values);
    }),
  );

  it.each([0, 64 << 20])(
    'gives the batch that holds an offset in its middle (cache of %i bytes)',
    (tailCacheBytes) =>
      withLog(
        async (log) => {
          await fill(log);
          const range = await log.read(31, 1, 60);
          expect(recordsOf(range).map(({ offset }) => offset)).toEqual([30, 31, 32]);
          expect(range.nextOffset).toBe(33);
        },
        { tailCacheBytes },
      ),
  );

  it.each([0, 64 << 20])(
    'returns the first batch however large, and only that (cache of %i bytes)',
    (tailCacheBytes) =>
      withLog(
        async (log) => {
          const large = 'x'.repeat(100_000);
          await append(log, [record(large)]).flushed;
          await append(log, [record('small')]).flushed;
          expect(valuesOf(recordsOf(await log.read(0, 10, 2)))).toEqual([large]);
          expect(valuesOf(recordsOf(await log.read(1, 10, 2)))).toEqual(['small']);
        },
        { tailCacheBytes },
      ),
  );

  it.each([0, 64 << 20])(
    'never shows what lies at or above the bound (cache of %i bytes)',
    (tailCacheBytes) =>
      withLog(
        async (log) => {
          await fill(log);
          for (let bound = 0; bound <= 60; bound++) {
            const range = await log.read(0, 1 << 20, bound);
            expect(range.nextOffset).toBe(bound - (bound % 3));
            expect(recordsOf(range).length).toBe(bound - (bound % 3));
          }
        },
        { tailCacheBytes },
      ),
  );

  it('refuses offsets below the log start and above the bound; the end itself is an empty range', () =>
    withLog(async (log) => {
      expect(await log.read(0, 100, 0)).toMatchObject({ start: 0, end: 0, nextOffset: 0 });
      await fill(log);
      expect(await codeOf(log.read(-1, 100, 60))).toBe('offset-out-of-range');
      expect(await codeOf(log.read(61, 100, 1000))).toBe('offset-out-of-range');
      expect(await codeOf(log.read(31, 100, 30))).toBe('offset-out-of-range');
      expect(await log.read(60, 100, 1000)).toMatchObject({ start: 0, end: 0, nextOffset: 60 });
      expect(log.readCached(61, 100, 1000)).toBeUndefined();
    }));

  it('keeps a range as it is while appends go on', () =>
    withLog(async (log) => {
      await append(log, [record('first')]).flushed;
      const range = await log.read(0, 1000, 1);
      const before = Buffer.from(range.bytes.subarray(range.start, range.end));
      for (let index = 0; index < 300; index++) append(log, [record('x'.repeat(1000))]);
      await append(log, [record('last')]).flushed;
      expect(range.bytes.subarray(range.start, range.end).equals(before)).toBe(true);
    }));

  it.each([
    ['kept until each of its ranges is released', false],
    ['used again once each of its ranges is released', true],
  ])('the memory of a chunk is %s', (_what, again) =>
    withLog(
      async (log) => {
        const { flushed } = append(log, [record('first')]);
        const ranges = [await log.read(0, 1000, 1), await log.read(0, 1000, 1)];
        const { bytes } = ranges[0]!;
        const before = Buffer.from(bytes);
        // Twice by one reader is not once by each.
        ranges[0]!.release?.();
        ranges[0]!.release?.();
        if (again) ranges[1]!.release?.();
        await flushed;
        await append(log, [record('other')]).flushed;
        expect(bytes.equals(before)).toBe(!again);
      },
      { tailCacheBytes: 0 },
    ),
  );

  it('shows records to readers of the log end before they are flushed, and others not', () =>
    withLog(async (log) => {
      const { flushed } = append(log, [record('x')]);
      expect(recordsOf(await log.read(0, 1000, log.logEndOffset)).length).toBe(1);
      expect((await log.read(0, 1000, log.flushedOffset)).end).toBe(0);
      await flushed;
      expect(recordsOf(await log.read(0, 1000, log.flushedOffset)).length).toBe(1);
    }));

  it('stays within the bound of the cache', () =>
    withLog(
      async (log) => {
        for (let index = 0; index < 100; index++) await append(log, [record('x'.repeat(10_000))]).flushed;
        expect(log.readCached(0, 1, 100)).toBeUndefined();
        expect(log.readCached(99, 1, 100)).toBeDefined();
        expect((await readAll(log)).length).toBe(100);
      },
      { tailCacheBytes: 200_000 },
    ));
});

describe('a closed log', () => {
  it('refuses everything as closed, a deleted one as deleted', () =>
    withLog(async (log, { store }) => {
      await append(log, [record('x')]).flushed;
      await store.closePartition(log);
      expect(await codeOf(() => append(log, [record('x')]))).toBe('closed');
      expect(await codeOf(log.read(0, 1, 1))).toBe('closed');
      const again = await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
      expect(valuesOf(await readAll(again))).toEqual(['x']);
      await store.deleteTopic(PARTITION.topic, PARTITION.topicId);
      expect(await codeOf(() => append(again, [record('x')]))).toBe('deleted');
      expect(await codeOf(again.offsetForTime(0, 1))).toBe('deleted');
    }));

  it('has flushed what was appended before it was closed', () =>
    withDirectory(async (directory) => {
      const first = await openStore({ directory });
      const log = await first.store.openPartition(PARTITION);
      const { flushed } = append(log, [record('a')]);
      log.join((writer) => write(writer, record('b')));
      await first.store.close();
      expect(await flushed).toBeUndefined();
      const second = await openStore({ directory });
      const again = await second.store.openPartition({ ...PARTITION, leaderEpoch: 2 });
      expect(valuesOf(await readAll(again))).toEqual(['a', 'b']);
      expect(second.store.counters.recoveredBytes).toBe(0);
      await second.store.close();
    }));
});
