// Fetch (key 1), versions 4–13; 13 names topics by id (KIP-516), and @platformatic/kafka cannot fetch without it.
// Stored records are encoded to uncompressed v2 batches when the answer is written; while a Fetch waits it holds
// nothing but its request. Errors answer at once (KIP-74 sizes, KIP-320 epochs).
//
// Sessions (KIP-227) are refused kindly: every answer has session id 0, so clients send full requests.
// Left out: replicas, rack-aware reads, aborted transactions (there are none).

import type { Partition, RecordRange, Visibility } from '../../port.ts';
import { allows, type Call, defineApi, Later } from '../api.ts';
import { ERROR_CODES, type ErrorCode, READ_ERROR_CODES } from '../error-codes.ts';
import { readableUpTo, type Watched, waitForBytes } from '../fetch-wait.ts';
import { leaderEpochFault } from '../leader-epoch.ts';
import { FetchRequest, FetchResponse } from '../messages/fetch.ts';
import { encodeBatches } from '../record-mapping.ts';

const READ_COMMITTED = 1;
const NO_RECORDS = Buffer.alloc(0);

const IDS_SINCE_VERSION = 13;

type TopicRequest = FetchRequest['topics'][number];
type PartitionRequest = TopicRequest['partitions'][number];
type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number];

/** One partition of the request and what was read of it. */
interface Item {
  readonly request: PartitionRequest;
  /** Undefined with an error code. */
  partition: Partition | undefined;
  errorCode: ErrorCode;
  /** One behind the other; the store gives what lies together in memory. */
  ranges: RecordRange[];
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
  const items = request.topics.flatMap((topic) => {
    const name = nameOf(call, topic);
    return topic.partitions.map((partition) => itemOf(call, name, partition));
  });
  const bytesMax = Math.max(0, Math.min(request.maxBytes, call.kafka.settings.fetchBytesMax));
  const upTo = request.isolationLevel === READ_COMMITTED ? 'lastStable' : 'highWatermark';
  return new Later(runFetch({ request, call, upTo, bytesMax, items }));
}

async function runFetch(fetch: Fetch): Promise<() => FetchResponse> {
  const { request, call, items, upTo } = fetch;
  const bytes = await readItems(fetch);
  const maxWaitMs = Math.min(request.maxWaitMs, call.kafka.settings.fetchMaxWaitMs);
  const minBytes = Math.min(request.minBytes, fetch.bytesMax);
  const mayWait =
    maxWaitMs > 0 && items.length > 0 && items.every(({ errorCode }) => errorCode === ERROR_CODES.NONE);
  if (mayWait && bytes < minBytes) {
    const watched = items.map(watchedOf);
    // What was read is let go: it would be kept in memory for as long as the wait lasts.
    for (const item of items) item.ranges = [];
    const how = await waitForBytes(call, { watched, missingBytes: minBytes - bytes, maxWaitMs, upTo });
    if (how === 'read') await readItems(fetch);
  }
  return () => respond(fetch);
}

/** Undefined when no topic has the id asked for. */
function nameOf(call: Call, { topic, topicId }: TopicRequest): string | undefined {
  return call.version >= IDS_SINCE_VERSION ? call.kafka.hub.topics.getById(topicId)?.name : topic;
}

/** @param topic undefined = an id that no topic has. */
function itemOf(call: Call, topic: string | undefined, request: PartitionRequest): Item {
  const partition =
    topic === undefined ? undefined : call.kafka.hub.topics.partition(topic, request.partition);
  const item: Item = { request, partition, errorCode: ERROR_CODES.NONE, ranges: [] };
  if (topic === undefined) item.errorCode = ERROR_CODES.UNKNOWN_TOPIC_ID;
  else if (!allows(call, 'read', 'topic', topic)) item.errorCode = ERROR_CODES.TOPIC_AUTHORIZATION_FAILED;
  else if (partition === undefined) item.errorCode = ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
  else item.errorCode = leaderEpochFault(partition, request.currentLeaderEpoch);
  return item;
}

function watchedOf(item: Item): Watched {
  // Only items without an error wait, and those have a partition.
  const partition = item.partition as Partition;
  return { partition, countedUpTo: item.ranges.at(-1)?.nextOffset ?? item.request.fetchOffset };
}

/** Reads the items in order until the request's limit; returns the stored bytes read. */
async function readItems(fetch: Fetch): Promise<number> {
  let bytes = 0;
  for (const item of fetch.items) {
    item.ranges = [];
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
    const range = await partition.read({ offset, maxBytes: Math.max(1, maxBytes - bytes), upTo: fetch.upTo });
    if (range.refused !== undefined) {
      item.errorCode = READ_ERROR_CODES[range.refused];
      return 0;
    }
    // The store gives its first batch whole; only the first of the answer may be larger than the limits.
    const rangeBytes = range.end - range.start;
    if (rangeBytes === 0 || (!isFirst && bytes + rangeBytes > maxBytes)) break;
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
  const { encoder } = fetch.call.kafka;
  encoder.reset();
  let next = 0;
  let encodedBytes = 0;
  const responses = fetch.request.topics.map(({ topic, topicId, partitions }) => ({
    topic,
    topicId,
    partitions: partitions.map((): PartitionAnswer => {
      const item = fetch.items[next++] as Item; // one item per partition, in order
      if (item.errorCode !== ERROR_CODES.NONE || item.partition === undefined) return refused(item);
      const records = encodeItem(fetch, item, encodedBytes);
      encodedBytes += records.length;
      return {
        partitionIndex: item.request.partition,
        errorCode: ERROR_CODES.NONE,
        highWatermark: item.partition.highWatermark,
        lastStableOffset: item.partition.lastStableOffset,
        logStartOffset: item.partition.logStartOffset,
        abortedTransactions: fetch.upTo === 'lastStable' ? [] : null,
        records,
      };
    }),
  }));
  return { responses };
}

function encodeItem(fetch: Fetch, { request, ranges }: Item, encodedBytes: number): Buffer {
  const { encoder, cursor } = fetch.call.kafka;
  const start = encoder.length;
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
