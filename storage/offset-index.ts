// Finds where to start reading: by offset and by time. Sparse: one entry per interval of log bytes, at batch starts.
// Entries are kept in runs; a run is one row of the database (FORMAT.md, "Index"), since a row costs twenty
// microseconds and an entry must cost next to nothing.
//
// The index is never the truth. Whoever uses an entry looks whether a batch with that offset is there, and scans
// from the segment's start when it is not.

import { readInt64, viewOf, writeInt64 } from './frame.ts';
import { IndexCache } from './index-cache.ts';
import type { IndexDatabase, IndexRow } from './index-database.ts';
import type { Segment } from './segment.ts';
import {
  ENTRY_BYTES,
  type IndexEntry,
  IndexRun,
  type SegmentIndex,
  type SegmentTimes,
} from './segment-index.ts';
import {
  ABORTED_BYTES,
  ABORTED_RUN_LENGTH,
  type AbortedRun,
  abortedRunOf,
  runLength,
  SegmentTransactions,
  type TransactionSummary,
} from './segment-transactions.ts';

/** Key spaces 1 to 3 had rows without checksums. */
export const SPACE_OFFSETS = 4;
export const SPACE_TIMES = 5;
export const SPACE_SUMMARIES = 6;
export const SPACE_ABORTED = 7;
export const SPACES = [SPACE_OFFSETS, SPACE_TIMES, SPACE_SUMMARIES, SPACE_ABORTED] as const;
const KEY_BYTES = 1 + 4 + 8 + 8;
/** Rows of 32 bytes are from a version that did not know the last append: they are made anew. */
const SUMMARY_BYTES = 8 + 8 + 8 + 8 + 8;
/** The same of a segment with control batches, which says of them besides. */
const TRANSACTIONS_AT = SUMMARY_BYTES;
const SUMMARY_BYTES_WITH_TRANSACTIONS = TRANSACTIONS_AT + 4 + 8 + 8;
/** Behind the runs of a segment that is not complete: how many aborted transactions they have. */
const ABORTED_COUNT_NUMBER = 0xffffffff;

/** Summaries that are asked for at once: enough that a row costs little, few enough that nobody waits. */
const SUMMARIES_AT_ONCE = 1000;

/** What the database knows about the segments of one log. */
export class OffsetIndex {
  readonly #database: IndexDatabase;
  readonly #logId: number;
  readonly #cache: IndexCache;

  constructor(database: IndexDatabase, logId: number, cache = new IndexCache(0)) {
    this.#database = database;
    this.#logId = logId;
    this.#cache = cache;
  }

  async floor(segment: Segment, offset: number): Promise<IndexEntry | undefined> {
    const cached = this.#cache.floor(segment, offset);
    if (cached !== undefined) return cached.last((index) => cached.offsetAt(index) <= offset);
    const { version } = this.#cache;
    const row = await this.#database.floor(
      this.#key(SPACE_OFFSETS, segment, 0),
      this.#key(SPACE_OFFSETS, segment, offset),
    );
    const run = row === undefined ? undefined : runOf(row);
    if (run !== undefined && !segment.gone) this.#cache.put(segment, run, offset, version);
    return run?.last((index) => run.offsetAt(index) <= offset);
  }

  /** The last entry before which everything is older than `timestampMs`. */
  async floorByTime(segment: Segment, timestampMs: number): Promise<IndexEntry | undefined> {
    const row = await this.#database.floor(
      this.#timeKey(segment, Number.MIN_SAFE_INTEGER),
      this.#timeKey(segment, timestampMs - 1),
    );
    if (row === undefined || row.value.length !== 8) return undefined;
    const key = this.#key(SPACE_OFFSETS, segment, readInt64(viewOf(row.value), 0));
    const value = await this.#database.get(key);
    const run = value === undefined ? undefined : runOf({ key, value });
    // The row of times may be older than the run that it names.
    if (run === undefined || run.maxTimestampBeforeAt(0) >= timestampMs) return undefined;
    return run.last((index) => run.maxTimestampBeforeAt(index) < timestampMs);
  }

  /** The last entry of a segment. */
  async last(segment: Segment): Promise<IndexEntry | undefined> {
    return this.floor(segment, Number.MAX_SAFE_INTEGER);
  }

  /** Stores entries that are in memory and below `offset`: full runs only, or the open one too. */
  async store(segment: Segment, index: SegmentIndex, offset: number, withOpenRun: boolean): Promise<void> {
    const runs = index.unstored(offset, withOpenRun);
    const aborted = index.transactions?.unstored(offset) ?? [];
    if (runs.length + aborted.length === 0) return;
    const rows: IndexRow[] = aborted.map(({ number, run, length }) => ({
      key: this.#key(SPACE_ABORTED, segment, number),
      value: Buffer.from(run.bytes.subarray(0, length * ABORTED_BYTES)),
    }));
    const newest = aborted.at(-1);
    if (newest !== undefined) {
      const count = Buffer.alloc(4);
      viewOf(count).setUint32(0, newest.number * ABORTED_RUN_LENGTH + newest.length);
      rows.push({ key: this.#key(SPACE_ABORTED, segment, ABORTED_COUNT_NUMBER), value: count });
    }
    // Marked before the wait, as the runs of entries are.
    const before = aborted.map(({ run, length }) => {
      const { stored } = run;
      run.stored = length;
      return stored;
    });
    for (const run of runs) {
      // Marked before the wait: an entry that is added meanwhile takes the mark off again.
      run.stored = true;
      rows.push({
        key: this.#key(SPACE_OFFSETS, segment, run.firstOffset),
        value: Buffer.from(run.bytes.subarray(0, run.length * ENTRY_BYTES)),
      });
      const firstOffset = Buffer.alloc(8);
      writeInt64(viewOf(firstOffset), 0, run.firstOffset);
      rows.push({ key: this.#timeKey(segment, run.maxTimestampBeforeAt(0)), value: firstOffset });
    }
    this.#cache.grown(segment);
    try {
      await this.#database.put(rows);
      this.#cache.grown(segment);
    } catch (error) {
      for (const run of runs) run.stored = false;
      for (const [at, { run }] of aborted.entries()) run.stored = before[at]!; // one each
      throw error;
    }
    index.shrink();
  }

  /** Times of a closed segment; undefined when its index is not complete. */
  async times(segment: Segment): Promise<SegmentTimes | undefined> {
    return timesIn(await this.#database.get(this.#key(SPACE_SUMMARIES, segment, 0)), segment);
  }

  /** The same of many, in their order. */
  async timesOfMany(segments: readonly Segment[]): Promise<readonly (SegmentTimes | undefined)[]> {
    const times: (SegmentTimes | undefined)[] = [];
    for (let start = 0; start < segments.length; start += SUMMARIES_AT_ONCE) {
      const some = segments.slice(start, start + SUMMARIES_AT_ONCE);
      const values = await this.#database.getMany(some.map((each) => this.#key(SPACE_SUMMARIES, each, 0)));
      for (const [index, segment] of some.entries()) times.push(timesIn(values[index], segment));
    }
    return times;
  }

  /** Says that the entries of a closed segment are complete. */
  async storeTimes(segment: Segment, times: SegmentTimes): Promise<void> {
    const { transactions } = times;
    const value = Buffer.alloc(transactions === undefined ? SUMMARY_BYTES : SUMMARY_BYTES_WITH_TRANSACTIONS);
    const view = viewOf(value);
    writeInt64(view, 0, segment.byteSize);
    writeInt64(view, 8, segment.endOffset - 1);
    writeInt64(view, 16, times.firstTimestampMs);
    writeInt64(view, 24, times.maxTimestampMs);
    writeInt64(view, 32, Math.floor(times.appendedAtMs));
    if (transactions !== undefined) {
      const { abortedCount, firstOffsetMin, stableOffset } = transactions;
      view.setUint32(TRANSACTIONS_AT, abortedCount);
      writeInt64(view, TRANSACTIONS_AT + 4, abortedCount === 0 ? 0 : firstOffsetMin);
      writeInt64(view, TRANSACTIONS_AT + 12, stableOffset);
    }
    await this.#database.put([{ key: this.#key(SPACE_SUMMARIES, segment, 0), value }]);
  }

  /** A run of the aborted transactions of a closed segment; undefined when its row does not have so many. */
  async abortedRun(segment: Segment, number: number, length: number): Promise<AbortedRun | undefined> {
    const { abortedRuns } = this.#cache;
    const cached = abortedRuns.get(segment, number);
    if (cached !== undefined) return cached;
    const row = await this.#database.get(this.#key(SPACE_ABORTED, segment, number));
    const run = abortedRunOf(row, length);
    if (run !== undefined) abortedRuns.put(segment, number, run);
    return run;
  }

  /**
   * What was stored of control batches below `offset`, before the segment was complete. Undefined when there is none;
   * `lost` when there is less than there was.
   */
  async transactionsBelow(
    segment: Segment,
    offset: number,
  ): Promise<SegmentTransactions | undefined | 'lost'> {
    const told = await this.#database.get(this.#key(SPACE_ABORTED, segment, ABORTED_COUNT_NUMBER));
    if (told === undefined) return undefined;
    if (told.length !== 4) return 'lost';
    const count = viewOf(told).getUint32(0);
    const runs: AbortedRun[] = [];
    for (let number = 0; number * ABORTED_RUN_LENGTH < count; number++) {
      const row = await this.#database.get(this.#key(SPACE_ABORTED, segment, number));
      // Its own bytes: it goes on growing.
      const run = abortedRunOf(row && Buffer.from(row), runLength(number, count));
      if (run === undefined) return 'lost';
      run.stored = run.length;
      run.cut(run.countBelow(offset));
      if (run.length === 0) break;
      runs.push(run);
      if (run.length < ABORTED_RUN_LENGTH) break;
    }
    return new SegmentTransactions(runs);
  }

  async dropSegment(segment: Segment): Promise<void> {
    this.#cache.drop(segment);
    for (const space of SPACES) {
      await this.#database.clear(
        indexKey(space, this.#logId, segment.baseOffset, 0, 0),
        indexKey(space, this.#logId, segment.baseOffset, 0xffffffff, 0xffffffff),
      );
    }
    this.#cache.drop(segment);
  }

  /** Drops the entries of these segments, and of whatever else the log had below `baseOffset`. */
  async dropBelow(segments: readonly Segment[], baseOffset: number): Promise<void> {
    if (baseOffset === 0) return;
    for (const segment of segments) this.#cache.drop(segment);
    for (const space of SPACES) {
      await this.#database.clear(
        indexKey(space, this.#logId, 0, 0, 0),
        indexKey(space, this.#logId, baseOffset - 1, 0xffffffff, 0xffffffff),
      );
    }
    for (const segment of segments) this.#cache.drop(segment);
  }

  #key(space: number, segment: Segment, offset: number): Buffer {
    return indexKey(space, this.#logId, segment.baseOffset, Math.floor(offset / 4294967296), offset >>> 0);
  }

  /** Timestamps may be negative: the sign bit is turned so that they sort as unsigned bytes. */
  #timeKey(segment: Segment, timestampMs: number): Buffer {
    const high = (Math.floor(timestampMs / 4294967296) ^ 0x80000000) >>> 0;
    return indexKey(SPACE_TIMES, this.#logId, segment.baseOffset, high, timestampMs >>> 0);
  }
}

/** Removes the rows of the logs with these ids, and of those between. */
export async function clearLogs(database: IndexDatabase, firstId: number, lastId: number): Promise<void> {
  for (const space of SPACES) {
    await database.clear(
      indexKey(space, firstId, 0, 0, 0),
      indexKey(space, lastId, Number.MAX_SAFE_INTEGER, 0xffffffff, 0xffffffff),
    );
  }
}

/** @param high @param low of the offset, or of the timestamp with its sign bit turned */
export function indexKey(
  space: number,
  logId: number,
  segmentBase: number,
  high: number,
  low: number,
): Buffer {
  const bytes = Buffer.alloc(KEY_BYTES);
  const view = viewOf(bytes);
  view.setUint8(0, space);
  view.setUint32(1, logId);
  writeInt64(view, 5, segmentBase);
  view.setUint32(13, high);
  view.setUint32(17, low);
  return bytes;
}

function timesIn(summary: Buffer | undefined, segment: Segment): SegmentTimes | undefined {
  if (summary === undefined) return undefined;
  const hasTransactions = summary.length === SUMMARY_BYTES_WITH_TRANSACTIONS;
  if (!hasTransactions && summary.length !== SUMMARY_BYTES) return undefined;
  const view = viewOf(summary);
  // A summary of other contents than what is there says nothing.
  if (readInt64(view, 0) !== segment.byteSize || readInt64(view, 8) !== segment.endOffset - 1)
    return undefined;
  return {
    firstTimestampMs: readInt64(view, 16),
    maxTimestampMs: readInt64(view, 24),
    appendedAtMs: readInt64(view, 32),
    transactions: hasTransactions ? transactionsIn(view) : undefined,
  };
}

function transactionsIn(view: DataView): TransactionSummary {
  const abortedCount = view.getUint32(TRANSACTIONS_AT);
  return {
    abortedCount,
    firstOffsetMin: abortedCount === 0 ? Number.POSITIVE_INFINITY : readInt64(view, TRANSACTIONS_AT + 4),
    stableOffset: readInt64(view, TRANSACTIONS_AT + 12),
  };
}

/** Undefined when the row is none of entries. */
export function runOf(row: IndexRow): IndexRun | undefined {
  const entries = row.value.length / ENTRY_BYTES;
  if (!Number.isInteger(entries) || entries === 0) return undefined;
  return new IndexRun(readInt64(viewOf(row.key), 13), row.value, entries);
}
