// OffsetCommit (key 8), versions 2–9. Answered when the offsets are on disk and applied; a partition's error is its
// own. Metadata is kept to 4,096 bytes, the leader epoch from version 6 (KIP-320). From version 9 members of the
// consumer protocol commit by their epoch (KIP-848), and a generation of a group that does not exist is 69.
// Left out: `retentionTimeMs` of versions 2–4; offsets live by the hub's setting, as in Kafka since 2.1 (KIP-211).

import { allows, type Call, clientHostOf, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { CommitItem } from '../groups/offsets.ts';
import { OffsetCommitRequest, OffsetCommitResponse } from '../messages/offset-commit.ts';

export const offsetCommit = defineApi({
  key: 8,
  name: 'OffsetCommit',
  min: 2,
  max: 9,
  request: OffsetCommitRequest,
  response: OffsetCommitResponse,
  handle: handleOffsetCommit,
});

async function handleOffsetCommit(request: OffsetCommitRequest, call: Call): Promise<OffsetCommitResponse> {
  const { groupId, memberId, groupInstanceId } = request;
  if (!allows(call, 'read', 'group', groupId))
    return respond(request, () => ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  const refusedTopics = new Set(
    request.topics.map(({ name }) => name).filter((name) => !allows(call, 'read', 'topic', name)),
  );
  const generation = request.generationIdOrMemberEpoch;
  const clientHost = clientHostOf(call);
  const claim = { memberId, groupInstanceId, generation, version: call.version, clientHost };
  const items = request.topics
    .filter(({ name }) => !refusedTopics.has(name))
    .flatMap(({ name, partitions }) => partitions.map((partition) => itemOf(name, partition)));
  const codes = await call.kafka.offsets.commit(groupId, claim, items);
  let next = 0;
  return respond(request, (topic) =>
    refusedTopics.has(topic)
      ? ERROR_CODES.TOPIC_AUTHORIZATION_FAILED
      : (codes[next++] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR),
  );
}

function itemOf(
  topic: string,
  partition: OffsetCommitRequest['topics'][number]['partitions'][number],
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
function respond(request: OffsetCommitRequest, codeOf: (topic: string) => ErrorCode): OffsetCommitResponse {
  return {
    topics: request.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: codeOf(name) })),
    })),
  };
}
