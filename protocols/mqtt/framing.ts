// Where packets begin and end in a stream of bytes (section 2.1). Pure: no sockets, no copies; a length is
// judged against the limit before anybody waits for what it announces.

export const FRAME = {
  /** The bytes end before the packet does; nothing is wrong yet. */
  NEED_MORE: 0,
  COMPLETE: 1,
  /** A remaining length of more than four bytes, or longer than it needs to be [MQTT-1.5.5-1]. */
  MALFORMED: 2,
  TOO_LARGE: 3,
} as const;

export type FrameOutcome = (typeof FRAME)[keyof typeof FRAME];

/** Positions in the bytes given to {@link findFrame}; reused from packet to packet. */
export interface FrameBounds {
  bodyStart: number;
  bodyEnd: number;
}

/** Control packet types (table 2-1), the upper half of a packet's first byte. */
export const PACKET_TYPE = {
  CONNECT: 1,
  CONNACK: 2,
  PUBLISH: 3,
  PUBACK: 4,
  PUBREC: 5,
  PUBREL: 6,
  PUBCOMP: 7,
  SUBSCRIBE: 8,
  SUBACK: 9,
  UNSUBSCRIBE: 10,
  UNSUBACK: 11,
  PINGREQ: 12,
  PINGRESP: 13,
  DISCONNECT: 14,
  AUTH: 15,
} as const;

/**
 * Looks for one packet at `start`.
 * @param bytesMax largest packet allowed, fixed header included.
 * @returns `bounds` is set when COMPLETE; when NEED_MORE, `bodyEnd` is where the packet will end, 0 if unknown.
 */
export function findFrame(
  bytes: Uint8Array,
  start: number,
  end: number,
  bytesMax: number,
  bounds: FrameBounds,
): FrameOutcome {
  bounds.bodyEnd = 0;
  let at = start + 1;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    if (at >= end) return FRAME.NEED_MORE;
    const byte = bytes[at]!;
    at++;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (byte === 0 && shift > 0) return FRAME.MALFORMED;
      break;
    }
    if (shift === 21) return FRAME.MALFORMED;
  }
  if (at - start + length > bytesMax) return FRAME.TOO_LARGE;
  bounds.bodyStart = at;
  bounds.bodyEnd = at + length;
  return at + length <= end ? FRAME.COMPLETE : FRAME.NEED_MORE;
}

/**
 * Whether the flags in a first byte are those that its type demands [MQTT-2.1.3-1]; PUBLISH says its own. In 3.1 other
 * packets too are sent again with DUP, and bits that have no meaning are not looked at (3.1 section 2.1).
 * @param version of the protocol: 3 is 3.1, 4 is 3.1.1.
 */
export function flagsAreLegal(firstByte: number, version: 3 | 4 | 5): boolean {
  if (version === 3) return true;
  const type = firstByte >> 4;
  const flags = firstByte & 0x0f;
  switch (type) {
    case PACKET_TYPE.PUBLISH:
      return true;
    case PACKET_TYPE.PUBREL:
    case PACKET_TYPE.SUBSCRIBE:
    case PACKET_TYPE.UNSUBSCRIBE:
      return flags === 0b0010;
    default:
      return flags === 0;
  }
}
