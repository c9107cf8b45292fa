// What `__mqtt_retained` holds. The key of a retained message is its MQTT topic; its value, integers big-endian:
//
//   version = 1        u8
//   QoS                u8
//   expiry             u8      position of the expiry's four bytes within the properties; 255 = there is none
//   time               u48     of the record that it came by, milliseconds since the epoch
//   topic id           u8 + n  the place of that record: the id of its Kafka topic,
//   partition          u32
//   offset             u48
//   client identifier  u16 + n of who published it; 65535 = no MQTT client did
//   properties         u32 + n as MQTT 5 encodes them, without subscription identifiers
//   payload            to the end
//
// Keys that start with U+0000, which no MQTT string holds, are the table's own:
//
//   00 'p' topic id 00 partition u32    how far a partition has been looked at for retained messages: version u8, u48
//   00 'm'                              the table has been filled once: version u8
import type { QoS } from '../packets/publish.ts';
import type { Source } from './topic-index.ts';

const VERSION = 1;
const NO_EXPIRY = 255;
const NO_CLIENT = 0xffff;
const OWN_KEY = 0x00;
const POSITION_KEY = 0x70;

/** Bytes of the fields that each value has. */
const FIXED_BYTES = 3 + 6 + 1 + 4 + 6 + 2 + 4;

export interface RetainedMessage {
  readonly qos: QoS;
  /** Position of the expiry's four bytes within the properties; −1 = there is none. */
  readonly expiryAt: number;
  readonly timestampMs: number;
  readonly source: Source;
  readonly sourceOffset: number;
  /** Slices of one buffer, the value. */
  readonly bytes: Buffer;
  /** Both −1 when no MQTT client has published it. */
  readonly clientIdStart: number;
  readonly clientIdEnd: number;
  readonly propertiesStart: number;
  readonly propertiesEnd: number;
  readonly payloadStart: number;
}

export interface RetainedParts {
  readonly qos: QoS;
  readonly expiryAt: number;
  readonly timestampMs: number;
  readonly source: Source;
  readonly sourceOffset: number;
  readonly clientId: Uint8Array | undefined;
  readonly properties: Uint8Array;
  readonly payload: Uint8Array;
}

/** Bytes of a value with these parts, but for the topic id. */
export function retainedLength(clientIdBytes: number, propertyBytes: number, payloadBytes: number): number {
  return FIXED_BYTES + clientIdBytes + propertyBytes + payloadBytes;
}

export function encodeRetained(parts: RetainedParts): Buffer {
  const { source, clientId, properties, payload } = parts;
  const topicId = Buffer.from(source.topicId);
  const length = retainedLength(clientId?.length ?? 0, properties.length, payload.length) + topicId.length;
  const value = Buffer.allocUnsafe(length);
  let at = value.writeUInt8(VERSION, 0);
  at = value.writeUInt8(parts.qos, at);
  at = value.writeUInt8(parts.expiryAt < 0 ? NO_EXPIRY : parts.expiryAt, at);
  at = value.writeUIntBE(Math.max(parts.timestampMs, 0), at, 6);
  at = value.writeUInt8(topicId.length, at);
  value.set(topicId, at);
  at = value.writeUInt32BE(source.partition, at + topicId.length);
  at = value.writeUIntBE(parts.sourceOffset, at, 6);
  at = value.writeUInt16BE(clientId?.length ?? NO_CLIENT, at);
  if (clientId !== undefined) value.set(clientId, at);
  at = value.writeUInt32BE(properties.length, at + (clientId?.length ?? 0));
  value.set(properties, at);
  value.set(payload, at + properties.length);
  return value;
}

/** Undefined when it is no value of this layout: of a later version, or damaged. */
export function decodeRetained(bytes: Buffer): RetainedMessage | undefined {
  if (bytes.length < FIXED_BYTES || bytes[0] !== VERSION || bytes[1]! > 2) return undefined;
  const expiry = bytes[2]!;
  const topicIdEnd = 10 + bytes[9]!;
  const clientIdStart = topicIdEnd + 4 + 6 + 2;
  if (clientIdStart + 4 > bytes.length) return undefined;
  const clientIdBytes = bytes.readUInt16BE(topicIdEnd + 10);
  const clientIdEnd = clientIdBytes === NO_CLIENT ? clientIdStart : clientIdStart + clientIdBytes;
  const propertiesStart = clientIdEnd + 4;
  if (propertiesStart > bytes.length) return undefined;
  const propertiesEnd = propertiesStart + bytes.readUInt32BE(clientIdEnd);
  if (propertiesEnd > bytes.length) return undefined;
  if (expiry !== NO_EXPIRY && propertiesStart + expiry + 4 > propertiesEnd) return undefined;
  return {
    qos: bytes[1] as QoS, // checked above
    expiryAt: expiry === NO_EXPIRY ? -1 : expiry,
    timestampMs: bytes.readUIntBE(3, 6),
    source: {
      topicId: bytes.toString('utf8', 10, topicIdEnd),
      partition: bytes.readUInt32BE(topicIdEnd),
    },
    sourceOffset: bytes.readUIntBE(topicIdEnd + 4, 6),
    bytes,
    clientIdStart: clientIdBytes === NO_CLIENT ? -1 : clientIdStart,
    clientIdEnd: clientIdBytes === NO_CLIENT ? -1 : clientIdEnd,
    propertiesStart,
    propertiesEnd,
    payloadStart: propertiesEnd,
  };
}

/** When the message is no longer to be sent, milliseconds since the epoch; infinite without an expiry. */
export function expiresAtMs({ bytes, timestampMs, expiryAt, propertiesStart }: RetainedMessage): number {
  if (expiryAt < 0) return Number.POSITIVE_INFINITY;
  return timestampMs + bytes.readUInt32BE(propertiesStart + expiryAt) * 1000;
}

// ------------------------------------------------------------------------------------- the table's own

/** Says that the partitions that were there when the table was made have their positions. */
export const MARKER_KEY = Buffer.from([OWN_KEY, 0x6d]);
export const MARKER_VALUE = Buffer.from([VERSION]);

export function isOwnKey(key: Buffer): boolean {
  return key[0] === OWN_KEY;
}

export function positionKey({ topicId, partition }: Source): Buffer {
  const key = Buffer.alloc(2 + Buffer.byteLength(topicId) + 5);
  key[0] = OWN_KEY;
  key[1] = POSITION_KEY;
  key.write(topicId, 2);
  key.writeUInt32BE(partition, key.length - 4);
  return key;
}

/** Undefined when the key is none of a position. */
export function decodePositionKey(key: Buffer): Source | undefined {
  if (key.length < 7 || key[0] !== OWN_KEY || key[1] !== POSITION_KEY) return undefined;
  return { topicId: key.toString('utf8', 2, key.length - 5), partition: key.readUInt32BE(key.length - 4) };
}

export function encodePosition(offset: number): Buffer {
  const value = Buffer.alloc(7);
  value[0] = VERSION;
  value.writeUIntBE(offset, 1, 6);
  return value;
}

export function decodePosition(value: Buffer): number | undefined {
  return value.length === 7 && value[0] === VERSION ? value.readUIntBE(1, 6) : undefined;
}
