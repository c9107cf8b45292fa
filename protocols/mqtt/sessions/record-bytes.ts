// The bytes that stored records are made of: integers of variable length (LEB128, up to 2^53), and strings and byte strings
// behind their length. Readers check every length against what is there: a record that is not understood is refused
// whole, by `RecordUnreadable`.

/** A record of the state table that is not what it should be: of a later version, or damaged. */
export class RecordUnreadable extends Error {
  readonly code = 'record-unreadable';

  constructor(message: string) {
    super(message);
    this.name = 'RecordUnreadable';
  }
}

const FIRST_BYTES = 128;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
/** Digits of a uuid before each of its dashes. */
const UUID_GROUP_ENDS = [8, 12, 16, 20] as const;

export class RecordWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  /** From 0 to 2^53 − 1. */
  integer(value: number): void {
    this.#room(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  bytes(value: Uint8Array): void {
    this.integer(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  string(value: string): void {
    this.bytes(Buffer.from(value, 'utf8'));
  }

  /** A uuid in its 16 bytes behind a length of 0; any other name as a string. */
  topicId(value: string): void {
    if (!UUID.test(value)) {
      this.string(value);
      return;
    }
    this.integer(0);
    this.#room(UUID_BYTES);
    this.#length += this.#bytes.write(value.replaceAll('-', ''), this.#length, 'hex');
  }

  /** The bytes so far; the writer is not used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe((this.#length + bytes) * 2);
    grown.set(this.#bytes.subarray(0, this.#length), 0);
    this.#bytes = grown;
  }
}

export class RecordParser {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new RecordUnreadable('it ends too early');
    this.#at++;
    return value;
  }

  integer(): number {
    let value = 0;
    let factor = 1;
    for (let read = 0; read < 8; read++) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw new RecordUnreadable('an integer of more than 8 bytes');
  }

  /** How many items follow, each of at least so many bytes: no more than fit what is left. */
  count(itemBytesMin: number): number {
    const count = this.integer();
    if (count * itemBytesMin > this.remaining) throw new RecordUnreadable(`${count} items do not fit`);
    return count;
  }

  /** A view of the record's own bytes. */
  bytes(): Buffer {
    return this.#slice(this.count(1));
  }

  string(): string {
    return this.bytes().toString('utf8');
  }

  topicId(): string {
    const length = this.count(1);
    if (length > 0) return this.#slice(length).toString('utf8');
    const digits = this.#slice(UUID_BYTES).toString('hex');
    const [first, second, third, fourth] = UUID_GROUP_ENDS;
    return [
      digits.slice(0, first),
      digits.slice(first, second),
      digits.slice(second, third),
      digits.slice(third, fourth),
      digits.slice(fourth),
    ].join('-');
  }

  #slice(length: number): Buffer {
    if (length > this.remaining) throw new RecordUnreadable('it ends too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
