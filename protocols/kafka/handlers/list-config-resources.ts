// ListConfigResources (key 74), versions 0–1 (KIP-1142): what has a configuration, by kind; no kinds asks for all.
// Version 0 asks for client metrics alone. Of those, and of groups with a configuration of their own, there are none,
// and loggers are not configured over the protocol.

import { allows, type Call, defineApi } from '../api.ts';
import { RESOURCE_TYPES } from '../config-resources.ts';
import { ERROR_CODES } from '../error-codes.ts';
import {
  ListConfigResourcesRequest,
  ListConfigResourcesResponse,
} from '../messages/list-config-resources.ts';

const KINDS_VERSION_MIN = 1;
const ALL_KINDS: readonly number[] = Object.values(RESOURCE_TYPES);

export const listConfigResources = defineApi({
  key: 74,
  name: 'ListConfigResources',
  min: 0,
  max: 1,
  request: ListConfigResourcesRequest,
  response: ListConfigResourcesResponse,
  handle: handleListConfigResources,
});

function handleListConfigResources(
  request: ListConfigResourcesRequest,
  call: Call,
): ListConfigResourcesResponse {
  const { cluster, topics } = call.kafka.hub;
  if (!allows(call, 'describe', 'cluster', cluster.clusterId))
    return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, configResources: [] };
  if (call.version < KINDS_VERSION_MIN) return { errorCode: ERROR_CODES.NONE, configResources: [] };
  const kinds = new Set(request.resourceTypes.length === 0 ? ALL_KINDS : request.resourceTypes);
  if ([...kinds].some((kind) => !ALL_KINDS.includes(kind)))
    return { errorCode: ERROR_CODES.UNSUPPORTED_VERSION, configResources: [] };
  const nodes = kinds.has(RESOURCE_TYPES.broker) ? cluster.nodes() : [];
  const named = kinds.has(RESOURCE_TYPES.topic) ? topics.list() : [];
  return {
    errorCode: ERROR_CODES.NONE,
    configResources: [
      ...nodes.map(({ nodeId }) => ({ resourceName: String(nodeId), resourceType: RESOURCE_TYPES.broker })),
      ...named.map(({ name }) => ({ resourceName: name, resourceType: RESOURCE_TYPES.topic })),
    ],
  };
}
