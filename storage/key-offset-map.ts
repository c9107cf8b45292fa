// The latest offset of each key, for a round of compaction: open addressing in one buffer of a fixed size, so that a
// log of any number of keys is compacted in bounded memory. It holds hashes and not keys (key-hash.ts has the odds).
//
//   slot   hash 16 bytes | offset + 1, high u32, low u32; a slot of zeros is free
import { KeyHash } from './key-hash.ts';

const HASH_WORDS = 4;
const SLOT_WORDS = HASH_WORDS + 2;
export const SLOT_BYTES = 4 * SLOT_WORDS;
/** Linear probing looks at some two slots for a key that is there, at some eight for one that is not. */
const LOAD_MAX = 0.75;
const SLOTS_MIN = 16;

export class KeyOffsetMap {
  readonly #slots: number;
  readonly #words: Int32Array;
  readonly #hash: KeyHash;
  readonly #entriesMax: number;
  #entries = 0;

  /**
   * @param bytesMax what it may take
   * @param entriesExpected it takes no more than these need
   * @param secret 16 bytes
   */
  constructor(bytesMax: number, entriesExpected: number, secret: Uint8Array) {
    const wanted = Math.ceil((entriesExpected + 1) / LOAD_MAX);
    this.#slots = Math.max(SLOTS_MIN, Math.min(Math.floor(bytesMax / SLOT_BYTES), wanted));
    this.#entriesMax = Math.floor(this.#slots * LOAD_MAX);
    this.#words = new Int32Array(this.#slots * SLOT_WORDS);
    this.#hash = new KeyHash(secret);
  }

  get size(): number {
    return this.#entries;
  }

  get isFull(): boolean {
    return this.#entries >= this.#entriesMax;
  }

  /** Keeps the larger of `offset` and what is there. False when the key is new and there is no room for it. */
  put(view: DataView, keyStart: number, keyEnd: number, offset: number): boolean {
    const at = this.#find(view, keyStart, keyEnd);
    const words = this.#words;
    const known = this.#offsetAt(at);
    if (known < 0) {
      if (this.isFull) return false;
      this.#entries++;
      words[at] = this.#hash.a;
      words[at + 1] = this.#hash.b;
      words[at + 2] = this.#hash.c;
      words[at + 3] = this.#hash.d;
    }
    if (offset > known) {
      words[at + HASH_WORDS] = Math.floor((offset + 1) / 4294967296);
      words[at + HASH_WORDS + 1] = (offset + 1) | 0;
    }
    return true;
  }

  /** −1 when the key is not there. */
  latest(view: DataView, keyStart: number, keyEnd: number): number {
    return this.#offsetAt(this.#find(view, keyStart, keyEnd));
  }

  clear(): void {
    this.#words.fill(0);
    this.#entries = 0;
  }

  /** Where the key is, or the free slot where it would go: there always is one. */
  #find(view: DataView, keyStart: number, keyEnd: number): number {
    const hash = this.#hash;
    hash.of(view, keyStart, keyEnd);
    const { a, b, c, d } = hash;
    const words = this.#words;
    const end = words.length;
    let at = ((a >>> 0) % this.#slots) * SLOT_WORDS;
    for (;;) {
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d) return at;
      if (words[at + HASH_WORDS] === 0 && words[at + HASH_WORDS + 1] === 0) return at;
      at += SLOT_WORDS;
      if (at === end) at = 0;
    }
  }

  #offsetAt(at: number): number {
    const words = this.#words;
    return words[at + HASH_WORDS]! * 4294967296 + (words[at + HASH_WORDS + 1]! >>> 0) - 1; // `at` is a slot's
  }
}
