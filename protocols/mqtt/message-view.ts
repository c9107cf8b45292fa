// A record seen as an MQTT message: the way back of record-mapping.ts. What it says lies in the log's bytes; no object
// is made per record; the properties of MQTT 5, where there are any, are encoded into a block that is used again.
//
// Records come from any client of any protocol, so what they hold is data: a property that MQTT could not say is
// left out, never an error.
import type { RecordCursor } from '../port.ts';
import { copyBytes } from './copy-bytes.ts';
import { hasWildcard } from './packets/message-properties.ts';
import { NOTHING_OWN } from './packets/own-properties.ts';
import { PROPERTY } from './packets/properties.ts';
import type { QoS, Version } from './packets/publish.ts';
import type { PublishParts } from './packets/publish-writer.ts';
import { encodePublish, firstByteOf, publishRemainingLength } from './packets/publish-writer.ts';
import { isMqttUtf8 } from './packets/utf8.ts';
import { ATTRIBUTE, isReservedName } from './record-mapping.ts';

const STRING_BYTES_MAX = 65_535;
const EXPIRY_SECONDS_MAX = 0xffff_ffff;

/** Of all views, so that no two ranges have one number. */
let rangeCount = 0;

export class MessageView implements PublishParts {
  topic: Buffer = EMPTY;
  qos: QoS = 0;
  retain = false;
  /** Milliseconds that are left of the message's life; infinite without an expiry. */
  remainingMs = Number.POSITIVE_INFINITY;
  payload: Buffer = EMPTY;
  payloadStart = 0;
  payloadEnd = 0;
  /** More than one client gets it: a QoS 0 packet is then encoded once per form and shared. */
  isShared = false;
  /** Its bytes, or those of a message before it, are on their way to a client from where they lie. */
  isReferenced = false;
  rangeNumber = 0;
  rangeBytes: Buffer = EMPTY;
  rangeEnd = 0;
  /** Position of the expiry's four bytes in {@link properties}, once they are built; −1 = there is none. */
  expiryAt = -1;
  #sharedPacket3: Buffer | undefined;
  #sharedPacket5: Buffer | undefined;

  #clientIdStart = -1;
  #clientIdEnd = -1;
  #expirySeconds = -1;
  #payloadFormat = -1;
  /** Where the attributes lie of what was read, if it has nothing but them; −1 = it has more. */
  #plainStart = -1;
  /** Whether there is anything for {@link buildProperties} to do. */
  #hasProperties = false;
  #propertiesBuilt = false;
  readonly #block = new PropertyBlock();
  readonly #contentType = new Slice();
  readonly #responseTopic = new Slice();
  readonly #correlationData = new Slice();

  /**
   * Reads what the cursor stands on; its attributes are rewound first.
   * @param foreignQos of a record that MQTT did not write.
   */
  read(cursor: RecordCursor, topic: Buffer, nowMs: number, foreignQos: QoS = 1): void {
    this.topic = topic;
    this.qos = foreignQos;
    this.retain = false;
    this.remainingMs = Number.POSITIVE_INFINITY;
    this.payload = cursor.bytes;
    // A tombstone has no value; MQTT has no null.
    this.payloadStart = cursor.valueEnd < 0 ? 0 : cursor.valueStart;
    this.payloadEnd = Math.max(cursor.valueEnd, 0);
    this.#forget();
    this.#hasProperties = cursor.headerCount > 0;
    if (cursor.attributeCount > 0 || cursor.headerCount > 0) this.#readFields(cursor);
    if (this.#expirySeconds >= 0) {
      this.remainingMs = cursor.timestampMs + this.#expirySeconds * 1000 - nowMs;
    }
    this.#plainStart = this.#hasProperties ? -1 : cursor.attributesStart;
  }

  /**
   * Reads a record that has the topic and the attributes of the one read before, and no headers. False when that one has
   * properties or a time to live: it has to be read as any other.
   */
  readLike(cursor: RecordCursor): boolean {
    if (this.#plainStart < 0) return false;
    const moved = cursor.attributesStart - this.#plainStart;
    this.#plainStart = cursor.attributesStart;
    this.payloadStart = cursor.valueEnd < 0 ? 0 : cursor.valueStart;
    this.payloadEnd = Math.max(cursor.valueEnd, 0);
    this.isShared = false;
    this.#sharedPacket3 = undefined;
    this.#sharedPacket5 = undefined;
    if (this.#clientIdStart < 0) return true;
    this.#clientIdStart += moved;
    this.#clientIdEnd += moved;
    return true;
  }

  /** A message that was kept as it is here, see retained/retained-record.ts; there is nothing to build. */
  readStored(topic: Buffer, stored: StoredParts, nowMs: number): void {
    const { bytes, propertiesStart, propertiesEnd } = stored;
    this.topic = topic;
    this.qos = stored.qos;
    this.retain = true;
    this.payload = bytes;
    this.payloadStart = stored.payloadStart;
    this.payloadEnd = bytes.length;
    this.beginRange(bytes, bytes.length);
    this.#forget();
    this.#hasProperties = false;
    this.#clientIdStart = stored.clientIdStart;
    this.#clientIdEnd = stored.clientIdEnd;
    this.#block.copy(bytes, propertiesStart, propertiesEnd);
    this.expiryAt = stored.expiryAt;
    this.remainingMs = Number.POSITIVE_INFINITY;
    if (stored.expiryAt < 0) return;
    const expirySeconds = this.#block.bytes.readUInt32BE(stored.expiryAt);
    this.remainingMs = stored.timestampMs + expirySeconds * 1000 - nowMs;
    const remainingSeconds = Math.min(Math.max(Math.ceil(this.remainingMs / 1000), 0), expirySeconds);
    this.#block.bytes.writeUInt32BE(remainingSeconds, stored.expiryAt);
  }

  /** Messages that are read from now on lie in bytes that do not change below `rangeEnd` while they are. */
  beginRange(rangeBytes: Buffer, rangeEnd: number): void {
    this.rangeNumber = ++rangeCount;
    this.rangeBytes = rangeBytes;
    this.rangeEnd = rangeEnd;
    this.isReferenced = false;
  }

  #forget(): void {
    this.#block.length = 0;
    this.#plainStart = -1;
    this.isShared = false;
    this.expiryAt = -1;
    this.#sharedPacket3 = undefined;
    this.#sharedPacket5 = undefined;
    this.#clientIdStart = -1;
    this.#clientIdEnd = -1;
    this.#expirySeconds = -1;
    this.#propertiesBuilt = false;
  }

  /** Message Expiry Interval, from the record's time on; −1 = none. */
  get expirySeconds(): number {
    return this.#expirySeconds;
  }

  /** Of the MQTT client that published it; undefined when none did. A view of the record. */
  get clientId(): Buffer | undefined {
    if (this.#clientIdStart < 0) return undefined;
    return this.payload.subarray(this.#clientIdStart, this.#clientIdEnd);
  }

  get properties(): Buffer {
    return this.#block.bytes;
  }

  /** Call {@link buildProperties} before a v5 packet is made of it. */
  get propertiesLength(): number {
    return this.#block.length;
  }

  /** The whole PUBLISH at QoS 0, without subscription identifiers. Nobody changes it. */
  sharedPacket(version: Version): Buffer {
    // 3.1 and 3.1.1 have one form.
    if (version === 5) {
      this.#sharedPacket5 ??= encodeShared(this, version);
      return this.#sharedPacket5;
    }
    this.#sharedPacket3 ??= encodeShared(this, version);
    return this.#sharedPacket3;
  }

  isFrom(clientId: Uint8Array): boolean {
    const start = this.#clientIdStart;
    if (start < 0 || this.#clientIdEnd - start !== clientId.length) return false;
    for (let at = 0; at < clientId.length; at++) {
      if (clientId[at] !== this.payload[start + at]) return false;
    }
    return true;
  }

  /** Encodes the properties of MQTT 5, once; the cursor stands where {@link read} left it. */
  buildProperties(cursor: RecordCursor): void {
    if (!this.#hasProperties || this.#propertiesBuilt) return;
    this.#propertiesBuilt = true;
    const block = this.#block;
    if (this.#payloadFormat >= 0) block.byte(PROPERTY.PAYLOAD_FORMAT_INDICATOR, this.#payloadFormat);
    // What is left, rounded up: a message that is sent has not expired (section 3.3.2.3.3).
    if (this.#expirySeconds >= 0) {
      // One that is sent again may be past its time: its exchange has begun.
      const seconds = Math.max(0, Math.ceil(this.remainingMs / 1000));
      block.fourBytes(PROPERTY.MESSAGE_EXPIRY_INTERVAL, seconds);
      this.expiryAt = block.length - 4;
    }
    const bytes = cursor.bytes;
    block.slice(PROPERTY.CONTENT_TYPE, bytes, this.#contentType);
    block.slice(PROPERTY.RESPONSE_TOPIC, bytes, this.#responseTopic);
    block.slice(PROPERTY.CORRELATION_DATA, bytes, this.#correlationData);
    cursor.rewindHeaders();
    while (cursor.nextHeader()) {
      if (!isReservedName(bytes, cursor.nameStart, cursor.nameEnd)) block.userProperty(cursor);
    }
  }

  /** Attributes are MQTT's own; headers of the same names are what others say, and may say of a foreign record. */
  #readFields(cursor: RecordCursor): void {
    this.#payloadFormat = -1;
    this.#contentType.clear();
    this.#responseTopic.clear();
    this.#correlationData.clear();
    cursor.rewindAttributes();
    while (cursor.nextAttribute()) this.#readAttribute(cursor);
    if (this.#clientIdStart >= 0) return;
    cursor.rewindHeaders();
    while (cursor.nextHeader()) {
      if (this.#isRetain(cursor))
        this.retain = digitAt(cursor.bytes, cursor.itemStart, cursor.itemEnd, 1, 0) === 1;
      else this.#readProperty(cursor);
    }
  }

  #isRetain({ bytes, nameStart, nameEnd }: RecordCursor): boolean {
    return nameIs(NAME.RETAIN, bytes, nameStart, nameEnd);
  }

  #readAttribute(cursor: RecordCursor): void {
    const { bytes, nameStart, nameEnd, itemStart, itemEnd } = cursor;
    if (nameIs(NAME.QOS, bytes, nameStart, nameEnd)) {
      this.qos = digitAt(bytes, itemStart, itemEnd, 2, this.qos) as QoS; // 0 to 2
    } else if (nameIs(NAME.CLIENT_ID, bytes, nameStart, nameEnd)) {
      this.#clientIdStart = itemStart;
      this.#clientIdEnd = itemEnd;
    } else if (this.#isRetain(cursor)) {
      this.retain = digitAt(bytes, itemStart, itemEnd, 1, 0) === 1;
    } else {
      this.#readProperty(cursor);
    }
  }

  /** A property of the message itself, from an attribute or a header. */
  #readProperty(cursor: RecordCursor): void {
    const { bytes, nameStart, nameEnd, itemStart, itemEnd } = cursor;
    if (itemEnd < 0 || itemEnd - itemStart > STRING_BYTES_MAX) return;
    if (nameIs(NAME.EXPIRY, bytes, nameStart, nameEnd)) {
      this.#expirySeconds = decimalAt(bytes, itemStart, itemEnd);
    } else if (nameIs(NAME.PAYLOAD_FORMAT, bytes, nameStart, nameEnd)) {
      this.#payloadFormat = digitAt(bytes, itemStart, itemEnd, 1, -1);
    } else if (nameIs(NAME.CORRELATION_DATA, bytes, nameStart, nameEnd)) {
      this.#correlationData.set(itemStart, itemEnd);
    } else if (nameIs(NAME.CONTENT_TYPE, bytes, nameStart, nameEnd)) {
      if (isMqttUtf8(bytes, itemStart, itemEnd)) this.#contentType.set(itemStart, itemEnd);
    } else if (nameIs(NAME.RESPONSE_TOPIC, bytes, nameStart, nameEnd)) {
      const isTopic = isMqttUtf8(bytes, itemStart, itemEnd) && !hasWildcard(bytes, itemStart, itemEnd);
      if (isTopic) this.#responseTopic.set(itemStart, itemEnd);
    } else {
      return;
    }
    this.#hasProperties = true;
  }
}

/** A message that was kept: slices of one buffer, the payload to its end. */
export interface StoredParts {
  readonly qos: QoS;
  readonly expiryAt: number;
  readonly timestampMs: number;
  readonly bytes: Buffer;
  readonly clientIdStart: number;
  readonly clientIdEnd: number;
  readonly propertiesStart: number;
  readonly propertiesEnd: number;
  readonly payloadStart: number;
}

function encodeShared(message: MessageView, version: Version): Buffer {
  const length = publishRemainingLength(message, version, 0, NO_IDENTIFIERS, NOTHING_OWN);
  return encodePublish(firstByteOf(0, false), message, length, version, 0, NO_IDENTIFIERS, NOTHING_OWN);
}

const NO_IDENTIFIERS: readonly number[] = [];

/** Start and end of an optional slice. */
class Slice {
  start = -1;
  end = -1;

  set(start: number, end: number): void {
    this.start = start;
    this.end = end;
  }

  clear(): void {
    this.start = -1;
    this.end = -1;
  }
}

/** Writes properties one behind another into a buffer that grows, and is used again. */
class PropertyBlock {
  bytes: Buffer = EMPTY;
  length = 0;

  copy(source: Buffer, start: number, end: number): void {
    this.#room(end - start);
    copyBytes(source, start, end, this.bytes, this.length);
    this.length += end - start;
  }

  byte(id: number, value: number): void {
    this.#room(2);
    this.bytes[this.length++] = id;
    this.bytes[this.length++] = value;
  }

  fourBytes(id: number, value: number): void {
    this.#room(5);
    this.bytes[this.length++] = id;
    this.length = this.bytes.writeUInt32BE(Math.min(value, EXPIRY_SECONDS_MAX), this.length);
  }

  slice(id: number, source: Buffer, slice: Slice): void {
    if (slice.start < 0) return;
    this.#room(1);
    this.bytes[this.length++] = id;
    this.#string(source, slice.start, slice.end);
  }

  /** MQTT has no null: a header without a value is an empty string. */
  userProperty(cursor: RecordCursor): void {
    const { bytes, nameStart, nameEnd } = cursor;
    const valueStart = cursor.itemEnd < 0 ? 0 : cursor.itemStart;
    const valueEnd = Math.max(cursor.itemEnd, 0);
    if (!isString(bytes, nameStart, nameEnd) || !isString(bytes, valueStart, valueEnd)) return;
    this.#room(1);
    this.bytes[this.length++] = PROPERTY.USER_PROPERTY;
    this.#string(bytes, nameStart, nameEnd);
    this.#string(bytes, valueStart, valueEnd);
  }

  #string(source: Buffer, start: number, end: number): void {
    this.#room(2 + end - start);
    this.length = this.bytes.writeUInt16BE(end - start, this.length);
    copyBytes(source, start, end, this.bytes, this.length);
    this.length += end - start;
  }

  #room(bytes: number): void {
    if (this.length + bytes <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(256, (this.length + bytes) * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}

function isString(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start <= STRING_BYTES_MAX && isMqttUtf8(bytes, start, end);
}

const NAME = {
  CLIENT_ID: Buffer.from(ATTRIBUTE.CLIENT_ID),
  QOS: Buffer.from(ATTRIBUTE.QOS),
  RETAIN: Buffer.from(ATTRIBUTE.RETAIN),
  CONTENT_TYPE: Buffer.from(ATTRIBUTE.CONTENT_TYPE),
  RESPONSE_TOPIC: Buffer.from(ATTRIBUTE.RESPONSE_TOPIC),
  CORRELATION_DATA: Buffer.from(ATTRIBUTE.CORRELATION_DATA),
  PAYLOAD_FORMAT: Buffer.from(ATTRIBUTE.PAYLOAD_FORMAT),
  EXPIRY: Buffer.from(ATTRIBUTE.EXPIRY),
} as const;

/** Most names differ in length; those that do not, in their last byte or before. */
export function nameIs(name: Buffer, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== name.length) return false;
  for (let at = name.length - 1; at >= 0; at--) {
    if (bytes[start + at] !== name[at]) return false;
  }
  return true;
}

/** One decimal digit up to `highest`, or what stands in for anything else. */
function digitAt(bytes: Uint8Array, start: number, end: number, highest: number, other: number): number {
  const digit = end - start === 1 ? bytes[start]! - 0x30 : -1;
  return digit >= 0 && digit <= highest ? digit : other;
}

/** −1 when the bytes are no number that an expiry can be. */
function decimalAt(bytes: Uint8Array, start: number, end: number): number {
  if (end === start || end - start > 10) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= EXPIRY_SECONDS_MAX ? value : -1;
}

const EMPTY = Buffer.alloc(0);
