// What the APIs about configurations share: kinds of resources, where a value comes from, and of what type it is.

import type { TopicConfigEntry } from '../port.ts';
import { allows, type Call } from './api.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export const RESOURCE_TYPES = {
  topic: 2,
  broker: 4,
  brokerLogger: 8,
  clientMetrics: 16,
  group: 32,
} as const;

/** Dynamic configuration of the topic, static of the broker, default. */
export const CONFIG_SOURCES = { topic: 1, hub: 4, default: 5 } as const;

export const CONFIG_TYPES = {
  boolean: 1,
  string: 2,
  int: 3,
  long: 5,
  double: 6,
  list: 7,
} as const satisfies Record<TopicConfigEntry['type'], number>;

export interface ResourceFault {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Undefined when there is such a topic, and the client may do that with it. */
export function topicFault(
  call: Call,
  name: string,
  operation: 'describe' | 'alter',
): ResourceFault | undefined {
  const { topics } = call.kafka.hub;
  if (!allows(call, operation, 'topic', name)) {
    const message = `not allowed to ${operation} topic ${name}`;
    return { code: ERROR_CODES.TOPIC_AUTHORIZATION_FAILED, message };
  }
  const illegal = topics.illegalName(name);
  if (illegal !== undefined) return { code: ERROR_CODES.INVALID_TOPIC_EXCEPTION, message: illegal };
  if (topics.get(name) !== undefined) return undefined;
  return { code: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, message: `there is no topic ${name}` };
}

/** Undefined when the name is that of this node. */
export function nodeFault(call: Call, name: string): ResourceFault | undefined {
  const { nodeId } = call.kafka.hub.cluster;
  if (name === String(nodeId)) return undefined;
  const message = /^[+-]?\d+$/.test(name)
    ? `this is node ${nodeId}, not ${name}`
    : `the name of a node is its id, a number, not "${name}"`;
  return { code: ERROR_CODES.INVALID_REQUEST, message };
}
