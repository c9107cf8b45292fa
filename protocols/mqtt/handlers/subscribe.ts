// SUBSCRIBE (section 3.8). A subscription starts now: what was committed before this packet was handled is not for it,
// and nothing that is committed after it is missed.
import type { ConnectedClient, PacketHandler } from '../client.ts';
import type { NewSubscription } from '../dispatchers.ts';
import { protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import { encodeSuback } from '../packets/cold-packets.ts';
import type { SubscribePacket, SubscriptionRequest } from '../packets/subscribe.ts';
import { readSubscribe } from '../packets/subscribe.ts';
import { isFailure, REASON, SUBACK_FAILURE_3 } from '../reason-codes.ts';
import { RetainedDelivery } from '../retained/retained-delivery.ts';
import type { RetainedRequest } from '../retained/retained-request.ts';
import type { Session } from '../session.ts';
import { subscriptionBytesMax } from '../subscription-tree.ts';
import { checkTopicFilter, isShared, levelCount } from '../topic-filter.ts';

export const subscribeHandler: PacketHandler = {
  type: PACKET_TYPE.SUBSCRIBE,
  name: 'SUBSCRIBE',
  handle(client, _firstByte, bytes, start, end) {
    const { session } = client;
    const packet = readSubscribe(bytes, start, end, session.version);
    // All of them before the first takes effect: a packet that ends the connection does nothing else.
    for (const request of packet.requests) checkRequest(request);
    const added: Added = { filters: new Set(), bytes: 0 };
    const codes = packet.requests.map((request) => codeOf(client, request, added));
    const subscriptions = granted(client, packet, codes);
    const requests = retainedRequests(client, packet, codes);
    client.context.dispatchers.subscribe(subscriptions);
    if (subscriptions.length > 0) session.durable?.changed();
    session.sendDurably(encodeSuback(session.version, packet.packetId, codes));
    if (requests.length > 0) retainedDeliveryOf(client).add(requests);
    return undefined;
  },
};

/** Filters of one packet that the client has not had before, and what they take at most. */
interface Added {
  readonly filters: Set<string>;
  bytes: number;
}

function checkRequest({ filter, noLocal }: SubscriptionRequest): void {
  checkTopicFilter(filter);
  if (noLocal && isShared(filter)) throw protocolError('No Local on a shared subscription [MQTT-3.8.3-4]');
}

/** The code that SUBACK gives for one filter [MQTT-3.8.4-5]. */
function codeOf(client: ConnectedClient, request: SubscriptionRequest, added: Added): number {
  const refusal = refusalOf(client, request, added);
  if (!isFailure(refusal)) return request.qos;
  return client.session.version === 5 ? refusal : SUBACK_FAILURE_3;
}

function granted(
  { session }: ConnectedClient,
  { requests, identifier }: SubscribePacket,
  codes: readonly number[],
): NewSubscription[] {
  return requests
    .filter((_request, index) => !isFailure(codes[index]!))
    .map(({ filter, qos, noLocal, retainAsPublished }) => ({
      subscriber: session,
      filter,
      qos,
      noLocal,
      retainAsPublished,
      identifier,
    }));
}

/** Retain Handling (section 3.8.3.1): below version 5 it is 0, always. */
function retainedRequests(
  { session }: ConnectedClient,
  { requests, identifier }: SubscribePacket,
  codes: readonly number[],
): RetainedRequest[] {
  return requests
    .filter(({ filter, retainHandling }, index) => {
      if (isFailure(codes[index]!) || retainHandling === 2) return false;
      return retainHandling === 0 || !session.subscriptions.has(filter);
    })
    .map(({ filter, qos, noLocal }) => ({ filter, qos, noLocal, identifier }));
}

function retainedDeliveryOf({ session, context }: ConnectedClient): NonNullable<Session['retained']> {
  const { retained, routes, hub, counters } = context;
  const { topics, clock, log } = hub;
  session.retained ??= new RetainedDelivery({ session, retained, routes, topics, clock, log, counters });
  return session.retained;
}

function refusalOf(
  { session, context }: ConnectedClient,
  { filter }: SubscriptionRequest,
  added: Added,
): number {
  const { topicLevelsMax, subscriptionsMax, subscriptionBytesTotalMax } = context.options;
  if (isShared(filter)) return REASON.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED;
  if (levelCount(filter) > topicLevelsMax) return REASON.TOPIC_FILTER_INVALID;
  if (session.subscriptions.has(filter) || added.filters.has(filter)) return REASON.SUCCESS;
  if (session.subscriptions.size + added.filters.size >= subscriptionsMax) return REASON.QUOTA_EXCEEDED;
  const bytes = added.bytes + subscriptionBytesMax(filter);
  if (context.dispatchers.heldBytes + bytes > subscriptionBytesTotalMax) return REASON.QUOTA_EXCEEDED;
  added.bytes = bytes;
  added.filters.add(filter);
  return REASON.SUCCESS;
}
