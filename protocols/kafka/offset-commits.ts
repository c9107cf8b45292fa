// What OffsetCommit and TxnOffsetCommit share: from the topics of a request to what is committed, and back to an answer
// with a code for each partition.
import { allows, type Call, clientHostOf } from './api.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { CommitClaim, CommitItem } from './groups/offsets.ts';

interface CommittedPartition {
  readonly partitionIndex: number;
  readonly committedOffset: number;
  readonly committedLeaderEpoch: number;
  readonly committedMetadata: string | null;
}

interface CommitRequest {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly generationIdOrMemberEpoch: number;
  readonly topics: readonly { readonly name: string; readonly partitions: readonly CommittedPartition[] }[];
}

interface CommitResponse {
  readonly topics: { name: string; partitions: { partitionIndex: number; errorCode: ErrorCode }[] }[];
}

/** Commits what lies in topics that the client may read. @param commit gives a code for each item, in their order */
export async function commitOffsets(
  request: CommitRequest,
  call: Call,
  commit: (claim: CommitClaim, items: readonly CommitItem[]) => Promise<readonly ErrorCode[]>,
): Promise<CommitResponse> {
  const { memberId, groupInstanceId, generationIdOrMemberEpoch: generation } = request;
  const refusedTopics = new Set(
    request.topics.map(({ name }) => name).filter((name) => !allows(call, 'read', 'topic', name)),
  );
  const claim = {
    memberId,
    groupInstanceId,
    generation,
    version: call.version,
    clientHost: clientHostOf(call),
  };
  const items = request.topics
    .filter(({ name }) => !refusedTopics.has(name))
    .flatMap(({ name, partitions }) => partitions.map((partition) => itemOf(name, partition)));
  const codes = await commit(claim, items);
  let next = 0;
  return respond(request, (topic) =>
    refusedTopics.has(topic)
      ? ERROR_CODES.TOPIC_AUTHORIZATION_FAILED
      : (codes[next++] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR),
  );
}

export function refuseCommit(request: CommitRequest, code: ErrorCode): CommitResponse {
  return respond(request, () => code);
}

function itemOf(topic: string, partition: CommittedPartition): CommitItem {
  return {
    topic,
    partition: partition.partitionIndex,
    offset: partition.committedOffset,
    leaderEpoch: partition.committedLeaderEpoch,
    metadata: partition.committedMetadata ?? '',
  };
}

/** Calls `codeOf` once per partition, in the request's order. */
function respond({ topics }: CommitRequest, codeOf: (topic: string) => ErrorCode): CommitResponse {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: codeOf(name) })),
    })),
  };
}
