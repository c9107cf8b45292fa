// DeleteTopics (key 20), versions 1–6; by name, and from version 6 by topic id too (KIP-516). Each topic has its
// own result; a topic named twice, in whatever way, is refused at each further mention and deleted by none.

import type { TopicView } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { withDeadline } from '../deadline.ts';
import { ERROR_CODES, type ErrorCode, TOPIC_ERROR_CODES } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { DeleteTopicsRequest, DeleteTopicsResponse } from '../messages/delete-topics.ts';
import { ZERO_UUID } from '../wire/reader.ts';

const BY_ID_VERSION_MIN = 6;

type TopicAnswer = DeleteTopicsResponse['responses'][number];

interface Mention {
  readonly name: string | null;
  readonly topicId: string;
}

export const deleteTopics = defineApi({
  key: 20,
  name: 'DeleteTopics',
  min: 1,
  max: 6,
  request: DeleteTopicsRequest,
  response: DeleteTopicsResponse,
  handle: handleDeleteTopics,
});

async function handleDeleteTopics(request: DeleteTopicsRequest, call: Call): Promise<DeleteTopicsResponse> {
  const mentions: readonly Mention[] =
    call.version >= BY_ID_VERSION_MIN
      ? request.topics
      : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
  const byTopic = new Map<string, Mention[]>();
  for (const mention of mentions) {
    const key = viewOf(call, mention)?.topicId ?? `${mention.topicId}/${mention.name}`;
    const same = byTopic.get(key);
    if (same === undefined) byTopic.set(key, [mention]);
    else same.push(mention);
  }
  const responses = await Promise.all([...byTopic.values()].map((same) => answerOf(request, call, same)));
  return { responses };
}

/** @param same all mentions of one topic, at least one. */
async function answerOf(
  request: DeleteTopicsRequest,
  call: Call,
  same: readonly Mention[],
): Promise<TopicAnswer> {
  const mention = merged(same);
  return same.length > 1
    ? refused(mention, ERROR_CODES.INVALID_REQUEST, 'the topic is named more than once')
    : deleteTopic(request, call, mention);
}

/** All mentions of one topic: its name if one has it, its id if one has it. */
function merged(mentions: readonly Mention[]): Mention {
  return {
    name: mentions.find(({ name }) => name !== null)?.name ?? null,
    topicId: mentions.find(({ topicId }) => topicId !== ZERO_UUID)?.topicId ?? ZERO_UUID,
  };
}

function viewOf(call: Call, { name, topicId }: Mention): TopicView | undefined {
  const { topics } = call.kafka.hub;
  return name === null ? topics.getById(topicId) : topics.get(name);
}

async function deleteTopic(request: DeleteTopicsRequest, call: Call, mention: Mention): Promise<TopicAnswer> {
  const { hub } = call.kafka;
  const view = viewOf(call, mention);
  const fault = mentionFault(mention);
  if (fault !== undefined) return refused(mention, ERROR_CODES.INVALID_REQUEST, fault);
  const name = view?.name ?? mention.name;
  if (name !== null && !allows(call, 'delete', 'topic', name))
    return refused(mention, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED, 'not allowed to delete the topic');
  if (view === undefined) {
    const code =
      mention.name === null ? ERROR_CODES.UNKNOWN_TOPIC_ID : ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return refused(mention, code, 'there is no such topic');
  }
  try {
    const failed = await withDeadline(hub.clock, request.timeoutMs, hub.topics.delete(view.name));
    if (failed === 'deadline')
      return refused(mention, ERROR_CODES.REQUEST_TIMED_OUT, 'the topic may still be deleted');
    if (failed !== undefined) return refused(mention, TOPIC_ERROR_CODES[failed.error], failed.message);
    return { name: view.name, topicId: view.topicId, errorCode: ERROR_CODES.NONE };
  } catch (error) {
    return refused(mention, unexpected(hub, `DeleteTopics of ${view.name}`, error), null);
  }
}

function mentionFault({ name, topicId }: Mention): string | undefined {
  if (name !== null && topicId !== ZERO_UUID) return 'a topic is named by its name or by its id, not by both';
  return name === null && topicId === ZERO_UUID ? 'a topic needs a name or an id' : undefined;
}

function refused({ name, topicId }: Mention, errorCode: ErrorCode, errorMessage: string | null): TopicAnswer {
  return { name, topicId, errorCode, errorMessage };
}
