// Every limit of a client, with the reason code that it gets and the counter that says so.
import { describe, expect, it } from 'vitest';
import type { MqttCounters } from '../../../protocols/mqtt/counters.ts';
import { TokenBucket } from '../../../protocols/mqtt/token-bucket.ts';
import { connectPacket, eventually, serve } from './front-end-fixture.ts';

const message = (topic: string, userProperties?: Record<string, string | string[]>) =>
  ({
    cmd: 'publish',
    topic,
    payload: 'x',
    qos: 1,
    messageId: 1,
    dup: false,
    retain: false,
    ...(userProperties && { properties: { userProperties } }),
  }) as const;

describe('a publish', () => {
  it.each([
    ['a topic that is too long', { topicBytesMax: 10 }, message('a/2345678901'), 0x90, 'topicsRefused'],
    ['a topic of too many levels', { topicLevelsMax: 3 }, message('a/b/c/d'), 0x90, 'topicsRefused'],
    [
      'too many user properties',
      { userPropertiesMax: 2 },
      message('a', { a: ['1', '2', '3'] }),
      0x97,
      'userPropertiesRefused',
    ],
    [
      'user properties that are too long',
      { userPropertyBytesMax: 9 },
      message('a', { name: '123456' }),
      0x97,
      'userPropertiesRefused',
    ],
  ] as const)(
    'with %s is refused, and the next one is taken',
    async (_what, options, publish, reasonCode, counter) => {
      const { client, frontEnd } = await serve(options);
      const publisher = await client(5);
      publisher.send(publish);
      expect(await publisher.expect('puback')).toMatchObject({ reasonCode });
      expect(frontEnd.counters[counter satisfies keyof MqttCounters]).toBe(1);
      publisher.send(message('a', { a: '1' }));
      expect(await publisher.expect('puback')).toMatchObject({ reasonCode: 0 });
    },
  );

  it('comes no faster than a client may, and none is lost', async () => {
    const { client, frontEnd, hub } = await serve({ publishRateMax: 3 });
    const publisher = await client(5);
    for (let messageId = 1; messageId <= 7; messageId++) publisher.send({ ...message('a'), messageId });
    for (let messageId = 1; messageId <= 3; messageId++) await publisher.expect('puback');
    for (let messageId = 4; messageId <= 7; messageId++) {
      await eventually(() => frontEnd.counters.publishRateWaits === messageId - 3);
      expect(frontEnd.counters.publishesReceived).toBe(messageId - 1);
      hub.clock.advance(334);
      expect(await publisher.expect('puback')).toMatchObject({ messageId, reasonCode: 0 });
    }
  });
});

describe('a filter', () => {
  it.each([
    ['is too long', { topicBytesMax: 4 }, 'a/bcd', 0x8f, 'topicsRefused'],
    ['has too many levels', { topicLevelsMax: 2 }, 'a/b/c', 0x8f, 'topicsRefused'],
    ['has too many wildcards', { wildcardsMax: 2 }, '+/+/#', 0x8f, 'topicsRefused'],
    ['is one too many', { subscriptionsMax: 1 }, 'b', 0x97, 'subscriptionsRefused'],
  ] as const)('that %s is refused, and others stay', async (_what, options, topic, code, counter) => {
    const { client, frontEnd } = await serve(options);
    const subscriber = await client(5);
    const subscribe = (filter: string) =>
      subscriber.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: filter, qos: 0 }] });
    subscribe('a');
    expect((await subscriber.expect('suback')).granted).toEqual([0]);
    subscribe(topic);
    expect((await subscriber.expect('suback')).granted).toEqual([code]);
    expect(frontEnd.counters[counter]).toBe(1);
    expect(frontEnd.counters.subscriptionsRefused).toBe(1);
  });
});

describe('a connection', () => {
  it.each([
    [5, { reasonCode: 0x97 }],
    [4, { returnCode: 3 }],
    [3, { returnCode: 3 }],
  ] as const)(
    'one more of an address is told when it says CONNECT, and one that goes makes room, version %i',
    async (version, connack) => {
      const { client, frontEnd } = await serve({ connectionsPerAddressMax: 2 });
      const first = await client(4);
      await client(4);
      const third = await client(version);
      expect(third.connack).toMatchObject(connack);
      await third.end();
      expect(frontEnd.counters).toMatchObject({ addressLimitRefused: 1, connectionsRefused: 1 });
      first.send({ cmd: 'disconnect' });
      await first.end();
      await eventually(() => frontEnd.listeners()[0]?.connections === 1);
      expect((await client(4)).connack).toMatchObject({ returnCode: 0 });
    },
  );

  it('beyond the limit of an address, no more than a few may wait to be told: the rest are closed unread', async () => {
    const { raw, frontEnd } = await serve({ connectionsPerAddressMax: 1 });
    for (let count = 0; count < 9; count++) await raw(4);
    await eventually(() => frontEnd.listeners()[0]?.connections === 9);
    await (await raw(4)).end();
    expect(frontEnd.counters.addressLimitRefused).toBe(1);
  });

  it('begins when its turn comes, where more come than may in a second: all are let in', async () => {
    const { frontEnd, hub, raw } = await serve({}, 1000, { connectRateMax: 2 });
    const clients = [];
    for (let count = 0; count < 6; count++) {
      const one = await raw(5);
      one.send(connectPacket(5));
      clients.push(one);
    }
    await eventually(() => frontEnd.counters.connectionsAccepted === 2 && hub.clock.timerCount > 0);
    await eventually(() => frontEnd.listeners()[0]?.connections === 6);
    for (let accepted = 3; accepted <= 6; accepted++) {
      hub.clock.advance(500);
      await eventually(() => frontEnd.counters.connectionsAccepted === accepted);
    }
    for (const one of clients) expect((await one.expect('connack')).reasonCode).toBe(0);
    expect(frontEnd.counters.connectRateRefused).toBe(0);
  });

  it.each([
    [5, { reasonCode: 0x9f }],
    [4, { returnCode: 3 }],
  ] as const)('is told to come back where the line is too long, in version %i', async (version, connack) => {
    const { frontEnd, raw, client } = await serve({}, 1000, { connectRateMax: 2 });
    // Two at once, and a line of five seconds; some that go while they wait leave nobody waiting longer.
    for (let count = 0; count < 12; count++) {
      await raw(version);
      await eventually(() => frontEnd.listeners()[0]?.connections === count + 1);
    }
    const late = await client(version);
    expect(late.connack).toMatchObject(connack);
    await late.end();
    expect(frontEnd.counters.connectRateRefused).toBe(1);
  });

  it('that says nothing is closed in time', async () => {
    const { raw, frontEnd, hub } = await serve({ connectTimeoutMs: 5000 });
    const { timerCount } = hub.clock;
    const silent = await raw(5);
    await eventually(() => hub.clock.timerCount > timerCount);
    hub.clock.advance(5000);
    await silent.end();
    expect(frontEnd.counters.connectTimeouts).toBe(1);
  });

  it('with a packet that is too large ends with 0x95', async () => {
    const { client, frontEnd } = await serve({ packetBytesMax: 1000 });
    const publisher = await client(5);
    publisher.send({ ...message('a'), payload: 'x'.repeat(1000) });
    expect(await publisher.expect('disconnect')).toMatchObject({ reasonCode: 0x95 });
    expect(frontEnd.counters.packetsTooLarge).toBe(1);
  });

  it('with a will of too many user properties is refused with 0x97', async () => {
    const { client, frontEnd } = await serve({ userPropertiesMax: 1 });
    const properties = { userProperties: { a: ['1', '2'] } };
    const { connack } = await client(5, {
      will: { topic: 'w', payload: Buffer.alloc(0), qos: 0, retain: false, properties },
    });
    expect(connack).toMatchObject({ reasonCode: 0x97 });
    expect(frontEnd.counters.userPropertiesRefused).toBe(1);
  });
});

describe('a bucket of tokens', () => {
  it('gives as many at once as in a second, and then one after another', () => {
    const bucket = new TokenBucket(4, 0);
    expect([0, 0, 0, 0].map((nowMs) => bucket.take(nowMs))).toEqual([0, 0, 0, 0]);
    expect(bucket.take(0)).toBe(250);
    expect(bucket.take(249)).toBe(1);
    expect(bucket.take(250)).toBe(0);
    expect(bucket.take(1_000_000)).toBe(0);
    expect([0, 0, 0].map(() => bucket.take(1_000_000))).toEqual([0, 0, 0]);
    expect(bucket.take(1_000_000)).toBe(250);
  });
});
