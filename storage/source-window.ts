// Many small slices of one source, such as the payloads of the packets that came in one piece: a part of the source is
// copied at once to the far end of the chunk, and each slice is then a move inside one buffer, which takes no object.
//
// The window grows while slices go on where it ends, so that of a source with one slice here little is copied.
/** No slice is larger. */
export const WINDOW_BYTES_MIN = 1024;
const WINDOW_BYTES_MAX = 64 * 1024;

const NONE = new Uint8Array(0);

export class SourceWindow {
  #source: Uint8Array = NONE;
  /** The part of the source that is there, and where in the chunk. */
  #start = 0;
  #end = 0;
  #at = 0;

  /** Where what is free of the chunk ends. */
  begin(chunk: Uint8Array): number {
    return this.#end > 0 ? this.#at : chunk.length;
  }

  /**
   * Where in the chunk the slice is; −1 = not there. Of a source that came before, the window moves on to begin with it, if
   * more than the window's size stays free behind `from`.
   */
  find(source: Uint8Array, start: number, end: number, chunk: Uint8Array, from: number): number {
    if (source === this.#source && start >= this.#start && end <= this.#end) {
      return this.#at + start - this.#start;
    }
    return this.#move(source, start, chunk, from);
  }

  #move(source: Uint8Array, start: number, chunk: Uint8Array, from: number): number {
    if (source !== this.#source) {
      this.forget();
      this.#source = source;
      return -1;
    }
    const wanted = Math.max(WINDOW_BYTES_MIN, 2 * (this.#end - this.#start));
    const length = Math.min(wanted, WINDOW_BYTES_MAX, source.length - start);
    const at = chunk.length - length;
    const hasRoom = at - from >= length;
    this.#start = hasRoom ? start : 0;
    this.#end = hasRoom ? start + length : 0;
    this.#at = at;
    if (!hasRoom) return -1;
    chunk.set(source.subarray(start, start + length), at);
    return at;
  }

  /** What was at the chunk's end may be written over; the source is let go of. */
  forget(): void {
    this.#source = NONE;
    this.#start = 0;
    this.#end = 0;
  }
}
