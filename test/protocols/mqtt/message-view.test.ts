// Records of Kafka and MQTT as subscribers see them: topic, QoS, properties, expiry.
import { describe, expect, it } from 'vitest';
import { Delivering, settle } from './delivery-fixture.ts';

type Headers = readonly (readonly [string | Buffer, string | Buffer | undefined])[];

/** What subscribers of versions 4 and 5 get of one record that Kafka produced to `plant`. */
async function seen(record: {
  readonly key?: string | Buffer;
  readonly value?: string | Buffer;
  readonly headers?: Headers;
  readonly timestampMs?: number;
}) {
  const on = new Delivering();
  const [four, five] = [on.client('four', { version: 4 }), on.client('five')];
  on.subscribe(four, '#');
  on.subscribe(five, '#');
  await on.hub.produce('plant', record);
  await settle();
  return { four: four.publishes[0], five: five.publishes[0], counters: on.counters, hub: on.hub };
}

describe('a record of Kafka', () => {
  it('has the topic’s name, verbatim, and QoS 1', async () => {
    const { four, five } = await seen({ key: 'k', value: 'v' });
    for (const packet of [four, five]) {
      expect(packet).toMatchObject({ topic: 'plant', qos: 1, retain: false, payload: Buffer.from('v') });
    }
  });

  it.each([
    ['a key below the topic', { key: 'plant/1/temp' }, 'plant/1/temp'],
    ['a header', { key: 'plant/1', headers: [['mqtt.topic', 'other/x']] as Headers }, 'other/x'],
    ['a key of another topic', { key: 'plan/1' }, 'plant'],
    ['a key that is the name alone', { key: 'plant' }, 'plant'],
    ['a key that is the name and a slash', { key: 'plant/' }, 'plant/'],
    ['no key', {}, 'plant'],
  ])('with %s has the topic that it says', async (_what, record, topic) => {
    expect((await seen({ value: 'v', ...record })).five?.topic).toBe(topic);
  });

  it.each([
    ['a wildcard in its key', { key: 'plant/+/x' }],
    ['an ill-formed key', { key: Buffer.from('plant/\xff', 'latin1') }],
    ['U+0000 in its key', { key: 'plant/\0' }],
    ['a key of too many levels', { key: `plant${'/x'.repeat(200)}` }],
    ['a key that is too long', { key: `plant/${'x'.repeat(66_000)}` }],
    ['a wildcard in its header', { headers: [['mqtt.topic', 'a/#']] as Headers }],
    ['a header of the server’s own topics', { headers: [['mqtt.topic', '$SYS/x']] as Headers }],
    ['a header of the hub’s own topics', { headers: [['mqtt.topic', '__x/y']] as Headers }],
    ['an empty header', { headers: [['mqtt.topic', '']] as Headers }],
    ['a header without value', { headers: [['mqtt.topic', undefined]] as Headers }],
  ])('with %s falls back to the topic’s name [FAULTS 58]', async (_what, record) => {
    expect((await seen({ value: 'v', ...record })).five?.topic).toBe('plant');
  });

  it('without value is an empty payload', async () => {
    expect((await seen({ key: 'k' })).four?.payload).toHaveLength(0);
    expect((await seen({ value: '' })).five?.payload).toHaveLength(0);
  });

  it('has its headers as user properties, in order, duplicates kept', async () => {
    const headers: Headers = [
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
      ['none', undefined],
      ['', ''],
    ];
    const { five } = await seen({ value: 'v', headers });
    expect(five?.properties?.userProperties).toEqual({ b: ['1', '3'], a: '2', none: '', '': '' });
  });

  it('loses the headers that MQTT cannot say, and no more [FAULTS 58]', async () => {
    const headers: Headers = [
      ['binary', Buffer.from([0xff, 0xfe])],
      [Buffer.from([0xff]), 'x'],
      ['nul', 'a\0b'],
      ['long', 'x'.repeat(65_536)],
      ['kept', 'yes'],
    ];
    const { five } = await seen({ value: 'v', headers });
    expect(five?.properties?.userProperties).toEqual({ kept: 'yes' });
  });

  it('has the properties that its headers name', async () => {
    const headers: Headers = [
      ['mqtt.content-type', 'application/json'],
      ['mqtt.response-topic', 'reply/1'],
      ['mqtt.correlation-data', Buffer.from([0, 255])],
      ['mqtt.payload-format', '1'],
      ['mqtt.expiry', '60'],
      ['mqtt.qos', '2'],
      ['mqtt.client-id', 'me'],
      ['mqtt.anything', 'else'],
    ];
    const { five } = await seen({ value: 'v', headers });
    expect(five?.qos).toBe(1);
    expect(five?.properties).toEqual({
      contentType: 'application/json',
      responseTopic: 'reply/1',
      correlationData: Buffer.from([0, 255]),
      payloadFormatIndicator: true,
      messageExpiryInterval: 60,
    });
  });

  it.each([
    ['mqtt.content-type', Buffer.from([0xff])],
    ['mqtt.response-topic', 'a/#'],
    ['mqtt.payload-format', '7'],
    ['mqtt.payload-format', ''],
    ['mqtt.expiry', 'soon'],
    ['mqtt.expiry', '-1'],
    ['mqtt.expiry', '99999999999'],
    ['mqtt.expiry', ''],
    ['mqtt.correlation-data', Buffer.alloc(65_536)],
  ])('whose header %s is nonsense is delivered without it', async (name, value) => {
    const { five } = await seen({ value: 'v', headers: [[name, value]] });
    expect(five?.payload.toString()).toBe('v');
    expect(five?.properties ?? {}).toEqual({});
  });
});

describe('an expiry', () => {
  it('is what is left of it, rounded up [FAULTS 43]', async () => {
    const now = new Delivering().hub.clock.now();
    const { five } = await seen({ value: 'v', headers: [['mqtt.expiry', '60']], timestampMs: now - 10_500 });
    expect(five?.properties?.messageExpiryInterval).toBe(50);
  });

  it('that has passed keeps the message back, and is counted', async () => {
    const now = new Delivering().hub.clock.now();
    const record = { value: 'v', headers: [['mqtt.expiry', '60']] as Headers, timestampMs: now - 60_000 };
    const { four, five, counters } = await seen(record);
    expect([four, five]).toEqual([undefined, undefined]);
    expect(counters.droppedExpired).toBe(1);
  });

  it('is not a matter of a message that is sent already', async () => {
    const on = new Delivering();
    const client = on.client('c');
    client.acknowledges = false;
    on.subscribe(client, '#');
    await on.hub.produce('t', { value: 'v', headers: [['mqtt.expiry', '1']] });
    await settle();
    on.hub.clock.advance(5000);
    client.acknowledge();
    await settle();
    expect(client.session.inflightCount).toBe(0);
    expect(client.payloads).toEqual(['v']);
  });
});

describe('a large payload', () => {
  it.each([32_768, 32_769, 300_000])('of %i bytes arrives byte for byte at every QoS', async (length) => {
    const on = new Delivering();
    const [a, b] = [on.client('a'), on.client('b', { version: 4 })];
    on.subscribe(a, '#', { qos: 2, identifier: 7 });
    on.subscribe(b, '#', { qos: 0 });
    const payload = Buffer.from(Array.from({ length }, (_, index) => index & 0xff));
    for (const qos of [0, 1, 2] as const) {
      on.publish('t', 't', payload, { qos });
      await settle();
    }
    for (const client of [a, b]) {
      expect(client.publishes).toHaveLength(3);
      for (const packet of client.publishes) expect(payload.equals(packet.payload as Buffer)).toBe(true);
    }
  });
});

describe('one QoS 0 message for many', () => {
  it('is the same bytes for all of one version', async () => {
    const on = new Delivering();
    const clients = [4, 4, 5, 5].map(
      (version, index) => on.client(`c${index}`, { version: version as 4 | 5 }), // of the two
    );
    for (const client of clients) on.subscribe(client, '#', { qos: 0 });
    await on.hub.produce('t', { value: 'v', headers: [['k', 'w']] });
    await on.hub.produce('t', { value: 'x' });
    await settle();
    for (const client of clients) expect(client.payloads).toEqual(['v', 'x']);
    expect(clients[2]?.publishes[0]?.properties?.userProperties).toEqual({ k: 'w' });
    expect(clients[2]?.publishes[1]?.properties).toBeUndefined();
  });
});
