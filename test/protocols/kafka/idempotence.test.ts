// Idempotent producers over a socket (KIP-98, KIP-360): what comes again is answered as it was the first time and stored
// once; what leaves a gap or is of an old epoch is refused; and so it is after a restart and after a kill.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { startHubProcess, temporaryDirectory } from '../../helpers/hub-process.ts';
import { KafkaSocket, openKafka, type TestKafka } from './kafka-fixture.ts';
import { api, fetchOf, produceOf } from './kafka-requests.ts';
import { type RawBatch, rawBatch, simpleRecord } from './records/raw-batch.ts';

const SEQUENCE_MAX = 2 ** 31 - 1;
const { OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_REQUEST } =
  ERROR_CODES;

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

/** A batch of `count` records whose values say where they belong. */
function batchOf(producerId: number, sequence: number, count = 1, epoch = 0, fields: RawBatch = {}): Buffer {
  const records = Array.from({ length: count }, (_, index) =>
    simpleRecord(index, null, Buffer.from(`${producerId}/${sequence}+${index}`)),
  );
  return rawBatch(records, {
    ...{ producerId: BigInt(producerId), producerEpoch: epoch, baseSequence: sequence },
    ...fields,
  });
}

/** A producer on a connection and a topic of its own. */
class Producer {
  readonly client: KafkaSocket;
  readonly topic: string;
  readonly producerId: number;

  constructor(client: KafkaSocket, topic: string, producerId: number) {
    this.client = client;
    this.topic = topic;
    this.producerId = producerId;
  }

  /** Error code, or base offset. */
  async send(sequence: number, count = 1, epoch = 0, acks = -1): Promise<string> {
    const { errorCode, baseOffset } = await this.answerTo(sequence, count, epoch, acks);
    return errorCode === 0 ? `at ${baseOffset}` : `error ${errorCode}`;
  }

  async answerTo(sequence: number, count = 1, epoch = 0, acks = -1) {
    const batch = batchOf(this.producerId, sequence, count, epoch);
    const { responses } = await this.client.ask(api.produce, 9, produceOf(this.topic, batch, { acks }));
    return responses[0]!.partitionResponses[0]!;
  }
}

async function producerOn(
  from: TestKafka = kafka,
  config: Readonly<Record<string, string>> = {},
): Promise<Producer> {
  const topic = `idempotent-${topicNumber++}`;
  await from.createTopic(topic, config);
  const client = await from.connect();
  const { producerId } = await client.ask(api.initProducerId, 5, {
    transactionalId: null,
    transactionTimeoutMs: 1,
  });
  return new Producer(client, topic, producerId);
}

const endOf = (from: TestKafka, { topic }: Producer): number | undefined =>
  from.hub.topics.partition(topic, 0)?.logEndOffset;

describe('an idempotent producer', () => {
  test('a duplicate is answered with its first offset, and stored once', async () => {
    const producer = await producerOn();
    const sends = [
      [0, 3],
      [0, 3],
      [3, 2],
      [0, 3],
      [3, 2],
    ] as const;
    const answers = [];
    for (const [sequence, count] of sends) answers.push(await producer.send(sequence, count));
    expect(answers).toEqual(['at 0', 'at 0', 'at 3', 'at 0', 'at 3']);
    expect(endOf(kafka, producer)).toBe(5);
    const again = await producer.answerTo(3, 2);
    expect(again).toMatchObject({
      logAppendTimeMs: -1,
      logStartOffset: 0,
      recordErrors: [],
      errorMessage: null,
    });
  });

  test('of more than five batches ago it is error 46: stored, and nobody knows where', async () => {
    const producer = await producerOn();
    for (let sequence = 0; sequence < 7; sequence++) await producer.send(sequence);
    const answers = [];
    for (let sequence = 0; sequence < 7; sequence++) answers.push(await producer.send(sequence));
    const old = `error ${DUPLICATE_SEQUENCE_NUMBER}`;
    expect(answers).toEqual([old, old, 'at 2', 'at 3', 'at 4', 'at 5', 'at 6']);
  });

  test('a gap is error 45, and so is the same sequence with other records', async () => {
    const producer = await producerOn();
    const gap = `error ${OUT_OF_ORDER_SEQUENCE_NUMBER}`;
    const sends = [
      [0, 3],
      [5, 1],
      [0, 2],
      [0, 4],
      [1, 2],
      [3, 1],
    ] as const;
    const answers = [];
    for (const [sequence, count] of sends) answers.push(await producer.send(sequence, count));
    expect(answers).toEqual(['at 0', gap, gap, gap, gap, 'at 3']);
  });

  test('an epoch of the past is error 47, a new one begins at 0', async () => {
    const producer = await producerOn();
    const answers = [];
    for (const [sequence, epoch] of [
      [0, 1],
      [1, 0],
      [1, 2],
      [0, 2],
      [1, 1],
      [0, 2],
      [0, 30_000],
    ] as const)
      answers.push(await producer.send(sequence, 1, epoch));
    const [gap, fenced] = [OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH].map(
      (code) => `error ${code}`,
    );
    expect(answers).toEqual(['at 0', fenced, gap, 'at 1', fenced, 'at 1', 'at 2']);
  });

  test('any sequence may come first, and they go round at 2^31 − 1', async () => {
    const producer = await producerOn();
    const answers = [];
    for (const [sequence, count] of [
      [SEQUENCE_MAX - 2, 2],
      [SEQUENCE_MAX, 3],
      [2, 1],
      [SEQUENCE_MAX, 3],
      [4, 1],
      [3, 1],
    ] as const)
      answers.push(await producer.send(sequence, count));
    const gap = `error ${OUT_OF_ORDER_SEQUENCE_NUMBER}`;
    expect(answers).toEqual(['at 0', 'at 2', 'at 5', 'at 2', gap, 'at 6']);
  });

  test('a duplicate on another connection while the first is under way is stored once', async () => {
    const producer = await producerOn();
    const other = new Producer(await kafka.connect(), producer.topic, producer.producerId);
    const answers = await Promise.all(
      [producer, other, producer, other].map((each, index) => each.send(0, 3, 0, index < 2 ? -1 : 1)),
    );
    expect(answers).toEqual(['at 0', 'at 0', 'at 0', 'at 0']);
    expect(endOf(kafka, producer)).toBe(3);
  });

  test('acks 0 counts as any', async () => {
    const producer = await producerOn();
    const { client, topic, producerId } = producer;
    client.tell(api.produce, 9, produceOf(topic, batchOf(producerId, 0), { acks: 0 }));
    expect([await producer.send(0), await producer.send(1)]).toEqual(['at 0', 'at 1']);
  });

  test('with LogAppendTime a duplicate has the time of the first', async () => {
    const producer = await producerOn(kafka, { 'message.timestamp.type': 'LogAppendTime' });
    const first = await producer.answerTo(0, 2);
    const firstAtMs = Date.now();
    while (Date.now() === firstAtMs); // so that another time would show
    expect(await producer.answerTo(0, 2)).toEqual(first);
    expect(first.logAppendTimeMs).toBeGreaterThan(0);
  });

  test('state is of a partition: a producer numbers each by itself', async () => {
    const [one, two] = [await producerOn(), await producerOn()];
    const same = new Producer(two.client, two.topic, one.producerId);
    expect([await one.send(0), await one.send(1), await same.send(0), await one.send(2)]).toEqual([
      'at 0',
      'at 1',
      'at 0',
      'at 2',
    ]);
  });

  test('a batch that is wrong for another reason changes nothing', async () => {
    const producer = await producerOn();
    const { client, topic, producerId } = producer;
    const wrong = batchOf(producerId, 0, 2, 0, { recordCount: 3, lastOffsetDelta: 2 });
    const { responses } = await client.ask(api.produce, 9, produceOf(topic, wrong));
    expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(ERROR_CODES.INVALID_RECORD);
    expect(await producer.send(9)).toBe('at 0');
  });

  test('nothing is known of it in a topic that was deleted and made again', async () => {
    const producer = await producerOn();
    await producer.send(0);
    expect(await kafka.hub.topics.delete(producer.topic)).toBeUndefined();
    await kafka.createTopic(producer.topic);
    expect(await producer.send(0)).toBe('at 0');
    expect(endOf(kafka, producer)).toBe(1);
  });
});

test('InitProducerId: half an identity is refused, a whole one gets another id', async () => {
  const client = await kafka.connect();
  const ask = (producerId: number, producerEpoch: number) =>
    client.ask(api.initProducerId, 5, {
      ...{ transactionalId: null, transactionTimeoutMs: 1 },
      ...{ producerId, producerEpoch },
    });
  expect(await ask(5, -1)).toMatchObject({ errorCode: INVALID_REQUEST, producerId: -1 });
  expect(await ask(-1, 5)).toMatchObject({ errorCode: INVALID_REQUEST, producerId: -1 });
  const first = await ask(-1, -1);
  const second = await ask(first.producerId, first.producerEpoch);
  expect(second).toMatchObject({ errorCode: 0, producerEpoch: 0 });
  expect(second.producerId).toBeGreaterThan(first.producerId);
});

test('a restart changes nothing', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-idempotence-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const before = await openKafka({ directory });
  const producer = await producerOn(before);
  for (let sequence = 0; sequence < 7; sequence++) await producer.send(sequence);
  await before.close();
  const after = await openKafka({ directory });
  onTestFinished(() => after.close());
  const again = new Producer(await after.connect(), producer.topic, producer.producerId);
  const { producerId } = await producerOn(after);
  expect(producerId).toBeGreaterThan(producer.producerId);
  expect([await again.send(1), await again.send(2), await again.send(8), await again.send(7)]).toEqual([
    `error ${DUPLICATE_SEQUENCE_NUMBER}`,
    'at 2',
    `error ${OUT_OF_ORDER_SEQUENCE_NUMBER}`,
    'at 7',
  ]);
});

/** Sends batches, five at a time, and again after the connection broke: as a client's retries do. */
class Retrying {
  readonly #producerId: number;
  readonly #topic: string;
  /** First sequence that was not acknowledged. */
  acknowledged = 0;
  /** Answers that a batch of these sequences got; a client never asks twice after the first. */
  readonly wrong: string[] = [];
  #offset = -1;

  constructor(topic: string, producerId: number) {
    this.#topic = topic;
    this.#producerId = producerId;
  }

  /** Until the connection breaks. */
  async run(port: number, onAcknowledged: (count: number) => void): Promise<void> {
    const client = await KafkaSocket.connect(port);
    let next = this.acknowledged;
    const waiting: Promise<void>[] = [];
    let broken = false;
    while (!broken) {
      while (waiting.length < 5) waiting.push(this.#send(client, next++, onAcknowledged));
      await waiting.shift()!.catch(() => {
        broken = true;
      });
    }
    await Promise.allSettled(waiting);
    client.socket.destroy();
  }

  async #send(client: KafkaSocket, sequence: number, onAcknowledged: (count: number) => void): Promise<void> {
    const batch = batchOf(this.#producerId, sequence);
    const { responses } = await client.ask(api.produce, 9, produceOf(this.#topic, batch));
    const { errorCode, baseOffset } = responses[0]!.partitionResponses[0]!;
    if (errorCode !== 0 || baseOffset <= this.#offset) {
      this.wrong.push(`${sequence}: error ${errorCode}, offset ${baseOffset} behind ${this.#offset}`);
    }
    this.#offset = baseOffset;
    this.acknowledged = sequence + 1;
    onAcknowledged(this.acknowledged);
  }
}

test('kills in the middle of a load: each record is stored once, in order', { timeout: 60_000 }, async () => {
  expect(inject('buildError')).toBe('');
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  const topic = 'killed';
  const options = [
    '[storage]\ncheckpoint_size = "64KiB"\n',
    `[[topic]]\nname = "${topic}"\nconfig = { "segment.bytes" = "64KiB" }\n`,
  ].join('\n');
  const producers = [new Retrying(topic, 5001), new Retrying(topic, 5002), new Retrying(topic, 5003)];
  for (let round = 0; round < 3; round++) {
    const hub = await startHubProcess(directory.path, options, ['kafka']);
    let left = 30 + Math.floor(Math.random() * 300);
    let killing: Promise<void> | undefined;
    const count = (): void => {
      left--;
      if (left <= 0) killing ??= hub.kill();
    };
    await Promise.all(producers.map((each) => each.run(hub.kafkaPort, count)));
    await killing;
  }
  const hub = await startHubProcess(directory.path, options, ['kafka']);
  onTestFinished(() => hub.kill());
  const client = await KafkaSocket.connect(hub.kafkaPort);
  const values = await valuesOf(client, topic);
  for (const [index, producer] of producers.entries()) {
    expect(producer.wrong).toEqual([]);
    const own = values.filter((value) => value.startsWith(`${5001 + index}/`));
    expect(own.length).toBeGreaterThanOrEqual(producer.acknowledged);
    expect(own).toEqual(own.map((_value, sequence) => `${5001 + index}/${sequence}+0`));
  }
});

/** All values of partition 0, by the shape of the test's own records. */
async function valuesOf(client: KafkaSocket, topic: string): Promise<string[]> {
  const values: string[] = [];
  for (let offset = 0; ; ) {
    const { responses } = await client.ask(api.fetch, 11, fetchOf(topic, offset));
    const { records, highWatermark } = responses[0]!.partitions[0]!;
    const found = [...(records ?? Buffer.alloc(0)).toString('latin1').matchAll(/\d{4}\/\d+\+0/g)];
    values.push(...found.map(([value]) => value));
    offset += found.length;
    if (offset >= highWatermark) return values;
  }
}
