// The bytes a connection has received and not yet understood. One packet may come in many pieces; they are
// joined only as far as they have arrived, so a length that is announced costs nothing until it is sent.

export class InputBuffer {
  /** What is unread lies between `start` and `end`; the reader moves `start` on. */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** Whether `bytes` is ours to write into, beyond `end`. */
  #owned = false;

  get length(): number {
    return this.end - this.start;
  }

  /** Appends a piece. It is taken over as it is when nothing is unread. */
  push(piece: Buffer): void {
    const unread = this.end - this.start;
    if (unread === 0) {
      this.bytes = piece;
      this.start = 0;
      this.end = piece.length;
      this.#owned = false;
      return;
    }
    if (!this.#owned || this.end + piece.length > this.bytes.length) this.#grow(unread + piece.length);
    piece.copy(this.bytes, this.end);
    this.end += piece.length;
  }

  /** Twice what is needed, so that a packet of many pieces is copied a bounded number of times over. */
  #grow(needed: number): void {
    const grown = Buffer.allocUnsafe(needed * 2);
    this.bytes.copy(grown, 0, this.start, this.end);
    this.end -= this.start;
    this.start = 0;
    this.bytes = grown;
    this.#owned = true;
  }

  /** Lets go of memory that only holds what has been read: an idle connection keeps its unread bytes alone. */
  release(): void {
    const unread = this.end - this.start;
    if (unread === 0) {
      this.bytes = EMPTY;
      this.#owned = false;
    } else if (unread < this.bytes.length / 2) {
      this.bytes = Buffer.from(this.bytes.subarray(this.start, this.end));
      this.#owned = false;
    } else {
      return;
    }
    this.start = 0;
    this.end = unread;
  }
}

const EMPTY = Buffer.alloc(0);
