// From what the hub says of topics to what an HTTP client is told.
import type {
  ReadRefused,
  Refused,
  TopicError,
  TopicErrorCode,
  Topics,
  TopicView,
} from '../../protocols/port.ts';
import { AdminError, type ErrorCode } from './errors.ts';

const TOPIC_CODES: Readonly<Record<TopicErrorCode, ErrorCode>> = {
  exists: 'exists',
  'unknown-topic': 'not_found',
  'invalid-name': 'invalid_request',
  'invalid-partitions': 'invalid_request',
  'invalid-replication-factor': 'invalid_request',
  'invalid-config': 'invalid_request',
  limit: 'limit_reached',
  'internal-topic': 'internal_topic',
  declared: 'declared',
  conflict: 'conflict',
  'unknown-outcome': 'storage',
  storage: 'storage',
};

/** Fields of requests, by what is wrong with them. */
const TOPIC_FIELDS: Readonly<Partial<Record<TopicErrorCode, string>>> = {
  'unknown-topic': 'topic',
  'invalid-name': 'topic',
  exists: 'topic',
  'invalid-config': 'config',
};

/** @param partitionsField which field of the request says how many partitions there are to be */
export function topicError(error: TopicError, partitionsField = 'partitions'): AdminError {
  const field = error.error === 'invalid-partitions' ? partitionsField : TOPIC_FIELDS[error.error];
  return new AdminError(TOPIC_CODES[error.error], error.message, {
    ...(field === undefined ? {} : { field }),
    ...(error.declaredAt === undefined ? {} : { hint: error.declaredAt }),
  });
}

/** @throws AdminError not_found */
export function knownTopic(topics: Topics, name: string): TopicView {
  const topic = topics.get(name);
  if (topic !== undefined) return topic;
  throw new AdminError('not_found', `there is no topic ${name}`, { field: 'topic' });
}

/** @throws AdminError not_found */
export function knownPartition(topic: TopicView, number: number) {
  const partition = topic.partitions[number];
  if (partition !== undefined) return partition;
  throw new AdminError('not_found', `topic ${topic.name} has no partition ${number}`, {
    field: 'partition',
    hint: `it has ${topic.partitions.length}`,
  });
}

/** Those that are named, with commas, in that order; all of them when none is. @throws AdminError not_found */
export function chosenPartitions(topic: TopicView, wanted: string | undefined) {
  if (wanted === undefined) return topic.partitions;
  return [...new Set(wanted.split(',').map(Number))].map((number) => knownPartition(topic, number));
}

const REFUSAL_CODES: Readonly<Record<Refused['refused'] | ReadRefused['refused'], ErrorCode>> = {
  'not-leader': 'not_ready',
  'fenced-epoch': 'not_ready',
  'unknown-epoch': 'not_ready',
  'not-enough-replicas': 'not_ready',
  'not-enough-replicas-after-append': 'not_ready',
  timeout: 'not_ready',
  storage: 'storage',
  'disk-full': 'disk_full',
  'fenced-producer': 'conflict',
  'fenced-coordinator': 'conflict',
  duplicate: 'conflict',
  gap: 'conflict',
  'invalid-transaction': 'conflict',
  'too-large': 'payload_too_large',
  'unknown-topic': 'not_found',
  'offset-out-of-range': 'not_found',
};

/** Why the log did not take or give what was asked for. */
export function refusalError(
  { refused, message }: Refused | ReadRefused,
  details: { readonly field?: string; readonly hint?: string } = {},
): AdminError {
  return new AdminError(REFUSAL_CODES[refused], message, details);
}
