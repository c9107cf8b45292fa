// Offsets by time. A record's timestamp is whatever its producer said, so times need not rise with offsets: "first"
// is always first by offset. Segments are chosen by their largest timestamp, the place in a segment by the index, and
// the record by reading on from there.
import { BatchCursor, type RecordRange } from './batch-cursor.ts';
import type { IndexCompletion } from './index-completion.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { Segment, SegmentList } from './segment.ts';
import type { IndexEntry } from './segment-index.ts';

export interface TimestampedOffset {
  readonly offset: number;
  readonly timestampMs: number;
  readonly leaderEpoch: number;
}

export interface TimeLookupOptions {
  readonly segments: SegmentList;
  readonly index: OffsetIndex;
  readonly completion: IndexCompletion;
  logStartOffset(): number;
  read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange>;
}

const LOOKUP_READ_BYTES = 64 * 1024;

export class TimeLookup {
  readonly #options: TimeLookupOptions;

  constructor(options: TimeLookupOptions) {
    this.#options = options;
  }

  /** First record with timestamp ≥ `timestampMs` from the log start on and below `upTo`. */
  async offsetForTime(timestampMs: number, upTo: number): Promise<TimestampedOffset | undefined> {
    const { segments, completion } = this.#options;
    const logStart = this.#options.logStartOffset();
    for (let index = segments.floorIndex(logStart); index < segments.length; index++) {
      const segment = segments.at(index)!; // index is below the length
      if (segment.baseOffset >= upTo) return undefined;
      const times = await completion.timesOf(segment);
      if (times === undefined || times.maxTimestampMs < timestampMs) continue;
      const entry = await this.#entryBefore(segment, timestampMs);
      const from = Math.max(logStart, entry?.offset ?? segment.baseOffset);
      const found = await this.#firstFrom(from, Math.min(upTo, segment.endOffset), timestampMs);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** First record among those with the largest timestamp (KIP-734). */
  async offsetOfMaxTimestamp(upTo: number): Promise<TimestampedOffset | undefined> {
    const { segments, completion } = this.#options;
    const logStart = this.#options.logStartOffset();
    let maxTimestampMs: number | undefined;
    for (let index = segments.floorIndex(logStart); index < segments.length; index++) {
      const segment = segments.at(index)!; // index is below the length
      if (segment.baseOffset >= upTo) break;
      const whole = segment.baseOffset >= logStart && segment.endOffset <= upTo;
      const max = whole
        ? (await completion.timesOf(segment))?.maxTimestampMs
        : await this.#maxTimestampWithin(segment, Math.max(logStart, segment.baseOffset), upTo);
      if (max !== undefined && (maxTimestampMs === undefined || max > maxTimestampMs)) maxTimestampMs = max;
    }
    return maxTimestampMs === undefined ? undefined : this.offsetForTime(maxTimestampMs, upTo);
  }

  /** The last index entry before which everything is older. */
  async #entryBefore(segment: Segment, timestampMs: number): Promise<IndexEntry | undefined> {
    const inMemory = segment.index?.floorByTime(timestampMs);
    if (inMemory === 'start') return undefined;
    const entry =
      typeof inMemory === 'object' ? inMemory : await this.#options.index.floorByTime(segment, timestampMs);
    // Entries behind the segment's end are of bytes that are gone.
    return entry !== undefined && entry.offset < segment.endOffset ? entry : undefined;
  }

  async #firstFrom(from: number, upTo: number, timestampMs: number): Promise<TimestampedOffset | undefined> {
    const cursor = new BatchCursor();
    for (let offset = from; offset < upTo; ) {
      const range = await this.#options.read(offset, LOOKUP_READ_BYTES, upTo);
      if (range.end === range.start) return undefined;
      cursor.reset(range);
      while (cursor.nextBatch()) {
        if (cursor.batchMaxTimestampMs < timestampMs) continue;
        while (cursor.nextRecord()) {
          if (cursor.timestampMs < timestampMs || cursor.offset < from) continue;
          range.release?.();
          return {
            offset: cursor.offset,
            timestampMs: cursor.timestampMs,
            leaderEpoch: cursor.batchLeaderEpoch,
          };
        }
      }
      range.release?.();
      offset = range.nextOffset;
    }
    return undefined;
  }

  /** Largest timestamp of a segment's records from `from` on and below `upTo`, which cut it at an end or both. */
  async #maxTimestampWithin(segment: Segment, from: number, upTo: number): Promise<number | undefined> {
    const end = Math.min(upTo, segment.endOffset);
    let maxTimestampMs: number | undefined;
    let start = from;
    if (from === segment.baseOffset) {
      // The index says what is the largest before its entry.
      const inMemory = segment.index?.floor(end - 1);
      const entry =
        typeof inMemory === 'object' || inMemory === 'start'
          ? inMemory
          : await this.#options.index.floor(segment, end - 1);
      if (typeof entry === 'object') {
        maxTimestampMs = entry.maxTimestampBeforeMs;
        start = entry.offset;
      }
    }
    const cursor = new BatchCursor();
    while (start < end) {
      const range = await this.#options.read(start, LOOKUP_READ_BYTES, end);
      if (range.end === range.start) break;
      cursor.reset(range);
      while (cursor.nextBatch()) {
        while (cursor.nextRecord()) {
          if (cursor.offset < start) continue;
          if (maxTimestampMs === undefined || cursor.timestampMs > maxTimestampMs) {
            maxTimestampMs = cursor.timestampMs;
          }
        }
      }
      range.release?.();
      start = range.nextOffset;
    }
    return maxTimestampMs;
  }
}
