// Offsets by time. A record's timestamp is whatever its producer said, so times need not rise with offsets: "first"
// is always first by offset. Segments are chosen by their largest timestamp, the place in a segment by the index, and
// the record by reading on from there. What it costs does not depend on how many segments there are: the largest
// timestamp up to each closed segment is in memory, which can be searched by halves.
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
  #maxima: RunningMaxima | undefined;

  constructor(options: TimeLookupOptions) {
    this.#options = options;
  }

  /** First record with timestamp ≥ `timestampMs` from the log start on and below `upTo`. */
  async offsetForTime(timestampMs: number, upTo: number): Promise<TimestampedOffset | undefined> {
    return this.#untilNothingGoes((all) => this.#offsetForTime(all, timestampMs, upTo));
  }

  /** First record among those with the largest timestamp (KIP-734). */
  async offsetOfMaxTimestamp(upTo: number): Promise<TimestampedOffset | undefined> {
    const maxTimestampMs = await this.#untilNothingGoes((all) => this.#maxTimestamp(all, upTo));
    return maxTimestampMs === undefined ? undefined : this.offsetForTime(maxTimestampMs, upTo);
  }

  /** Looks again where segments left the list meanwhile, or their records were deleted. */
  async #untilNothingGoes<Result>(
    look: (all: readonly Segment[]) => Promise<Result | 'gone'>,
  ): Promise<Result> {
    const { segments, completion } = this.#options;
    for (;;) {
      const logStart = this.#options.logStartOffset();
      const { all } = segments;
      try {
        await completion.loadTimes(all);
        if (segments.all !== all) continue;
        const result = await look(all);
        if (result !== 'gone') return result;
      } catch (error) {
        if (logStart === this.#options.logStartOffset() && segments.all === all) throw error;
      }
    }
  }

  async #offsetForTime(
    all: readonly Segment[],
    timestampMs: number,
    upTo: number,
  ): Promise<TimestampedOffset | undefined | 'gone'> {
    const { segments, completion } = this.#options;
    const logStart = this.#options.logStartOffset();
    const first = Math.max(segments.floorIndex(logStart), this.#maximaOf(all).countBelow(timestampMs));
    for (let index = first; index < all.length; index++) {
      const segment = all[index]!; // index is below the length
      if (segment.baseOffset >= upTo) return undefined;
      const times = segment.times ?? (await completion.timesOf(segment));
      if (segment.gone) return 'gone';
      if (times === undefined || times.maxTimestampMs < timestampMs) continue;
      const entry = await this.#entryBefore(segment, timestampMs);
      if (segment.gone) return 'gone';
      const from = Math.max(logStart, entry?.offset ?? segment.baseOffset);
      const found = await this.#firstFrom(from, Math.min(upTo, segment.endOffset), timestampMs);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #maxTimestamp(all: readonly Segment[], upTo: number): Promise<number | undefined | 'gone'> {
    const { segments, completion } = this.#options;
    const logStart = this.#options.logStartOffset();
    let maxTimestampMs: number | undefined;
    for (let index = segments.floorIndex(logStart); index < all.length; index++) {
      const segment = all[index]!; // index is below the length
      if (segment.baseOffset >= upTo) break;
      const whole = segment.baseOffset >= logStart && segment.endOffset <= upTo;
      const times = whole ? (segment.times ?? (await completion.timesOf(segment))) : undefined;
      const max = whole
        ? times?.maxTimestampMs
        : await this.#maxTimestampWithin(segment, Math.max(logStart, segment.baseOffset), upTo);
      if (segment.gone) return 'gone';
      if (max !== undefined && (maxTimestampMs === undefined || max > maxTimestampMs)) maxTimestampMs = max;
    }
    return maxTimestampMs;
  }

  #maximaOf(all: readonly Segment[]): RunningMaxima {
    if (this.#maxima?.segments !== all || this.#maxima.couldBeLonger) this.#maxima = new RunningMaxima(all);
    return this.#maxima;
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

/** Of each closed segment from the first on whose times are known: the largest timestamp in it and all before it. */
class RunningMaxima {
  readonly segments: readonly Segment[];
  readonly #maxima: Float64Array;

  constructor(segments: readonly Segment[]) {
    this.segments = segments;
    const unknown = segments.findIndex((segment) => !isKnown(segment));
    this.#maxima = new Float64Array(unknown < 0 ? segments.length : unknown);
    let max = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < this.#maxima.length; index++) {
      max = Math.max(max, segments[index]?.times?.maxTimestampMs ?? max);
      this.#maxima[index] = max;
    }
  }

  /** More is known by now. */
  get couldBeLonger(): boolean {
    const next = this.segments[this.#maxima.length];
    return next !== undefined && isKnown(next);
  }

  /** How many segments from the first on have nothing as late as `timestampMs`. */
  countBelow(timestampMs: number): number {
    let low = 0;
    let high = this.#maxima.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#maxima[middle]! < timestampMs)
        low = middle + 1; // middle is below the length
      else high = middle;
    }
    return low;
  }
}

/** Whether its largest timestamp is at hand and will not change. */
function isKnown({ times, index }: Segment): boolean {
  return times !== undefined && index === undefined;
}
