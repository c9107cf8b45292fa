// Where recent reads of a partition ended: a sequential reader goes on there and needs no index. A few are enough,
// because readers that follow each other closely share the same ends.
import { READ_ENDS_MAX } from './limits.ts';
import type { Segment } from './segment.ts';

export class ReadEnds {
  readonly #offsets: number[] = [];
  readonly #segments: Segment[] = [];
  readonly #positions: number[] = [];
  readonly #runs: number[] = [];
  #next = 0;

  /** Where it is kept that the batch at `offset` begins, or will begin, in this segment; −1 = not known. */
  find(offset: number, segment: Segment): number {
    for (let index = 0; index < this.#offsets.length; index++) {
      if (this.#offsets[index] === offset && this.#segments[index] === segment) return index;
    }
    return -1;
  }

  /** In the segment's file. @param index as `find` said */
  positionAt(index: number): number {
    return this.#positions[index]!;
  }

  /** How many reads from files, one going on where the other ended, led here. @param index as `find` said */
  runAt(index: number): number {
    return this.#runs[index]!;
  }

  put(offset: number, segment: Segment, position: number, run: number): void {
    const known = this.find(offset, segment);
    if (known >= 0) {
      if (run > this.#runs[known]!) this.#runs[known] = run;
      return;
    }
    this.#offsets[this.#next] = offset;
    this.#segments[this.#next] = segment;
    this.#positions[this.#next] = position;
    this.#runs[this.#next] = run;
    this.#next = (this.#next + 1) % READ_ENDS_MAX;
  }
}
