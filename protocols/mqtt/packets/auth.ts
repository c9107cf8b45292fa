// AUTH from a client (section 3.15).
//
//   reason code (absent = 0x00) | properties (absent = none)
import { malformed, protocolError } from '../errors.ts';
import { PacketReader } from './packet-reader.ts';
import { PLACE, PROPERTY, PropertyCursor } from './properties.ts';

/** Reason codes of AUTH (table 3-11). */
export const AUTH_REASON = { SUCCESS: 0x00, CONTINUE: 0x18, RE_AUTHENTICATE: 0x19 } as const;

/** @returns its reason code. */
export function readAuth(bytes: Buffer, start: number, end: number): number {
  const reader = new PacketReader(bytes, start, end);
  if (reader.remaining === 0) return AUTH_REASON.SUCCESS;
  const reasonCode = reader.byte('Reason Code');
  let namesMethod = false;
  if (reader.remaining > 0) {
    const propertiesEnd = reader.propertiesEnd();
    const cursor = new PropertyCursor();
    cursor.open(bytes, reader.at, propertiesEnd, PLACE.AUTH);
    while (cursor.next()) if (cursor.id === PROPERTY.AUTHENTICATION_METHOD) namesMethod = true;
    reader.at = propertiesEnd;
  }
  if (reader.remaining > 0) throw malformed('AUTH with bytes behind its properties');
  // [MQTT-3.15.2-1]; 0x00 is the server's to say.
  if (reasonCode !== AUTH_REASON.CONTINUE && reasonCode !== AUTH_REASON.RE_AUTHENTICATE) {
    throw protocolError(`A client may not say AUTH 0x${reasonCode.toString(16)}`);
  }
  if (!namesMethod) throw protocolError('AUTH without its authentication method (section 3.15.2.2.2)');
  return reasonCode;
}
