// DescribeTopicPartitions (key 75), version 0 (KIP-966): topics by name, a page at a time. No topics asks for all of
// them. A page has as many partitions as the client asks for, and 2,000 at most; the cursor says where the next one
// begins. Replicas that may become leaders without being in sync there are none.

import type { TopicView } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { OPERATIONS_UNKNOWN, topicOperations } from '../authorized-operations.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  DescribeTopicPartitionsRequest,
  DescribeTopicPartitionsResponse,
} from '../messages/describe-topic-partitions.ts';
import { partitionAnswer } from '../partition-answer.ts';
import { ZERO_UUID } from '../wire/reader.ts';

/** Kafka's `max.request.partition.size.limit`. */
const PAGE_PARTITIONS_MAX = 2_000;

type TopicAnswer = DescribeTopicPartitionsResponse['topics'][number];

export const describeTopicPartitions = defineApi({
  key: 75,
  name: 'DescribeTopicPartitions',
  min: 0,
  max: 0,
  request: DescribeTopicPartitionsRequest,
  response: DescribeTopicPartitionsResponse,
  handle: handleDescribeTopicPartitions,
});

function handleDescribeTopicPartitions(
  request: DescribeTopicPartitionsRequest,
  call: Call,
): DescribeTopicPartitionsResponse {
  const { cursor } = request;
  const names = namesOf(request, call);
  if (cursor !== null && !isLegalCursor(request)) {
    return { topics: request.topics.map(({ name }) => refused(name, ERROR_CODES.INVALID_REQUEST)) };
  }
  let room = Math.max(1, Math.min(request.responsePartitionLimit, PAGE_PARTITIONS_MAX));
  const topics: TopicAnswer[] = [];
  for (const name of names) {
    const from = name === cursor?.topicName ? cursor.partitionIndex : 0;
    const topic = call.kafka.hub.topics.get(name);
    if (room === 0) return { topics, nextCursor: { topicName: name, partitionIndex: from } };
    topics.push(describeTopic(call, name, topic, from, from + room));
    const partitions = Math.max(0, (topic?.partitions.length ?? 0) - from);
    if (partitions > room) return { topics, nextCursor: { topicName: name, partitionIndex: from + room } };
    room -= partitions;
  }
  return { topics };
}

/** From the cursor on, by name. */
function namesOf({ topics, cursor }: DescribeTopicPartitionsRequest, call: Call): readonly string[] {
  const first = cursor?.topicName ?? '';
  const names =
    topics.length > 0
      ? [...new Set(topics.map(({ name }) => name))].sort()
      : call.kafka.hub.topics
          .list()
          .map(({ name }) => name)
          .filter((name) => allows(call, 'describe', 'topic', name));
  return names.filter((name) => name >= first);
}

/** It points into the topics that are asked for. */
function isLegalCursor({ topics, cursor }: DescribeTopicPartitionsRequest): boolean {
  if (cursor === null) return true;
  const isAsked = topics.length === 0 || topics.some(({ name }) => name === cursor.topicName);
  return isAsked && cursor.partitionIndex >= 0;
}

function describeTopic(
  call: Call,
  name: string,
  topic: TopicView | undefined,
  from: number,
  to: number,
): TopicAnswer {
  const { topics, cluster } = call.kafka.hub;
  if (!allows(call, 'describe', 'topic', name)) return refused(name, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const topicAuthorizedOperations = topicOperations(call, name);
  if (topic === undefined) {
    const isIllegal = topics.illegalName(name) !== undefined;
    const code = isIllegal ? ERROR_CODES.INVALID_TOPIC_EXCEPTION : ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return { ...refused(name, code), topicAuthorizedOperations };
  }
  return {
    ...{ errorCode: ERROR_CODES.NONE, name, topicId: topic.topicId, isInternal: topic.internal },
    partitions: topic.partitions.slice(from, to).map((partition) => ({
      ...partitionAnswer(cluster, partition),
      ...{ eligibleLeaderReplicas: [], lastKnownElr: [], offlineReplicas: [] },
    })),
    topicAuthorizedOperations,
  };
}

function refused(name: string, errorCode: ErrorCode): TopicAnswer {
  return {
    errorCode,
    name,
    topicId: ZERO_UUID,
    partitions: [],
    topicAuthorizedOperations: OPERATIONS_UNKNOWN,
  };
}
