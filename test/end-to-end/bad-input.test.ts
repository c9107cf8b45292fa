// What no client should send, on each port: a coded answer or a closed connection, and nobody else notices.
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHub, type TestHub } from '../helpers/hub.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { type MqttSubscription, npmMqttClients } from '../helpers/mqtt-clients.ts';
import { api, Bytes, framed, RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

const directory = temporaryDirectory();
let hub: TestHub;
/** Connections of others, open all the while. */
let bystander: RawKafka;
let subscription: MqttSubscription;

const [mqtt] = npmMqttClients;
const record = (value: string) => ({ key: null, value: Buffer.from(value), headers: [] });

beforeAll(async () => {
  hub = await startHub(directory.path);
});
afterAll(async () => {
  await hub.stop();
  directory.remove();
});

beforeEach(async () => {
  bystander = await RawKafka.connect(hub.kafkaPort);
  await bystander.ensureTopic('good');
  subscription = await mqtt!.subscribe(hub.mqttPort, 'good', 1);
});
// Whatever the test did: the connections made before it still work, and what they carry is right.
afterEach(async (context) => {
  const { error } = await bystander.produce('good', 0, recordBatch([record(context.task.name)]));
  expect(error).toBe(0);
  expect(`${(await subscription.next()).payload}`).toBe(context.task.name);
  expect((await fetch(`${hub.adminUrl}/health/ready`)).status).toBe(200);
  bystander.close();
  await subscription.close();
});

/** Sends bytes to a port; resolves with all that came back once the other side has closed. */
function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(received)));
  });
}

const nothing = Buffer.alloc(0);
const garbage = Buffer.from(Array.from({ length: 4096 }, (_value, index) => (index * 167 + 211) % 256));

describe('the Kafka port', () => {
  it.each([
    ['garbage', garbage],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['a length of 2 GiB', Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ['a negative length', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['a length too short for a header', framed(Buffer.from([0, 18, 0]))],
    ['an unknown API key', framed(new Bytes().i16(999).i16(0).i32(1).string('x').done())],
    ['a version that is not served', framed(new Bytes().i16(3).i16(99).i32(1).string('x').done())],
    [
      'a frame that ends before what it holds',
      framed(new Bytes().i16(api.metadata).i16(5).i32(1).string('x').i32(3).string('a').done()),
    ],
    [
      'a count of two thousand million topics',
      framed(new Bytes().i16(api.metadata).i16(5).i32(1).string('x').i32(2_000_000_000).done()),
    ],
  ])('closes on %s', async (_what, bytes) => {
    expect(await exchange(hub.kafkaPort, bytes)).toEqual(nothing);
  });

  it('lets go of half a frame whose sender leaves', async () => {
    const socket = connect(hub.kafkaPort, '127.0.0.1');
    await new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
      socket.write(Buffer.from([0, 0, 4, 0, 0, 3]), () => socket.destroy());
    });
  });

  it('answers a wrong checksum with error 2 and stays', async () => {
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic('checked');
    const wrong = await raw.produce('checked', 0, recordBatch([record('a')], { crcFault: true }));
    expect(wrong).toEqual({ error: 2, baseOffset: -1 });
    expect(await raw.produce('checked', 0, recordBatch([record('b')]))).toEqual({ error: 0, baseOffset: 0 });
    raw.close();
  });

  it('answers ApiVersions of a version to come in version 0, with error 35 and the list', async () => {
    const raw = await RawKafka.connect(hub.kafkaPort);
    const answer = await raw.request(api.apiVersions, 99, Buffer.alloc(0));
    expect(answer.readInt16BE(0)).toBe(35);
    expect(answer.length).toBe(2 + 4 + answer.readInt32BE(2) * 6);
    raw.close();
  });

  it.each([
    ['a partition that is not there', 'good', 7, recordBatch([record('a')]), 3],
    ['a topic whose name is not legal', 'not legal!', 0, recordBatch([record('a')]), 3],
    ['no batch at all', 'good', 0, nothing, 87],
    ['half a batch', 'good', 0, recordBatch([record('a')]).subarray(0, 40), 87],
    ['a batch that says it is longer', 'good', 0, withLength(recordBatch([record('a')]), 1_000_000), 87],
  ] as const)('refuses a produce with %s and stays', async (_what, topic, partition, batch, error) => {
    const raw = await RawKafka.connect(hub.kafkaPort);
    const before = (await bystander.listOffset('good', -1)).offset;
    expect((await raw.produce(topic, partition, batch)).error).toBe(error);
    expect((await raw.listOffset('good', -1)).offset).toBe(before);
    raw.close();
  });
});

function withLength(batch: Buffer, length: number): Buffer {
  const changed = Buffer.from(batch);
  changed.writeInt32BE(length, 8);
  return changed;
}

describe('the MQTT port', () => {
  const connectPacket = (version: 4 | 5): Buffer => {
    const body = [
      ...Buffer.from('\0\u0004MQTT'),
      version,
      2,
      0,
      0,
      ...(version === 5 ? [0] : []),
      0,
      1,
      0x61,
    ];
    return Buffer.from([0x10, body.length, ...body]);
  };
  const publish = (topic: readonly number[], version: 4 | 5): Buffer => {
    const body = [topic.length >> 8, topic.length & 255, ...topic, ...(version === 5 ? [0] : []), 0x78];
    return Buffer.from([0x30, body.length, ...body]);
  };

  it.each([
    ['garbage', garbage],
    ['a first packet that is not CONNECT', publish([0x61], 4)],
    ['a first packet of 256 MiB', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    ['a length of five bytes', Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01])],
    [
      'a CONNECT that ends before its client id',
      Buffer.from([0x10, 10, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 0]),
    ],
  ])('closes on %s', async (_what, bytes) => {
    const answer = await exchange(hub.mqttPort, bytes);
    expect(answer.length).toBeLessThan(64);
  });

  describe.each([4, 5] as const)('in version %i, once connected', (version) => {
    it.each([
      ['invalid UTF-8 in a topic', publish([0x61, 0xc3, 0x28], version)],
      ['a lone surrogate in a topic', publish([0xed, 0xa0, 0x80], version)],
      ['U+0000 in a topic', publish([0x61, 0x00], version)],
      ['a wildcard in a topic', publish([0x61, 0x2f, 0x23], version)],
      ['an empty topic', publish([], version)],
      ['a topic longer than its packet', Buffer.from([0x30, 5, 0xff, 0xff, 0x61, 0x62, 0x63])],
      ['a QoS of 3', Buffer.concat([Buffer.from([0x36]), publish([0x61], version).subarray(1)])],
      [
        'a packet id of 0',
        Buffer.from([0x82, version === 5 ? 7 : 6, 0, 0, ...(version === 5 ? [0] : []), 0, 1, 0x61, 0]),
      ],
      ['a second CONNECT', connectPacket(version)],
      ['a packet of a type that does not exist', Buffer.from([0x00, 0])],
    ])('closes on %s', async (_what, bytes) => {
      const answer = await exchange(hub.mqttPort, Buffer.concat([connectPacket(version), bytes]));
      // CONNACK first; in version 5 a DISCONNECT says why, with a reason of 0x80 or above.
      expect([answer[0], answer[3]]).toEqual([0x20, 0]);
      const goodbye = answer.subarray(2 + (answer[1] ?? 0));
      if (version === 4) expect(goodbye).toEqual(nothing);
      else expect([goodbye[0], (goodbye[2] ?? 0) >= 0x80]).toEqual([0xe0, true]);
    });
  });
});

describe('the admin port', () => {
  it('answers garbage with 400', async () => {
    expect(`${await exchange(hub.adminPort, garbage)}`).toMatch(/^HTTP\/1\.1 400 /);
  });

  it.each([
    ['/api/v1/topics/good/offsets?at=1764000000', 400],
    ['/api/v1/topics/good/offsets?at=yesterday', 400],
    ['/api/v1/topics/missing/offsets', 404],
    ['/api/v1/topics/%00/offsets', 404],
    ['/api/v1/topics?limit=1001', 400],
    ['/nothing', 404],
  ])('answers %s with a coded error', async (path, status) => {
    const answer = await fetch(`${hub.adminUrl}${path}`);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({
      error: { code: expect.stringMatching(/./), message: expect.stringMatching(/./) },
    });
  });
});
