// PUBLISH (section 3.3), the hot packet: read to positions without making an object, written straight into a
// connection's output.
//
//   byte 1   0011 DUP QoS QoS RETAIN
//   topic name (string) | packet identifier (QoS 1 and 2) | properties (v5) | payload (the rest)
import { malformed, protocolError } from '../errors.ts';

export type Version = 3 | 4 | 5;
export type QoS = 0 | 1 | 2;

/** Where the parts of a PUBLISH lie in the bytes it was read from. Reused from packet to packet. */
export interface PublishBounds {
  qos: QoS;
  retain: boolean;
  topicStart: number;
  topicEnd: number;
  /** 0 at QoS 0. */
  packetId: number;
  /** Of the property block without its length; equal when there is none. */
  propertiesStart: number;
  propertiesEnd: number;
  payloadStart: number;
  payloadEnd: number;
}

export function publishBounds(): PublishBounds {
  return {
    qos: 0,
    retain: false,
    topicStart: 0,
    topicEnd: 0,
    packetId: 0,
    propertiesStart: 0,
    propertiesEnd: 0,
    payloadStart: 0,
    payloadEnd: 0,
  };
}

/**
 * Reads the layout. What the topic name and the properties hold is not looked at: a topic name is judged when it is
 * first seen, see routes.ts, the properties by {@link MessageProperties}.
 */
export function readPublish(
  bounds: PublishBounds,
  firstByte: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  version: Version,
): void {
  const qos = (firstByte >> 1) & 3;
  if (qos === 3) throw malformed('PUBLISH with QoS 3 [MQTT-3.3.1-4]');
  if (qos === 0 && (firstByte & 8) !== 0) throw malformed('PUBLISH at QoS 0 with DUP [MQTT-3.3.1-2]');
  bounds.qos = qos as QoS; // 3 has been refused
  bounds.retain = (firstByte & 1) !== 0;
  let at = start + 2;
  if (at > end) throw malformed('PUBLISH ends within its topic name');
  bounds.topicStart = at;
  at += (bytes[start]! << 8) | bytes[start + 1]!;
  if (at > end) throw malformed('PUBLISH ends within its topic name');
  bounds.topicEnd = at;
  bounds.packetId = 0;
  if (qos > 0) {
    if (at + 2 > end) throw malformed('PUBLISH ends within its packet identifier');
    bounds.packetId = (bytes[at]! << 8) | bytes[at + 1]!;
    if (bounds.packetId === 0) throw protocolError('PUBLISH with packet identifier 0 [MQTT-2.2.1-3]');
    at += 2;
  }
  bounds.propertiesStart = at;
  bounds.propertiesEnd = at;
  if (version === 5) at = readPropertyBounds(bounds, bytes, at, end);
  bounds.payloadStart = at;
  bounds.payloadEnd = end;
}

function readPropertyBounds(bounds: PublishBounds, bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    if (at >= end) throw malformed('PUBLISH ends within its property length');
    const byte = bytes[at++]!;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (byte === 0 && shift > 0) throw malformed('Property Length takes more bytes than it needs');
      break;
    }
    if (shift === 21) throw malformed('Property Length takes more than four bytes');
  }
  if (at + length > end) throw malformed('PUBLISH ends within its properties');
  bounds.propertiesStart = at;
  bounds.propertiesEnd = at + length;
  return at + length;
}

/** Bytes that a variable byte integer takes (section 1.5.5). */
export function variableByteIntegerLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : 4;
}

/** @returns the position behind it. */
export function writeVariableByteInteger(target: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/** Largest remaining length that four bytes can say (section 2.1.4). */
export const REMAINING_LENGTH_MAX = 268_435_455;
