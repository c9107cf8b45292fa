// Topics between the MetaStore and the files: loading them at the start, opening their logs, deleting them. A
// deletion is decided in the MetaStore first and ends there last, so whatever a crash interrupts goes on.
import type { TopicError } from '../../protocols/port.ts';
import { type LogStore, type MetaStore, StorageError, type TransactResult } from '../../storage/index.ts';
import { mapConcurrently } from './concurrently.ts';
import { LOG_ID_BLOCK, OPENING_MAX } from './limits.ts';
import { NumberBlocks } from './number-blocks.ts';
import type { HubPartition } from './partition.ts';
import { type HubTopic, makeTopic, reconfiguredTopic, type TopicSurroundings } from './topic.ts';
import {
  LEADERS_PREFIX,
  type Leadership,
  leadersKeyOf,
  readLeadersEntry,
  readTopicEntry,
  type StoredTopic,
  TOPIC_PREFIX,
  type TopicRecord,
  topicKeyOf,
} from './topic-records.ts';

export interface TopicStoreOptions extends TopicSurroundings {
  readonly metaStore: MetaStore;
  readonly store: LogStore;
  readonly nodeId: number;
  /** The log of a partition takes no appends any more. */
  readonly onLogFailed: (partition: HubPartition) => void;
}

/** Leaders of one topic as stored: `revision` undefined when the entry is missing. */
interface StoredLeaders {
  readonly revision: number | undefined;
  readonly leaders: readonly Leadership[];
}

export class TopicStore {
  readonly #options: TopicStoreOptions;
  readonly #logIds: NumberBlocks;

  constructor(options: TopicStoreOptions) {
    this.#options = options;
    this.#logIds = new NumberBlocks(options.metaStore, 'log-id', LOG_ID_BLOCK);
  }

  /**
   * Finishes deletions that were interrupted, raises the leader epoch of every partition in one transaction and
   * opens the logs. A partition that does not open stays behind and says why, and so does a topic that only the
   * files know of: whoever loses the MetaStore must hear of it. Throws when the MetaStore cannot
   * be read or does not take the epochs: nothing may be appended then.
   */
  async load(): Promise<readonly HubTopic[]> {
    const stored = (await this.#options.metaStore.list(TOPIC_PREFIX)).map(readTopicEntry);
    if (stored.length === 0) await this.#refuseLostMeta();
    const deleting = stored.filter(({ record }) => record.state === 'deleting');
    await mapConcurrently(deleting, OPENING_MAX, async ({ name, record }) => {
      await this.finishDeletion(name, record);
    });
    const live = stored.filter(({ record }) => record.state === 'live');
    const topics = await this.#raiseEpochs(live);
    await this.#openAll(topics);
    await this.#reportStrangers(new Set(stored.map(({ name }) => name)));
    return topics;
  }

  /** Makes the topic: in the MetaStore, then its files. Nothing is left of it when it fails, now or later. */
  async create(name: string, record: TopicRecord): Promise<HubTopic | TopicError> {
    const leaders = record.logIds.map(() => ({ nodeId: this.#options.nodeId, leaderEpoch: 0 }));
    const result = await this.#options.metaStore.transact({
      if: [{ key: topicKeyOf(name), absent: true }],
      put: [
        { key: topicKeyOf(name), value: record },
        { key: leadersKeyOf(record.topicId), value: leaders },
      ],
    });
    if (result.outcome !== 'applied') return topicErrorOf(result, `create topic ${name}`);
    const topic = makeTopic(name, result.revision, record, leaders.map(epochOf), this.#options);
    await this.#openAll([topic]);
    const unopened = topic.partitions.find((partition) => partition.log === undefined);
    if (unopened === undefined) return topic;
    await this.delete(topic);
    return { error: 'storage', message: `${unopened.name} could not be made` };
  }

  /** Decides the deletion and carries it out. Once decided, the handles are dead whatever happens to the files. */
  async delete(topic: HubTopic): Promise<undefined | TopicError> {
    const error = await this.markDeleting(topic);
    if (error !== undefined) return error;
    return this.finishDeletion(topic.name, topic.record);
  }

  /** The decision alone. */
  async markDeleting({ name, record, revision, partitions }: HubTopic): Promise<undefined | TopicError> {
    const result = await this.#options.metaStore.transact({
      if: [{ key: topicKeyOf(name), revision }],
      put: [{ key: topicKeyOf(name), value: { ...record, state: 'deleting' } satisfies TopicRecord }],
    });
    if (result.outcome !== 'applied') return topicErrorOf(result, `delete topic ${name}`);
    for (const partition of partitions) partition.markDeleted();
    return undefined;
  }

  /** Deletes the files, then the record. What fails is tried again at the next start or creation. */
  async finishDeletion(name: string, record: TopicRecord): Promise<undefined | TopicError> {
    const { metaStore, store, log } = this.#options;
    try {
      await store.deleteTopic(name, record.topicId, record.logIds);
    } catch (error) {
      log.error('topic-files-not-deleted', { topic: name, topicId: record.topicId, error });
      return { error: 'storage', message: `the files of topic ${name} could not be deleted` };
    }
    const result = await metaStore.transact({ delete: [topicKeyOf(name), leadersKeyOf(record.topicId)] });
    return result.outcome === 'applied' ? undefined : topicErrorOf(result, `delete topic ${name}`);
  }

  /** The topic with other entries of its own, in effect on its logs. */
  async setConfig(topic: HubTopic, config: TopicRecord['config']): Promise<HubTopic | TopicError> {
    const record: TopicRecord = { ...topic.record, config };
    const result = await this.#options.metaStore.transact({
      if: [{ key: topicKeyOf(topic.name), revision: topic.revision }],
      put: [{ key: topicKeyOf(topic.name), value: record }],
    });
    if (result.outcome !== 'applied') return topicErrorOf(result, `configure topic ${topic.name}`);
    const configured = reconfiguredTopic(topic, result.revision, record, this.#options);
    for (const { log } of configured.partitions) log?.setConfig(configured.logConfig);
    return configured;
  }

  /**
   * The topic with as many more partitions, their logs open. One that does not open stays behind and says why, as at the
   * start: what is decided in the MetaStore is not taken back. Rejects with StorageError before that.
   */
  async addPartitions(topic: HubTopic, count: number): Promise<HubTopic | TopicError> {
    const { metaStore, nodeId } = this.#options;
    const { name, topicId } = topic;
    const record: TopicRecord = {
      ...topic.record,
      logIds: [...topic.record.logIds, ...(await this.allocateLogIds(count))],
    };
    const key = leadersKeyOf(topicId);
    const entry = await metaStore.get(key);
    const before = entry === undefined ? [] : readLeadersEntry(entry);
    const leaders = record.logIds.map(
      (_, partition): Leadership => before[partition] ?? { nodeId, leaderEpoch: 0 },
    );
    const result = await metaStore.transact({
      if: [
        { key: topicKeyOf(name), revision: topic.revision },
        entry === undefined ? { key, absent: true } : { key, revision: entry.revision },
      ],
      put: [
        { key: topicKeyOf(name), value: record },
        { key, value: leaders },
      ],
    });
    if (result.outcome !== 'applied') return topicErrorOf(result, `add partitions to topic ${name}`);
    const { revision } = result;
    const epochs = leaders.map(epochOf);
    const extended = makeTopic(name, revision, record, epochs, this.#options, topic.partitions);
    const added = extended.partitions.slice(topic.partitions.length);
    await mapConcurrently(added, OPENING_MAX, (partition) => this.#open(extended, partition, 0));
    return extended;
  }

  /** The topic's record in the MetaStore, when a deletion has not come to its end. */
  async interruptedDeletion(name: string): Promise<TopicRecord | undefined> {
    const entry = await this.#options.metaStore.get(topicKeyOf(name));
    const record = entry === undefined ? undefined : readTopicEntry(entry).record;
    return record?.state === 'deleting' ? record : undefined;
  }

  /** As many log ids that no partition ever had. Rejects with StorageError. */
  allocateLogIds(count: number): Promise<readonly number[]> {
    return this.#logIds.allocateMany(count);
  }

  /**
   * Closes the logs of these partitions that failed, or never opened, and opens them again under the next leader epochs,
   * raised in one transaction first. Those that do not open answer with why. Throws when the epochs cannot be raised.
   */
  async reopen(topic: HubTopic, partitions: readonly HubPartition[]): Promise<void> {
    const { store, log } = this.#options;
    const failed = partitions.filter(
      ({ deleted, log }) => !deleted && (log === undefined || log.failed !== undefined),
    );
    if (failed.length === 0) return;
    const leaderEpochs = await this.#raiseEpochsOf(topic, failed);
    await mapConcurrently(failed, OPENING_MAX, async (partition) => {
      try {
        if (partition.log !== undefined) await store.closePartition(partition.log);
      } catch (error) {
        // It is closed all the same, and what it holds is for the opening to judge.
        log.warn('failed-log-not-closed', { partition: partition.name, error });
      }
      const leaderEpoch = leaderEpochs[partition.partition]!; // there is one of each partition
      await this.#open(topic, partition, leaderEpoch);
      if (partition.leaderEpoch === leaderEpoch) {
        const logEndOffset = partition.log?.logEndOffset;
        log.info('partition-reopened', { partition: partition.name, leaderEpoch, logEndOffset });
      }
    });
  }

  /** Of all partitions of the topic, as they are after the transaction. */
  async #raiseEpochsOf(topic: HubTopic, partitions: readonly HubPartition[]): Promise<readonly number[]> {
    const { metaStore, nodeId } = this.#options;
    const key = leadersKeyOf(topic.topicId);
    const entry = await metaStore.get(key);
    const raised = topic.partitions.map((each): Leadership => {
      const before = entry === undefined ? undefined : readLeadersEntry(entry)[each.partition];
      const leaderEpoch = Math.max(before?.leaderEpoch ?? 0, each.leaderEpoch);
      return { nodeId, leaderEpoch: partitions.includes(each) ? leaderEpoch + 1 : leaderEpoch };
    });
    const condition =
      entry === undefined ? { key, absent: true as const } : { key, revision: entry.revision };
    const result = await metaStore.transact({ if: [condition], put: [{ key, value: raised }] });
    if (result.outcome === 'unknown') throw result.cause;
    if (result.outcome === 'refused')
      throw new Error(`leaders of ${topic.name} changed while they were raised`);
    return raised.map(epochOf);
  }

  /**
   * It has no topic: then there is none on disk either, since a topic is deleted there first. Topics made anew under the
   * old names would push the records of the old ones aside, and their groups' offsets.
   */
  async #refuseLostMeta(): Promise<void> {
    const { store } = this.#options;
    const topics = (await store.topicsOnDisk()).toSorted();
    if (topics.length === 0) return;
    const some = topics.length > 3 ? `${topics.slice(0, 3).join(', ')}, …` : topics.join(', ');
    throw new StorageError(
      'data-directory',
      `meta/ in ${store.directory} was lost: it has no topics, and there are ${topics.length} topics on disk (${some}). ` +
        'Put back its copy, or let `polylog log rebuild-meta` make it anew from what the topics say',
    );
  }

  async #reportStrangers(known: ReadonlySet<string>): Promise<void> {
    const { store, log } = this.#options;
    for (const topic of await store.topicsOnDisk()) {
      if (!known.has(topic))
        log.error('topic-unknown', {
          topic,
          reason: 'its records are on disk, and the MetaStore has no such topic',
        });
    }
  }

  async #raiseEpochs(stored: readonly StoredTopic[]): Promise<readonly HubTopic[]> {
    const { metaStore, nodeId } = this.#options;
    if (stored.length === 0) return [];
    const storedLeaders = await this.#storedLeaders();
    const diskEpochs = await this.#diskEpochs(stored);
    const raised = stored.map(({ record }, index): readonly Leadership[] => {
      const before = storedLeaders.get(leadersKeyOf(record.topicId))?.leaders;
      const epochOfPartition = (partition: number) =>
        Math.max(before?.[partition]?.leaderEpoch ?? 0, diskEpochs[index]![partition]!) + 1;
      return record.logIds.map((_, partition) => ({ nodeId, leaderEpoch: epochOfPartition(partition) }));
    });
    const result = await metaStore.transact({
      if: stored.map(({ record }) => {
        const key = leadersKeyOf(record.topicId);
        const revision = storedLeaders.get(key)?.revision;
        return revision === undefined ? { key, absent: true } : { key, revision };
      }),
      put: stored.map(({ record }, index) => ({ key: leadersKeyOf(record.topicId), value: raised[index] })),
    });
    if (result.outcome === 'unknown') throw result.cause;
    if (result.outcome === 'refused')
      throw new Error(`leaders changed while they were raised: ${result.key}`);
    return stored.map(({ name, revision, record }, index) =>
      makeTopic(name, revision, record, raised[index]!.map(epochOf), this.#options),
    );
  }

  async #storedLeaders(): Promise<ReadonlyMap<string, StoredLeaders>> {
    const entries = await this.#options.metaStore.list(LEADERS_PREFIX);
    return new Map(
      entries.map((entry) => [entry.key, { revision: entry.revision, leaders: readLeadersEntry(entry) }]),
    );
  }

  /** Of each topic, of each partition, the highest epoch found on disk. */
  async #diskEpochs(stored: readonly StoredTopic[]): Promise<readonly (readonly number[])[]> {
    const { store, log } = this.#options;
    const epochs = stored.map(({ record }) => record.logIds.map(() => 0));
    const all = stored.flatMap((topic, index) =>
      topic.record.logIds.map((_, partition) => ({ topic, index, partition })),
    );
    await mapConcurrently(all, OPENING_MAX, async ({ topic, index, partition }) => {
      try {
        epochs[index]![partition] = await store.diskLeaderEpoch(topic.name, topic.record.topicId, partition);
      } catch (error) {
        // The log will not open with an epoch that is too low, and then says so itself.
        log.warn('disk-epoch-unknown', { partition: `${topic.name}-${partition}`, error });
      }
    });
    return epochs;
  }

  async #openAll(topics: readonly HubTopic[]): Promise<void> {
    const all = topics.flatMap((topic) => topic.partitions.map((partition) => ({ topic, partition })));
    await mapConcurrently(all, OPENING_MAX, ({ topic, partition }) =>
      this.#open(topic, partition, partition.leaderEpoch),
    );
  }

  async #open(topic: HubTopic, partition: HubPartition, leaderEpoch: number): Promise<void> {
    const { store, log, onLogFailed } = this.#options;
    try {
      const partitionLog = await store.openPartition({
        topic: topic.name,
        topicId: topic.topicId,
        partition: partition.partition,
        logId: topic.record.logIds[partition.partition]!,
        leaderEpoch,
        config: topic.logConfig,
        internal: topic.internal,
      });
      partition.open(partitionLog, () => onLogFailed(partition));
    } catch (error) {
      // One bad partition never stops the others: it answers with this error until it is repaired.
      log.error('partition-not-opened', { partition: partition.name, error });
      partition.failToOpen(asStorageError(error));
    }
  }
}

function epochOf(leadership: Leadership): number {
  return leadership.leaderEpoch;
}

function asStorageError(error: unknown): StorageError {
  return error instanceof StorageError ? error : new StorageError('io', 'unexpected error', error);
}

function topicErrorOf(result: Exclude<TransactResult, { outcome: 'applied' }>, doing: string): TopicError {
  if (result.outcome === 'refused') {
    return { error: 'conflict', message: `could not ${doing}: it was changed at the same time` };
  }
  return { error: 'unknown-outcome', message: `could not ${doing}: ${result.cause.message}` };
}
