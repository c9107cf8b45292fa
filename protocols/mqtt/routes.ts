// Where a publish goes: from the bytes of its topic name to a partition. Seen topics are found again without decoding
// a string; the table is bounded and shared by all connections.
import type { Hub, Partition, TopicView } from '../port.ts';
import { ByteKeyedCache, equal } from './byte-keyed-cache.ts';
import { MqttError, malformed } from './errors.ts';
import type { Mapped, Mappings } from './mapping/mappings.ts';
import type { MqttOptions } from './options.ts';
import { isMqttUtf8 } from './packets/utf8.ts';
import { REASON } from './reason-codes.ts';
import { isReservedTopic } from './record-mapping.ts';
import { isTopicName, levelCount } from './topic-filter.ts';

const SLOTS = 16_384;
const TOPIC_BYTES_MAX = 512;

/** Routes of one client whose topics have a key with its name in it, and how many it keeps. */
export type OwnRoutes = Map<Route, Route>;
const OWN_ROUTES_MAX = 256;

export class Route {
  /** The MQTT topic as it came. */
  readonly key: Buffer;
  readonly seed = 0;
  readonly kafkaTopic: string;
  /** Why nothing can be published here, as a reason code; 0 = nothing speaks against it. */
  readonly refusal: number;
  readonly recordKey: Buffer;
  /** The key differs from client to client: {@link ofClient} has the route to take. */
  readonly namesClient: boolean;
  /** A mapping rule says that a publish counts as not retained. */
  readonly ignoresRetain: boolean;
  readonly #hub: Hub;
  readonly #mapped: Mapped;
  #topic: TopicView | undefined;
  #partition: Partition | undefined;

  constructor(hub: Hub, key: Buffer, mapped: Mapped, refusal: number, clientId?: string) {
    this.#hub = hub;
    this.#mapped = mapped;
    this.key = key;
    this.kafkaTopic = mapped.kafkaTopic ?? '';
    this.refusal = refusal;
    this.namesClient = clientId === undefined && mapped.rule?.keyNamesClient === true;
    this.ignoresRetain = mapped.rule?.rule.retain === 'ignore';
    const recordKey = mapped.keyOf(clientId ?? '');
    this.recordKey = recordKey === key.toString('utf8') ? key : Buffer.from(recordKey);
  }

  /** The same route with the key of one client's publishes. */
  ofClient(own: OwnRoutes, clientId: string): Route {
    const known = own.get(this);
    if (known !== undefined) return known;
    if (own.size >= OWN_ROUTES_MAX) own.clear();
    const route = new Route(this.#hub, this.key, this.#mapped, this.refusal, clientId);
    own.set(this, route);
    return route;
  }

  /** Undefined while the topic does not exist. One MQTT topic stays on one partition for as long as their number does. */
  partition(): Partition | undefined {
    const topic = this.#hub.topics.get(this.kafkaTopic);
    if (topic !== this.#topic) {
      this.#topic = topic;
      this.#partition = topic?.partitions[this.#hub.partitionFor(this.recordKey, topic.partitions.length)];
    }
    return this.#partition;
  }

  /** The topic is gone: nothing of it is held on to. */
  forget(topicId: string): void {
    if (this.#topic?.topicId !== topicId) return;
    this.#topic = undefined;
    this.#partition = undefined;
  }

  /** The topic's `max.message.bytes`, once {@link partition} has found it. */
  get messageBytesMax(): number {
    return this.#topic?.config.maxMessageBytes ?? 0;
  }
}

export type TopicLimits = Pick<MqttOptions, 'topicLevelsMax' | 'topicBytesMax'>;

export class Routes {
  readonly #hub: Hub;
  readonly #limits: TopicLimits;
  readonly #mappings: Mappings;
  readonly #cache = new ByteKeyedCache<Route>(SLOTS, TOPIC_BYTES_MAX);
  /** Found last: a client mostly publishes to the topic that it has published to before. */
  #last: Route | undefined;

  constructor(hub: Hub, limits: TopicLimits, mappings: Mappings) {
    this.#hub = hub;
    this.#limits = limits;
    this.#mappings = mappings;
    mappings.onReplaced(() => {
      this.#cache.clear();
      this.#last = undefined;
    });
    hub.topics.onChange(({ kind, topic }) => {
      if (kind !== 'deleted') return;
      this.#last = undefined;
      for (const route of this.#cache.values()) route.forget(topic.topicId);
    });
  }

  /** @throws MqttError when the bytes are no topic name: the connection ends, since no client may send them. */
  find(bytes: Buffer, start: number, end: number): Route {
    if (this.#last !== undefined && equal(this.#last.key, bytes, start, end)) return this.#last;
    const route = this.#cache.get(bytes, start, end, 0) ?? this.#add(bytes, start, end);
    this.#last = route;
    return route;
  }

  #add(bytes: Buffer, start: number, end: number): Route {
    const key = Buffer.from(bytes.subarray(start, end));
    const route = this.#make(key);
    this.#cache.set(route);
    return route;
  }

  #make(key: Buffer): Route {
    if (!isMqttUtf8(key, 0, key.length, 'refused')) throw malformed('The topic name is not a string of MQTT');
    const topic = key.toString('utf8');
    // Without a topic alias an empty name stands for nothing (section 3.3.2.3.4).
    if (topic === '') throw new MqttError('topic-name', REASON.PROTOCOL_ERROR, 'An empty topic name');
    if (!isTopicName(topic)) {
      throw new MqttError(
        'topic-name',
        REASON.TOPIC_NAME_INVALID,
        'A wildcard in a topic name [MQTT-3.3.2-2]',
      );
    }
    const mapped = this.#mappings.map(topic);
    const isOpen =
      !isReservedTopic(topic) &&
      levelCount(topic) <= this.#limits.topicLevelsMax &&
      key.length <= this.#limits.topicBytesMax &&
      mapped.kafkaTopic !== undefined &&
      mapped.rule?.rule.direction !== 'out';
    return new Route(this.#hub, key, mapped, isOpen ? 0 : REASON.TOPIC_NAME_INVALID);
  }
}

/** What a connection remembers of routes. */
export interface RememberedRoutes {
  readonly session: { readonly clientId: string } | undefined;
  readonly attributes: Map<Route, unknown>;
  readonly ownRoutes: OwnRoutes;
  readonly aliases: Map<number, Route>;
}

/** There are other mapping rules: topic aliases stand for the same topics, wherever those are stored now. */
export function reroute({ session, attributes, ownRoutes, aliases }: RememberedRoutes, routes: Routes): void {
  attributes.clear();
  ownRoutes.clear();
  if (session === undefined) return;
  for (const [alias, { key }] of aliases) {
    const route = routes.find(key, 0, key.length);
    aliases.set(alias, route.namesClient ? route.ofClient(ownRoutes, session.clientId) : route);
  }
}
