// Fetch (key 1), versions 4–13; 13 names topics by id (KIP-516), and @platformatic/kafka cannot fetch without it.
// Stored records are encoded to uncompressed v2 batches when the answer is written; while a Fetch waits it holds
// nothing but its request. Errors answer at once (KIP-74 sizes, KIP-320 epochs).
//
// A stretch of offsets without records, as compaction leaves it, is passed over: an answer that has no record at all does
// not count towards the bytes that a Fetch waits for, and moves its reader on.
//
// Sessions (KIP-227) are refused kindly: every answer has session id 0, so clients send full requests.
// Left out: replicas, rack-aware reads, aborted transactions (there are none).

import type { Partition, RecordRange, Visibility } from '../../port.ts';
import { allows, type Call, defineApi, Later } from '../api.ts';
import { encodeEmptyStretch, hasRecordFrom, SKIP_BYTES } from '../empty-stretch.ts';
import { ERROR_CODES, type ErrorCode, READ_ERROR_CODES } from '../error-codes.ts';
import { readableUpTo, type Watched, waitForBytes } from '../fetch-wait.ts';
import { leaderEpochFault } from '../leader-epoch.ts';
import { FetchRequest, FetchResponse } from '../messages/fetch.ts';
import { encodeBatches } from '../record-mapping.ts';

const READ_COMMITTED = 1;
const ISOLATION_LEVELS: ReadonlySet<number> = new Set([0, READ_COMMITTED]);
const NO_RECORDS = Buffer.alloc(0);

/** Until then only partitions have errors. */
const REQUEST_ERROR_SINCE_VERSION = 7;
const IDS_SINCE_VERSION = 13;

type TopicRequest = FetchRequest['topics'][number];
type PartitionRequest = TopicRequest['partitions'][number];
type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number];
/** Being put together. */
interface TopicAnswer {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: PartitionAnswer[];
}

/** One partition of the request and what was read of it. */
interface Item {
  readonly topic: TopicRequest;
  readonly request: PartitionRequest;
  /** Undefined with an error code. */
  partition: Partition | undefined;
  errorCode: ErrorCode;
  /** One behind the other; the store gives what lies together in memory. The first has a record to give. */
  ranges: RecordRange[];
  /** From the offset asked for up to here there is no record. */
  emptyUpTo: number;
}

interface Fetch {
  readonly request: FetchRequest;
  readonly call: Call;
  readonly upTo: Visibility;
  readonly bytesMax: number;
  readonly items: readonly Item[];
}

export const fetch = defineApi({
  key: 1,
  name: 'Fetch',
  min: 4,
  max: 13,
  request: FetchRequest,
  response: FetchResponse,
  handle: handleFetch,
});

function handleFetch(request: FetchRequest, call: Call): FetchResponse | Later<FetchResponse> {
  if (request.sessionId !== 0 && request.sessionEpoch > 0)
    return { errorCode: ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND, responses: [] };
  const isLegal = ISOLATION_LEVELS.has(request.isolationLevel);
  if (!isLegal && call.version >= REQUEST_ERROR_SINCE_VERSION)
    return { errorCode: ERROR_CODES.INVALID_REQUEST, responses: [] };
  const items = itemsOf(request, call);
  if (!isLegal) for (const item of items) item.errorCode = ERROR_CODES.INVALID_REQUEST;
  const bytesMax = Math.max(0, Math.min(request.maxBytes, call.kafka.settings.fetchBytesMax));
  const upTo = request.isolationLevel === READ_COMMITTED ? 'lastStable' : 'highWatermark';
  const fetch: Fetch = { request, call, upTo, bytesMax, items };
  return Later.of(runFetch(fetch), () => respond(fetch));
}

/** Resolves when the answer can be made of what was read. */
async function runFetch(fetch: Fetch): Promise<void> {
  const { request, call, items, upTo } = fetch;
  const bytes = await readItems(fetch);
  const maxWaitMs = Math.min(request.maxWaitMs, call.kafka.settings.fetchMaxWaitMs);
  const minBytes = Math.min(request.minBytes, fetch.bytesMax);
  const mayWait =
    maxWaitMs > 0 && items.length > 0 && items.every(({ errorCode }) => errorCode === ERROR_CODES.NONE);
  if (mayWait && bytes < minBytes) {
    const watched = items.map(watchedOf);
    // What was read is let go: it would be kept in memory for as long as the wait lasts.
    for (const item of items) letGo(item);
    const how = await waitForBytes(call, { watched, missingBytes: minBytes - bytes, maxWaitMs, upTo });
    if (how === 'read') await readItems(fetch);
  }
}

/** One per partition, in order, those at fault at the end; the last of a partition named twice counts. */
function itemsOf(request: FetchRequest, call: Call): Item[] {
  const items = new Map<string, Item>();
  for (const topic of request.topics) {
    const name = nameOf(call, topic);
    for (const partition of topic.partitions) {
      const key = `${topic.topicId}/${topic.topic}/${partition.partition}`;
      items.set(key, itemOf(call, topic, name, partition));
    }
  }
  const isGood = ({ errorCode }: Item): boolean => errorCode === ERROR_CODES.NONE;
  const all = [...items.values()];
  return [...all.filter(isGood), ...all.filter((item) => !isGood(item))];
}

/** Undefined when no topic has the id asked for. */
function nameOf(call: Call, { topic, topicId }: TopicRequest): string | undefined {
  return call.version >= IDS_SINCE_VERSION ? call.kafka.hub.topics.getById(topicId)?.name : topic;
}

/** @param name undefined = an id that no topic has. */
function itemOf(call: Call, topic: TopicRequest, name: string | undefined, request: PartitionRequest): Item {
  const partition = name === undefined ? undefined : call.kafka.hub.topics.partition(name, request.partition);
  const item: Item = { topic, request, partition, errorCode: ERROR_CODES.NONE, ranges: [], emptyUpTo: -1 };
  if (name === undefined) item.errorCode = ERROR_CODES.UNKNOWN_TOPIC_ID;
  else if (!allows(call, 'read', 'topic', name)) item.errorCode = ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  else if (partition === undefined) item.errorCode = ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
  else item.errorCode = leaderEpochFault(partition, request.currentLeaderEpoch);
  return item;
}

function watchedOf(item: Item): Watched {
  // Only items without an error wait, and those have a partition.
  const partition = item.partition as Partition;
  const { fetchOffset } = item.request;
  return {
    partition,
    fetchOffset,
    countedUpTo: item.ranges.at(-1)?.nextOffset ?? Math.max(item.emptyUpTo, fetchOffset),
  };
}

/** Reads the items in order until the request's limit; returns the stored bytes read. */
async function readItems(fetch: Fetch): Promise<number> {
  let bytes = 0;
  for (const item of fetch.items) {
    letGo(item);
    if (item.errorCode === ERROR_CODES.NONE)
      bytes += await readItem(fetch, item, fetch.bytesMax - bytes, bytes > 0);
  }
  return bytes;
}

/** @param hasBytes the answer has records already, so that the limits are strict (KIP-74). */
async function readItem(fetch: Fetch, item: Item, bytesLeft: number, hasBytes: boolean): Promise<number> {
  const { partition, request } = item;
  if (partition === undefined) return 0;
  if (partition.deleted) {
    const isById = fetch.call.version >= IDS_SINCE_VERSION;
    item.errorCode = isById ? ERROR_CODES.UNKNOWN_TOPIC_ID : ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return 0;
  }
  const maxBytes = Math.min(request.partitionMaxBytes, bytesLeft);
  let offset = request.fetchOffset;
  let bytes = 0;
  while (mayHaveMore(partition, offset, fetch.upTo)) {
    const isFirst = !hasBytes && bytes === 0;
    if (!isFirst && bytes >= maxBytes) break;
    const isSkipping = item.ranges.length === 0 && item.emptyUpTo >= 0;
    const readBytes = Math.max(isSkipping ? SKIP_BYTES : 1, maxBytes - bytes);
    const range = await partition.read({ offset, maxBytes: readBytes, upTo: fetch.upTo });
    if (range.refused !== undefined) {
      item.errorCode = READ_ERROR_CODES[range.refused];
      return 0;
    }
    // The store gives its first batch whole; only the first of the answer may be larger than the limits.
    const rangeBytes = range.end - range.start;
    if (rangeBytes === 0) break;
    if (item.ranges.length === 0 && !hasRecordFrom(fetch.call.kafka.cursor, range, request.fetchOffset)) {
      range.release?.();
      offset = range.nextOffset;
      item.emptyUpTo = offset;
      continue;
    }
    if (!isFirst && bytes + rangeBytes > maxBytes) {
      range.release?.();
      break;
    }
    item.ranges.push(range);
    bytes += rangeBytes;
    offset = range.nextOffset;
  }
  return bytes;
}

/** At the end, where most fetches stand, nothing is read. Beyond the log and before it, the store says why not. */
function mayHaveMore(partition: Partition, offset: number, upTo: Visibility): boolean {
  const isInLog = offset >= partition.logStartOffset && offset <= partition.logEndOffset;
  return !isInLog || offset < readableUpTo(partition, upTo);
}

/** Called when the answer is written: the encoder's output is copied out before the next one. */
function respond(fetch: Fetch): FetchResponse {
  fetch.call.kafka.encoder.reset();
  let encodedBytes = 0;
  const responses: TopicAnswer[] = [];
  let topic: TopicRequest | undefined;
  for (const item of fetch.items) {
    const answer = answerOf(fetch, item, encodedBytes);
    encodedBytes += answer.records?.length ?? 0;
    if (item.topic !== topic)
      responses.push({ topic: item.topic.topic, topicId: item.topic.topicId, partitions: [] });
    topic = item.topic;
    responses.at(-1)?.partitions.push(answer);
  }
  return { responses };
}

function answerOf(fetch: Fetch, item: Item, encodedBytes: number): PartitionAnswer {
  const { partition, request } = item;
  if (item.errorCode !== ERROR_CODES.NONE || partition === undefined) return refused(item);
  return {
    partitionIndex: request.partition,
    errorCode: ERROR_CODES.NONE,
    highWatermark: partition.highWatermark,
    lastStableOffset: partition.lastStableOffset,
    logStartOffset: partition.logStartOffset,
    abortedTransactions: fetch.upTo === 'lastStable' ? [] : null,
    records: encodeItem(fetch, item, encodedBytes),
  };
}

/** Nothing looks at what was read any more: the encoder has copied what it took. */
function letGo(item: Item): void {
  for (const range of item.ranges) range.release?.();
  item.ranges = [];
  item.emptyUpTo = -1;
}

function encodeItem(fetch: Fetch, item: Item, encodedBytes: number): Buffer {
  const { request, ranges } = item;
  const { encoder, cursor } = fetch.call.kafka;
  const start = encoder.length;
  if (ranges.length === 0 && item.emptyUpTo > request.fetchOffset)
    encodeEmptyStretch(encoder, request.fetchOffset, item.emptyUpTo);
  const bytesMax = Math.min(request.partitionMaxBytes, fetch.bytesMax - encodedBytes);
  for (const range of ranges) {
    const ownBytes = encoder.length - start;
    const options = {
      fromOffset: request.fetchOffset,
      bytesMax: bytesMax - ownBytes,
      atLeastOne: encodedBytes + ownBytes === 0,
    };
    const { nextOffset } = encodeBatches(encoder, cursor, range, options);
    if (nextOffset < range.nextOffset) break;
  }
  letGo(item);
  return encoder.slice(start);
}

function refused({ request, errorCode }: Item): PartitionAnswer {
  return {
    partitionIndex: request.partition,
    errorCode,
    highWatermark: -1,
    abortedTransactions: null,
    records: NO_RECORDS,
  };
}
