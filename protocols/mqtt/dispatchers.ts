// The dispatchers of all partitions: there is one for each while anybody is subscribed to anything, and none otherwise.
import type { Partition, TopicView } from '../port.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Session, SessionSubscription } from './session.ts';

/** What a session asks for; see packets/subscribe.ts. */
export type NewSubscription = Omit<SessionSubscription, 'starts'>;

export class Dispatchers {
  readonly #options: DispatcherOptions;
  readonly #dispatchers = new Map<Partition, Dispatcher>();
  readonly #stopListening: () => void;
  #running = false;

  constructor(options: Omit<DispatcherOptions, 'onSettled'>) {
    this.#options = { ...options, onSettled: () => this.#stopIfIdle() };
    this.#stopListening = options.hub.topics.onChange(({ kind, topic }) => {
      if (kind === 'deleted') this.#stopTopic(topic);
      else if (this.#running) this.#startNewPartitions(topic);
    });
  }

  /** Memory that the subscriptions of all clients take, about. */
  get heldBytes(): number {
    return this.#options.tree.heldBytes;
  }

  /** All of one packet. One that a client has is replaced; a new one gets what is committed from now on. */
  subscribe(requests: readonly NewSubscription[]): void {
    if (requests.length === 0) return;
    if (!this.#running) this.#start();
    const begun: SessionSubscription[] = [];
    for (const request of requests) {
      const { subscriptions } = request.subscriber;
      const previous = subscriptions.get(request.filter);
      const added = { ...request, starts: previous?.starts ?? new Map() };
      if (!previous) begun.push(added);
      subscriptions.set(added.filter, added);
      this.#options.tree.set(added);
    }
    for (const dispatcher of this.#dispatchers.values()) dispatcher.begin(begun);
  }

  /** All of one packet. @returns for each filter whether there was such a subscription. */
  unsubscribe(session: Session, filters: readonly string[]): readonly boolean[] {
    const ended: SessionSubscription[] = [];
    const existed = filters.map((filter) => {
      const subscription = session.subscriptions.get(filter);
      if (subscription === undefined) return false;
      session.subscriptions.delete(filter);
      this.#options.tree.delete(filter, session);
      ended.push(subscription);
      return true;
    });
    if (ended.length > 0) for (const dispatcher of this.#dispatchers.values()) dispatcher.end(ended);
    this.#stopIfIdle();
    return existed;
  }

  /** The session is gone: nothing is for it any more. */
  forget(session: Session): void {
    for (const filter of session.subscriptions.keys()) this.#options.tree.delete(filter, session);
    session.subscriptions.clear();
    for (const dispatcher of this.#dispatchers.values()) dispatcher.forget(session);
    this.#stopIfIdle();
  }

  close(): void {
    this.#stopListening();
    this.#stop();
  }

  #start(): void {
    this.#running = true;
    for (const topic of this.#options.hub.topics.list()) {
      if (topic.internal) continue;
      for (const partition of topic.partitions) this.#add(partition, partition.highWatermark);
    }
  }

  #stopIfIdle(): void {
    if (!this.#running || this.#options.tree.size > 0) return;
    for (const dispatcher of this.#dispatchers.values()) if (dispatcher.hasEnding) return;
    this.#stop();
  }

  #stop(): void {
    this.#running = false;
    for (const dispatcher of this.#dispatchers.values()) dispatcher.close();
    this.#dispatchers.clear();
  }

  /** All of it is news to everybody who is subscribed. */
  #startNewPartitions(topic: TopicView): void {
    if (topic.internal) return;
    for (const partition of topic.partitions) {
      if (!this.#dispatchers.has(partition)) this.#add(partition, partition.logStartOffset);
    }
  }

  #stopTopic(topic: TopicView): void {
    for (const partition of topic.partitions) {
      this.#dispatchers.get(partition)?.close();
      this.#dispatchers.delete(partition);
    }
  }

  #add(partition: Partition, fromOffset: number): void {
    this.#dispatchers.set(partition, new Dispatcher(partition, fromOffset, this.#options));
  }
}
