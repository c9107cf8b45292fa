// Every limit of `[mqtt]`, the mapping rules and the listeners change while the front end runs: each is in effect for
// clients that come, and those that are there stay.
import type { ISubackPacket } from 'mqtt-packet';
import { expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { MqttOptions } from '../../../protocols/mqtt/options.ts';
import { sound } from '../../src/config/fixtures.ts';
import { type Connected, eventually, type Serving, serve } from './front-end-fixture.ts';

const KEPT = { clean: false, properties: { sessionExpiryInterval: 3600 } };

const connack = async (serving: Serving) => (await serving.client(5)).connack.properties;

async function granted(serving: Serving, ...topics: string[]): Promise<ISubackPacket['granted']> {
  const client = await serving.client(5);
  client.send({
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: topics.map((topic) => ({ topic, qos: 1 as const })),
  });
  return (await client.expect('suback')).granted;
}

const message = (topic: string, more: object = {}) => ({
  ...{
    cmd: 'publish' as const,
    topic,
    payload: 'x',
    qos: 1 as const,
    messageId: 1,
    dup: false,
    retain: false,
  },
  ...more,
});

async function published(serving: Serving, topic: string, more: object = {}): Promise<number | undefined> {
  const client = await serving.client(5);
  client.send(message(topic, more));
  return (await client.expect('puback')).reasonCode;
}

const userProperties = (value: string[]) => ({ properties: { userProperties: { a: value } } });

/** A client that is subscribed to `t`, was away while four messages came, and is back. */
async function back(serving: Serving): Promise<Connected> {
  await serving.hub.produce('t', { value: 'before' });
  const client = await serving.client(5, { clientId: 'kept', ...KEPT });
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 't', qos: 1 }] });
  await client.expect('suback');
  client.send({ cmd: 'disconnect' });
  await client.end();
  for (const value of ['1', '2', '3', '4']) {
    await serving.hub.produce('t', { value });
    serving.hub.clock.advance(4000);
  }
  return serving.client(5, { clientId: 'kept', ...KEPT });
}

type Key = Exclude<keyof MqttOptions, 'mappings'>;

/** What is another, and how a client notices. With the defaults none of them holds. */
const EFFECTS: Readonly<Partial<Record<Key, readonly [number, (serving: Serving) => Promise<void>]>>> = {
  packetBytesMax: [
    9_999,
    async (serving) => expect(await connack(serving)).toMatchObject({ maximumPacketSize: 9_999 }),
  ],
  receiveMaximum: [7, async (serving) => expect(await connack(serving)).toMatchObject({ receiveMaximum: 7 })],
  topicAliasMaximum: [
    3,
    async (serving) => expect(await connack(serving)).toMatchObject({ topicAliasMaximum: 3 }),
  ],
  keepaliveMaxSeconds: [
    60,
    async (serving) => expect(await connack(serving)).toMatchObject({ serverKeepAlive: 60 }),
  ],
  sessionExpiryMaxSeconds: [
    60,
    async (serving) => {
      const client = await serving.client(5, KEPT);
      expect(client.connack.properties).toMatchObject({ sessionExpiryInterval: 60 });
    },
  ],
  sessionsMax: [
    1,
    async (serving) => {
      await serving.client(5, { clientId: 'one', ...KEPT });
      expect((await serving.client(5, { clientId: 'two', ...KEPT })).connack.reasonCode).toBe(0x97);
    },
  ],
  connectTimeoutMs: [
    5,
    async (serving) => {
      const silent = await serving.raw(5);
      await eventually(() => serving.frontEnd.listeners()[0]?.connections === 2);
      serving.hub.clock.advance(6);
      await silent.end();
    },
  ],
  connectBytesMax: [
    64,
    async (serving) => {
      const client = await serving.raw(5);
      const clientId = 'c'.repeat(100);
      client.send({ cmd: 'connect', clientId, clean: true, protocolId: 'MQTT', protocolVersion: 5 });
      await client.end();
    },
  ],
  connectionsPerAddressMax: [
    1,
    async (serving) => expect((await serving.client(5)).connack.reasonCode).toBe(0x97),
  ],
  inflightMax: [
    1,
    async (serving) => {
      const client = await serving.client(5);
      client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 1 }] });
      await client.expect('suback');
      for (const value of ['1', '2']) await serving.hub.produce('t', { value });
      const first = await client.expect('publish');
      client.send({ cmd: 'pingreq' });
      await client.expect('pingresp');
      client.send({ ...first, cmd: 'puback' });
      expect((await client.expect('publish')).payload.toString()).toBe('2');
    },
  ],
  subscriptionsMax: [1, async (serving) => expect(await granted(serving, 'a', 'b')).toEqual([1, 0x97])],
  sharedGroupsMax: [
    1,
    async (serving) => expect(await granted(serving, '$share/g/a', '$share/g/b')).toEqual([1, 0x97]),
  ],
  topicLevelsMax: [2, async (serving) => expect(await granted(serving, 'a/b/c')).toEqual([0x8f])],
  topicBytesMax: [4, async (serving) => expect(await granted(serving, 'a/bcd')).toEqual([0x8f])],
  wildcardsMax: [1, async (serving) => expect(await granted(serving, '+/#')).toEqual([0x8f])],
  userPropertiesMax: [
    1,
    async (serving) => expect(await published(serving, 't', userProperties(['1', '2']))).toBe(0x97),
  ],
  userPropertyBytesMax: [
    3,
    async (serving) => expect(await published(serving, 't', userProperties(['123']))).toBe(0x97),
  ],
  retainedCountMax: [
    1,
    async (serving) => {
      expect(await published(serving, 'a', { retain: true })).toBe(0);
      expect(await published(serving, 'b', { retain: true })).toBe(0x97);
    },
  ],
  retainedSizeMax: [
    1,
    async (serving) => expect(await published(serving, 'a', { retain: true, payload: 'xyz' })).toBe(0x97),
  ],
  publishRateMax: [
    1,
    async (serving) => {
      const client = await serving.client(5);
      for (const messageId of [1, 2]) client.send(message('t', { messageId }));
      await eventually(() => serving.frontEnd.counters.publishRateWaits === 1);
    },
  ],
  queueCountMax: [
    2,
    async (serving) => {
      expect((await (await back(serving)).expect('publish')).payload.toString()).toBe('3');
    },
  ],
  queueAgeMaxMs: [
    10_000,
    async (serving) => {
      expect((await (await back(serving)).expect('publish')).payload.toString()).toBe('3');
    },
  ],
  sysIntervalMs: [
    1_000,
    async (serving) => {
      const client = await serving.client(5);
      client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '$SYS/#', qos: 0 }] });
      await client.expect('suback');
      const greeted = await client.expect('publish');
      expect(greeted.topic).toMatch(/^\$SYS\//);
      await eventually(() => {
        serving.hub.clock.advance(1_000);
        return (
          client.received.filter((each) => each.cmd === 'publish' && each.topic.endsWith('uptime')).length > 2
        );
      });
    },
  ],
};

it.each(Object.entries(EFFECTS))('%s', async (key, [value, expectEffect]) => {
  const serving = await serve(key === 'sysIntervalMs' ? { sysIntervalMs: 0 } : {});
  const early = await serving.client(5);
  serving.frontEnd.reconfigure({ [key]: value });
  await expectEffect(serving);
  early.send({ cmd: 'pingreq' });
  await early.expect('pingresp');
});

it('there is such a test for every key of the file', () => {
  const { mappings: _, ...configured } = sound(
    '[[listener]]\nname = "m"\nprotocol = "mqtt"\nbind = "127.0.0.1:0"',
  ).broker.mqtt;
  expect(Object.keys(EFFECTS).sort()).toEqual(Object.keys(configured).sort());
});

it('mapping rules, for topics that were used already', async () => {
  const serving = await serve();
  expect(await published(serving, 'plant/a')).toBe(0);
  const rule = {
    match: 'plant/{site}',
    topic: 'of-{site}',
    key: '{mqttTopic}',
    qos: 1,
    retain: 'store',
  } as const;
  const open = { direction: 'both', isolation: 'read_committed', replay: true } as const;
  serving.frontEnd.reconfigure({ mappings: [{ ...rule, ...open }] });
  expect(await published(serving, 'plant/a')).toBe(0);
  expect(
    serving.hub.topics
      .list()
      .filter(({ internal }) => !internal)
      .map(({ name }) => name),
  ).toEqual(['plant', 'of-a']);
  serving.frontEnd.reconfigure({ mappings: [{ ...rule, ...open, direction: 'out' }] });
  expect(await published(serving, 'plant/a')).toBe(0x90);
});

it('how far partitions are read for subscribers: each record comes once', async () => {
  const serving = await serve();
  const client = await serving.client(5);
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 't', qos: 0 }] });
  await client.expect('suback');
  const expectNext = async (value: string) => {
    await serving.hub.produce('t', { value });
    expect((await client.expect('publish')).payload.toString()).toBe(value);
  };
  await expectNext('0');
  const follow = vi.spyOn(serving.hub, 'follow');
  const rule = { match: 't', key: '{mqttTopic}', qos: 1, retain: 'store', direction: 'both' } as const;
  serving.frontEnd.reconfigure({
    mappings: [{ ...rule, isolation: 'read_uncommitted', replay: true }],
  });
  await expectNext('1');
  serving.frontEnd.reconfigure({ mappings: [] });
  await expectNext('2');
  const followed = follow.mock.calls.map(([{ topic }, { fromOffset, visibility }]) => [
    topic,
    fromOffset,
    visibility,
  ]);
  expect(followed).toContainEqual(['t', 1, 'highWatermark']);
  expect(followed).toContainEqual(['t', 2, 'lastStable']);
});

it('a listener: how many connections, how often, and from which proxies and pages', async () => {
  const serving = await serve();
  const early = await serving.client(5);
  const { name, host, port } = serving.frontEnd.listeners()[0]!;
  serving.frontEnd.changeListener({ name, host, port, connectionsMax: 1 });
  await (await serving.raw(5)).end();
  serving.frontEnd.changeListener({ name, host, port, connectionsMax: 9, connectRateMax: 1 });
  await serving.client(5);
  let isIn = false;
  const later = serving.client(5).finally(() => {
    isIn = true;
  });
  await eventually(() => serving.frontEnd.listeners()[0]?.connections === 3);
  early.send({ cmd: 'pingreq' });
  await early.expect('pingresp');
  expect(isIn).toBe(false);
  serving.hub.clock.advance(1_000);
  await later;
  serving.frontEnd.changeListener({ name, host, port, connectionsMax: 9, proxyTrusted: ['10.0.0.0/8'] });
  await (await serving.raw(5)).end();
  expect(serving.hub.log.events('warn')).toContain('mqtt-proxy-not-trusted');
  early.send({ cmd: 'pingreq' });
  await early.expect('pingresp');
});

it('a listener of WebSockets: which pages may connect', async () => {
  const serving = await serve({}, 1000, { protocol: 'mqtt-ws' });
  const connect = (origin: string) =>
    new Promise<number | undefined>((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${serving.port}/mqtt`, 'mqtt', { origin });
      socket.on('open', () => {
        socket.terminate();
        resolve(101);
      });
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
      socket.on('error', () => undefined); // what it is about is its answer
    });
  expect(await connect('https://a.example')).toBe(403);
  const { name, host, port } = serving.frontEnd.listeners()[0]!;
  const changed = {
    name,
    host,
    port,
    protocol: 'mqtt-ws',
    connectionsMax: 9,
    origins: ['https://a.example'],
  };
  serving.frontEnd.changeListener(changed);
  expect(await connect('https://a.example')).toBe(101);
  expect(await connect('https://b.example')).toBe(403);
});

it('a listener is opened and closed while another goes on; its clients are told', async () => {
  const serving = await serve();
  const early = await serving.client(5);
  await serving.frontEnd.listen({ name: 'b', host: '127.0.0.1', port: 0, connectionsMax: 10 });
  const { port } = serving.frontEnd.listeners()[1]!;
  const client = await serving.client(5, {}, port);
  await serving.frontEnd.closeListener('b');
  expect(await client.expect('disconnect')).toMatchObject({ reasonCode: 0x8b });
  await client.end();
  expect(serving.frontEnd.listeners().map(({ name }) => name)).toEqual(['mqtt']);
  early.send({ cmd: 'pingreq' });
  await early.expect('pingresp');
  await serving.frontEnd.closeListener('never');
});
