// Makes the MetaStore's entries of topics anew from what the files say, when it was lost: names, ids and partitions are on
// disk, and so are the hub's own states whole. What topics were configured to is not. So nothing of them is deleted until
// somebody says again what they are to keep.
import {
  counterKeyOf,
  type MetaCondition,
  type MetaStore,
  StorageError,
  type TransactResult,
} from '../../storage/index.ts';
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
 * Into a MetaStore that has no topics, all in one transaction: a crash leaves one that is as lost as before, or one that is
 * whole. The index must have no rows: log ids begin anew, and old rows would be taken for those of other logs. Producer
 * ids go on far above any that was ever given: milliseconds since 1970 are more than a hub has producers.
 */
export async function rebuildTopics(
  metaStore: MetaStore,
  topics: readonly FoundTopic[],
  nowMs: number,
): Promise<TransactResult> {
  const logIds = await counterIn(metaStore, 'log-id');
  const producerIds = await counterIn(metaStore, 'producer-id');
  let nextLogId = logIds.next;
  const entries = topics.map(({ name, topicId, partitions }) => {
    const internal = isReservedTopicName(name) || name.startsWith(AEDES_PREFIX);
    const record: TopicRecord = {
      ...{ topicId, state: 'live' as const, internal },
      config: internal ? STATE_TOPIC_CONFIG : KEEP_ALL,
      logIds: Array.from({ length: partitions }, () => nextLogId++),
    };
    return { key: topicKeyOf(name), value: record };
  });
  return metaStore.transact({
    if: [
      ...entries.map(({ key }) => ({ key, absent: true as const })),
      logIds.condition,
      producerIds.condition,
    ],
    put: [
      ...entries,
      { key: logIds.key, value: nextLogId },
      { key: producerIds.key, value: producerIds.next + nowMs },
    ],
  });
}

/** What it gives next, and the condition under which that is still so. */
async function counterIn(metaStore: MetaStore, counter: string) {
  const key = counterKeyOf(counter);
  const entry = await metaStore.get(key);
  const next = entry === undefined ? 0 : entry.value;
  if (typeof next !== 'number') throw new StorageError('format', `meta entry ${key} is not a number`);
  const condition: MetaCondition =
    entry === undefined ? { key, absent: true } : { key, revision: entry.revision };
  return { key, next, condition };
}
