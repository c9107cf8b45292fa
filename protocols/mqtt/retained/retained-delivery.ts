// Sends one client the retained messages of the filters that it subscribes to, at its own pace: a few are read from the
// table, sent as far as the client has room, and everybody else has a turn before the next few. It holds a place in the
// index and a handful of messages, however many match.
import type { Clock, Log, Topics } from '../../port.ts';
import type { MqttCounters } from '../counters.ts';
import type { Delivery } from '../deliveries.ts';
import { MessageView } from '../message-view.ts';
import type { Routes } from '../routes.ts';
import type { Session } from '../session.ts';
import type { RetainedMessages } from './retained-messages.ts';
import type { RetainedRequest } from './retained-request.ts';
import type { StoredMessage } from './retained-table.ts';
import type { RetainedTopic, TopicWalk } from './topic-index.ts';

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

interface Found {
  readonly topic: RetainedTopic;
  readonly version: number;
  readonly stored: StoredMessage | undefined;
}

export class RetainedDelivery {
  readonly #options: RetainedDeliveryOptions;
  readonly #requests: RetainedRequest[] = [];
  readonly #message = new MessageView();
  #running = false;

  constructor(options: RetainedDeliveryOptions) {
    this.#options = options;
  }

  /** Filters of one packet, after those of earlier ones. */
  add(requests: readonly RetainedRequest[]): void {
    this.#requests.push(...requests);
    if (this.#running || requests.length === 0) return;
    this.#running = true;
    void this.#run(); // never rejects
  }

  async #run(): Promise<void> {
    const { session, log } = this.#options;
    try {
      for (let request = this.#requests.shift(); request !== undefined; request = this.#requests.shift()) {
        if (session.closed) break;
        await this.#sendMatches(request);
      }
    } catch (error) {
      // The table cannot be read: its client hears of no more retained messages, and of all others.
      log.error('mqtt-retained-not-sent', { clientId: session.clientId, error });
    }
    this.#requests.length = 0;
    this.#running = false;
  }

  async #sendMatches(request: RetainedRequest): Promise<void> {
    const { retained, session } = this.#options;
    const { slices } = retained;
    // What is committed and not in the index yet is older than the subscription: nobody else sends it.
    await retained.settled();
    const version = retained.version;
    const walk = retained.walk(request.filter);
    while (!walk.ended && !session.closed) {
      await slices.begin();
      let found: readonly Found[] = [];
      try {
        const topics = this.#nextOf(walk, version);
        if (topics.length > 0) found = await this.#read(topics);
      } finally {
        slices.end();
      }
      if (found.length > 0) await this.#send(found, request);
    }
  }

  /** The next topics whose message the subscription has not seen come. */
  #nextOf(walk: TopicWalk, version: number): RetainedTopic[] {
    const { clock, retained } = this.#options;
    const { slices } = retained;
    const nowMs = clock.now();
    const topics: RetainedTopic[] = [];
    const stepsEnd = walk.steps + STEPS_PER_SLICE;
    for (let lookAt = walk.steps + STEPS_PER_LOOK; topics.length < READS && walk.steps < stepsEnd; ) {
      const topic = walk.next(lookAt - walk.steps);
      if (topic !== undefined && topic.version <= version && topic.entry!.expiresAtMs > nowMs)
        topics.push(topic);
      if (walk.ended) break;
      if (walk.steps < lookAt) continue;
      if (slices.isOver) break;
      lookAt = walk.steps + STEPS_PER_LOOK;
    }
    return topics;
  }

  #read(topics: readonly RetainedTopic[]): Promise<Found[]> {
    const { retained } = this.#options;
    return Promise.all(
      topics.map(async (topic) => {
        const { version } = topic;
        return { topic, version, stored: await retained.read(topic) };
      }),
    );
  }

  async #send(found: readonly Found[], request: RetainedRequest): Promise<void> {
    const { session } = this.#options;
    const { slices } = this.#options.retained;
    await this.#whenCurrent(found);
    let sent = 0;
    for (const { topic, version, stored } of found) {
      if (++sent % SENDS_PER_LOOK === 0 && slices.isOver) {
        await slices.begin();
        slices.end();
      }
      for (;;) {
        // Another has taken its place since, and comes, or has come, as a message like others.
        if (stored === undefined || topic.version !== version || session.closed) break;
        if (session.hasRoom && this.#deliver(topic, stored, request)) break;
        await session.whenRoom();
      }
    }
  }

  /** A newer message of such a topic may have been sent already, and not be in the index yet. */
  async #whenCurrent(found: readonly Found[]): Promise<void> {
    const sources = new Set(found.flatMap(({ topic }) => topic.entry?.source ?? []));
    const waits = [...sources].flatMap((source) => this.#options.retained.settledOf(source) ?? []);
    if (waits.length > 0) await Promise.all(waits);
  }

  /** @returns false when the client has no room for it. */
  #deliver({ entry }: RetainedTopic, stored: StoredMessage, request: RetainedRequest): boolean {
    const { session, clock, topics, routes, counters } = this.#options;
    if (entry === undefined) return true;
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
