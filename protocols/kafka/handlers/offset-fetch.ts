// OffsetFetch (key 9), versions 1–9. A list of topics, or null for all that have a committed offset (from
// version 2); several groups at once from version 8 (KIP-709), with the member's id and epoch, which must be
// the current ones, from version 9 (KIP-848). Nothing committed → offset −1, no error.
// With `requireStable` (version 7, KIP-447) a partition whose offset a transaction may still change is 88.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { CommittedOffset } from '../groups/state-records.ts';
import { OffsetFetchRequest, OffsetFetchResponse } from '../messages/offset-fetch.ts';

const GROUPS_VERSION_MIN = 8;
/** From here on an error of the group has a field of its own. */
const GROUP_ERROR_VERSION_MIN = 2;

type GroupAnswer = NonNullable<OffsetFetchResponse['groups']>[number];
type TopicAnswer = GroupAnswer['topics'][number];

interface TopicRequest {
  readonly name: string;
  readonly partitionIndexes: readonly number[];
}

export const offsetFetch = defineApi({
  key: 9,
  name: 'OffsetFetch',
  min: 1,
  max: 9,
  request: OffsetFetchRequest,
  response: OffsetFetchResponse,
  handle: handleOffsetFetch,
});

function handleOffsetFetch(request: OffsetFetchRequest, call: Call): OffsetFetchResponse {
  const { requireStable } = request;
  if (call.version >= GROUPS_VERSION_MIN)
    return {
      groups: request.groups.map(({ groupId, topics, memberId, memberEpoch }) =>
        fetchGroup(call, groupId, topics, { memberId, memberEpoch, requireStable }),
      ),
    };
  const { topics, errorCode } = fetchGroup(call, request.groupId, request.topics, {
    ...NOBODY,
    requireStable,
  });
  return { topics: topics.map((topic) => ({ ...topic, name: topic.name ?? '' })), errorCode: errorCode ?? 0 };
}

interface Claim {
  readonly memberId: string | null;
  readonly memberEpoch: number;
  readonly requireStable: boolean;
}

const NOBODY = { memberId: null, memberEpoch: -1 };

function fetchGroup(
  call: Call,
  groupId: string,
  topics: readonly TopicRequest[] | null,
  claim: Claim,
): GroupAnswer {
  const { offsets } = call.kafka;
  const errorCode = groupFault(call, groupId, claim);
  if (errorCode !== ERROR_CODES.NONE) return refusedGroup(call, groupId, topics, errorCode);
  if (topics === null) {
    const all = [...offsets.all(groupId)].filter(([topic]) => allows(call, 'describe', 'topic', topic));
    return {
      groupId,
      topics: all.map(([name, partitions]) => ({
        name,
        partitions: [...partitions].map(([partition, committed]) =>
          isUnstable(call, groupId, name, partition, claim)
            ? notFound(partition, ERROR_CODES.UNSTABLE_OFFSET_COMMIT)
            : found(partition, committed),
        ),
      })),
    };
  }
  return { groupId, topics: topics.map((topic) => fetchTopic(call, groupId, topic, claim)) };
}

function groupFault(call: Call, groupId: string, { memberId, memberEpoch }: Claim): ErrorCode {
  const { groups, offsets } = call.kafka;
  if (!allows(call, 'describe', 'group', groupId)) return ERROR_CODES.GROUP_AUTHORIZATION_FAILED;
  const availability = groups.availability(groupId);
  if (availability !== ERROR_CODES.NONE) return availability;
  return offsets.fetchFault(groupId, memberId, memberEpoch);
}

function fetchTopic(
  call: Call,
  groupId: string,
  { name, partitionIndexes }: TopicRequest,
  claim: Claim,
): TopicAnswer {
  const isAllowed = allows(call, 'describe', 'topic', name);
  return {
    name,
    partitions: partitionIndexes.map((partition) => {
      if (!isAllowed) return notFound(partition, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
      if (isUnstable(call, groupId, name, partition, claim))
        return notFound(partition, ERROR_CODES.UNSTABLE_OFFSET_COMMIT);
      const committed = call.kafka.offsets.committed(groupId, name, partition);
      return committed === undefined ? notFound(partition, ERROR_CODES.NONE) : found(partition, committed);
    }),
  };
}

function isUnstable(
  call: Call,
  groupId: string,
  topic: string,
  partition: number,
  { requireStable }: Claim,
): boolean {
  return requireStable && call.kafka.transactionalOffsets.isPending(groupId, topic, partition);
}

function refusedGroup(
  call: Call,
  groupId: string,
  topics: readonly TopicRequest[] | null,
  errorCode: ErrorCode,
): GroupAnswer {
  if (call.version >= GROUP_ERROR_VERSION_MIN) return { groupId, topics: [], errorCode };
  const answers = (topics ?? []).map(({ name, partitionIndexes }) => ({
    name,
    partitions: partitionIndexes.map((partition) => notFound(partition, errorCode)),
  }));
  return { groupId, topics: answers, errorCode };
}

function found(partitionIndex: number, committed: CommittedOffset): TopicAnswer['partitions'][number] {
  return {
    partitionIndex,
    committedOffset: committed.offset,
    committedLeaderEpoch: committed.leaderEpoch,
    metadata: committed.metadata,
    errorCode: ERROR_CODES.NONE,
  };
}

function notFound(partitionIndex: number, errorCode: ErrorCode): TopicAnswer['partitions'][number] {
  return { partitionIndex, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode };
}
