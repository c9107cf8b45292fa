// TxnOffsetCommit (key 28), versions 0–5: offsets that count when the producer's transaction is committed (KIP-98). From
// version 3 on the producer says for which member of the group, which must be one of the present generation (KIP-447); from
// 5 on the group is added to the transaction here (KIP-890). A partition's error is its own.
// Left out: version 6, which names topics by id.

import { allows, type Call, clientHostOf, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { CommitItem } from '../groups/offsets.ts';
import { TxnOffsetCommitRequest, TxnOffsetCommitResponse } from '../messages/txn-offset-commit.ts';

export const txnOffsetCommit = defineApi({
  key: 28,
  name: 'TxnOffsetCommit',
  min: 0,
  max: 5,
  request: TxnOffsetCommitRequest,
  response: TxnOffsetCommitResponse,
  handle: handleTxnOffsetCommit,
});

async function handleTxnOffsetCommit(
  request: TxnOffsetCommitRequest,
  call: Call,
): Promise<TxnOffsetCommitResponse> {
  const { transactionalId, groupId, memberId, groupInstanceId } = request;
  if (!allows(call, 'write', 'transactional-id', transactionalId))
    return respond(request, () => ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  if (!allows(call, 'read', 'group', groupId))
    return respond(request, () => ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  const refusedTopics = new Set(
    request.topics.map(({ name }) => name).filter((name) => !allows(call, 'read', 'topic', name)),
  );
  const items = request.topics
    .filter(({ name }) => !refusedTopics.has(name))
    .flatMap(({ name, partitions }) => partitions.map((partition) => itemOf(name, partition)));
  const generation = request.generationIdOrMemberEpoch;
  const claim = {
    memberId,
    groupInstanceId,
    generation,
    version: call.version,
    clientHost: clientHostOf(call),
  };
  const { transactionalOffsets, transactions } = call.kafka;
  const codes = await transactionalOffsets.commit(request, groupId, claim, items, transactions);
  let next = 0;
  return respond(request, (topic) =>
    refusedTopics.has(topic)
      ? ERROR_CODES.TOPIC_AUTHORIZATION_FAILED
      : (codes[next++] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR),
  );
}

function itemOf(
  topic: string,
  partition: TxnOffsetCommitRequest['topics'][number]['partitions'][number],
): CommitItem {
  return {
    topic,
    partition: partition.partitionIndex,
    offset: partition.committedOffset,
    leaderEpoch: partition.committedLeaderEpoch,
    metadata: partition.committedMetadata ?? '',
  };
}

/** Calls `codeOf` once per partition, in the request's order. */
function respond(
  request: TxnOffsetCommitRequest,
  codeOf: (topic: string) => ErrorCode,
): TxnOffsetCommitResponse {
  return {
    topics: request.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: codeOf(name) })),
    })),
  };
}
