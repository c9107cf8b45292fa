// Where recent reads of a partition ended: a sequential reader goes on there and needs no index. A few are enough,
// because readers that follow each other closely share the same ends.
import { READ_ENDS_MAX } from './limits.ts';
import type { Segment } from './segment.ts';

export class ReadEnds {
  readonly #offsets: number[] = [];
  readonly #segments: Segment[] = [];
  readonly #positions: number[] = [];
  #next = 0;

  /** Position in the segment's file where the batch that begins at `offset` lies, or will lie; −1 = not known. */
  positionOf(offset: number, segment: Segment): number {
    for (let index = 0; index < this.#offsets.length; index++) {
      if (this.#offsets[index] === offset && this.#segments[index] === segment)
        return this.#positions[index]!;
    }
    return -1;
  }

  put(offset: number, segment: Segment, position: number): void {
    for (let index = 0; index < this.#offsets.length; index++) {
      if (this.#offsets[index] === offset && this.#segments[index] === segment) return;
    }
    this.#offsets[this.#next] = offset;
    this.#segments[this.#next] = segment;
    this.#positions[this.#next] = position;
    this.#next = (this.#next + 1) % READ_ENDS_MAX;
  }
}
