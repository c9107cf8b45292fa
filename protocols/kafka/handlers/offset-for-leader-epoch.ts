// OffsetForLeaderEpoch (key 23), versions 2–4 (KIP-101, KIP-320): where the newest epoch at or below the one asked for
// ends, so that a consumer notices when what it has read is no longer in the log. An epoch that is yet to come has no
// end (−1); one from before the log's first is followed by the log's start. What readers do not see yet is no end.

import type { Partition } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { leaderEpochFault } from '../leader-epoch.ts';
import {
  OffsetForLeaderEpochRequest,
  OffsetForLeaderEpochResponse,
} from '../messages/offset-for-leader-epoch.ts';

type PartitionRequest = OffsetForLeaderEpochRequest['topics'][number]['partitions'][number];
type PartitionAnswer = OffsetForLeaderEpochResponse['topics'][number]['partitions'][number];

export const offsetForLeaderEpoch = defineApi({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  min: 2,
  max: 4,
  request: OffsetForLeaderEpochRequest,
  response: OffsetForLeaderEpochResponse,
  handle: handleOffsetForLeaderEpoch,
});

function handleOffsetForLeaderEpoch(
  request: OffsetForLeaderEpochRequest,
  call: Call,
): OffsetForLeaderEpochResponse {
  const topics = request.topics.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((each) => endIn(call, topic, each)),
  }));
  return { topics };
}

function endIn(call: Call, topic: string, request: PartitionRequest): PartitionAnswer {
  if (!allows(call, 'describe', 'topic', topic))
    return refused(request, ERROR_CODES.TOPIC_AUTHORIZATION_FAILED);
  const partition = call.kafka.hub.topics.partition(topic, request.partition);
  if (partition === undefined) return refused(request, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  if (call.kafka.hub.cluster.leaderOf(topic, request.partition) < 0)
    return refused(request, ERROR_CODES.NOT_LEADER_OR_FOLLOWER);
  const fault = leaderEpochFault(partition, request.currentLeaderEpoch);
  if (fault !== ERROR_CODES.NONE) return refused(request, fault);
  return {
    errorCode: ERROR_CODES.NONE,
    partition: request.partition,
    ...endOf(partition, request.leaderEpoch),
  };
}

function endOf(
  partition: Partition,
  epoch: number,
): { readonly leaderEpoch: number; readonly endOffset: number } {
  if (epoch < 0 || epoch > partition.leaderEpoch) return { leaderEpoch: -1, endOffset: -1 };
  // The present epoch has begun, also where nothing was appended in it yet.
  if (epoch === partition.leaderEpoch) return { leaderEpoch: epoch, endOffset: partition.highWatermark };
  return partition.endOfEpoch(epoch) ?? { leaderEpoch: epoch, endOffset: partition.logStartOffset };
}

function refused({ partition }: PartitionRequest, errorCode: ErrorCode): PartitionAnswer {
  return { errorCode, partition };
}
