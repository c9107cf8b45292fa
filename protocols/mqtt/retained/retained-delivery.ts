// Sends one client the retained messages of the filters that it subscribes to, at its own pace: a few are read from the
// table, sent as far as the client has room, and everybody else has a turn before the next few. It holds a place in the
// index and a handful of messages, however many match.
import type { Clock, Log, Topics } from '../../port.ts';
import type { MqttCounters } from '../counters.ts';
import type { Delivery } from '../deliveries.ts';
import { MessageView } from '../message-view.ts';
import type { Routes } from '../routes.ts';
import type { Session } from '../session.ts';
import type { RetainedPart } from '../session-options.ts';
import { matchesFilter } from '../session-subscription.ts';
import type { StoredSubscription } from '../sessions/subscription-record.ts';
import type { RetainedWork, UnsentTopic } from './retained-left.ts';
import type { RetainedMessages } from './retained-messages.ts';
import type { RetainedRequest } from './retained-request.ts';
import type { FoundMessage } from './retained-table.ts';
import { hasWildcard, isScanCheaper } from './scan-choice.ts';
import { TableScan } from './table-scan.ts';
import type { TopicWalk } from './topic-index.ts';

/** Messages that are read at once … */
const READS = 16;
/** … and sent before others have a turn, where that has not come before by the time. */
const SENDS_PER_LOOK = 8;
/** Nodes of the index that are looked at before the time is … */
const STEPS_PER_LOOK = 64;
/** … and in one slice. */
const STEPS_PER_SLICE = 2000;

export interface RetainedDeliveryOptions {
  readonly session: Session;
  readonly retained: RetainedMessages;
  readonly routes: Routes;
  readonly topics: Topics;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: MqttCounters;
}

export class RetainedDelivery {
  readonly #options: RetainedDeliveryOptions;
  /** The first is under way. */
  readonly #work: RetainedWork[] = [];
  readonly #message = new MessageView();
  #running: Promise<void> | undefined;

  constructor(options: RetainedDeliveryOptions) {
    this.#options = options;
  }

  /** Filters of one packet, after those of earlier ones. */
  add(requests: readonly RetainedRequest[]): void {
    for (const request of requests) {
      if (this.#mayHave(request)) this.#work.push({ request, place: undefined, version: 0, unsent: [] });
    }
    this.#start();
  }

  /** Goes on with what an earlier connection has left, before anything else. */
  resume(left: Promise<readonly RetainedWork[]>): void {
    this.#running = left.then((work) => {
      this.#work.unshift(...work);
      this.#running = undefined;
      this.#start();
    });
  }

  /** Whether something of the filter has not been sent that the client must not miss. */
  isPending(filter: string): boolean {
    return this.#work.some(({ request }) => request.filter === filter && request.qos > 0);
  }

  /** The session is closed: resolves with what it still is to be sent. */
  async leave(): Promise<readonly RetainedWork[]> {
    await this.#running;
    return this.#work.filter(({ request }) => request.qos > 0);
  }

  /** False when it is clear that nothing is to be sent. */
  #mayHave({ filter }: RetainedRequest): boolean {
    const { retained } = this.#options;
    if (retained.settled() !== undefined) return true;
    return hasWildcard(filter) ? retained.count > 0 : retained.find(filter) !== undefined;
  }

  #start(): void {
    if (this.#running !== undefined || this.#work.length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { session, log } = this.#options;
    for (let work = this.#work[0]; work !== undefined && !session.closed; work = this.#work[0]) {
      try {
        await this.#sendMatches(work);
      } catch (error) {
        // The table cannot be read: its client hears no more of this filter's, and of all others.
        log.error('mqtt-retained-not-sent', { clientId: session.clientId, error });
      }
      if (session.closed) return;
      this.#work.shift();
      const { filter, qos } = work.request;
      if (qos > 0 && session.subscriptions.has(filter)) session.durable?.retainedSent(filter);
    }
  }

  async #sendMatches(work: RetainedWork): Promise<void> {
    const { retained } = this.#options;
    const { slices } = retained;
    work.unsent = work.unsent.filter(({ topic, version }) => topic.version === version);
    const place = work.place ?? (await this.#begin(work));
    while ((work.unsent.length > 0 || !place.ended) && this.#isWanted(work)) {
      await slices.begin();
      let found: readonly FoundMessage[] = [];
      try {
        found = await this.#readNext(place, work);
      } finally {
        slices.end();
      }
      if (found.length > 0) await this.#send(work, found);
    }
  }

  async #begin(work: RetainedWork): Promise<TopicWalk | TableScan> {
    const { retained } = this.#options;
    const { filter } = work.request;
    // What is committed and not in the index yet is older than the subscription: nobody else sends it.
    await retained.settled();
    work.version = retained.version;
    const scans = await isScanCheaper(filter, retained, () => this.#isWanted(work));
    work.place = scans ? retained.scan() : retained.walk(filter);
    return work.place;
  }

  /** Reads some of what is to be sent next; it stays among what is unsent until it is: the connection may end in between. */
  async #readNext(place: TopicWalk | TableScan, work: RetainedWork): Promise<readonly FoundMessage[]> {
    if (work.unsent.length === 0) {
      if (place instanceof TableScan) {
        const found = await this.#readOn(place, work);
        work.unsent = found.map(({ topic, version }) => ({ topic, version }));
        return found;
      }
      work.unsent = this.#nextOf(place, work.version);
    }
    return this.#read(work.unsent.slice(0, READS));
  }

  #readOn(scan: TableScan, { request: { filter }, version }: RetainedWork): Promise<FoundMessage[]> {
    const nowMs = this.#options.clock.now();
    return this.#options.retained.readOn(
      scan,
      (topic, name) =>
        topic.version <= version && topic.entry!.expiresAtMs > nowMs && matchesFilter(filter, name),
    );
  }

  /** The next topics whose message the subscription has not seen come. */
  #nextOf(walk: TopicWalk, version: number): UnsentTopic[] {
    const { clock, retained } = this.#options;
    const { slices } = retained;
    const nowMs = clock.now();
    const topics: UnsentTopic[] = [];
    const stepsEnd = walk.steps + STEPS_PER_SLICE;
    for (let lookAt = walk.steps + STEPS_PER_LOOK; topics.length < READS && walk.steps < stepsEnd; ) {
      const topic = walk.next(lookAt - walk.steps);
      if (topic !== undefined && topic.version <= version && topic.entry!.expiresAtMs > nowMs)
        topics.push({ topic, version: topic.version });
      if (walk.ended) break;
      if (walk.steps < lookAt) continue;
      if (slices.isOver) break;
      lookAt = walk.steps + STEPS_PER_LOOK;
    }
    return topics;
  }

  #read(topics: readonly UnsentTopic[]): Promise<FoundMessage[]> {
    const { retained } = this.#options;
    return Promise.all(
      topics.map(async ({ topic, version }) => ({ topic, version, stored: await retained.read(topic) })),
    );
  }

  /** @param found the first of what is unsent */
  async #send(work: RetainedWork, found: readonly FoundMessage[]): Promise<void> {
    const { session } = this.#options;
    const { slices } = this.#options.retained;
    let sent = 0;
    try {
      while (sent < found.length && this.#isWanted(work)) {
        const message = found[sent]!; // below the length
        const isCurrent = this.#isCurrent(message);
        if (typeof isCurrent !== 'boolean') {
          await isCurrent;
          continue;
        }
        // Else another has taken its place, and comes, or has come, as a message like others.
        if (!isCurrent || (session.hasRoom && this.#deliver(message, work.request))) sent++;
        else await session.whenRoom();
        if (sent % SENDS_PER_LOOK !== 0 || !slices.isOver) continue;
        await slices.begin();
        slices.end();
      }
    } finally {
      work.unsent = work.unsent.slice(sent);
    }
  }

  #isWanted({ request }: RetainedWork): boolean {
    const { session } = this.#options;
    return !session.closed && session.subscriptions.has(request.filter);
  }

  /**
   * Whether subscribers have seen nothing newer of its topic; a promise: to be asked again when it resolves. To be asked in
   * the turn in which it is sent: the index learns of a message when subscribers may have it already.
   */
  #isCurrent({ topic, version, stored }: FoundMessage): boolean | Promise<void> {
    if (stored === undefined || topic.entry === undefined || topic.version !== version) return false;
    const follower = this.#options.retained.behind(topic.entry.source);
    const isNewer = follower === undefined ? false : follower.isNewer(stored.topic.toString());
    return isNewer === undefined ? follower!.looked() : !isNewer; // undefined comes of a follower
  }

  /** @param found it is current, so it is there. @returns false when the client has no room for it. */
  #deliver(found: FoundMessage, request: RetainedRequest): boolean {
    const { session, clock, topics, routes, counters } = this.#options;
    const stored = found.stored!;
    const entry = found.topic.entry!;
    // The topic that it came by may be gone: then by where it would be published today.
    const { topic } = stored;
    const kafkaTopic =
      topics.getById(entry.source.topicId)?.name ?? routes.find(topic, 0, topic.length).kafkaTopic;
    if (!session.mayRead(kafkaTopic)) return true;
    const message = this.#message;
    message.readStored(encodedTopicOf(topic), stored.message, clock.now());
    if (message.remainingMs <= 0) {
      counters.droppedExpired++;
      return true;
    }
    // [MQTT-3.8.3-3]
    if (request.noLocal && message.isFrom(session.clientIdBytes)) return true;
    return session.deliver(message, deliveryOf(session, request), entry);
  }
}

/** The session's; made when it is first asked for. */
export function retainedDeliveryOf(
  session: Session,
  shared: Omit<RetainedDeliveryOptions, 'session'>,
): RetainedPart {
  session.retained ??= new RetainedDelivery({ ...shared, session });
  return session.retained;
}

/** A session goes on: what its last connection has not been sent comes behind what was on its way. */
export function resumeRetained(
  session: Session,
  subscriptions: readonly StoredSubscription[],
  shared: Omit<RetainedDeliveryOptions, 'session'>,
): void {
  const left = shared.retained.left.take(session.clientId);
  const pending = subscriptions.filter(({ isRetainedPending }) => isRetainedPending === true);
  if (left === undefined && pending.length === 0) return;
  const delivery = new RetainedDelivery({ ...shared, session });
  session.retained = delivery;
  if (left !== undefined) delivery.resume(left);
  else delivery.add(pending);
}

/** RETAIN is set on what is sent because of a subscription, whatever its options say [MQTT-3.3.1-8]. */
function deliveryOf(session: Session, { qos, identifier }: RetainedRequest): Delivery<Session> {
  return {
    subscriber: session,
    qos,
    retainAsPublished: true,
    identifiers: identifier > 0 ? [identifier] : [],
    own: undefined,
  };
}

function encodedTopicOf(topic: Buffer): Buffer {
  const encoded = Buffer.allocUnsafe(2 + topic.length);
  encoded.writeUInt16BE(topic.length, 0);
  encoded.set(topic, 2);
  return encoded;
}
