// Retained messages through a front end of its own: what a client that subscribes is sent, and what is refused.
import type { IPublishPacket } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import type { FakePartition } from '../../../helpers/fake-mqtt-hub.ts';
import type { Connected, Serving } from '../front-end-fixture.ts';
import { eventually, serve } from '../front-end-fixture.ts';

interface Publish {
  readonly qos?: 0 | 1 | 2;
  readonly retain?: boolean;
  readonly properties?: NonNullable<IPublishPacket['properties']>;
}

let packetIds = 0;

/** Publishes with RETAIN and waits until it is acknowledged. @returns the reason code */
async function retain(client: Connected, topic: string, payload: string | Buffer, options: Publish = {}) {
  const messageId = (packetIds++ % 65_000) + 1;
  const { qos = 1, ...rest } = options;
  client.send({ cmd: 'publish', topic, payload, qos, messageId, dup: false, retain: true, ...rest });
  if (qos !== 1) return 0;
  return (await client.expect('puback')).reasonCode ?? 0;
}

interface Subscribe {
  readonly qos?: 0 | 1 | 2;
  readonly rh?: 0 | 1 | 2;
  readonly nl?: boolean;
  readonly rap?: boolean;
  readonly identifier?: number;
}

async function subscribe(client: Connected, topic: string, options: Subscribe = {}) {
  const { qos = 1, rh = 0, nl = false, rap = false, identifier } = options;
  const messageId = (packetIds++ % 65_000) + 1;
  client.send({
    cmd: 'subscribe',
    messageId,
    subscriptions: client.version === 5 ? [{ topic, qos, rh, nl, rap }] : [{ topic, qos }],
    ...(identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } }),
  });
  await client.expect('suback');
}

/** The next messages, acknowledged as they come. */
async function messages(client: Connected, count: number): Promise<IPublishPacket[]> {
  const received: IPublishPacket[] = [];
  while (received.length < count) {
    const packet = await client.expect('publish');
    received.push(packet);
    if (packet.qos === 1) client.send({ cmd: 'puback', messageId: packet.messageId! });
    else if (packet.qos === 2) {
      client.send({ cmd: 'pubrec', messageId: packet.messageId! });
      await client.expect('pubrel');
      client.send({ cmd: 'pubcomp', messageId: packet.messageId! });
    }
  }
  return received;
}

/** That nothing else has been sent: what comes next is the answer to a ping. */
async function expectNothingMore(client: Connected): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  client.send({ cmd: 'pingreq' });
  await client.expect('pingresp');
}

async function pair(options: Parameters<typeof serve>[0] = {}): Promise<Serving & { publisher: Connected }> {
  const serving = await serve(options);
  return { ...serving, publisher: await serving.client(5) };
}

const text = ({ payload }: IPublishPacket) => payload.toString();

describe('a client that subscribes [FAULTS 47]', () => {
  it.each([3, 4, 5] as const)(
    'is sent the last retained message of its topic, version %i',
    async (version) => {
      const { client, publisher } = await pair();
      await retain(publisher, 'plant/1/temp', 'old');
      await retain(publisher, 'plant/1/temp', 'new');
      const subscriber = await client(version);
      await subscribe(subscriber, 'plant/1/temp');
      const [message] = await messages(subscriber, 1);
      expect(message).toMatchObject({ topic: 'plant/1/temp', retain: true, qos: 1, dup: false });
      expect(text(message!)).toBe('new');
      await expectNothingMore(subscriber);
    },
  );

  it.each([
    ['plant/+/temp', ['plant/1/temp', 'plant/2/temp']],
    ['plant/#', ['plant', 'plant/1/temp', 'plant/2/temp', 'plant/2/temp/raw']],
    ['#', ['other', 'plant', 'plant/1/temp', 'plant/2/temp', 'plant/2/temp/raw']],
    ['+', ['other', 'plant']],
    ['+/+/temp', ['plant/1/temp', 'plant/2/temp']],
    ['plant/1/temp/#', ['plant/1/temp']],
  ])('is sent those that %s matches', async (filter, topics) => {
    const { client, publisher } = await pair();
    for (const topic of ['plant', 'plant/1/temp', 'plant/2/temp', 'plant/2/temp/raw', 'other']) {
      await retain(publisher, topic, topic);
    }
    const subscriber = await client(5);
    await subscribe(subscriber, filter);
    const received = await messages(subscriber, topics.length);
    expect(received.map(({ topic }) => topic).sort()).toEqual(topics);
    await expectNothingMore(subscriber);
  });

  it('gets it at the lower of the two QoS [MQTT-3.8.4-8]', async () => {
    const { client, publisher } = await pair();
    await retain(publisher, 'a', 'at 1');
    const subscriber = await client(5);
    await subscribe(subscriber, 'a', { qos: 0 });
    expect((await messages(subscriber, 1))[0]!.qos).toBe(0);
    await subscribe(subscriber, 'a', { qos: 2 });
    expect((await messages(subscriber, 1))[0]!.qos).toBe(1);
  });

  it('gets its subscription identifier, and properties with what is left of the expiry', async () => {
    const { hub, client, publisher } = await pair();
    const properties = {
      payloadFormatIndicator: true,
      messageExpiryInterval: 100,
      contentType: 'text/plain',
      responseTopic: 'answers',
      correlationData: Buffer.from([1, 2, 3]),
      userProperties: { a: ['1', '2'], b: '3' },
    };
    await retain(publisher, 'a', 'x', { properties });
    hub.clock.advance(40_000);
    const subscriber = await client(5);
    await subscribe(subscriber, 'a', { identifier: 7 });
    const [message] = await messages(subscriber, 1);
    expect(message!.properties).toEqual({
      ...properties,
      messageExpiryInterval: 60,
      subscriptionIdentifier: 7,
    });
  });

  it('gets no message that has expired, and the table forgets it', async () => {
    const { hub, frontEnd, client, publisher } = await pair();
    await retain(publisher, 'a', 'x', { properties: { messageExpiryInterval: 10 } });
    hub.clock.advance(10_000);
    const subscriber = await client(5);
    await subscribe(subscriber, 'a');
    await expectNothingMore(subscriber);
    expect(frontEnd.retained).toMatchObject({ count: 1 });
    hub.clock.advance(30_000);
    await eventually(() => frontEnd.retained.count === 0);
    expect([...hub.stateLog('__mqtt_retained').live.keys()]).not.toContain('a');
  });

  it('is not sent what it has retained itself, with No Local [MQTT-3.8.3-3]', async () => {
    const { publisher } = await pair();
    await retain(publisher, 'a', 'x');
    await subscribe(publisher, 'a', { nl: true });
    await expectNothingMore(publisher);
    await subscribe(publisher, 'a');
    await messages(publisher, 1);
  });

  it('decides by Retain Handling: 0 always, 1 if the subscription is new, 2 never (section 3.8.3.1)', async () => {
    const { client, publisher } = await pair();
    await retain(publisher, 'a', 'x');
    const subscriber = await client(5);
    await subscribe(subscriber, 'a', { rh: 2 });
    await expectNothingMore(subscriber);
    await subscribe(subscriber, 'a', { rh: 1 });
    await expectNothingMore(subscriber);
    await subscribe(subscriber, 'a', { rh: 0 });
    await messages(subscriber, 1);
    await subscribe(subscriber, '+', { rh: 1 });
    await messages(subscriber, 1);
    await expectNothingMore(subscriber);
  });

  it('is sent RETAIN as published only where it asked for it, while it is subscribed [MQTT-3.3.1-12]', async () => {
    const { client, publisher } = await pair();
    const [plain, asPublished] = [await client(5), await client(5)];
    await subscribe(plain, 'a');
    await subscribe(asPublished, 'a', { rap: true });
    await retain(publisher, 'a', 'x');
    expect((await messages(plain, 1))[0]!.retain).toBe(false);
    expect((await messages(asPublished, 1))[0]!.retain).toBe(true);
    await expectNothingMore(plain);
  });

  it('with a Receive Maximum of 1 gets all of them, one by one', async () => {
    const { client, publisher } = await pair();
    for (let number = 0; number < 150; number++) await retain(publisher, `a/${number}`, `${number}`);
    const subscriber = await client(5, { properties: { receiveMaximum: 1 } });
    await subscribe(subscriber, 'a/#');
    const received = await messages(subscriber, 150);
    expect(new Set(received.map(text)).size).toBe(150);
    await expectNothingMore(subscriber);
  });
});

describe('what is retained', () => {
  it('an empty payload clears, and is sent to those who are subscribed [MQTT-3.3.1-6]', async () => {
    const { client, publisher, frontEnd } = await pair();
    await retain(publisher, 'a', 'x');
    const subscriber = await client(5);
    await subscribe(subscriber, 'a');
    await messages(subscriber, 1);
    await retain(publisher, 'a', '');
    expect(text((await messages(subscriber, 1))[0]!)).toBe('');
    expect(frontEnd.retained.count).toBe(0);
    const late = await client(5);
    await subscribe(late, 'a');
    await expectNothingMore(late);
  });

  it('a publish without RETAIN leaves what is there [MQTT-3.3.1-8]', async () => {
    const { client, publisher } = await pair();
    await retain(publisher, 'a', 'kept');
    await retain(publisher, 'a', 'passing', { retain: false });
    const subscriber = await client(5);
    await subscribe(subscriber, 'a');
    expect(text((await messages(subscriber, 1))[0]!)).toBe('kept');
  });

  it('at QoS 0 too, and at QoS 2 once', async () => {
    const { client, publisher, frontEnd } = await pair();
    await retain(publisher, 'a', 'x', { qos: 0 });
    await eventually(() => frontEnd.retained.count === 1);
    publisher.send({
      cmd: 'publish',
      topic: 'b',
      payload: 'y',
      qos: 2,
      messageId: 9,
      dup: false,
      retain: true,
    });
    await publisher.expect('pubrec');
    publisher.send({
      cmd: 'publish',
      topic: 'b',
      payload: 'y',
      qos: 2,
      messageId: 9,
      dup: true,
      retain: true,
    });
    await publisher.expect('pubrec');
    publisher.send({ cmd: 'pubrel', messageId: 9 });
    await publisher.expect('pubcomp');
    const subscriber = await client(5);
    await subscribe(subscriber, '#', { qos: 2 });
    expect((await messages(subscriber, 2)).map(({ topic, qos }) => [topic, qos]).sort()).toEqual([
      ['a', 0],
      ['b', 2],
    ]);
  });

  it('a retained will is', async () => {
    const { client } = await serve();
    const mortal = await client(5, {
      will: { topic: 'wills/1', payload: Buffer.from('gone'), qos: 1, retain: true },
    });
    mortal.socket.destroy();
    const subscriber = await client(5);
    await subscribe(subscriber, 'wills/#', { rap: true });
    expect((await messages(subscriber, 1))[0]).toMatchObject({ topic: 'wills/1', retain: true });
  });

  it('a Kafka record with the header mqtt.retain: 1 is, under its MQTT topic', async () => {
    const { hub, frontEnd, client } = await serve();
    const headers = [
      ['mqtt.topic', 'orders/7/state'],
      ['mqtt.retain', '1'],
      ['mqtt.content-type', 'text/plain'],
      ['trace', 'abc'],
    ] as const;
    await hub.produce('orders', { key: 'k', value: 'paid', headers });
    await eventually(() => frontEnd.retained.count === 1);
    const subscriber = await client(5);
    await subscribe(subscriber, 'orders/#');
    const [message] = await messages(subscriber, 1);
    expect(message).toMatchObject({ topic: 'orders/7/state', retain: true, qos: 1 });
    expect(message!.properties).toMatchObject({
      contentType: 'text/plain',
      userProperties: { trace: 'abc' },
    });
    await hub.produce('orders', { key: 'k', headers });
    await eventually(() => frontEnd.retained.count === 0);
  });

  it.each(['0', '2', '', '01', 'yes', undefined])(
    'a Kafka record whose mqtt.retain is %j is not',
    async (value) => {
      const { hub, frontEnd, client } = await serve();
      await hub.produce('orders', { value: 'x', headers: [['mqtt.retain', value]] });
      await hub.produce('orders', { value: 'y', headers: [['mqtt.retain', '1']] });
      await eventually(() => frontEnd.retained.count === 1);
      const subscriber = await client(5);
      await subscribe(subscriber, '#');
      expect(text((await messages(subscriber, 1))[0]!)).toBe('y');
      await expectNothingMore(subscriber);
    },
  );
});

describe('limits', () => {
  it('retained_count_max: 0x97 for another topic, not for the same', async () => {
    const { publisher, frontEnd } = await pair({ retainedCountMax: 2 });
    expect(await retain(publisher, 'a', 'x')).toBe(0);
    expect(await retain(publisher, 'b', 'x')).toBe(0);
    expect(await retain(publisher, 'c', 'x')).toBe(0x97);
    expect(await retain(publisher, 'a', 'y')).toBe(0);
    expect(await retain(publisher, 'b', '')).toBe(0);
    expect(await retain(publisher, 'c', 'x')).toBe(0);
    expect(frontEnd.retained.count).toBe(2);
  });

  it('counts what is under way', async () => {
    const { hub, publisher } = await pair({ retainedCountMax: 1 });
    hub.topics.make('a');
    hub.topics.make('b');
    hub.commits = 'when-told';
    for (const [index, topic] of ['a', 'b'].entries()) {
      const messageId = index + 1;
      publisher.send({ cmd: 'publish', topic, payload: 'x', qos: 1, messageId, dup: false, retain: true });
    }
    publisher.send({ cmd: 'pingreq' });
    await publisher.expect('pingresp');
    hub.commits = 'at-once';
    for (const topic of hub.topics.list())
      for (const each of topic.partitions) (each as FakePartition).commit();
    expect((await publisher.expect('puback')).reasonCode ?? 0).toBe(0);
    expect((await publisher.expect('puback')).reasonCode).toBe(0x97);
  });

  it('retained_size_max: 0x97, and the topic keeps what it has', async () => {
    const { client, publisher } = await pair({ retainedSizeMax: 10 });
    await retain(publisher, 'a', 'short');
    expect(await retain(publisher, 'a', 'much too long')).toBe(0x97);
    const subscriber = await client(5);
    await subscribe(subscriber, 'a');
    expect(text((await messages(subscriber, 1))[0]!)).toBe('short');
  });

  it('beyond them a Kafka record is a message like others, counted', async () => {
    const { hub, frontEnd, publisher } = await pair({ retainedCountMax: 1 });
    await retain(publisher, 'a', 'x');
    await hub.produce('orders', { value: 'x', headers: [['mqtt.retain', '1']] });
    await eventually(() => frontEnd.counters.retainedRefused === 1);
    expect(frontEnd.retained.count).toBe(1);
  });
});
