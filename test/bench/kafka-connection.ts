// How long a Produce request takes from the bytes of the socket to the bytes of its answer, without sockets and disk:
// framing, decoding, the handler, encoding into a store's write buffer, the answer. `npx tsx test/bench/kafka-connection.ts`
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { KafkaContext } from '../../protocols/kafka/api.ts';
import { ApiIndex } from '../../protocols/kafka/api-index.ts';
import { Connection } from '../../protocols/kafka/connection.ts';
import { ConnectionMemory } from '../../protocols/kafka/connection-memory.ts';
import { produce } from '../../protocols/kafka/handlers/produce.ts';
import { ProduceRequest } from '../../protocols/kafka/messages/produce.ts';
import { newCounters } from '../../protocols/kafka/metrics.ts';
import { writeRequestFrame } from '../../protocols/kafka/wire/headers.ts';
import { WireWriter } from '../../protocols/kafka/wire/writer.ts';
import type { Appended, BatchOptions, Published, RecordWriter } from '../../protocols/port.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { Chunk } from '../../storage/tail-cache.ts';
import { clock } from './bench-store.ts';
import { batchOf } from './kafka-batches.ts';

const CONNECTIONS = 16;
const IN_FLIGHT = 5;
const ROUNDS = 100;
const COMMITS_PER_ROUND = 25;
const CHUNK_BYTES = 4 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

/** Everything that is appended between two calls of {@link commit} is acknowledged by the second. */
class MemoryPartition {
  readonly #chunk = newChunk();
  readonly #writer = new BatchWriter(this.#chunk, newChunk);
  #nextOffset = 0;
  #resolve: (published: Published) => void = () => {};
  #acknowledged = this.#next();

  append(options: BatchOptions, fill: (writer: RecordWriter) => void): Appended {
    if (this.#chunk.filled > CHUNK_BYTES / 2) this.#chunk.filled = 0;
    const baseOffset = this.#nextOffset;
    this.#writer.begin(this.#chunk, baseOffset, 1, options);
    fill(this.#writer);
    this.#writer.finish();
    this.#writer.unstage();
    this.#chunk.filled += this.#writer.byteLength;
    this.#nextOffset = this.#writer.nextOffset;
    return { baseOffset, logStartOffset: 0, logAppendTimeMs: -1, acknowledged: this.#acknowledged };
  }

  async commit(): Promise<void> {
    this.#resolve({});
    this.#acknowledged = this.#next();
    await new Promise((resolve) => setImmediate(resolve));
  }

  #next(): Promise<Published> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }
}

function newChunk(): Chunk {
  return new Chunk(Buffer.allocUnsafeSlow(CHUNK_BYTES), { forget() {} });
}

/** What a connection asks of its socket. */
class MemorySocket extends EventEmitter {
  readonly remoteAddress = '127.0.0.1';
  readonly localAddress = '127.0.0.1';
  readonly localPort = 9092;
  readonly writableLength = 0;
  writtenBytes = 0;
  write(bytes: Buffer): boolean {
    this.writtenBytes += bytes.length;
    return true;
  }
  isPaused(): boolean {
    return false;
  }
  resume(): void {}
  destroy(): void {
    throw new Error('the connection was closed');
  }
}

const partition = new MemoryPartition();
const config = {
  ...{ maxMessageBytes: MEBIBYTE, messageTimestampType: 'CreateTime', cleanupPolicy: 'delete' },
  ...{ messageTimestampBeforeMaxMs: Number.MAX_SAFE_INTEGER, messageTimestampAfterMaxMs: 3_600_000 },
  minInsyncReplicas: 1,
};
const topics = new Map([['bench', { name: 'bench', internal: false, partitions: [partition], config }]]);
const log = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };
const settings = {
  ...{ requestBytesMax: 100 * MEBIBYTE, unansweredRequestsMax: 1000, heldBytesMax: 64 * MEBIBYTE },
  ...{ writeBacklogBytesMax: MEBIBYTE, decompressedBytesMax: 64 * MEBIBYTE },
};
const kafka = {
  hub: { clock, log, topics, access: { allows: () => true } },
  ...{ settings, apis: [produce], counters: newCounters() },
  timings: { of: () => ({ observe() {} }) },
} as unknown as KafkaContext; // all that Produce without transactions looks at

const sockets = Array.from({ length: CONNECTIONS }, () => new MemorySocket());
const apis = new ApiIndex([produce]);
const memory = new ConnectionMemory(() => 64 * MEBIBYTE);
const writer = new WireWriter();
for (const each of sockets) {
  const socket = each as unknown as Socket; // what a connection asks of it is there
  new Connection({ socket, listener: 'bench', kafka, apis, writer, memory, onClosed: () => {} });
}

for (const recordCount of [1, 16, 100]) {
  const requests = requestsOf(recordCount);
  const nanoseconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = process.hrtime.bigint();
    for (let commit = 0; commit < COMMITS_PER_ROUND; commit++) {
      for (const socket of sockets) socket.emit('data', requests);
      await partition.commit();
    }
    const elapsed = Number(process.hrtime.bigint() - startedAt);
    nanoseconds.push(elapsed / (COMMITS_PER_ROUND * CONNECTIONS * IN_FLIGHT));
  }
  nanoseconds.sort((left, right) => left - right);
  const [best = 0] = nanoseconds;
  const middle = nanoseconds[ROUNDS >> 1] ?? 0;
  const perRecord = (best / recordCount).toFixed(0);
  console.log(
    `Produce of ${recordCount} × 100 B: best ${best.toFixed(0)} ns, median ${middle.toFixed(0)} ns a request; best ${perRecord} ns a record`,
  );
}
if (sockets.some(({ writtenBytes }) => writtenBytes === 0)) throw new Error('a connection did not answer');

/** As one chunk: what a client has in flight comes together. */
function requestsOf(recordCount: number): Buffer {
  const records = batchOf(recordCount, 0, 100);
  const frames = new WireWriter();
  for (let request = 0; request < IN_FLIGHT; request++) {
    const header = { apiKey: produce.key, apiVersion: 9, correlationId: request, clientId: 'bench' };
    writeRequestFrame(frames, header, ProduceRequest, {
      ...{ transactionalId: null, acks: -1, timeoutMs: 30_000 },
      topicData: [{ name: 'bench', partitionData: [{ index: 0, records }] }],
    });
  }
  return frames.take();
}
