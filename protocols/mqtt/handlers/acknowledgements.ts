// PUBACK, PUBREC, PUBREL and PUBCOMP (sections 3.4 to 3.7): the client's half of the exchanges at QoS 1 and 2.
import type { PacketHandler } from '../client.ts';
import { PACKET_TYPE } from '../framing.ts';
import { readAcknowledgement } from '../packets/acknowledgement.ts';
import type { Session } from '../session.ts';

// Reused from packet to packet.
const fields = { packetId: 0, reasonCode: 0 };

export const pubackHandler = handlerOf(PACKET_TYPE.PUBACK, 'PUBACK', (session) =>
  session.puback(fields.packetId),
);

export const pubrecHandler = handlerOf(PACKET_TYPE.PUBREC, 'PUBREC', (session) =>
  session.pubrec(fields.packetId, fields.reasonCode),
);

export const pubrelHandler = handlerOf(PACKET_TYPE.PUBREL, 'PUBREL', (session) =>
  session.pubrel(fields.packetId),
);

export const pubcompHandler = handlerOf(PACKET_TYPE.PUBCOMP, 'PUBCOMP', (session) =>
  session.pubcomp(fields.packetId),
);

function handlerOf(type: number, name: string, act: (session: Session) => void): PacketHandler {
  return {
    type,
    name,
    handle({ session }, _firstByte, bytes, start, end) {
      readAcknowledgement(fields, type, bytes, start, end, session.version);
      act(session);
      return undefined;
    },
  };
}
