// Steps through the records of a batch's (decompressed) record section by positions; no object per record.
// One record, all numbers zigzag varints:
//
//   length | attributes i8 | timestamp delta | offset delta | key length, key | value length, value
//   | header count | header count × ( name length, name | value length, value )
//
// A length of −1 is null (a name cannot be). What does not add up is a RecordsError 'invalid-record'.

import { invalidRecord } from './errors.ts';

/** Seven numbers of at least one byte each. */
const RECORD_BYTES_MIN = 7;
const HEADER_BYTES_MIN = 2;
const NO_BYTES: Buffer = Buffer.alloc(0);

export class RecordReader {
  #bytes: Buffer = NO_BYTES;
  #at = 0;
  #end = 0;
  #recordEnd = 0;
  #recordsLeft = 0;
  #headersLeft = 0;

  /** Of the current record, relative to the batch. */
  timestampDelta = 0;
  offsetDelta = 0;
  /** Positions in the section's buffer; −1 = null. */
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  /** Of the current header. */
  nameStart = 0;
  nameEnd = 0;
  headerValueStart = -1;
  headerValueEnd = -1;

  /** Starts on a section that must hold exactly `recordCount` records. */
  reset(bytes: Buffer, start: number, end: number, recordCount: number): void {
    if (recordCount < 0 || recordCount * RECORD_BYTES_MIN > end - start) {
      throw invalidRecord(`${recordCount} records in ${end - start} bytes`);
    }
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#recordEnd = start;
    this.#recordsLeft = recordCount;
    this.#headersLeft = 0;
  }

  /** The next record, or false behind the last one, once nothing is left over. */
  next(): boolean {
    while (this.#headersLeft > 0) this.nextHeader();
    if (this.#at !== this.#recordEnd) {
      throw invalidRecord(`${this.#recordEnd - this.#at} bytes left over in a record`);
    }
    if (this.#recordsLeft === 0) {
      if (this.#at !== this.#end) throw invalidRecord(`${this.#end - this.#at} bytes behind the last record`);
      return false;
    }
    this.#recordsLeft--;
    // While the record's own length is read, the section is the bound.
    this.#recordEnd = this.#end;
    const length = this.#varint();
    const recordEnd = this.#at + length;
    if (length < RECORD_BYTES_MIN - 1 || recordEnd > this.#end)
      throw invalidRecord(`a record of ${length} bytes`);
    this.#recordEnd = recordEnd;
    this.#at++; // attributes: none are defined
    this.timestampDelta = this.#varlong();
    this.offsetDelta = this.#varint();

    const keyLength = this.#varint();
    if (keyLength < 0) {
      this.keyStart = this.#null(keyLength);
      this.keyEnd = -1;
    } else {
      this.keyStart = this.#at;
      this.keyEnd = this.#skip(keyLength);
    }
    const valueLength = this.#varint();
    if (valueLength < 0) {
      this.valueStart = this.#null(valueLength);
      this.valueEnd = -1;
    } else {
      this.valueStart = this.#at;
      this.valueEnd = this.#skip(valueLength);
    }
    const headerCount = this.#varint();
    if (headerCount < 0 || headerCount * HEADER_BYTES_MIN > recordEnd - this.#at) {
      throw invalidRecord(`${headerCount} headers in ${recordEnd - this.#at} bytes`);
    }
    this.headerCount = headerCount;
    this.#headersLeft = headerCount;
    return true;
  }

  /** The next header of the current record; `next` skips those that were not asked for. */
  nextHeader(): boolean {
    if (this.#headersLeft === 0) return false;
    this.#headersLeft--;
    const nameLength = this.#varint();
    if (nameLength < 0) throw invalidRecord('a header without a name');
    this.nameStart = this.#at;
    this.nameEnd = this.#skip(nameLength);
    const valueLength = this.#varint();
    if (valueLength < 0) {
      this.headerValueStart = this.#null(valueLength);
      this.headerValueEnd = -1;
    } else {
      this.headerValueStart = this.#at;
      this.headerValueEnd = this.#skip(valueLength);
    }
    return true;
  }

  #null(length: number): -1 {
    if (length !== -1) throw invalidRecord(`a length of ${length}`);
    return -1;
  }

  #skip(length: number): number {
    const end = this.#at + length;
    if (end > this.#recordEnd)
      throw invalidRecord(`${length} bytes, ${this.#recordEnd - this.#at} remain in the record`);
    this.#at = end;
    return end;
  }

  #varint(): number {
    const at = this.#at;
    const bytes = this.#bytes;
    if (at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
    const first = bytes[at]!;
    if (first < 0x80) {
      this.#at = at + 1;
      return (first >>> 1) ^ -(first & 1);
    }
    if (at + 1 < this.#recordEnd) {
      const second = bytes[at + 1]!;
      if (second < 0x80) {
        this.#at = at + 2;
        const zigzag = (first & 0x7f) | (second << 7);
        return (zigzag >>> 1) ^ -(zigzag & 1);
      }
    }
    return this.#longVarint();
  }

  #longVarint(): number {
    const bytes = this.#bytes;
    let zigzag = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.#at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
      const byte = bytes[this.#at++]!;
      if (shift === 28 && byte > 0x0f) throw invalidRecord('a varint has more than 32 bits');
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    throw invalidRecord('a varint has more than 5 bytes');
  }

  #varlong(): number {
    const at = this.#at;
    if (at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
    const first = this.#bytes[at]!;
    if (first < 0x80) {
      this.#at = at + 1;
      return (first >>> 1) ^ -(first & 1);
    }
    if (at + 1 < this.#recordEnd) {
      const second = this.#bytes[at + 1]!;
      if (second < 0x80) {
        this.#at = at + 2;
        const zigzag = (first & 0x7f) | (second << 7);
        return (zigzag >>> 1) ^ -(zigzag & 1);
      }
    }
    return this.#longVarlong();
  }

  #longVarlong(): number {
    let zigzag = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.#at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
      const byte = this.#bytes[this.#at++]!;
      zigzag |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (zigzag >> 64n !== 0n) throw invalidRecord('a varlong has more than 64 bits');
        return Number(BigInt.asIntN(64, (zigzag >> 1n) ^ -(zigzag & 1n)));
      }
    }
    throw invalidRecord('a varlong has more than 10 bytes');
  }
}
