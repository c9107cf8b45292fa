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

/**
 * @param leaderEpochs of each partition
 * @param known handles of its first partitions; the others are new and have no log yet
 */
export function makeTopic(
  name: string,
  revision: number,
  record: TopicRecord,
  leaderEpochs: readonly number[],
  { clock, log, defaultConfig }: TopicSurroundings,
  known: readonly HubPartition[] = [],
): HubTopic {
  const { topicId, internal } = record;
  const partitions = leaderEpochs.map(
    (leaderEpoch, partition) =>
      known[partition] ??
      new HubPartition({ topic: name, topicId, partition, leaderEpoch, internal, clock, log }),
  );
  return { name, topicId, internal, partitions, record, revision, ...configsOf(record, defaultConfig) };
}

/** The same topic and partitions under another configuration. */
export function reconfiguredTopic(
  topic: HubTopic,
  revision: number,
  record: TopicRecord,
  { defaultConfig }: TopicSurroundings,
): HubTopic {
  return { ...topic, revision, record, ...configsOf(record, defaultConfig) };
}

function configsOf(
  { config, internal }: TopicRecord,
  defaultConfig: Readonly<Record<string, string>>,
): Pick<HubTopic, 'config' | 'logConfig'> {
  const defaults = internal ? INTERNAL_DEFAULTS : defaultConfig;
  return { config: effectiveTopicConfig(config, defaults), logConfig: logConfigOf(config, defaults) };
}
