// A policy at each of the places where one may look; what it refuses, and what happens without one.
import { describe, expect, it } from 'vitest';
import type { HookClient, HookPublish, Hooks } from '../../../protocols/mqtt/hooks.ts';
import { ALLOW_ALL } from '../../../protocols/mqtt/hooks.ts';
import { eventually, serve } from './front-end-fixture.ts';

const serveWith = (hooks: Hooks) => serve({}, 1000, {}, hooks);
const message = (topic: string, qos: 0 | 1 | 2 = 1) =>
  ({ cmd: 'publish', topic, payload: 'x', qos, messageId: 1, dup: false, retain: false }) as const;
const subscribe = (...topics: string[]) =>
  ({
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: topics.map((topic) => ({ topic, qos: 1 as const })),
  }) as const;

it('without a policy everything is allowed', async () => {
  expect(ALLOW_ALL).toEqual({});
  const { client, frontEnd } = await serveWith(ALLOW_ALL);
  const one = await client(5, { username: 'anybody', password: Buffer.from('anything') });
  one.send(subscribe('#'));
  expect((await one.expect('suback')).granted).toEqual([1]);
  one.send(message('a', 0));
  expect(await one.expect('publish')).toMatchObject({ topic: 'a' });
  expect(frontEnd.counters.hookRefusals).toBe(0);
});

describe('CONNECT', () => {
  it.each([
    ['preConnect', 5, 0x89, { reasonCode: 0x89 }],
    ['preConnect', 4, 0x89, { returnCode: 3 }],
    ['authenticate', 5, 0x86, { reasonCode: 0x86 }],
    ['authenticate', 4, 0x86, { returnCode: 4 }],
    ['authenticate', 3, 0x87, { returnCode: 5 }],
  ] as const)('is refused by %s, in version %i with 0x%s', async (hook, version, refusal, connack) => {
    const hooks: Hooks =
      hook === 'preConnect' ? { preConnect: () => refusal } : { authenticate: async () => ({ refusal }) };
    const { client, frontEnd } = await serveWith(hooks);
    const refused = await client(version);
    expect(refused.connack).toMatchObject(connack);
    await refused.end();
    expect(frontEnd.counters).toMatchObject({ hookRefusals: 1, connectionsAccepted: 0 });
  });

  it('is asked about in order, and may wait', async () => {
    const asked: string[] = [];
    const { client } = await serveWith({
      preConnect: async ({ clientId, listener }) => {
        asked.push(`preConnect ${clientId} ${listener}`);
        await new Promise((resolve) => setImmediate(resolve));
        return undefined;
      },
      authenticate: (_client, { userName, password }) => {
        asked.push(`authenticate ${userName} ${password}`);
        return { principal: 'somebody' };
      },
    });
    const one = await client(5, { clientId: 'c', username: 'u', password: Buffer.from('p') });
    expect(one.connack.reasonCode).toBe(0);
    expect(asked).toEqual(['preConnect c mqtt', 'authenticate u p']);
  });

  it('whose client is gone when the answer comes leaves nothing behind', async () => {
    let answer = (_verdict: undefined) => {};
    const { raw, frontEnd } = await serveWith({
      preConnect: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const one = await raw(4);
    one.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clientId: 'c',
      clean: true,
      keepalive: 0,
    });
    await eventually(() => answer.length === 1 && answer.name !== 'answer');
    one.socket.resetAndDestroy();
    await eventually(() => frontEnd.listeners()[0]?.connections === 0);
    answer(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(frontEnd.counters.connectionsAccepted).toBe(0);
  });

  it('whose client has said all that it wanted, and waits for no answer, is dealt with when there is one', async () => {
    let answer = (_verdict: undefined) => {};
    const { raw, frontEnd, hub } = await serveWith({
      preConnect: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const one = await raw(4);
    const id = { protocolId: 'MQTT', protocolVersion: 4, clientId: 'c', clean: true, keepalive: 0 } as const;
    one.send({ cmd: 'connect', ...id });
    one.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 0, dup: false, retain: false });
    one.socket.end();
    await eventually(() => answer.length === 1 && answer.name !== 'answer');
    answer(undefined);
    await eventually(() => frontEnd.listeners()[0]?.connections === 0);
    await eventually(() => hub.topics.partition('a', 0)?.highWatermark === 1);
  });

  it('is refused when a policy throws, and others are served', async () => {
    let fault = true;
    const serving = await serveWith({
      preConnect: () => {
        if (fault) throw new Error('the policy is broken');
        return undefined;
      },
    });
    const one = await serving.raw(5);
    one.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 5,
      clientId: 'c',
      clean: true,
      keepalive: 0,
    });
    await one.end();
    fault = false;
    await serving.expectAlive();
  });
});

describe('a publish', () => {
  it('is refused with the policy’s reason, and nothing is stored', async () => {
    const asked: HookPublish[] = [];
    const { client, hub, frontEnd } = await serveWith({
      authorizePublish: (_client, publish) => {
        asked.push(publish);
        return publish.topic === 'no' ? 0x87 : undefined;
      },
    });
    const one = await client(5);
    one.send(message('no'));
    expect(await one.expect('puback')).toMatchObject({ reasonCode: 0x87 });
    one.send(message('yes'));
    expect(await one.expect('puback')).toMatchObject({ reasonCode: 0 });
    expect(asked[0]).toEqual({ topic: 'no', qos: 1, retain: false });
    expect(hub.topics.get('no')).toBeUndefined();
    expect(frontEnd.counters.hookRefusals).toBe(1);
  });

  it('is announced when it is stored', async () => {
    const stored: [HookClient, HookPublish][] = [];
    const { client } = await serveWith({ published: (...announced) => stored.push(announced) });
    const one = await client(4, { clientId: 'c' });
    one.send(message('a/b'));
    await one.expect('puback');
    await eventually(() => stored.length === 1);
    expect(stored[0]).toEqual([
      { clientId: 'c', listener: 'mqtt', remoteAddress: '127.0.0.1' },
      { topic: 'a/b', qos: 1, retain: false },
    ]);
  });

  it('as a will is asked about too', async () => {
    const asked: string[] = [];
    const { client, hub } = await serveWith({
      authorizePublish: ({ clientId }, { topic }) => {
        asked.push(`${clientId} ${topic}`);
        return 0x87;
      },
    });
    const one = await client(4, {
      clientId: 'c',
      will: { topic: 'w', payload: Buffer.from('x'), qos: 0, retain: false },
    });
    one.socket.destroy();
    await eventually(() => asked.length === 1);
    expect(asked).toEqual(['c w']);
    expect(hub.topics.get('w')).toBeUndefined();
  });
});

it.each([
  [5, [1, 0x87]],
  [4, [1, 0x80]],
] as const)(
  'a filter is refused, and the others of its packet are not, in version %i',
  async (version, granted) => {
    const { client } = await serveWith({
      authorizeSubscribe: (_client, { filter }) => (filter === 'no/#' ? 0x87 : undefined),
    });
    const one = await client(version);
    one.send(subscribe('yes', 'no/#'));
    expect((await one.expect('suback')).granted).toEqual(granted);
  },
);

it('a message is passed over for those who may not have it', async () => {
  const { client, frontEnd } = await serveWith({
    authorizeForward: ({ clientId }, topic) => !(clientId === 'two' && topic === 'a/1'),
  });
  const [one, two] = [await client(5, { clientId: 'one' }), await client(5, { clientId: 'two' })];
  for (const each of [one, two]) {
    each.send(subscribe('a/#'));
    await each.expect('suback');
  }
  const publisher = await client(5);
  for (const topic of ['a/1', 'a/2']) {
    publisher.send(message(topic));
    await publisher.expect('puback');
  }
  expect(await one.expect('publish')).toMatchObject({ topic: 'a/1' });
  expect(await one.expect('publish')).toMatchObject({ topic: 'a/2' });
  expect(await two.expect('publish')).toMatchObject({ topic: 'a/2' });
  expect(frontEnd.counters.hookRefusals).toBe(1);
});
