// DISCONNECT from a client (section 3.14); the server's own is encoded in cold-packets.ts.
//
//   reason code (v5, absent = 0x00) | properties (v5, absent = none)
import { malformed, protocolError } from '../errors.ts';
import { REASON } from '../reason-codes.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PROPERTY, PropertyCursor } from './properties.ts';
import type { Version } from './publish.ts';

export interface DisconnectPacket {
  readonly reasonCode: number;
  /** Undefined = as CONNECT said. */
  readonly sessionExpirySeconds: number | undefined;
}

/** Table 3-13, those that a client may send. */
const CLIENT_REASONS = new Set([
  0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
]);

export function readDisconnect(
  bytes: Buffer,
  start: number,
  end: number,
  version: Version,
): DisconnectPacket {
  const reader = new PacketReader(bytes, start, end);
  if (version < 5 || reader.remaining === 0) {
    reader.expectEnd('DISCONNECT');
    return { reasonCode: REASON.SUCCESS, sessionExpirySeconds: undefined };
  }
  const reasonCode = reader.byte('Reason Code');
  let sessionExpirySeconds: number | undefined;
  if (reader.remaining > 0) {
    const propertiesEnd = reader.propertiesEnd();
    const cursor = new PropertyCursor();
    cursor.open(bytes, reader.at, propertiesEnd, PLACE.DISCONNECT);
    while (cursor.next()) {
      if (cursor.id === PROPERTY.SESSION_EXPIRY_INTERVAL) sessionExpirySeconds = cursor.number;
    }
    reader.at = propertiesEnd;
  }
  if (reader.remaining > 0) throw malformed('DISCONNECT with bytes behind its properties');
  if (!CLIENT_REASONS.has(reasonCode)) {
    throw protocolError(`A client may not disconnect with 0x${reasonCode.toString(16)}`);
  }
  return { reasonCode, sessionExpirySeconds };
}
