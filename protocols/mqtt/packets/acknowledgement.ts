// PUBACK, PUBREC, PUBREL and PUBCOMP (sections 3.4 to 3.7): four packets of one layout.
//
//   packet identifier | reason code (v5, absent = 0x00) | properties (v5, absent = none)
import { malformed, protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { REASON } from '../reason-codes.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PropertyCursor } from './properties.ts';
import type { Version } from './publish.ts';

/** First bytes; PUBREL has the flags 0010 [MQTT-3.6.1-1]. */
export const ACKNOWLEDGEMENT = { PUBACK: 0x40, PUBREC: 0x50, PUBREL: 0x62, PUBCOMP: 0x70 } as const;

/** Packet identifier and reason code of the packet read last; reused. */
export interface AcknowledgementFields {
  packetId: number;
  reasonCode: number;
}

/** Tables 3-4 and 3-5; 0x10 is the server's alone to say. */
const PUBLISH_REASONS = new Set([0x00, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]);
/** Tables 3-6 and 3-7. */
const RELEASE_REASONS = new Set([0x00, 0x92]);

export function readAcknowledgement(
  fields: AcknowledgementFields,
  type: number,
  bytes: Buffer,
  start: number,
  end: number,
  version: Version,
): void {
  const length = end - start;
  if (length < 2 || (version < 5 && length > 2)) throw malformed('An acknowledgement of the wrong length');
  fields.packetId = (bytes[start]! << 8) | bytes[start + 1]!;
  fields.reasonCode = REASON.SUCCESS;
  if (fields.packetId === 0) throw protocolError('An acknowledgement of packet identifier 0');
  if (length > 2) readReason(fields, type, bytes, start + 2, end);
}

function readReason(
  fields: AcknowledgementFields,
  type: number,
  bytes: Buffer,
  start: number,
  end: number,
): void {
  const reader = new PacketReader(bytes, start, end);
  fields.reasonCode = reader.byte('Reason Code');
  const allowed =
    type === PACKET_TYPE.PUBACK || type === PACKET_TYPE.PUBREC ? PUBLISH_REASONS : RELEASE_REASONS;
  if (reader.remaining > 0) {
    const propertiesEnd = reader.propertiesEnd();
    const cursor = new PropertyCursor();
    cursor.open(bytes, reader.at, propertiesEnd, PLACE.ACKNOWLEDGEMENT);
    while (cursor.next());
    reader.at = propertiesEnd;
    reader.expectEnd('An acknowledgement');
  }
  if (!allowed.has(fields.reasonCode)) {
    throw protocolError(`An acknowledgement may not say 0x${fields.reasonCode.toString(16)}`);
  }
}

/** Bytes that {@link writeAcknowledgement} takes. */
export function acknowledgementLength(reasonCode: number, version: Version): number {
  return reasonCode === REASON.SUCCESS || version < 5 ? 4 : 5;
}

/** A reason code is left out when it is 0x00 (section 3.4.2.1), and below version 5 there is none. */
export function writeAcknowledgement(
  target: Uint8Array,
  at: number,
  firstByte: number,
  packetId: number,
  reasonCode: number,
  version: Version,
): void {
  const length = acknowledgementLength(reasonCode, version);
  target[at] = firstByte;
  target[at + 1] = length - 2;
  target[at + 2] = packetId >> 8;
  target[at + 3] = packetId & 0xff;
  if (length === 5) target[at + 4] = reasonCode;
}
