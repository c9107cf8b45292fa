// PINGREQ (section 3.12).
import type { PacketHandler } from '../client.ts';
import { malformed } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { PINGRESP } from '../packets/cold-packets.ts';

export const pingreqHandler: PacketHandler = {
  type: PACKET_TYPE.PINGREQ,
  name: 'PINGREQ',
  handle({ output, context }, _firstByte, _bytes, start, end) {
    if (start !== end) throw malformed('PINGREQ has no body');
    context.counters.sent[PACKET_TYPE.PINGRESP]!++;
    output.write(PINGRESP);
    return undefined;
  },
};
