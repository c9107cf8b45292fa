// The hub: what front ends get, over the store. It puts the parts of this folder together and owns what has to be
// closed again: followers and state tables. The stores under it belong to the composition root.
import type {
  Access,
  Clock,
  DiskSpace,
  Endpoint,
  Followed,
  Hub,
  HubSettings,
  Log,
  Partition,
  Published,
  Random,
  RecordCursor,
  RecordWriter,
  Refused,
  StateTable,
  StateTableOptions,
} from '../../protocols/port.ts';
import { BatchCursor, Histogram, type LogStore, type MetaStore } from '../../storage/index.ts';
import type { DeclaredTopic, TopicDefaults } from '../config/broker-config.ts';
import { PartlyAppliedError } from '../config/partly-applied.ts';
import { ALLOW_ALL } from './access.ts';
import { OneNodeCluster } from './cluster.ts';
import { DeclaredTopics } from './declared-topics.ts';
import { Follower, type FollowOptions } from './follower.ts';
import { PRODUCER_ID_BLOCK } from './limits.ts';
import { partitionOfKey } from './murmur2.ts';
import { NumberBlocks } from './number-blocks.ts';
import { HubPartition } from './partition.ts';
import { Reopening } from './reopening.ts';
import { type HubStateTable, openStateTable, STATE_TOPIC_CONFIG } from './state-tables.ts';
import { checkTopicConfig } from './topic-configs.ts';
import { TopicStore } from './topic-store.ts';
import { HubTopics } from './topics.ts';

export interface HubOptions {
  readonly store: LogStore;
  readonly metaStore: MetaStore;
  readonly nodeId: number;
  readonly rack: string | undefined;
  readonly topics: TopicDefaults;
  readonly declaredTopics: readonly DeclaredTopic[];
  /** Listener name → the address that clients are told. */
  readonly advertised: ReadonlyMap<string, Endpoint>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Why a hub could not be opened, in a sentence for whoever configures it. */
export class HubError extends Error {
  readonly code: 'topic-config' | 'declared-topic';

  constructor(code: 'topic-config' | 'declared-topic', message: string) {
    super(message);
    this.name = 'HubError';
    this.code = code;
  }
}

/** What a running hub takes anew. */
export interface HubChanges {
  readonly topics: TopicDefaults;
  readonly declaredTopics: readonly DeclaredTopic[];
  readonly advertised: ReadonlyMap<string, Endpoint>;
}

/** Loads the topics, opens their logs, and gives the declared ones what is declared. Throws HubError, StorageError. */
export async function openHub(options: HubOptions): Promise<LocalHub> {
  const { clock, random, log, metaStore, store, nodeId } = options;
  const live: Live = { defaults: options.topics, advertised: options.advertised };
  const declared = new DeclaredTopics(options.declaredTopics);
  checkDefaults(live.defaults);
  const onLogFailed = (partition: HubPartition): void => reopening.failed(partition);
  const topicStore = new TopicStore({
    ...{ metaStore, store, nodeId, clock, log, onLogFailed },
    get defaultConfig() {
      return live.defaults.config;
    },
  });
  const loaded = await topicStore.load();
  const topics = new HubTopics(
    {
      ...{ topicStore, declared, random, clock, log },
      isDiskShort: () => store.isDiskShort,
      get defaults() {
        return live.defaults;
      },
      get defaultConfig() {
        return live.defaults.config;
      },
    },
    loaded,
  );
  const reopening = new Reopening({ topics, store, clock, log });
  for (const topic of options.declaredTopics) await declareTopic(topics, topic, log);
  const cluster = new OneNodeCluster({
    clusterId: store.identity.clusterId,
    nodeId,
    rack: options.rack,
    topics,
    producerIds: new NumberBlocks(metaStore, 'producer-id', PRODUCER_ID_BLOCK),
    advertised: (listener) => live.advertised.get(listener),
  });
  return new LocalHub({ topics, declared, cluster, live, store, reopening, clock, random, log });
}

/** What changes while the hub runs: everyone looks here, at each use. */
interface Live {
  defaults: TopicDefaults;
  advertised: ReadonlyMap<string, Endpoint>;
}

export class LocalHub implements Hub {
  readonly topics: HubTopics;
  readonly cluster: OneNodeCluster;
  readonly settings: HubSettings;
  readonly access: Access = ALLOW_ALL;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly #declared: DeclaredTopics;
  readonly #live: Live;
  readonly #store: LogStore;
  readonly #reopening: Reopening;
  readonly #followers = new Set<Follower>();
  readonly #tables: HubStateTable[] = [];

  constructor(options: {
    readonly topics: HubTopics;
    readonly declared: DeclaredTopics;
    readonly cluster: OneNodeCluster;
    readonly live: Live;
    readonly store: LogStore;
    readonly reopening: Reopening;
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
  }) {
    this.topics = options.topics;
    this.cluster = options.cluster;
    this.settings = settingsOf(options.live, options.store);
    this.#declared = options.declared;
    this.#live = options.live;
    this.#store = options.store;
    this.#reopening = options.reopening;
    this.clock = options.clock;
    this.random = options.random;
    this.log = options.log;
  }

  histogram(): Histogram {
    return new Histogram();
  }

  cursor(): RecordCursor {
    return new BatchCursor();
  }

  keepElsewhere(bytes: number): void {
    this.#store.keepElsewhere(bytes);
  }

  diskSpace(): Promise<DiskSpace | undefined> {
    return this.#store.diskSpace();
  }

  partitionFor(key: Uint8Array, partitions: number): number {
    return partitionOfKey(key, partitions);
  }

  publish(partition: Partition, fill: (writer: RecordWriter) => void): Promise<Published | Refused> {
    return ours(partition).publish(fill);
  }

  follow(partition: Partition, options: FollowOptions): Followed {
    const follower = new Follower(ours(partition), options, {
      clock: this.clock,
      log: this.log,
      onClosed: (closed) => this.#followers.delete(closed),
    });
    this.#followers.add(follower);
    return follower;
  }

  async stateTable(options: StateTableOptions): Promise<StateTable> {
    const { statePartitions } = this.settings;
    const topic = await this.topics.ensureInternal(options.topic, statePartitions, STATE_TOPIC_CONFIG);
    if ('error' in topic) throw new Error(`state topic ${options.topic}: ${topic.message}`);
    const table = await openStateTable(topic, options, this);
    this.#tables.push(table);
    return table;
  }

  /**
   * Opens a partition again whose log failed; after a full disk that happens by itself. Resolves with whether it takes
   * appends.
   */
  reopen(partition: Partition): Promise<boolean> {
    return this.#reopening.reopen(ours(partition));
  }

  /**
   * Takes other defaults, declared topics and addresses, in effect when it resolves. Throws HubError when a topic cannot
   * be what is declared; the defaults and declarations are then as before, and so are the topics, unless it is a
   * PartlyAppliedError: then the disk has failed on the way, and what was made of some topics is not taken back, for
   * there may be records in it.
   */
  async reconfigure({ topics, declaredTopics, advertised }: HubChanges): Promise<void> {
    checkDefaults(topics);
    const { defaults } = this.#live;
    this.#live.defaults = topics;
    const changed: string[] = [];
    try {
      for (const declared of declaredTopics) await declareTopic(this.topics, declared, this.log, true);
      for (const declared of declaredTopics) {
        const before = this.topics.get(declared.name);
        try {
          await declareTopic(this.topics, declared, this.log);
        } finally {
          if (this.topics.get(declared.name) !== before) changed.push(declared.name);
        }
      }
    } catch (error) {
      this.#live.defaults = defaults;
      throw changed.length === 0 ? error : partlyApplied(changed, error);
    }
    this.#declared.replace(declaredTopics);
    this.#live.advertised = advertised;
    this.topics.applyDefaults();
  }

  /** What keeps the hub from serving all that it holds, a phrase each; empty when nothing does. */
  faults(): readonly string[] {
    const faults: string[] = [];
    if (this.#store.isDiskShort)
      faults.push('appends are refused: less is free on the disk than its reserve');
    for (const { partitions } of this.topics.list()) {
      for (const { name, log } of partitions) {
        if (log === undefined) faults.push(`partition ${name} could not be opened`);
        else if (log.failed !== undefined) {
          faults.push(`partition ${name} takes no appends: ${log.failed.message}`);
        }
      }
    }
    const notServing = this.#tables.flatMap((table) => table.notServing());
    return [...faults, ...notServing.map((name) => `the state in ${name} is not served`)];
  }

  /** Followers hear nothing more, state tables refuse writes. The stores stay open. Idempotent. */
  close(): void {
    this.#reopening.close();
    for (const follower of this.#followers) follower.close();
    for (const table of this.#tables) table.close();
    this.#tables.length = 0;
  }
}

function settingsOf(live: Live, store: LogStore): HubSettings {
  const { statePartitions } = live.defaults;
  return {
    dataDirectory: store.directory,
    statePartitions,
    get defaultPartitions() {
      return live.defaults.partitions;
    },
    get autoCreate() {
      return live.defaults.autoCreate;
    },
  };
}

function checkDefaults({ config }: TopicDefaults): void {
  const problem = checkTopicConfig(config);
  if (problem !== undefined) throw new HubError('topic-config', `[topics] config: ${problem}`);
}

function partlyApplied(changed: readonly string[], cause: unknown): PartlyAppliedError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `${reason}; topics that were changed before that stay so: ${changed.join(', ')}`;
  return new PartlyAppliedError(
    message,
    changed.map((name) => `topic.${name}`),
    cause,
  );
}

async function declareTopic(
  topics: HubTopics,
  declared: DeclaredTopic,
  log: Log,
  validateOnly = false,
): Promise<void> {
  const { name, partitions } = declared;
  const error = await topics.declare(declared, validateOnly);
  if (error !== undefined) throw new HubError('declared-topic', `[[topic]] "${name}": ${error.message}`);
  const found = topics.get(name)?.partitions.length ?? 0;
  // Partitions do not become fewer: their records would be gone.
  if (partitions !== -1 && found > partitions && !validateOnly)
    log.warn('declared-topic-differs', { topic: name, declaredPartitions: partitions, partitions: found });
}

/** Every partition comes from this hub's `topics`; the port only hides what it is. */
function ours(partition: Partition): HubPartition {
  if (partition instanceof HubPartition) return partition;
  throw new Error(`${partition.topic}-${partition.partition} is not a partition of this hub`);
}
