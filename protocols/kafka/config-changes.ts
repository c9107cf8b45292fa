// What AlterConfigs and IncrementalAlterConfigs have in common: each resource once, each key once, topics changed by the
// hub, and everything else refused: the hub's own configuration is a file.

import type { TopicConfigChange } from '../port.ts';
import { allows, type Call } from './api.ts';
import { nodeFault, RESOURCE_TYPES, type ResourceFault, topicFault } from './config-resources.ts';
import { ERROR_CODES, type ErrorCode, TOPIC_ERROR_CODES } from './error-codes.ts';
import { unexpected } from './failures.ts';

interface Resource {
  readonly resourceType: number;
  readonly resourceName: string;
  readonly configs: readonly { readonly name: string; readonly value: string | null }[];
}

export interface ResourceAnswer {
  readonly errorCode: ErrorCode;
  readonly errorMessage: string | null;
  readonly resourceType: number;
  readonly resourceName: string;
}

/** @param options.changesOf what a resource asks for, or what is wrong with how it is written */
export async function alterResources<Asked extends Resource>(
  call: Call,
  resources: readonly Asked[],
  options: {
    readonly changesOf: (resource: Asked) => readonly TopicConfigChange[] | ResourceFault;
    readonly others: 'kept' | 'reset';
    readonly validateOnly: boolean;
  },
): Promise<ResourceAnswer[]> {
  const mentions = new Map<string, number>();
  for (const resource of resources) mentions.set(keyOf(resource), (mentions.get(keyOf(resource)) ?? 0) + 1);
  return Promise.all(
    resources.map(async (resource) => {
      const { resourceType, resourceName } = resource;
      const fault =
        (mentions.get(keyOf(resource)) ?? 0) > 1
          ? invalid('a resource is named once')
          : await alterResource(call, resource, options);
      return {
        errorCode: fault?.code ?? ERROR_CODES.NONE,
        errorMessage: fault?.message ?? null,
        ...{ resourceType, resourceName },
      };
    }),
  );
}

function keyOf({ resourceType, resourceName }: Resource): string {
  return `${resourceType}/${resourceName}`;
}

async function alterResource<Asked extends Resource>(
  call: Call,
  resource: Asked,
  options: Parameters<typeof alterResources<Asked>>[2],
): Promise<ResourceFault | undefined> {
  const { resourceType, resourceName } = resource;
  const refusal = refusalOf(call, resource);
  if (refusal !== undefined) return refusal;
  const names = new Set(resource.configs.map(({ name }) => name));
  if (names.size < resource.configs.length) return invalid('a config is named once');
  const changes = options.changesOf(resource);
  if ('code' in changes) return changes;
  if (resourceType !== RESOURCE_TYPES.topic) return unchangeable(changes);
  const { hub } = call.kafka;
  try {
    const error = await hub.topics.alterConfig(resourceName, changes, options);
    if (error === undefined) return undefined;
    const fields = { clientId: call.clientId, topic: resourceName, reason: error.message };
    hub.log.warn('kafka-config-refused', fields);
    return { code: TOPIC_ERROR_CODES[error.error], message: error.message };
  } catch (error) {
    return { code: unexpected(hub, `configuring ${resourceName}`, error), message: 'it is in the log' };
  }
}

/** Undefined when there is such a resource, and the client may alter it. */
function refusalOf(call: Call, { resourceType, resourceName }: Resource): ResourceFault | undefined {
  switch (resourceType) {
    case RESOURCE_TYPES.topic:
      return resourceName === '' ? invalid('a topic has a name') : topicFault(call, resourceName, 'alter');
    case RESOURCE_TYPES.broker:
    case RESOURCE_TYPES.brokerLogger:
    case RESOURCE_TYPES.clientMetrics:
      if (!allows(call, 'alter', 'cluster', call.kafka.hub.cluster.clusterId)) {
        const message = 'not allowed to alter the cluster';
        return { code: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, message };
      }
      // Without a name it is the default of all brokers.
      if (resourceType === RESOURCE_TYPES.clientMetrics || resourceName === '') return undefined;
      return nodeFault(call, resourceName);
    case RESOURCE_TYPES.group:
      if (allows(call, 'alter', 'group', resourceName)) return undefined;
      return {
        code: ERROR_CODES.GROUP_AUTHORIZATION_FAILED,
        message: `not allowed to alter group ${resourceName}`,
      };
    default:
      return invalid(`there are no resources of type ${resourceType}`);
  }
}

/** To take back what nobody can have set changes nothing: Apache's reassignment tool does so with each broker. */
function unchangeable(changes: readonly TopicConfigChange[]): ResourceFault | undefined {
  const names = changes.filter(({ operation }) => operation !== 'delete').map(({ name }) => name);
  if (names.length === 0) return undefined;
  return invalid(
    `only topics are configured over the protocol, this is in the hub's configuration file: ${names.join(', ')}`,
  );
}

export function invalid(message: string): ResourceFault {
  return { code: ERROR_CODES.INVALID_REQUEST, message };
}
