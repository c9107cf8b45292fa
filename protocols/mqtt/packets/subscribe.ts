// SUBSCRIBE (section 3.8).
//
//   packet identifier | properties (v5) | { topic filter | options } …
import { malformed, protocolError } from '../errors.ts';
import { FROM_PROPERTY } from '../replay.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PROPERTY, PropertyCursor } from './properties.ts';
import type { QoS, Version } from './publish.ts';

export interface SubscribePacket {
  readonly packetId: number;
  /** 0 = none was given; the protocol has no 0 (section 3.8.2.1.2). */
  readonly identifier: number;
  /** From where on history is asked for; undefined = it is not. See replay.ts. */
  readonly from: string | undefined;
  readonly requests: readonly SubscriptionRequest[];
}

/** What options mean is in section 3.8.3.1; below version 5 all but the QoS are as if not set. */
export interface SubscriptionRequest {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly retainHandling: 0 | 1 | 2;
}

export function readSubscribe(bytes: Buffer, start: number, end: number, version: Version): SubscribePacket {
  const reader = new PacketReader(bytes, start, end);
  const packetId = reader.twoByteInteger('Packet Identifier');
  if (packetId === 0) throw protocolError('SUBSCRIBE with packet identifier 0 [MQTT-2.2.1-3]');
  const { identifier, from } = version === 5 ? readSubscribeProperties(reader) : NO_PROPERTIES;
  const requests: SubscriptionRequest[] = [];
  while (reader.remaining > 0) requests.push(readRequest(reader, version));
  if (requests.length === 0) throw protocolError('SUBSCRIBE without a topic filter [MQTT-3.8.3-2]');
  return { packetId, identifier, from, requests };
}

type SubscribeProperties = Pick<SubscribePacket, 'identifier' | 'from'>;
const NO_PROPERTIES: SubscribeProperties = { identifier: 0, from: undefined };

function readSubscribeProperties(reader: PacketReader): SubscribeProperties {
  const end = reader.propertiesEnd();
  const cursor = new PropertyCursor();
  let identifier = 0;
  let from: string | undefined;
  cursor.open(reader.bytes, reader.at, end, PLACE.SUBSCRIBE);
  while (cursor.next()) {
    if (cursor.id === PROPERTY.SUBSCRIPTION_IDENTIFIER) identifier = cursor.number;
    else if (cursor.id === PROPERTY.USER_PROPERTY) from ??= readFrom(reader.bytes, cursor);
  }
  reader.at = end;
  return { identifier, from };
}

/** The first counts. */
function readFrom(
  bytes: Buffer,
  { nameStart, nameEnd, valueStart, valueEnd }: PropertyCursor,
): string | undefined {
  if (bytes.toString('utf8', nameStart, nameEnd) !== FROM_PROPERTY) return undefined;
  return bytes.toString('utf8', valueStart, valueEnd);
}

function readRequest(reader: PacketReader, version: Version): SubscriptionRequest {
  const filter = reader.string('Topic Filter', 'refused');
  if (filter === '') throw malformed('SUBSCRIBE with an empty topic filter [MQTT-4.7.3-1]');
  const options = reader.byte('Subscription Options');
  const qos = options & 3;
  const retainHandling = (options >> 4) & 3;
  // [MQTT-3.8.3-5]; in 3.1.1 six bits are reserved [MQTT-3.8.3-4], in 3.1 they are not looked at.
  const reserved = version === 5 ? 0xc0 : version === 4 ? 0xfc : 0;
  if ((options & reserved) !== 0) throw malformed('SUBSCRIBE with reserved options');
  if (qos === 3) throw protocolError('SUBSCRIBE with QoS 3 (section 3.8.3.1)');
  if (version < 5) {
    return { filter, qos: qos as QoS, noLocal: false, retainAsPublished: false, retainHandling: 0 };
  }
  if (retainHandling === 3) throw protocolError('SUBSCRIBE with retain handling 3 (section 3.8.3.1)');
  return {
    filter,
    qos: qos as QoS, // 3 has been refused
    noLocal: (options & 4) !== 0,
    retainAsPublished: (options & 8) !== 0,
    retainHandling: retainHandling as 0 | 1 | 2, // 3 has been refused
  };
}
