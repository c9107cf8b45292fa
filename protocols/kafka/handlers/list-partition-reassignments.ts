// ListPartitionReassignments (key 46), version 0 (KIP-455): nothing is ever on the move, whatever is asked about.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import {
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse,
} from '../messages/list-partition-reassignments.ts';

export const listPartitionReassignments = defineApi({
  key: 46,
  name: 'ListPartitionReassignments',
  min: 0,
  max: 0,
  request: ListPartitionReassignmentsRequest,
  response: ListPartitionReassignmentsResponse,
  handle: handleListPartitionReassignments,
});

function handleListPartitionReassignments(
  _request: ListPartitionReassignmentsRequest,
  call: Call,
): ListPartitionReassignmentsResponse {
  if (allows(call, 'describe', 'cluster', call.kafka.hub.cluster.clusterId))
    return { errorCode: ERROR_CODES.NONE, topics: [] };
  const errorMessage = 'not allowed to describe the cluster';
  return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, errorMessage, topics: [] };
}
