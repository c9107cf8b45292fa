// ConsumerGroupHeartbeat (key 68), versions 0–1 (KIP-848): a member joins (epoch 0), says what it wants and owns, is
// told its epoch and partitions, leaves (−1, or −2 to return as the same static member). Answered when what it
// changed is on disk. Version 1 brings expressions and requires that clients make the member's id.
// Left out: racks are kept and shown, and no assignor looks at them.

import { allows, type Call, clientHostOf, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { ASSIGNORS } from '../groups/consumer/assignors.ts';
import type { Assignment } from '../groups/consumer/consumer-group.ts';
import type { HeartbeatRequest } from '../groups/consumer/heartbeat.ts';
import { type Fault, fault } from '../groups/consumer/turn.ts';
import {
  ConsumerGroupHeartbeatRequest,
  ConsumerGroupHeartbeatResponse,
} from '../messages/consumer-group-heartbeat.ts';

const OWN_MEMBER_ID_VERSION_MIN = 1;
const LEAVE_EPOCH = -1;
const STATIC_LEAVE_EPOCH = -2;

export const consumerGroupHeartbeat = defineApi({
  key: 68,
  name: 'ConsumerGroupHeartbeat',
  min: 0,
  max: 1,
  request: ConsumerGroupHeartbeatRequest,
  response: ConsumerGroupHeartbeatResponse,
  handle: handleConsumerGroupHeartbeat,
});

async function handleConsumerGroupHeartbeat(
  request: ConsumerGroupHeartbeatRequest,
  call: Call,
): Promise<ConsumerGroupHeartbeatResponse> {
  const { groupId, memberId, memberEpoch, instanceId } = request;
  if (!allows(call, 'read', 'group', groupId))
    return refused(fault('GROUP_AUTHORIZATION_FAILED', 'not allowed to read the group'));
  const hidden = request.subscribedTopicNames?.some((name) => !allows(call, 'describe', 'topic', name));
  if (hidden === true) return refused(fault('TOPIC_AUTHORIZATION_FAILED', 'not allowed to describe a topic'));
  const problem = requestFault(request, call.version);
  if (problem !== undefined) return refused(problem);
  const { consumers } = call.kafka.groups;
  if (memberEpoch < 0) {
    const left = await consumers.leave(groupId, { memberId, instanceId, memberEpoch });
    if ('errorCode' in left) return refused(left);
    return { errorCode: ERROR_CODES.NONE, memberId, memberEpoch, heartbeatIntervalMs: 0 };
  }
  const answer = await consumers.heartbeat(groupId, heartbeatOf(request, call));
  if ('errorCode' in answer) return refused(answer);
  return {
    errorCode: ERROR_CODES.NONE,
    memberId: answer.memberId,
    memberEpoch: answer.memberEpoch,
    heartbeatIntervalMs: call.kafka.settings.groups.consumer.heartbeatIntervalMs,
    assignment: answer.assignment && { topicPartitions: listOf(answer.assignment) },
  };
}

function requestFault(request: ConsumerGroupHeartbeatRequest, version: number): Fault | undefined {
  const { groupId, memberId, memberEpoch, instanceId, rackId, serverAssignor } = request;
  if (groupId === '') return invalid('GroupId cannot be empty.');
  if (instanceId === '') return invalid('InstanceId cannot be empty.');
  if (rackId === '') return invalid('RackId cannot be empty.');
  if (memberId === '' && (memberEpoch !== 0 || version >= OWN_MEMBER_ID_VERSION_MIN))
    return invalid('MemberId cannot be empty.');
  if (memberEpoch < STATIC_LEAVE_EPOCH) return invalid('MemberEpoch is invalid.');
  if (memberEpoch === STATIC_LEAVE_EPOCH && instanceId === null) return invalid('InstanceId cannot be null.');
  const problem = memberEpoch === 0 ? joinFault(request) : undefined;
  if (problem !== undefined) return problem;
  if (serverAssignor !== null && memberEpoch > LEAVE_EPOCH && !ASSIGNORS.has(serverAssignor)) {
    const names = [...ASSIGNORS.keys()].join(', ');
    return fault('UNSUPPORTED_ASSIGNOR', `ServerAssignor ${serverAssignor} is not supported, but ${names}.`);
  }
  return undefined;
}

function joinFault(request: ConsumerGroupHeartbeatRequest): Fault | undefined {
  if (request.rebalanceTimeoutMs < 0) return invalid('RebalanceTimeoutMs must be given when joining.');
  if (request.topicPartitions?.length !== 0) return invalid('TopicPartitions must be empty when joining.');
  if (request.subscribedTopicNames === null && request.subscribedTopicRegex === null)
    return invalid('SubscribedTopicNames or SubscribedTopicRegex must be given when joining.');
  return undefined;
}

function invalid(errorMessage: string): Fault {
  return fault('INVALID_REQUEST', errorMessage);
}

function heartbeatOf(request: ConsumerGroupHeartbeatRequest, call: Call): HeartbeatRequest {
  const { memberId, memberEpoch, instanceId, rackId, serverAssignor } = request;
  const names = request.subscribedTopicNames;
  return {
    ...{ memberEpoch, instanceId, rackId, serverAssignor },
    memberId: memberId === '' ? call.kafka.hub.random.uuid() : memberId,
    clientId: call.clientId ?? '',
    clientHost: clientHostOf(call),
    rebalanceTimeoutMs: request.rebalanceTimeoutMs < 0 ? null : request.rebalanceTimeoutMs,
    topicNames: names === null ? null : [...new Set(names)].sort(),
    topicRegex: request.subscribedTopicRegex,
    matchedTopics: [],
    owned: request.topicPartitions && assignmentOf(request.topicPartitions),
  };
}

function assignmentOf(list: NonNullable<ConsumerGroupHeartbeatRequest['topicPartitions']>): Assignment {
  return new Map(list.map(({ topicId, partitions }) => [topicId, partitions]));
}

function listOf(assignment: Assignment) {
  return [...assignment].map(([topicId, partitions]) => ({ topicId, partitions }));
}

function refused({ errorCode, errorMessage }: Fault): ConsumerGroupHeartbeatResponse {
  return { errorCode, errorMessage, memberEpoch: 0, heartbeatIntervalMs: 0 };
}
