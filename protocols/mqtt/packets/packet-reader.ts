// Reads the fields of one packet's body in order (section 1.5). It never looks past the packet's own end, and
// every field that does not fit is a malformed packet.
import { malformed } from '../errors.ts';
import type { ControlCharacters } from './utf8.ts';
import { isMqttUtf8 } from './utf8.ts';

export class PacketReader {
  readonly bytes: Buffer;
  at: number;
  readonly end: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  byte(field: string): number {
    this.#need(1, field);
    return this.bytes[this.at++]!;
  }

  twoByteInteger(field: string): number {
    this.#need(2, field);
    const value = (this.bytes[this.at]! << 8) | this.bytes[this.at + 1]!;
    this.at += 2;
    return value;
  }

  variableByteInteger(field: string): number {
    let value = 0;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.byte(field);
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      // [MQTT-1.5.5-1]
      if (byte === 0 && shift > 0) throw malformed(`${field} takes more bytes than it needs`);
      return value;
    }
    throw malformed(`${field} takes more than four bytes`);
  }

  string(field: string, controls: ControlCharacters): string {
    const length = this.twoByteInteger(field);
    this.#need(length, field);
    const start = this.at;
    this.at += length;
    if (!isMqttUtf8(this.bytes, start, this.at, controls)) {
      throw malformed(`${field} is not a string of MQTT`);
    }
    return this.bytes.toString('utf8', start, this.at);
  }

  /** A copy: what it is read from is reused or let go. */
  binary(field: string): Buffer {
    const length = this.twoByteInteger(field);
    this.#need(length, field);
    this.at += length;
    return Buffer.from(this.bytes.subarray(this.at - length, this.at));
  }

  /** Where a property block ends; the reader stands at its beginning. */
  propertiesEnd(): number {
    const length = this.variableByteInteger('Property Length');
    this.#need(length, 'Properties');
    return this.at + length;
  }

  expectEnd(packet: string): void {
    if (this.at !== this.end) throw malformed(`${packet} has ${this.end - this.at} bytes too many`);
  }

  #need(count: number, field: string): void {
    if (this.at + count > this.end) throw malformed(`The packet ends within ${field}`);
  }
}
