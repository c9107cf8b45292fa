// Who gets a message, and how: the subscriptions that match its topic, merged to one delivery per client
// [MQTT-3.3.4-2], and remembered until a subscription changes.
import { ByteKeyedCache } from './byte-keyed-cache.ts';
import type { Mappings } from './mapping/mappings.ts';
import { NO_MAPPINGS } from './mapping/mappings.ts';
import type { QoS } from './packets/publish.ts';
import type { Subscription, SubscriptionTree } from './subscription-tree.ts';

export interface Delivery<Subscriber> {
  readonly subscriber: Subscriber;
  /** Highest of the subscriptions that match. */
  readonly qos: QoS;
  readonly retainAsPublished: boolean;
  /** Of all subscriptions that match and have one [MQTT-3.3.4-3] [MQTT-3.3.4-4]. */
  readonly identifiers: readonly number[];
  /** What the client's own messages get: null = nothing, undefined = the same as those of others [MQTT-3.8.3-3]. */
  readonly own: Delivery<Subscriber> | null | undefined;
}

export interface Match<Subscriber> {
  /** The topic name's bytes. */
  readonly key: Buffer;
  readonly seed: number;
  readonly topic: string;
  /** The topic name behind its two bytes of length, as PUBLISH has it. */
  readonly encodedTopic: Buffer;
  readonly deliveries: readonly Delivery<Subscriber>[];
  /** False: a mapping rule keeps the topic from subscribers. */
  readonly delivers: boolean;
  /** A mapping rule says that nothing is retained, whoever asks for it. */
  readonly ignoresRetain: boolean;
  /** Of records that MQTT did not write. */
  readonly foreignQos: QoS;
  /** Of the tree when this was found. */
  readonly version: number;
  /** The same deliveries by subscriber, made when first asked for. */
  bySubscriber: Map<Subscriber, Delivery<Subscriber>> | undefined;
}

/** If no mapping rule says otherwise. */
export const FOREIGN_QOS = 1;
const SLOTS = 16_384;
const TOPIC_BYTES_MAX = 512;
/** Deliveries that all remembered matches hold together, before they are forgotten. */
const REMEMBERED_MAX = 1_000_000;

export class Matches<Subscriber> {
  readonly #tree: SubscriptionTree<Subscription<Subscriber>>;
  readonly #cache = new ByteKeyedCache<Match<Subscriber>>(SLOTS, TOPIC_BYTES_MAX);
  readonly #mappings: Mappings;
  #remembered = 0;

  constructor(tree: SubscriptionTree<Subscription<Subscriber>>, mappings: Mappings = NO_MAPPINGS) {
    this.#tree = tree;
    this.#mappings = mappings;
    mappings.onReplaced(() => this.#forget());
  }

  /** Undefined when it is not remembered: then the topic has to be decoded for {@link find}. */
  recall(bytes: Uint8Array, start: number, end: number): Match<Subscriber> | undefined {
    const match = this.#cache.get(bytes, start, end, 0);
    return match !== undefined && this.isCurrent(match) ? match : undefined;
  }

  /** Nobody has subscribed or unsubscribed since it was found. */
  isCurrent(match: Match<Subscriber>): boolean {
    return match.version === this.#tree.version;
  }

  /** @param bytes a topic name: valid, and not empty. */
  find(bytes: Uint8Array, start: number, end: number): Match<Subscriber> {
    const encodedTopic = Buffer.allocUnsafe(2 + end - start);
    encodedTopic.writeUInt16BE(end - start, 0);
    encodedTopic.set(bytes.subarray(start, end), 2);
    const key = encodedTopic.subarray(2);
    const topic = key.toString('utf8');
    const rule = this.#mappings.ruleOf(topic);
    const delivers = rule?.direction !== 'in';
    const match: Match<Subscriber> = {
      key,
      seed: 0,
      topic,
      encodedTopic,
      deliveries: delivers ? mergeSubscriptions(this.#tree.match(topic)) : [],
      delivers,
      ignoresRetain: rule?.retain === 'ignore',
      foreignQos: rule?.qos ?? FOREIGN_QOS,
      version: this.#tree.version,
      bySubscriber: undefined,
    };
    this.#remember(match);
    return match;
  }

  #remember(match: Match<Subscriber>): void {
    this.#remembered += 1 + match.deliveries.length;
    if (this.#remembered > REMEMBERED_MAX) this.#forget();
    this.#cache.set(match);
  }

  #forget(): void {
    this.#cache.clear();
    this.#remembered = 0;
  }
}

export function deliveryOf<Subscriber>(
  match: Match<Subscriber>,
  subscriber: Subscriber,
): Delivery<Subscriber> | undefined {
  match.bySubscriber ??= new Map(match.deliveries.map((delivery) => [delivery.subscriber, delivery]));
  return match.bySubscriber.get(subscriber);
}

/** One delivery per subscriber, in the order in which subscribers first come. */
export function mergeSubscriptions<Subscriber>(
  subscriptions: readonly Subscription<Subscriber>[],
): Delivery<Subscriber>[] {
  if (subscriptions.length === 0) return [];
  const bySubscriber = new Map<Subscriber, Subscription<Subscriber>[]>();
  for (const subscription of subscriptions) {
    const others = bySubscriber.get(subscription.subscriber);
    if (others) others.push(subscription);
    else bySubscriber.set(subscription.subscriber, [subscription]);
  }
  return [...bySubscriber].map(([subscriber, own]) => {
    const foreign = own.filter((subscription) => !subscription.noLocal);
    const all = mergeOf(subscriber, own);
    if (foreign.length === own.length) return all;
    return { ...all, own: foreign.length === 0 ? null : mergeOf(subscriber, foreign) };
  });
}

function mergeOf<Subscriber>(
  subscriber: Subscriber,
  subscriptions: readonly Subscription<Subscriber>[],
): Delivery<Subscriber> {
  let qos: QoS = 0;
  let retainAsPublished = false;
  const identifiers: number[] = [];
  for (const subscription of subscriptions) {
    if (subscription.qos > qos) qos = subscription.qos;
    if (subscription.retainAsPublished) retainAsPublished = true;
    if (subscription.identifier > 0) identifiers.push(subscription.identifier);
  }
  return {
    subscriber,
    qos,
    retainAsPublished,
    identifiers: identifiers.length > 0 ? identifiers : NONE,
    own: undefined,
  };
}

const NONE: readonly number[] = [];
