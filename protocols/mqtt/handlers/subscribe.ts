// SUBSCRIBE (section 3.8). A subscription starts now: what was committed before this packet was handled is not for it,
// and nothing that is committed after it is missed.
import type { ConnectedClient, PacketHandler } from '../client.ts';
import { protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { encodeSuback } from '../packets/cold-packets.ts';
import type { SubscribePacket, SubscriptionRequest } from '../packets/subscribe.ts';
import { readSubscribe } from '../packets/subscribe.ts';
import { isFailure, REASON, SUBACK_FAILURE_3 } from '../reason-codes.ts';
import { checkTopicFilter, isShared, levelCount } from '../topic-filter.ts';

export const subscribeHandler: PacketHandler = {
  type: PACKET_TYPE.SUBSCRIBE,
  name: 'SUBSCRIBE',
  handle(client, _firstByte, bytes, start, end) {
    const { session } = client;
    const packet = readSubscribe(bytes, start, end, session.version);
    // All of them before the first takes effect: a packet that ends the connection does nothing else.
    for (const request of packet.requests) checkRequest(request);
    const codes = packet.requests.map((request) => subscribe(client, packet, request));
    client.output.write(encodeSuback(session.version, packet.packetId, codes));
    return undefined;
  },
};

function checkRequest({ filter, noLocal }: SubscriptionRequest): void {
  checkTopicFilter(filter);
  if (noLocal && isShared(filter)) throw protocolError('No Local on a shared subscription [MQTT-3.8.3-4]');
}

/** The code that SUBACK gives for one filter [MQTT-3.8.4-5]. */
function subscribe(client: ConnectedClient, packet: SubscribePacket, request: SubscriptionRequest): number {
  const { session, context } = client;
  const refusal = refusalOf(client, request);
  if (isFailure(refusal)) return session.version === 5 ? refusal : SUBACK_FAILURE_3;
  context.dispatchers.subscribe({
    subscriber: session,
    filter: request.filter,
    qos: request.qos,
    noLocal: request.noLocal,
    retainAsPublished: request.retainAsPublished,
    identifier: packet.identifier,
  });
  return request.qos;
}

function refusalOf({ session, context }: ConnectedClient, { filter }: SubscriptionRequest): number {
  const { topicLevelsMax, subscriptionsMax } = context.options;
  if (isShared(filter)) return REASON.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED;
  if (levelCount(filter) > topicLevelsMax) return REASON.TOPIC_FILTER_INVALID;
  const isNew = !session.subscriptions.has(filter);
  return isNew && session.subscriptions.size >= subscriptionsMax ? REASON.QUOTA_EXCEEDED : REASON.SUCCESS;
}
