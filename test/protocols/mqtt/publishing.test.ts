// From a PUBLISH on a socket to a record, and back to its answer: mapping, order, QoS 2, floods, wills.
import { describe, expect, it } from 'vitest';
import type { RecordCursor, RecordRange } from '../../../protocols/port.ts';
import type { FakeHub, FakePartition } from '../../helpers/fake-mqtt-hub.ts';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { eventually, serve } from './front-end-fixture.ts';

function partitionOf(hub: FakeHub, topic: string, index = 0): FakePartition {
  return hub.topics.partition(topic, index) as FakePartition; // the fake's own
}

const NO_ROOM = { error: 'limit', message: 'no' } as const;

interface StoredRecord {
  readonly key: string;
  readonly value: string;
  readonly timestampMs: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly attributes: readonly (readonly [string, string])[];
}

function recordsOf(hub: FakeHub, topic: string, index = 0): StoredRecord[] {
  const partition = partitionOf(hub, topic, index);
  const range: RecordRange = partition.rangeFrom(0, 1 << 30);
  const cursor: RecordCursor = hub.cursor();
  cursor.reset(range);
  const text = (start: number, end: number) => cursor.bytes.toString('latin1', start, end);
  const pair = () =>
    [text(cursor.nameStart, cursor.nameEnd), text(cursor.itemStart, cursor.itemEnd)] as const;
  const records: StoredRecord[] = [];
  while (cursor.nextBatch()) {
    while (cursor.nextRecord()) {
      const headers = [];
      while (cursor.nextHeader()) headers.push(pair());
      const attributes = [];
      while (cursor.nextAttribute()) attributes.push(pair());
      records.push({
        key: text(cursor.keyStart, cursor.keyEnd),
        value: text(cursor.valueStart, cursor.valueEnd),
        timestampMs: cursor.timestampMs,
        headers,
        attributes,
      });
    }
  }
  return records;
}

function publish(client: RawMqtt, topic: string, payload: string, qos: 0 | 1 | 2, messageId = 0): void {
  client.send({ cmd: 'publish', topic, payload, qos, messageId, dup: false, retain: false });
}

async function ping(client: RawMqtt): Promise<void> {
  client.send({ cmd: 'pingreq' });
  await client.expect('pingresp');
}

describe('a publish becomes a record', () => {
  it('with the topic as its key, the hub’s time, and what MQTT says of it', async () => {
    const { client, hub } = await serve();
    const device = await client(4, { clientId: 'device' });
    publish(device, 'plant/1/temp', '21.5', 1, 1);
    await device.expect('puback');
    expect(recordsOf(hub, 'plant')).toEqual([
      {
        key: 'plant/1/temp',
        value: '21.5',
        timestampMs: hub.clock.now(),
        headers: [],
        attributes: [
          ['mqtt.topic', 'plant/1/temp'],
          ['mqtt.client-id', 'device'],
          ['mqtt.qos', '1'],
        ],
      },
    ]);
  });

  it('with user properties as headers in order, duplicates kept, and none of the hub’s own names', async () => {
    const { client, hub } = await serve();
    const device = await client(5, { clientId: 'device' });
    device.send(
      // QoS 1, topic t, packet identifier 1, six properties, payload x
      '32 38 000174 0001 31' +
        '26 000162 000131' +
        '26 000161 000132' +
        '26 000162 000133' +
        '26 000a 6d7174742e746f706963 000178' +
        '03 0004 74657874' +
        '02 0000003c' +
        '78',
    );
    await device.expect('puback');
    expect(recordsOf(hub, 't')).toMatchObject([
      {
        value: 'x',
        headers: [
          ['b', '1'],
          ['a', '2'],
          ['b', '3'],
        ],
        attributes: [
          ['mqtt.topic', 't'],
          ['mqtt.client-id', 'device'],
          ['mqtt.qos', '1'],
          ['mqtt.content-type', 'text'],
          ['mqtt.expiry', '60'],
        ],
      },
    ]);
  });

  it('of each its own, however much attributes are alike', async () => {
    const { client, hub } = await serve();
    const [a, b] = [await client(4, { clientId: 'a' }), await client(4, { clientId: 'b' })];
    for (const [index, device] of [a, b, a, b].entries()) {
      publish(device, 't', String(index), 2, 100 + index);
      await device.expect('pubrec');
    }
    publish(a, 't', '4', 0);
    await ping(a);
    const seen = recordsOf(hub, 't').map(({ attributes }) => attributes.slice(1).map(([, value]) => value));
    expect(seen).toEqual([
      ['a', '2', '\0d'],
      ['b', '2', '\0e'],
      ['a', '2', '\0f'],
      ['b', '2', '\0g'],
      ['a', '0'],
    ]);
  });

  it('on the partition that Kafka’s default partitioner gives its key', async () => {
    const { client, hub } = await serve();
    hub.topics.partitions = 5;
    const device = await client(4);
    for (const [index, topic] of ['t/1', 't/2', 't/3', 't/4'].entries()) {
      publish(device, topic, 'x', 1, index + 1);
      await device.expect('puback');
      const partition = hub.partitionFor(Buffer.from(topic), 5);
      expect(recordsOf(hub, 't', partition).map(({ key }) => key)).toContain(topic);
    }
  });

  it('with an empty payload as an empty value', async () => {
    const { client, hub } = await serve();
    const device = await client(4);
    publish(device, 't', '', 1, 1);
    await device.expect('puback');
    expect(recordsOf(hub, 't')).toMatchObject([{ value: '' }]);
  });

  it('whether or not anybody is subscribed [FAULTS 54]', async () => {
    const { client, hub } = await serve();
    const device = await client(5);
    for (const qos of [0, 1, 2] as const) publish(device, 't', String(qos), qos, qos);
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0 });
    expect(await device.expect('pubrec')).toMatchObject({ reasonCode: 0 });
    expect(recordsOf(hub, 't').map(({ value }) => value)).toEqual(['0', '1', '2']);
  });
});

describe('an answer', () => {
  it('comes when the record is durable, in the order of the publishes', async () => {
    const { client, hub } = await serve();
    hub.commits = 'when-told';
    for (const topic of ['a', 'b']) hub.topics.make(topic);
    const device = await client(4);
    publish(device, 'a', 'x', 1, 5);
    publish(device, 'b', 'x', 2, 3);
    publish(device, 'a', 'x', 1, 9);
    await ping(device);
    partitionOf(hub, 'b').commit();
    await ping(device);
    partitionOf(hub, 'a').commit();
    expect(await device.expect('puback')).toMatchObject({ messageId: 5 });
    expect(await device.expect('pubrec')).toMatchObject({ messageId: 3 });
    expect(await device.expect('puback')).toMatchObject({ messageId: 9 });
  });

  it.each([
    ['disk-full', 0x97],
    ['storage', 0x83],
    ['too-large', 0x97],
  ] as const)(
    'to one that the log refuses (%s) is a reason code in version 5',
    async (refused, reasonCode) => {
      const { client, hub } = await serve();
      hub.topics.make('t');
      partitionOf(hub, 't').refusal = { refused, message: 'no' };
      const device = await client(5);
      publish(device, 't', 'x', 1, 1);
      expect(await device.expect('puback')).toMatchObject({ reasonCode });
      publish(device, 't', 'x', 2, 2);
      expect(await device.expect('pubrec')).toMatchObject({ reasonCode });
      await ping(device);
    },
  );

  it('to one that is larger than its topic takes is "quota exceeded" [FAULTS 23]', async () => {
    const { client, hub } = await serve();
    hub.topics.maxMessageBytes = 100;
    const device = await client(5);
    for (const [payloadBytes, reasonCode] of [
      [94, 0],
      [95, 0x97],
    ] as const) {
      // Topic, packet identifier and property length take six bytes.
      publish(device, 't', 'x'.repeat(payloadBytes), 1, 1);
      expect(await device.expect('puback')).toMatchObject({ reasonCode });
    }
    expect(partitionOf(hub, 't').logEndOffset).toBe(1);
  });

  it('to one that the log refuses is the end below version 5 [MQTT-3.3.5-2]', async () => {
    const { client, hub, frontEnd } = await serve();
    hub.topics.make('t');
    partitionOf(hub, 't').refusal = { refused: 'disk-full', message: 'no' };
    const device = await client(4);
    publish(device, 't', 'x', 0);
    await ping(device);
    publish(device, 't', 'x', 1, 1);
    expect(await device.end()).toEqual([]);
    expect(frontEnd.counters.publishesRefused).toBe(2);
  });

  it('is refused when the flush that was to cover it fails', async () => {
    const { client, hub } = await serve();
    hub.commits = 'when-told';
    hub.topics.make('t');
    const device = await client(5);
    publish(device, 't', 'x', 1, 1);
    await ping(device);
    partitionOf(hub, 't').fail({ refused: 'storage', message: 'flush failed' });
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0x83 });
  });

  it.each(['$SYS/broker', '$x', '__consumer_offsets', '__x/y'])(
    'to %s is "topic name invalid" [FAULTS 46]',
    async (topic) => {
      const { client, hub } = await serve();
      const device = await client(5);
      publish(device, topic, 'x', 1, 1);
      expect(await device.expect('puback')).toMatchObject({ reasonCode: 0x90 });
      publish(device, topic, 'x', 0);
      await ping(device);
      expect(hub.topics.list()).toEqual([]);
    },
  );

  it('to a topic of too many levels is "topic name invalid" [FAULTS 52]', async () => {
    const { client } = await serve({ topicLevelsMax: 4 });
    const device = await client(5);
    publish(device, 'a/b/c/d', 'x', 1, 1);
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0 });
    publish(device, 'a/b/c/d/e', 'x', 1, 2);
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0x90 });
  });

  it('to who may not write there is "not authorised"', async () => {
    const { client, hub } = await serve();
    hub.denied.add('write secret');
    const device = await client(5);
    publish(device, 'secret/x', 'x', 1, 1);
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0x87 });
  });
});

describe('a topic that is not there yet', () => {
  it('is made, and no publish overtakes the one that waits for it [FAULTS 53]', async () => {
    const { client, hub } = await serve();
    hub.topics.make('old');
    let open: () => void = () => undefined;
    hub.topics.ensureGate = new Promise((resolve) => {
      open = resolve;
    });
    const device = await client(4);
    publish(device, 'new/1', '1', 1, 1);
    publish(device, 'old', '2', 1, 2);
    publish(device, 'new/2', '3', 1, 3);
    await eventually(() => hub.topics.ensureCalls > 0);
    expect(partitionOf(hub, 'old').logEndOffset).toBe(0);
    open();
    for (const messageId of [1, 2, 3]) expect(await device.expect('puback')).toMatchObject({ messageId });
    expect(recordsOf(hub, 'new').map(({ value }) => value)).toEqual(['1', '3']);
    expect(hub.topics.ensureCalls).toBe(1);
  });

  it('is made for a publish at QoS 0 of a client that has gone meanwhile, and its goodbye counts', async () => {
    const { client, hub } = await serve();
    let open: () => void = () => undefined;
    hub.topics.ensureGate = new Promise((resolve) => {
      open = resolve;
    });
    const will = { topic: 'will', payload: Buffer.from('gone'), qos: 1 as const, retain: false };
    const device = await client(4, { will });
    publish(device, 'new/1', '1', 0);
    publish(device, 'new/2', '2', 0);
    device.send({ cmd: 'disconnect' });
    device.socket.end();
    await eventually(() => hub.topics.ensureCalls > 0);
    // Its end has been seen when that of one that came later has.
    const later = await client(4);
    later.socket.end();
    await later.end();
    open();
    await device.end();
    await eventually(() => partitionOf(hub, 'new').highWatermark === 2);
    expect(recordsOf(hub, 'new').map(({ value }) => value)).toEqual(['1', '2']);
    expect(hub.topics.get('will')).toBeUndefined();
  });

  it.each([
    ['limit', 0x97],
    ['invalid-name', 0x90],
    ['unknown-topic', 0x90],
    ['storage', 0x83],
  ] as const)('and cannot be made (%s) is a refusal, of this publish alone', async (error, reasonCode) => {
    const { client, hub } = await serve();
    hub.topics.ensureError = { error, message: 'no' };
    const device = await client(5);
    publish(device, 't', '1', 1, 1);
    expect(await device.expect('puback')).toMatchObject({ messageId: 1, reasonCode });
    hub.topics.ensureError = undefined;
    publish(device, 't', '2', 1, 2);
    expect(await device.expect('puback')).toMatchObject({ messageId: 2, reasonCode: 0 });
  });

  it('and may not be made is "not authorised"', async () => {
    const { client, hub } = await serve();
    hub.denied.add('create t');
    const device = await client(5);
    publish(device, 't', '1', 1, 1);
    expect(await device.expect('puback')).toMatchObject({ reasonCode: 0x87 });
    expect(hub.topics.ensureCalls).toBe(0);
  });

  it('because it was deleted is made again', async () => {
    const { client, hub } = await serve();
    const device = await client(4);
    publish(device, 't', '1', 1, 1);
    await device.expect('puback');
    await hub.topics.delete('t');
    publish(device, 't', '2', 1, 2);
    await device.expect('puback');
    expect(recordsOf(hub, 't').map(({ value }) => value)).toEqual(['2']);
  });
});

describe('QoS 2 [FAULTS 37]', () => {
  it('stores once what comes until PUBREL, whatever DUP says', async () => {
    const { client, hub } = await serve();
    const device = await client(4);
    for (const dup of [false, true, false]) {
      device.send({ cmd: 'publish', topic: 't', payload: 'x', qos: 2, messageId: 7, dup, retain: false });
      expect(await device.expect('pubrec')).toMatchObject({ messageId: 7 });
    }
    device.send({ cmd: 'pubrel', messageId: 7 });
    expect(await device.expect('pubcomp')).toMatchObject({ messageId: 7 });
    expect(recordsOf(hub, 't')).toHaveLength(1);
  });

  it('stores a new message under an identifier that was released', async () => {
    const { client, hub } = await serve();
    const device = await client(4);
    for (const payload of ['1', '2', '3']) {
      publish(device, 't', payload, 2, 7);
      await device.expect('pubrec');
      device.send({ cmd: 'pubrel', messageId: 7 });
      await device.expect('pubcomp');
    }
    expect(recordsOf(hub, 't').map(({ value }) => value)).toEqual(['1', '2', '3']);
  });

  it('answers PUBREL again, and says in version 5 that it knows nothing of it', async () => {
    const { client } = await serve();
    const device = await client(5);
    device.send({ cmd: 'pubrel', messageId: 9 });
    expect(await device.expect('pubcomp')).toMatchObject({ messageId: 9, reasonCode: 0x92 });
  });

  it('beyond Receive Maximum ends a v5 connection with 0x93', async () => {
    const { client } = await serve({ receiveMaximum: 2 });
    const device = await client(5);
    for (const messageId of [1, 2]) {
      publish(device, 't', 'x', 2, messageId);
      await device.expect('pubrec');
    }
    publish(device, 't', 'x', 2, 3);
    expect(await device.expect('disconnect')).toMatchObject({ reasonCode: 0x93 });
  });
});

describe('a client that floods', () => {
  it('is read no further than the log has stored, and everybody else is served', async () => {
    const { client, hub, expectAlive } = await serve({ receiveMaximum: 10 });
    hub.commits = 'when-told';
    hub.topics.make('t');
    const partition = partitionOf(hub, 't');
    const device = await client(4);
    for (let index = 0; index < 1000; index++) publish(device, 't', 'x'.repeat(1000), 0);
    publish(device, 't', 'last', 1, 1);
    await eventually(() => partition.logEndOffset > 0);
    await expectAlive();
    expect(partition.logEndOffset).toBe(10);
    const commitAll = setInterval(() => partition.commit(), 1);
    await device.expect('puback');
    clearInterval(commitAll);
    expect(partition.logEndOffset).toBe(1001);
  });

  it('is bounded in bytes as well, alone and with all others', async () => {
    const { client, hub } = await serve({ unstoredBytesMax: 3000, unstoredBytesTotalMax: 5000 });
    hub.commits = 'when-told';
    hub.topics.make('t');
    const partition = partitionOf(hub, 't');
    const [a, b] = [await client(4), await client(4)];
    for (const device of [a, b]) {
      for (let index = 0; index < 10; index++) publish(device, 't', 'x'.repeat(1000), 1, index + 1);
    }
    await eventually(() => partition.logEndOffset >= 3);
    await eventually(() => partition.logEndOffset >= 5);
    expect(partition.logEndOffset).toBe(5);
    const commitAll = setInterval(() => partition.commit(), 1);
    for (const device of [a, b]) {
      for (let index = 0; index < 10; index++) await device.expect('puback');
    }
    clearInterval(commitAll);
    expect(partition.logEndOffset).toBe(20);
  });
});

describe('a disk that hangs', () => {
  it('stops who publishes, not who listens, pings or acknowledges', async () => {
    const { client, hub } = await serve({ unstoredBytesTotalMax: 1000 });
    hub.topics.make('t');
    const listener = await client(5);
    listener.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 1 }] });
    await listener.expect('suback');
    hub.commits = 'when-told';
    const device = await client(5, { keepalive: 10 });
    publish(device, 't', 'x'.repeat(1000), 1, 1);
    publish(device, 't', 'y', 1, 2);
    await eventually(() => partitionOf(hub, 't').logEndOffset === 1);
    await ping(listener);
    hub.clock.advance(60_000);
    expect(device.ended).toBe(false);
    partitionOf(hub, 't').commit();
    expect(await device.expect('puback')).toMatchObject({ messageId: 1 });
    await eventually(() => partitionOf(hub, 't').logEndOffset === 2);
    partitionOf(hub, 't').commit();
    expect(await device.expect('puback')).toMatchObject({ messageId: 2 });
  });
});

describe('a will', () => {
  const will = { topic: 'wills/1', payload: Buffer.from('gone'), qos: 1 as const, retain: false };

  async function willsAfter(end: (device: RawMqtt) => void | Promise<void>): Promise<string[]> {
    const { client, hub, frontEnd } = await serve();
    const device = await client(5, { will });
    await end(device);
    await device.end();
    await frontEnd.close();
    return hub.topics.get('wills') ? recordsOf(hub, 'wills').map(({ value }) => value) : [];
  }

  it.each([
    ['a connection that breaks', (device: RawMqtt) => void device.socket.destroy()],
    ['a connection that is reset', (device: RawMqtt) => void device.socket.resetAndDestroy()],
    ['a protocol error', (device: RawMqtt) => device.send('c1 00')],
    ['DISCONNECT with will', (device: RawMqtt) => device.send('e0 01 04')],
    ['DISCONNECT that is malformed', (device: RawMqtt) => device.send('e0 06 00 04 1f0001ff')],
  ])('is published after %s', async (_what, end) => {
    expect(await willsAfter(end)).toEqual(['gone']);
  });

  it('is not published after DISCONNECT', async () => {
    expect(await willsAfter((device) => device.send({ cmd: 'disconnect' }))).toEqual([]);
  });

  it('is published when the client identifier is taken over [FAULTS 38]', async () => {
    const { client, hub } = await serve();
    hub.topics.make('wills');
    await client(4, { clientId: 'same', will });
    const next = await client(4, { clientId: 'same' });
    await ping(next);
    expect(recordsOf(hub, 'wills').map(({ value }) => value)).toEqual(['gone']);
  });

  it('keeps its properties', async () => {
    const { client, hub, frontEnd } = await serve();
    const properties = { contentType: 'text', messageExpiryInterval: 60, userProperties: { k: ['1', '2'] } };
    const device = await client(5, { clientId: 'device', will: { ...will, qos: 2, properties } });
    device.socket.destroy();
    await device.end();
    await frontEnd.close();
    expect(recordsOf(hub, 'wills')).toMatchObject([
      {
        key: 'wills/1',
        headers: [
          ['k', '1'],
          ['k', '2'],
        ],
        attributes: [
          ['mqtt.topic', 'wills/1'],
          ['mqtt.client-id', 'device'],
          ['mqtt.qos', '2'],
          ['mqtt.content-type', 'text'],
          ['mqtt.expiry', '60'],
        ],
      },
    ]);
  });

  it.each([
    ['whose topic cannot be made', (hub: FakeHub) => (hub.topics.ensureError = NO_ROOM)],
    ['that is larger than its topic takes', (hub: FakeHub) => (hub.topics.maxMessageBytes = 3)],
  ])('%s is counted', async (_what, refuse) => {
    const { client, hub, frontEnd } = await serve();
    refuse(hub);
    const device = await client(4, { will });
    device.socket.destroy();
    await frontEnd.close();
    expect(frontEnd.counters.publishesRefused).toBe(1);
    expect(hub.log.events('warn')).toContain('mqtt-will-refused');
  });
});

it('a payload that says it is UTF-8 is not looked at: it reaches subscribers as it is, with what it says', async () => {
  const { client } = await serve();
  const one = await client(5);
  one.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a', qos: 0 }] });
  await one.expect('suback');
  const payload = Buffer.from([0xff, 0xfe]);
  const properties = { payloadFormatIndicator: true };
  one.send({
    ...{ cmd: 'publish', topic: 'a', payload, qos: 1, messageId: 2, dup: false, retain: false },
    properties,
  });
  const packets = [await one.next(), await one.next()];
  expect(packets.find(({ cmd }) => cmd === 'puback')).toMatchObject({ reasonCode: 0 });
  expect(packets.find(({ cmd }) => cmd === 'publish')).toMatchObject({ payload, properties });
});
