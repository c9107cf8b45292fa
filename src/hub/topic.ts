// A topic as the hub holds it: what the MetaStore says of it, and a handle for each partition.
import type { Clock, Log, TopicView } from '../../protocols/port.ts';
import { HubPartition } from './partition.ts';
import { effectiveTopicConfig } from './topic-configs.ts';
import type { TopicRecord } from './topic-records.ts';

export interface HubTopic extends TopicView {
  readonly partitions: readonly HubPartition[];
  /** The topic's record in the MetaStore, and its revision there. */
  readonly record: TopicRecord;
  readonly revision: number;
}

export interface TopicSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** Topic config of new topics where they say nothing themselves. */
  readonly defaultConfig: Readonly<Record<string, string>>;
}

/** @param leaderEpochs of each partition. The partitions have no log yet. */
export function makeTopic(
  name: string,
  revision: number,
  record: TopicRecord,
  leaderEpochs: readonly number[],
  { clock, log, defaultConfig }: TopicSurroundings,
): HubTopic {
  const { topicId, internal } = record;
  const config = effectiveTopicConfig(record.config, defaultConfig);
  const partitions = leaderEpochs.map(
    (leaderEpoch, partition) =>
      new HubPartition({ topic: name, topicId, partition, leaderEpoch, internal, clock, log }),
  );
  return { name, topicId, internal, partitions, config, record, revision };
}
