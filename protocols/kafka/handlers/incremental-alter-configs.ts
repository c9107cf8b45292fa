// IncrementalAlterConfigs (key 44), versions 0–1 (KIP-339): sets and deletes entries, appends to and subtracts from
// lists. Topics only; what is wrong with one resource changes nothing of it, and nothing about the others. See
// config-changes.ts.

import type { TopicConfigChange } from '../../port.ts';
import { type Call, defineApi } from '../api.ts';
import { alterResources, invalid } from '../config-changes.ts';
import type { ResourceFault } from '../config-resources.ts';
import {
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
} from '../messages/incremental-alter-configs.ts';

const OPERATIONS: readonly TopicConfigChange['operation'][] = ['set', 'delete', 'append', 'subtract'];

type ResourceRequest = IncrementalAlterConfigsRequest['resources'][number];

export const incrementalAlterConfigs = defineApi({
  key: 44,
  name: 'IncrementalAlterConfigs',
  min: 0,
  max: 1,
  request: IncrementalAlterConfigsRequest,
  response: IncrementalAlterConfigsResponse,
  handle: handleIncrementalAlterConfigs,
});

async function handleIncrementalAlterConfigs(
  request: IncrementalAlterConfigsRequest,
  call: Call,
): Promise<IncrementalAlterConfigsResponse> {
  const { resources, validateOnly } = request;
  return {
    responses: await alterResources(call, resources, { changesOf, others: 'kept', validateOnly }),
  };
}

function changesOf({ configs }: ResourceRequest): readonly TopicConfigChange[] | ResourceFault {
  const changes: TopicConfigChange[] = [];
  for (const { name, configOperation, value } of configs) {
    const operation = OPERATIONS[configOperation];
    if (operation === undefined) return invalid(`there is no operation ${configOperation}`);
    if (value === null && operation !== 'delete') return invalid(`${name} has no value`);
    changes.push({ name, operation, value: value ?? '' });
  }
  return changes;
}
