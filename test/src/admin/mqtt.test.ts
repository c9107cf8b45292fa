// What the admin API shows of MQTT and does to it, before a real hub with real clients.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startHub, type TestHub } from '../../helpers/hub.ts';
import { Queue } from '../../helpers/mqtt-clients.ts';

const RULES = `
[[mapping]]
match = "plant/{site}/+/telemetry/#"
topic = "telemetry-{site}"
qos = 0

[[mapping]]
match = "secret/#"
topic = "secrets"
direction = "in"

[[mapping]]
match = "by/{device}/value"
topic = "values"
key = "{clientId}"
direction = "in"
`;

let directory: string;
let hub: TestHub;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-admin-mqtt-'));
  hub = await startHub(directory, RULES);
});

afterAll(async () => {
  await hub.stop();
  await rm(directory, { recursive: true });
});

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

async function call(method: string, url: string, body?: unknown): Promise<Answered> {
  const answer = await fetch(`${hub.adminUrl}/api/v1${url}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
}

const get = (url: string): Promise<Answered> => call('GET', url);

async function client(clientId: string, options: IClientOptions = {}): Promise<MqttClient> {
  const connected = await connectAsync(`mqtt://127.0.0.1:${hub.mqttPort}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    clientId,
    ...options,
  });
  onTestFinished(() => void connected.end(true));
  return connected;
}

/** A session whose client has gone. */
async function away(clientId: string, filters: readonly string[] = []): Promise<void> {
  const gone = await client(clientId, { clean: false, properties: { sessionExpiryInterval: 3600 } });
  for (const filter of filters) await gone.subscribeAsync(filter, { qos: 1 });
  await gone.endAsync();
  await settled(clientId);
}

/** The hub has seen that the client is gone. */
async function settled(clientId: string): Promise<void> {
  const { messaging } = hub.broker;
  while (messaging?.clients.get(clientId) !== undefined)
    await new Promise((resolve) => setImmediate(resolve));
  while (((await messaging?.sessions.read(clientId))?.connected ?? false) === true)
    await new Promise((resolve) => setImmediate(resolve));
}

const refused = (status: number, code: string, field?: string) => ({
  status,
  body: { error: { code, ...(field === undefined ? {} : { field }) } },
});

describe('clients', () => {
  it('are shown with what they have said and have', async () => {
    const alice = await client('alice', {
      keepalive: 30,
      clean: false,
      properties: { sessionExpiryInterval: 60 },
    });
    await alice.subscribeAsync('a/+', { qos: 1, nl: true });
    expect(await get('/mqtt/clients/alice')).toMatchObject({
      status: 200,
      body: {
        ...{ clientId: 'alice', listener: 'mqtt', remoteAddress: '127.0.0.1', protocolVersion: '5' },
        ...{ keepaliveSeconds: 30, cleanStart: false, expirySeconds: 60, subscriptions: 1, inflight: 0 },
        filters: [{ filter: 'a/+', qos: 1, noLocal: true, share: null, identifier: null }],
      },
    });
    expect(await get('/mqtt/clients?search=LIC')).toMatchObject({
      body: { items: [{ clientId: 'alice' }], next: null },
    });
  });

  it('have identifiers of any characters, percent-encoded', async () => {
    const name = 'a/b c%ü:abort?x';
    await client(name);
    const answer = await get(`/mqtt/clients/${encodeURIComponent(name)}`);
    expect(answer).toMatchObject({ status: 200, body: { clientId: name } });
  });

  it('come page by page, in order', async () => {
    for (const name of ['p3', 'p1', 'p2']) await client(name);
    const first = (await get('/mqtt/clients?search=p&limit=2')).body as { items: object[]; next: string };
    const second = await get(`/mqtt/clients?search=p&limit=2&cursor=${first.next}`);
    expect(first.items).toMatchObject([{ clientId: 'p1' }, { clientId: 'p2' }]);
    expect(second.body).toMatchObject({ items: [{ clientId: 'p3' }], next: null });
  });

  it('are disconnected with reason 0x98, and their sessions stay', async () => {
    const bob = await client('bob', { clean: false, properties: { sessionExpiryInterval: 60 } });
    const reason = new Promise((resolve) => bob.once('disconnect', (packet) => resolve(packet.reasonCode)));
    expect(await call('DELETE', '/mqtt/clients/bob')).toEqual({ status: 204, body: undefined });
    expect(await reason).toBe(0x98);
    expect(await get('/mqtt/clients/bob')).toMatchObject(refused(404, 'not_found', 'client'));
    expect(await get('/mqtt/sessions/bob')).toMatchObject({ body: { connected: false, expirySeconds: 60 } });
  });

  it('that are not there are 404, and parameters that are not known 400', async () => {
    expect(await get('/mqtt/clients/nobody')).toMatchObject(refused(404, 'not_found', 'client'));
    expect(await call('DELETE', '/mqtt/clients/nobody')).toMatchObject(refused(404, 'not_found', 'client'));
    expect(await get('/mqtt/clients?limit=0')).toMatchObject(refused(400, 'invalid_request', 'limit'));
    expect(await get('/mqtt/clients?cursor=*')).toMatchObject(refused(400, 'invalid_request', 'cursor'));
    expect(await get('/mqtt/clients?serach=x')).toMatchObject(refused(400, 'invalid_request', 'serach'));
  });
});

describe('sessions', () => {
  it('of clients that are away are counted from memory, and read with their cursors', async () => {
    await away('offline', ['s/#', 'also/+']);
    const publisher = await client('publisher');
    await publisher.publishAsync('of-others/1', 'x', { qos: 1 });
    await publisher.publishAsync('s/1', 'missed', { qos: 1 });
    expect(await get('/mqtt/sessions?search=offline')).toMatchObject({
      body: {
        items: [
          { clientId: 'offline', connected: false, expirySeconds: 3600, subscriptions: 2, inflight: 0 },
        ],
      },
    });
    const { body } = (await get('/mqtt/sessions/offline')) as {
      body: { expiresAtMs: number; filters: object[]; partitions: { topic: string }[] };
    };
    expect(body.expiresAtMs).toBeGreaterThan(Date.now());
    expect(body.filters).toMatchObject([{ filter: 's/#', connected: false, qos: 1 }, { filter: 'also/+' }]);
    // Of what its subscriptions read, whatever other topics there are.
    expect(body.partitions).toMatchObject([
      { topic: 's', partition: 0, committed: 0, logEnd: 1, lag: 1, clientId: 'offline', memberId: null },
    ]);
  });

  it('are ended, whether or not their client is connected', async () => {
    await away('ending', ['e']);
    expect(await call('DELETE', '/mqtt/sessions/ending')).toEqual({ status: 204, body: undefined });
    expect(await get('/mqtt/sessions/ending')).toMatchObject(refused(404, 'not_found', 'client'));

    const live = await client('live', { clean: false, properties: { sessionExpiryInterval: 60 } });
    const closed = new Promise((resolve) => live.once('close', () => resolve(undefined)));
    expect(await call('DELETE', '/mqtt/sessions/live')).toEqual({ status: 204, body: undefined });
    await closed;
    const back = await connectAsync(`mqtt://127.0.0.1:${hub.mqttPort}`, {
      ...{ protocolVersion: 5, clientId: 'live', clean: false, reconnectPeriod: 0 },
    });
    onTestFinished(() => void back.end(true));
    expect(await get('/mqtt/sessions/live')).toMatchObject(refused(404, 'not_found', 'client'));
  });

  it('that end with their connection are none', async () => {
    await client('fleeting');
    expect(await get('/mqtt/sessions/fleeting')).toMatchObject(refused(404, 'not_found', 'client'));
    expect(await call('DELETE', '/mqtt/sessions/fleeting')).toMatchObject(
      refused(404, 'not_found', 'client'),
    );
    expect(await get('/mqtt/clients/fleeting')).toMatchObject({ status: 200 });
    expect(await get('/mqtt/sessions?limit=x')).toMatchObject(refused(400, 'invalid_request', 'limit'));
  });
});

describe('subscriptions', () => {
  it('that get a topic are found: live, shared and of clients that are away', async () => {
    await away('m-away', ['m/1', 'n/1']);
    const live = await client('m-live');
    await live.subscribeAsync('m/+', { qos: 2 });
    await live.subscribeAsync('other/#');
    const member = await client('m-member');
    await member.subscribeAsync('$share/workers/m/#', { qos: 1 });
    expect(await get('/mqtt/subscriptions?matches=m/1')).toMatchObject({
      status: 200,
      body: {
        items: [
          { clientId: 'm-away', filter: 'm/1', qos: 1, connected: false, share: null },
          { clientId: 'm-live', filter: 'm/+', qos: 2, connected: true },
          { clientId: 'm-member', filter: '$share/workers/m/#', share: 'workers' },
        ],
        next: null,
      },
    });
    expect(await get('/mqtt/subscriptions?matches=nothing/at/all')).toMatchObject({ body: { items: [] } });
  });

  it('of a topic that a rule keeps from subscribers get nothing', async () => {
    const curious = await client('curious');
    await curious.subscribeAsync('secret/#');
    expect(await get('/mqtt/subscriptions?matches=secret/1')).toMatchObject({ body: { items: [] } });
  });

  it('come page by page, within one client too', async () => {
    const many = await client('many');
    const filters = Array.from({ length: 7 }, (_, index) => `page/${index}/#`);
    await many.subscribeAsync(filters);
    await away('pages-away', ['page/9/#']);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = (await get(`/mqtt/subscriptions?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`))
        .body as {
        items: { filter: string }[];
        next: string | null;
      };
      expect(page.items.length).toBeLessThanOrEqual(3);
      seen.push(...page.items.map(({ filter }) => filter));
      cursor = page.next;
    }
    expect(seen.filter((filter) => filter.startsWith('page/'))).toEqual([...filters, 'page/9/#']);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('are not asked for with a filter or a foreign cursor', async () => {
    expect(await get('/mqtt/subscriptions?matches=m/%2B')).toMatchObject(
      refused(400, 'invalid_request', 'matches'),
    );
    const foreign = Buffer.from('x').toString('base64url');
    for (const cursor of ['*', foreign]) {
      expect(await get(`/mqtt/subscriptions?cursor=${cursor}`)).toMatchObject(
        refused(400, 'invalid_request', 'cursor'),
      );
    }
  });
});

describe('retained messages', () => {
  it('are found by filter, in order, with their payloads', async () => {
    const publisher = await client('keeper');
    await publisher.publishAsync('kept/b', 'text ü', { retain: true, qos: 1 });
    await publisher.publishAsync('kept/a', Buffer.from([0xff, 0]), {
      ...{ retain: true, qos: 1, properties: { messageExpiryInterval: 60 } },
    });
    await publisher.publishAsync('other/a', 'x', { retain: true, qos: 1 });
    const { body } = (await get('/mqtt/retained?filter=kept/%23')) as {
      body: { items: { timestampMs: number; expiresAtMs: number }[] };
    };
    expect(body).toMatchObject({
      items: [
        { topic: 'kept/a', qos: 1, bytes: 2, value: '/wA=', valueEncoding: 'base64', clientId: 'keeper' },
        { topic: 'kept/b', bytes: 7, value: 'text ü', valueEncoding: 'utf8', expiresAtMs: null },
      ],
      next: null,
    });
    expect(body.items[0]!.expiresAtMs - body.items[0]!.timestampMs).toBe(60_000);
    expect(await get('/mqtt/retained?filter=kept/b&valueEncoding=base64')).toMatchObject({
      body: { items: [{ value: 'dGV4dCDDvA==', valueEncoding: 'base64' }] },
    });
    const first = (await get('/mqtt/retained?search=kept&limit=1')).body as { next: string };
    expect(await get(`/mqtt/retained?search=kept&limit=1&cursor=${first.next}`)).toMatchObject({
      body: { items: [{ topic: 'kept/b' }], next: null },
    });
  });

  it('are cleared by filter, and nobody who subscribes later gets them', async () => {
    const publisher = await client('clearing');
    for (const name of ['clear/1', 'clear/2', 'keep/1'])
      await publisher.publishAsync(name, 'x', { retain: true, qos: 1 });
    expect(await call('DELETE', '/mqtt/retained?filter=clear/%2B')).toEqual({
      status: 200,
      body: { cleared: 2 },
    });
    expect(await call('DELETE', '/mqtt/retained?filter=clear/%2B')).toEqual({
      status: 200,
      body: { cleared: 0 },
    });
    const messages = new Queue<string>();
    const later = await client('later');
    later.on('message', (topic) => messages.push(topic));
    await later.subscribeAsync(['clear/#', 'keep/#']);
    expect(await messages.next()).toBe('keep/1');
  });

  it('are not cleared without a filter, or by one that is none', async () => {
    expect(await call('DELETE', '/mqtt/retained')).toMatchObject(refused(400, 'invalid_request', 'filter'));
    for (const method of ['GET', 'DELETE']) {
      for (const filter of ['a/%23/b', 'a%2B', '$share/g/a']) {
        expect(await call(method, `/mqtt/retained?filter=${filter}`)).toMatchObject(
          refused(400, 'invalid_request', 'filter'),
        );
      }
    }
  });
});

describe('publishing', () => {
  it('reaches subscribers and the log with all that it says', async () => {
    const subscriber = await client('subscriber');
    const received = new Promise<unknown>((resolve) =>
      subscriber.once('message', (topic, payload, { qos, properties }) =>
        resolve({ topic, payload: payload.toString(), qos, properties }),
      ),
    );
    await subscriber.subscribeAsync('orders/1', { qos: 2 });
    const message = {
      ...{ topic: 'orders/1', payload: 'AAE=', payloadEncoding: 'base64', qos: 1, contentType: 'a/b' },
      ...{ responseTopic: 'answers', correlationData: '/w==', expirySeconds: 60, payloadFormat: 'bytes' },
      userProperties: [
        { name: 'n', value: '1' },
        { name: 'n', value: '2' },
      ],
    };
    const answer = await call('POST', '/mqtt/publish', message);
    expect(answer).toEqual({ status: 200, body: { topic: 'orders', partition: 0, offset: 0 } });
    expect(hub.broker.hub.topics.partition('orders', 0)?.highWatermark).toBe(1);
    expect(await received).toMatchObject({
      ...{ topic: 'orders/1', payload: '\0\u0001', qos: 1 },
      properties: {
        ...{ contentType: 'a/b', responseTopic: 'answers', correlationData: Buffer.from([0xff]) },
        ...{ messageExpiryInterval: 60, payloadFormatIndicator: false, userProperties: { n: ['1', '2'] } },
      },
    });
  });

  it('retains, and clears', async () => {
    await call('POST', '/mqtt/publish', { topic: 'r/1', payload: 'kept', retain: true });
    expect(await get('/mqtt/retained?filter=r/1')).toMatchObject({
      body: { items: [{ value: 'kept', clientId: '$admin' }] },
    });
    await call('POST', '/mqtt/publish', { topic: 'r/1', payload: '', retain: true });
    expect(await get('/mqtt/retained?filter=r/1')).toMatchObject({ body: { items: [] } });
  });

  it.each([
    [{ topic: 'a/+', payload: '' }, 400, 'invalid_request'],
    [{ topic: '$SYS/x', payload: '' }, 400, 'invalid_request'],
    [{ topic: '__mqtt_sessions', payload: '' }, 400, 'invalid_request'],
    [{ topic: 'a', payload: '', responseTopic: 'a/#' }, 400, 'invalid_request'],
    [{ topic: 'a\0', payload: '' }, 400, 'invalid_request'],
    [{ topic: 'a', payload: '*', payloadEncoding: 'base64' }, 400, 'invalid_request', 'payload'],
    [{ topic: 'a', payload: '', correlationData: '*' }, 400, 'invalid_request', 'correlationData'],
    [{ topic: 'a', payload: '', qos: 3 }, 400, 'invalid_request', 'qos'],
    [{ topic: 'a', payload: '', expirySeconds: -1 }, 400, 'invalid_request', 'expirySeconds'],
    [{ topic: 'a' }, 400, 'invalid_request', 'payload'],
    [{ topic: 'a', payload: '', retian: true }, 400, 'invalid_request', 'retian'],
    [{ topic: 'a', payload: 'x'.repeat(1_100_000) }, 413, 'payload_too_large'],
    [{ topic: 'a', payload: 'x'.repeat(9_000_000) }, 413, 'payload_too_large'],
  ])('%#: is refused', async (message, status, code, field?: string) => {
    expect(await call('POST', '/mqtt/publish', message)).toMatchObject(refused(status, code, field));
  });
});

describe('mappings', () => {
  const resolve = (question: object): Promise<Answered> => call('POST', '/mappings:resolve', question);

  it('are listed in their order', async () => {
    expect(await get('/mappings')).toMatchObject({
      status: 200,
      body: {
        items: [
          {
            index: 0,
            match: 'plant/{site}/+/telemetry/#',
            topic: 'telemetry-{site}',
            key: '{mqttTopic}',
            qos: 0,
          },
          { index: 1, direction: 'in' },
          { index: 2, key: '{clientId}' },
        ],
        next: null,
      },
    });
    const { items } = (await get('/mappings')).body as { items: { from: string }[] };
    expect(items.map(({ from }) => /^test\.toml:[1-9]\d*$/.test(from))).toEqual([true, true, true]);
  });

  it('tell where an MQTT topic is stored', async () => {
    const mqttTopic = 'plant/7/x/telemetry/temp';
    const unknown = {
      asked: 'topic',
      mqttTopic,
      rule: 0,
      topic: 'telemetry-7',
      partition: null,
      key: mqttTopic,
    };
    expect(await resolve({ topic: mqttTopic })).toEqual({
      status: 200,
      body: { ...unknown, publishes: true, delivers: true },
    });
    await call('POST', '/mqtt/publish', { topic: mqttTopic, payload: '' });
    expect(await resolve({ topic: mqttTopic })).toMatchObject({ body: { partition: 0 } });
    expect(await resolve({ topic: 'by/7/value', clientId: 'me' })).toMatchObject({
      body: { rule: 2, topic: 'values', key: 'me', delivers: false },
    });
    expect(await resolve({ topic: 'plain' })).toMatchObject({ body: { rule: null, topic: 'plain' } });
    expect(await resolve({ topic: '$SYS/x' })).toMatchObject({ body: { publishes: false } });
  });

  it('tell which topics a filter reads', async () => {
    await hub.broker.hub.topics.create({
      name: 'machines',
      partitions: 3,
      replicationFactor: -1,
      config: {},
    });
    await call('POST', '/mqtt/publish', { topic: 'plant/8/x/telemetry/t', payload: '' });
    await call('POST', '/mqtt/publish', { topic: 'plant/8/x/alarm', payload: '' });
    expect(await resolve({ filter: 'plant/8/#' })).toMatchObject({
      body: {
        topics: [
          { topic: 'plant', rules: [null], partitions: [0] },
          { topic: 'telemetry-8', rules: [0], partitions: [0] },
        ],
      },
    });
    expect(await resolve({ filter: '$share/g/machines/+' })).toMatchObject({
      body: { topics: [{ topic: 'machines', partitions: [0, 1, 2] }] },
    });
    const one = ((await resolve({ filter: 'machines/1' })).body as { topics: { partitions: number[] }[] })
      .topics;
    expect(one).toMatchObject([
      { topic: 'machines', partitions: [hub.broker.hub.partitionFor(Buffer.from('machines/1'), 3)] },
    ]);
    expect(await resolve({ filter: 'secret/#' })).toMatchObject({ body: { topics: [] } });
  });

  it.each([
    [{ kafkaTopic: 'telemetry-7', key: 'plant/7/x/telemetry/t' }, 'plant/7/x/telemetry/t', 'rule', 0, 0],
    [{ kafkaTopic: 'jobs', key: 'jobs/1' }, 'jobs/1', 'key', null, 1],
    [{ kafkaTopic: 'jobs', key: null }, 'jobs', 'name', null, 1],
    [{ kafkaTopic: 'jobs', key: 'am9icy8y', keyEncoding: 'base64' }, 'jobs/2', 'key', null, 1],
    [{ kafkaTopic: 'jobs', key: 'jobs/1', mqttTopicHeader: 'a/b' }, 'a/b', 'header', null, 1],
    [{ kafkaTopic: 'jobs', key: 'jobs/1', mqttTopicHeader: 'a/+' }, 'jobs/1', 'key', null, 1],
  ])('tell which MQTT topic the record %j has', async (question, mqttTopic, by, rule, qos) => {
    expect(await resolve(question)).toMatchObject({
      status: 200,
      body: { asked: 'record', mqttTopic, by, rule, qos, delivers: true },
    });
  });

  it.each([
    [{}, 'body'],
    [{ topic: 'a', filter: 'a' }, 'body'],
    [{ topic: 'a/+' }, 'topic'],
    [{ filter: 'a/#/b' }, 'filter'],
    [{ kafkaTopic: 'a', key: '*', keyEncoding: 'base64' }, 'key'],
    [{ tpoic: 'a' }, 'tpoic'],
  ])('%j is refused', async (question, field) => {
    expect(await resolve(question)).toMatchObject(refused(400, 'invalid_request', field));
  });
});
