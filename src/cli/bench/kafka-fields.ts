// Fields of Kafka's protocol in its older, not compact form: writing and reading.

export class FieldWriter {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;

  int8(value: number): this {
    return this.#fixed(1, (bytes) => bytes.writeInt8(value));
  }

  int16(value: number): this {
    return this.#fixed(2, (bytes) => bytes.writeInt16BE(value));
  }

  int32(value: number): this {
    return this.#fixed(4, (bytes) => bytes.writeInt32BE(value));
  }

  int64(value: number): this {
    return this.#fixed(8, (bytes) => bytes.writeBigInt64BE(BigInt(value)));
  }

  string(text: string | null): this {
    if (text === null) return this.int16(-1);
    const bytes = Buffer.from(text);
    return this.int16(bytes.length).raw(bytes);
  }

  /** With their length in front. */
  bytes(bytes: Uint8Array): this {
    return this.int32(bytes.length).raw(bytes);
  }

  /** Zigzag, at most 32 bits. */
  varint(value: number): this {
    const bytes: number[] = [];
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    return this.raw(Uint8Array.of(...bytes, rest));
  }

  raw(bytes: Uint8Array): this {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    return this;
  }

  done(): Buffer {
    return Buffer.concat(this.#pieces, this.#length);
  }

  #fixed(length: number, write: (bytes: Buffer) => void): this {
    const bytes = Buffer.allocUnsafe(length);
    write(bytes);
    return this.raw(bytes);
  }
}

/** Throws a RangeError where the bytes end too early. */
export class FieldReader {
  readonly #bytes: Buffer;
  position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(length: number): this {
    this.position += length;
    return this;
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.skip(2).position - 2);
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.skip(4).position - 4);
  }

  int64(): number {
    return Number(this.#bytes.readBigInt64BE(this.skip(8).position - 8));
  }

  string(): string {
    return this.slice(Math.max(0, this.int16())).toString();
  }

  bytes(): Buffer {
    return this.slice(Math.max(0, this.int32()));
  }

  /** Zigzag; timestamps go beyond 32 bits. */
  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes.readUInt8(this.position++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }

  /** Empty for a length of null, −1. */
  slice(length: number): Buffer {
    const start = this.position;
    this.position += Math.max(0, length);
    return this.#bytes.subarray(start, this.position);
  }
}
