// Connections over real sockets: order, pipelining, limits, bad input, and their end.

import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import {
  KafkaSocket,
  openKafka,
  openTestKafka,
  readAnswer,
  type TestKafka,
  whenCalled,
} from './kafka-fixture.ts';
import { api, fetchOf, metadataOf, offsetsOf, produceOf } from './kafka-requests.ts';

const batch = (...values: string[]): Buffer =>
  recordBatch(values.map((value) => ({ key: null, value: Buffer.from(value), headers: [] })));

async function openWithTopic(options: Parameters<typeof openTestKafka>[0] = {}): Promise<TestKafka> {
  const kafka = await openTestKafka(options);
  await kafka.createTopic('t');
  return kafka;
}

describe('ApiVersions', () => {
  let shared: TestKafka;
  beforeAll(async () => {
    shared = await openKafka();
  });
  afterAll(() => shared.close());

  test('a version too new is answered in version 0 with error 35 and the list; the connection goes on', async () => {
    const client = await shared.connect();
    for (const version of [5, 60, 32767]) {
      const header = Buffer.from('001200000000000700046b63617400', 'hex');
      header.writeInt16BE(version, 2);
      const answer = client.answerRaw();
      client.socket.write(Buffer.concat([Buffer.of(0, 0, 0, header.length), header]));
      const body = await answer;
      expect(body.readInt32BE(0)).toBe(7);
      const { errorCode, apiKeys } = readAnswer(api.apiVersions.response, 0, body.subarray(4));
      expect(errorCode).toBe(ERROR_CODES.UNSUPPORTED_VERSION);
      expect(apiKeys).toContainEqual({ apiKey: 18, minVersion: 0, maxVersion: 4 });
    }
    const { apiKeys } = await client.ask(api.apiVersions, 3, named);
    expect(apiKeys.find(({ apiKey }) => apiKey === 0)).toMatchObject({ minVersion: 0, maxVersion: 13 });
  });

  test.each([0, 1, 2, 3, 4])('version %i has a header of version 0', async (version) => {
    const client = await shared.connect();
    const answer = await client.ask(api.apiVersions, version, version < 3 ? {} : named);
    expect(answer).toMatchObject({ errorCode: 0, throttleTimeMs: 0 });
  });

  test('a client name that is none is refused', async () => {
    const client = await shared.connect();
    const answer = await client.ask(api.apiVersions, 3, { ...named, clientSoftwareName: '-dash' });
    expect(answer).toMatchObject({ errorCode: ERROR_CODES.INVALID_REQUEST, apiKeys: [] });
  });

  const named = { clientSoftwareName: 'test', clientSoftwareVersion: '1.0' };
});

describe('order', () => {
  test('pipelined requests take effect and are answered in order', async () => {
    const client = await (await openWithTopic()).connect();
    const [before, produced, fetched, after] = await Promise.all([
      client.ask(api.listOffsets, 5, offsetsOf('t', -1)),
      client.ask(api.produce, 7, produceOf('t', batch('a', 'b'))),
      client.ask(api.fetch, 11, fetchOf('t', 0)),
      client.ask(api.listOffsets, 5, offsetsOf('t', -1)),
    ]);
    expect(before.topics[0]?.partitions[0]?.offset).toBe(0);
    expect(produced.responses[0]?.partitionResponses[0]).toMatchObject({ errorCode: 0, baseOffset: 0 });
    expect(fetched.responses[0]?.partitions[0]).toMatchObject({ errorCode: 0, highWatermark: 2 });
    expect(after.topics[0]?.partitions[0]?.offset).toBe(2);
    expect(client.answered).toEqual([1, 2, 3, 4]);
  });

  test('pipelined Produce requests keep their order and share flushes', async () => {
    const { connect, store } = await openWithTopic();
    const client = await connect();
    const flushesBefore = store.counters.flushes;
    const asked = Array.from(
      { length: 40 },
      (_, index) => [api.produce, 7, produceOf('t', batch(`${index}`))] as const,
    );
    const answers = await client.askAtOnce(asked);
    const offsets = answers.map(({ responses }) => responses[0]?.partitionResponses[0]?.baseOffset);
    expect(offsets).toEqual(Array.from({ length: 40 }, (_, index) => index));
    expect(store.counters.flushes - flushesBefore).toBeLessThan(40);
  });

  test('a long poll holds back later answers, not what later requests do', async () => {
    const client = await (await openWithTopic()).connect();
    const [polled, produced] = await Promise.all([
      client.ask(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 30_000, minBytes: 1 })),
      client.ask(api.produce, 7, produceOf('t', batch('woken'))),
    ]);
    expect(polled.responses[0]?.partitions[0]?.highWatermark).toBe(1);
    expect(produced.responses[0]?.partitionResponses[0]?.baseOffset).toBe(0);
    expect(client.answered).toEqual([1, 2]);
  });

  test('what was acknowledged with acks=1 is seen by the next request', async () => {
    const client = await (await openWithTopic()).connect();
    const produced = Array.from({ length: 10 }, () =>
      client.ask(api.produce, 7, produceOf('t', batch('a'), { acks: 1 })),
    );
    const { topics } = await client.ask(api.listOffsets, 5, offsetsOf('t', -1));
    expect(topics[0]?.partitions[0]?.offset).toBe(10);
    await Promise.all(produced);
  });

  test('acks=0 is not answered, and the next request sees the records', async () => {
    const client = await (await openWithTopic()).connect();
    client.tell(api.produce, 7, produceOf('t', batch('a', 'b'), { acks: 0 }));
    const { topics } = await client.ask(api.listOffsets, 5, offsetsOf('t', -1));
    expect(topics[0]?.partitions[0]?.offset).toBe(2);
    expect(client.answered).toEqual([2]);
  });

  test('acks=0 that fails closes the connection after what came before is answered', async () => {
    const client = await (await openWithTopic()).connect();
    const before = client.ask(api.listOffsets, 5, offsetsOf('t', -1));
    client.tell(api.produce, 7, produceOf('nowhere', batch('a'), { acks: 0 }));
    expect((await before).topics).toHaveLength(1);
    await client.closed;
  });
});

describe('limits', () => {
  test('requests beyond the unanswered limit are not taken until answers are out', async () => {
    const client = await (await openWithTopic({ unansweredRequestsMax: 1 })).connect();
    const [polled, produced] = await Promise.all([
      client.ask(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 50, minBytes: 1 })),
      client.ask(api.produce, 7, produceOf('t', batch('late'))),
    ]);
    expect(polled.responses[0]?.partitions[0]?.highWatermark).toBe(0);
    expect(produced.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
  });

  test('more bytes than may be read ahead are not lost', async () => {
    const client = await (await openWithTopic({ unansweredRequestsMax: 2 })).connect();
    const value = 'v'.repeat(100_000);
    const answers = await client.askAtOnce(
      Array.from({ length: 30 }, () => [api.produce, 7, produceOf('t', batch(value))] as const),
    );
    expect(answers.map(({ responses }) => responses[0]?.partitionResponses[0]?.baseOffset).at(-1)).toBe(29);
  });

  test('a client that does not read is not served on, and goes on where it stopped', async () => {
    const { connect, hub } = await openWithTopic({ writeBacklogBytesMax: 1 << 20 });
    await (await connect()).ask(api.produce, 7, produceOf('t', batch('v'.repeat(1_000_000))));
    const slow = await connect();
    const other = await connect();
    const reads = vi.spyOn(hub.topics.partition('t', 0)!, 'read');
    slow.socket.pause();
    const answers = slow.askAtOnce(
      Array.from({ length: 60 }, () => [api.fetch, 11, fetchOf('t', 0)] as const),
    );
    // Kernel buffers take some answers; then nothing moves any more, however often others are served.
    for (let settled = -1; settled !== reads.mock.calls.length; ) {
      settled = reads.mock.calls.length;
      for (let index = 0; index < 20; index++) await other.ask(api.metadata, 1, metadataOf());
    }
    expect(reads.mock.calls.length).toBeLessThan(60);
    slow.socket.resume();
    const lengths = (await answers).map(({ responses }) => responses[0]?.partitions[0]?.records?.length);
    expect(new Set(lengths)).toEqual(new Set([lengths[0]]));
    expect(lengths[0]).toBeGreaterThan(1_000_000);
  });

  test('requests that do not end are closed, oldest first, when all of them hold too much', async () => {
    const { connect } = await openWithTopic({ connectionBytesTotalMax: 4 << 20 });
    const other = await connect();
    const value = 'v'.repeat(900_000);
    const stuck: KafkaSocket[] = [];
    const closed: number[] = [];
    for (let index = 0; index < 12; index++) {
      const client = await connect();
      client.socket.once('close', () => closed.push(index));
      client.socket.write(Buffer.concat([Buffer.of(2, 0, 0, 0), Buffer.alloc(900_000)]));
      stuck.push(client);
      // Others are served, large requests too, which come whole.
      const produced = await other.ask(api.produce, 7, produceOf('t', batch(value)));
      expect(produced.responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
    }
    await vi.waitFor(() => expect(closed.length).toBeGreaterThanOrEqual(6));
    expect(closed).toEqual(closed.map((_index, order) => order));
    expect(stuck.at(-1)?.socket.destroyed).toBe(false);
    for (const { socket } of stuck) socket.destroy();
  });

  test('a connection too many is closed, and the others go on', async () => {
    const kafka = await openTestKafka();
    const { port } = await kafka.frontEnd.listen({
      name: 'small',
      host: '127.0.0.1',
      port: 0,
      connectionsMax: 1,
    });
    const first = await KafkaSocket.connect(port);
    await first.ask(api.metadata, 1, metadataOf());
    const second = await KafkaSocket.connect(port);
    await second.closed;
    await first.ask(api.metadata, 1, metadataOf());
    expect(kafka.log.events('warn')).toContain('kafka-connection-refused');
  });

  test('a connection too many of one address is closed and counted; one that goes makes room', async () => {
    const kafka = await openTestKafka({ connectionsPerAddressMax: 2 });
    const [first, second] = [await kafka.connect(), await kafka.connect()];
    for (const client of [first, second]) await client.ask(api.metadata, 1, metadataOf());
    await (await kafka.connect()).closed;
    expect(kafka.frontEnd.counters).toMatchObject({ connectionsRefused: 1, addressLimitRefused: 1 });
    expect(kafka.log.events('warn')).toContain('kafka-connection-refused');
    first.socket.destroy();
    await vi.waitFor(() => expect(kafka.frontEnd.listeners()[0]?.connections).toBe(1));
    await (await kafka.connect()).ask(api.metadata, 1, metadataOf());
    await second.ask(api.metadata, 1, metadataOf());
  });

  test('an idle connection is closed; one whose request waits is not', async () => {
    const { connect } = await openWithTopic({ idleTimeoutMs: 40 });
    const idle = await connect();
    const waiting = await connect();
    const polled = waiting.ask(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 200, minBytes: 1 }));
    await idle.closed;
    expect((await polled).responses[0]?.partitions[0]?.errorCode).toBe(0);
    await waiting.closed;
  });
});

describe('bad input closes its connection, says why, and touches no other', () => {
  let shared: TestKafka;
  beforeAll(async () => {
    shared = await openKafka();
  });
  afterAll(() => shared.close());

  test.each([
    ['a negative length', 'ffffffff', 'negative-length'],
    ['a length of 2 GiB', '7fffffff', 'too-large'],
    ['an empty frame', '00000000', 'request header'],
    ['a frame without a correlation id', '0000000400120000', 'request header'],
    ['an unknown API key', '0000000a03e7000000000001ffff', 'unknown API key 999'],
    ['a version that is not served', '0000000a0003006300000001ffff', 'API 3 has no version 99'],
    ['a body that ends too early', '0000000e0003000100000001ffff00000003', 'Metadata'],
    ['a list longer than its frame', '0000000e0003000100000001ffff7fffffff', 'Metadata'],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('hex'), 'too-large'],
    ['TLS', '16030100f8010000f40303', 'too-large'],
    ['a client id longer than its frame', '0000000a00120000000000077fff', 'request header'],
  ])('%s', async (_title, hex, reason) => {
    const other = await shared.connect();
    const bad = await shared.connect();
    shared.log.entries.length = 0;
    bad.socket.write(Buffer.from(hex, 'hex'));
    await bad.closed;
    expect((await other.ask(api.metadata, 1, metadataOf())).brokers).toHaveLength(1);
    const reasons = shared.log.entries.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
    expect(reasons).toContainEqual(expect.objectContaining({ reason: expect.stringContaining(reason) }));
  });

  test('a request larger than the limit', async () => {
    const { connect } = await openWithTopic({ requestBytesMax: 1000 });
    const client = await connect();
    client.tell(api.produce, 7, produceOf('t', batch('v'.repeat(1000))));
    await client.closed;
  });

  test('half a request and a hang-up', async () => {
    const { port } = shared;
    const half = connect({ port, host: '127.0.0.1' });
    await new Promise((resolve) => half.end(Buffer.from('000000ff0003', 'hex'), () => resolve(undefined)));
    await new Promise((resolve) => half.once('close', resolve).resume());
    await (await shared.connect()).ask(api.metadata, 1, metadataOf());
  });

  test('Produce before version 3 is answered with an error', async () => {
    const client = await (await openWithTopic()).connect();
    for (const version of [0, 1, 2]) {
      const { responses } = await client.ask(api.legacyProduce, version, {
        ...{ acks: 1, timeoutMs: 1000 },
        topicData: [{ name: 't', partitionData: [{ index: 0, records: Buffer.alloc(30) }] }],
      });
      expect(responses[0]?.partitionResponses[0]).toMatchObject({
        errorCode: ERROR_CODES.UNSUPPORTED_VERSION,
        baseOffset: -1,
      });
    }
  });
});

describe('stopping', () => {
  test('a Fetch that waits is answered, then the connection closed', async () => {
    const { connect, frontEnd, hub } = await openWithTopic();
    const client = await connect();
    const parked = whenCalled(hub.topics.partition('t', 0)!, 'onAdvance');
    const polled = client.ask(api.fetch, 11, fetchOf('t', 0, { maxWaitMs: 60_000, minBytes: 1 }));
    await parked;
    await Promise.all([frontEnd.drain(), client.closed]);
    expect((await polled).responses[0]?.partitions[0]?.errorCode).toBe(0);
  });

  test('a Produce in flight is answered', async () => {
    const { connect, frontEnd, hub } = await openWithTopic();
    const client = await connect();
    const appended = whenCalled(hub.topics.partition('t', 0)!, 'append');
    const produced = client.ask(api.produce, 7, produceOf('t', batch('a')));
    await appended;
    await Promise.all([frontEnd.drain(), client.closed]);
    expect((await produced).responses[0]?.partitionResponses[0]).toMatchObject({
      errorCode: 0,
      baseOffset: 0,
    });
  });

  test('nobody is accepted any more', async () => {
    const { frontEnd, port } = await openTestKafka();
    await frontEnd.drain();
    await expect(KafkaSocket.connect(port)).rejects.toThrow('ECONNREFUSED');
    await frontEnd.close();
    await frontEnd.close();
  });
});

test('answers of one tick leave in one write', async () => {
  const client = await (await openWithTopic()).connect();
  await client.ask(api.metadata, 1, metadataOf());
  let chunks = 0;
  client.socket.on('data', () => chunks++);
  await client.askAtOnce(
    Array.from(
      { length: 20 },
      () => [api.heartbeat, 3, { groupId: 'g', generationId: 1, memberId: 'm' }] as const,
    ),
  );
  expect(chunks).toBe(1);
});
