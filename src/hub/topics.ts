// The topics: finding, making and deleting them. Changes to names that could collide take their turns, so between
// checking that a name is free and taking it nothing else can take it; concurrent first uses share one creation.
import { isDeepStrictEqual } from 'node:util';
import type {
  CreateTopicRequest,
  Random,
  TopicConfigChange,
  TopicConfigEntry,
  TopicError,
  Topics,
  TopicView,
} from '../../protocols/port.ts';
import { StorageError } from '../../storage/index.ts';
import type { DeclaredTopic, TopicDefaults } from '../config/broker-config.ts';
import { type DeclaredTopics, missingConfig } from './declared-topics.ts';
import { PARTITIONS_MAX } from './limits.ts';
import type { HubPartition } from './partition.ts';
import {
  type HubTopic,
  INTERNAL_DEFAULTS,
  makeTopic,
  reconfiguredTopic,
  type TopicSurroundings,
} from './topic.ts';
import { changedConfig, checkTogether, checkTopicConfig, describeTopicConfig } from './topic-configs.ts';
import { type TopicChange, TopicDirectory } from './topic-directory.ts';
import { collisionKeyOf, illegalTopicName, isReservedTopicName } from './topic-names.ts';
import type { TopicRecord } from './topic-records.ts';
import type { TopicStore } from './topic-store.ts';
import { Turns } from './turns.ts';

/** What changes with the configuration is read at each use. */
export interface TopicsOptions extends TopicSurroundings {
  readonly topicStore: TopicStore;
  readonly defaults: TopicDefaults;
  readonly declared: DeclaredTopics;
  readonly random: Random;
  /** Appends are refused, for less is free on the disk than its reserve. */
  readonly isDiskShort: () => boolean;
}

type AlterOptions = NonNullable<Parameters<Topics['alterConfig']>[2]>;

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
  readonly #directory: TopicDirectory;
  /** Of topics that are being made or extended. */
  #plannedPartitions = 0;
  /** By collision key. */
  readonly #turns = new Turns();
  /** Name → the creation that its first users share. */
  readonly #ensuring = new Map<string, Promise<TopicView | TopicError>>();

  constructor(options: TopicsOptions, loaded: readonly HubTopic[]) {
    this.#options = options;
    this.#directory = new TopicDirectory(loaded, options.log);
  }

  get(name: string): HubTopic | undefined {
    return this.#directory.get(name);
  }

  getById(topicId: string): HubTopic | undefined {
    return this.#directory.getById(topicId);
  }

  list(): readonly HubTopic[] {
    return this.#directory.list();
  }

  partition(name: string, partition: number): HubPartition | undefined {
    return this.#directory.get(name)?.partitions[partition];
  }

  illegalName(name: string): string | undefined {
    return illegalTopicName(name);
  }

  declaredAt(name: string): string | undefined {
    return this.#options.declared.at(name);
  }

  async create(request: CreateTopicRequest): Promise<TopicView | TopicError> {
    if (isReservedTopicName(request.name) && this.#directory.get(request.name) === undefined) {
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
    const existing = this.#directory.get(name);
    if (existing !== undefined) return existing;
    const made = await this.#create({ name, partitions, replicationFactor: 1, config }, true);
    return 'error' in made && made.error === 'exists' ? (this.#directory.get(name) ?? made) : made;
  }

  async delete(name: string): Promise<undefined | TopicError> {
    return this.#turns.run(collisionKeyOf(name), async () => {
      const topic = this.#directory.get(name);
      if (topic === undefined) return { error: 'unknown-topic', message: `there is no topic ${name}` };
      if (topic.internal) return refuseInternal(name);
      const declared = this.#options.declared.refuseDeletion(name);
      if (declared !== undefined) return declared;
      const error = await this.#options.topicStore.markDeleting(topic);
      if (error !== undefined) return error;
      this.#directory.remove(topic);
      return this.#options.topicStore.finishDeletion(name, topic.record);
    });
  }

  ensure(name: string): Promise<TopicView | TopicError> {
    const existing = this.#directory.get(name);
    if (existing?.internal === false) return Promise.resolve(existing);
    const shared = this.#ensuring.get(name);
    if (shared !== undefined) return shared;
    const refusal = this.#refuseFirstUse(name);
    if (refusal !== undefined) return Promise.resolve(refusal);
    const creation = this.#createByFirstUse(name).finally(() => this.#ensuring.delete(name));
    this.#ensuring.set(name, creation);
    return creation;
  }

  alterConfig(
    name: string,
    changes: readonly TopicConfigChange[],
    options: AlterOptions = {},
  ): Promise<undefined | TopicError> {
    const { declared } = this.#options;
    return this.#alterConfig(name, changes, options, (config) => declared.refuseConfig(name, config));
  }

  addPartitions(
    name: string,
    total: number,
    options: Parameters<Topics['addPartitions']>[2] = {},
  ): Promise<undefined | TopicError> {
    return this.#addPartitions(name, total, options, () => this.#options.declared.refusePartitions(name));
  }

  /** Makes the topic, or gives it what the configuration says of it. Partitions never become fewer. */
  async declare(declared: DeclaredTopic, validateOnly: boolean): Promise<undefined | TopicError> {
    const { name, partitions, config } = declared;
    const topic = this.#directory.get(name);
    if (topic === undefined) {
      const made = await this.create({ name, partitions, replicationFactor: -1, config, validateOnly });
      return 'error' in made ? made : undefined;
    }
    const changes = missingConfig(declared, topic.record.config);
    const error = changes.length === 0 ? undefined : await this.#alterConfig(name, changes, { validateOnly });
    if (error !== undefined || partitions <= topic.partitions.length) return error;
    return this.#addPartitions(name, partitions, { validateOnly });
  }

  /** The defaults are others: topics that say nothing themselves follow them. The hub's own do not. */
  applyDefaults(): void {
    for (const topic of this.list()) if (!topic.internal) this.#refresh(topic);
  }

  // ------------------------------------------------------------------------------------------- changing

  async #alterConfig(
    name: string,
    changes: readonly TopicConfigChange[],
    { others = 'kept', validateOnly = false, expected }: AlterOptions,
    refusal: (config: TopicRecord['config']) => TopicError | undefined = () => undefined,
  ): Promise<undefined | TopicError> {
    return this.#turns.run(collisionKeyOf(name), async () => {
      const topic = this.#changeable(name);
      if ('error' in topic) return topic;
      if (expected !== undefined && expected !== topic)
        return { error: 'conflict', message: `topic ${name} was changed meanwhile` };
      const own = others === 'kept' ? topic.record.config : {};
      const changed = changedConfig(own, this.#options.defaultConfig, changes);
      if ('problem' in changed) return { error: 'invalid-config', message: changed.problem };
      const refused = refusal(changed.config);
      if (refused !== undefined || validateOnly) return refused;
      const configured = await this.#options.topicStore.setConfig(topic, changed.config);
      if ('error' in configured) return configured;
      this.#directory.replace(topic, configured, 'configured');
      return undefined;
    });
  }

  async #addPartitions(
    name: string,
    total: number,
    { validateOnly = false }: NonNullable<Parameters<Topics['addPartitions']>[2]> = {},
    declared: () => TopicError | undefined = () => undefined,
  ): Promise<undefined | TopicError> {
    return this.#turns.run(collisionKeyOf(name), async () => {
      const topic = this.#changeable(name);
      if ('error' in topic) return topic;
      const count = total - topic.partitions.length;
      const refusal = declared() ?? this.#refusePartitions(topic, total);
      if (refusal !== undefined || validateOnly) return refusal;
      this.#plannedPartitions += count;
      const extended = await this.#extend(topic, count);
      this.#plannedPartitions -= count;
      if ('error' in extended) return extended;
      this.#directory.replace(topic, extended, 'extended');
      return undefined;
    });
  }

  describeConfig(name: string): readonly TopicConfigEntry[] | undefined {
    const record = this.#directory.get(name)?.record;
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
    const name = this.#directory.getById(topicId)?.name;
    if (name === undefined) return;
    await this.#turns.run(collisionKeyOf(name), async () => {
      const topic = this.#directory.getById(topicId);
      if (topic !== undefined) await this.#options.topicStore.reopen(topic, partitions);
    });
  }

  onChange(listener: (change: TopicChange) => void): () => void {
    return this.#directory.onChange(listener);
  }

  // ------------------------------------------------------------------------------------------- creating

  async #create(request: CreateTopicRequest, internal: boolean): Promise<HubTopic | TopicError> {
    const plan = this.#planOf(request, internal);
    if ('error' in plan) return plan;
    return this.#turns.run(collisionKeyOf(plan.name), async () => {
      const refusal = this.#refusePlan(plan);
      if (refusal !== undefined) return refusal;
      if (plan.validateOnly) return this.#plannedTopic(plan);
      this.#plannedPartitions += plan.partitions;
      const made = await this.#carryOut(plan);
      this.#plannedPartitions -= plan.partitions;
      if ('error' in made) return made;
      this.#directory.add(made);
      // The defaults may be others than when its logs were opened.
      this.#refresh(made);
      return this.#directory.get(plan.name) ?? made;
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
    if (this.#directory.get(name) !== undefined)
      return { error: 'exists', message: `topic ${name} already exists` };
    const other = this.#directory.nameLike(name);
    if (other !== undefined) {
      return { error: 'invalid-name', message: `topic ${name} collides with the existing topic ${other}` };
    }
    if (this.#partitionCount() + partitions > PARTITIONS_MAX) {
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

  #changeable(name: string): HubTopic | TopicError {
    const topic = this.#directory.get(name);
    if (topic === undefined) return { error: 'unknown-topic', message: `there is no topic ${name}` };
    return topic.internal ? refuseInternal(name) : topic;
  }

  #partitionCount(): number {
    return this.#directory.partitionCount + this.#plannedPartitions;
  }

  #refusePartitions({ name, partitions }: HubTopic, total: number): TopicError | undefined {
    const { partitionsMax } = this.#options.defaults;
    if (!Number.isInteger(total) || total <= partitions.length) {
      const message = `topic ${name} has ${partitions.length} partitions already, and ${total} are not more`;
      return { error: 'invalid-partitions', message };
    }
    if (total > partitionsMax)
      return { error: 'limit', message: `a topic has at most ${partitionsMax} partitions, not ${total}` };
    if (this.#partitionCount() + total - partitions.length > PARTITIONS_MAX)
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
    if (this.#directory.get(name) !== undefined || isReservedTopicName(name)) return refuseInternal(name);
    if (!autoCreate) return { error: 'unknown-topic', message: `there is no topic ${name}` };
    if (this.#options.isDiskShort()) {
      // Nothing could be written to it.
      return {
        error: 'limit',
        message: 'no topic is made by first use: less is free on the disk than its reserve',
      };
    }
    // Those being made count, for they are decided.
    if (this.#directory.ordinaryCount + this.#ensuring.size < autoCreateLimit) return undefined;
    const message = `no topic is made by first use when there are ${autoCreateLimit} (topics.auto_create_limit)`;
    return { error: 'limit', message };
  }

  async #createByFirstUse(name: string): Promise<TopicView | TopicError> {
    const made = await this.create({ name, partitions: -1, replicationFactor: -1, config: {} });
    return 'error' in made && made.error === 'exists' ? (this.#directory.get(name) ?? made) : made;
  }

  /** Synchronous, so a change that is under way in the topic's turn replaces this by what it makes of the same defaults. */
  #refresh(topic: HubTopic): void {
    const refreshed = reconfiguredTopic(topic, topic.revision, topic.record, this.#options);
    const { config, logConfig } = refreshed;
    if (isDeepStrictEqual({ config, logConfig }, { config: topic.config, logConfig: topic.logConfig }))
      return;
    for (const { log } of refreshed.partitions) log?.setConfig(logConfig);
    this.#directory.replace(topic, refreshed, 'configured');
  }
}

function refuseInternal(name: string): TopicError {
  return { error: 'internal-topic', message: `topic ${name} is the hub's own` };
}

function recordOf({ internal, config }: Plan, topicId: string, logIds: readonly number[]): TopicRecord {
  return { topicId, state: 'live', internal, config: { ...config }, logIds };
}
