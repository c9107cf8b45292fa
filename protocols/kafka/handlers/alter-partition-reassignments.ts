// AlterPartitionReassignments (key 45), version 0 (KIP-455). Every partition has its one copy on this node: being told so
// again is done at once, any other node is none that there is, and there is never a move to cancel.

import { allows, type Call, defineApi } from '../api.ts';
import { asksTooMuch, TOO_MUCH_ASKED } from '../asked-partitions.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  AlterPartitionReassignmentsRequest,
  AlterPartitionReassignmentsResponse,
} from '../messages/alter-partition-reassignments.ts';

type PartitionRequest = AlterPartitionReassignmentsRequest['topics'][number]['partitions'][number];
type PartitionAnswer = AlterPartitionReassignmentsResponse['responses'][number]['partitions'][number];

export const alterPartitionReassignments = defineApi({
  key: 45,
  name: 'AlterPartitionReassignments',
  min: 0,
  max: 0,
  request: AlterPartitionReassignmentsRequest,
  response: AlterPartitionReassignmentsResponse,
  handle: handleAlterPartitionReassignments,
});

function handleAlterPartitionReassignments(
  request: AlterPartitionReassignmentsRequest,
  call: Call,
): AlterPartitionReassignmentsResponse {
  if (!allows(call, 'alter', 'cluster', call.kafka.hub.cluster.clusterId)) {
    const errorMessage = 'not allowed to alter the cluster';
    return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, errorMessage, responses: [] };
  }
  if (asksTooMuch(request.topics.map(({ partitions }) => partitions.length)))
    return { errorCode: ERROR_CODES.INVALID_REQUEST, errorMessage: TOO_MUCH_ASKED, responses: [] };
  const responses = request.topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map((partition) => reassign(call, name, partition)),
  }));
  return { errorCode: ERROR_CODES.NONE, responses };
}

function reassign(
  call: Call,
  topic: string,
  { partitionIndex, replicas }: PartitionRequest,
): PartitionAnswer {
  const { topics, cluster } = call.kafka.hub;
  const refused = (errorCode: ErrorCode, errorMessage: string | null) => ({
    ...{ partitionIndex, errorCode, errorMessage },
  });
  if (topics.partition(topic, partitionIndex) === undefined) {
    const message = `there is no partition ${topic}-${partitionIndex}`;
    return refused(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, message);
  }
  if (replicas === null) return refused(ERROR_CODES.NO_REASSIGNMENT_IN_PROGRESS, null);
  if (replicas.length === 1 && replicas[0] === cluster.nodeId)
    return { partitionIndex, errorCode: ERROR_CODES.NONE };
  const message = `a partition has one copy, on node ${cluster.nodeId}`;
  return refused(ERROR_CODES.INVALID_REPLICA_ASSIGNMENT, message);
}
