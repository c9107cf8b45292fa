// Where a publish goes: from the bytes of its topic name to a partition. Seen topics are found again without decoding
// a string; the table is bounded and shared by all connections.
import type { Hub, Partition, TopicView } from '../port.ts';
import { ByteKeyedCache } from './byte-keyed-cache.ts';
import { MqttError, malformed } from './errors.ts';
import { isMqttUtf8 } from './packets/utf8.ts';
import { REASON } from './reason-codes.ts';
import { isReservedTopic, kafkaTopicOf } from './record-mapping.ts';
import { isTopicName, levelCount } from './topic-filter.ts';

const SLOTS = 16_384;
const TOPIC_BYTES_MAX = 512;

export class Route {
  /** The MQTT topic as it came: the record's key. */
  readonly key: Buffer;
  readonly seed = 0;
  readonly kafkaTopic: string;
  /** Why nothing can be published here, as a reason code; 0 = nothing speaks against it. */
  readonly refusal: number;
  readonly #hub: Hub;
  #topic: TopicView | undefined;
  #partition: Partition | undefined;

  constructor(hub: Hub, key: Buffer, kafkaTopic: string, refusal: number) {
    this.#hub = hub;
    this.key = key;
    this.kafkaTopic = kafkaTopic;
    this.refusal = refusal;
  }

  /** Undefined while the topic does not exist. One MQTT topic stays on one partition for as long as their number does. */
  partition(): Partition | undefined {
    const topic = this.#hub.topics.get(this.kafkaTopic);
    if (topic !== this.#topic) {
      this.#topic = topic;
      this.#partition = topic?.partitions[this.#hub.partitionFor(this.key, topic.partitions.length)];
    }
    return this.#partition;
  }

  /** The topic's `max.message.bytes`, once {@link partition} has found it. */
  get messageBytesMax(): number {
    return this.#topic?.config.maxMessageBytes ?? 0;
  }
}

export class Routes {
  readonly #hub: Hub;
  readonly #levelsMax: number;
  readonly #cache = new ByteKeyedCache<Route>(SLOTS, TOPIC_BYTES_MAX);

  constructor(hub: Hub, levelsMax: number) {
    this.#hub = hub;
    this.#levelsMax = levelsMax;
  }

  /** @throws MqttError when the bytes are no topic name: the connection ends, since no client may send them. */
  find(bytes: Buffer, start: number, end: number): Route {
    return this.#cache.get(bytes, start, end, 0) ?? this.#add(bytes, start, end);
  }

  #add(bytes: Buffer, start: number, end: number): Route {
    const key = Buffer.from(bytes.subarray(start, end));
    const route = makeRoute(this.#hub, key, this.#levelsMax);
    this.#cache.set(route);
    return route;
  }
}

function makeRoute(hub: Hub, key: Buffer, levelsMax: number): Route {
  if (!isMqttUtf8(key, 0, key.length, 'refused')) throw malformed('The topic name is not a string of MQTT');
  const topic = key.toString('utf8');
  // Without topic aliases an empty name stands for nothing (section 3.3.2.3.4).
  if (topic === '') throw new MqttError('topic-name', REASON.PROTOCOL_ERROR, 'An empty topic name');
  if (!isTopicName(topic)) {
    throw new MqttError('topic-name', REASON.TOPIC_NAME_INVALID, 'A wildcard in a topic name [MQTT-3.3.2-2]');
  }
  const refused = isReservedTopic(topic) || levelCount(topic) > levelsMax;
  return new Route(hub, key, kafkaTopicOf(topic), refused ? REASON.TOPIC_NAME_INVALID : 0);
}
