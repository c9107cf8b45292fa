// Compaction against a map: random appends by random producers, over openings, with random settings and memory. The
// latest record of each key is the map's; what is kept has its offset, its bytes and its order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import type { BatchOptions } from '../../storage/batch-frame.ts';
import { SLOT_BYTES } from '../../storage/key-offset-map.ts';
import { append, type ReadRecord, readAll, recordsOf, type TestRecord } from '../helpers/store-fixture.ts';
import { CompactedDisk } from './compaction-fixture.ts';

const record = fc.record({
  timestampMs: fc.integer({ min: -1, max: 50 }),
  key: fc.oneof(
    { weight: 12, arbitrary: fc.nat(6).map((key) => Buffer.from(`key-${key}`)) },
    { weight: 1, arbitrary: fc.constant(Buffer.alloc(0)) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 40 }).map(Buffer.from) },
  ),
  value: fc.oneof(
    { weight: 3, arbitrary: fc.uint8Array({ maxLength: 60 }).map(Buffer.from) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
});

type Step =
  | { readonly kind: 'append'; readonly records: readonly TestRecord[]; readonly producer: number }
  | { readonly kind: 'compact'; readonly afterMs: number }
  | { readonly kind: 'reopen'; readonly segmentBytes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      records: fc.array(record, { minLength: 1, maxLength: 5 }),
      producer: fc.integer({ min: -1, max: 1 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('compact' as const), afterMs: fc.constantFrom(0, 400, 1100) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reopen' as const),
      segmentBytes: fc.constantFrom(1, 500, 3000),
    }),
  },
);

const programs = fc.record({
  steps: fc.array(step, { minLength: 5, maxLength: 60 }),
  config: fc.record({
    segmentBytes: fc.constantFrom(1, 300, 1000, 100_000),
    minCleanableDirtyRatio: fc.constantFrom(0, 0.5),
    deleteRetentionMs: fc.constantFrom(0, 1000),
  }),
  mapBytes: fc.constantFrom(1, 24 * SLOT_BYTES, 1 << 20),
  indexIntervalBytes: fc.constantFrom(1, 400),
  tailCacheBytes: fc.constantFrom(0, 1 << 20),
});

const keyOf = ({ key }: TestRecord): string => (key === null ? '' : `=${key.toString('hex')}`);

/** The records that a compacted log must have, tombstones apart. */
function latestOf(records: readonly ReadRecord[]): Map<string, ReadRecord> {
  const latest = new Map<string, ReadRecord>();
  for (const each of records) {
    if (each.key === null) continue;
    if (each.value === null) latest.delete(keyOf(each));
    else latest.set(keyOf(each), each);
  }
  return latest;
}

describe('any log that is compacted', () => {
  it(
    'has the latest record of each key, and nothing that was not appended',
    () =>
      fc.assert(
        fc.asyncProperty(programs, async ({ steps, config, mapBytes, ...options }) => {
          const disk = new CompactedDisk({ compactionMapBytes: mapBytes, ...options });
          await disk.open(config);
          const appended: ReadRecord[] = [];
          const sequences = [0, 0];
          for (const each of steps) {
            if (each.kind === 'append') {
              const { records, producer } = each;
              const recordCount = records.length;
              const identity = { producerId: producer, producerEpoch: 0, recordCount };
              const batch: BatchOptions =
                producer < 0 ? {} : { ...identity, baseSequence: sequences[producer]! };
              if (producer >= 0) sequences[producer]! += recordCount;
              const { baseOffset, flushed } = append(disk.log, records, batch);
              for (const [index, one] of records.entries()) {
                appended.push({ headers: [], ...one, offset: baseOffset + index });
              }
              await flushed;
            } else if (each.kind === 'compact') {
              disk.fixture.clock.advance(each.afterMs);
              await disk.compact();
            } else await disk.reopen({ ...config, segmentBytes: each.segmentBytes });
          }
          await disk.compact();
          await disk.reopen({ ...config, minCleanableDirtyRatio: 0 });
          await disk.compact();
          // Each opening begins with the same clock, and a round may be of a later one.
          disk.fixture.clock.advance(1_000_000);
          await disk.compact();

          const { log } = disk;
          expect(log.logEndOffset).toBe(appended.length);
          const left = await readAll(log, 0, 1);
          for (const each of left) expect(each).toEqual(appended[each.offset]);
          const offsets = left.map(({ offset }) => offset);
          expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
          expect([...latestOf(left)].sort()).toEqual([...latestOf(appended)].sort());
          // All is closed and the time of tombstones is over: there is one record of each key, and of some none.
          expect(left.map(keyOf).sort()).toEqual([...latestOf(appended).keys()].sort());

          for (let offset = 0; offset < appended.length; offset++) {
            const range = await log.read(offset, 1, appended.length);
            expect(range.nextOffset).toBeGreaterThan(offset);
            const rest = recordsOf(range, offset).map((found) => found.offset);
            expect(rest).toEqual(offsets.filter((each) => each >= offset && each < range.nextOffset));
          }
          for (const timestampMs of [-1, 0, 25, 50]) {
            const found = await log.offsetForTime(timestampMs, appended.length);
            expect(found?.offset).toBe(left.find((one) => one.timestampMs >= timestampMs)?.offset);
          }
          await expectHeaders(disk, sequences);
          expect(disk.fixture.log.events.filter(({ level }) => level === 'error')).toEqual([]);
        }),
        { numRuns: Number(process.env['RUNS'] ?? 50) },
      ),
    300_000,
  );
});

/** Timestamps are those of what stays, batches neither overlap nor end early, and each producer's newest is there. */
async function expectHeaders({ log }: CompactedDisk, sequences: readonly number[]): Promise<void> {
  const cursor = new BatchCursor();
  const ends = new Map<number, number>();
  let offset = 0;
  while (offset < log.flushedOffset) {
    const range = await log.read(offset, 1 << 20, log.flushedOffset);
    cursor.reset(range);
    while (cursor.nextBatch()) {
      expect(cursor.batchBaseOffset).toBeGreaterThanOrEqual(offset);
      offset = cursor.batchLastOffset + 1;
      const times: number[] = [];
      while (cursor.nextRecord()) times.push(cursor.timestampMs);
      expect(cursor.batchRecordCount).toBe(times.length);
      expect(cursor.batchFirstTimestampMs).toBe(times[0] ?? -1);
      expect(cursor.batchMaxTimestampMs).toBe(times.length === 0 ? -1 : Math.max(...times));
      if (cursor.batchProducerId < 0) continue;
      const span = cursor.batchLastOffset - cursor.batchBaseOffset + 1;
      ends.set(cursor.batchProducerId, cursor.batchBaseSequence + span);
    }
    expect(range.nextOffset).toBe(offset);
  }
  for (const [producer, sequence] of sequences.entries()) {
    if (sequence > 0) expect(ends.get(producer)).toBe(sequence);
  }
}
