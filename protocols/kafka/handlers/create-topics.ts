// CreateTopics (key 19), versions 2–7. Each topic has its own result; a name given twice is refused for all of its
// mentions. −1 partitions or replicas = the hub's default (KIP-464). From version 5 the answer shows what was made
// (KIP-525), from version 7 its topic id.
// Left out: replicas on other nodes; an assignment by hand must name this node for every partition.

import type { TopicError, TopicView } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { CONFIG_SOURCES } from '../config-resources.ts';
import { type Deadline, withDeadline } from '../deadline.ts';
import { ERROR_CODES, type ErrorCode, TOPIC_ERROR_CODES } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { CreateTopicsRequest, CreateTopicsResponse } from '../messages/create-topics.ts';

type TopicRequest = CreateTopicsRequest['topics'][number];
type TopicAnswer = CreateTopicsResponse['topics'][number];

export const createTopics = defineApi({
  key: 19,
  name: 'CreateTopics',
  min: 2,
  max: 7,
  request: CreateTopicsRequest,
  response: CreateTopicsResponse,
  handle: handleCreateTopics,
});

async function handleCreateTopics(request: CreateTopicsRequest, call: Call): Promise<CreateTopicsResponse> {
  const mentions = new Map<string, number>();
  for (const { name } of request.topics) mentions.set(name, (mentions.get(name) ?? 0) + 1);
  const distinct = new Map(request.topics.map((topic) => [topic.name, topic])).values();
  const topics = await Promise.all(
    [...distinct].map((topic) =>
      (mentions.get(topic.name) ?? 0) > 1
        ? refused(topic, ERROR_CODES.INVALID_REQUEST, 'the topic is named more than once')
        : createTopic(request, call, topic),
    ),
  );
  logRefused(call, topics);
  return { topics };
}

/** Many clients keep the message to themselves. One that creates what it needs at each start does nothing wrong. */
function logRefused(call: Call, topics: readonly TopicAnswer[]): void {
  for (const { name, errorCode, errorMessage } of topics) {
    if (errorMessage === null || errorCode === ERROR_CODES.TOPIC_ALREADY_EXISTS) continue;
    const fields = { clientId: call.clientId, topic: name, reason: errorMessage };
    call.kafka.hub.log.warn('kafka-topic-refused', fields);
  }
}

async function createTopic(
  request: CreateTopicsRequest,
  call: Call,
  topic: TopicRequest,
): Promise<TopicAnswer> {
  const { hub } = call.kafka;
  const isAllowed =
    allows(call, 'create', 'cluster', hub.cluster.clusterId) || allows(call, 'create', 'topic', topic.name);
  if (!isAllowed)
    return refused(topic, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED, 'not allowed to create the topic');
  if (hub.topics.get(topic.name) !== undefined)
    return refused(topic, TOPIC_ERROR_CODES.exists, `topic ${topic.name} exists`);
  const assigned = assignmentFault(call, topic);
  if (assigned !== undefined) return refused(topic, assigned.code, assigned.message);
  const unset = topic.configs.find(({ value }) => value === null);
  if (unset !== undefined) return refused(topic, ERROR_CODES.INVALID_CONFIG, `${unset.name} has no value`);
  try {
    const made = await withDeadline(
      hub.clock,
      request.timeoutMs,
      hub.topics.create({
        name: topic.name,
        partitions: topic.assignments.length > 0 ? topic.assignments.length : topic.numPartitions,
        replicationFactor: topic.replicationFactor,
        config: ownConfigOf(topic),
        validateOnly: request.validateOnly,
      }),
    );
    return answerOf(call, topic, made);
  } catch (error) {
    return refused(topic, unexpected(hub, `CreateTopics of ${topic.name}`, error), null);
  }
}

function assignmentFault(
  call: Call,
  topic: TopicRequest,
): { readonly code: ErrorCode; readonly message: string } | undefined {
  const { assignments } = topic;
  if (assignments.length === 0) return undefined;
  if (topic.numPartitions !== -1 || topic.replicationFactor !== -1) {
    const message = 'an assignment says how many partitions and replicas there are; their numbers must be −1';
    return { code: ERROR_CODES.INVALID_REQUEST, message };
  }
  const indexes = new Set(assignments.map(({ partitionIndex }) => partitionIndex));
  const isDense =
    indexes.size === assignments.length && assignments.every((_item, index) => indexes.has(index));
  const { nodeId } = call.kafka.hub.cluster;
  const isHere = assignments.every(({ brokerIds }) => brokerIds.length === 1 && brokerIds[0] === nodeId);
  if (isDense && isHere) return undefined;
  const message = isDense
    ? `every partition must be assigned to node ${nodeId} and to no other`
    : 'partitions must be assigned once each, from 0 without a gap';
  return { code: ERROR_CODES.INVALID_REPLICA_ASSIGNMENT, message };
}

function answerOf(call: Call, topic: TopicRequest, made: TopicView | TopicError | Deadline): TopicAnswer {
  if (made === 'deadline')
    return refused(topic, ERROR_CODES.REQUEST_TIMED_OUT, 'the topic may still be made');
  if ('error' in made) return refused(topic, TOPIC_ERROR_CODES[made.error], made.message);
  return {
    name: topic.name,
    topicId: made.topicId,
    errorCode: ERROR_CODES.NONE,
    errorMessage: null,
    numPartitions: made.partitions.length,
    replicationFactor: Math.max(1, topic.replicationFactor),
    configs: call.kafka.hub.topics.describeNewConfig(ownConfigOf(topic)).map(({ name, value, source }) => ({
      ...{ name, value, readOnly: false, isSensitive: false },
      configSource: CONFIG_SOURCES[source],
    })),
  };
}

/** Names are whatever the client sends: `fromEntries` makes an own property of each. */
function ownConfigOf({ configs }: TopicRequest): Record<string, string> {
  return Object.fromEntries(configs.map(({ name, value }) => [name, value ?? '']));
}

function refused({ name }: TopicRequest, errorCode: ErrorCode, errorMessage: string | null): TopicAnswer {
  return { name, errorCode, errorMessage, configs: [] };
}
