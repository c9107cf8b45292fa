// One topic, two names: which Kafka topic an MQTT topic is stored in, and what of a PUBLISH a record keeps beside key
// and value. Pure. The way back, from a record to a message, is message-view.ts.
import { createHash } from 'node:crypto';
import type { MessageProperties } from './packets/message-properties.ts';

/** Kafka's limit of a topic name. */
const NAME_BYTES_MAX = 249;
/** Hex digits of a digest at the end of a name that would be longer. */
const DIGEST_DIGITS = 32;

/**
 * The Kafka topic of an MQTT topic: its first level that is not empty, as it is when that is a legal name. Else each
 * byte of its UTF-8 that is not `[A-Za-z0-9.-]` becomes `_` and two hex digits (so `_` itself is `_5f`, and no two
 * levels that need escaping meet), and what is longer than a name may be ends in a digest instead. A level that reads
 * like an escaped one (`a_20b` and `a b`) shares its topic: the key and `mqtt.topic` keep the two apart.
 * A topic of empty levels only (`/`) goes to the escape of a slash, `_2f`.
 */
export function kafkaTopicOf(mqttTopic: string): string {
  const level = firstLevel(mqttTopic);
  if (level === '') return '_2f';
  if (/^[A-Za-z0-9._-]{1,249}$/.test(level) && level !== '.' && level !== '..') return level;
  const onlyDots = level === '.' || level === '..';
  let name = '';
  for (const byte of Buffer.from(level)) {
    const character = String.fromCharCode(byte);
    const keeps = /[A-Za-z0-9.-]/.test(character) && !onlyDots;
    name += keeps ? character : `_${byte.toString(16).padStart(2, '0')}`;
  }
  return withinNameLimit(name, level);
}

function firstLevel(mqttTopic: string): string {
  let start = 0;
  while (mqttTopic.charCodeAt(start) === SLASH) start++;
  const end = mqttTopic.indexOf('/', start);
  return end < 0 ? mqttTopic.slice(start) : mqttTopic.slice(start, end);
}

/** A name that is too long is cut, and ends in a digest of what it stands for. */
export function withinNameLimit(name: string, whole: string): string {
  if (name.length <= NAME_BYTES_MAX) return name;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, DIGEST_DIGITS);
  return `${name.slice(0, NAME_BYTES_MAX - DIGEST_DIGITS - 1)}_${digest}`;
}

/**
 * Names that no client publishes to: `$…` is the server's (section 4.7.2), `__…` the hub's own state.
 */
export function isReservedTopic(mqttTopic: string): boolean {
  return mqttTopic.startsWith('$') || firstLevel(mqttTopic).startsWith('__');
}

/** Names of source attributes, which other protocols show as headers. */
export const ATTRIBUTE = {
  TOPIC: 'mqtt.topic',
  CLIENT_ID: 'mqtt.client-id',
  QOS: 'mqtt.qos',
  RETAIN: 'mqtt.retain',
  CONTENT_TYPE: 'mqtt.content-type',
  RESPONSE_TOPIC: 'mqtt.response-topic',
  CORRELATION_DATA: 'mqtt.correlation-data',
  PAYLOAD_FORMAT: 'mqtt.payload-format',
  /** Seconds from the record's timestamp on, decimal. */
  EXPIRY: 'mqtt.expiry',
  /**
   * With the client id it names a QoS 2 exchange. Two bytes; where the session outlives its connection, behind the six of
   * the session's number. Private.
   */
  PACKET_ID: '_mqtt.packet-id',
} as const;

/** Headers with this prefix are the hub's word; a client's own user properties of such names are dropped. */
export const RESERVED_PREFIX = 'mqtt.';
const RESERVED_PREFIX_BYTES = Buffer.from(RESERVED_PREFIX);

export function isReservedName(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < RESERVED_PREFIX_BYTES.length) return false;
  for (let at = 0; at < RESERVED_PREFIX_BYTES.length; at++) {
    if (bytes[start + at] !== RESERVED_PREFIX_BYTES[at]) return false;
  }
  return true;
}

export interface PublishAttributes {
  readonly topic: Uint8Array;
  readonly clientId: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Kept at QoS 2 only; 0 = none. */
  readonly packetId: number;
  /** Of a session that outlives its connection. */
  readonly sessionNumber?: number | undefined;
}

/**
 * Source attributes of a publish, topic first: a reader that needs no more stops there. A packet identifier comes
 * last, so that {@link patchPacketId} finds it.
 */
export function encodeAttributes(
  publish: PublishAttributes,
  properties?: { readonly bytes: Buffer; readonly values: MessageProperties },
): Uint8Array {
  const pairs: [string, Uint8Array][] = [
    [ATTRIBUTE.TOPIC, publish.topic],
    [ATTRIBUTE.CLIENT_ID, publish.clientId],
    [ATTRIBUTE.QOS, DIGITS[publish.qos]!],
  ];
  if (publish.retain) pairs.push([ATTRIBUTE.RETAIN, DIGITS[1]!]);
  if (properties) pushProperties(pairs, properties.bytes, properties.values);
  const keepsPacketId = publish.qos === 2 && publish.packetId > 0;
  if (keepsPacketId) pairs.push([ATTRIBUTE.PACKET_ID, packetIdBytes(publish.sessionNumber)]);
  const encoded = encodePairs(pairs);
  if (keepsPacketId) patchPacketId(encoded, publish.packetId);
  return encoded;
}

function packetIdBytes(sessionNumber: number | undefined): Buffer {
  if (sessionNumber === undefined) return Buffer.alloc(2);
  const bytes = Buffer.alloc(PACKET_ID_BYTES);
  bytes.writeUIntBE(sessionNumber, 0, 6);
  return bytes;
}

/** Of {@link ATTRIBUTE.PACKET_ID} with a session's number. */
export const PACKET_ID_BYTES = 8;

export function readPacketId(
  bytes: Buffer,
  start: number,
): { readonly sessionNumber: number; readonly packetId: number } {
  return { sessionNumber: bytes.readUIntBE(start, 6), packetId: bytes.readUInt16BE(start + 6) };
}

/** Another packet identifier in attributes that were encoded at QoS 2. */
export function patchPacketId(attributes: Uint8Array, packetId: number): void {
  attributes[attributes.length - 2] = packetId >> 8;
  attributes[attributes.length - 1] = packetId & 0xff;
}

function pushProperties(pairs: [string, Uint8Array][], bytes: Buffer, values: MessageProperties): void {
  const slice = (name: string, start: number, end: number) => {
    if (start >= 0) pairs.push([name, bytes.subarray(start, end)]);
  };
  slice(ATTRIBUTE.CONTENT_TYPE, values.contentTypeStart, values.contentTypeEnd);
  slice(ATTRIBUTE.RESPONSE_TOPIC, values.responseTopicStart, values.responseTopicEnd);
  slice(ATTRIBUTE.CORRELATION_DATA, values.correlationDataStart, values.correlationDataEnd);
  const number = (name: string, value: number) => {
    if (value >= 0) pairs.push([name, Buffer.from(String(value))]);
  };
  number(ATTRIBUTE.PAYLOAD_FORMAT, values.payloadFormat);
  number(ATTRIBUTE.EXPIRY, values.expirySeconds);
}

/** MessagePack's shortest forms; names are shorter than 32 bytes, pairs fewer than 16, values fit 16 bits. */
function encodePairs(pairs: readonly [string, Uint8Array][]): Uint8Array {
  const sizeMax = pairs.reduce((sum, [name, value]) => sum + 1 + name.length + 3 + value.length, 3);
  const encoded = Buffer.allocUnsafe(sizeMax);
  const count = pairs.length * 2;
  let at =
    count < 16
      ? encoded.writeUInt8(0x90 | count, 0)
      : encoded.writeUInt16BE(count, encoded.writeUInt8(0xdc, 0));
  for (const [name, value] of pairs) {
    encoded[at++] = 0xa0 | name.length;
    at += encoded.write(name, at, 'latin1');
    if (value.length < 256) at = encoded.writeUInt8(value.length, encoded.writeUInt8(0xc4, at));
    else at = encoded.writeUInt16BE(value.length, encoded.writeUInt8(0xc5, at));
    encoded.set(value, at);
    at += value.length;
  }
  return encoded.subarray(0, at);
}

const DIGITS = ['0', '1', '2'].map((digit) => Buffer.from(digit));
const SLASH = 0x2f;
