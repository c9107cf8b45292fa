// The topics: finding, making and deleting them. Changes to names that could collide take their turns, so between
// checking that a name is free and taking it nothing else can take it; concurrent first uses share one creation.
import type {
  CreateTopicRequest,
  Random,
  TopicChangeKind,
  TopicConfigChange,
  TopicConfigEntry,
  TopicError,
  Topics,
  TopicView,
} from '../../protocols/port.ts';
import { StorageError } from '../../storage/index.ts';
import type { TopicDefaults } from '../config/broker-config.ts';
import { PARTITIONS_MAX } from './limits.ts';
import type { HubPartition } from './partition.ts';
import { type HubTopic, INTERNAL_DEFAULTS, makeTopic, type TopicSurroundings } from './topic.ts';
import { changedConfig, checkTogether, checkTopicConfig, describeTopicConfig } from './topic-configs.ts';
import { collisionKeyOf, illegalTopicName, isReservedTopicName } from './topic-names.ts';
import type { TopicRecord } from './topic-records.ts';
import type { TopicStore } from './topic-store.ts';

type Change = { readonly kind: TopicChangeKind; readonly topic: TopicView };

export interface TopicsOptions extends TopicSurroundings {
  readonly topicStore: TopicStore;
  readonly defaults: TopicDefaults;
  readonly random: Random;
  /** Appends are refused, for less is free on the disk than its reserve. */
  readonly isDiskShort: () => boolean;
}

/** A request that has passed the checks that need no turn. */
interface Plan {
  readonly name: string;
  readonly partitions: number;
  readonly config: Readonly<Record<string, string>>;
  readonly internal: boolean;
  readonly validateOnly: boolean;
}

export class HubTopics implements Topics {
  readonly #options: TopicsOptions;
  readonly #byName = new Map<string, HubTopic>();
  readonly #byId = new Map<string, HubTopic>();
  /** Collision key → name. */
  readonly #taken = new Map<string, string>();
  #sorted: readonly HubTopic[] | undefined;
  #partitionCount = 0;
  /** Topics that are not internal. */
  #ordinaryCount = 0;
  /** Collision key → the end of the last change that was given. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Name → the creation that its first users share. */
  readonly #ensuring = new Map<string, Promise<TopicView | TopicError>>();
  readonly #listeners = new Set<(change: Change) => void>();

  constructor(options: TopicsOptions, loaded: readonly HubTopic[]) {
    this.#options = options;
    for (const topic of loaded) this.#add(topic);
  }

  get(name: string): HubTopic | undefined {
    return this.#byName.get(name);
  }

  getById(topicId: string): HubTopic | undefined {
    return this.#byId.get(topicId);
  }

  list(): readonly HubTopic[] {
    this.#sorted ??= [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  partition(name: string, partition: number): HubPartition | undefined {
    return this.#byName.get(name)?.partitions[partition];
  }

  illegalName(name: string): string | undefined {
    return illegalTopicName(name);
  }

  async create(request: CreateTopicRequest): Promise<TopicView | TopicError> {
    if (isReservedTopicName(request.name) && !this.#byName.has(request.name)) {
      return refuseInternal(request.name);
    }
    return this.#create(request, false);
  }

  /** The hub's own topic of that name, made when it is missing. */
  async ensureInternal(
    name: string,
    partitions: number,
    config: Readonly<Record<string, string>>,
  ): Promise<HubTopic | TopicError> {
    const existing = this.#byName.get(name);
    if (existing !== undefined) return existing;
    const made = await this.#create({ name, partitions, replicationFactor: 1, config }, true);
    return 'error' in made && made.error === 'exists' ? (this.#byName.get(name) ?? made) : made;
  }

  async delete(name: string): Promise<undefined | TopicError> {
    return this.#inTurn(collisionKeyOf(name), async () => {
      const topic = this.#byName.get(name);
      if (topic === undefined) return { error: 'unknown-topic', message: `there is no topic ${name}` };
      if (topic.internal) return refuseInternal(name);
      const error = await this.#options.topicStore.markDeleting(topic);
      if (error !== undefined) return error;
      this.#remove(topic);
      return this.#options.topicStore.finishDeletion(name, topic.record);
    });
  }

  ensure(name: string): Promise<TopicView | TopicError> {
    const existing = this.#byName.get(name);
    if (existing?.internal === false) return Promise.resolve(existing);
    const shared = this.#ensuring.get(name);
    if (shared !== undefined) return shared;
    const refusal = this.#refuseFirstUse(name);
    if (refusal !== undefined) return Promise.resolve(refusal);
    const creation = this.#createByFirstUse(name).finally(() => this.#ensuring.delete(name));
    this.#ensuring.set(name, creation);
    return creation;
  }

  async alterConfig(
    name: string,
    changes: readonly TopicConfigChange[],
    { others = 'kept', validateOnly = false }: Parameters<Topics['alterConfig']>[2] = {},
  ): Promise<undefined | TopicError> {
    return this.#inTurn(collisionKeyOf(name), async () => {
      const topic = this.#changeable(name);
      if ('error' in topic) return topic;
      const own = others === 'kept' ? topic.record.config : {};
      const changed = changedConfig(own, this.#options.defaultConfig, changes);
      if ('problem' in changed) return { error: 'invalid-config', message: changed.problem };
      if (validateOnly) return undefined;
      const configured = await this.#options.topicStore.setConfig(topic, changed.config);
      if ('error' in configured) return configured;
      this.#replace(topic, configured);
      this.#announce({ kind: 'configured', topic: configured });
      return undefined;
    });
  }

  async addPartitions(
    name: string,
    total: number,
    { validateOnly = false }: Parameters<Topics['addPartitions']>[2] = {},
  ): Promise<undefined | TopicError> {
    return this.#inTurn(collisionKeyOf(name), async () => {
      const topic = this.#changeable(name);
      if ('error' in topic) return topic;
      const count = total - topic.partitions.length;
      const refusal = this.#refusePartitions(topic, total);
      if (refusal !== undefined || validateOnly) return refusal;
      this.#partitionCount += count;
      const extended = await this.#extend(topic, count);
      this.#partitionCount -= count;
      if ('error' in extended) return extended;
      this.#replace(topic, extended);
      this.#announce({ kind: 'extended', topic: extended });
      return undefined;
    });
  }

  describeConfig(name: string): readonly TopicConfigEntry[] | undefined {
    const record = this.#byName.get(name)?.record;
    if (record === undefined) return undefined;
    return describeTopicConfig(
      record.config,
      record.internal ? INTERNAL_DEFAULTS : this.#options.defaultConfig,
    );
  }

  describeNewConfig(own: Readonly<Record<string, string>>): readonly TopicConfigEntry[] {
    return describeTopicConfig(own, this.#options.defaultConfig);
  }

  /** Opens the logs of partitions that failed again. In the topic's turn: it must not be deleted meanwhile. */
  async reopen(topicId: string, partitions: readonly HubPartition[]): Promise<void> {
    const name = this.#byId.get(topicId)?.name;
    if (name === undefined) return;
    await this.#inTurn(collisionKeyOf(name), async () => {
      const topic = this.#byId.get(topicId);
      if (topic !== undefined) await this.#options.topicStore.reopen(topic, partitions);
    });
  }

  onChange(listener: (change: Change) => void): () => void {
    // Its own entry, so that one function given twice is called and removed twice.
    const entry = (change: Change) => listener(change);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  // ------------------------------------------------------------------------------------------- creating

  async #create(request: CreateTopicRequest, internal: boolean): Promise<HubTopic | TopicError> {
    const plan = this.#planOf(request, internal);
    if ('error' in plan) return plan;
    return this.#inTurn(collisionKeyOf(plan.name), async () => {
      const refusal = this.#refusePlan(plan);
      if (refusal !== undefined) return refusal;
      if (plan.validateOnly) return this.#plannedTopic(plan);
      this.#partitionCount += plan.partitions;
      const made = await this.#carryOut(plan);
      this.#partitionCount -= plan.partitions;
      if (!('error' in made)) this.#add(made, 'created');
      return made;
    });
  }

  #planOf(request: CreateTopicRequest, internal: boolean): Plan | TopicError {
    const { name, config, validateOnly = false } = request;
    const { defaults } = this.#options;
    const illegal = illegalTopicName(name);
    if (illegal !== undefined) return { error: 'invalid-name', message: illegal };
    const partitions = request.partitions === -1 ? defaults.partitions : request.partitions;
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > defaults.partitionsMax) {
      const message = `a topic has from 1 to ${defaults.partitionsMax} partitions, not ${partitions}`;
      return { error: partitions > defaults.partitionsMax ? 'limit' : 'invalid-partitions', message };
    }
    if (request.replicationFactor !== -1 && request.replicationFactor !== 1) {
      const message = `the replication factor can only be 1, not ${request.replicationFactor}: there is one node`;
      return { error: 'invalid-replication-factor', message };
    }
    const problem =
      checkTopicConfig(config) ??
      checkTogether(config, internal ? INTERNAL_DEFAULTS : this.#options.defaultConfig);
    if (problem !== undefined) return { error: 'invalid-config', message: problem };
    return { name, partitions, config, internal, validateOnly };
  }

  /** What only holds in the turn of the name. */
  #refusePlan({ name, partitions }: Plan): TopicError | undefined {
    if (this.#byName.has(name)) return { error: 'exists', message: `topic ${name} already exists` };
    const other = this.#taken.get(collisionKeyOf(name));
    if (other !== undefined) {
      return { error: 'invalid-name', message: `topic ${name} collides with the existing topic ${other}` };
    }
    if (this.#partitionCount + partitions > PARTITIONS_MAX) {
      return { error: 'limit', message: `there are at most ${PARTITIONS_MAX} partitions` };
    }
    return undefined;
  }

  async #carryOut(plan: Plan): Promise<HubTopic | TopicError> {
    const { topicStore, random } = this.#options;
    try {
      const interrupted = await topicStore.interruptedDeletion(plan.name);
      const error = interrupted && (await topicStore.finishDeletion(plan.name, interrupted));
      if (error !== undefined) return error;
      const logIds = await topicStore.allocateLogIds(plan.partitions);
      return await topicStore.create(plan.name, recordOf(plan, random.uuid(), logIds));
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      return { error: 'storage', message: error.message };
    }
  }

  /** What `validateOnly` answers: a topic that is not there, whose partitions refuse everything. */
  #plannedTopic(plan: Plan): HubTopic {
    const epochs = Array.from({ length: plan.partitions }, () => 0);
    return makeTopic(
      plan.name,
      0,
      recordOf(plan, this.#options.random.uuid(), epochs),
      epochs,
      this.#options,
    );
  }

  // ------------------------------------------------------------------------------------------- changing

  #changeable(name: string): HubTopic | TopicError {
    const topic = this.#byName.get(name);
    if (topic === undefined) return { error: 'unknown-topic', message: `there is no topic ${name}` };
    return topic.internal ? refuseInternal(name) : topic;
  }

  #refusePartitions({ name, partitions }: HubTopic, total: number): TopicError | undefined {
    const { partitionsMax } = this.#options.defaults;
    if (!Number.isInteger(total) || total <= partitions.length) {
      const message = `topic ${name} has ${partitions.length} partitions already, and ${total} are not more`;
      return { error: 'invalid-partitions', message };
    }
    if (total > partitionsMax)
      return { error: 'limit', message: `a topic has at most ${partitionsMax} partitions, not ${total}` };
    if (this.#partitionCount + total - partitions.length > PARTITIONS_MAX)
      return { error: 'limit', message: `there are at most ${PARTITIONS_MAX} partitions` };
    return undefined;
  }

  async #extend(topic: HubTopic, count: number): Promise<HubTopic | TopicError> {
    try {
      return await this.#options.topicStore.addPartitions(topic, count);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      return { error: 'storage', message: error.message };
    }
  }

  #refuseFirstUse(name: string): TopicError | undefined {
    const { autoCreate, autoCreateLimit } = this.#options.defaults;
    const illegal = illegalTopicName(name);
    if (illegal !== undefined) return { error: 'invalid-name', message: illegal };
    if (this.#byName.has(name) || isReservedTopicName(name)) return refuseInternal(name);
    if (!autoCreate) return { error: 'unknown-topic', message: `there is no topic ${name}` };
    if (this.#options.isDiskShort()) {
      // Nothing could be written to it.
      return {
        error: 'limit',
        message: 'no topic is made by first use: less is free on the disk than its reserve',
      };
    }
    // Those being made count, for they are decided.
    if (this.#ordinaryCount + this.#ensuring.size < autoCreateLimit) return undefined;
    const message = `no topic is made by first use when there are ${autoCreateLimit} (topics.auto_create_limit)`;
    return { error: 'limit', message };
  }

  async #createByFirstUse(name: string): Promise<TopicView | TopicError> {
    const made = await this.create({ name, partitions: -1, replicationFactor: -1, config: {} });
    return 'error' in made && made.error === 'exists' ? (this.#byName.get(name) ?? made) : made;
  }

  // ------------------------------------------------------------------------------------------- the maps

  #add(topic: HubTopic, announce?: 'created'): void {
    this.#byName.set(topic.name, topic);
    this.#byId.set(topic.topicId, topic);
    this.#taken.set(collisionKeyOf(topic.name), topic.name);
    this.#sorted = undefined;
    this.#partitionCount += topic.partitions.length;
    if (!topic.internal) this.#ordinaryCount++;
    if (announce !== undefined) this.#announce({ kind: announce, topic });
  }

  #remove(topic: HubTopic): void {
    this.#byName.delete(topic.name);
    this.#byId.delete(topic.topicId);
    this.#taken.delete(collisionKeyOf(topic.name));
    this.#sorted = undefined;
    this.#partitionCount -= topic.partitions.length;
    if (!topic.internal) this.#ordinaryCount--;
    this.#announce({ kind: 'deleted', topic });
  }

  /** Another view of the same topic. */
  #replace(before: HubTopic, topic: HubTopic): void {
    this.#byName.set(topic.name, topic);
    this.#byId.set(topic.topicId, topic);
    this.#sorted = undefined;
    this.#partitionCount += topic.partitions.length - before.partitions.length;
  }

  #announce(change: Change): void {
    const { log } = this.#options;
    log.info(`topic-${change.kind}`, { topic: change.topic.name, topicId: change.topic.topicId });
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // One front end's fault must not keep the others from hearing of it.
        log.error('listener-failed', { topic: change.topic.name, error });
      }
    }
  }

  /** Runs `step` after the steps given before it under the same key. */
  #inTurn<T>(key: string, step: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key);
    const done = before === undefined ? step() : before.then(step);
    const settled = done.catch(() => undefined); // the failure is the caller's; the next step goes on
    this.#turns.set(key, settled);
    settled.then(() => {
      if (this.#turns.get(key) === settled) this.#turns.delete(key);
    });
    return done;
  }
}

function refuseInternal(name: string): TopicError {
  return { error: 'internal-topic', message: `topic ${name} is the hub's own` };
}

function recordOf({ internal, config }: Plan, topicId: string, logIds: readonly number[]): TopicRecord {
  return { topicId, state: 'live', internal, config: { ...config }, logIds };
}
