// DescribeConfigs (key 32), versions 1–4. Topics: every config that Kafka knows, with what is in effect, from where, and
// which values stand behind it. The node (by its id): broker-configs.ts, nothing of which can be changed while it
// runs; the dynamic defaults of all brokers (no name) are therefore none. Groups: what their members are told. Of
// loggers and client metrics nothing is configured, and nothing shown. Keys null = all (empty = all as well, as in Kafka);
// types and documentation from version 3.

import type { TopicConfigEntry } from '../../port.ts';
import { allows, type Call, defineApi } from '../api.ts';
import {
  BROKER_NAMES,
  type BrokerConfig,
  brokerConfigs,
  groupConfigs,
  WITHOUT_BROKER_DEFAULT,
} from '../broker-configs.ts';
import {
  CONFIG_SOURCES,
  CONFIG_TYPES,
  nodeFault,
  RESOURCE_TYPES,
  type ResourceFault,
  topicFault,
} from '../config-resources.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { DescribeConfigsRequest, DescribeConfigsResponse } from '../messages/describe-configs.ts';

/** What is described is a thousand times what names it: a request names so many, each once. */
const RESOURCES_MAX = 10_000;

type ResourceRequest = DescribeConfigsRequest['resources'][number];
type ResourceAnswer = DescribeConfigsResponse['results'][number];
type ConfigAnswer = ResourceAnswer['configs'][number];
type Synonym = ConfigAnswer['synonyms'][number];

export const describeConfigs = defineApi({
  key: 32,
  name: 'DescribeConfigs',
  min: 1,
  max: 4,
  request: DescribeConfigsRequest,
  response: DescribeConfigsResponse,
  handle: handleDescribeConfigs,
});

function handleDescribeConfigs(request: DescribeConfigsRequest, call: Call): DescribeConfigsResponse {
  const distinct = new Map(
    request.resources.map((resource) => [`${resource.resourceType}/${resource.resourceName}`, resource]),
  );
  const results: ResourceAnswer[] = [];
  for (const resource of distinct.values()) {
    results.push(
      results.length < RESOURCES_MAX
        ? describeResource(request, call, resource)
        : refused(resource, {
            code: ERROR_CODES.INVALID_REQUEST,
            message: `at most ${RESOURCES_MAX} at once`,
          }),
    );
  }
  return { results };
}

function describeResource(
  request: DescribeConfigsRequest,
  call: Call,
  resource: ResourceRequest,
): ResourceAnswer {
  const { resourceType, resourceName } = resource;
  const described = configsOf(call, resourceType, resourceName);
  if ('code' in described) return refused(resource, described);
  const keys = resource.configurationKeys ?? [];
  const asked = keys.length === 0 ? described : described.filter(({ name }) => keys.includes(name));
  return {
    ...{ errorCode: ERROR_CODES.NONE, errorMessage: '', resourceType, resourceName },
    configs: asked.map((config) => ({
      ...config,
      synonyms: request.includeSynonyms ? config.synonyms : [],
      documentation: request.includeDocumentation ? config.documentation : null,
    })),
  };
}

function refused(
  { resourceType, resourceName }: ResourceRequest,
  { code, message }: ResourceFault,
): ResourceAnswer {
  return { errorCode: code, errorMessage: message, resourceType, resourceName, configs: [] };
}

function configsOf(call: Call, resourceType: number, name: string): readonly ConfigAnswer[] | ResourceFault {
  switch (resourceType) {
    case RESOURCE_TYPES.topic:
      return (
        topicFault(call, name, 'describe') ??
        (call.kafka.hub.topics.describeConfig(name) ?? []).map(topicConfigAnswer)
      );
    case RESOURCE_TYPES.broker:
      if (!mayDescribeCluster(call)) return notAllowed('the cluster');
      if (name === '') return [];
      return nodeFault(call, name) ?? brokerConfigs(call).map((config) => brokerConfigAnswer(config, true));
    case RESOURCE_TYPES.brokerLogger:
      if (!mayDescribeCluster(call)) return notAllowed('the cluster');
      return nodeFault(call, name) ?? [];
    case RESOURCE_TYPES.clientMetrics:
      if (!mayDescribeCluster(call)) return notAllowed('the cluster');
      return name === '' ? unnamed('a subscription of client metrics') : [];
    case RESOURCE_TYPES.group:
      if (!allows(call, 'describe', 'group', name)) return notAllowed(`group ${name}`, 'group');
      if (name === '') return unnamed('a group');
      return groupConfigs(call).map((config) => brokerConfigAnswer(config, false));
    default:
      return { code: ERROR_CODES.INVALID_REQUEST, message: `there are no resources of type ${resourceType}` };
  }
}

function mayDescribeCluster(call: Call): boolean {
  return allows(call, 'describe', 'cluster', call.kafka.hub.cluster.clusterId);
}

function notAllowed(what: string, kind: 'group' | 'cluster' = 'cluster'): ResourceFault {
  const code =
    kind === 'group' ? ERROR_CODES.GROUP_AUTHORIZATION_FAILED : ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED;
  return { code, message: `not allowed to describe ${what}` };
}

function unnamed(what: string): ResourceFault {
  return { code: ERROR_CODES.INVALID_REQUEST, message: `${what} has a name` };
}

/** The values that would count one after the other, if the one before were taken away: that is what synonyms are. */
function topicConfigAnswer(entry: TopicConfigEntry): ConfigAnswer {
  const { name, value, source, hubValue, defaultValue } = entry;
  const synonyms: Synonym[] = [];
  if (source === 'topic') synonyms.push({ name, value, source: CONFIG_SOURCES.topic });
  const brokerName = BROKER_NAMES.get(name);
  if (brokerName !== undefined) {
    if (hubValue !== undefined)
      synonyms.push({ name: brokerName, value: hubValue, source: CONFIG_SOURCES.hub });
    if (!WITHOUT_BROKER_DEFAULT.has(name))
      synonyms.push({ name: brokerName, value: defaultValue, source: CONFIG_SOURCES.default });
  }
  return {
    ...{ name, value, readOnly: false, isSensitive: false, synonyms },
    configSource: CONFIG_SOURCES[source],
    configType: CONFIG_TYPES[entry.type],
    documentation: entry.documentation,
  };
}

function brokerConfigAnswer(config: BrokerConfig, readOnly: boolean): ConfigAnswer {
  const { name, value, byDefault } = config;
  const isConfigured = value !== byDefault;
  const synonyms: Synonym[] = [];
  if (isConfigured && value !== null) synonyms.push({ name, value, source: CONFIG_SOURCES.hub });
  if (byDefault !== null) synonyms.push({ name, value: byDefault, source: CONFIG_SOURCES.default });
  return {
    ...{ name, value, readOnly, isSensitive: false, synonyms },
    configSource: isConfigured ? CONFIG_SOURCES.hub : CONFIG_SOURCES.default,
    configType: CONFIG_TYPES[config.type],
    documentation: config.documentation,
  };
}
