// PUBLISH to a client (section 3.3), written straight into where it leaves from. Its parts are positions in the log's own
// bytes; only what differs from client to client is put in between.
import { copyBytes } from '../copy-bytes.ts';
import type { OwnProperties } from './own-properties.ts';
import { PROPERTY } from './properties.ts';
import type { QoS, Version } from './publish.ts';
import { variableByteIntegerLength, writeVariableByteInteger } from './publish.ts';

/** What is the same for every client that a message goes to. */
export interface PublishParts {
  /** The topic name behind its two bytes of length. */
  readonly topic: Buffer;
  /** Properties without their length and without subscription identifiers, from 0 to `propertiesLength`. */
  readonly properties: Buffer;
  readonly propertiesLength: number;
  readonly payload: Buffer;
  readonly payloadStart: number;
  readonly payloadEnd: number;
}

/** Of the remaining length (section 2.1.4), payload included. */
export function publishRemainingLength(
  parts: PublishParts,
  version: Version,
  qos: QoS,
  identifiers: readonly number[],
  own: OwnProperties,
): number {
  const topicLength = own.hidesTopic ? NO_TOPIC.length : parts.topic.length;
  let length = topicLength + parts.payloadEnd - parts.payloadStart;
  if (qos > 0) length += 2;
  if (version === 5) {
    const properties = parts.propertiesLength + own.length + identifiersLength(identifiers);
    length += variableByteIntegerLength(properties) + properties;
  }
  return length;
}

/**
 * Writes all but the payload.
 * @param packetId 0 at QoS 0
 * @returns the position behind it.
 */
export function writePublishHead(
  target: Buffer,
  start: number,
  firstByte: number,
  remainingLength: number,
  parts: PublishParts,
  version: Version,
  packetId: number,
  identifiers: readonly number[],
  own: OwnProperties,
): number {
  target[start] = firstByte;
  let at = writeVariableByteInteger(target, start + 1, remainingLength);
  const topic = own.hidesTopic ? NO_TOPIC : parts.topic;
  copyBytes(topic, 0, topic.length, target, at);
  at += topic.length;
  if (packetId > 0) {
    target[at++] = packetId >> 8;
    target[at++] = packetId & 0xff;
  }
  return version === 5 ? writeProperties(target, at, parts, identifiers, own) : at;
}

function writeProperties(
  target: Buffer,
  start: number,
  parts: PublishParts,
  identifiers: readonly number[],
  own: OwnProperties,
): number {
  const length = parts.propertiesLength;
  let at = writeVariableByteInteger(target, start, length + own.length + identifiersLength(identifiers));
  for (let index = 0; index < identifiers.length; index++) {
    target[at++] = PROPERTY.SUBSCRIPTION_IDENTIFIER;
    at = writeVariableByteInteger(target, at, identifiers[index]!);
  }
  if (own.length > 0) copyBytes(own.bytes, 0, own.length, target, at);
  at += own.length;
  if (length > 0) copyBytes(parts.properties, 0, length, target, at);
  return at + length;
}

function identifiersLength(identifiers: readonly number[]): number {
  let length = 0;
  for (let index = 0; index < identifiers.length; index++) {
    length += 1 + variableByteIntegerLength(identifiers[index]!);
  }
  return length;
}

/** A topic name of no bytes, behind its length. */
const NO_TOPIC = Buffer.alloc(2);

export const DUP = 0x08;

export function firstByteOf(qos: QoS, retain: boolean): number {
  return 0x30 | (qos << 1) | (retain ? 1 : 0);
}

/** A packet of so much remaining length, with its fixed header. */
export function packetLength(remainingLength: number): number {
  return 1 + variableByteIntegerLength(remainingLength) + remainingLength;
}

/** The whole packet in bytes of its own. */
export function encodePublish(
  firstByte: number,
  parts: PublishParts,
  remainingLength: number,
  version: Version,
  packetId: number,
  identifiers: readonly number[],
  own: OwnProperties,
): Buffer {
  const { payload, payloadStart, payloadEnd } = parts;
  const packet = Buffer.allocUnsafe(packetLength(remainingLength));
  const at = writePublishHead(
    packet,
    0,
    firstByte,
    remainingLength,
    parts,
    version,
    packetId,
    identifiers,
    own,
  );
  copyBytes(payload, payloadStart, payloadEnd, packet, at);
  return packet;
}
