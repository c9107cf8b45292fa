// Metadata (key 3), versions 0–13. Version 0: an empty list means all topics; later null means all, empty none.
// A missing topic is made when the request allows it (before version 4 it always does), the hub's configuration
// does too and the name is legal; it has its leaders in the same answer. Topic ids from version 10, asked by id
// from version 12 (KIP-516); from version 13 the answer could tell clients to start over (KIP-1102), which none has to;
// authorized operations from version 8 (KIP-430).

import type { TopicView } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { clusterOperations, OPERATIONS_UNKNOWN, topicOperations } from '../authorized-operations.ts';
import { ERROR_CODES, type ErrorCode, TOPIC_ERROR_CODES } from '../error-codes.ts';
import { MetadataRequest, MetadataResponse } from '../messages/metadata.ts';
import { brokers } from '../nodes.ts';
import { partitionAnswer } from '../partition-answer.ts';
import { ZERO_UUID } from '../wire/reader.ts';

const BY_ID_VERSION_MIN = 12;

type TopicRequest = NonNullable<MetadataRequest['topics']>[number];
type TopicAnswer = MetadataResponse['topics'][number];

export const metadata = defineApi({
  key: 3,
  name: 'Metadata',
  min: 0,
  max: 13,
  request: MetadataRequest,
  response: MetadataResponse,
  handle: handleMetadata,
});

async function handleMetadata(request: MetadataRequest, call: Call): Promise<MetadataResponse> {
  const { cluster } = call.kafka.hub;
  if (!isLegal(request, call)) {
    const topics = (request.topics ?? []).map((topic) => refused(call, topic, ERROR_CODES.INVALID_REQUEST));
    return { brokers: [], topics, errorCode: ERROR_CODES.INVALID_REQUEST };
  }
  return {
    brokers: brokers(call),
    clusterId: cluster.clusterId,
    controllerId: cluster.controller(),
    topics: await describeTopics(request, call),
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
      ? clusterOperations(call)
      : OPERATIONS_UNKNOWN,
  };
}

/** Every topic by name, or (from version 12) by id. */
function isLegal({ topics }: MetadataRequest, call: Call): boolean {
  if (topics === null) return true;
  if (call.version < BY_ID_VERSION_MIN) return topics.every((topic) => topic.name !== null && !hasId(topic));
  return topics.every((topic) => topic.name !== null || hasId(topic));
}

async function describeTopics(request: MetadataRequest, call: Call): Promise<TopicAnswer[]> {
  const { topics } = request;
  const wantsAll = topics === null || (call.version === 0 && topics.length === 0);
  if (wantsAll) {
    return call.kafka.hub.topics
      .list()
      .filter(({ name }) => allows(call, 'describe', 'topic', name))
      .map((topic) => described(request, call, topic));
  }
  // As in Kafka, one id makes it a request by id: names beside it are not looked at.
  const asked = topics.some(hasId) ? topics.filter(hasId) : topics;
  const answers: TopicAnswer[] = [];
  for (const topic of distinct(asked)) answers.push(await describeTopic(request, call, topic));
  return answers;
}

function hasId({ topicId }: TopicRequest): boolean {
  return topicId !== ZERO_UUID;
}

function distinct(topics: readonly TopicRequest[]): Iterable<TopicRequest> {
  return new Map(topics.map((topic) => [`${topic.topicId}/${topic.name ?? ''}`, topic])).values();
}

async function describeTopic(
  request: MetadataRequest,
  call: Call,
  topic: TopicRequest,
): Promise<TopicAnswer> {
  const { topics } = call.kafka.hub;
  if (hasId(topic) || topic.name === null) {
    const view = topics.getById(topic.topicId);
    return view !== undefined && allows(call, 'describe', 'topic', view.name)
      ? described(request, call, view)
      : refused(call, topic, ERROR_CODES.UNKNOWN_TOPIC_ID);
  }
  if (!allows(call, 'describe', 'topic', topic.name))
    return refused(call, topic, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const view = topics.get(topic.name);
  if (view !== undefined) return described(request, call, view);
  if (topics.illegalName(topic.name) !== undefined)
    return refused(call, topic, ERROR_CODES.INVALID_TOPIC_EXCEPTION);
  if (!request.allowAutoTopicCreation) return refused(call, topic, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (!allows(call, 'create', 'topic', topic.name))
    return refused(call, topic, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const made = await topics.ensure(topic.name);
  return 'error' in made
    ? refused(call, topic, TOPIC_ERROR_CODES[made.error])
    : described(request, call, made);
}

function described(request: MetadataRequest, call: Call, topic: TopicView): TopicAnswer {
  const { cluster } = call.kafka.hub;
  return {
    errorCode: ERROR_CODES.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.internal,
    partitions: topic.partitions.map((partition) => partitionAnswer(cluster, partition)),
    topicAuthorizedOperations: request.includeTopicAuthorizedOperations
      ? topicOperations(call, topic.name)
      : OPERATIONS_UNKNOWN,
  };
}

function refused(call: Call, topic: TopicRequest, errorCode: ErrorCode): TopicAnswer {
  // A topic asked for by id alone has no name to show; before version 12 the field cannot be null.
  const isUnnamed = hasId(topic) && call.version >= BY_ID_VERSION_MIN;
  return { errorCode, name: topic.name ?? (isUnnamed ? null : ''), topicId: topic.topicId, partitions: [] };
}
