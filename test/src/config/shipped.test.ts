// What is shipped works and tells the truth: the default file, the examples and the table of keys.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { kafkaSettings } from '../../../protocols/kafka/settings.ts';
import { DEFAULT_OPTIONS } from '../../../protocols/mqtt/options.ts';
import { keyTable } from '../../../src/config/key-table.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { configSchema, topicConfigSchema } from '../../../src/config/schema.ts';
import { schemaTree, schemaValues } from '../../../src/config/schema-tree.ts';
import { formatIssue, valueAt } from '../../../src/config/sources.ts';
import {
  checkTopicConfig,
  effectiveTopicConfig,
  HONOURED_NAMES,
  logConfigOf,
} from '../../../src/hub/topic-configs.ts';
import { LISTENER, sound } from './fixtures.ts';

async function load(file: string, environment: Record<string, string> = {}) {
  const result = await loadConfig({ file, environment, settings: [], workingDirectory: process.cwd() });
  if (result.issues) throw new Error(result.issues.map(formatIssue).join('\n'));
  return result.config;
}

it('the default file starts, on loopback alone', async () => {
  const { broker } = await load('config/polylog.toml');
  expect(broker.listeners.map(({ protocol, host, port }) => `${protocol} ${host}:${port}`)).toEqual([
    'kafka 127.0.0.1:9092',
    'mqtt 127.0.0.1:1883',
    'mqtt-ws 127.0.0.1:8083',
    'http 127.0.0.1:9640',
  ]);
});

it('the default file shows the defaults', async () => {
  const { broker, log, written } = await load('config/polylog.toml');
  const bare = sound(LISTENER);
  const dataDirectory = bare.broker.dataDirectory;
  const { config, ...topics } = broker.topics;
  const { config: bareConfig, ...bareTopics } = bare.broker.topics;
  expect({ ...broker, dataDirectory, topics, listeners: [] }).toEqual({
    ...bare.broker,
    topics: bareTopics,
    listeners: [],
  });
  expect(logConfigOf({}, config)).toEqual(logConfigOf({}, bareConfig));
  expect(log).toEqual(bare.log);
  for (const { path, node } of schemaValues(schemaTree(configSchema))) {
    const shown = valueAt(written.values, path);
    if (node.default !== undefined && !path.includes('*'))
      expect([path, shown]).toEqual([path, node.default]);
  }
});

it('the default file names every key', async () => {
  const text = await readFile('config/polylog.toml', 'utf8');
  for (const { path } of schemaValues(schemaTree(configSchema))) {
    expect(text).toMatch(new RegExp(`(?:^|[\\s{"])${path.at(-1)!.replaceAll('.', '\\.')}"? =`, 'm'));
  }
});

it('the gateway example lets the LAN in and keeps the admin API to itself', async () => {
  const { broker } = await load('config/examples/gateway-lan.toml');
  expect(broker.listeners.map(({ protocol, host }) => `${protocol} ${host}`)).toEqual([
    'kafka 0.0.0.0',
    'mqtt 0.0.0.0',
    'http 127.0.0.1',
  ]);
});

it('the gateway example needs its anonymous = true', async () => {
  const text = (await readFile('config/examples/gateway-lan.toml', 'utf8')).replaceAll(
    'anonymous = true\n',
    '',
  );
  expect(() => sound(text)).toThrow(/0\.0\.0\.0:9092 can be reached.*\n.*0\.0\.0\.0:1883 can be reached/);
});

it('the ephemeral example takes any free port everywhere', async () => {
  const { broker } = await load('config/examples/ephemeral.toml', { POLYLOG_DATA: '/tmp/x' });
  expect(broker.listeners.map(({ port }) => port)).toEqual([0, 0, 0]);
  expect(broker.dataDirectory).toBe('/tmp/x');
});

it('config/README.md has the table of all keys', async () => {
  const readme = await readFile('config/README.md', 'utf8');
  const table = /<!-- keys -->\s([\s\S]*?)\s<!-- \/keys -->/.exec(readme)?.[1];
  // The formatter pads columns.
  const plain = (text: string | undefined) => text?.replace(/ +/g, ' ').replace(/-{3,}/g, '---').trim();
  expect(plain(table)).toBe(plain(keyTable()));
});

it("Kafka's topic configs are those that the hub honours, and the default file's are its defaults", async () => {
  const { broker } = await load('config/polylog.toml');
  expect(Object.keys(topicConfigSchema.shape).sort()).toEqual(HONOURED_NAMES);
  // No number says that there is no limit: the file can only leave these out.
  const unlimited = ['max.compaction.lag.ms', 'message.timestamp.before.max.ms'];
  const inTheFile = HONOURED_NAMES.filter((name) => !unlimited.includes(name));
  expect(Object.keys(broker.topics.config).sort()).toEqual(inTheFile);
  expect(checkTopicConfig(broker.topics.config)).toBeUndefined();
  expect(effectiveTopicConfig({}, broker.topics.config)).toEqual(effectiveTopicConfig({}, {}));
  expect(logConfigOf({}, broker.topics.config)).toEqual(logConfigOf({}, {}));
});

it("the front ends' own defaults are those of the default file", () => {
  const { kafka, mqtt } = sound(LISTENER).broker;
  const { groups, offsets, transactions, ...settings } = kafkaSettings({});
  expect(settings).toMatchObject({
    requestBytesMax: kafka.requestBytesMax,
    fetchMaxWaitMs: kafka.fetchMaxWaitMs,
    idleTimeoutMs: kafka.idleTimeoutMs,
    connectionsPerAddressMax: kafka.connectionsPerAddressMax,
    fetchBytesMax: kafka.fetchBytesMax,
    fetchSessions: { sessionsMax: kafka.fetchSessionsMax },
  });
  expect(groups).toMatchObject({
    minSessionTimeoutMs: kafka.groupMinSessionTimeoutMs,
    maxSessionTimeoutMs: kafka.groupMaxSessionTimeoutMs,
    initialRebalanceDelayMs: kafka.groupInitialRebalanceDelayMs,
    groupsMax: kafka.groupsMax,
    membersMax: kafka.groupMembersMax,
    consumer: {
      sessionTimeoutMs: kafka.groupConsumerSessionTimeoutMs,
      heartbeatIntervalMs: kafka.groupConsumerHeartbeatIntervalMs,
    },
  });
  expect(offsets).toMatchObject({
    metadataBytesMax: kafka.offsetMetadataBytesMax,
    retentionMs: kafka.offsetsRetentionMs,
  });
  expect(transactions).toMatchObject({
    timeoutMaxMs: kafka.transactionTimeoutMaxMs,
    idsMax: kafka.transactionalIdsMax,
    idExpirationMs: kafka.transactionalIdExpirationMs,
    abortCheckMs: kafka.transactionAbortCheckMs,
  });
  expect(DEFAULT_OPTIONS).toMatchObject(mqtt);
});
