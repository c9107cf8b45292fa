// Fetch (key 1), versions 4–17; since 13 topics are named by id (KIP-516). What is asked for comes from the request or
// from a session (KIP-227, fetch-sessions.ts); what is read of it, from fetch-reading.ts. Stored records are encoded to
// uncompressed v2 batches when the answer is written; while a Fetch waits it holds nothing but its request. Errors
// answer at once (KIP-74 sizes, KIP-320 epochs, KIP-595 diverging epochs, KIP-951 leaders). Who reads what is committed is
// told which transactions of what it gets were aborted, and leaves them out itself (KIP-98).
//
// Left out: replicas, rack-aware reads.

import type { AbortedTransaction, Partition } from '../../port.ts';
import { allows, type Call, defineApi, Later } from '../api.ts';
import { encodeEmptyStretch } from '../empty-stretch.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { encodeAhead, type NextStretch, nextStretch } from '../fetch-ahead.ts';
import { addAborted, encodeRanges } from '../fetch-encoding.ts';
import {
  dropUnfit,
  type FetchItem,
  type FetchReading,
  letGo,
  letRangesGo,
  readItems,
  takeEncoded,
} from '../fetch-reading.ts';
import type { FetchedPartition, FetchSession } from '../fetch-session.ts';
import type { FetchContext } from '../fetch-sessions.ts';
import { type Watched, waitForBytes } from '../fetch-wait.ts';
import { leaderEpochFault } from '../leader-epoch.ts';
import { FetchRequest, FetchResponse } from '../messages/fetch.ts';
import { brokers } from '../nodes.ts';
import { RecordPieces } from '../wire/record-pieces.ts';

const READ_COMMITTED = 1;
const ISOLATION_LEVELS: ReadonlySet<number> = new Set([0, READ_COMMITTED]);
const NO_RECORDS = Buffer.alloc(0);

/** Until then only partitions have errors. */
const REQUEST_ERROR_SINCE_VERSION = 7;
const SESSIONS_SINCE_VERSION = 7;
const IDS_SINCE_VERSION = 13;
/** Who asks the wrong node is told the right one (KIP-951). */
const LEADERS_SINCE_VERSION = 16;

type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number];
/** Being put together. */
interface TopicAnswer {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: PartitionAnswer[];
}

interface Fetch extends FetchReading {
  readonly request: FetchRequest;
  readonly call: Call;
  readonly context: Exclude<FetchContext, { readonly kind: 'refused' }>;
  /** Of a session, those that are due. */
  items: readonly FetchItem[];
  /** What will be asked for next; once the answer is made. */
  readonly next: NextStretch[];
}

export const fetch = defineApi({
  key: 1,
  name: 'Fetch',
  min: 4,
  max: 17,
  request: FetchRequest,
  response: FetchResponse,
  handle: handleFetch,
});

function handleFetch(request: FetchRequest, call: Call): FetchResponse | Later<FetchResponse> {
  const isLegal = ISOLATION_LEVELS.has(request.isolationLevel);
  if (!isLegal && call.version >= REQUEST_ERROR_SINCE_VERSION)
    return { errorCode: ERROR_CODES.INVALID_REQUEST, responses: [] };
  const context = call.kafka.fetchSessions.begin(request, namesById(call));
  if (context.kind === 'refused') return { errorCode: context.errorCode, responses: [] };
  const bytesMax = Math.max(0, Math.min(request.maxBytes, call.kafka.settings.fetchBytesMax));
  const upTo = request.isolationLevel === READ_COMMITTED ? 'lastStable' : 'highWatermark';
  const fetched = context.kind === 'full' ? context.fetched : context.session.due(upTo);
  const items = itemsOf(fetched, request, call);
  if (!isLegal) for (const item of items) item.errorCode = ERROR_CODES.INVALID_REQUEST;
  const { cursor, stretches } = call.kafka;
  const isById = namesById(call);
  const fetch: Fetch = { request, call, context, upTo, bytesMax, items, cursor, stretches, isById, next: [] };
  const afterwards = (): void => {
    for (const next of fetch.next) void encodeAhead(call.kafka, next);
  };
  return Later.of(runFetch(fetch), () => respond(fetch), { afterwards });
}

/** Resolves when the answer can be made of what was read. */
async function runFetch(fetch: Fetch): Promise<void> {
  const { request, call, context, upTo } = fetch;
  const bytes = await readItems(fetch);
  const session = context.kind === 'incremental' ? context.session : undefined;
  if (session !== undefined) addDue(fetch, session);
  const { items } = fetch;
  const maxWaitMs = Math.min(request.maxWaitMs, call.kafka.settings.fetchMaxWaitMs);
  const minBytes = Math.min(request.minBytes, fetch.bytesMax);
  const mayWait =
    maxWaitMs > 0 &&
    (items.length > 0 || session !== undefined) &&
    items.every((item) => isGood(item) && item.diverging === undefined);
  if (mayWait && bytes < minBytes) {
    const watched = items.map(watchedOf);
    // What was read is let go: it would be kept in memory for as long as the wait lasts.
    for (const item of items) letGo(item);
    const missingBytes = minBytes - bytes;
    const how = await waitForBytes(call, { watched, session, missingBytes, maxWaitMs, upTo });
    if (how === 'gone') return;
    if (session !== undefined) fetch.items = itemsOf(session.due(upTo), request, call);
    await readItems(fetch);
  }
}

/** Partitions that have advanced while others were read. */
function addDue(fetch: Fetch, session: FetchSession): void {
  const { items, request, call } = fetch;
  const known = new Set(items.map(({ asked }) => asked));
  const more = session.due(fetch.upTo).filter((asked) => !known.has(asked));
  if (more.length > 0) fetch.items = [...items, ...itemsOf(more, request, call)];
}

/** In order, those at fault at the end. */
function itemsOf(fetched: readonly FetchedPartition[], request: FetchRequest, call: Call): FetchItem[] {
  const items = fetched.map((each) => itemOf(each, request, call));
  if (items.every(isGood)) return items;
  return [...items.filter(isGood), ...items.filter((item) => !isGood(item))];
}

function isGood({ errorCode }: FetchItem): boolean {
  return errorCode === ERROR_CODES.NONE;
}

function itemOf(asked: FetchedPartition, { replicaId, replicaState }: FetchRequest, call: Call): FetchItem {
  const { topic, request } = asked;
  // Undefined when no topic has the id asked for.
  const name = namesById(call) ? call.kafka.hub.topics.getById(topic.topicId)?.name : topic.topic;
  const partition = name === undefined ? undefined : call.kafka.hub.topics.partition(name, request.partition);
  const item: FetchItem = {
    asked,
    topic,
    request,
    partition,
    errorCode: ERROR_CODES.NONE,
    diverging: undefined,
    encoded: [],
    encodedUpTo: request.fetchOffset,
    ranges: [],
    leaderEpoch: -1,
    emptyUpTo: -1,
  };
  if (name === undefined) item.errorCode = unknownIdFault(topic, call);
  else if (!allows(call, 'read', 'topic', name)) item.errorCode = ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  else if (partition === undefined) item.errorCode = ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
  else {
    item.errorCode = leaderEpochFault(partition, request.currentLeaderEpoch);
    if (item.errorCode !== ERROR_CODES.NONE) return item;
    if (Math.max(replicaId, replicaState.replicaId) >= 0)
      item.errorCode = replicaFault(request.currentLeaderEpoch);
    else diverge(item, partition);
  }
  return item;
}

/** A session that knew the topic is told when another one has its name. */
function unknownIdFault({ knownAs }: FetchItem['topic'], call: Call): ErrorCode {
  const isMadeAgain = knownAs !== undefined && call.kafka.hub.topics.get(knownAs) !== undefined;
  return isMadeAgain ? ERROR_CODES.INCONSISTENT_TOPIC_ID : ERROR_CODES.UNKNOWN_TOPIC_ID;
}

/** There are no followers here: a broker that asks as one believes in something that is not so. */
function replicaFault(currentLeaderEpoch: number): ErrorCode {
  return currentLeaderEpoch < 0 ? ERROR_CODES.NOT_LEADER_OR_FOLLOWER : ERROR_CODES.UNKNOWN_LEADER_EPOCH;
}

/** Whether the reader's last epoch ended here where it believes (KIP-595): if not it is told where, and gets no records. */
function diverge(item: FetchItem, partition: Partition): void {
  const { lastFetchedEpoch, fetchOffset } = item.request;
  if (lastFetchedEpoch < 0) return;
  const end = partition.endOfEpoch(lastFetchedEpoch);
  const isKnown = end !== undefined && lastFetchedEpoch <= partition.leaderEpoch;
  if (!isKnown || fetchOffset < partition.logStartOffset) item.errorCode = ERROR_CODES.OFFSET_OUT_OF_RANGE;
  else if (end.leaderEpoch < lastFetchedEpoch || end.endOffset < fetchOffset)
    item.diverging = { epoch: end.leaderEpoch, endOffset: end.endOffset };
}

function namesById(call: Call): boolean {
  return call.version >= IDS_SINCE_VERSION;
}

function watchedOf(item: FetchItem): Watched {
  // Only items without an error wait, and those have a partition.
  const partition = item.partition as Partition;
  const { asked, request } = item;
  return {
    ...{ partition, asked, fetchOffset: request.fetchOffset },
    countedUpTo: item.ranges.at(-1)?.nextOffset ?? Math.max(item.emptyUpTo, item.encodedUpTo),
  };
}

/** Called when the answer is written: the encoder's output is copied out before the next one. */
function respond(fetch: Fetch): FetchResponse {
  const { context, call, request } = fetch;
  call.kafka.encoder.reset();
  if (
    context.kind === 'incremental' &&
    !call.kafka.fetchSessions.isCurrent(context.session, request.sessionEpoch)
  ) {
    for (const item of fetch.items) letGo(item);
    return { errorCode: ERROR_CODES.INVALID_FETCH_SESSION_EPOCH, responses: [] };
  }
  const session = sessionOf(fetch);
  let encodedBytes = 0;
  const responses: TopicAnswer[] = [];
  let topic: FetchItem['topic'] | undefined;
  let hasLeader = false;
  for (const item of fetch.items) {
    const answer = answerOf(fetch, item, encodedBytes);
    encodedBytes += answer.records?.length ?? 0;
    const isTold = session === undefined || session.tell(item, item.partition, answer);
    if (!isTold && context.kind === 'incremental') continue;
    if (item.topic !== topic)
      responses.push({ topic: item.topic.topic, topicId: item.topic.topicId, partitions: [] });
    topic = item.topic;
    hasLeader ||= answer.currentLeader !== undefined;
    responses.at(-1)?.partitions.push(answer);
  }
  const nodeEndpoints = hasLeader ? brokers(call) : [];
  return { sessionId: session?.id ?? 0, responses, nodeEndpoints };
}

/** The session that the answer belongs to; a full request that asks for one gets it now. */
function sessionOf({ context, call, upTo }: Fetch): FetchSession | undefined {
  if (context.kind === 'incremental') return context.session;
  if (!context.opensSession || call.version < SESSIONS_SINCE_VERSION) return undefined;
  return call.kafka.fetchSessions.open(context.fetched, namesById(call), call.principal.remoteAddress, upTo);
}

function answerOf(fetch: Fetch, item: FetchItem, encodedBytes: number): PartitionAnswer {
  const { partition, request, diverging } = item;
  if (item.errorCode !== ERROR_CODES.NONE || partition === undefined) return refused(fetch, item);
  return {
    partitionIndex: request.partition,
    errorCode: ERROR_CODES.NONE,
    highWatermark: partition.highWatermark,
    lastStableOffset: partition.lastStableOffset,
    logStartOffset: partition.logStartOffset,
    ...(diverging === undefined ? {} : { divergingEpoch: diverging }),
    ...encodeItem(fetch, item, partition, encodedBytes),
  };
}

/** What was encoded before, and behind it what was read, which is let go. */
function encodeItem(
  fetch: Fetch,
  item: FetchItem,
  partition: Partition,
  encodedBytes: number,
): Pick<PartitionAnswer, 'records' | 'abortedTransactions'> {
  // Of a session with very many partitions that is all but a few.
  if (item.encoded.length === 0 && item.ranges.length === 0 && item.emptyUpTo < 0)
    return { records: NO_RECORDS, abortedTransactions: fetch.upTo === 'lastStable' ? [] : null };
  const { encoder, counters } = fetch.call.kafka;
  const start = encoder.length;
  if (item.ranges.length === 0 && item.emptyUpTo > item.encodedUpTo)
    encodeEmptyStretch(encoder, item.encodedUpTo, item.emptyUpTo);
  const bytesMax = Math.min(item.request.partitionMaxBytes, fetch.bytesMax - encodedBytes);
  let ownBytes = dropUnfit(item, bytesMax, encodedBytes === 0);
  if (item.ranges.length > 0) {
    // Others that waited for the same records may have had their turn since these were read.
    const bytes = takeEncoded(fetch, item, partition, bytesMax - ownBytes);
    ownBytes += bytes;
    if (bytes > 0 && 2 * ownBytes > bytesMax) letRangesGo(item);
  }
  const atLeastOne = encodedBytes + ownBytes === 0;
  const encoded = encodeRanges(fetch.call.kafka, item, { bytesMax: bytesMax - ownBytes, atLeastOne });
  noteNext(fetch, item, { offset: encoded.nextOffset, byteLength: ownBytes + encoded.bytes.length });
  const kept = fetch.stretches.offer(partition, fetch.upTo, encoded);
  const lasting = kept === undefined ? item.encoded : [...item.encoded, kept];
  const passing = kept === undefined ? encoder.slice(start) : NO_RECORDS;
  const aborted: AbortedTransaction[] = [];
  for (const stretch of [...item.encoded, encoded]) {
    counters.recordsFetched += stretch.records;
    addAborted(aborted, stretch.aborted, stretch.nextOffset);
  }
  const pieces = new RecordPieces(
    lasting.map((each) => each.lasting),
    passing,
  );
  // Whoever writes them holds them now.
  item.encoded = [];
  letGo(item);
  return {
    records: pieces,
    abortedTransactions: fetch.upTo === 'lastStable' ? aborted : null,
  };
}

function noteNext(
  { call, upTo, bytesMax, next }: Fetch,
  item: FetchItem,
  end: { readonly offset: number; readonly byteLength: number },
): void {
  const limits = { bytesMax: Math.min(item.request.partitionMaxBytes, bytesMax) };
  const found = nextStretch(call.kafka, item, upTo, { ...end, ...limits });
  if (found !== undefined) next.push(found);
}

function refused({ call }: Fetch, { request, partition, errorCode }: FetchItem): PartitionAnswer {
  const answer = {
    partitionIndex: request.partition,
    errorCode,
    highWatermark: -1,
    abortedTransactions: null,
    records: NO_RECORDS,
  };
  const isElsewhere =
    errorCode === ERROR_CODES.NOT_LEADER_OR_FOLLOWER || errorCode === ERROR_CODES.FENCED_LEADER_EPOCH;
  if (call.version < LEADERS_SINCE_VERSION || !isElsewhere || partition === undefined) return answer;
  const leaderId = call.kafka.hub.cluster.leaderOf(partition.topic, partition.partition);
  return { ...answer, currentLeader: { leaderId, leaderEpoch: partition.leaderEpoch } };
}
