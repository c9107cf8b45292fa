// The bytes a connection has received and not yet understood. One packet may come in many pieces; they are
// joined only as far as they have arrived, so a length that is announced costs nothing until it is sent.

export class InputBuffer {
  /**
   * What is unread lies between `start` and `end`, its end; the reader moves `start` on. These bytes never change: what
   * comes next is another buffer, though it may share their memory.
   */
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** Begins with `bytes`, and has room behind them; undefined when they are not ours. */
  #room: Buffer | undefined;

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
      this.#room = undefined;
      return;
    }
    const room = this.#roomFor(piece.length);
    piece.copy(room, this.end);
    this.end += piece.length;
    this.bytes = room.subarray(0, this.end);
  }

  /** Twice what is needed, so that a packet of many pieces is copied a bounded number of times over. */
  #roomFor(length: number): Buffer {
    if (this.#room !== undefined && this.end + length <= this.#room.length) return this.#room;
    const grown = Buffer.allocUnsafe((this.length + length) * 2);
    this.bytes.copy(grown, 0, this.start, this.end);
    this.end -= this.start;
    this.start = 0;
    this.#room = grown;
    return grown;
  }

  /** Lets go of memory that only holds what has been read: an idle connection keeps its unread bytes alone. */
  release(): void {
    const unread = this.end - this.start;
    if (unread === 0) {
      this.bytes = EMPTY;
    } else if (unread < (this.#room ?? this.bytes).length / 2) {
      this.bytes = Buffer.from(this.bytes.subarray(this.start, this.end));
    } else {
      return;
    }
    this.#room = undefined;
    this.start = 0;
    this.end = unread;
  }
}

const EMPTY = Buffer.alloc(0);
