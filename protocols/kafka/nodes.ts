// Where the nodes of the cluster are, as one client is told: what the listener advertises, else the address by
// which the client reached this node.

import type { Endpoint } from '../port.ts';
import type { Call } from './api.ts';

export function endpointOf(call: Call, nodeId: number): Endpoint {
  return call.kafka.hub.cluster.endpoint(nodeId, call.principal.listener) ?? call.reached;
}

export interface Broker {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | null;
}

export function brokers(call: Call): Broker[] {
  return call.kafka.hub.cluster.nodes().map(({ nodeId, rack }) => ({
    nodeId,
    ...endpointOf(call, nodeId),
    rack: rack ?? null,
  }));
}
