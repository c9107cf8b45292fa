// A bounded cache whose keys are bytes, looked up where they stand: finding a topic again takes no string and no
// slice. Two-way set-associative, so it never grows and needs no list of what was used last.

export interface ByteKeyed {
  readonly key: Uint8Array;
  /** Tells entries with equal keys apart; 0 when nothing does. */
  readonly seed: number;
}

export class ByteKeyedCache<Entry extends ByteKeyed> {
  readonly #slots: (Entry | undefined)[];
  readonly #mask: number;
  readonly #keyBytesMax: number;

  /**
   * @param slots a power of two.
   * @param keyBytesMax longer keys are not kept, so that memory is bounded by slots × this.
   */
  constructor(slots: number, keyBytesMax: number) {
    this.#slots = new Array<Entry | undefined>(slots).fill(undefined);
    this.#mask = slots - 1;
    this.#keyBytesMax = keyBytesMax;
  }

  get(bytes: Uint8Array, start: number, end: number, seed: number): Entry | undefined {
    const slot = hash(bytes, start, end, seed) & this.#mask;
    const first = this.#slots[slot];
    if (first !== undefined && first.seed === seed && equal(first.key, bytes, start, end)) return first;
    const second = this.#slots[slot ^ 1];
    if (second !== undefined && second.seed === seed && equal(second.key, bytes, start, end)) return second;
    return undefined;
  }

  set(entry: Entry): void {
    const { key, seed } = entry;
    if (key.length > this.#keyBytesMax) return;
    const slot = hash(key, 0, key.length, seed) & this.#mask;
    const first = this.#slots[slot];
    if (first !== undefined && !(first.seed === seed && equal(first.key, key, 0, key.length))) {
      this.#slots[slot ^ 1] = first;
    }
    this.#slots[slot] = entry;
  }

  *values(): IterableIterator<Entry> {
    for (const entry of this.#slots) if (entry !== undefined) yield entry;
  }

  clear(): void {
    this.#slots.fill(undefined);
  }
}

/** FNV-1a, folded so that all of it reaches the low bits. */
function hash(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let value = 0x811c9dc5 ^ seed;
  for (let at = start; at < end; at++) value = Math.imul(value ^ bytes[at]!, 0x01000193);
  return value ^ (value >>> 15);
}

export function equal(key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const length = key.length;
  if (length !== end - start) return false;
  // Names differ towards their ends.
  for (let at = length - 1; at >= 0; at--) {
    if (key[at] !== bytes[start + at]) return false;
  }
  return true;
}
