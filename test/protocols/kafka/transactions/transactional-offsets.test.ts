// Offsets in transactions: pending until the end, then there or dropped; who may commit them (KIP-447).

import { beforeEach, describe, expect, test } from 'vitest';
import { errorName } from '../../../../protocols/kafka/error-codes.ts';
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
