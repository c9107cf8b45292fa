// The APIs of transactions by the request: both kinds of clients, each error in Kafka's order, fencing, timeouts, bounds.
// What is expected is what Apache Kafka 4.4 answers to the same requests.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { errorName } from '../../../../protocols/kafka/error-codes.ts';
import { openKafka, openTestKafka, SkippingClock, type TestKafka } from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';
import { clientOn, committedView, type TransactionalClient } from './transaction-client.ts';

let kafka: TestKafka;
let producer: TransactionalClient;
let topic: string;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka({ transactionPartitionsMax: 5 });
});
afterAll(() => kafka.close());
beforeEach(async () => {
  topic = `transactional-${topicNumber++}`;
  await kafka.createTopic(topic, {}, 3);
  producer = await clientOn(kafka);
});

describe('InitProducerId', () => {
  test('a bad id, timeout or identity is refused', async () => {
    expect(await (await clientOn(kafka, '')).init()).toBe('INVALID_REQUEST');
    for (const timeoutMs of [0, -1, 900_001])
      expect(await producer.init({ timeoutMs })).toBe('INVALID_TRANSACTION_TIMEOUT');
    expect(await producer.copy({ producerEpoch: 3 }).init({ expected: true })).toBe('INVALID_REQUEST');
    expect(await producer.copy({ producerId: 3 }).init({ expected: true })).toBe('INVALID_REQUEST');
  });

  test('the next producer fences the one before, which may go on no more (KIP-360)', async () => {
    expect(await producer.init()).toBe('epoch 0');
    const before = producer.copy();
    expect(await producer.init()).toBe('epoch 1');
    expect(await before.init({ expected: true })).toBe('PRODUCER_FENCED');
    expect(await before.init({ expected: true, version: 3 })).toBe('INVALID_PRODUCER_EPOCH');
    const lost = producer.copy();
    expect(await producer.init({ expected: true })).toBe('epoch 2');
    expect(await lost.init({ expected: true })).toBe('epoch 2');
    expect(await producer.copy({ producerEpoch: 50 }).init({ expected: true })).toBe('PRODUCER_FENCED');
    expect(await producer.copy({ producerId: 987_654 }).init({ expected: true })).toBe('PRODUCER_FENCED');
  });

  test('who says who it was of an id that is not known begins anew', async () => {
    expect(await producer.copy({ producerId: 987_654, producerEpoch: 7 }).init({ expected: true })).toBe(
      'epoch 0',
    );
  });

  test.each([3, 5])(
    'aborts what is open, tells its producer to come again, and fences (EndTxn %i)',
    async (version) => {
      await producer.init();
      await producer.add(topic);
      await producer.produce(topic, 0);
      const old = producer.copy();
      expect(await producer.init()).toBe('CONCURRENT_TRANSACTIONS');
      expect(await producer.init()).toBe('epoch 2');
      expect(await old.end('commit', version)).toBe('PRODUCER_FENCED');
      expect(await old.add(topic)).toBe('PRODUCER_FENCED');
      expect(await old.produce(topic, 1)).toBe('INVALID_PRODUCER_EPOCH');
      expect(await committedView(producer.socket, topic)).toMatchObject({ aborted: 1, lastStableOffset: 2 });
    },
  );
});

describe('AddPartitionsToTxn', () => {
  test.each([
    [1, 'INVALID_PRODUCER_EPOCH'],
    [3, 'PRODUCER_FENCED'],
  ])('version %i tells a fenced producer %s', async (version, told) => {
    await producer.init();
    const old = producer.copy();
    await producer.init();
    expect(await old.add(topic, [0], version)).toBe(told);
  });

  test('an id or producer that is not known, a topic that is not there', async () => {
    expect(await producer.add(topic)).toBe('INVALID_PRODUCER_ID_MAPPING');
    await producer.init();
    expect(await producer.copy({ producerId: 987_654 }).add(topic)).toBe('INVALID_PRODUCER_ID_MAPPING');
    expect(await (await clientOn(kafka, '')).add(topic)).toBe('INVALID_REQUEST');
    expect(await producer.add(topic, [0, 7])).toBe('OPERATION_NOT_ATTEMPTED,UNKNOWN_TOPIC_OR_PARTITION');
    expect(await producer.add('__transaction_state')).toBe('TOPIC_AUTHORIZATION_FAILED');
    expect((await producer.described()).state).toBe('Empty');
  });

  test('brokers ask for several, and verify without adding', async () => {
    await producer.init();
    for (const version of [4, 5]) {
      expect(await producer.addBatched(topic, true, version)).toBe('TRANSACTION_ABORTABLE');
      expect(await producer.addBatched(topic, false, version)).toBe('NONE');
      expect(await producer.addBatched(topic, true, version)).toBe('NONE');
      expect(await producer.copy({ producerEpoch: 9 }).addBatched(topic, true, version)).toBe(
        'PRODUCER_FENCED',
      );
      await producer.end('abort');
    }
  });

  test('more partitions than a transaction may have are refused, and the others stay', async () => {
    await kafka.createTopic(`${topic}-wide`, {}, 6);
    await producer.init();
    expect(await producer.add(topic, [0, 1])).toBe('NONE,NONE');
    expect(await producer.add(`${topic}-wide`, [0, 1, 2, 3])).toBe(Array(4).fill('POLICY_VIOLATION').join());
    expect(await producer.described()).toMatchObject({ state: 'Ongoing', partitions: `${topic}:0+1` });
  });
});

describe('a client of the first kind', () => {
  test('writes where it said that it will, commits, and keeps its epoch', async () => {
    await producer.init();
    expect(await producer.end('commit', 4)).toBe('INVALID_TXN_STATE');
    expect(await producer.end('abort', 4)).toBe('INVALID_TXN_STATE');
    expect(await producer.add(topic)).toBe('NONE');
    expect(await producer.add(topic)).toBe('NONE');
    expect(await producer.produce(topic, 0, 11)).toBe('NONE');
    expect(await committedView(producer.socket, topic)).toMatchObject({
      lastStableOffset: 0,
      highWatermark: 1,
    });
    expect(await producer.end('commit', 3)).toBe('NONE');
    // The next transaction waits for the markers of the last.
    expect(await producer.add(topic, [1])).toBe('NONE');
    expect(await committedView(producer.socket, topic)).toMatchObject({ lastStableOffset: 2, aborted: 0 });
    expect(await producer.end('abort', 3)).toBe('NONE');
    expect(await producer.completed()).toBe('CompleteAbort');
    expect((await producer.described()).epoch).toBe(0);
  });

  test('an end that is asked for again succeeds, the other one is 48', async () => {
    await producer.init();
    for (const [outcome, other] of [
      ['commit', 'abort'],
      ['abort', 'commit'],
    ] as const) {
      await producer.add(topic);
      expect(await producer.end(outcome, 4)).toBe('NONE');
      expect(await producer.end(outcome, 4)).toBe('NONE');
      expect(await producer.end(other, 4)).toBe('INVALID_TXN_STATE');
      expect(await producer.end('commit', 5)).toBe('CONCURRENT_TRANSACTIONS');
      expect(await producer.end('commit', 5)).toBe('INVALID_TXN_STATE');
    }
  });

  test.each([
    [9, 'INVALID_TXN_STATE'],
    [10, 'INVALID_TXN_STATE'],
    [11, 'TRANSACTION_ABORTABLE'],
  ])('a partition that is not in the transaction takes no batch: Produce %i', async (version, told) => {
    await producer.init();
    expect(await producer.produce(topic, 0, version)).toBe(told);
    await producer.add(topic, [0]);
    expect(await producer.produce(topic, 0, version, 1)).toBe(told);
    expect(await producer.produce(topic, 0, version, 0)).toBe('NONE');
    await producer.end('commit', 4);
    await producer.completed();
    // Not the batch that comes late either: no marker would end what it begins.
    expect(await producer.produce(topic, 1, version)).toBe(told);
    expect(await committedView(producer.socket, topic)).toMatchObject({
      lastStableOffset: 2,
      highWatermark: 2,
    });
  });

  test('who is fenced, unknown or nobody writes nothing', async () => {
    await producer.init();
    await producer.init();
    await producer.add(topic);
    expect(await producer.produce(topic, 0, 11)).toBe('NONE');
    const { producerEpoch } = producer;
    for (const partition of [0, 1]) {
      const fenced = producer.copy({ producerEpoch: producerEpoch - 1 });
      expect(await fenced.produce(topic, 0, 11, partition)).toBe('INVALID_PRODUCER_EPOCH');
    }
    const stranger = producer.copy({ producerId: 987_654 });
    expect(await stranger.produce(topic, 0, 11, 1)).toBe('INVALID_PRODUCER_ID_MAPPING');
    const nobody = Object.assign(await clientOn(kafka, ''), {
      producerId: producer.producerId,
      producerEpoch,
    });
    expect(await nobody.produce(topic, 0, 11, 1)).toBe('INVALID_REQUEST');
  });
});

describe('a client of KIP-890', () => {
  test('Produce adds the partitions of a request at once, and each end raises the epoch', async () => {
    await producer.init();
    expect(await producer.produceTo(topic, [0, 1, 9], 0)).toEqual([
      'NONE',
      'NONE',
      'UNKNOWN_TOPIC_OR_PARTITION',
    ]);
    expect(await producer.described()).toMatchObject({ state: 'Ongoing', partitions: `${topic}:0+1` });
    expect(await producer.end('commit')).toBe('epoch 1');
    expect(await producer.produce(topic, 0)).toBe('NONE');
    expect(await producer.end('abort')).toBe('epoch 2');
    await producer.completed();
    expect(await committedView(producer.socket, topic)).toEqual({
      lastStableOffset: 4,
      highWatermark: 4,
      aborted: 1,
    });
  });

  test('a late batch of a transaction that ended is fenced', async () => {
    await producer.init();
    await producer.produce(topic, 0);
    const late = producer.copy();
    await producer.end('commit');
    expect(await late.produce(topic, 1)).toBe('INVALID_PRODUCER_EPOCH');
    expect(await late.produce(topic, 0, 12, 1)).toBe('INVALID_PRODUCER_EPOCH');
  });

  test('may abort what it does not know to be there, and commit only what is', async () => {
    await producer.init();
    expect(await producer.end('commit')).toBe('CONCURRENT_TRANSACTIONS');
    expect(await producer.end('commit')).toBe('INVALID_TXN_STATE');
    expect(await producer.end('abort')).toBe('epoch 1');
    expect(await producer.end('abort')).toBe('epoch 2');
    expect(await producer.end('commit')).toBe('CONCURRENT_TRANSACTIONS');
    expect(await producer.end('commit')).toBe('INVALID_TXN_STATE');
  });

  // Apache's producer sends it so when the application is quicker than its sender: what is there is asked before what
  // is to be sent next is taken.
  test('a commit that overtakes the records of its transaction is told to come again, and then done', async () => {
    await producer.init();
    for (const epoch of [1, 2]) {
      expect(await producer.end('commit')).toBe('CONCURRENT_TRANSACTIONS');
      expect(await producer.produce(topic, 0)).toBe('NONE');
      expect(await producer.end('commit')).toBe(`epoch ${epoch}`);
    }
    await producer.completed();
    expect(await committedView(producer.socket, topic)).toMatchObject({ aborted: 0, lastStableOffset: 4 });
  });

  test('who did not hear of the end asks again, with the epoch before', async () => {
    await producer.init();
    await producer.produce(topic, 0);
    const lost = producer.copy();
    await producer.end('commit');
    expect(await lost.copy().end('abort')).toBe('INVALID_TXN_STATE');
    expect(await lost.copy().end('commit')).toBe('epoch 1');
    await producer.produce(topic, 0);
    expect(await lost.copy().end('commit')).toBe('PRODUCER_FENCED');
    await producer.end('abort');
    expect(await lost.copy().end('commit')).toBe('PRODUCER_FENCED');
  });
});

test('EndTxn: an id that is not known, another producer, another epoch', async () => {
  expect(await producer.end('commit', 4)).toBe('INVALID_PRODUCER_ID_MAPPING');
  expect(await (await clientOn(kafka, '')).end('commit', 4)).toBe('INVALID_REQUEST');
  await producer.init();
  expect(await producer.copy({ producerId: 987_654 }).end('commit', 4)).toBe('INVALID_PRODUCER_ID_MAPPING');
  expect(await producer.copy({ producerEpoch: 1 }).end('commit', 4)).toBe('PRODUCER_FENCED');
  expect(await producer.copy({ producerEpoch: 1 }).end('commit', 1)).toBe('INVALID_PRODUCER_EPOCH');
});

describe('administration', () => {
  async function list(filters: {
    readonly states?: readonly string[];
    readonly producers?: readonly number[];
    readonly durationMs?: number;
    readonly pattern?: string | null;
  }) {
    const answer = await producer.socket.ask(api.listTransactions, 2, {
      stateFilters: filters.states ?? [],
      producerIdFilters: filters.producers ?? [],
      durationFilter: filters.durationMs ?? -1,
      transactionalIdPattern: filters.pattern ?? null,
    });
    const found = answer.transactionStates.find(({ transactionalId }) => transactionalId === producer.id);
    return [errorName(answer.errorCode), found?.transactionState, ...answer.unknownStateFilters];
  }

  test('ListTransactions filters by state, producer, duration and expression', async () => {
    await producer.init();
    expect(await list({})).toEqual(['NONE', 'Empty']);
    expect(await list({ states: ['Empty', 'Ongoing'] })).toEqual(['NONE', 'Empty']);
    expect(await list({ states: ['empty'] })).toEqual(['NONE', undefined, 'empty']);
    expect(await list({ states: ['Dead'] })).toEqual(['NONE', undefined]);
    expect(await list({ producers: [producer.producerId] })).toEqual(['NONE', 'Empty']);
    expect(await list({ producers: [987_654] })).toEqual(['NONE', undefined]);
    await producer.add(topic);
    expect(await list({ durationMs: 3_600_000 })).toEqual(['NONE', undefined]);
    expect(await list({ pattern: 'id-.*' })).toEqual(['NONE', 'Ongoing']);
    expect(await list({ pattern: 'id' })).toEqual(['NONE', undefined]);
    expect(await list({ pattern: '' })).toEqual(['NONE', 'Ongoing']);
    expect(await list({ pattern: '(' })).toEqual(['INVALID_REGULAR_EXPRESSION', undefined]);
  });

  test('DescribeTransactions tells what is open, and who is nobody', async () => {
    expect((await producer.described()).state).toBe('TRANSACTIONAL_ID_NOT_FOUND');
    expect((await (await clientOn(kafka, '')).described()).state).toBe('INVALID_REQUEST');
    await producer.init();
    await producer.add(topic, [0, 2]);
    expect(await producer.described()).toEqual({ state: 'Ongoing', epoch: 0, partitions: `${topic}:0+2` });
  });

  test('the directory lists, shows and aborts', async () => {
    const { transactions } = kafka.frontEnd;
    await producer.init();
    expect(await transactions?.abort(producer.id)).toMatchObject({ error: 'not-open' });
    expect(await transactions?.abort('nobody')).toMatchObject({ error: 'unknown-transaction' });
    await producer.produce(topic, 0);
    await producer.addOffsets('g');
    expect(transactions?.list().map(({ transactionalId }) => transactionalId)).toContain(producer.id);
    expect(transactions?.get(producer.id)).toMatchObject({
      ...{ state: 'ongoing', producerEpoch: 0, timeoutMs: 60_000, groups: ['g'] },
      partitions: [{ topic, partition: 0 }],
    });
    expect(await transactions?.abort(producer.id)).toBeUndefined();
    expect(transactions?.get(producer.id)).toMatchObject({
      state: 'complete-abort',
      startedAtMs: -1,
      partitions: [],
    });
    expect(await producer.copy().end('commit', 4)).toBe('PRODUCER_FENCED');
    expect(await producer.end('abort')).toBe('epoch 1');
  });

  test('WriteTxnMarkers ends what no coordinator knows; epochs protect the log', async () => {
    await producer.init();
    await producer.init();
    await producer.produce(topic, 0);
    const mark = async (changes: object) => {
      const { producerId, producerEpoch } = producer;
      const topics = [{ name: topic, partitionIndexes: [0] }];
      const marker = { producerId, producerEpoch, transactionResult: false, topics, coordinatorEpoch: 1000 };
      const request = { markers: [{ ...marker, ...changes }] };
      const answer = await producer.socket.ask(api.writeTxnMarkers, 1, request);
      return errorName(answer.markers[0]!.topics[0]!.partitions[0]!.errorCode);
    };
    expect(await mark({ producerEpoch: 0 })).toBe('INVALID_PRODUCER_EPOCH');
    expect(await mark({ producerId: -1 })).toBe('INVALID_REQUEST');
    expect(await mark({ topics: [{ name: 'nope', partitionIndexes: [0] }] })).toBe(
      'UNKNOWN_TOPIC_OR_PARTITION',
    );
    expect(await mark({ topics: [{ name: '__transaction_state', partitionIndexes: [0] }] })).toBe(
      'UNKNOWN_TOPIC_OR_PARTITION',
    );
    expect(await mark({})).toBe('NONE');
    expect(await mark({ coordinatorEpoch: 999 })).toBe('TRANSACTION_COORDINATOR_FENCED');
    expect(await committedView(producer.socket, topic)).toMatchObject({ aborted: 1, lastStableOffset: 2 });
  });
});

describe('time', () => {
  test('what lasts too long is aborted, and its producer fenced', async () => {
    const clock = new SkippingClock();
    const own = await openTestKafka({ clock, idleTimeoutMs: 0 });
    await own.createTopic('t');
    const slow = await clientOn(own);
    await slow.init({ timeoutMs: 5_000 });
    await slow.produce('t', 0);
    clock.skip(11_000);
    expect(await slow.completed()).toBe('CompleteAbort');
    expect(await slow.produce('t', 1)).toBe('INVALID_PRODUCER_EPOCH');
    expect(await slow.copy().end('commit')).toBe('PRODUCER_FENCED');
    expect(await slow.copy().end('abort')).toBe('epoch 1');
    expect(await slow.init({ expected: true })).toBe('epoch 1');
    expect(await committedView(slow.socket, 't')).toMatchObject({ aborted: 1, lastStableOffset: 2 });
  });

  test('an id that does nothing for a week is forgotten, unless something is open', async () => {
    const clock = new SkippingClock();
    const own = await openTestKafka({ clock, idleTimeoutMs: 0, transactionTimeoutMaxMs: 2 ** 31 - 1 });
    await own.createTopic('t');
    const [quiet, open] = [await clientOn(own), await clientOn(own)];
    await quiet.init();
    await open.init({ timeoutMs: 2 ** 31 - 1 });
    await open.add('t');
    clock.skip(8 * 24 * 3_600_000);
    for (;;) if ((await quiet.described()).state === 'TRANSACTIONAL_ID_NOT_FOUND') break;
    expect((await open.described()).state).toBe('Ongoing');
    expect(await quiet.init()).toBe('epoch 0');
  });
});

test('there are as many ids as there may be, and one client has half of them', async () => {
  const own = await openTestKafka({ transactionalIdsMax: 4 });
  const answers = [];
  for (let number = 0; number < 3; number++) answers.push(await (await clientOn(own, `n-${number}`)).init());
  expect(answers).toEqual(['epoch 0', 'epoch 0', 'POLICY_VIOLATION']);
  expect(await (await clientOn(own, 'n-0')).init()).toBe('epoch 1');
});

test('a topic that is deleted does not keep its transaction from ending', async () => {
  await producer.init();
  await producer.add(topic, [0, 1]);
  await producer.produce(topic, 0);
  await kafka.hub.topics.delete(topic);
  expect(await producer.end('commit', 4)).toBe('NONE');
  expect(await producer.completed()).toBe('CompleteCommit');
});

test.each([
  ['fenced-producer', 'a higher epoch of the producer'],
  ['fenced-coordinator', 'a later coordinator'],
] as const)('a marker that is refused for good (%s) is given up, and said once', async (refused, message) => {
  const own = await openTestKafka();
  const partition = await own.createTopic('t');
  const ending = await clientOn(own);
  await ending.init();
  await ending.produce('t', 0);
  let attempts = 0;
  Object.assign(partition, {
    endTransaction: () => Promise.resolve({ refused, message: `${message}: ${++attempts}` }),
  });
  await ending.end('commit');
  expect(await ending.completed()).toBe('CompleteCommit');
  expect(attempts).toBe(1);
  expect(own.log.entries.filter(({ event }) => event === 'transaction-marker-given-up')).toMatchObject([
    { fields: { transactionalId: ending.id, topic: 't', partition: 0, refused } },
  ]);
  expect(own.frontEnd.transactionStatistics()).toMatchObject({ markersGivenUp: 1, markersPending: 0 });
});

test('a marker that is refused for a while is tried again and again, and said once', async () => {
  const clock = new SkippingClock();
  const own = await openTestKafka({ clock, idleTimeoutMs: 0 });
  const partition = await own.createTopic('t');
  const ending = await clientOn(own);
  await ending.init();
  await ending.produce('t', 0);
  const written = partition.endTransaction.bind(partition);
  let refusals = 0;
  Object.assign(partition, {
    endTransaction: (...args: Parameters<typeof written>) =>
      refusals++ < 20 ? Promise.resolve({ refused: 'disk-full', message: 'full' }) : written(...args),
  });
  await ending.end('commit');
  expect(own.frontEnd.transactionStatistics()).toMatchObject({ ending: 1, markersPending: 1 });
  while (refusals <= 20) {
    clock.skip(2_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await ending.completed()).toBe('CompleteCommit');
  expect(own.log.entries.filter(({ event }) => event === 'transaction-not-ended')).toHaveLength(1);
  expect(own.frontEnd.transactionStatistics()).toMatchObject({ markersRefused: 20, markersPending: 0 });
});

test('a marker that cannot be written is tried again, and who comes meanwhile waits or is told to come again', async () => {
  const own = await openTestKafka({ transactionWaitMs: 1 });
  const partition = await own.createTopic('t');
  const waiting = await clientOn(own);
  await waiting.init();
  await waiting.produce('t', 0);
  const written = partition.endTransaction.bind(partition);
  let isBroken = true;
  Object.assign(partition, {
    endTransaction: (...args: Parameters<typeof written>) =>
      isBroken ? Promise.resolve({ refused: 'storage', message: 'broken' }) : written(...args),
  });
  expect(await waiting.end('commit')).toBe('epoch 1');
  expect(await waiting.init()).toBe('CONCURRENT_TRANSACTIONS');
  expect(await waiting.add('t')).toBe('CONCURRENT_TRANSACTIONS');
  expect(await waiting.produce('t', 0)).toBe('CONCURRENT_TRANSACTIONS');
  expect(await waiting.produce('t', 0, 11)).toBe('NOT_ENOUGH_REPLICAS');
  expect(await waiting.end('commit')).toBe('CONCURRENT_TRANSACTIONS');
  isBroken = false;
  expect(await waiting.completed()).toBe('CompleteCommit');
  expect(await waiting.produce('t', 0)).toBe('NONE');
});
