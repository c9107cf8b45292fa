// One data file of a partition, and the partition's files in order. A segment holds one leader epoch and is appended
// to only by the opening of the log that made it; after that it is closed for good.
import { join } from 'node:path';
import { assert } from './errors.ts';
import { segmentFileName } from './file-names.ts';
import type { SegmentIndex, SegmentTimes } from './segment-index.ts';

export class Segment {
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  path: string;
  /** All finished batches, on disk or not yet. */
  byteSize: number;
  /** What is on disk: a file is read below it only. */
  flushedBytes: number;
  /** One past the last offset that its batches cover. */
  endOffset: number;
  /**
   * It left the list: deleted, or replaced by its compacted self. Whoever waited for its file looks here before judging
   * what came, and starts over from the list.
   */
  gone = false;
  /** Whether a batch of a transaction, or of its end, was appended to it in this opening. */
  hasTransactions = false;
  /** Entries in memory; only while it is appended to. */
  index: SegmentIndex | undefined = undefined;
  /** Known at once while appended to; of a closed segment once its index has been looked at. */
  times: SegmentTimes | undefined = undefined;
  /**
   * Monotonic clock of its first and its last append; undefined when an earlier process made it. A segment that takes
   * the place of others has the latest of their `appendedAt…`, here and in `times`, or its records would age anew.
   */
  firstAppendMonotonicMs: number | undefined = undefined;
  appendedAtMonotonicMs: number | undefined = undefined;

  constructor(
    directory: string,
    leaderEpoch: number,
    baseOffset: number,
    existing?: { readonly byteSize: number; readonly endOffset: number },
  ) {
    this.leaderEpoch = leaderEpoch;
    this.baseOffset = baseOffset;
    this.path = join(directory, segmentFileName(leaderEpoch, baseOffset));
    this.byteSize = existing?.byteSize ?? 0;
    this.flushedBytes = this.byteSize;
    this.endOffset = existing?.endOffset ?? baseOffset;
  }
}

/** Where a range of a segment begins in its file. */
export interface RangePlace {
  readonly segment: Segment;
  readonly position: number;
}

/** Segments in offset order. Each change makes another array, so that who holds one may step through it at leisure. */
export class SegmentList {
  #segments: readonly Segment[];

  constructor(segments: readonly Segment[]) {
    this.#segments = segments;
  }

  /** As they are now. */
  get all(): readonly Segment[] {
    return this.#segments;
  }

  get length(): number {
    return this.#segments.length;
  }

  get byteSize(): number {
    let bytes = 0;
    for (const segment of this.#segments) bytes += segment.byteSize;
    return bytes;
  }

  at(index: number): Segment | undefined {
    return this.#segments[index];
  }

  get newest(): Segment | undefined {
    return this.#segments.at(-1);
  }

  push(segment: Segment): void {
    this.#segments = [...this.#segments, segment];
  }

  /** Puts `next` in the place of `replaced`, which are neighbours and are gone from now on. */
  replace(replaced: readonly Segment[], next: readonly Segment[]): void {
    const from = replaced[0] === undefined ? -1 : this.#segments.indexOf(replaced[0]);
    assert(
      from >= 0 && replaced.every((segment, index) => this.#segments[from + index] === segment),
      'segments that are replaced are neighbours in the list',
    );
    this.#segments = this.#segments.toSpliced(from, replaced.length, ...next);
    for (const segment of replaced) segment.gone = true;
    for (const segment of next) segment.gone = false;
  }

  /** Index of the last segment whose base is at or below `offset`; 0 when `offset` is below all. */
  floorIndex(offset: number): number {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#segments[middle]!.baseOffset <= offset)
        low = middle; // middle is between low and high
      else high = middle - 1;
    }
    return low;
  }

  [Symbol.iterator](): IterableIterator<Segment> {
    return this.#segments[Symbol.iterator]();
  }
}
