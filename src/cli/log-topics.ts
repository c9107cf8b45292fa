// What the MetaStore of a data directory says of the logs in it: which of the index's rows are theirs, and whether they
// are compacted. For the offline tools; the directory's lock is held.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type InspectedLog, openMetaStore } from '../../storage/index.ts';
import { readTopicEntry, TOPIC_PREFIX } from '../hub/topic-records.ts';

export interface KnownTopic {
  readonly topicId: string;
  readonly logIds: readonly number[];
  readonly compacts: boolean;
}

export type KnownTopics = ReadonlyMap<string, KnownTopic>;

/** By name; undefined when there is no MetaStore, as in a copy of some topics. @throws StorageError */
export async function readKnownTopics(dataDirectory: string): Promise<KnownTopics | undefined> {
  const directory = path.join(dataDirectory, 'meta');
  // Opening would make it.
  if (!existsSync(directory)) return undefined;
  const metaStore = await openMetaStore(directory);
  try {
    const topics = new Map<string, KnownTopic>();
    for (const entry of await metaStore.list(TOPIC_PREFIX)) {
      const { name, record } = readTopicEntry(entry);
      const { topicId, logIds, internal, config, state } = record;
      if (state === 'deleting') continue;
      const compacts = internal || (config['cleanup.policy'] ?? '').includes('compact');
      topics.set(name, { topicId, logIds, compacts });
    }
    return topics;
  } finally {
    await metaStore.close();
  }
}

/** The key of a log's rows in the index. */
export function logIdOf(topics: KnownTopics | undefined, log: InspectedLog): number | undefined {
  if (log.topic === undefined || log.partition === undefined) return undefined;
  return topics?.get(log.topic)?.logIds[log.partition];
}
