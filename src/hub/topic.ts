// A topic as the hub holds it: what the MetaStore says of it, and a handle for each partition.
import type { Clock, Log, TopicView } from '../../protocols/port.ts';
import type { LogConfig } from '../../storage/index.ts';
import { HubPartition } from './partition.ts';
import { effectiveTopicConfig, logConfigOf } from './topic-configs.ts';
import type { TopicRecord } from './topic-records.ts';

export interface HubTopic extends TopicView {
  readonly partitions: readonly HubPartition[];
  /** The topic's record in the MetaStore, and its revision there. */
  readonly record: TopicRecord;
  readonly revision: number;
  /** What the topic's configuration means to its logs. */
  readonly logConfig: LogConfig;
}

export interface TopicSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** Topic config of new topics where they say nothing themselves. */
  readonly defaultConfig: Readonly<Record<string, string>>;
}

/** What users want of their topics does not count for the hub's own: their segments are small, to be replayed quickly. */
export const INTERNAL_DEFAULTS: Readonly<Record<string, string>> = { 'segment.bytes': '104857600' };

/** @param leaderEpochs of each partition. The partitions have no log yet. */
export function makeTopic(
  name: string,
  revision: number,
  record: TopicRecord,
  leaderEpochs: readonly number[],
  { clock, log, defaultConfig }: TopicSurroundings,
): HubTopic {
  const { topicId, internal } = record;
  const defaults = internal ? INTERNAL_DEFAULTS : defaultConfig;
  const config = effectiveTopicConfig(record.config, defaults);
  const logConfig = logConfigOf(record.config, defaults);
  const partitions = leaderEpochs.map(
    (leaderEpoch, partition) =>
      new HubPartition({ topic: name, topicId, partition, leaderEpoch, internal, clock, log }),
  );
  return { name, topicId, internal, partitions, config, logConfig, record, revision };
}
