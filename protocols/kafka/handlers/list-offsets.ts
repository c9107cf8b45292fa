// ListOffsets (key 2), versions 1–10. Times below zero name places: −1 the end (under read_committed the last
// stable offset), −2 the start, −3 the first record with the largest timestamp (KIP-734, from version 7). A time
// asks for the first record at or after it; none → offset and timestamp −1.
// Without tiered storage all of a log is local: −4, where what is local begins, is the start (from version 8), and
// −5, where what is remote ends, is nowhere (from version 9). Left out: `timeoutMs`, which is for asking remote tiers.

import type { Partition, Visibility } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { leaderEpochFault } from '../leader-epoch.ts';
import { ListOffsetsRequest, ListOffsetsResponse } from '../messages/list-offsets.ts';
import { readableUpTo } from '../readable-end.ts';

const LATEST = -1;
const EARLIEST = -2;
const MAX_TIMESTAMP = -3;
const EARLIEST_LOCAL = -4;
const LATEST_TIERED = -5;
/** From which version on a place has its name. */
const PLACE_VERSION_MIN: ReadonlyMap<number, number> = new Map([
  [LATEST, 1],
  [EARLIEST, 1],
  [MAX_TIMESTAMP, 7],
  [EARLIEST_LOCAL, 8],
  [LATEST_TIERED, 9],
]);
const READ_COMMITTED = 1;
const ISOLATION_LEVELS: ReadonlySet<number> = new Set([0, READ_COMMITTED]);

type PartitionRequest = ListOffsetsRequest['topics'][number]['partitions'][number];
type PartitionAnswer = ListOffsetsResponse['topics'][number]['partitions'][number];

export const listOffsets = defineApi({
  key: 2,
  name: 'ListOffsets',
  min: 1,
  max: 10,
  request: ListOffsetsRequest,
  response: ListOffsetsResponse,
  handle: handleListOffsets,
});

async function handleListOffsets(request: ListOffsetsRequest, call: Call): Promise<ListOffsetsResponse> {
  const upTo = request.isolationLevel === READ_COMMITTED ? 'lastStable' : 'highWatermark';
  const topics: ListOffsetsResponse['topics'][number][] = [];
  for (const { name, partitions } of request.topics) {
    const repeated = repeatedIndexes(partitions);
    const answers: PartitionAnswer[] = [];
    for (const partition of distinct(partitions)) {
      const isRefused =
        repeated.has(partition.partitionIndex) || !ISOLATION_LEVELS.has(request.isolationLevel);
      answers.push(
        isRefused
          ? refused(partition, ERROR_CODES.INVALID_REQUEST)
          : await listPartition(call, name, partition, upTo),
      );
    }
    topics.push({ name, partitions: answers });
  }
  return { topics };
}

function repeatedIndexes(partitions: readonly PartitionRequest[]): ReadonlySet<number> {
  const seen = new Set<number>();
  const repeated = new Set<number>();
  for (const { partitionIndex } of partitions) {
    if (seen.has(partitionIndex)) repeated.add(partitionIndex);
    seen.add(partitionIndex);
  }
  return repeated;
}

function distinct(partitions: readonly PartitionRequest[]): Iterable<PartitionRequest> {
  return new Map(partitions.map((partition) => [partition.partitionIndex, partition])).values();
}

async function listPartition(
  call: Call,
  topic: string,
  request: PartitionRequest,
  upTo: Visibility,
): Promise<PartitionAnswer> {
  const { hub } = call.kafka;
  if (!allows(call, 'describe', 'topic', topic))
    return refused(request, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const partition = hub.topics.partition(topic, request.partitionIndex);
  if (partition === undefined) return refused(request, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  const fault = leaderEpochFault(partition, request.currentLeaderEpoch);
  if (fault !== ERROR_CODES.NONE) return refused(request, fault);
  try {
    return await lookUp(call, partition, request, upTo);
  } catch (error) {
    return refused(request, unexpected(hub, `ListOffsets of ${topic}-${request.partitionIndex}`, error));
  }
}

async function lookUp(
  call: Call,
  partition: Partition,
  request: PartitionRequest,
  upTo: Visibility,
): Promise<PartitionAnswer> {
  const { partitionIndex, timestamp } = request;
  const { leaderEpoch } = partition;
  const found = { partitionIndex, errorCode: ERROR_CODES.NONE };
  if (timestamp < 0 && call.version < (PLACE_VERSION_MIN.get(timestamp) ?? Number.POSITIVE_INFINITY))
    return refused(request, ERROR_CODES.UNSUPPORTED_VERSION);
  if (timestamp === LATEST) return { ...found, offset: readableUpTo(partition, upTo), leaderEpoch };
  if (timestamp === LATEST_TIERED) return { ...found, offset: -1, timestamp: -1, leaderEpoch: -1 };
  if (timestamp === EARLIEST || timestamp === EARLIEST_LOCAL) {
    const offset = partition.logStartOffset;
    return { ...found, offset, leaderEpoch: await epochAt(call, partition, offset) };
  }
  const record =
    timestamp === MAX_TIMESTAMP
      ? await partition.offsetOfMaxTimestamp(upTo)
      : await partition.offsetForTime(timestamp, upTo);
  if (record === undefined) return { ...found, offset: -1, timestamp: -1, leaderEpoch: -1 };
  const { offset, timestampMs } = record;
  return { ...found, offset, timestamp: timestampMs, leaderEpoch: record.leaderEpoch };
}

/** The epoch in which the record at `offset` was written; the current one when there is none. */
async function epochAt(call: Call, partition: Partition, offset: number): Promise<number> {
  const range = await partition.read({ offset, maxBytes: 1, upTo: 'highWatermark' });
  if (range.refused !== undefined) return -1;
  const { cursor } = call.kafka;
  cursor.reset(range);
  return cursor.nextBatch() ? cursor.batchLeaderEpoch : partition.leaderEpoch;
}

function refused({ partitionIndex }: PartitionRequest, errorCode: ErrorCode): PartitionAnswer {
  return { partitionIndex, errorCode };
}
