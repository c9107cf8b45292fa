// One data file of a partition, and the partition's files in order. A segment holds one leader epoch and is appended
// to only by the opening of the log that made it; after that it is closed for good.
import { join } from 'node:path';
import { segmentFileName } from './file-names.ts';
import type { SegmentIndex, SegmentTimes } from './segment-index.ts';

export class Segment {
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly path: string;
  /** All finished batches, on disk or not yet. */
  byteSize: number;
  /** What is on disk: a file is read below it only. */
  flushedBytes: number;
  /** One past the last offset that its batches cover. */
  endOffset: number;
  /** Entries in memory; only while it is appended to. */
  index: SegmentIndex | undefined = undefined;
  /** Known at once while appended to; of a closed segment once its index has been looked at. */
  times: SegmentTimes | undefined = undefined;

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

/** Segments in offset order. */
export class SegmentList {
  readonly #segments: Segment[];

  constructor(segments: readonly Segment[]) {
    this.#segments = [...segments];
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
    this.#segments.push(segment);
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
