// DescribeCluster (key 60), versions 0–2. Brokers only: an endpoint type that asks for controllers is refused
// (KIP-919). No broker is ever fenced (KIP-1073).

import { type Call, defineApi } from '../api.ts';
import { clusterOperations, OPERATIONS_UNKNOWN } from '../authorized-operations.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { DescribeClusterRequest, DescribeClusterResponse } from '../messages/describe-cluster.ts';
import { brokers } from '../nodes.ts';

const BROKERS = 1;
const CONTROLLERS = 2;

export const describeCluster = defineApi({
  key: 60,
  name: 'DescribeCluster',
  min: 0,
  max: 2,
  request: DescribeClusterRequest,
  response: DescribeClusterResponse,
  handle: handleDescribeCluster,
});

function handleDescribeCluster(request: DescribeClusterRequest, call: Call): DescribeClusterResponse {
  const { cluster } = call.kafka.hub;
  const { endpointType, includeClusterAuthorizedOperations } = request;
  if (endpointType !== BROKERS) {
    const errorCode =
      endpointType === CONTROLLERS
        ? ERROR_CODES.MISMATCHED_ENDPOINT_TYPE
        : ERROR_CODES.UNSUPPORTED_ENDPOINT_TYPE;
    const errorMessage = `this listener serves brokers, not endpoint type ${endpointType}`;
    return { errorCode, errorMessage, clusterId: '', brokers: [] };
  }
  return {
    errorCode: ERROR_CODES.NONE,
    clusterId: cluster.clusterId,
    controllerId: cluster.controller(),
    brokers: brokers(call).map(({ nodeId, host, port, rack }) => ({ brokerId: nodeId, host, port, rack })),
    clusterAuthorizedOperations: includeClusterAuthorizedOperations
      ? clusterOperations(call)
      : OPERATIONS_UNKNOWN,
  };
}
