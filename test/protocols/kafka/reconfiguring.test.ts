// Limits and listeners of the front end change while it runs: each is in effect, and connections stay. What a client can
// ask for by Kafka's names is in broker-configs.test.ts.

import { expect, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import type { KafkaOptions } from '../../../protocols/kafka/settings.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { KafkaSocket, openTestKafka, readAnswer, type TestKafka } from './kafka-fixture.ts';
import { api, fetchOf, metadataOf, produceOf } from './kafka-requests.ts';

const QUICK = { groupInitialRebalanceDelayMs: 0, groupMinSessionTimeoutMs: 50 };

/** A front end with the defaults, a client that is there already, and then another configuration. */
async function reconfigured(options: KafkaOptions): Promise<{ kafka: TestKafka; early: KafkaSocket }> {
  const kafka = await openTestKafka();
  const early = await kafka.connect();
  await early.ask(api.metadata, 1, metadataOf());
  kafka.frontEnd.reconfigure({ ...QUICK, ...options });
  return { kafka, early };
}

const batch = (value: string): Buffer => recordBatch([{ key: null, value: Buffer.from(value), headers: [] }]);

const join = (groupId: string) => ({
  ...{
    groupId,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    memberId: '',
    protocolType: 'consumer',
  },
  protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
});

const initOf = (transactionalId: string, transactionTimeoutMs = 1_000) => ({
  ...{ transactionalId, transactionTimeoutMs, producerId: -1, producerEpoch: -1 },
});

test('connections of one address: those that were there count, and stay', async () => {
  const { kafka, early } = await reconfigured({ connectionsPerAddressMax: 1 });
  await (await kafka.connect()).closed;
  expect(kafka.frontEnd.counters.addressLimitRefused).toBe(1);
  await early.ask(api.metadata, 1, metadataOf());
});

test('the longest request, of connections that come', async () => {
  const { kafka } = await reconfigured({ requestBytesMax: 1000 });
  const client = await kafka.connect();
  client.tell(api.produce, 7, produceOf('t', batch('v'.repeat(1000))));
  await client.closed;
});

test('how long a connection may be idle', async () => {
  const { early } = await reconfigured({ idleTimeoutMs: 40 });
  await early.closed;
});

test('how long a fetch waits, and how much it is answered', async () => {
  const { kafka, early } = await reconfigured({ fetchMaxWaitMs: 5, fetchBytesMax: 1 });
  await kafka.createTopic('t');
  const waiting = await early.ask(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 600_000 }));
  expect(waiting.responses[0]?.partitions[0]?.errorCode).toBe(ERROR_CODES.NONE);
  for (const value of ['a', 'b']) await early.ask(api.produce, 7, produceOf('t', batch(value)));
  const { responses } = await early.ask(api.fetch, 11, fetchOf('t', 0));
  expect(responses[0]?.partitions[0]?.records?.length).toBeLessThan(2 * batch('a').length);
});

test('fetch sessions', async () => {
  const { kafka, early } = await reconfigured({ fetchSessionsMax: 0 });
  await kafka.createTopic('t');
  const full = { ...fetchOf('t', 0), sessionId: 0, sessionEpoch: 0 };
  expect((await early.ask(api.fetch, 11, full)).sessionId).toBe(0);
  kafka.frontEnd.reconfigure({ ...QUICK, fetchSessionsMax: 10 });
  expect((await early.ask(api.fetch, 11, full)).sessionId).not.toBe(0);
});

test('consumer groups, of all clients and of one address', async () => {
  const { early } = await reconfigured({ groupsMax: 1 });
  await early.ask(api.joinGroup, 3, join('one'));
  const second = await early.ask(api.joinGroup, 3, join('two'));
  expect(second.errorCode).toBe(ERROR_CODES.POLICY_VIOLATION);
});

test('members of a group, and the session timeouts that they may ask for', async () => {
  const { kafka, early } = await reconfigured({ groupMembersMax: 1, groupMaxSessionTimeoutMs: 10_000 });
  const asked = { ...join('g'), sessionTimeoutMs: 10_001 };
  expect((await early.ask(api.joinGroup, 3, asked)).errorCode).toBe(ERROR_CODES.INVALID_SESSION_TIMEOUT);
  await early.ask(api.joinGroup, 3, join('g'));
  const other = await kafka.connect();
  expect((await other.ask(api.joinGroup, 3, join('g'))).errorCode).toBe(ERROR_CODES.GROUP_MAX_SIZE_REACHED);
});

test('transactional ids, of all clients and of one address', async () => {
  const { early } = await reconfigured({ transactionalIdsMax: 2 });
  expect((await early.ask(api.initProducerId, 1, initOf('a'))).errorCode).toBe(ERROR_CODES.NONE);
  expect((await early.ask(api.initProducerId, 1, initOf('b'))).errorCode).toBe(ERROR_CODES.POLICY_VIOLATION);
});

test('how long a transaction may last, and how often that is looked at', async () => {
  const { kafka, early } = await reconfigured({ transactionTimeoutMaxMs: 100, transactionAbortCheckMs: 5 });
  await kafka.createTopic('t');
  const tooLong = await early.ask(api.initProducerId, 1, initOf('a', 101));
  expect(tooLong.errorCode).toBe(ERROR_CODES.INVALID_TRANSACTION_TIMEOUT);
  const { producerId, producerEpoch } = await early.ask(api.initProducerId, 1, initOf('a', 1));
  const topics = [{ name: 't', partitions: [0] }];
  const ids = { v3AndBelowTransactionalId: 'a', v3AndBelowProducerId: producerId };
  const added = await early.ask(api.addPartitionsToTxn, 0, {
    ...{ ...ids, v3AndBelowProducerEpoch: producerEpoch },
    v3AndBelowTopics: topics,
  });
  expect(added.resultsByTopicV3AndBelow[0]?.resultsByPartition[0]?.partitionErrorCode).toBe(0);
  await vi.waitFor(() => expect(kafka.log.events('warn')).toContain('transaction-timed-out'));
});

test('how many connections a listener takes; others stay', async () => {
  const { kafka, early } = await reconfigured({});
  kafka.frontEnd.changeListener({ ...kafka.frontEnd.listeners()[0]!, connectionsMax: 1 });
  await (await kafka.connect()).closed;
  await early.ask(api.metadata, 1, metadataOf());
});

test('a listener is opened and closed while another goes on; its clients are answered first', async () => {
  const { kafka, early } = await reconfigured({});
  await kafka.createTopic('t');
  const { port } = await kafka.frontEnd.listen({ name: 'b', host: '127.0.0.1', port: 0, connectionsMax: 10 });
  const client = await KafkaSocket.connect(port);
  // In one write: when the first is answered, the second has come.
  const first = [client.frame(api.metadata, 1, metadataOf()), client.answer()] as const;
  const second = [
    client.frame(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 600_000 })),
    client.answer(),
  ] as const;
  client.socket.write(Buffer.concat([first[0], second[0]]));
  await first[1];
  await kafka.frontEnd.closeListener('b');
  expect(readAnswer(api.fetch.response, 11, await second[1]).responses).toHaveLength(1);
  await client.closed;
  await expect(KafkaSocket.connect(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(kafka.frontEnd.listeners().map(({ name }) => name)).toEqual(['kafka']);
  await early.ask(api.metadata, 1, metadataOf());
  await kafka.frontEnd.closeListener('never');
});
