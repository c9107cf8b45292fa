// DeleteRecords (key 21), versions 0–2 (KIP-107): the log of a partition starts at the offset asked for from now on;
// −1 asks for the high watermark. At or below the start nothing changes. Answers with the start, durable; −1 with an
// error. A topic that is only compacted keeps what it has (POLICY_VIOLATION), and so does the hub's own
// (INVALID_TOPIC_EXCEPTION).

import type { Partition } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { withDeadline } from '../deadline.ts';
import { ERROR_CODES, type ErrorCode, READ_ERROR_CODES } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { DeleteRecordsRequest, DeleteRecordsResponse } from '../messages/delete-records.ts';

const HIGH_WATERMARK = -1;
const NO_START = -1;

/** Partitions at once: each waits for the disk, and a request may name many. */
const PARTITIONS_AT_ONCE = 8;

type PartitionRequest = DeleteRecordsRequest['topics'][number]['partitions'][number];
type PartitionAnswer = DeleteRecordsResponse['topics'][number]['partitions'][number];

export const deleteRecords = defineApi({
  key: 21,
  name: 'DeleteRecords',
  min: 0,
  max: 2,
  request: DeleteRecordsRequest,
  response: DeleteRecordsResponse,
  handle: handleDeleteRecords,
});

async function handleDeleteRecords(
  request: DeleteRecordsRequest,
  call: Call,
): Promise<DeleteRecordsResponse> {
  const { clock } = call.kafka.hub;
  const deadlineMs = clock.monotonic() + request.timeoutMs;
  const topics: DeleteRecordsResponse['topics'][number][] = [];
  for (const { name, partitions } of request.topics) {
    const answers: PartitionAnswer[] = [];
    for (let from = 0; from < partitions.length; from += PARTITIONS_AT_ONCE) {
      // Once there was a time limit it stays one: what is left of it is 1 ms at least.
      const timeoutMs = request.timeoutMs <= 0 ? 0 : Math.max(1, deadlineMs - clock.monotonic());
      const some = partitions.slice(from, from + PARTITIONS_AT_ONCE);
      answers.push(
        ...(await Promise.all(some.map((each) => deleteInPartition(call, name, each, timeoutMs)))),
      );
    }
    topics.push({ name, partitions: answers });
  }
  return { topics };
}

async function deleteInPartition(
  call: Call,
  topic: string,
  request: PartitionRequest,
  timeoutMs: number,
): Promise<PartitionAnswer> {
  const { hub } = call.kafka;
  const { partitionIndex } = request;
  if (!allows(call, 'delete', 'topic', topic))
    return refused(partitionIndex, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const view = hub.topics.get(topic);
  const partition = hub.topics.partition(topic, partitionIndex);
  if (view === undefined || partition === undefined)
    return refused(partitionIndex, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (view.internal) return refused(partitionIndex, ERROR_CODES.INVALID_TOPIC_EXCEPTION);
  if (view.config.cleanupPolicy === 'compact') return refused(partitionIndex, ERROR_CODES.POLICY_VIOLATION);
  try {
    const deleted = await withDeadline(hub.clock, timeoutMs, deleteUpTo(partition, request.offset));
    if (deleted === 'deadline') return refused(partitionIndex, ERROR_CODES.REQUEST_TIMED_OUT);
    if (deleted.refused !== undefined) return refused(partitionIndex, READ_ERROR_CODES[deleted.refused]);
    return { partitionIndex, lowWatermark: deleted.logStartOffset, errorCode: ERROR_CODES.NONE };
  } catch (error) {
    return refused(partitionIndex, unexpected(hub, `DeleteRecords of ${topic}-${partitionIndex}`, error));
  }
}

function deleteUpTo(partition: Partition, offset: number): ReturnType<Partition['deleteRecords']> {
  return partition.deleteRecords(offset === HIGH_WATERMARK ? partition.highWatermark : offset);
}

function refused(partitionIndex: number, errorCode: ErrorCode): PartitionAnswer {
  return { partitionIndex, lowWatermark: NO_START, errorCode };
}
