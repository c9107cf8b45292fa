// Which MQTT topic a record belongs to, and with it who gets it. In order: the topic it was published to, the header
// `mqtt.topic`, what a mapping rule makes of topic and key, a key that continues the Kafka topic's name as a topic, that
// name itself.
import type { RecordCursor } from '../port.ts';
import type { Match, Matches } from './deliveries.ts';
import type { Mappings } from './mapping/mappings.ts';
import { NO_MAPPINGS } from './mapping/mappings.ts';
import type { KafkaTopicName, WayBack } from './mapping/way-back.ts';
import { nameIs } from './message-view.ts';
import { isMqttUtf8 } from './packets/utf8.ts';
import { ATTRIBUTE, isReservedTopic } from './record-mapping.ts';
import { isTopicName, levelCount } from './topic-filter.ts';

const TOPIC_NAME = Buffer.from(ATTRIBUTE.TOPIC);
const TOPIC_BYTES_MAX = 65_535;

export class RecordTopics<Subscriber> {
  readonly #matches: Matches<Subscriber>;
  readonly #levelsMax: number;
  readonly #mappings: Mappings;

  constructor(matches: Matches<Subscriber>, levelsMax: number, mappings: Mappings = NO_MAPPINGS) {
    this.#matches = matches;
    this.#levelsMax = levelsMax;
    this.#mappings = mappings;
  }

  nameOf(kafkaTopic: string): KafkaTopicName {
    return this.#mappings.nameOf(kafkaTopic);
  }

  /** How far those read who follow a Kafka topic. */
  visibilityOf(kafkaTopic: string): 'lastStable' | 'highWatermark' {
    return this.#mappings.visibilityOf(kafkaTopic);
  }

  match(cursor: RecordCursor, name: KafkaTopicName): Match<Subscriber> {
    if (cursor.attributeCount > 0 && cursor.nextAttribute() && isTopic(cursor)) {
      return this.#trusted(cursor.bytes, cursor.itemStart, cursor.itemEnd);
    }
    return (
      (cursor.headerCount > 0 ? this.#fromHeader(cursor) : undefined) ??
      (name.wayBack === undefined ? undefined : this.#fromRules(cursor, name.wayBack)) ??
      this.#fromKey(cursor, name) ??
      this.#trusted(name.bytes, 0, name.bytes.length)
    );
  }

  /** Nobody has subscribed or unsubscribed since it was found. */
  isCurrent(match: Match<Subscriber>): boolean {
    return this.#matches.isCurrent(match);
  }

  /** Whether {@link match} has just found the topic among the record's attributes. */
  isByAttribute(cursor: RecordCursor): boolean {
    const { nameStart, attributesStart, attributesEnd } = cursor;
    return nameStart > attributesStart && nameStart < attributesEnd && isTopic(cursor);
  }

  #fromHeader(cursor: RecordCursor): Match<Subscriber> | undefined {
    cursor.rewindHeaders();
    while (cursor.nextHeader()) {
      if (isTopic(cursor)) return this.#untrusted(cursor.bytes, cursor.itemStart, cursor.itemEnd);
    }
    return undefined;
  }

  #fromRules({ bytes, keyStart, keyEnd }: RecordCursor, wayBack: WayBack): Match<Subscriber> | undefined {
    const topic = this.#mappings.mqttTopicOf(wayBack, bytes, keyStart, keyEnd);
    return topic === undefined ? undefined : this.#untrusted(topic, 0, topic.length);
  }

  #fromKey(cursor: RecordCursor, name: KafkaTopicName): Match<Subscriber> | undefined {
    const { bytes, keyStart, keyEnd } = cursor;
    const prefix = name.keyPrefix;
    if (keyEnd - keyStart < prefix.length) return undefined;
    for (let at = 0; at < prefix.length; at++) {
      if (bytes[keyStart + at] !== prefix[at]) return undefined;
    }
    return this.#untrusted(bytes, keyStart, keyEnd);
  }

  #trusted(bytes: Buffer, start: number, end: number): Match<Subscriber> {
    return this.#matches.recall(bytes, start, end) ?? this.#matches.find(bytes, start, end);
  }

  /** Undefined when the bytes are no topic name that a client might have published to. */
  #untrusted(bytes: Buffer, start: number, end: number): Match<Subscriber> | undefined {
    const known = this.#matches.recall(bytes, start, end);
    if (known) return known;
    return this.#isTopic(bytes, start, end) ? this.#matches.find(bytes, start, end) : undefined;
  }

  #isTopic(bytes: Buffer, start: number, end: number): boolean {
    return mayNameTopic(bytes, start, end, this.#levelsMax);
  }
}

/** Whether bytes that a record holds are a topic name that a client might have published to. */
export function mayNameTopic(bytes: Buffer, start: number, end: number, levelsMax: number): boolean {
  if (end - start > TOPIC_BYTES_MAX || !isMqttUtf8(bytes, start, end, 'refused')) return false;
  const topic = bytes.toString('utf8', start, end);
  return isTopicName(topic) && !isReservedTopic(topic) && levelCount(topic) <= levelsMax;
}

function isTopic(cursor: RecordCursor): boolean {
  return cursor.itemEnd >= 0 && nameIs(TOPIC_NAME, cursor.bytes, cursor.nameStart, cursor.nameEnd);
}
