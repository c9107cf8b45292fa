// The barest Kafka client, for a load: four requests in versions without compact fields, record batches v2 without
// compression. Everything it asks for comes from one hub, so it stays on the connection it has.
import { connect, type Socket } from 'node:net';
import { crc32c } from '@node-rs/crc32';
import { FieldReader, FieldWriter } from './kafka-fields.ts';

const PRODUCE = { key: 0, version: 3 };
const FETCH = { key: 1, version: 4 };
const LIST_OFFSETS = { key: 2, version: 1 };
const METADATA = { key: 3, version: 5 };
const CLIENT_ID = 'polylog-bench';
const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 256 << 20;
const LATEST = -1;
const READ_UNCOMMITTED = 0;
/** Errors of a topic that is just being made: UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE. */
const NOT_YET: readonly number[] = [3, 5];

export class KafkaConnection {
  readonly #socket: Socket;
  readonly #waiting: { resolve(answer: FieldReader): void; reject(error: Error): void }[] = [];
  #pieces: Buffer[] = [];
  #received = 0;
  /** With its length in front; until that is there, that alone. */
  #expected = 4;
  #requests = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the hub closed the Kafka connection')));
  }

  static open(host: string, port: number): Promise<KafkaConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true, timeout: TIMEOUT_MS });
      socket.once('error', reject);
      socket.once('timeout', () => socket.destroy(new Error('no answer')));
      socket.once('connect', () => {
        socket.off('error', reject).setTimeout(0);
        resolve(new KafkaConnection(socket));
      });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The topic's partitions; undefined = it is not there, and asking for it did not make it (yet). */
  async partitions(topic: string): Promise<readonly number[] | undefined> {
    const answer = await this.#ask(METADATA, new FieldWriter().int32(1).string(topic).int8(1));
    answer.skip(4);
    for (let brokers = answer.int32(); brokers > 0; brokers--) {
      answer.skip(4).string();
      answer.skip(4).string();
    }
    answer.string();
    answer.skip(4 + 4);
    const error = answer.int16();
    if (NOT_YET.includes(error)) return undefined;
    throwIf(error, `topic ${topic}`);
    answer.string();
    answer.skip(1);
    const partitions: number[] = [];
    for (let count = answer.int32(); count > 0; count--) {
      answer.skip(2);
      partitions.push(answer.int32());
      answer.skip(4);
      for (let lists = 3; lists > 0; lists--) answer.skip(4 * answer.int32());
    }
    return partitions;
  }

  async endOffset(topic: string, partition: number): Promise<number> {
    const body = new FieldWriter().int32(-1).int32(1).string(topic).int32(1).int32(partition).int64(LATEST);
    const answer = await this.#ask(LIST_OFFSETS, body);
    answer.skip(4).string();
    answer.skip(4 + 4);
    throwIf(answer.int16(), `${topic}:${partition}`);
    return answer.skip(8).int64();
  }

  /** Resolves when the batch is on disk: acks = all. */
  async produce(topic: string, partition: number, batch: Buffer): Promise<void> {
    const body = new FieldWriter().string(null).int16(-1).int32(TIMEOUT_MS).int32(1).string(topic).int32(1);
    const answer = await this.#ask(PRODUCE, body.int32(partition).bytes(batch));
    answer.skip(4).string();
    answer.skip(4 + 4);
    throwIf(answer.int16(), `${topic}:${partition}`);
  }

  /** Waits for a first byte up to `waitMs`; `take` gets each value, and `positions` move behind what was read. */
  async fetch(
    topic: string,
    positions: Map<number, number>,
    waitMs: number,
    take: (value: Uint8Array) => void,
  ): Promise<void> {
    const body = new FieldWriter()
      .int32(-1)
      .int32(waitMs)
      .int32(1)
      .int32(16 << 20)
      .int8(READ_UNCOMMITTED);
    body.int32(1).string(topic).int32(positions.size);
    for (const [partition, offset] of positions)
      body
        .int32(partition)
        .int64(offset)
        .int32(4 << 20);
    const answer = await this.#ask(FETCH, body);
    answer.skip(4 + 4).string();
    for (let count = answer.int32(); count > 0; count--) {
      const partition = answer.int32();
      throwIf(answer.int16(), `${topic}:${partition}`);
      answer.skip(8 + 8);
      answer.skip(16 * Math.max(0, answer.int32()));
      const next = readBatches(answer.bytes(), take);
      if (next !== undefined) positions.set(partition, next);
    }
  }

  #ask(api: { readonly key: number; readonly version: number }, body: FieldWriter): Promise<FieldReader> {
    const header = new FieldWriter()
      .int16(api.key)
      .int16(api.version)
      .int32(this.#requests++);
    const request = header.string(CLIENT_ID).raw(body.done()).done();
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('the hub closed the Kafka connection'));
      this.#waiting.push({ resolve, reject });
      this.#socket.write(new FieldWriter().bytes(request).done());
    });
  }

  /** Answers come in the order of the requests. */
  #take(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#received += bytes.length;
    while (this.#received >= this.#expected) {
      const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
      const end = 4 + whole.readInt32BE(0);
      this.#pieces = [whole];
      this.#expected = end;
      if (end > ANSWER_BYTES_MAX || end < 8)
        return void this.#socket.destroy(new Error('this is no Kafka listener'));
      if (whole.length < end) return;
      this.#waiting.shift()?.resolve(new FieldReader(whole.subarray(8, end)));
      this.#pieces = end === whole.length ? [] : [whole.subarray(end)];
      this.#received = whole.length - end;
      this.#expected = 4;
    }
  }

  #end(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function throwIf(error: number, what: string): void {
  if (error !== 0) throw new Error(`${what}: Kafka error ${error}`);
}

/** Values without keys and headers, all of one moment. */
export function recordBatch(values: readonly Buffer[], timestampMs: number): Buffer {
  const covered = new FieldWriter()
    .int16(0)
    .int32(values.length - 1)
    .int64(timestampMs)
    .int64(timestampMs);
  covered.int64(-1).int16(-1).int32(-1).int32(values.length);
  values.forEach((value, index) => {
    const record = new FieldWriter().int8(0).varint(0).varint(index).varint(-1).varint(value.length);
    const encoded = record.raw(value).varint(0).done();
    covered.varint(encoded.length).raw(encoded);
  });
  const bytes = covered.done();
  const rest = new FieldWriter()
    .int32(-1)
    .int8(2)
    .int32(crc32c(bytes) | 0)
    .raw(bytes)
    .done();
  return new FieldWriter().int64(0).bytes(rest).done();
}

const BATCH_HEADER_BYTES = 61;

/** @returns where to read on; undefined = there was no whole batch */
function readBatches(bytes: Buffer, take: (value: Uint8Array) => void): number | undefined {
  let next: number | undefined;
  for (let start = 0; start + BATCH_HEADER_BYTES <= bytes.length; ) {
    const end = start + 12 + bytes.readInt32BE(start + 8);
    if (end > bytes.length) break;
    const isControl = (bytes.readInt16BE(start + 21) & 0x20) !== 0;
    next = Number(bytes.readBigInt64BE(start)) + bytes.readInt32BE(start + 23) + 1;
    const records = new FieldReader(bytes.subarray(start + BATCH_HEADER_BYTES - 4, end));
    for (let count = records.int32(); count > 0 && !isControl; count--) {
      const recordEnd = records.varint() + records.position;
      records.skip(1).varint();
      records.varint();
      records.skip(Math.max(0, records.varint()));
      take(records.slice(records.varint()));
      records.position = recordEnd;
    }
    start = end;
  }
  return next;
}
