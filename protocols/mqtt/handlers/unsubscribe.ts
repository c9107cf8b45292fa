// UNSUBSCRIBE (section 3.10).
import type { PacketHandler } from '../client.ts';
import { PACKET_TYPE } from '../framing.ts';
import { encodeUnsuback } from '../packets/cold-packets.ts';
import { readUnsubscribe } from '../packets/unsubscribe.ts';
import { REASON } from '../reason-codes.ts';
import { splitReplayFilter } from '../replay.ts';
import { checkTopicFilter, isShared } from '../topic-filter.ts';

export const unsubscribeHandler: PacketHandler = {
  type: PACKET_TYPE.UNSUBSCRIBE,
  name: 'UNSUBSCRIBE',
  handle({ session, context }, _firstByte, bytes, start, end) {
    const packet = readUnsubscribe(bytes, start, end, session.version);
    const filters = packet.filters.map((filter) => splitReplayFilter(filter).filter);
    for (const filter of filters) checkTopicFilter(filter);
    const codes = context.dispatchers
      .unsubscribe(session, filters)
      .map((existed) => (existed ? REASON.SUCCESS : REASON.NO_SUBSCRIPTION_EXISTED));
    for (const filter of filters) if (isShared(filter)) context.shared.leave(session, filter);
    session.durable?.unsubscribed(filters);
    session.sendDurably(encodeUnsuback(session.version, packet.packetId, codes));
    return undefined;
  },
};
