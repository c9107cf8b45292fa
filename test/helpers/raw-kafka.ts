// A Kafka client of the barest kind, written for tests: it sends exactly the bytes it is told to, retries nothing,
// and shows nulls, holes and errors that finished clients hide. Shares no code with the front end it talks to.
import { connect, type Socket } from 'node:net';
import { crc32c } from '@node-rs/crc32';
import type { PlainRecord } from './kafka-clients.ts';

export const api = { produce: 0, fetch: 1, listOffsets: 2, metadata: 3, apiVersions: 18 } as const;

export interface FetchedRecord extends PlainRecord {
  readonly offset: number;
  readonly timestampMs: number;
}

export interface ProduceAnswer {
  readonly error: number;
  readonly baseOffset: number;
}

export interface FetchAnswer {
  readonly error: number;
  readonly highWatermark: number;
  readonly records: readonly FetchedRecord[];
}

/** One connection. Requests may be pipelined: answers come in request order. */
export class RawKafka {
  readonly #socket: Socket;
  readonly #waiting: { resolve(answer: Buffer): void; reject(error: Error): void }[] = [];
  /** Resolves when the broker has closed the connection. */
  readonly closed: Promise<void>;
  #received: Buffer = Buffer.alloc(0);
  #correlationId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const { reject } of this.#waiting.splice(0))
          reject(new Error('the broker closed the connection'));
        resolve();
      });
    });
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => this.#take(bytes));
  }

  static connect(port: number): Promise<RawKafka> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(new RawKafka(socket)));
      socket.once('error', reject);
    });
  }

  /** Bytes as they are, no frame around them. */
  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** The answer without length and correlation id. Rejects when the connection closes first. */
  request(apiKey: number, version: number, body: Buffer): Promise<Buffer> {
    this.#correlationId += 1;
    const header = new Bytes().i16(apiKey).i16(version).i32(this.#correlationId).string('raw').done();
    const answer = new Promise<Buffer>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.write(framed(Buffer.concat([header, body])));
    return answer;
  }

  async produce(topic: string, partition: number, batch: Buffer, acks = -1): Promise<ProduceAnswer> {
    const body = new Bytes().string(null).i16(acks).i32(10_000);
    body.i32(1).string(topic).i32(1).i32(partition).bytes(batch);
    const answer = new Cursor(await this.request(api.produce, 7, body.done()));
    answer.skip(4).string();
    answer.skip(4 + 4);
    return { error: answer.i16(), baseOffset: answer.i64() };
  }

  /** Answers at once with what is there; `maxWaitMs` waits for a first byte. */
  async fetch(topic: string, partition: number, offset: number, maxWaitMs = 0): Promise<FetchAnswer> {
    const body = new Bytes()
      .i32(-1)
      .i32(maxWaitMs)
      .i32(1)
      .i32(64 << 20)
      .i8(0)
      .i32(0)
      .i32(-1);
    body
      .i32(1)
      .string(topic)
      .i32(1)
      .i32(partition)
      .i32(-1)
      .i64(offset)
      .i64(-1)
      .i32(64 << 20)
      .i32(0)
      .string('');
    const answer = new Cursor(await this.request(api.fetch, 11, body.done()));
    answer.skip(4 + 2 + 4 + 4).string();
    answer.skip(4 + 4);
    const error = answer.i16();
    const highWatermark = answer.i64();
    answer.skip(8 + 8 + 4 + 4);
    return { error, highWatermark, records: readBatches(answer.bytes() ?? Buffer.alloc(0), offset) };
  }

  /** Every record from `offset` to the high watermark. */
  async fetchAll(topic: string, partition: number, offset = 0): Promise<FetchedRecord[]> {
    const records: FetchedRecord[] = [];
    for (let next = offset; ; ) {
      const answer = await this.fetch(topic, partition, next);
      if (answer.error !== 0) throw new Error(`fetch at ${next}: error ${answer.error}`);
      records.push(...answer.records);
      const last = answer.records.at(-1);
      if (last !== undefined) next = last.offset + 1;
      if (last === undefined || next >= answer.highWatermark) return records;
    }
  }

  /** `timestampMs` −1 = latest, −2 = earliest, −3 = max timestamp. */
  async listOffset(topic: string, timestampMs: number): Promise<{ offset: number; timestampMs: number }> {
    const body = new Bytes().i32(-1).i8(0).i32(1).string(topic).i32(1).i32(0).i32(-1).i64(timestampMs).done();
    const answer = new Cursor(await this.request(api.listOffsets, 5, body));
    answer.skip(4 + 4).string();
    answer.skip(4 + 4);
    const error = answer.i16();
    if (error !== 0) throw new Error(`ListOffsets: error ${error}`);
    const found = answer.i64();
    return { timestampMs: found, offset: answer.i64() };
  }

  /** Makes the topic by asking for it; answers when it has a leader. */
  async ensureTopic(topic: string): Promise<void> {
    const body = new Bytes().i32(1).string(topic).i8(1).done();
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const answer = new Cursor(await this.request(api.metadata, 5, body));
      answer.skip(4);
      for (let brokers = answer.i32(); brokers > 0; brokers -= 1) {
        answer.skip(4).string();
        answer.skip(4).string();
      }
      answer.string();
      answer.skip(4 + 4);
      if (answer.i16() === 0) return;
    }
    throw new Error(`${topic} never became ready`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 4 && this.#received.length >= 4 + this.#received.readInt32BE(0)) {
      const end = 4 + this.#received.readInt32BE(0);
      const answer = this.#received.subarray(8, end);
      this.#received = this.#received.subarray(end);
      this.#waiting.shift()?.resolve(answer);
    }
  }
}

/** Length in front, as every request has it. */
export function framed(request: Buffer): Buffer {
  return Buffer.concat([new Bytes().i32(request.length).done(), request]);
}

/** A v2 RecordBatch, uncompressed, without producer identity; `crcFault` makes its checksum wrong. */
export function recordBatch(
  records: readonly PlainRecord[],
  options: { readonly timestampsMs?: readonly number[]; readonly crcFault?: boolean } = {},
): Buffer {
  const timestamps = records.map((_record, index) => options.timestampsMs?.[index] ?? 1_700_000_000_000);
  const first = timestamps[0] ?? 0;
  const covered = new Bytes()
    .i16(0)
    .i32(records.length - 1)
    .i64(first)
    .i64(Math.max(...timestamps));
  covered.i64(-1).i16(-1).i32(-1).i32(records.length);
  records.forEach((record, index) => {
    const body = new Bytes()
      .i8(0)
      .varint((timestamps[index] ?? 0) - first)
      .varint(index);
    body.varintBytes(record.key).varintBytes(record.value).varint(record.headers.length);
    for (const [name, value] of record.headers) body.varintBytes(Buffer.from(name)).varintBytes(value);
    const encoded = body.done();
    covered.varint(encoded.length).raw(encoded);
  });
  const bytes = covered.done();
  const crc = crc32c(bytes) ^ (options.crcFault === true ? 1 : 0);
  const tail = new Bytes()
    .i32(-1)
    .i8(2)
    .i32(crc | 0)
    .raw(bytes)
    .done();
  return new Bytes().i64(0).i32(tail.length).raw(tail).done();
}

function readBatches(bytes: Buffer, fromOffset: number): FetchedRecord[] {
  const records: FetchedRecord[] = [];
  for (let start = 0; start + 61 <= bytes.length; ) {
    const end = start + 12 + bytes.readInt32BE(start + 8);
    if (end > bytes.length) break;
    const expected = bytes.readUInt32BE(start + 17);
    if (crc32c(bytes.subarray(start + 21, end)) !== expected)
      throw new Error('a fetched batch has a wrong CRC');
    const baseOffset = Number(bytes.readBigInt64BE(start));
    const firstTimestampMs = Number(bytes.readBigInt64BE(start + 27));
    const cursor = new Cursor(bytes.subarray(start + 57, end));
    for (let count = cursor.i32(); count > 0; count -= 1) {
      cursor.varint();
      cursor.skip(1);
      const timestampMs = firstTimestampMs + cursor.varint();
      const offset = baseOffset + cursor.varint();
      const key = cursor.varintBytes();
      const value = cursor.varintBytes();
      const headers = Array.from({ length: cursor.varint() }, () => {
        const name = `${cursor.varintBytes()}`;
        return [name, cursor.varintBytes()] as const;
      });
      if (offset >= fromOffset) records.push({ offset, timestampMs, key, value, headers });
    }
    start = end;
  }
  return records;
}

/** Writes the primitive types of the Kafka protocol. */
export class Bytes {
  readonly #parts: Buffer[] = [];

  raw(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }

  i8(value: number): this {
    return this.raw(Buffer.from([value & 0xff]));
  }

  i16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return this.raw(bytes);
  }

  i32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return this.raw(bytes);
  }

  i64(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(value));
    return this.raw(bytes);
  }

  string(text: string | null): this {
    if (text === null) return this.i16(-1);
    return this.i16(Buffer.byteLength(text)).raw(Buffer.from(text));
  }

  bytes(bytes: Buffer): this {
    return this.i32(bytes.length).raw(bytes);
  }

  varint(value: number): this {
    let zigzag = (BigInt(value) << 1n) ^ (BigInt(value) >> 63n);
    const bytes: number[] = [];
    for (; zigzag >= 128n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128);
    return this.raw(Buffer.from([...bytes, Number(zigzag)]));
  }

  varintBytes(bytes: Buffer | null): this {
    return bytes === null ? this.varint(-1) : this.varint(bytes.length).raw(bytes);
  }

  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads them. */
export class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(count: number): this {
    this.#at += count;
    return this;
  }

  i16(): number {
    return this.#bytes.readInt16BE(this.skip(2).#at - 2);
  }

  i32(): number {
    return this.#bytes.readInt32BE(this.skip(4).#at - 4);
  }

  i64(): number {
    return Number(this.#bytes.readBigInt64BE(this.skip(8).#at - 8));
  }

  string(): string | null {
    const length = this.i16();
    return length < 0 ? null : `${this.#take(length)}`;
  }

  bytes(): Buffer | null {
    const length = this.i32();
    return length < 0 ? null : this.#take(length);
  }

  varint(): number {
    let zigzag = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes.readUInt8(this.skip(1).#at - 1);
      zigzag |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number((zigzag >> 1n) ^ -(zigzag & 1n));
    }
  }

  varintBytes(): Buffer | null {
    const length = this.varint();
    return length < 0 ? null : this.#take(length);
  }

  #take(length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(this.#at, this.skip(length).#at));
  }
}
