// Properties over random logs: reads, the index and lookups by time, each against a linear scan.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexCache } from '../../storage/index-cache.ts';
import { OffsetIndex } from '../../storage/offset-index.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { Segment } from '../../storage/segment.ts';
import { type IndexEntry, SegmentIndex } from '../../storage/segment-index.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  recordsOf,
  type TestRecord,
} from '../helpers/store-fixture.ts';

const records = fc.array(
  fc.record({
    timestampMs: fc.integer({ min: -1, max: 40 }),
    key: fc.option(fc.uint8Array({ maxLength: 5 }).map(Buffer.from), { nil: null }),
    value: fc.option(fc.uint8Array({ maxLength: 300 }).map(Buffer.from), { nil: null }),
  }),
  { minLength: 1, maxLength: 6 },
);

const logs = fc.record({
  batches: fc.array(records, { minLength: 1, maxLength: 25 }),
  segmentBytes: fc.integer({ min: 100, max: 4000 }),
  indexIntervalBytes: fc.integer({ min: 1, max: 1500 }),
  tailCacheBytes: fc.constantFrom(0, 20_000, 1 << 20),
  reopened: fc.boolean(),
});

type RandomLog = typeof logs extends fc.Arbitrary<infer Value> ? Value : never;

async function made({ batches, segmentBytes, reopened, ...options }: RandomLog): Promise<PartitionLog> {
  const files = new FaultyFileSystem(['/']);
  const index = new MemoryIndex();
  const open = () => openStore({ directory: '/data', fileSystem: files.process(), index, ...options });
  const { store } = await open();
  const log = await store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes }) });
  await Promise.all(batches.map((batch) => append(log, batch).flushed));
  if (!reopened) return log;
  await store.close();
  return (await open()).store.openPartition({
    ...PARTITION,
    leaderEpoch: 2,
    config: logConfig({ segmentBytes }),
  });
}

const firstAtOrAfter = (all: readonly TestRecord[], timestampMs: number): number =>
  all.findIndex((each) => each.timestampMs >= timestampMs);

describe('any log', () => {
  it('is read without a gap and without a repeat, whatever the limits', () =>
    fc.assert(
      fc.asyncProperty(
        logs,
        fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1 }),
        async (random, limits) => {
          const log = await made(random);
          const all = random.batches.flat();
          const read: TestRecord[] = [];
          let turn = 0;
          for (let offset = 0; offset < all.length; ) {
            const maxBytes = limits[turn++ % limits.length]!;
            const range = await log.read(offset, maxBytes, all.length);
            const got = recordsOf(range);
            expect(got[0]?.offset).toBe(offset);
            expect(range.nextOffset).toBe(offset + got.length);
            read.push(...got);
            offset = range.nextOffset;
          }
          expect(read.map(({ value }) => value)).toEqual(all.map(({ value }) => value));
        },
      ),
      { numRuns: 60 },
    ));

  it('gives the batch that holds an offset, from any offset to any bound', () =>
    fc.assert(
      fc.asyncProperty(logs, fc.nat(), fc.nat(), async (random, a, b) => {
        const log = await made(random);
        const all = random.batches.flat();
        const [from = 0, upTo = 0] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y);
        // A bound in the middle of a batch leaves that batch out.
        let end = 0;
        for (const batch of random.batches) {
          if (end + batch.length > upTo) break;
          end += batch.length;
        }
        const range = from < end ? await readAll(log, from, 1, end) : [];
        expect(range.map(({ offset }) => offset)).toEqual(all.map((_, index) => index).slice(from, end));
        expect((await log.read(from, 1 << 20, upTo)).nextOffset).toBeLessThanOrEqual(Math.max(end, from));
      }),
      { numRuns: 60 },
    ));

  it('finds by time what a linear scan finds, below any bound', () =>
    fc.assert(
      fc.asyncProperty(
        logs,
        fc.integer({ min: -1, max: 42 }),
        fc.nat(),
        async (random, timestampMs, bound) => {
          const log = await made(random);
          const all = random.batches.flat();
          const ends: number[] = [0];
          for (const batch of random.batches) ends.push(ends.at(-1)! + batch.length);
          const upTo = ends[bound % ends.length]!;
          const visible = all.slice(0, upTo);
          const found = await log.offsetForTime(timestampMs, upTo);
          expect(found?.offset ?? -1).toBe(firstAtOrAfter(visible, timestampMs));
          const largest = Math.max(...visible.map((each) => each.timestampMs));
          const newest = await log.offsetOfMaxTimestamp(upTo);
          expect(newest?.offset ?? -1).toBe(upTo === 0 ? -1 : firstAtOrAfter(visible, largest));
          if (newest !== undefined) expect(newest.timestampMs).toBe(largest);
        },
      ),
      { numRuns: 120 },
    ));
});

type Entry = Omit<IndexEntry, 'nextPosition'>;

/** The next entry's position is a hint that may be missing, but is never another's. */
function expectEntry(
  found: IndexEntry | 'start' | undefined,
  expected: Entry | 'start' | undefined,
  entries: readonly Entry[],
): void {
  if (typeof found !== 'object' || typeof expected !== 'object') {
    expect(found).toBe(expected);
    return;
  }
  expect(found).toMatchObject(expected);
  const next = entries[entries.indexOf(expected) + 1]?.position;
  expect([-1, next]).toContain(found.nextPosition);
}

describe('the index', () => {
  const batchesOfSegment = fc.array(
    fc.record({
      records: fc.integer({ min: 1, max: 50 }),
      bytes: fc.integer({ min: 80, max: 3000 }),
      timestampMs: fc.integer({ min: -5, max: 60 }),
      stores: fc.boolean(),
    }),
    { minLength: 1, maxLength: 600 },
  );

  it('gives the entry that a linear scan gives, by offset and by time, in memory and stored', () =>
    fc.assert(
      fc.asyncProperty(
        batchesOfSegment,
        fc.integer({ min: 1, max: 2000 }),
        fc.constantFrom(0, 2000, 1 << 20),
        async (batches, intervalBytes, cacheBytes) => {
          const database = new OffsetIndex(new MemoryIndex(), 7, new IndexCache(cacheBytes));
          const segment = new Segment('/d', 1, 1000);
          const index = new SegmentIndex(intervalBytes, 0);
          const entries: Entry[] = [];
          let [offset, position, lastPosition, max] = [1000, 0, 0, Number.NEGATIVE_INFINITY];
          for (const batch of batches) {
            if (position - lastPosition >= intervalBytes) {
              entries.push({ offset, position, maxTimestampBeforeMs: max });
              lastPosition = position;
            }
            index.note(offset, position, batch.timestampMs, batch.timestampMs);
            offset += batch.records;
            position += batch.bytes;
            max = Math.max(max, batch.timestampMs);
            if (batch.stores) await database.store(segment, index, offset, false);
          }
          await database.store(segment, index, offset, true);

          for (const target of [
            999,
            1000,
            offset,
            ...entries.flatMap((each) => [each.offset - 1, each.offset]),
          ]) {
            const expected = entries.findLast((each) => each.offset <= target);
            expectEntry(await database.floor(segment, target), expected, entries);
            // A second time, and from the cache.
            expectEntry(await database.floor(segment, target), expected, entries);
            const inMemory = index.floor(target);
            if (inMemory !== 'elsewhere') expectEntry(inMemory, expected ?? 'start', entries);
          }
          for (let timestampMs = -6; timestampMs <= 62; timestampMs += 4) {
            const expected = entries.findLast((each) => each.maxTimestampBeforeMs < timestampMs);
            expectEntry(await database.floorByTime(segment, timestampMs), expected, entries);
            const inMemory = index.floorByTime(timestampMs);
            if (inMemory !== 'elsewhere') expectEntry(inMemory, expected ?? 'start', entries);
          }
          expect(await database.floor(new Segment('/d', 1, 999), offset)).toBeUndefined();
          expect(await database.floor(new Segment('/d', 1, 1001), offset)).toBeUndefined();
          expect(await new OffsetIndex(new MemoryIndex(), 8).floor(segment, offset)).toBeUndefined();
        },
      ),
      { numRuns: 40 },
    ));
});
