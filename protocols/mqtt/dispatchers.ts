// The dispatchers of all partitions: there is one for each while anybody is subscribed to anything, and none otherwise.
import type { Partition, TopicView } from '../port.ts';
import type { DispatcherOptions } from './dispatcher.ts';
import { Dispatcher } from './dispatcher.ts';
import type { LogSource } from './log-source.ts';
import type { Session, SessionSubscription } from './session.ts';
import type { CursorSources } from './sessions/cursor-changes.ts';
import type { Place } from './sessions/places.ts';
import { keyOf } from './sessions/places.ts';
import { PositionSnapshots, placeOf } from './sessions/position-snapshot.ts';
import type { StoredSubscription } from './sessions/subscription-record.ts';

/** What a session asks for; see packets/subscribe.ts. */
export interface NewSubscription extends Omit<SessionSubscription, 'starts'> {
  /** Where it begins in each partition; undefined = now. See replay.ts. */
  readonly from?: ReadonlyMap<Partition, number> | undefined;
}

export class Dispatchers {
  readonly #options: DispatcherOptions;
  readonly #dispatchers = new Map<Partition, Dispatcher>();
  readonly #snapshots: PositionSnapshots;
  readonly #stopListening: () => void;
  #running = false;
  #rulesReplacedMs = Number.NEGATIVE_INFINITY;

  constructor(options: Omit<DispatcherOptions, 'onSettled'>) {
    this.#options = { ...options, onSettled: () => this.#stopIfIdle() };
    this.#snapshots = new PositionSnapshots(() => options.hub.random.uuid());
    options.mappings.onReplaced(() => {
      this.#rulesReplacedMs = options.hub.clock.monotonic();
      for (const dispatcher of this.#dispatchers.values()) dispatcher.rulesReplaced();
    });
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
    const replayed: [SessionSubscription, ReadonlyMap<Partition, number>][] = [];
    for (const { from, ...request } of requests) {
      const { subscriptions } = request.subscriber;
      const previous = from === undefined ? subscriptions.get(request.filter) : undefined;
      const added = { ...request, starts: previous?.starts ?? new Map() };
      if (from !== undefined) replayed.push([added, from]);
      else if (!previous) begun.push(added);
      subscriptions.set(added.filter, added);
      this.#options.tree.set(added);
    }
    for (const dispatcher of this.#dispatchers.values()) dispatcher.begin(begun);
    for (const [added, from] of replayed) this.#replay(added, from);
  }

  /** The session goes back for this subscription; its others begin where they are, and repeat nothing. */
  #replay(added: SessionSubscription, from: ReadonlyMap<Partition, number>): void {
    const { subscriber: session, starts } = added;
    for (const dispatcher of this.#dispatchers.values()) {
      const start = from.get(dispatcher.partition);
      if (start === undefined || start >= dispatcher.readableEnd) {
        dispatcher.begin([added]);
        continue;
      }
      const cursor = cursorOf(session, dispatcher);
      for (const other of session.subscriptions.values()) {
        const isEarlier = other !== added && (other.starts.get(dispatcher) ?? 0) < cursor;
        if (isEarlier) other.starts.set(dispatcher, cursor);
      }
      starts.set(dispatcher, start);
      session.lag?.rewind(dispatcher, Math.min(start, cursor));
    }
    session.lag?.resume();
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

  /** Next offset of each partition that goes to a session; one that is not named is still to come from its start. */
  cursorsOf(session: Session): Place[] {
    const places: Place[] = [];
    for (const dispatcher of this.#dispatchers.values()) {
      const offset = cursorOf(session, dispatcher);
      if (offset > 0) places.push(placeOf(dispatcher, offset));
    }
    return places;
  }

  /** The same for those who write down what has changed of it; see sessions/cursor-changes.ts. */
  cursorsFor(session: Session): CursorSources {
    const snapshots = this.#snapshots;
    const { clock } = this.#options.hub;
    const rulesReplacedMs = () => this.#rulesReplacedMs;
    return {
      all: this.#dispatchers,
      cursorOf: (source) => cursorOf(session, source),
      sourceOf: (place) => this.sourceOf(place),
      snapshot: () => snapshots.current(this.#dispatchers, clock.monotonic()),
      get latestSnapshot() {
        return snapshots.latest;
      },
      get rulesReplacedMs() {
        return rulesReplacedMs();
      },
    };
  }

  /** Subscriptions of a session, those that there are, and where they begin as far as that is ahead of its cursors. */
  storedSubscriptions(session: Session, filters: readonly string[]): StoredSubscription[] {
    const stored: StoredSubscription[] = [];
    for (const name of filters) {
      const subscription = session.subscriptions.get(name);
      if (subscription === undefined) continue;
      const { filter, qos, noLocal, retainAsPublished, identifier } = subscription;
      const starts: Place[] = [];
      for (const [source, offset] of subscription.starts) {
        if (offset > cursorOf(session, source)) starts.push(placeOf(source, offset));
      }
      const isPending = session.retained?.isPending(filter) === true;
      stored.push({
        ...{ filter, qos, noLocal, retainAsPublished, identifier, starts },
        ...(isPending ? { isRetainedPending: true } : {}),
      });
    }
    return stored;
  }

  /**
   * Subscriptions of an earlier connection go on where its cursors are, which the session's lag holds until it starts. A
   * partition without a cursor is younger than that connection: all of it is news.
   */
  restore(session: Session, subscriptions: readonly StoredSubscription[], cursors: readonly Place[]): void {
    if (subscriptions.length === 0) return;
    if (!this.#running) this.#start();
    const startsOf = new Map<string, Map<string, number>>();
    for (const { filter, starts } of subscriptions) startsOf.set(filter, offsetsByPartition(starts));
    for (const { starts: _starts, isRetainedPending: _isPending, ...subscription } of subscriptions) {
      const restored = { ...subscription, subscriber: session, starts: new Map<LogSource, number>() };
      session.subscriptions.set(restored.filter, restored);
      this.#options.tree.set(restored);
    }
    const offsets = offsetsByPartition(cursors);
    for (const dispatcher of this.#dispatchers.values()) {
      const key = keyOf(dispatcher.partition);
      // A log that is not flushed at each batch may have lost its end.
      const cursor = Math.min(offsets.get(key) ?? 0, dispatcher.partition.logEndOffset);
      session.lag?.beginMissed(dispatcher, cursor);
      for (const [filter, starts] of startsOf) {
        const start = starts.get(key);
        if (start !== undefined) session.subscriptions.get(filter)?.starts.set(dispatcher, start);
      }
    }
  }

  /** Where a place in the log is read for clients; undefined when its topic is gone. */
  sourceOf({ topicId, partition }: Pick<Place, 'topicId' | 'partition'>): LogSource | undefined {
    const handle = this.#options.hub.topics.getById(topicId)?.partitions[partition];
    if (handle === undefined) return undefined;
    const dispatcher = this.#dispatchers.get(handle);
    if (dispatcher !== undefined) return dispatcher;
    return {
      partition: handle,
      name: this.#options.mappings.nameOf(handle.topic),
      position: 0,
      closed: true,
    };
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
      for (const partition of topic.partitions) this.#add(partition, this.#endOf(partition));
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
    this.#snapshots.forget();
  }

  /** Of what is dispatched now: who catches up reads up to there, and further nothing may come for as long as a transaction lasts. */
  #endOf(partition: Partition): number {
    return this.#options.mappings.visibilityOf(partition.topic) === 'lastStable'
      ? partition.lastStableOffset
      : partition.highWatermark;
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

/** Whether live or behind. */
function cursorOf(session: Session, source: LogSource): number {
  return session.lag?.offsetOf(source) ?? source.position;
}

function offsetsByPartition(places: readonly Place[]): Map<string, number> {
  return new Map(places.map((place) => [keyOf(place), place.offset]));
}
