// Reads Kafka's primitive types from one frame. Every length is checked against what remains before anything
// is sliced or allocated, and everything allocated is counted against two budgets: beyond one, arrays are decoded
// element by element as they are looked at (lazy-array.ts); beyond the other, the request is refused. So what a
// request decodes to takes four times its own size at most, or 64 KiB. All faults are WireError.
//
// int64 becomes a JS number: exact to ±2^53, and Long.MAX_VALUE (read as 2^63) and Long.MIN_VALUE survive a
// round trip; what lies between loses its low bits, which no offset, time or producer id ever uses.

import { malformed, WireError } from './errors.ts';

const MEBIBYTE = 1024 * 1024;
/** Objects that are made at once may take this many times the bytes that they came in (texts take up to twice theirs) … */
const EAGER_PER_BYTE = 2;
/** … but so much always. */
const EAGER_MIN = 64 * 1024;
/** All that there is to decode may take this many times the bytes … */
const BUDGET_PER_BYTE = 8;
/** … but this much is always granted (a request of 10 KB may well decode to 200 KB) … */
const BUDGET_MIN = MEBIBYTE;
/** … and no request needs more than this: record data is sliced, not decoded, and is not counted. */
const BUDGET_MAX = 64 * MEBIBYTE;

const TWO_TO_32 = 4_294_967_296;

/**
 * Texts that came before, each in the place of its length and last bytes: topics and client ids come again with every
 * request, and comparing one costs a third of decoding it. ASCII alone, so that a character is a byte.
 */
const KNOWN_TEXTS: string[] = new Array<string>(256).fill('');
const KNOWN_BYTES_MAX = 40;

export const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

/** Where the digits of a uuid are in its text, two by two. */
const UUID_PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const HEX_DIGITS = Buffer.from('0123456789abcdef');
const uuidText = Buffer.from(ZERO_UUID);

/** Thrown to the outermost array that is being read at once; nobody else sees it. */
const TOO_MUCH_AT_ONCE = new Error('too much at once');

export class WireReader {
  #bytes: Buffer;
  #position: number;
  #end: number;
  #budget = 0;
  #eager = 0;
  #isAtOnce = false;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.reset(bytes, start, end);
  }

  /** Starts over on another frame. */
  reset(bytes: Buffer, start = 0, end = bytes.length): void {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
    this.#budget = Math.min(BUDGET_MAX, Math.max(BUDGET_MIN, (end - start) * BUDGET_PER_BYTE));
    this.#isAtOnce = false;
    this.#eager = Math.max(EAGER_MIN, (end - start) * EAGER_PER_BYTE);
  }

  /** Another reader of the same frame, of what this one has found sound: nothing of it is refused. */
  again(start: number, end: number): WireReader {
    const reader = new WireReader(this.#bytes, start, end);
    reader.#budget = Number.POSITIVE_INFINITY;
    return reader;
  }

  get position(): number {
    return this.#position;
  }

  get remaining(): number {
    return this.#end - this.#position;
  }

  /** Takes `bytes` of memory from what this frame may use. */
  charge(bytes: number): void {
    this.#budget -= bytes;
    if (this.#budget < 0) throw new WireError('too-large', 'the request decodes to too much memory');
  }

  /**
   * An array of `count` elements of about `elementBytes` of memory each, made at once. Undefined when that would be too
   * much: then nothing was read. An array within another is a part of that one.
   */
  elements<Value>(
    count: number,
    elementBytes: number,
    read: (reader: WireReader) => Value,
  ): Value[] | undefined {
    const bytes = count * elementBytes;
    if (this.#isAtOnce) {
      if (bytes > this.#eager) throw TOO_MUCH_AT_ONCE;
      this.#eager -= bytes;
      return this.#elements(count, read);
    }
    if (bytes > this.#eager) return undefined;
    const [position, budget, eager, end] = [this.#position, this.#budget, this.#eager, this.#end];
    this.#eager -= bytes;
    this.#isAtOnce = true;
    try {
      return this.#elements(count, read);
    } catch (error) {
      if (error !== TOO_MUCH_AT_ONCE) throw error;
      this.#position = position;
      this.#budget = budget;
      this.#eager = eager;
      this.#end = end;
      return undefined;
    } finally {
      this.#isAtOnce = false;
    }
  }

  #elements<Value>(count: number, read: (reader: WireReader) => Value): Value[] {
    // As long as it will be: one that grows takes room for what never comes.
    const values = new Array<Value>(count);
    for (let index = 0; index < count; index++) values[index] = read(this);
    return values;
  }

  /** Runs `read` and forgets what it made. */
  once(read: (reader: WireReader) => unknown): void {
    const eager = this.#eager;
    read(this);
    this.#eager = eager;
  }

  boolean(): boolean {
    return this.int8() !== 0;
  }

  int8(): number {
    return (this.#bytes[this.#take(1)]! << 24) >> 24;
  }

  int16(): number {
    const at = this.#take(2);
    const bytes = this.#bytes;
    return ((bytes[at]! << 24) >> 16) | bytes[at + 1]!;
  }

  int32(): number {
    const at = this.#take(4);
    const bytes = this.#bytes;
    return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
  }

  int64(): number {
    const high = this.int32();
    const low = this.int32() >>> 0;
    return high * TWO_TO_32 + low;
  }

  /** UNSIGNED_VARINT: at most five bytes, 32 bits. */
  unsignedVarint(): number {
    const bytes = this.#bytes;
    let at = this.#position;
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (at >= this.#end) throw malformed('a varint passes the end');
      const byte = bytes[at++]!;
      if (shift === 28 && byte > 0x0f) throw malformed('a varint has more than 32 bits');
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.#position = at;
        return value >>> 0;
      }
    }
    throw malformed('a varint has more than 5 bytes');
  }

  /** The canonical form, in lower case. */
  uuid(): string {
    const at = this.#take(16);
    const bytes = this.#bytes;
    let any = 0;
    // In one piece: put together from slices it would take several times the memory.
    for (let index = 0; index < 16; index++) {
      const byte = bytes[at + index]!;
      const place = UUID_PLACES[index]!;
      any |= byte;
      uuidText[place] = HEX_DIGITS[byte >> 4]!;
      uuidText[place + 1] = HEX_DIGITS[byte & 15]!;
    }
    return any === 0 ? ZERO_UUID : uuidText.toString('latin1');
  }

  /** `length` bytes as text; what is not UTF-8 becomes U+FFFD, as in Kafka. */
  text(length: number): string {
    const at = this.#take(length);
    const bytes = this.#bytes;
    if (length === 0) return '';
    if (length > KNOWN_BYTES_MAX) return bytes.toString('utf8', at, at + length);
    const end = at + length;
    const place = (length * 7 + bytes[at]! * 3 + bytes[end - 1]! * 31) & 255;
    const known = KNOWN_TEXTS[place]!;
    if (known.length === length && holds(bytes, at, known)) return known;
    const text = bytes.toString('utf8', at, end);
    if (holds(bytes, at, text)) KNOWN_TEXTS[place] = text;
    return text;
  }

  /** `length` bytes of the frame itself: a view, not a copy. */
  slice(length: number): Buffer {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  skip(length: number): void {
    this.#take(length);
  }

  /** A section of `length` bytes: reading cannot pass its end until `leave` gets back what this returned. */
  enter(length: number): number {
    if (length > this.remaining) throw malformed(`a section of ${length} bytes, ${this.remaining} remain`);
    const outerEnd = this.#end;
    this.#end = this.#position + length;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    if (this.#position !== this.#end) throw malformed(`${this.remaining} bytes left over in a section`);
    this.#end = outerEnd;
  }

  /** A section of tagged fields (KIP-482) none of which is known. */
  skipTaggedFields(): void {
    for (let count = this.unsignedVarint(); count > 0; count--) {
      this.unsignedVarint();
      this.skip(this.unsignedVarint());
    }
  }

  #take(length: number): number {
    const at = this.#position;
    if (length < 0 || length > this.#end - at) {
      throw malformed(`${length} bytes expected, ${this.#end - at} remain`);
    }
    this.#position = at + length;
    return at;
  }
}

/** Whether the bytes are this text in ASCII. */
function holds(bytes: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code !== bytes[start + index] || code > 0x7f) return false;
  }
  return true;
}
