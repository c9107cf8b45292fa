// CreatePartitions (key 37), versions 0–3 (KIP-195). Each topic has its own result; a name given twice is refused. An
// assignment by hand must name this node for every partition that is added. The hub's own topics keep the partitions
// that they have.

import type { TopicError } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { type Deadline, withDeadline } from '../deadline.ts';
import { ERROR_CODES, type ErrorCode, TOPIC_ERROR_CODES } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { CreatePartitionsRequest, CreatePartitionsResponse } from '../messages/create-partitions.ts';

type TopicRequest = CreatePartitionsRequest['topics'][number];
type TopicAnswer = CreatePartitionsResponse['results'][number];

export const createPartitions = defineApi({
  key: 37,
  name: 'CreatePartitions',
  min: 0,
  max: 3,
  request: CreatePartitionsRequest,
  response: CreatePartitionsResponse,
  handle: handleCreatePartitions,
});

async function handleCreatePartitions(
  request: CreatePartitionsRequest,
  call: Call,
): Promise<CreatePartitionsResponse> {
  const mentions = new Map<string, number>();
  for (const { name } of request.topics) mentions.set(name, (mentions.get(name) ?? 0) + 1);
  const distinct = new Map(request.topics.map((topic) => [topic.name, topic])).values();
  const results = await Promise.all(
    [...distinct].map((topic) =>
      (mentions.get(topic.name) ?? 0) > 1
        ? refused(topic, ERROR_CODES.INVALID_REQUEST, 'the topic is named more than once')
        : extendTopic(request, call, topic),
    ),
  );
  return { results };
}

async function extendTopic(
  request: CreatePartitionsRequest,
  call: Call,
  topic: TopicRequest,
): Promise<TopicAnswer> {
  const { hub } = call.kafka;
  const { name, count } = topic;
  if (!allows(call, 'alter', 'topic', name))
    return refused(topic, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED, 'not allowed to alter the topic');
  const view = hub.topics.get(name);
  if (view === undefined)
    return refused(topic, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, `there is no topic ${name}`);
  const added = count - view.partitions.length;
  if (added > 0) {
    const fault = assignmentFault(call, topic, added);
    if (fault !== undefined) return refused(topic, ERROR_CODES.INVALID_REPLICA_ASSIGNMENT, fault);
  }
  try {
    const { validateOnly, timeoutMs } = request;
    const error = await withDeadline(
      hub.clock,
      timeoutMs,
      hub.topics.addPartitions(name, count, { validateOnly }),
    );
    return answerOf(topic, error);
  } catch (error) {
    return refused(topic, unexpected(hub, `CreatePartitions of ${name}`, error), null);
  }
}

function assignmentFault(call: Call, { assignments }: TopicRequest, added: number): string | undefined {
  if (assignments === null) return undefined;
  if (assignments.length !== added)
    return `${added} partitions are added, and ${assignments.length} are assigned`;
  const { nodeId } = call.kafka.hub.cluster;
  const isHere = assignments.every(({ brokerIds }) => brokerIds.length === 1 && brokerIds[0] === nodeId);
  return isHere ? undefined : `every partition must be assigned to node ${nodeId} and to no other`;
}

function answerOf(topic: TopicRequest, error: undefined | TopicError | Deadline): TopicAnswer {
  if (error === undefined) return { name: topic.name, errorCode: ERROR_CODES.NONE };
  if (error === 'deadline')
    return refused(topic, ERROR_CODES.REQUEST_TIMED_OUT, 'the partitions may still be made');
  return refused(topic, TOPIC_ERROR_CODES[error.error], error.message);
}

function refused({ name }: TopicRequest, errorCode: ErrorCode, errorMessage: string | null): TopicAnswer {
  return { name, errorCode, errorMessage };
}
