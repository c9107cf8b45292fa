// Makes the MetaStore's entries of topics anew from what the files say, when it was lost: names, ids and partitions are on
// disk, and so are the hub's own states whole. What topics were configured to is not. So nothing of them is deleted until
// somebody says again what they are to keep.
import type { MetaStore, TransactResult } from '../../storage/index.ts';
import { STATE_TOPIC_CONFIG } from './state-tables.ts';
import { isReservedTopicName } from './topic-names.ts';
import { type TopicRecord, topicKeyOf } from './topic-records.ts';

export interface FoundTopic {
  readonly name: string;
  readonly topicId: string;
  readonly partitions: number;
}

/** A topic that was compacted must not lose by age what compaction would have kept. */
const KEEP_ALL: TopicRecord['config'] = { 'retention.ms': '-1', 'retention.bytes': '-1' };

/** Of aedes applications, which name their own. */
const AEDES_PREFIX = '__aedes_';

/**
 * Into a MetaStore that has nothing. The index must have no rows: log ids begin anew, and old rows would be taken for those
 * of other logs. Producer ids go on far above any that was ever given: milliseconds since 1970 are more than a hub has
 * producers.
 */
export async function rebuildTopics(
  metaStore: MetaStore,
  topics: readonly FoundTopic[],
  nowMs: number,
): Promise<TransactResult> {
  const count = topics.reduce((sum, { partitions }) => sum + partitions, 0);
  let nextLogId = count > 0 ? await metaStore.allocate('log-id', count) : 0;
  await metaStore.allocate('producer-id', nowMs);
  return metaStore.transact({
    if: topics.map(({ name }) => ({ key: topicKeyOf(name), absent: true })),
    put: topics.map(({ name, topicId, partitions }) => {
      const internal = isReservedTopicName(name) || name.startsWith(AEDES_PREFIX);
      const record: TopicRecord = {
        ...{ topicId, state: 'live' as const, internal },
        config: internal ? STATE_TOPIC_CONFIG : KEEP_ALL,
        logIds: Array.from({ length: partitions }, () => nextLogId++),
      };
      return { key: topicKeyOf(name), value: record };
    }),
  });
}
