// The part of MessagePack that a record uses, in its one normative form (FORMAT.md): the shortest str, bin and
// array, nil, and int64. Positions in, positions out; nothing is allocated.
import { StorageError } from './errors.ts';
import { MSGPACK_NIL } from './frame.ts';

/** Bytes of the longest prefix of a str, bin or array. */
export const PREFIX_BYTES_MAX = 5;

/** Writes the prefix of a `str` of `length` bytes; returns where its bytes go. */
export function writeStrPrefix(bytes: Buffer, view: DataView, at: number, length: number): number {
  if (length < 32) {
    bytes[at] = 0xa0 | length;
    return at + 1;
  }
  return writeSizedPrefix(bytes, view, at, length, 0xd9);
}

/** Writes the prefix of a `bin` of `length` bytes; returns where its bytes go. */
export function writeBinPrefix(bytes: Buffer, view: DataView, at: number, length: number): number {
  return writeSizedPrefix(bytes, view, at, length, 0xc4);
}

/** Writes the prefix of an array of `count` elements; returns where the first goes. */
export function writeArrayPrefix(bytes: Buffer, view: DataView, at: number, count: number): number {
  if (count < 16) {
    bytes[at] = 0x90 | count;
    return at + 1;
  }
  if (count < 65536) {
    bytes[at] = 0xdc;
    view.setUint16(at + 1, count);
    return at + 3;
  }
  bytes[at] = 0xdd;
  view.setUint32(at + 1, count);
  return at + 5;
}

/** The 8-bit form of str and bin is `first`, the 16-bit and 32-bit forms follow it. */
function writeSizedPrefix(bytes: Buffer, view: DataView, at: number, length: number, first: number): number {
  if (length < 256) {
    bytes[at] = first;
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length < 65536) {
    bytes[at] = first + 1;
    view.setUint16(at + 1, length);
    return at + 3;
  }
  bytes[at] = first + 2;
  view.setUint32(at + 1, length);
  return at + 5;
}

/** What prefixes at one position say: the cursor's one scratch object, so that two numbers come back. */
export class Prefix {
  /** Bytes of a str or bin, elements of an array; −1 for nil. */
  length = 0;
  /** Where what the prefix announces begins. */
  at = 0;

  /** Reads nil or a bin. */
  readBinOrNil(view: DataView, at: number): void {
    const type = view.getUint8(at);
    if (type === MSGPACK_NIL) {
      this.length = -1;
      this.at = at + 1;
    } else {
      this.#readSized(view, at, type, 0xc4, 'bin or nil');
    }
  }

  readStr(view: DataView, at: number): void {
    const type = view.getUint8(at);
    if ((type & 0xe0) === 0xa0) {
      this.length = type & 0x1f;
      this.at = at + 1;
    } else {
      this.#readSized(view, at, type, 0xd9, 'str');
    }
  }

  readArray(view: DataView, at: number): void {
    const type = view.getUint8(at);
    if ((type & 0xf0) === 0x90) {
      this.length = type & 0x0f;
      this.at = at + 1;
    } else if (type === 0xdc) {
      this.length = view.getUint16(at + 1);
      this.at = at + 3;
    } else if (type === 0xdd) {
      this.length = view.getUint32(at + 1);
      this.at = at + 5;
    } else {
      throw unexpected(at, type, 'array');
    }
  }

  #readSized(view: DataView, at: number, type: number, first: number, expected: string): void {
    if (type === first) {
      this.length = view.getUint8(at + 1);
      this.at = at + 2;
    } else if (type === first + 1) {
      this.length = view.getUint16(at + 1);
      this.at = at + 3;
    } else if (type === first + 2) {
      this.length = view.getUint32(at + 1);
      this.at = at + 5;
    } else {
      throw unexpected(at, type, expected);
    }
  }
}

function unexpected(at: number, type: number, expected: string): StorageError {
  return new StorageError('corrupt', `expected ${expected} at byte ${at}, found type 0x${type.toString(16)}`);
}
