// A running hub reads its file again: what may change is in effect at every door, connections stay, and a file that cannot
// be put into effect changes nothing. Each limit of a protocol has its test beside the protocol (reconfiguring.test.ts).
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mqttJsOn } from '../helpers/mqtt-clients.ts';
import { KafkaSocket } from '../protocols/kafka/kafka-fixture.ts';
import { api, metadataOf } from '../protocols/kafka/kafka-requests.ts';
import { startReloadable } from './reloadable-hub.ts';

const listener = (name: string, protocol: string, port = 0, more = '') =>
  `[[listener]]\nname = "${name}"\nprotocol = "${protocol}"\nbind = "127.0.0.1:${port}"\n${more}\n`;
const KAFKA = listener('kafka', 'kafka');
const MQTT = listener('mqtt', 'mqtt');

const POLICY_VIOLATION = 44;

async function refused(port: number): Promise<void> {
  await expect(KafkaSocket.connect(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
}

test('mapping rules are others for the next publish, and its client stays', async () => {
  const hub = await startReloadable(MQTT);
  const client = await mqttJsOn(hub.portOf('mqtt'), 5);
  await client.publishAsync('plant/a', 'x', { qos: 1 });
  const rule = '[[mapping]]\nmatch = "plant/{site}"\ntopic = "of-{site}"\n';
  expect(await hub.reload(MQTT + rule)).toEqual(['mapping."plant/{site}"']);
  await client.publishAsync('plant/a', 'y', { qos: 1 });
  expect(hub.broker.hub.topics.partition('plant', 0)?.highWatermark).toBe(1);
  expect(hub.broker.hub.topics.partition('of-a', 0)?.highWatermark).toBe(1);
  await client.endAsync();
});

test('listeners of every protocol come and go, and clients of the others stay', async () => {
  const hub = await startReloadable(KAFKA);
  const early = await KafkaSocket.connect(hub.portOf('kafka'));
  const added = `${listener('m', 'mqtt')}${listener('k2', 'kafka')}${listener('admin2', 'http')}`;
  expect(await hub.reload(KAFKA + added)).toEqual(['listener.m', 'listener.k2', 'listener.admin2']);
  const mqtt = await mqttJsOn(hub.portOf('m'), 5);
  const second = await KafkaSocket.connect(hub.portOf('k2'));
  await second.ask(api.metadata, 1, metadataOf());
  const [mqttPort, kafkaPort] = [hub.portOf('m'), hub.portOf('k2')];
  // Asked where it ends: the answer comes first.
  hub.write(KAFKA);
  const url = `http://127.0.0.1:${hub.portOf('admin2')}/api/v1/config:reload`;
  const answer = await fetch(url, { method: 'POST' });
  expect(await answer.json()).toMatchObject({
    ok: true,
    applied: ['listener.m', 'listener.k2', 'listener.admin2'],
  });
  await second.closed;
  await refused(mqttPort);
  await refused(kafkaPort);
  expect(hub.broker.listeners().map(({ name }) => name)).toEqual(['admin', 'kafka']);
  await early.ask(api.metadata, 1, metadataOf());
  mqtt.end(true);
});

test('a listener that cannot be opened changes nothing at all', async () => {
  const hub = await startReloadable(KAFKA);
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const next = `${KAFKA}${listener('new', 'kafka')}${listener('m', 'mqtt', port)}[topics]\npartitions = 5\n`;
  expect(await hub.reload(next)).toEqual([
    expect.stringMatching(/^polylog.toml: listener "m" cannot listen on 127.0.0.1:\d+: listen EADDRINUSE/),
  ]);
  expect(hub.broker.listeners().map(({ name }) => name)).toEqual(['admin', 'kafka']);
  expect(hub.broker.hub.settings.defaultPartitions).toBe(1);
  expect(hub.broker.messaging).toBeUndefined();
  expect(hub.events).toContain('config-refused');
});

test('a topic that cannot be what is declared changes nothing at all', async () => {
  const hub = await startReloadable(KAFKA);
  await hub.broker.hub.topics.create({ name: 'a.b', partitions: 1, replicationFactor: 1, config: {} });
  const next = `${KAFKA}${listener('new', 'kafka')}[[topic]]\nname = "a_b"\n[mqtt]\nreceive_maximum = 5\n`;
  expect(await hub.reload(next)).toEqual([
    'polylog.toml: [[topic]] "a_b": topic a_b collides with the existing topic a.b',
  ]);
  expect(hub.broker.listeners().map(({ name }) => name)).toEqual(['admin', 'kafka']);
  expect(hub.broker.config.mqtt.receiveMaximum).toBe(1024);
});

test('a disk that fails half way: what is in effect all the same is named', async () => {
  const hub = await startReloadable(KAFKA);
  const topic = (name: string) => `[[topic]]\nname = "${name}"\npartitions = 2\n`;
  const inTheWay = path.join(hub.directory, 'data', 'topics', 'b');
  writeFileSync(inTheWay, '');
  hub.write(`${KAFKA}${topic('a')}${topic('b')}${topic('c')}`);
  const reload = async () => {
    const answer = await fetch(`${hub.adminUrl}/api/v1/config:reload`, { method: 'POST' });
    return (await answer.json()) as Record<string, unknown>; // of the API's schema
  };
  expect(await reload()).toMatchObject({
    ...{ ok: false, applied: ['topic.a'], needsRestart: [], unchanged: [] },
    problems: [
      { message: expect.stringMatching(/"b": .*; topics that were changed before that stay so: a$/) },
    ],
  });
  expect(hub.broker.hub.topics.get('a')?.partitions).toHaveLength(2);
  expect(hub.broker.hub.topics.get('c')).toBeUndefined();
  rmSync(inTheWay);
  expect(await reload()).toMatchObject({ ok: true, applied: ['topic.a', 'topic.b', 'topic.c'] });
});

test('topic defaults, the flush dial among them, and the advertised address', async () => {
  const hub = await startReloadable(KAFKA);
  const { topics } = hub.broker.hub;
  await topics.create({ name: 't', partitions: -1, replicationFactor: -1, config: {} });
  const advertised = listener('kafka', 'kafka', 0, 'advertised = "broker.example:9092"');
  const next = `${advertised}[storage]\nflush_messages = 7\nflush_interval = "3s"
    [topics]\npartitions = 3\npartitions_max = 3\nauto_create_limit = 2\nconfig."max.message.bytes" = 99\n`;
  expect(await hub.reload(next)).toHaveLength(7);
  const client = await KafkaSocket.connect(hub.portOf('kafka'));
  const { brokers } = await client.ask(api.metadata, 4, { ...metadataOf('u'), allowAutoTopicCreation: true });
  expect(brokers).toMatchObject([{ host: 'broker.example', port: 9092 }]);
  expect(topics.get('u')?.partitions).toHaveLength(3);
  expect(topics.get('t')?.config.maxMessageBytes).toBe(99);
  const entries = new Map(topics.describeConfig('t')?.map(({ name, value }) => [name, value]));
  expect([entries.get('flush.messages'), entries.get('flush.ms')]).toEqual(['7', '3000']);
  expect(await topics.ensure('one-too-many')).toMatchObject({ error: 'limit' });
  expect(await topics.addPartitions('t', 4)).toMatchObject({ error: 'limit' });
});

test('topics whose partitions the metrics tell of', async () => {
  const hub = await startReloadable(KAFKA);
  await hub.broker.hub.topics.create({ name: 't', partitions: 1, replicationFactor: 1, config: {} });
  const told = async () => (await fetch(`${hub.adminUrl}/metrics/detailed`)).text();
  expect(await told()).not.toContain('topic="t"');
  await hub.reload(`${KAFKA}[metrics]\ndetailed_topics = ["t"]\n`);
  expect(await told()).toContain('topic="t"');
});

test('the level of the log', async () => {
  const hub = await startReloadable(KAFKA);
  await hub.reload(`${KAFKA}[log]\nlevel = "error"\n`);
  const before = hub.events.length;
  await hub.reload(`${KAFKA}[log]\nlevel = "error"\n`);
  expect(hub.events.slice(before)).toEqual([]);
});

test('what the file declares of a topic is changed at no door, and each says the same words', async () => {
  const declared = '[[topic]]\nname = "t"\npartitions = 2\nconfig = { "retention.ms" = "5s" }\n';
  const hub = await startReloadable(KAFKA + declared);
  const client = await KafkaSocket.connect(hub.portOf('kafka'));
  const message = 'topic t has retention.ms=5000 declared at polylog.toml:15: change it there, and reload';

  const { results } = await client.ask(api.createPartitions, 0, {
    ...{ topics: [{ name: 't', count: 3, assignments: null }], timeoutMs: 5000, validateOnly: false },
  });
  expect(results).toMatchObject([
    {
      errorCode: POLICY_VIOLATION,
      errorMessage: 'topic t has 2 partitions declared at polylog.toml:14: change it there, and reload',
    },
  ]);
  const resource = { resourceType: 2, resourceName: 't' };
  const altered = await client.ask(api.alterConfigs, 0, {
    resources: [{ ...resource, configs: [{ name: 'segment.ms', value: '1000' }] }],
    validateOnly: false,
  });
  const incremental = await client.ask(api.incrementalAlterConfigs, 0, {
    resources: [{ ...resource, configs: [{ name: 'retention.ms', configOperation: 0, value: '1' }] }],
    validateOnly: false,
  });
  for (const { responses } of [altered, incremental])
    expect(responses).toMatchObject([{ errorCode: POLICY_VIOLATION, errorMessage: message }]);
  const deletion = { topicNames: ['t'], timeoutMs: 5000 };
  const deleted = await client.ask(api.deleteTopics, 5, deletion);
  const taken = 'topic t is declared at polylog.toml:13: take it out there, and reload';
  expect(deleted.responses).toMatchObject([{ errorCode: POLICY_VIOLATION, errorMessage: taken }]);

  const patched = await fetch(`${hub.adminUrl}/api/v1/topics/t`, {
    ...{ method: 'PATCH', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ config: { 'retention.ms': '1' } }),
  });
  expect([patched.status, await patched.json()]).toEqual([
    409,
    { error: { code: 'declared', message, hint: 'polylog.toml:15' } },
  ]);
  const removed = await fetch(`${hub.adminUrl}/api/v1/topics/t`, { method: 'DELETE' });
  expect([removed.status, await removed.json()]).toMatchObject([
    409,
    { error: { code: 'declared', message: taken } },
  ]);

  // With the declaration taken out it is a topic like others.
  expect(await hub.reload(KAFKA)).toEqual(['topic.t']);
  expect((await client.ask(api.deleteTopics, 5, deletion)).responses[0]?.errorCode).toBe(0);
});

test('records that are on their way while the file is read again are all there', async () => {
  const hub = await startReloadable(KAFKA + MQTT);
  const client = await mqttJsOn(hub.portOf('mqtt'), 5);
  const publishes = Array.from({ length: 200 }, (_, index) =>
    client.publishAsync('t', String(index), { qos: 1 }),
  );
  for (let maximum = 5; maximum < 10; maximum++) {
    await hub.reload(
      `${KAFKA}${MQTT}[mqtt]\nreceive_maximum = ${maximum}\n[[mapping]]\nmatch = "x${maximum}/#"\n`,
    );
  }
  await Promise.all(publishes);
  expect(hub.broker.hub.topics.partition('t', 0)?.highWatermark).toBe(200);
  await client.endAsync();
});
