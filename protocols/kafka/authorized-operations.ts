// What a client may do, as the bit field of KIP-430: bit n stands for the ACL operation with code n.

import type { Operation, ResourceKind } from '../port.ts';
import { allows, type Call } from './api.ts';

/** Not asked for, or not known. */
export const OPERATIONS_UNKNOWN = -0x8000_0000;

interface AclOperation {
  readonly code: number;
  readonly operation: Operation;
}

const TOPIC_OPERATIONS: readonly AclOperation[] = [
  { code: 3, operation: 'read' },
  { code: 4, operation: 'write' },
  { code: 5, operation: 'create' },
  { code: 6, operation: 'delete' },
  { code: 7, operation: 'alter' },
  { code: 8, operation: 'describe' },
  // DescribeConfigs and AlterConfigs go with describing and altering.
  { code: 10, operation: 'describe' },
  { code: 11, operation: 'alter' },
];

const CLUSTER_OPERATIONS: readonly AclOperation[] = [
  { code: 5, operation: 'create' },
  { code: 7, operation: 'alter' },
  { code: 8, operation: 'describe' },
  // ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite.
  { code: 9, operation: 'alter' },
  { code: 10, operation: 'describe' },
  { code: 11, operation: 'alter' },
  { code: 12, operation: 'write' },
];

const GROUP_OPERATIONS: readonly AclOperation[] = [
  { code: 3, operation: 'read' },
  { code: 6, operation: 'delete' },
  { code: 8, operation: 'describe' },
  // DescribeConfigs and AlterConfigs, as of topics.
  { code: 10, operation: 'describe' },
  { code: 11, operation: 'alter' },
];

export function topicOperations(call: Call, topic: string): number {
  return bitsOf(call, TOPIC_OPERATIONS, 'topic', topic);
}

export function groupOperations(call: Call, groupId: string): number {
  return bitsOf(call, GROUP_OPERATIONS, 'group', groupId);
}

export function clusterOperations(call: Call): number {
  return bitsOf(call, CLUSTER_OPERATIONS, 'cluster', call.kafka.hub.cluster.clusterId);
}

function bitsOf(call: Call, operations: readonly AclOperation[], kind: ResourceKind, name: string): number {
  let bits = 0;
  for (const { code, operation } of operations) {
    if (allows(call, operation, kind, name)) bits |= 1 << code;
  }
  return bits;
}
