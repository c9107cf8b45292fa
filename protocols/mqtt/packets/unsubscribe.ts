// UNSUBSCRIBE (section 3.10).
//
//   packet identifier | properties (v5) | topic filter …
import { malformed, protocolError } from '../errors.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PropertyCursor } from './properties.ts';
import type { Version } from './publish.ts';

export interface UnsubscribePacket {
  readonly packetId: number;
  readonly filters: readonly string[];
}

export function readUnsubscribe(
  bytes: Buffer,
  start: number,
  end: number,
  version: Version,
): UnsubscribePacket {
  const reader = new PacketReader(bytes, start, end);
  const packetId = reader.twoByteInteger('Packet Identifier');
  if (packetId === 0) throw protocolError('UNSUBSCRIBE with packet identifier 0 [MQTT-2.2.1-3]');
  if (version === 5) {
    const propertiesEnd = reader.propertiesEnd();
    const cursor = new PropertyCursor();
    cursor.open(bytes, reader.at, propertiesEnd, PLACE.UNSUBSCRIBE);
    while (cursor.next());
    reader.at = propertiesEnd;
  }
  const filters: string[] = [];
  while (reader.remaining > 0) {
    const filter = reader.string('Topic Filter', 'refused');
    if (filter === '') throw malformed('UNSUBSCRIBE with an empty topic filter [MQTT-4.7.3-1]');
    filters.push(filter);
  }
  if (filters.length === 0) throw protocolError('UNSUBSCRIBE without a topic filter [MQTT-3.10.3-2]');
  return { packetId, filters };
}
