// MQTT.js in both versions over the real hub and its store.

import type { IClientOptions, IPublishPacket, MqttClient } from 'mqtt';
import { connectAsync } from 'mqtt';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_OPTIONS } from '../../../protocols/mqtt/options.ts';
import { startBroker } from '../../../src/broker.ts';
import { KAFKA_DEFAULTS } from '../../src/broker-fixture.ts';
import { append, TOPIC_DEFAULTS, temporaryDirectory } from '../../src/hub/hub-fixture.ts';
import { TestLog } from '../../src/hub/test-log.ts';

async function start(directory = temporaryDirectory(), partitions = 1) {
  const log = new TestLog();
  const broker = await startBroker(
    {
      dataDirectory: directory,
      nodeId: 1,
      listeners: [{ name: 'mqtt', protocol: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 100 }],
      storage: {
        flushTimeoutMs: 30_000,
        diskReserveBytes: 0,
        checkIntervalMs: 300_000,
        checkpointBytes: 1 << 20,
        indexIntervalBytes: 4096,
        tailCacheBytes: 1 << 20,
      },
      topics: { ...TOPIC_DEFAULTS, partitions },
      declaredTopics: [],
      detailedTopics: [],
      kafka: KAFKA_DEFAULTS,
      mqtt: { ...DEFAULT_OPTIONS, packetBytesMax: 1 << 20 },
    },
    log,
  );
  onTestFinished(() => broker.stop());
  const { port } = broker.listeners()[0]!;
  const client = async (protocolVersion: 4 | 5, options: IClientOptions = {}) => {
    const connected = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      protocolVersion,
      reconnectPeriod: 0,
      ...options,
    });
    onTestFinished(async () => void (await connected.endAsync(true)));
    return connected;
  };
  return { broker, log, client };
}

/** Messages as they come; `take` waits for so many. */
function collect(client: MqttClient) {
  const packets: IPublishPacket[] = [];
  let wake: () => void = () => undefined;
  client.on('message', (_topic, _payload, packet) => {
    packets.push(packet);
    wake();
  });
  const take = async (count: number) => {
    while (packets.length < count) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return packets.splice(0, count);
  };
  return { packets, take };
}

describe.each([4, 5] as const)('MQTT.js %i over the real hub', (version) => {
  it('gets at each QoS what another one sends, byte for byte', async () => {
    const { client } = await start();
    const [subscriber, publisher] = [await client(version), await client(version)];
    const { take } = collect(subscriber);
    await subscriber.subscribeAsync('plant/+/temp', { qos: 2 });
    const payload = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index & 0xff));
    for (const qos of [0, 1, 2] as const) await publisher.publishAsync('plant/1/temp', payload, { qos });
    const packets = await take(3);
    expect(packets.map(({ qos }) => qos)).toEqual([0, 1, 2]);
    for (const packet of packets) {
      expect(packet.topic).toBe('plant/1/temp');
      expect(payload.equals(packet.payload as Buffer)).toBe(true);
    }
  });

  it('gets a burst of every publisher in that publisher’s order', async () => {
    const { client } = await start(temporaryDirectory(), 3);
    const subscriber = await client(version);
    const { take } = collect(subscriber);
    await subscriber.subscribeAsync('burst/#', { qos: 1 });
    const publishers = await Promise.all([0, 1, 2].map(() => client(version)));
    const count = 300;
    await Promise.all(
      publishers.flatMap((publisher, index) =>
        Array.from(
          { length: count },
          (_, sequence) =>
            publisher.publishAsync(`burst/${index}`, String(sequence), { qos: (sequence % 3) as 0 | 1 | 2 }), // 0 to 2
        ),
      ),
    );
    const packets = await take(publishers.length * count);
    for (const index of publishers.keys()) {
      const own = packets.filter(({ topic }) => topic === `burst/${index}`);
      const sequence = own.map(({ payload }) => Number(payload));
      expect(sequence).toEqual(Array.from({ length: count }, (_, position) => position));
    }
  });

  it('sees what Kafka wrote, in topics made before and after it subscribed', async () => {
    const { broker, client } = await start();
    const make = async (name: string) => {
      await broker.hub.topics.create({ name, partitions: 2, replicationFactor: -1, config: {} });
      return broker.hub.topics.partition(name, 1)!;
    };
    const before = await make('before');
    await append(before, 'history');
    const subscriber = await client(version);
    const { take } = collect(subscriber);
    await subscriber.subscribeAsync('#', { qos: 1 });
    await append(before, 'b1', 'b2');
    await append(await make('after'), 'a1');
    const packets = await take(3);
    const seen = packets.map(({ topic, payload }) => `${topic} ${payload}`);
    expect(seen.filter((text) => text.startsWith('before'))).toEqual(['before b1', 'before b2']);
    expect(seen).toContain('after a1');
  });

  it('is served at once while another one does not read', async () => {
    const { client, log } = await start();
    const stalled = await client(version);
    await stalled.subscribeAsync('flood', { qos: 1 });
    stalled.stream.pause();
    const [quick, publisher] = [await client(version), await client(version)];
    const { take } = collect(quick);
    await quick.subscribeAsync('flood', { qos: 1 });
    const payload = Buffer.alloc(10_000, 'x');
    const sent = Promise.all(
      Array.from({ length: 1500 }, () => publisher.publishAsync('flood', payload, { qos: 1 })),
    );
    expect(await take(1500)).toHaveLength(1500);
    await sent;
    const { take: takeLate } = collect(stalled);
    stalled.stream.resume();
    expect(await takeLate(1500)).toHaveLength(1500);
    expect(log.events('error')).toEqual([]);
  });
});

describe('MQTT.js 5 over the real hub', () => {
  it('keeps properties and user properties, order and duplicates', async () => {
    const { client } = await start();
    const [subscriber, publisher] = [await client(5), await client(5)];
    const { take } = collect(subscriber);
    await subscriber.subscribeAsync('p', { qos: 1, properties: { subscriptionIdentifier: 9 } });
    await publisher.publishAsync('p', 'x', {
      qos: 1,
      properties: {
        contentType: 'text/plain',
        responseTopic: 'reply',
        correlationData: Buffer.from([0, 1]),
        payloadFormatIndicator: true,
        messageExpiryInterval: 1000,
        userProperties: { b: ['1', '3'], a: '2' },
      },
    });
    const [packet] = await take(1);
    expect(packet?.properties).toMatchObject({
      contentType: 'text/plain',
      responseTopic: 'reply',
      correlationData: Buffer.from([0, 1]),
      payloadFormatIndicator: true,
      subscriptionIdentifier: 9,
      userProperties: { b: ['1', '3'], a: '2' },
    });
    // What is left of it, on a slow machine too.
    expect(packet?.properties?.messageExpiryInterval).toBeGreaterThan(900);
    expect(packet?.properties?.messageExpiryInterval).toBeLessThanOrEqual(1000);
  });

  it('is told goodbye when the hub stops', async () => {
    const { broker, client } = await start();
    const connected = await client(5);
    const said = new Promise((resolve) => connected.once('disconnect', resolve));
    await broker.stop();
    expect(await said).toMatchObject({ reasonCode: 0x8b });
  });
});

describe('what was acknowledged', () => {
  it('is there after the hub has stopped and started', async () => {
    const directory = temporaryDirectory();
    const first = await start(directory);
    const publisher = await first.client(4);
    for (const payload of ['1', '2', '3']) await publisher.publishAsync('kept/x', payload, { qos: 1 });
    await publisher.endAsync();
    await first.broker.stop();
    const second = await start(directory);
    expect(second.broker.hub.topics.partition('kept', 0)?.logEndOffset).toBe(3);
    const again = await second.client(5);
    const { take } = collect(again);
    await again.subscribeAsync('kept/#', { qos: 1 });
    await again.publishAsync('kept/x', '4', { qos: 1 });
    expect((await take(1))[0]?.payload.toString()).toBe('4');
  });
});
