// SUBSCRIBE (section 3.8). A subscription starts now: what was committed before this packet was handled is not for it,
// and nothing that is committed after it is missed.
import type { Partition, Refused } from '../../port.ts';
import type { ConnectedClient, PacketHandler } from '../client.ts';
import { hookClientOf, retainedSurroundings } from '../client.ts';
import type { NewSubscription } from '../dispatchers.ts';
import { protocolError } from '../errors.ts';
import { PACKET_TYPE } from '../framing.ts';
import type { MqttOptions } from '../options.ts';
import { encodeSuback } from '../packets/cold-packets.ts';
import type { SubscribePacket, SubscriptionRequest } from '../packets/subscribe.ts';
import { readSubscribe } from '../packets/subscribe.ts';
import { isFailure, REASON, REFUSAL_REASON, SUBACK_FAILURE_3 } from '../reason-codes.ts';
import type { ReplayStart } from '../replay.ts';
import { parseReplayStart, replayOffsets, splitReplayFilter } from '../replay.ts';
import { retainedDeliveryOf } from '../retained/retained-delivery.ts';
import type { RetainedRequest } from '../retained/retained-request.ts';
import type { Session } from '../session.ts';
import { subscriptionBytesMax } from '../subscription-tree.ts';
import { checkTopicFilter, isShared, levelCount, wildcardCount } from '../topic-filter.ts';

export const subscribeHandler: PacketHandler = {
  type: PACKET_TYPE.SUBSCRIBE,
  name: 'SUBSCRIBE',
  handle(client, _firstByte, bytes, start, end) {
    const { session } = client;
    const packet = readReplays(readSubscribe(bytes, start, end, session.version));
    // All of them before the first takes effect: a packet that ends the connection does nothing else.
    for (const request of packet.requests) checkRequest(request);
    const preparing = prepare(client, packet);
    if (preparing !== undefined) return preparing;
    const added: Added = { filters: new Set(), bytes: 0 };
    const codes = packet.requests.map((request) => codeOf(client, request, added));
    const subscriptions = granted(client, packet, codes);
    const requests = retainedRequests(client, packet, codes);
    client.context.dispatchers.subscribe(subscriptions);
    joinGroups(client, packet, codes);
    prepared.delete(client);
    if (subscriptions.length > 0) session.durable?.subscribed(subscriptions.map(({ filter }) => filter));
    session.sendDurably(subackOf(session, packet.packetId, codes));
    if (requests.length > 0) {
      client.context.sys.greet(session, requests);
      retainedDeliveryOf(session, retainedSurroundings(client.context)).add(requests);
    }
    return undefined;
  },
};

/** A filter, and from where on its history is asked for. */
interface Request extends SubscriptionRequest {
  readonly from: string | undefined;
}

interface Packet extends SubscribePacket {
  readonly requests: readonly Request[];
}

function readReplays(packet: SubscribePacket): Packet {
  const requests = packet.requests.map((request) => {
    const { filter, from } = splitReplayFilter(request.filter);
    return { ...request, filter, from: from ?? packet.from };
  });
  return { ...packet, requests };
}

/** What the packet at hand had to wait for. */
interface Prepared {
  /** By what was asked; undefined = they cannot be found. */
  readonly offsets: ReadonlyMap<string, ReadonlyMap<Partition, number> | undefined>;
  /** Shared filters that could not be stored, and why. */
  readonly refused: ReadonlyMap<string, Refused>;
}
const prepared = new WeakMap<ConnectedClient, Prepared>();

/** Offsets of a time are found in the logs, and groups are on disk before SUBACK: the packet comes again then. */
function prepare(client: ConnectedClient, { requests }: Packet): undefined | Promise<void> {
  if (prepared.has(client)) return undefined;
  const { hub, shared } = client.context;
  const starts = new Map<string, ReplayStart>();
  const groups: Promise<readonly [string, Refused | undefined]>[] = [];
  for (const { filter, from } of requests) {
    const isGroup = isShared(filter) && from === undefined && !shared.isFull(filter);
    const stored = isGroup ? shared.prepare(filter, client.session) : undefined;
    if (stored !== undefined) groups.push(stored.then((refused) => [filter, refused] as const));
    const start = from === undefined ? undefined : parseReplayStart(from, client.receivedAtMs);
    if (from !== undefined && start !== undefined) starts.set(from, start);
  }
  if (starts.size === 0 && groups.length === 0) return undefined;
  const searches = [...starts].map(async ([from, start]) => {
    const offsets = await replayOffsets(hub, start).catch((error: unknown) => {
      hub.log.error('mqtt-replay-failed', { clientId: client.session.clientId, error });
      return undefined;
    });
    return [from, offsets] as const;
  });
  return Promise.all([Promise.all(searches), Promise.all(groups)]).then(([found, stored]) => {
    const refused = stored.flatMap(([filter, why]) => (why === undefined ? [] : [[filter, why] as const]));
    prepared.set(client, { offsets: new Map(found), refused: new Map(refused) });
  });
}

/** What section 3.9.3 has for a kind of subscription that is not to be had here. */
const REPLAY_FORBIDDEN = REASON.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED;

/** In words, where the client wants them and takes a packet of the size [MQTT-3.9.2-1]. */
function subackOf(session: Session, packetId: number, codes: readonly number[]): Buffer {
  const failure = codes.find(isFailure);
  const reason = failure === undefined || !session.wantsReasons ? undefined : REFUSED_BECAUSE[failure];
  const packet = encodeSuback(session.version, packetId, codes, reason);
  return packet.length <= session.packetBytesMax ? packet : encodeSuback(session.version, packetId, codes);
}

const REFUSED_BECAUSE: Readonly<Record<number, string>> = {
  [REASON.IMPLEMENTATION_SPECIFIC_ERROR]: 'The history or the group that was asked for is not to be had',
  [REASON.NOT_AUTHORIZED]: 'The policy forbids it',
  [REASON.TOPIC_FILTER_INVALID]: 'A filter beyond the limits of levels, bytes or wildcards',
  [REASON.QUOTA_EXCEEDED]: 'There are as many subscriptions as there may be',
  [REPLAY_FORBIDDEN]: 'The history of these topics, or of a group, may not be asked for',
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
function codeOf(client: ConnectedClient, request: Request, added: Added): number {
  const refusal =
    groupRefusalOf(client, request) ||
    replayRefusalOf(client, request) ||
    refusalOf(client, request, added) ||
    policyRefusalOf(client, request);
  if (!isFailure(refusal)) return request.qos;
  client.context.counters.subscriptionsRefused++;
  return client.session.version === 5 ? refusal : SUBACK_FAILURE_3;
}

function groupRefusalOf(client: ConnectedClient, { filter }: Request): number {
  const refused = prepared.get(client)?.refused.get(filter);
  return refused === undefined ? REASON.SUCCESS : REFUSAL_REASON[refused.refused];
}

/** Members from now on; those that were refused are none. */
function joinGroups(
  { session, context }: ConnectedClient,
  { requests }: Packet,
  codes: readonly number[],
): void {
  for (const [index, { filter }] of requests.entries()) {
    if (!isShared(filter)) continue;
    const subscription = session.subscriptions.get(filter);
    if (subscription === undefined) context.shared.leave(session, filter);
    else if (!isFailure(codes[index]!)) context.shared.join(session, subscription);
  }
}

function replayRefusalOf(client: ConnectedClient, { filter, from }: Request): number {
  if (from === undefined) return REASON.SUCCESS;
  // A group has one place in the log for all of its members.
  if (isShared(filter) || !client.context.mappings.allowsReplay(filter)) return REPLAY_FORBIDDEN;
  const isFound = prepared.get(client)?.offsets.get(from) !== undefined;
  return isFound ? REASON.SUCCESS : REASON.IMPLEMENTATION_SPECIFIC_ERROR;
}

function policyRefusalOf(client: ConnectedClient, { filter, qos }: SubscriptionRequest): number {
  const { hooks, counters } = client.context;
  const verdict = hooks.authorizeSubscribe?.(hookClientOf(client), { filter, qos });
  if (verdict === undefined) return REASON.SUCCESS;
  counters.hookRefusals++;
  return verdict;
}

function granted(
  client: ConnectedClient,
  { requests, identifier }: Packet,
  codes: readonly number[],
): NewSubscription[] {
  return requests
    .filter((_request, index) => !isFailure(codes[index]!))
    .map(({ filter, from, qos, noLocal, retainAsPublished }) => ({
      subscriber: client.session,
      from: from === undefined ? undefined : prepared.get(client)?.offsets.get(from),
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
      // [MQTT-4.8.2]: a group is sent no retained messages.
      if (isFailure(codes[index]!) || retainHandling === 2 || isShared(filter)) return false;
      return retainHandling === 0 || !session.subscriptions.has(filter);
    })
    .map(({ filter, qos, noLocal }) => ({ filter, qos, noLocal, identifier }));
}

function refusalOf(
  { session, context }: ConnectedClient,
  { filter }: SubscriptionRequest,
  added: Added,
): number {
  const { subscriptionsMax, subscriptionBytesTotalMax } = context.options;
  if (isShared(filter) && context.shared.isFull(filter)) return REASON.QUOTA_EXCEEDED;
  if (isBeyondLimits(filter, context.options)) {
    context.counters.topicsRefused++;
    return REASON.TOPIC_FILTER_INVALID;
  }
  if (session.subscriptions.has(filter) || added.filters.has(filter)) return REASON.SUCCESS;
  if (session.subscriptions.size + added.filters.size >= subscriptionsMax) return REASON.QUOTA_EXCEEDED;
  const bytes = added.bytes + subscriptionBytesMax(filter);
  if (context.dispatchers.heldBytes + bytes > subscriptionBytesTotalMax) return REASON.QUOTA_EXCEEDED;
  added.bytes = bytes;
  added.filters.add(filter);
  return REASON.SUCCESS;
}

function isBeyondLimits(
  filter: string,
  { topicLevelsMax, topicBytesMax, wildcardsMax }: MqttOptions,
): boolean {
  if (levelCount(filter) > topicLevelsMax || Buffer.byteLength(filter) > topicBytesMax) return true;
  return wildcardCount(filter) > wildcardsMax;
}
