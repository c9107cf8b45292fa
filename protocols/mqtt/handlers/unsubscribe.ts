// UNSUBSCRIBE (section 3.10).
import type { PacketHandler } from '../client.ts';
import { PACKET_TYPE } from '../framing.ts';
import { encodeUnsuback } from '../packets/cold-packets.ts';
import { readUnsubscribe } from '../packets/unsubscribe.ts';
import { REASON } from '../reason-codes.ts';
import { checkTopicFilter } from '../topic-filter.ts';

export const unsubscribeHandler: PacketHandler = {
  type: PACKET_TYPE.UNSUBSCRIBE,
  name: 'UNSUBSCRIBE',
  handle({ session, context }, _firstByte, bytes, start, end) {
    const packet = readUnsubscribe(bytes, start, end, session.version);
    for (const filter of packet.filters) checkTopicFilter(filter);
    const codes = context.dispatchers
      .unsubscribe(session, packet.filters)
      .map((existed) => (existed ? REASON.SUCCESS : REASON.NO_SUBSCRIPTION_EXISTED));
    session.durable?.changed();
    session.sendDurably(encodeUnsuback(session.version, packet.packetId, codes));
    return undefined;
  },
};
