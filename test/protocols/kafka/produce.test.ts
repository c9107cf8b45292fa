// Produce over a socket: what is answered, and what then lies in the log.

import { gzipSync } from 'node:zlib';
import { crc32c } from '@node-rs/crc32';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { FaultyFileSystem } from '../../src/hub/hub-fixture.ts';
import { type KafkaSocket, openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, fetchOf, offsetsOf, produceOf } from './kafka-requests.ts';

const T = 1_700_000_000_000;

const batch = (...values: (string | null)[]): Buffer =>
  recordBatch(
    values.map((value, index) => ({
      key: Buffer.from(`k${index}`),
      value: value === null ? null : Buffer.from(value),
      headers: [],
    })),
  );

/** Sets attribute bits, and the checksum right again. */
function withAttributes(bytes: Buffer, attributes: number, body?: Buffer): Buffer {
  const changed = body === undefined ? Buffer.from(bytes) : Buffer.concat([bytes.subarray(0, 61), body]);
  changed.writeInt32BE(changed.length - 12, 8);
  changed.writeInt16BE(attributes, 21);
  changed.writeUInt32BE(crc32c(changed.subarray(21)), 17);
  return changed;
}

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

/** A new topic and a connection. */
async function topicOf(config: Readonly<Record<string, string>> = {}, partitions = 1) {
  const name = `produce-${topicNumber++}`;
  const partition = await kafka.createTopic(name, config, partitions);
  return { name, partition, client: await kafka.connect() };
}

async function produce(client: KafkaSocket, ...args: Parameters<typeof produceOf>) {
  const { responses } = await client.ask(api.produce, 9, produceOf(...args));
  return responses[0]!.partitionResponses[0]!;
}

test('topics are named by id from version 13; an unknown id is error 100', async () => {
  const { name, partition, client } = await topicOf();
  const { acks, timeoutMs, topicData } = produceOf(name, batch('v'));
  const ids = [partition.topicId, '00000000-0000-0000-0000-000000000112'];
  const byId = ids.map((topicId) => ({ topicId, partitionData: topicData[0]!.partitionData }));
  const { responses } = await client.ask(api.produce, 13, { acks, timeoutMs, topicData: byId });
  expect(responses.map(({ topicId, partitionResponses: [answer] }) => [topicId, answer?.errorCode])).toEqual([
    [ids[0], 0],
    [ids[1], ERROR_CODES.UNKNOWN_TOPIC_ID],
  ]);
  expect(partition.highWatermark).toBe(1);
});

describe('what is wrong with a partition', () => {
  const cases: [string, number, (name: string) => Parameters<typeof produceOf>, Record<string, string>?][] = [
    ['an unknown topic', ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, () => ['nope', batch('v')]],
    [
      'an unknown partition',
      ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION,
      (t) => [t, batch('v'), { partition: 9 }],
    ],
    ['acks that there are none of', ERROR_CODES.INVALID_REQUIRED_ACKS, (t) => [t, batch('v'), { acks: 2 }]],
    ['null records', ERROR_CODES.INVALID_RECORD, (t) => [t, null]],
    ['no batch', ERROR_CODES.INVALID_RECORD, (t) => [t, Buffer.alloc(0)]],
    ['two batches', ERROR_CODES.INVALID_RECORD, (t) => [t, Buffer.concat([batch('a'), batch('b')])]],
    [
      'a topic of the hub’s own',
      ERROR_CODES.INVALID_TOPIC_EXCEPTION,
      () => ['__consumer_offsets', batch('v')],
    ],
    [
      'a codec that there is none of',
      ERROR_CODES.UNSUPPORTED_COMPRESSION_TYPE,
      (t) => [t, withAttributes(batch('v'), 5)],
    ],
    [
      'a transactional batch',
      ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
      (t) => [t, withAttributes(batch('v'), 0x10)],
    ],
    [
      'a batch beyond max.message.bytes',
      ERROR_CODES.MESSAGE_TOO_LARGE,
      (t) => [t, batch('v'.repeat(1100))],
      { 'max.message.bytes': '1000' },
    ],
  ];
  test.each(cases)('%s', async (_title, errorCode, args, config = {}) => {
    const { name, partition, client } = await topicOf(config);
    expect(await produce(client, ...args(name))).toMatchObject({ errorCode, baseOffset: -1 });
    expect(partition.logEndOffset).toBe(0);
    expect(await produce(client, name, batch('after'))).toMatchObject({ errorCode: 0, baseOffset: 0 });
  });

  test('a wrong checksum is error 2', async () => {
    const { name, client } = await topicOf();
    const damaged = recordBatch([{ key: null, value: Buffer.from('v'), headers: [] }], { crcFault: true });
    expect(await produce(client, name, damaged)).toMatchObject({ errorCode: ERROR_CODES.CORRUPT_MESSAGE });
  });

  test('zstd needs Produce 7', async () => {
    const { name, client } = await topicOf();
    const { responses } = await client.ask(api.produce, 6, produceOf(name, withAttributes(batch('v'), 4)));
    expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(ERROR_CODES.UNSUPPORTED_COMPRESSION_TYPE);
  });

  test('does not keep the others from being stored', async () => {
    const { name, client } = await topicOf({}, 2);
    const partitionData = [
      { index: 0, records: batch('a', 'b') },
      { index: 1, records: Buffer.from('noise') },
      { index: 7, records: batch('c') },
    ];
    const topicData = [
      { name, partitionData },
      { name: 'nope', partitionData: [{ index: 0, records: batch('d') }] },
    ];
    const { responses } = await client.ask(api.produce, 9, { acks: -1, timeoutMs: 1000, topicData });
    const codes = responses.map(({ partitionResponses }) =>
      partitionResponses.map(({ errorCode }) => errorCode),
    );
    expect(codes).toEqual([[0, ERROR_CODES.INVALID_RECORD, 3], [3]]);
    expect(kafka.hub.topics.partition(name, 0)?.logEndOffset).toBe(2);
  });

  test('records without a key on a compacted topic are named one by one (KIP-467)', async () => {
    const { name, client } = await topicOf();
    const view = kafka.hub.topics.get(name)!;
    const compacted = Object.create(view, {
      config: { value: { ...view.config, cleanupPolicy: 'compact' } },
    });
    const get = vi.spyOn(kafka.hub.topics, 'get').mockReturnValue(compacted);
    onTestFinished(() => get.mockRestore());
    const keyless = recordBatch(
      ['a', null, 'c', null].map((key) => ({
        key: key === null ? null : Buffer.from(key),
        value: null,
        headers: [],
      })),
    );
    const answer = await produce(client, name, keyless);
    expect(answer.errorCode).toBe(ERROR_CODES.INVALID_RECORD);
    expect(answer.recordErrors.map(({ batchIndex }) => batchIndex)).toEqual([1, 3]);
  });
});

describe('what is stored', () => {
  test('each batch is told its base offset, with any acks', async () => {
    const { name, client } = await topicOf();
    const answers = [];
    for (const acks of [-1, 1, -1]) answers.push(await produce(client, name, batch('a', 'b'), { acks }));
    expect(answers.map(({ baseOffset }) => baseOffset)).toEqual([0, 2, 4]);
    expect(answers[0]).toMatchObject({ logAppendTimeMs: -1, logStartOffset: 0 });
  });

  test('LogAppendTime is the hub’s clock, in the answer and on the records', async () => {
    const { name, client } = await topicOf({ 'message.timestamp.type': 'LogAppendTime' });
    const beforeMs = Date.now();
    const { logAppendTimeMs } = await produce(client, name, batch('a', 'b'));
    expect(logAppendTimeMs).toBeGreaterThanOrEqual(beforeMs);
    const { topics } = await client.ask(api.listOffsets, 7, offsetsOf(name, -3));
    expect(topics[0]?.partitions[0]).toMatchObject({ timestamp: logAppendTimeMs });
  });

  test('a compressed batch too large to be decompressed at once keeps its place', async () => {
    const { name, client } = await topicOf();
    const large = batch('x'.repeat(400_000));
    const compressed = withAttributes(large, 1, gzipSync(large.subarray(61)));
    const answers = await client.askAtOnce(
      [compressed, batch('small'), compressed, batch('small')].map(
        (bytes) => [api.produce, 9, produceOf(name, bytes)] as const,
      ),
    );
    const offsets = answers.map(({ responses }) => responses[0]?.partitionResponses[0]?.baseOffset);
    expect(offsets).toEqual([0, 1, 2, 3]);
    const { responses } = await client.ask(api.fetch, 11, fetchOf(name, 0));
    expect(responses[0]?.partitions[0]?.records?.length).toBeGreaterThan(800_000);
  });

  test('a bomb is refused', async () => {
    const { connect, createTopic } = await openTestKafka({ decompressedBytesMax: 100_000 });
    await createTopic('t');
    const large = batch('x'.repeat(400_000));
    const bomb = withAttributes(large, 1, gzipSync(large.subarray(61)));
    expect(await produce(await connect(), 't', bomb)).toMatchObject({
      errorCode: ERROR_CODES.MESSAGE_TOO_LARGE,
    });
  });

  test('ten producers at once: offsets unique and contiguous, order per producer kept', async () => {
    const { name, client } = await topicOf();
    const producers = await Promise.all(Array.from({ length: 10 }, () => kafka.connect()));
    const offsets = await Promise.all(
      producers.map(async (producer, number) => {
        const requests = Array.from(
          { length: 20 },
          (_, index) => [api.produce, 9, produceOf(name, batch(`${number}/${index}`, 'x'))] as const,
        );
        const answers = await producer.askAtOnce(requests);
        return answers.map(({ responses }) => responses[0]!.partitionResponses[0]!.baseOffset);
      }),
    );
    for (const own of offsets) expect(own).toEqual([...own].sort((a, b) => a - b));
    const all = offsets.flat().sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 200 }, (_, index) => 2 * index));
    const { topics } = await client.ask(api.listOffsets, 5, offsetsOf(name, -1));
    expect(topics[0]?.partitions[0]?.offset).toBe(400);
  });

  test('identity of an idempotent producer goes with its batch', async () => {
    const { name, client, partition } = await topicOf();
    const { producerId } = await client.ask(api.initProducerId, 4, {
      transactionalId: null,
      transactionTimeoutMs: 1,
    });
    const bytes = batch('a', 'b');
    bytes.writeBigInt64BE(BigInt(producerId), 43);
    bytes.writeInt16BE(0, 51);
    bytes.writeInt32BE(0, 53);
    expect(await produce(client, name, withAttributes(bytes, 0))).toMatchObject({ errorCode: 0 });
    const range = await partition.read({ offset: 0, maxBytes: 1000, upTo: 'highWatermark' });
    const cursor = kafka.hub.cursor();
    if (range.refused !== undefined) throw new Error(range.message);
    cursor.reset(range);
    expect(cursor.nextBatch()).toBe(true);
    expect(cursor).toMatchObject({
      batchProducerId: producerId,
      batchProducerEpoch: 0,
      batchBaseSequence: 0,
    });
    const { responses } = await client.ask(api.fetch, 11, fetchOf(name, 0));
    expect(responses[0]?.partitions[0]?.records?.readBigInt64BE(43)).toBe(BigInt(producerId));
  });
});

test('a flush that fails is error 56, and nothing of it is seen', async () => {
  const faulty = new FaultyFileSystem();
  const { connect, createTopic } = await openTestKafka({ fileSystem: faulty.fileSystem });
  await createTopic('t');
  const client = await connect();
  await produce(client, 't', batch('kept'));
  faulty.failFlushes = true;
  expect((await produce(client, 't', batch('lost'))).errorCode).toBe(ERROR_CODES.KAFKA_STORAGE_ERROR);
  const { topics } = await client.ask(api.listOffsets, 5, offsetsOf('t', -1));
  expect(topics[0]?.partitions[0]?.offset).toBe(1);
  faulty.failFlushes = false;
});

test('timestamps are kept to the millisecond', async () => {
  const { name, client } = await topicOf();
  const records = [T + 5, T, T + 9].map((_time, index) => ({
    key: null,
    value: Buffer.of(index),
    headers: [],
  }));
  await produce(client, name, recordBatch(records, { timestampsMs: [T + 5, T, T + 9] }));
  for (const [asked, offset, timestamp] of [
    [T, 0, T + 5],
    [T + 6, 2, T + 9],
    [T + 10, -1, -1],
  ] as const) {
    const { topics } = await client.ask(api.listOffsets, 5, offsetsOf(name, asked));
    expect(topics[0]?.partitions[0]).toMatchObject({ offset, timestamp });
  }
});
