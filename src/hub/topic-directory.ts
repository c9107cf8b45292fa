// The topics that there are: by name and by id, how many, and who hears of a change. Changing them is topics.ts.
import type { Log, TopicChangeKind, TopicView } from '../../protocols/port.ts';
import type { HubTopic } from './topic.ts';
import { collisionKeyOf } from './topic-names.ts';

export type TopicChange = { readonly kind: TopicChangeKind; readonly topic: TopicView };

export class TopicDirectory {
  readonly #log: Log;
  readonly #byName = new Map<string, HubTopic>();
  readonly #byId = new Map<string, HubTopic>();
  /** Collision key → name. */
  readonly #taken = new Map<string, string>();
  readonly #listeners = new Set<(change: TopicChange) => void>();
  #sorted: readonly HubTopic[] | undefined;
  #partitionCount = 0;
  #ordinaryCount = 0;

  constructor(loaded: readonly HubTopic[], log: Log) {
    this.#log = log;
    for (const topic of loaded) this.#insert(topic);
  }

  get(name: string): HubTopic | undefined {
    return this.#byName.get(name);
  }

  getById(topicId: string): HubTopic | undefined {
    return this.#byId.get(topicId);
  }

  /** The topic that has this name, or one that collides with it. */
  nameLike(name: string): string | undefined {
    return this.#taken.get(collisionKeyOf(name));
  }

  list(): readonly HubTopic[] {
    this.#sorted ??= [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  get partitionCount(): number {
    return this.#partitionCount;
  }

  /** Topics that are not internal. */
  get ordinaryCount(): number {
    return this.#ordinaryCount;
  }

  add(topic: HubTopic): void {
    this.#insert(topic);
    this.#announce({ kind: 'created', topic });
  }

  remove(topic: HubTopic): void {
    this.#byName.delete(topic.name);
    this.#byId.delete(topic.topicId);
    this.#taken.delete(collisionKeyOf(topic.name));
    this.#sorted = undefined;
    this.#partitionCount -= topic.partitions.length;
    if (!topic.internal) this.#ordinaryCount--;
    this.#announce({ kind: 'deleted', topic });
  }

  /** Another view of the same topic. */
  replace(before: HubTopic, topic: HubTopic, kind: 'configured' | 'extended'): void {
    this.#byName.set(topic.name, topic);
    this.#byId.set(topic.topicId, topic);
    this.#sorted = undefined;
    this.#partitionCount += topic.partitions.length - before.partitions.length;
    this.#announce({ kind, topic });
  }

  onChange(listener: (change: TopicChange) => void): () => void {
    // Its own entry, so that one function given twice is called and removed twice.
    const entry = (change: TopicChange) => listener(change);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  #insert(topic: HubTopic): void {
    this.#byName.set(topic.name, topic);
    this.#byId.set(topic.topicId, topic);
    this.#taken.set(collisionKeyOf(topic.name), topic.name);
    this.#sorted = undefined;
    this.#partitionCount += topic.partitions.length;
    if (!topic.internal) this.#ordinaryCount++;
  }

  #announce(change: TopicChange): void {
    this.#log.info(EVENTS[change.kind], { topic: change.topic.name, topicId: change.topic.topicId });
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        // One front end's fault must not keep the others from hearing of it.
        this.#log.error('listener-failed', { topic: change.topic.name, error });
      }
    }
  }
}

const EVENTS = {
  created: 'topic-created',
  extended: 'topic-extended',
  configured: 'topic-configured',
  deleted: 'topic-deleted',
} as const satisfies Record<TopicChangeKind, string>;
