// An array of a request that would take much memory decoded: it has been read once, so that whatever is wrong with it has
// been said, and its elements are made anew each time that they are looked at. For whoever goes through it from
// the front, as handlers do, that costs one more decoding.

import type { WireReader } from './reader.ts';

/** One position is kept for so many elements. */
const STRIDE = 64;

/** Reads `count` elements and returns what looks like an array of them. @param read of one element; throws WireError. */
export function lazyArray(
  reader: WireReader,
  count: number,
  read: (reader: WireReader) => unknown,
): readonly unknown[] {
  const positions = new Int32Array(Math.ceil(count / STRIDE));
  for (let index = 0; index < count; index++) {
    if (index % STRIDE === 0) positions[index / STRIDE] = reader.position;
    reader.once(read);
  }
  const elements = new LazyElements(reader, positions, reader.position, read);
  return new Proxy([], {
    get(target, key) {
      if (key === 'length') return count;
      const index = indexOf(key, count);
      return index < 0 ? Reflect.get(target, key) : elements.at(index);
    },
    has: (target, key) => indexOf(key, count) >= 0 || Reflect.has(target, key),
  });
}

/** −1 when it names no element. */
function indexOf(key: string | symbol, count: number): number {
  if (typeof key === 'symbol') return -1;
  const index = Number(key);
  return Number.isInteger(index) && index >= 0 && index < count && key !== '' ? index : -1;
}

class LazyElements {
  readonly #reader: WireReader;
  readonly #positions: Int32Array;
  readonly #end: number;
  readonly #read: (reader: WireReader) => unknown;
  /** Where the element after the last one that was read begins. */
  #nextIndex = 0;
  #nextPosition: number;

  constructor(reader: WireReader, positions: Int32Array, end: number, read: (reader: WireReader) => unknown) {
    // Its own, for the other goes on to the next frame.
    this.#reader = reader.again(positions[0] ?? end, end);
    this.#positions = positions;
    this.#end = end;
    this.#read = read;
    this.#nextPosition = positions[0] ?? end;
  }

  at(index: number): unknown {
    let from = Math.floor(index / STRIDE) * STRIDE;
    let position = this.#positions[from / STRIDE] ?? this.#end;
    if (this.#nextIndex <= index && this.#nextIndex >= from) {
      from = this.#nextIndex;
      position = this.#nextPosition;
    }
    for (; ; from++) {
      const reader = this.#reader.again(position, this.#end);
      const element = this.#read(reader);
      position = reader.position;
      if (from < index) continue;
      this.#nextIndex = index + 1;
      this.#nextPosition = position;
      return element;
    }
  }
}
