// ConsumerGroupDescribe (key 69), versions 0–1 (KIP-848): groups of the consumer protocol, with what each member has
// and is to have. A group that does not exist, or is a classic one, is GROUP_ID_NOT_FOUND. Version 1 tells which
// protocol a member speaks (KIP-1099).

import { allows, type Call, defineApi } from '../api.ts';
import { groupOperations, OPERATIONS_UNKNOWN } from '../authorized-operations.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  type Assignment,
  type ConsumerGroup,
  type ConsumerMember,
  currentOf,
  groupEpochOf,
  NO_PARTITIONS,
  stateOf,
  targetEpochOf,
  union,
} from '../groups/consumer/consumer-group.ts';
import { assignorOf } from '../groups/consumer/target-assignment.ts';
import { CONSUMER_STATE_NAMES } from '../groups/group-types.ts';
import {
  ConsumerGroupDescribeRequest,
  ConsumerGroupDescribeResponse,
} from '../messages/consumer-group-describe.ts';

type GroupAnswer = ConsumerGroupDescribeResponse['groups'][number];
type MemberAnswer = GroupAnswer['members'][number];

const CLASSIC_MEMBER = 0;
const CONSUMER_MEMBER = 1;

export const consumerGroupDescribe = defineApi({
  key: 69,
  name: 'ConsumerGroupDescribe',
  min: 0,
  max: 1,
  request: ConsumerGroupDescribeRequest,
  response: ConsumerGroupDescribeResponse,
  handle: handleConsumerGroupDescribe,
});

function handleConsumerGroupDescribe(
  request: ConsumerGroupDescribeRequest,
  call: Call,
): ConsumerGroupDescribeResponse {
  return { groups: request.groupIds.map((groupId) => describe(request, call, groupId)) };
}

function describe(request: ConsumerGroupDescribeRequest, call: Call, groupId: string): GroupAnswer {
  const { groups } = call.kafka;
  if (groupId === '') return refused(groupId, ERROR_CODES.INVALID_GROUP_ID);
  if (!allows(call, 'describe', 'group', groupId))
    return refused(groupId, ERROR_CODES.GROUP_AUTHORIZATION_FAILED);
  const availability = groups.availability(groupId);
  if (availability !== ERROR_CODES.NONE) return refused(groupId, availability);
  const entry = groups.store.get(groupId);
  if (entry?.consumer === undefined) {
    const why = entry === undefined ? 'not found' : 'is not a consumer group';
    return refused(groupId, ERROR_CODES.GROUP_ID_NOT_FOUND, `Group ${groupId} ${why}.`);
  }
  const authorizedOperations = request.includeAuthorizedOperations
    ? groupOperations(call, groupId)
    : OPERATIONS_UNKNOWN;
  return { ...described(call, entry.consumer), authorizedOperations };
}

function described(call: Call, group: ConsumerGroup): GroupAnswer {
  return {
    errorCode: ERROR_CODES.NONE,
    groupId: group.groupId,
    groupState: CONSUMER_STATE_NAMES[stateOf(group)],
    groupEpoch: groupEpochOf(group),
    assignmentEpoch: targetEpochOf(group),
    assignorName: assignorOf(group),
    members: [...group.members.values()].map((member) => memberOf(call, group, member)),
  };
}

function memberOf(call: Call, group: ConsumerGroup, member: ConsumerMember): MemberAnswer {
  const { memberId, instanceId, rackId, clientId, clientHost } = member;
  const { epoch, assigned, pendingRevocation } = currentOf(group, memberId);
  return {
    ...{ memberId, instanceId, rackId, clientId, clientHost },
    memberEpoch: epoch,
    subscribedTopicNames: member.topicNames,
    // Kafka never says null here, whatever the schema allows.
    subscribedTopicRegex: member.topicRegex ?? '',
    // What it was told to give up it has until it says otherwise.
    assignment: { topicPartitions: named(call, union(assigned, pendingRevocation)) },
    targetAssignment: { topicPartitions: named(call, group.targets.get(memberId) ?? NO_PARTITIONS) },
    memberType: member.classic === null ? CONSUMER_MEMBER : CLASSIC_MEMBER,
  };
}

/** Partitions of topics that exist. */
function named(call: Call, assignment: Assignment): MemberAnswer['assignment']['topicPartitions'] {
  return [...assignment].flatMap(([topicId, partitions]) => {
    const topicName = call.kafka.hub.topics.getById(topicId)?.name;
    return topicName === undefined ? [] : [{ topicId, topicName, partitions }];
  });
}

function refused(groupId: string, errorCode: ErrorCode, errorMessage: string | null = null): GroupAnswer {
  return {
    ...{ errorCode, errorMessage, groupId, groupState: '', groupEpoch: 0, assignmentEpoch: 0 },
    assignorName: '',
    members: [],
  };
}
