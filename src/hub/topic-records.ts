// What the MetaStore holds about topics, and how it is read back.
//
//   topic/<name>       the topic: identity, configuration, the log of each partition
//   leaders/<topicId>  who leads each partition, and since which epoch; apart, because it changes at every start
import type { MetaEntry } from '../../storage/index.ts';

export const TOPIC_PREFIX = 'topic/';
export const LEADERS_PREFIX = 'leaders/';

export interface TopicRecord {
  readonly topicId: string;
  /** `deleting` from the moment of the decision until the files are gone: a start resumes it. */
  readonly state: 'live' | 'deleting';
  readonly internal: boolean;
  /** Kafka's names and values, as asked for. */
  readonly config: Readonly<Record<string, string>>;
  /** Of each partition, the key of its incarnation in the store; never used twice. */
  readonly logIds: readonly number[];
}

export interface Leadership {
  readonly nodeId: number;
  readonly leaderEpoch: number;
}

export interface StoredTopic {
  readonly name: string;
  readonly revision: number;
  readonly record: TopicRecord;
}

export const topicKeyOf = (name: string): string => TOPIC_PREFIX + name;
export const leadersKeyOf = (topicId: string): string => LEADERS_PREFIX + topicId;

/** Throws Error when the entry is not a topic's: then another program wrote it, and nothing must be guessed. */
export function readTopicEntry(entry: MetaEntry): StoredTopic {
  const name = entry.key.slice(TOPIC_PREFIX.length);
  if (!isTopicRecord(entry.value)) throw new Error(`meta entry ${entry.key} is not a topic`);
  return { name, revision: entry.revision, record: entry.value };
}

/** Throws Error as {@link readTopicEntry}. */
export function readLeadersEntry(entry: MetaEntry): readonly Leadership[] {
  const { value } = entry;
  if (Array.isArray(value) && value.every(isLeadership)) return value;
  throw new Error(`meta entry ${entry.key} is not a list of leaders`);
}

function isTopicRecord(value: unknown): value is TopicRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Partial<Record<keyof TopicRecord, unknown>>; // any object may be read field by field
  return (
    typeof record.topicId === 'string' &&
    (record.state === 'live' || record.state === 'deleting') &&
    typeof record.internal === 'boolean' &&
    isStringRecord(record.config) &&
    Array.isArray(record.logIds) &&
    record.logIds.every((logId) => Number.isSafeInteger(logId))
  );
}

function isStringRecord(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every((item) => typeof item === 'string');
}

function isLeadership(value: unknown): value is Leadership {
  if (typeof value !== 'object' || value === null) return false;
  const record = value as Partial<Record<keyof Leadership, unknown>>; // any object may be read field by field
  return Number.isSafeInteger(record.nodeId) && Number.isSafeInteger(record.leaderEpoch);
}
