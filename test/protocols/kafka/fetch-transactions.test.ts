// What a Fetch shows of transactions (KIP-98): up to where each isolation level reads, what was aborted, control batches
// as Kafka's own brokers write them; and what ListOffsets and DescribeProducers say (KIP-664).

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Partition } from '../../../protocols/port.ts';
import { type KafkaSocket, openKafka, type TestKafka } from './kafka-fixture.ts';
import { api, fetchOf, offsetsOf } from './kafka-requests.ts';

const READ_COMMITTED = 1;
const LATEST = -1n;

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

class Log {
  readonly topic = `transactions-${topicNumber++}`;
  readonly #sequences = new Map<number, number>();
  client!: KafkaSocket;
  partition!: Partition;

  static async create(): Promise<Log> {
    const log = new Log();
    log.partition = await kafka.createTopic(log.topic);
    log.client = await kafka.connect();
    return log;
  }

  async send(producerId: number, value: string): Promise<void> {
    const baseSequence = this.#sequences.get(producerId) ?? 0;
    this.#sequences.set(producerId, baseSequence + 1);
    const source = Buffer.from(value);
    const appended = this.partition.append(
      { acks: 'flushed', producerId, producerEpoch: 0, baseSequence, recordCount: 1, transactional: true },
      (writer) => {
        writer.startRecord(1, source, -1, -1, 0);
        writer.endRecord(source, 0, source.length, null);
      },
    );
    if (appended.refused !== undefined) throw new Error(appended.message);
    expect(await appended.acknowledged).toEqual({});
  }

  async end(producerId: number, outcome: 'commit' | 'abort'): Promise<void> {
    const end = { producerId, producerEpoch: 0, outcome, coordinatorEpoch: 5 };
    expect(await this.partition.endTransaction(end)).toEqual({});
  }

  async fetch(offset: number, isolationLevel = READ_COMMITTED) {
    const request = { ...fetchOf(this.topic, offset), isolationLevel };
    const { responses } = await this.client.ask(api.fetch, 11, request);
    return responses[0]!.partitions[0]!;
  }
}

/** `base offset: what`, of each batch. */
function batchesOf(records: Buffer | null): string[] {
  const batches: string[] = [];
  for (let at = 0; records !== null && at < records.length; at += 12 + records.readInt32BE(at + 8)) {
    const attributes = records.readInt16BE(at + 21);
    const end = at + 12 + records.readInt32BE(at + 8);
    const what = attributes & 0x20 ? records.toString('hex', at + 61, end) : attributes & 0x10 ? 'data' : '?';
    batches.push(`${records.readBigInt64BE(at)}: ${what}`);
  }
  return batches;
}

// Length 32 (zigzag), attributes, deltas 0; key of 4 bytes: version 0, type; value of 6: version 0, epoch 5; no headers.
const COMMIT = '20000000080000000' + '10c00000000000500';
const ABORT = '20000000080000000' + '00c00000000000500';

test('what was aborted is told in order of first offsets, and batches come with their ends', async () => {
  const log = await Log.create();
  await log.send(1, 'void 1');
  await log.send(2, 'good');
  await log.send(3, 'void 3');
  await log.end(3, 'abort');
  await log.end(2, 'commit');
  await log.end(1, 'abort');
  const committed = await log.fetch(0);
  expect(committed).toMatchObject({ highWatermark: 6, lastStableOffset: 6, errorCode: 0 });
  expect(committed.abortedTransactions).toEqual([
    { producerId: 1, firstOffset: 0 },
    { producerId: 3, firstOffset: 2 },
  ]);
  expect(batchesOf(committed.records)).toEqual([
    ...['0: data', '1: data', '2: data', `3: ${ABORT}`, `4: ${COMMIT}`, `5: ${ABORT}`],
  ]);
  const uncommitted = await log.fetch(0, 0);
  expect(uncommitted.abortedTransactions).toBeNull();
  expect(uncommitted.records).toEqual(committed.records);
  // Behind the last of their batches nothing is left that they could make void.
  expect((await log.fetch(3)).abortedTransactions).toEqual([]);
});

test('an open transaction ends what is committed, and only there', async () => {
  const log = await Log.create();
  await log.send(1, 'good');
  await log.end(1, 'commit');
  await log.send(2, 'open');
  await log.send(1, 'good');
  const committed = await log.fetch(0);
  expect(committed).toMatchObject({ highWatermark: 4, lastStableOffset: 2 });
  expect(batchesOf(committed.records)).toEqual(['0: data', `1: ${COMMIT}`]);
  expect(batchesOf((await log.fetch(0, 0)).records)).toHaveLength(4);
  const latest = async (isolationLevel: number) => {
    const request = { ...offsetsOf(log.topic, Number(LATEST)), isolationLevel };
    const { topics } = await log.client.ask(api.listOffsets, 5, request);
    return topics[0]!.partitions[0]!.offset;
  };
  expect([await latest(0), await latest(READ_COMMITTED)]).toEqual([4, 2]);
  expect(log.partition.producers()).toMatchObject([
    { producerId: 1, coordinatorEpoch: 5, transactionStartOffset: 3 },
    { producerId: 2, coordinatorEpoch: -1, transactionStartOffset: 2 },
  ]);
});

test('a fetch of ends alone moves its reader on', async () => {
  const log = await Log.create();
  await log.send(1, 'void');
  await log.end(1, 'abort');
  await log.end(1, 'commit');
  expect(batchesOf((await log.fetch(1)).records)).toEqual([`1: ${ABORT}`, `2: ${COMMIT}`]);
});
