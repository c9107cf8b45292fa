// Writes Kafka's primitive types and size-prefixed frames into a growing buffer.
//
// The buffer is cut from a slab: `take` hands out what was written and goes on behind it, so that small
// frames share one allocation and none is ever written to again after it was handed out. What is to be kept for
// long is better copied, or it keeps its slab. A large frame has a buffer of its own, which is used again once it is
// given back: a new one of a megabyte for each would be the garbage collector's to find. What is lent is not copied: it
// goes out between two parts of the buffer.

import { unrepresentable } from './errors.ts';
import type { LastingBytes } from './lasting-bytes.ts';

const SLAB_BYTES = 64 * 1024;
/** Below this much room a new slab is begun rather than one that must grow at once. */
const SLAB_BYTES_MIN = 1024;
/** Buffers that came back and wait for the next large frames: 16 MiB at most. */
const SPARES_MAX = 4;
const SPARE_BYTES_MAX = 4 * 1024 * 1024;
/** Below this a copy is cheaper than one more part of a write. */
const LENT_BYTES_MIN = 16 * 1024;
const TWO_TO_32 = 4_294_967_296;
const TWO_TO_63 = 2 ** 63;
/** Up to this many characters, a loop over ASCII is cheaper than a call into the runtime. */
const ASCII_LOOP_CHARACTERS = 48;

/** What of a stream is needed to write to it. */
export interface WireStream {
  write(bytes: Buffer, done?: (error?: Error | null) => void): unknown;
  /** From here on to `uncork` it collects what it is given, and writes it at once. */
  cork(): void;
  uncork(): void;
}

interface Lent {
  /** How many of the buffer's bytes come before it. */
  readonly at: number;
  readonly lent: LastingBytes;
}

export class WireWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(SLAB_BYTES);
  #start = 0;
  #position = 0;
  readonly #spares: Buffer[] = [];
  #lent: Lent[] = [];

  /** Bytes written since the last `take`, without those that are lent. */
  get length(): number {
    return this.#position - this.#start;
  }

  /** What was written; the writer forgets it and never touches it again. */
  take(): Buffer {
    const lent = this.#lent;
    if (lent.length === 0) return this.#takeOwn();
    this.#lent = [];
    const own = this.#takeOwn();
    const taken = Buffer.concat(partsOf(own, lent).map(({ bytes }) => bytes));
    for (const each of lent) each.lent.letGo();
    return taken;
  }

  /** What `take` would return, in one write. */
  writeTo(stream: WireStream): void {
    const lent = this.#lent;
    const own = this.#takeOwn();
    if (lent.length === 0) {
      stream.write(own, this.afterWriting(own));
      return;
    }
    this.#lent = [];
    stream.cork();
    for (const { bytes, lent: of } of partsOf(own, lent)) stream.write(bytes, of && lettingGo(of));
    stream.uncork();
  }

  #takeOwn(): Buffer {
    const taken = this.#bytes.subarray(this.#start, this.#position);
    // The rest of a buffer that grew for a large frame is let go: small frames would keep all of it in memory.
    if (this.#bytes.length > SLAB_BYTES || SLAB_BYTES - this.#position < SLAB_BYTES_MIN) {
      this.#bytes = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#position = 0;
    }
    this.#start = this.#position;
    return taken;
  }

  /** To be called when nobody reads any more what `take` returned. Undefined: nothing is gained, it is not large. */
  afterWriting({ buffer }: Buffer): ((error?: Error | null) => void) | undefined {
    const { byteLength } = buffer;
    if (byteLength <= SLAB_BYTES || byteLength > SPARE_BYTES_MAX) return undefined;
    return (error) => {
      if (!error && this.#spares.length < SPARES_MAX) this.#spares.push(Buffer.from(buffer));
    };
  }

  /** Forgets what was written after `length` was as given. */
  rewind(length: number): void {
    this.#position = this.#start + length;
    while (this.#lent.length > 0 && this.#lent.at(-1)!.at > length) this.#lent.pop(); // there is one
  }

  /** Opens a size-prefixed frame; `endFrame` gets back what this returns. Frames do not nest. */
  startFrame(): number {
    const frame = this.length;
    this.int32(0);
    return frame;
  }

  endFrame(frame: number): void {
    let size = this.length - frame - 4;
    for (const { at, lent } of this.#lent) if (at > frame) size += lent.bytes.length;
    this.#bytes.writeInt32BE(size, this.#start + frame);
  }

  boolean(value: boolean): void {
    this.#ensure(1);
    this.#bytes[this.#position++] = value ? 1 : 0;
  }

  int8(value: number): void {
    if ((value << 24) >> 24 !== value) throw unrepresentable(`${value} is not an int8`);
    this.#ensure(1);
    this.#bytes[this.#position++] = value;
  }

  int16(value: number): void {
    if ((value << 16) >> 16 !== value) throw unrepresentable(`${value} is not an int16`);
    this.#ensure(2);
    const bytes = this.#bytes;
    bytes[this.#position++] = value >> 8;
    bytes[this.#position++] = value;
  }

  int32(value: number): void {
    if ((value | 0) !== value) throw unrepresentable(`${value} is not an int32`);
    this.#ensure(4);
    this.#putInt32(value);
  }

  /** 2^63 stands for Long.MAX_VALUE (see the reader). */
  int64(value: number): void {
    if (!Number.isInteger(value) || value < -TWO_TO_63 || value > TWO_TO_63) {
      throw unrepresentable(`${value} is not an int64`);
    }
    this.#ensure(8);
    if (value === TWO_TO_63) {
      this.#putInt32(0x7fffffff);
      this.#putInt32(-1);
      return;
    }
    const high = Math.floor(value / TWO_TO_32);
    this.#putInt32(high);
    this.#putInt32(value - high * TWO_TO_32);
  }

  unsignedVarint(value: number): void {
    this.#ensure(5);
    const bytes = this.#bytes;
    let rest = value;
    while (rest > 0x7f) {
      bytes[this.#position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[this.#position++] = rest;
  }

  uuid(value: string): void {
    this.#ensure(16);
    const hex = value.length === 36 ? value.replaceAll('-', '') : '';
    if (hex.length !== 32 || this.#bytes.write(hex, this.#position, 'hex') !== 16) {
      throw unrepresentable(`${JSON.stringify(value)} is not a uuid`);
    }
    this.#position += 16;
  }

  /** STRING: an int16 length, then the text. */
  string(value: string): void {
    this.#text(value, false);
  }

  /** COMPACT_STRING: an unsigned varint of length + 1, then the text. */
  compactString(value: string): void {
    this.#text(value, true);
  }

  raw(value: Uint8Array): void {
    this.#ensure(value.length);
    this.#bytes.set(value, this.#position);
    this.#position += value.length;
  }

  /** Bytes that are written from where they lie: the writer holds them from now on, for the caller. */
  lend(lent: LastingBytes): void {
    if (lent.bytes.length >= LENT_BYTES_MIN) {
      this.#lent.push({ at: this.length, lent });
      return;
    }
    this.raw(lent.bytes);
    lent.letGo();
  }

  /**
   * Puts the size of what was written since `from` (a `length`), nothing of it lent, in front of it, as an unsigned varint. The body
   * comes first because its size is not known before; it is moved by the few bytes of its prefix.
   */
  prefixSize(from: number): void {
    const size = this.length - from;
    let prefixBytes = 1;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) prefixBytes++;
    this.#ensure(prefixBytes + 5);
    const at = this.#start + from;
    this.#bytes.copyWithin(at + prefixBytes, at, this.#position);
    this.#position = at;
    this.unsignedVarint(size);
    this.#position += size;
  }

  #text(value: string, compact: boolean): void {
    const characters = value.length;
    this.#ensure(characters * 3 + 5);
    if (characters <= ASCII_LOOP_CHARACTERS) {
      const before = this.#position;
      this.#textLength(characters, compact);
      const bytes = this.#bytes;
      let at = this.#position;
      let index = 0;
      for (; index < characters; index++) {
        const code = value.charCodeAt(index);
        if (code > 0x7f) break;
        bytes[at++] = code;
      }
      if (index === characters) {
        this.#position = at;
        return;
      }
      this.#position = before;
    }
    this.#textLength(Buffer.byteLength(value), compact);
    this.#position += this.#bytes.write(value, this.#position);
  }

  #textLength(byteLength: number, compact: boolean): void {
    if (byteLength > 0x7fff) throw unrepresentable(`a string of ${byteLength} bytes`);
    if (compact) this.unsignedVarint(byteLength + 1);
    else this.int16(byteLength);
  }

  #putInt32(value: number): void {
    const bytes = this.#bytes;
    const at = this.#position;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
    this.#position = at + 4;
  }

  #ensure(byteLength: number): void {
    if (this.#position + byteLength > this.#bytes.length) this.#grow(byteLength);
  }

  #grow(byteLength: number): void {
    const used = this.length;
    const needed = used + byteLength;
    // A slab that has run out is followed by the next; a large frame gets room for what follows its large field.
    const grown =
      needed <= SLAB_BYTES / 2
        ? Buffer.allocUnsafeSlow(SLAB_BYTES)
        : (this.#spareOf(needed) ?? Buffer.allocUnsafeSlow(Math.max(used * 2, needed + SLAB_BYTES)));
    grown.set(this.#bytes.subarray(this.#start, this.#position));
    this.#bytes = grown;
    this.#start = 0;
    this.#position = used;
  }

  #spareOf(needed: number): Buffer | undefined {
    const index = this.#spares.findIndex(({ length }) => length >= needed);
    return index < 0 ? undefined : this.#spares.splice(index, 1)[0];
  }
}

/** Of bytes that could not be written nobody can tell whether they are still on their way. */
function lettingGo(lent: LastingBytes): (error?: Error | null) => void {
  return (error) => {
    if (!error) lent.letGo();
  };
}

interface Part {
  readonly bytes: Buffer;
  readonly lent: LastingBytes | undefined;
}

/** In the order of writing: the buffer's own bytes around those that are lent. */
function partsOf(own: Buffer, lent: readonly Lent[]): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const each of lent) {
    if (each.at > from) parts.push({ bytes: own.subarray(from, each.at), lent: undefined });
    parts.push({ bytes: each.lent.bytes, lent: each.lent });
    from = each.at;
  }
  if (from < own.length) parts.push({ bytes: own.subarray(from), lent: undefined });
  return parts;
}
