// Mapping rules at work: what is published and what Kafka wrote, through one front end. The examples are those of the README.
import { describe, expect, it } from 'vitest';
import type { RecordCursor } from '../../../../protocols/port.ts';
import type { FakeHub, FakePartition } from '../../../helpers/fake-mqtt-hub.ts';
import { serve } from '../front-end-fixture.ts';
import { mappingRule } from './rule-fixture.ts';

const TELEMETRY = mappingRule({ match: 'plant/{site}/+/telemetry/#', topic: 'telemetry-{site}' });
const STATE = mappingRule({ match: 'device/{id}/state', topic: 'states', key: '{id}' });
const BY_CLIENT = mappingRule({ match: 'log/#', topic: 'logs', key: '{clientId}' });

function keysOf(hub: FakeHub, topic: string): string[] {
  const partition = hub.topics.partition(topic, 0) as FakePartition; // the fake's own
  const cursor: RecordCursor = hub.cursor();
  cursor.reset(partition.rangeFrom(0, 1 << 30));
  const keys: string[] = [];
  while (cursor.nextBatch()) {
    while (cursor.nextRecord()) keys.push(cursor.bytes.toString('utf8', cursor.keyStart, cursor.keyEnd));
  }
  return keys;
}

/** A record of a Kafka client. */
async function produce(hub: FakeHub, topic: string, key: string, value: string): Promise<void> {
  await hub.topics.ensure(topic);
  const bytes = Buffer.from(key + value);
  const partition = hub.topics.partition(topic, 0) as FakePartition; // the fake's own
  await hub.publish(partition, (writer) => {
    writer.startRecord(1000, bytes, 0, key.length, 0);
    writer.endRecord(bytes, key.length, bytes.length, null);
  });
}

const message = (topic: string, qos: 0 | 1 | 2 = 1, messageId = 1) =>
  ({ cmd: 'publish', topic, payload: 'x', qos, messageId, dup: false, retain: false }) as const;

describe('a publish', () => {
  it('is stored where the rule says, and delivered under its own name', async () => {
    const { client, hub } = await serve({ mappings: [TELEMETRY, STATE] });
    const subscriber = await client(5);
    subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'device/+/state', qos: 1 }] });
    await subscriber.expect('suback');
    const publisher = await client(5);
    for (const topic of ['plant/berlin/7/telemetry/temp', 'device/42/state']) {
      publisher.send(message(topic));
      expect(await publisher.expect('puback')).toMatchObject({ reasonCode: 0 });
    }
    expect(keysOf(hub, 'telemetry-berlin')).toEqual(['plant/berlin/7/telemetry/temp']);
    expect(keysOf(hub, 'states')).toEqual(['42']);
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'device/42/state' });
  });

  it('of each client has its own key where the rule says so', async () => {
    const { client, hub } = await serve({ mappings: [BY_CLIENT] });
    const [one, other] = [await client(4, { clientId: 'one' }), await client(4, { clientId: 'other' })];
    for (const publisher of [one, other, one]) {
      publisher.send(message('log/a'));
      await publisher.expect('puback');
    }
    expect(keysOf(hub, 'logs')).toEqual(['one', 'other', 'one']);
  });

  it('to a topic that leads out alone is refused, at QoS 0 too', async () => {
    const { client, hub, frontEnd } = await serve({ mappings: [{ ...STATE, direction: 'out' }] });
    const publisher = await client(5);
    publisher.send(message('device/1/state', 0));
    publisher.send(message('device/1/state'));
    expect(await publisher.expect('puback')).toMatchObject({ reasonCode: 0x90 });
    expect(frontEnd.counters.publishesRefused).toBe(2);
    expect(hub.topics.get('states')).toBeUndefined();
  });

  it('that makes no legal name is refused', async () => {
    const { client } = await serve({ mappings: [mappingRule({ match: 'x/{a}', topic: '{a}' })] });
    const publisher = await client(5);
    publisher.send(message('x/..'));
    expect(await publisher.expect('puback')).toMatchObject({ reasonCode: 0x90 });
  });
});

describe('a record of Kafka', () => {
  it('is delivered under the topic that topic and key tell', async () => {
    const { client, hub } = await serve({
      mappings: [TELEMETRY, STATE, mappingRule({ match: '#', preset: 'dotted' })],
    });
    const subscriber = await client(5);
    subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 2 }] });
    await subscriber.expect('suback');
    for (const [topic, key, mqttTopic] of [
      ['states', '42', 'device/42/state'],
      ['telemetry-berlin', 'plant/berlin/7/telemetry/temp', 'plant/berlin/7/telemetry/temp'],
      ['a.b.c', 'anything', 'a/b/c'],
    ] as const) {
      await produce(hub, topic, key, 'v');
      expect(await subscriber.expect('publish')).toMatchObject({ topic: mqttTopic, qos: 1 });
    }
  });

  it.each([0, 1, 2] as const)('has QoS %i if the rule says so', async (qos) => {
    const { client, hub } = await serve({ mappings: [{ ...STATE, qos }] });
    const subscriber = await client(4);
    subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 2 }] });
    await subscriber.expect('suback');
    await produce(hub, 'states', '1', 'v');
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'device/1/state', qos });
  });

  it('and a publish are not delivered where the rule leads in alone', async () => {
    const { client, hub } = await serve({ mappings: [{ ...STATE, direction: 'in' }] });
    const subscriber = await client(4);
    subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'device/#', qos: 1 }] });
    await subscriber.expect('suback');
    const publisher = await client(4);
    publisher.send(message('device/1/state'));
    await publisher.expect('puback');
    publisher.send(message('device/1/other', 1, 2));
    await publisher.expect('puback');
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'device/1/other' });
    expect(keysOf(hub, 'states')).toEqual(['1']);
  });
});

describe('rules that take the place of others while clients are connected', () => {
  it('decide where the next publish is stored, by name and by topic alias', async () => {
    const { client, hub, frontEnd } = await serve({ mappings: [STATE] });
    const publisher = await client(5);
    const aliased = (topic: string) => ({ ...message(topic), properties: { topicAlias: 1 } });
    publisher.send(aliased('device/42/state'));
    await publisher.expect('puback');
    frontEnd.reconfigure?.({ mappings: [{ ...STATE, topic: 'elsewhere', key: '{clientId}' }] });
    for (const topic of ['', 'device/42/state']) {
      publisher.send(topic === '' ? aliased(topic) : message(topic));
      await publisher.expect('puback');
    }
    expect(keysOf(hub, 'states')).toEqual(['42']);
    const { clientId } = frontEnd.messaging!.clients.get(
      frontEnd.messaging!.clients.ids({ limit: 1 }).names[0]!,
    )!;
    expect(keysOf(hub, 'elsewhere')).toEqual([clientId, clientId]);
  });

  it('decide what the next record of Kafka is, and who gets it', async () => {
    const { client, hub, frontEnd } = await serve();
    const subscriber = await client(5);
    subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 1 }] });
    await subscriber.expect('suback');
    await produce(hub, 'states', '42', 'before');
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'states', qos: 1 });
    frontEnd.reconfigure?.({ mappings: [{ ...STATE, qos: 0 }] });
    await produce(hub, 'states', '42', 'after');
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'device/42/state', qos: 0 });
    frontEnd.reconfigure?.({ mappings: [{ ...STATE, match: 'device/{id}/#', direction: 'in' }] });
    await produce(hub, 'states', '43', 'again');
    expect(await subscriber.expect('publish')).toMatchObject({ topic: 'states' });
  });
});
