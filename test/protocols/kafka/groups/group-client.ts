// What a classic consumer asks of its group, in a line each: join, settle, commit, fetch.

import { expect } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import type { KafkaSocket } from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';

export function joinOf(groupId: string, memberId = '', more: object = {}) {
  return {
    ...{ groupId, memberId, sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000, protocolType: 'consumer' },
    protocols: [{ name: 'range', metadata: Buffer.from('topics') }],
    ...more,
  };
}

/** A group of one stable member, assigned `assignment`. */
export async function stableMember(
  client: KafkaSocket,
  groupId: string,
  more: object = {},
  assignment: string | Buffer = 'mine',
) {
  const first = await client.ask(api.joinGroup, 5, joinOf(groupId, '', more));
  const joined =
    first.errorCode === ERROR_CODES.MEMBER_ID_REQUIRED
      ? await client.ask(api.joinGroup, 5, joinOf(groupId, first.memberId, more))
      : first;
  const { memberId, generationId } = joined;
  const bytes = Buffer.from(assignment);
  const assignments = [{ memberId, assignment: bytes }];
  const synced = await client.ask(api.syncGroup, 3, { groupId, memberId, generationId, assignments });
  expect(synced).toMatchObject({ errorCode: 0, assignment: bytes });
  return { groupId, memberId, generationId };
}

interface CommitOptions {
  readonly generation?: number;
  readonly memberId?: string;
  readonly topic?: string;
  readonly partition?: number;
  readonly metadata?: string | null;
  readonly version?: number;
}

export async function commit(
  client: KafkaSocket,
  groupId: string,
  offset: number,
  options: CommitOptions = {},
) {
  const { generation = -1, memberId = '', topic = 't', partition = 0, metadata = '', version = 6 } = options;
  const partitions = [
    {
      partitionIndex: partition,
      committedOffset: offset,
      committedLeaderEpoch: 3,
      committedMetadata: metadata,
    },
  ];
  const topics = [
    version >= 6
      ? { name: topic, partitions }
      : { name: topic, partitions: partitions.map(({ committedLeaderEpoch: _epoch, ...rest }) => rest) },
  ];
  const request = { groupId, generationIdOrMemberEpoch: generation, memberId, topics };
  return (await client.ask(api.offsetCommit, version, request)).topics[0]!.partitions[0]!.errorCode;
}

export async function committed(client: KafkaSocket, groupId: string, partition = 0) {
  const topics = [{ name: 't', partitionIndexes: [partition] }];
  const answer = await client.ask(api.offsetFetch, 5, { groupId, topics });
  return answer.topics[0]!.partitions[0]!;
}

/** The metadata of a consumer that is subscribed to topics: version 0 of the consumer protocol. */
export function subscriptionTo(...topics: string[]): Buffer {
  const parts = [Buffer.from([0, 0, 0, 0, 0, topics.length])];
  for (const topic of topics) parts.push(Buffer.from([0, topic.length]), Buffer.from(topic));
  return Buffer.concat([...parts, Buffer.from([0xff, 0xff, 0xff, 0xff])]);
}
