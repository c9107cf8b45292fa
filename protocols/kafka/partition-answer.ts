// Who leads a partition and who has copies of it, as Metadata and DescribeTopicPartitions both tell it.

import type { Cluster, Partition } from '../port.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export interface PartitionAnswer {
  readonly errorCode: ErrorCode;
  readonly partitionIndex: number;
  readonly leaderId: number;
  readonly leaderEpoch: number;
  readonly replicaNodes: readonly number[];
  readonly isrNodes: readonly number[];
}

export function partitionAnswer(
  cluster: Cluster,
  { topic, partition, leaderEpoch }: Partition,
): PartitionAnswer {
  const leaderId = cluster.leaderOf(topic, partition);
  const replicas = cluster.replicasOf(topic, partition);
  return {
    errorCode: leaderId < 0 ? ERROR_CODES.LEADER_NOT_AVAILABLE : ERROR_CODES.NONE,
    ...{ partitionIndex: partition, leaderId, leaderEpoch },
    ...{ replicaNodes: replicas, isrNodes: replicas },
  };
}
