// DeleteRecords over a socket, and what it does to those who read: with the message schemas and with finished clients.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Admin } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { kafkajsOn, npmKafkaClients } from '../../helpers/kafka-clients.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, fetchOf, offsetsOf, produceOf } from './kafka-requests.ts';

const HIGH_WATERMARK = -1;
const EARLIEST = -2;

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

const batchOf = (...values: string[]): Buffer =>
  recordBatch(values.map((value) => ({ key: Buffer.from('k'), value: Buffer.from(value), headers: [] })));

/** A topic with the records 0 to 5 in batches of two. */
async function filledTopic(config: Readonly<Record<string, string>> = {}) {
  const name = `deleted-from-${topicNumber++}`;
  const partition = await kafka.createTopic(name, config, 2);
  const client = await kafka.connect();
  for (const value of [0, 2, 4]) {
    await client.ask(api.produce, 7, produceOf(name, batchOf(String(value), String(value + 1))));
  }
  const deleteFrom = async (offset: number, version = 2, partitionIndex = 0) => {
    const asked = { topics: [{ name, partitions: [{ partitionIndex, offset }] }], timeoutMs: 10_000 };
    const { topics } = await client.ask(api.deleteRecords, version, asked);
    const { lowWatermark, errorCode } = topics[0]!.partitions[0]!; // one was asked for
    return { lowWatermark, errorCode };
  };
  return { name, partition, client, deleteFrom };
}

describe('DeleteRecords', () => {
  test.each([0, 1, 2])('version %i moves the start, and every answer knows it', async (version) => {
    const { name, client, deleteFrom } = await filledTopic();
    expect(await deleteFrom(4, version)).toEqual({ lowWatermark: 4, errorCode: 0 });
    const earliest = await client.ask(api.listOffsets, 7, offsetsOf(name, EARLIEST));
    expect(earliest.topics[0]?.partitions[0]).toMatchObject({ offset: 4, errorCode: 0 });
    const below = await client.ask(api.fetch, 11, fetchOf(name, 3));
    expect(below.responses[0]?.partitions[0]).toMatchObject({ errorCode: ERROR_CODES.OFFSET_OUT_OF_RANGE });
    const from = await client.ask(api.fetch, 11, fetchOf(name, 4));
    expect(from.responses[0]?.partitions[0]).toMatchObject({ errorCode: 0, logStartOffset: 4 });
    const produced = await client.ask(api.produce, 7, produceOf(name, batchOf('6')));
    expect(produced.responses[0]?.partitionResponses[0]).toMatchObject({ baseOffset: 6, logStartOffset: 4 });
  });

  test('−1 is the high watermark; at or below the start nothing changes', async () => {
    const { deleteFrom } = await filledTopic();
    expect(await deleteFrom(2)).toEqual({ lowWatermark: 2, errorCode: 0 });
    expect(await deleteFrom(1)).toEqual({ lowWatermark: 2, errorCode: 0 });
    expect(await deleteFrom(HIGH_WATERMARK)).toEqual({ lowWatermark: 6, errorCode: 0 });
    expect(await deleteFrom(HIGH_WATERMARK)).toEqual({ lowWatermark: 6, errorCode: 0 });
  });

  test('each partition has its own result', async () => {
    const { name, client, deleteFrom } = await filledTopic();
    const refused = (errorCode: number) => ({ lowWatermark: -1, errorCode });
    expect(await deleteFrom(7)).toEqual(refused(ERROR_CODES.OFFSET_OUT_OF_RANGE));
    expect(await deleteFrom(-2)).toEqual(refused(ERROR_CODES.OFFSET_OUT_OF_RANGE));
    expect(await deleteFrom(0, 2, 9)).toEqual(refused(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION));
    const partitions = Array.from({ length: 20 }, (_, index) => ({ partitionIndex: index % 2, offset: 0 }));
    const topics = [
      { name: 'nope', partitions },
      { name, partitions },
      { name: '__consumer_offsets', partitions: [{ partitionIndex: 0, offset: 0 }] },
    ];
    const answer = await client.ask(api.deleteRecords, 2, { topics, timeoutMs: 0 });
    expect(answer.topics.map((topic) => topic.partitions.map(({ errorCode }) => errorCode))).toEqual([
      partitions.map(() => ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION),
      partitions.map(() => 0),
      [ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    ]);
  });

  test('a topic that is only compacted keeps what it has', async () => {
    const compacted = await filledTopic({ 'cleanup.policy': 'compact' });
    expect(await compacted.deleteFrom(2)).toEqual({
      lowWatermark: -1,
      errorCode: ERROR_CODES.POLICY_VIOLATION,
    });
    const both = await filledTopic({ 'cleanup.policy': 'compact,delete' });
    expect(await both.deleteFrom(2)).toEqual({ lowWatermark: 2, errorCode: 0 });
  });

  test('a fetch that waits for more is told at once that its offset is gone', async () => {
    const { name, client, deleteFrom } = await filledTopic();
    const waiter = await kafka.connect();
    const fetching = waiter.ask(api.fetch, 11, fetchOf(name, 3, { minBytes: 1 << 20, maxWaitMs: 600_000 }));
    // It has been read, and waits, when a later request of the same connection would have been.
    await client.ask(api.fetch, 11, fetchOf(name, 3));
    expect(await deleteFrom(HIGH_WATERMARK)).toEqual({ lowWatermark: 6, errorCode: 0 });
    const { responses } = await fetching;
    expect(responses[0]?.partitions[0]?.errorCode).toBe(ERROR_CODES.OFFSET_OUT_OF_RANGE);
  });

  test('the start stays across a restart, also of a log that was emptied', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const first = await openTestKafka({ directory });
    const partition = await first.createTopic('kept', {}, 1);
    const client = await first.connect();
    await client.ask(api.produce, 7, produceOf('kept', batchOf('0', '1', '2')));
    expect(await partition.deleteRecords(3)).toEqual({ logStartOffset: 3 });
    expect(partition.byteSize).toBe(0);
    await first.close();

    const again = await (await openTestKafka({ directory })).connect();
    await again.ask(api.produce, 7, produceOf('kept', batchOf('3')));
    const { responses } = await again.ask(api.fetch, 11, fetchOf('kept', 3));
    expect(responses[0]?.partitions[0]).toMatchObject({ highWatermark: 4, logStartOffset: 3 });
  });
});

describe('finished clients', () => {
  test('kafkajs deletes records, and one that starts at the beginning gets the rest', async () => {
    const { name } = await filledTopic();
    const admin = kafkajsOn(kafka.port).admin();
    await admin.connect();
    onTestFinished(() => admin.disconnect());
    // It finds the leaders of topics only that it has asked about before.
    await admin.fetchTopicOffsets(name);
    await admin.deleteTopicRecords({ topic: name, partitions: [{ partition: 0, offset: '3' }] });
    expect(await admin.fetchTopicOffsets(name)).toContainEqual({
      ...{ partition: 0, offset: '6', low: '3', high: '6' },
    });
    for (const client of npmKafkaClients) {
      const records = await client.consume(kafka.port, `rest-of-${name}-${client.name}`, name, 3);
      expect(records.map(({ value }) => `${value}`)).toEqual(['3', '4', '5']);
    }
  });

  test('@platformatic/kafka deletes records', async () => {
    const { name, partition } = await filledTopic();
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] });
    onTestFinished(() => admin.close());
    const deleted = await admin.deleteRecords({
      topics: [{ name, partitions: [{ partition: 0, offset: 5n }] }],
    });
    expect(deleted).toMatchObject([{ name, partitions: [{ lowWatermark: 5n }] }]);
    expect(partition.logStartOffset).toBe(5);
  });
});
