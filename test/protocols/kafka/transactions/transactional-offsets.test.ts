// Offsets in transactions: pending until the end, then there or dropped; who may commit them (KIP-447).

import { beforeEach, describe, expect, test } from 'vitest';
import { ERROR_CODES, errorName } from '../../../../protocols/kafka/error-codes.ts';
import { openKafkaContext } from '../../../../protocols/kafka/front-end.ts';
import { OFFSETS_TOPIC } from '../../../../protocols/kafka/groups/group-store.ts';
import { decodePendingOffset } from '../../../../protocols/kafka/groups/state-records.ts';
import { commit, stableMember } from '../groups/group-client.ts';
import { openTestKafka, type TestKafka } from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';
import { clientOn, fetchOffset, type TransactionalClient } from './transaction-client.ts';

let kafka: TestKafka;
let producer: TransactionalClient;
beforeEach(async () => {
  kafka = await openTestKafka();
  await kafka.createTopic('t');
  producer = await clientOn(kafka);
  await producer.init();
});

describe.each([
  ['of the first kind', 3, 4],
  ['of KIP-890', 5, 5],
])('a client %s', (_title, version, endVersion) => {
  const begin = async () => {
    if (version === 3) await producer.addOffsets();
  };

  test('commits: offsets are unstable until the end, then there', async () => {
    await begin();
    expect(await producer.commitOffset(7, { version })).toBe('NONE');
    expect(await fetchOffset(producer.socket)).toBe('UNSTABLE_OFFSET_COMMIT');
    expect(await fetchOffset(producer.socket, { stable: false })).toBe(-1);
    await producer.end('commit', endVersion);
    await producer.completed();
    expect(await fetchOffset(producer.socket)).toBe(7);
  });

  test('aborts: offsets are dropped, and what was committed before stays', async () => {
    await commit(producer.socket, 'g', 3);
    await begin();
    await producer.commitOffset(7, { version });
    expect(await fetchOffset(producer.socket, { stable: false })).toBe(3);
    await producer.end('abort', endVersion);
    await producer.completed();
    expect(await fetchOffset(producer.socket)).toBe(3);
  });
});

test.each([
  [0, 'INVALID_TXN_STATE'],
  [3, 'INVALID_TXN_STATE'],
  [4, 'TRANSACTION_ABORTABLE'],
])('version %i does not commit for a group that was not added: %s', async (version, told) => {
  expect(await producer.commitOffset(7, { version })).toBe(told);
});

test('AddOffsetsToTxn: who is fenced or unknown', async () => {
  const fenced = producer.copy({ producerEpoch: 9 });
  expect(await fenced.addOffsets('g', 1)).toBe('INVALID_PRODUCER_EPOCH');
  expect(await fenced.addOffsets('g', 2)).toBe('PRODUCER_FENCED');
  expect(await producer.copy({ producerId: 987_654 }).addOffsets()).toBe('INVALID_PRODUCER_ID_MAPPING');
  expect(await (await clientOn(kafka)).addOffsets()).toBe('INVALID_PRODUCER_ID_MAPPING');
  expect(await (await clientOn(kafka, '')).addOffsets()).toBe('INVALID_REQUEST');
});

test('TxnOffsetCommit: who is fenced or unknown, and what is not there', async () => {
  await producer.addOffsets();
  for (const version of [3, 5]) {
    const fenced = producer.copy({ producerEpoch: 9 });
    expect(await fenced.commitOffset(1, { version })).toBe('INVALID_PRODUCER_EPOCH');
    const stranger = producer.copy({ producerId: 987_654 });
    expect(await stranger.commitOffset(1, { version })).toBe('INVALID_PRODUCER_ID_MAPPING');
    expect(await producer.commitOffset(1, { version, groupId: '' })).toBe('INVALID_GROUP_ID');
    expect(await producer.commitOffset(1, { version, topic: 'nope' })).toBe('UNKNOWN_TOPIC_OR_PARTITION');
    expect(await producer.commitOffset(1, { version, partition: 7 })).toBe('UNKNOWN_TOPIC_OR_PARTITION');
    const member = { generation: 3, memberId: 'x' };
    expect(await producer.commitOffset(1, { version, ...member })).toBe('ILLEGAL_GENERATION');
  }
});

test('a member of the present generation alone commits for its group (KIP-447)', async () => {
  const { memberId, generationId } = await stableMember(await kafka.connect(), 'g');
  expect(await producer.commitOffset(1, { generation: generationId, memberId })).toBe('NONE');
  expect(await producer.commitOffset(1, { generation: generationId - 1, memberId })).toBe(
    'ILLEGAL_GENERATION',
  );
  expect(await producer.commitOffset(1, { generation: generationId, memberId: 'x' })).toBe(
    'UNKNOWN_MEMBER_ID',
  );
  // Who says nothing of a member does not know better.
  expect(await producer.commitOffset(1)).toBe('NONE');
});

test('a member of the consumer protocol commits by its epoch', async () => {
  const socket = await kafka.connect();
  const joined = await socket.ask(api.consumerGroupHeartbeat, 1, {
    ...{ groupId: 'g', memberId: 'a', memberEpoch: 0, rebalanceTimeoutMs: 1000 },
    ...{ subscribedTopicNames: ['t'], topicPartitions: [] },
  });
  expect(errorName(joined.errorCode)).toBe('NONE');
  const member = { generation: joined.memberEpoch, memberId: 'a' };
  expect(await producer.commitOffset(1, member)).toBe('NONE');
  expect(await producer.commitOffset(1, { ...member, generation: 99 })).toBe('ILLEGAL_GENERATION');
  expect(await producer.commitOffset(1, { ...member, memberId: 'b' })).toBe('UNKNOWN_MEMBER_ID');
});

test('who commits later, outside of the transaction, keeps what he committed', async () => {
  await producer.commitOffset(7);
  await commit(producer.socket, 'g', 5);
  expect(await fetchOffset(producer.socket)).toBe('UNSTABLE_OFFSET_COMMIT');
  await producer.end('commit');
  await producer.completed();
  expect(await fetchOffset(producer.socket)).toBe(5);
});

test('groups of one transaction are committed together, and one deleted group takes its pending offsets along', async () => {
  for (const groupId of ['a', 'b', 'c']) await producer.commitOffset(7, { groupId });
  const { results } = await producer.socket.ask(api.deleteGroups, 2, { groupsNames: ['b'] });
  expect(results).toMatchObject([{ errorCode: 0 }]);
  expect(await fetchOffset(producer.socket, { groupId: 'b' })).toBe(-1);
  await producer.end('commit');
  await producer.completed();
  const offsets = [];
  for (const groupId of ['a', 'b', 'c']) offsets.push(await fetchOffset(producer.socket, { groupId }));
  expect(offsets).toEqual([7, -1, 7]);
});

test('offsets of a topic that was made again meanwhile are dropped', async () => {
  await producer.commitOffset(7);
  await kafka.hub.topics.delete('t');
  await kafka.createTopic('t');
  await producer.end('commit');
  await producer.completed();
  expect(await fetchOffset(producer.socket)).toBe(-1);
});

describe('a marker for the offsets is held against the epochs of who committed them', () => {
  const mark = async (changes: { readonly producerEpoch?: number; readonly coordinatorEpoch?: number }) => {
    const { producerId, producerEpoch } = producer;
    const { partition } = stateOf('g');
    const topics = [{ name: OFFSETS_TOPIC, partitionIndexes: [partition.partition] }];
    const marker = { producerId, producerEpoch, transactionResult: true, topics, coordinatorEpoch: 1000 };
    const answer = await producer.socket.ask(api.writeTxnMarkers, 1, {
      markers: [{ ...marker, ...changes }],
    });
    return errorName(answer.markers[0]!.topics[0]!.partitions[0]!.errorCode);
  };

  test('one of the past is not taken', async () => {
    await producer.init();
    await producer.commitOffset(7);
    expect(await mark({ producerEpoch: 0 })).toBe('INVALID_PRODUCER_EPOCH');
    expect(await mark({ coordinatorEpoch: -1 })).toBe('TRANSACTION_COORDINATOR_FENCED');
    expect(await fetchOffset(producer.socket)).toBe('UNSTABLE_OFFSET_COMMIT');
    expect(await mark({})).toBe('NONE');
    expect(await fetchOffset(producer.socket)).toBe(7);
  });

  test('the epochs are in the log', async () => {
    await producer.commitOffset(7);
    const values = (await stateRecords('g')).map(({ value }) => value && decodePendingOffset(value, 0));
    const { leaderEpoch } = kafka.hub.topics.partition('__transaction_state', 0)!;
    expect(values.at(-1)).toMatchObject({ producerEpoch: 0, coordinatorEpoch: leaderEpoch });
  });
});

describe('of two commits the later one in the log counts', () => {
  const endOf = (producerEpoch: number) => ({
    ...{ producerId: producer.producerId, producerEpoch, outcome: 'commit' as const, coordinatorEpoch: 1000 },
  });

  test('one by a consumer that is on its way to the disk when the transaction ends', async () => {
    const context = await openKafkaContext(kafka.hub, {});
    await producer.commitOffset(7);
    const { partition } = stateOf('g');
    const pending = (): number => context.transactionalOffsets.pendingCount;
    while (pending() === 0) await fetchOffset(producer.socket);
    const claim = {
      ...{ memberId: '', groupInstanceId: null, generation: -1, version: 8, clientHost: 'h' },
    };
    const item = { topic: 't', partition: 0, offset: 5, leaderEpoch: -1, metadata: '' };
    const committed = context.offsets.commit('g', claim, [item]);
    const ended = context.transactionalOffsets.endTransaction(partition.partition, endOf(0));
    expect(await Promise.all([committed, ended])).toEqual([[ERROR_CODES.NONE], ERROR_CODES.NONE]);
    expect(context.offsets.committed('g', 't', 0)?.offset).toBe(5);
    context.offsets.close();
    context.groups.close();
    context.transactions.close();
  });

  test.each([
    ['the first to commit ends first', [0, 1]],
    ['the first to commit ends last', [1, 0]],
  ] as const)('one by another transaction: %s', async (_title, order) => {
    const other = await clientOn(kafka);
    await other.init();
    const producers = [producer, other];
    await producer.commitOffset(7);
    await other.commitOffset(9);
    for (const index of order) {
      await producers[index]!.end('commit');
      await producers[index]!.completed();
    }
    expect(await fetchOffset(producer.socket)).toBe(9);
    // A start makes the same of the log.
    const context = await openKafkaContext(kafka.hub, {});
    expect(context.offsets.committed('g', 't', 0)?.offset).toBe(9);
    context.offsets.close();
    context.groups.close();
    context.transactions.close();
  });
});

describe('very many offsets', () => {
  test('are taken and counted in portions: no batch has more than 2,000 records', async () => {
    await kafka.hub.topics.create({ name: 'wide', partitions: 100, replicationFactor: -1, config: {} });
    await producer.init();
    const partitions = Array.from({ length: 100 }, (_, partition) => partition);
    for (let group = 0; group < 25; group++)
      expect(await producer.commitOffsets(`${group % 5}`, `wide`, partitions, group)).toEqual(['NONE']);
    const many = Array.from({ length: 3000 }, (_, index) => index % 100);
    expect(await producer.commitOffsets('0', 'wide', many, 77)).toEqual(['NONE']);
    await producer.end('commit');
    await producer.completed();
    expect(await fetchOffset(producer.socket, { groupId: '0', topic: 'wide' })).toBe(77);
    const counts: number[] = [];
    for (const { partition } of kafka.hub.topics.get(OFFSETS_TOPIC)!.partitions)
      counts.push(...(await batchesOf(partition)).map(({ records }) => records.length));
    expect(Math.max(...counts)).toBe(1000);
  });

  test('are bounded, of a transaction and of a group: 28 to what is new, and counted', async () => {
    const own = await openTestKafka({ transactionOffsetsMax: 3 });
    await own.createTopic('t', {}, 8);
    const clients = [await clientOn(own), await clientOn(own), await clientOn(own)];
    for (const client of clients) await client.init();
    const [first, second, third] = clients;
    expect(await first!.commitOffsets('g', 't', [0, 1, 2], 1)).toEqual(['NONE']);
    expect(await first!.commitOffsets('g', 't', [2, 3], 2)).toEqual(['NONE', 'INVALID_COMMIT_OFFSET_SIZE']);
    expect(await first!.commitOffsets('h', 't', [3], 2)).toEqual(['INVALID_COMMIT_OFFSET_SIZE']);
    expect(await second!.commitOffsets('g', 't', [0, 1, 2], 3)).toEqual(['NONE']);
    expect(await third!.commitOffsets('g', 't', [0], 4)).toEqual(['INVALID_COMMIT_OFFSET_SIZE']);
    expect(own.frontEnd.transactionStatistics()).toMatchObject({ offsetsRefused: 3, offsetsPending: 6 });
    await first!.end('abort');
    await first!.completed();
    expect(await third!.commitOffsets('g', 't', [0], 4)).toEqual(['NONE']);
    expect(own.frontEnd.transactionStatistics()).toMatchObject({ offsetsPending: 4, aborted: 1, open: 2 });
  });
});

/** Where the state of a group is. */
function stateOf(groupId: string) {
  const partitions = kafka.hub.topics.get(OFFSETS_TOPIC)!.partitions;
  const number = kafka.hub.partitionFor(Buffer.from(groupId), partitions.length);
  return { partition: partitions[number]! };
}

async function stateRecords(groupId: string) {
  return (await batchesOf(stateOf(groupId).partition.partition)).flatMap(({ records }) => records);
}

async function batchesOf(number: number) {
  const partition = kafka.hub.topics.get(OFFSETS_TOPIC)!.partitions[number]!;
  const batches: { records: { value: Buffer | null }[] }[] = [];
  const cursor = kafka.hub.cursor();
  for (let offset = 0; offset < partition.highWatermark; ) {
    const range = await partition.read({ offset, maxBytes: 1 << 20, upTo: 'highWatermark' });
    if (range.refused !== undefined) throw new Error(range.message);
    cursor.reset(range);
    while (cursor.nextBatch()) {
      const records: { value: Buffer | null }[] = [];
      while (cursor.nextRecord()) {
        const { bytes, valueStart, valueEnd } = cursor;
        records.push({ value: valueStart < 0 ? null : Buffer.from(bytes.subarray(valueStart, valueEnd)) });
      }
      batches.push({ records });
    }
    offset = range.nextOffset;
  }
  return batches;
}
