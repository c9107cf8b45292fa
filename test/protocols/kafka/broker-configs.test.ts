// What the node tells of itself by Kafka's names: each is what the hub does, or what Kafka has and the hub is.

import { expect, test } from 'vitest';
import { BROKER_NAMES } from '../../../protocols/kafka/broker-configs.ts';
import { TOPIC_DEFAULTS } from '../../src/hub/hub-fixture.ts';
import { openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api } from './kafka-requests.ts';

const BROKER = 4;
const NODE = '7';

/** Other numbers than the defaults, so that each is seen to come through. */
const SETTINGS = {
  connectionsPerAddressMax: 11,
  fetchBytesMax: 1_000_001,
  fetchSessionsMax: 12,
  groupConsumerHeartbeatIntervalMs: 1_001,
  groupConsumerSessionTimeoutMs: 9_001,
  groupInitialRebalanceDelayMs: 1,
  groupMaxSessionTimeoutMs: 60_001,
  groupMembersMax: 13,
  groupMinSessionTimeoutMs: 501,
  idleTimeoutMs: 70_001,
  offsetMetadataBytesMax: 14,
  offsetsRetentionMs: 3 * 60_000,
  requestBytesMax: 2_000_001,
  transactionAbortCheckMs: 5_001,
  transactionTimeoutMaxMs: 80_001,
  transactionalIdExpirationMs: 90_001,
};

const TOPICS = { partitions: 3, autoCreate: false, config: { 'segment.ms': '3600000' } };

/** What the front end and the hub were told at the start counts as what they are told later. */
async function reconfigured(): Promise<TestKafka> {
  const kafka = await openTestKafka();
  kafka.frontEnd.reconfigure(SETTINGS);
  const topics = { ...TOPIC_DEFAULTS, ...TOPICS };
  await kafka.hub.reconfigure({ topics, declaredTopics: [], advertised: new Map() });
  return kafka;
}

test.each([
  ['from the start', () => openTestKafka({ ...SETTINGS, topics: TOPICS })],
  ['after a change', reconfigured],
])('every config of the node is what the hub does, or what it is in words of Kafka: %s', async (_, open) => {
  const kafka = await open();
  const { settings } = kafka.hub;
  const address = `kafka://127.0.0.1:${kafka.port}`;
  const statePartitions = `${settings.statePartitions}`;
  const ofTopics = kafka.hub.topics.describeNewConfig({}).flatMap(({ name, value }) => {
    const brokerName = BROKER_NAMES.get(name);
    return brokerName === undefined ? [] : [[brokerName, value] as const];
  });
  const expected = {
    ...Object.fromEntries(ofTopics),
    // What the hub does.
    'auto.create.topics.enable': 'false',
    'connections.max.idle.ms': `${SETTINGS.idleTimeoutMs}`,
    'fetch.max.bytes': `${SETTINGS.fetchBytesMax}`,
    'group.consumer.heartbeat.interval.ms': `${SETTINGS.groupConsumerHeartbeatIntervalMs}`,
    'group.consumer.max.size': `${SETTINGS.groupMembersMax}`,
    'group.consumer.session.timeout.ms': `${SETTINGS.groupConsumerSessionTimeoutMs}`,
    'group.initial.rebalance.delay.ms': `${SETTINGS.groupInitialRebalanceDelayMs}`,
    'group.max.session.timeout.ms': `${SETTINGS.groupMaxSessionTimeoutMs}`,
    'group.max.size': `${SETTINGS.groupMembersMax}`,
    'group.min.session.timeout.ms': `${SETTINGS.groupMinSessionTimeoutMs}`,
    'log.roll.ms': '3600000',
    'max.connections.per.ip': `${SETTINGS.connectionsPerAddressMax}`,
    'max.incremental.fetch.session.cache.slots': `${SETTINGS.fetchSessionsMax}`,
    'num.partitions': '3',
    'offset.metadata.max.bytes': `${SETTINGS.offsetMetadataBytesMax}`,
    'offsets.retention.minutes': '3',
    'offsets.topic.num.partitions': statePartitions,
    'socket.request.max.bytes': `${SETTINGS.requestBytesMax}`,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': `${SETTINGS.transactionAbortCheckMs}`,
    'transaction.max.timeout.ms': `${SETTINGS.transactionTimeoutMaxMs}`,
    'transaction.state.log.num.partitions': statePartitions,
    'transactional.id.expiration.ms': `${SETTINGS.transactionalIdExpirationMs}`,
    // What it is.
    'advertised.listeners': address,
    'broker.id': NODE,
    'broker.rack': null,
    listeners: address,
    'log.dirs': kafka.directory,
    'node.id': NODE,
    // What cannot be otherwise here, and means the same to Kafka.
    'default.replication.factor': '1',
    'delete.topic.enable': 'true',
    'group.consumer.assignors': 'uniform,range',
    'group.consumer.migration.policy': 'bidirectional',
    'group.coordinator.rebalance.protocols': 'classic,consumer',
    'log.cleaner.enable': 'true',
    'offsets.retention.check.interval.ms': '600000',
    'offsets.topic.replication.factor': '1',
    'transaction.remove.expired.transaction.cleanup.interval.ms': '3600000',
    'transaction.state.log.replication.factor': '1',
  };
  const client = await kafka.connect();
  const { results } = await client.ask(api.describeConfigs, 4, {
    resources: [{ resourceType: BROKER, resourceName: NODE, configurationKeys: null }],
    includeSynonyms: false,
    includeDocumentation: true,
  });
  const configs = results[0]?.configs ?? [];
  expect(Object.fromEntries(configs.map(({ name, value }) => [name, value]))).toEqual(expected);
  expect(configs.filter(({ documentation }) => !documentation).map(({ name }) => name)).toEqual([]);
});
