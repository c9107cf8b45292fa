// AlterConfigs (key 33), versions 0–2: what is not named goes back to its default (KIP-133). Topics only; what is wrong
// with one resource changes nothing of it, and nothing about the others. See config-changes.ts.

import { type Call, defineApi } from '../api.ts';
import { alterResources, invalid } from '../config-changes.ts';
import { AlterConfigsRequest, AlterConfigsResponse } from '../messages/alter-configs.ts';

type ResourceRequest = AlterConfigsRequest['resources'][number];

export const alterConfigs = defineApi({
  key: 33,
  name: 'AlterConfigs',
  min: 0,
  max: 2,
  request: AlterConfigsRequest,
  response: AlterConfigsResponse,
  handle: handleAlterConfigs,
});

async function handleAlterConfigs(request: AlterConfigsRequest, call: Call): Promise<AlterConfigsResponse> {
  const { resources, validateOnly } = request;
  return {
    responses: await alterResources(call, resources, { changesOf, others: 'reset', validateOnly }),
  };
}

function changesOf({ configs }: ResourceRequest) {
  const unset = configs.find(({ value }) => value === null);
  if (unset !== undefined) return invalid(`${unset.name} has no value`);
  return configs.map(({ name, value }) => ({ name, value: value ?? '', operation: 'set' as const }));
}
