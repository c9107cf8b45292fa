// Connections over real sockets: CONNECT, taking over, keep alive, broken packets, stopping.
import { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FakePartition } from '../../helpers/fake-mqtt-hub.ts';
import { connectPacket, eventually, serve } from './front-end-fixture.ts';

const SUCCESS = 0;

describe('CONNECT', () => {
  it.each([3, 4, 5] as const)('of version %i is accepted and says that nothing was kept', async (version) => {
    const { client } = await serve();
    const { connack } = await client(version);
    expect(connack).toMatchObject({ sessionPresent: false });
    expect(connack.reasonCode ?? connack.returnCode).toBe(SUCCESS);
  });

  it('tells a v5 client what this server does not do', async () => {
    const { client } = await serve({ receiveMaximum: 20, packetBytesMax: 5000 });
    const { connack } = await client(5, { clean: false, properties: { sessionExpiryInterval: 100 } });
    expect(connack.sessionPresent).toBe(false);
    expect(connack.properties).toEqual({
      receiveMaximum: 20,
      topicAliasMaximum: 32,
      retainAvailable: true,
      maximumPacketSize: 5000,
      sharedSubscriptionAvailable: true,
    });
  });

  it('assigns a client identifier where there is none', async () => {
    const { client } = await serve();
    const { connack } = await client(5, { clientId: '' });
    expect(connack.properties?.assignedClientIdentifier).toBe('auto-uuid-1');
    expect((await client(4, { clientId: '' })).connack.returnCode).toBe(SUCCESS);
  });

  it.each([
    ['an empty identifier that is to be kept', 4, '10 0c 0004 4d515454 04 00 0000 0000', 2],
    ['a level that is not served', 4, '10 0d 0004 4d515454 06 02 0000 0001 63', 1],
  ] as const)('with %s gets return code', async (_what, version, hex, returnCode) => {
    const { raw, expectAlive } = await serve();
    const client = await raw(version);
    client.send(hex);
    expect(await client.expect('connack')).toMatchObject({ returnCode });
    await client.end();
    await expectAlive();
  });

  it.each([
    ['reserved flags in its fixed header', '11 0e 0004 4d515454 05 02 0000 00 0001 63', 0x81],
    ['a reserved connect flag', '10 0e 0004 4d515454 05 03 0000 00 0001 63', 0x81],
    ['an authentication method', '10 12 0004 4d515454 05 02 0000 04 15000161 0001 63', 0x8c],
    ['a property that stands twice', '10 14 0004 4d515454 05 02 0000 06 210001210001 0001 63', 0x82],
    ['a will for $SYS', '10 16 0004 4d515454 05 06 0000 00 0001 63 00 0002 2477 0001 78', 0x90],
  ] as const)('with %s gets a v5 reason code and the end', async (_what, hex, reasonCode) => {
    const { raw, frontEnd } = await serve();
    const client = await raw(5);
    client.send(hex);
    expect(await client.expect('connack')).toMatchObject({ reasonCode, sessionPresent: false });
    await client.end();
    expect(frontEnd.counters.connectionsRefused).toBe(1);
  });

  it('with a client identifier beyond the limit is refused', async () => {
    const { raw } = await serve({ clientIdBytesMax: 10 });
    const client = await raw(5);
    client.send(connectPacket(5, { clientId: 'x'.repeat(11) }));
    expect(await client.expect('connack')).toMatchObject({ reasonCode: 0x85 });
  });

  it.each([
    ['PUBLISH', '30 03 000174'],
    ['PINGREQ', 'c0 00'],
    ['packet type 0', '00 00'],
    ['a CONNECT of what is not MQTT [MQTT-3.1.2-1]', '10 0d 0004 4d515458 04 02 0000 0001 63'],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['an announcement of 256 MiB', '10 ffffff7f'],
    ['a CONNECT of more than the limit', '10 81 80 04'],
    ['an endless length', '10 ffffffff'],
  ])('must come first and small: %s gets nothing and the end [FAULTS 50]', async (_what, bytes) => {
    const { raw, expectAlive } = await serve();
    const client = await raw(4);
    client.send(bytes);
    expect(await client.end()).toEqual([]);
    await expectAlive();
  });

  it('must come in time', async () => {
    const { raw, hub } = await serve({ connectTimeoutMs: 5000 });
    const client = await raw(4);
    client.send('10');
    await client.until(() => hub.clock.timerCount > 0);
    hub.clock.advance(5000);
    expect(await client.end()).toEqual([]);
  });

  it('a second time is a protocol error [MQTT-3.1.0-2]', async () => {
    const { client } = await serve();
    const connected = await client(5);
    connected.send(connectPacket(5));
    expect(await connected.expect('disconnect')).toMatchObject({ reasonCode: 0x82 });
    await connected.end();
  });

  it('is followed at once by what came behind it', async () => {
    const { raw } = await serve();
    const client = await raw(4);
    client.send(
      connectPacket(4),
      { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a/#', qos: 1 }] },
      { cmd: 'publish', topic: 'a/b', payload: 'x', qos: 1, messageId: 2, dup: false, retain: false },
      { cmd: 'pingreq' },
    );
    const seen = new Set<string>();
    while (seen.size < 5) seen.add((await client.next()).cmd);
    expect(seen).toEqual(new Set(['connack', 'suback', 'puback', 'pingresp', 'publish']));
  });

  it('whose CONNACK would be too large for the client gets nothing', async () => {
    const { raw } = await serve();
    const client = await raw(5);
    client.send(connectPacket(5, { properties: { maximumPacketSize: 2 } }));
    expect(await client.end()).toEqual([]);
  });

  it('beyond the listener’s limit of connections is not served', async () => {
    const { client, raw } = await serve({}, 1);
    await client(4);
    expect(await (await raw(4)).end()).toEqual([]);
  });
});

describe('a client identifier that is taken over', () => {
  it('ends the old connection with 0x8E, and the new one is the client [FAULTS 38]', async () => {
    const { client } = await serve();
    const old = await client(5, { clientId: 'same' });
    old.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 0 }] });
    await old.expect('suback');
    const young = await client(5, { clientId: 'same' });
    expect(await old.expect('disconnect')).toMatchObject({ reasonCode: 0x8e });
    await old.end();
    young.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a', qos: 0 }] });
    await young.expect('suback');
    young.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 0, dup: false, retain: false });
    expect(await young.expect('publish')).toMatchObject({ topic: 'a' });
  });

  it('is not given back by the late end of the old one', async () => {
    const { client } = await serve();
    const connections = [];
    for (let index = 0; index < 5; index++) connections.push(await client(4, { clientId: 'same' }));
    const last = connections.pop()!;
    for (const connection of connections) await connection.end();
    last.send({ cmd: 'pingreq' });
    await last.expect('pingresp');
    const next = await client(5, { clientId: 'same' });
    await last.end();
    next.send({ cmd: 'pingreq' });
    await next.expect('pingresp');
  });

  it('is case-sensitive', async () => {
    const { client } = await serve();
    const [upper, lower] = [await client(4, { clientId: 'A' }), await client(4, { clientId: 'a' })];
    for (const connection of [upper, lower]) {
      connection.send({ cmd: 'pingreq' });
      await connection.expect('pingresp');
    }
  });
});

describe('keep alive [FAULTS 48]', () => {
  it('ends a connection after one and a half times the silence', async () => {
    const { client, hub } = await serve();
    const quiet = await client(5, { keepalive: 10 });
    hub.clock.advance(14_999);
    quiet.send({ cmd: 'pingreq' });
    await quiet.expect('pingresp');
    hub.clock.advance(14_999);
    quiet.send({ cmd: 'puback', messageId: 9 }, { cmd: 'pingreq' });
    await quiet.expect('pingresp');
    hub.clock.advance(15_000);
    expect(await quiet.expect('disconnect')).toMatchObject({ reasonCode: 0x8d });
    await quiet.end();
  });

  it('of 0 never does', async () => {
    const { client, hub } = await serve();
    const quiet = await client(4, { keepalive: 0 });
    hub.clock.advance(1e9);
    quiet.send({ cmd: 'pingreq' });
    await quiet.expect('pingresp');
  });

  it('begins anew when a client that had to wait is read again', async () => {
    const { client, hub } = await serve({ receiveMaximum: 1 });
    hub.commits = 'when-told';
    hub.topics.make('t');
    const partition = hub.topics.partition('t', 0) as FakePartition; // the fake's own
    const waiting = await client(5, { keepalive: 10 });
    waiting.send('32 07 000174 0001 00 78', '32 07 000174 0002 00 78');
    await eventually(() => partition.logEndOffset === 1);
    hub.clock.advance(14_999);
    partition.commit();
    await eventually(() => partition.logEndOffset === 2);
    partition.commit();
    for (const messageId of [1, 2]) expect(await waiting.expect('puback')).toMatchObject({ messageId });
    hub.clock.advance(14_999);
    waiting.send({ cmd: 'pingreq' });
    await waiting.expect('pingresp');
    hub.clock.advance(15_000);
    expect(await waiting.expect('disconnect')).toMatchObject({ reasonCode: 0x8d });
  });

  it.each([0, 61, 65_535])(
    'of %i s is the server’s maximum for a v5 client, which is told',
    async (keepalive) => {
      const { client, hub } = await serve({ keepaliveMaxSeconds: 60 });
      const quiet = await client(5, { keepalive });
      expect(quiet.connack.properties?.serverKeepAlive).toBe(60);
      hub.clock.advance(90_000);
      expect(await quiet.expect('disconnect')).toMatchObject({ reasonCode: 0x8d });
    },
  );

  it('within the maximum is the client’s own', async () => {
    const { client } = await serve({ keepaliveMaxSeconds: 60 });
    expect((await client(5, { keepalive: 60 })).connack.properties?.serverKeepAlive).toBeUndefined();
  });
});

describe('a connected client that breaks the protocol', () => {
  it.each([
    ['flags that its type has not', 'c1 00', 0x81],
    ['packet type 0', '00 00', 0x82],
    ['a packet of servers', 'd0 00', 0x82],
    ['AUTH', 'f0 00', 0x82],
    ['an endless length', '30 ffffffff', 0x81],
    ['PINGREQ with a body', 'c0 01 00', 0x81],
    ['a packet beyond the limit', '30 ffff7f', 0x95],
    ['QoS 3', '36 07 000174 0001 00 78', 0x81],
    ['packet identifier 0', '32 06 000174 0000 00', 0x82],
    ['an empty topic', '30 03 0000 00', 0x82],
    ['a wildcard in a topic', '30 04 000123 00', 0x90],
    ['an ill-formed topic', '30 04 0001ff 00', 0x81],
    ['U+0000 in a topic', '30 04 000100 00', 0x81],
    ['a topic alias above the maximum', '30 07 000174 03 230021', 0x94],
    ['a topic alias of 0', '30 07 000174 03 230000', 0x94],
    ['a topic alias that stands for nothing', '30 06 0000 03 230001', 0x82],
    ['a misplaced property', '30 07 000174 03 210001', 0x81],
    ['a wildcard in a response topic', '30 08 000174 04 08000123', 0x82],
    ['a misplaced wildcard in a filter', '82 07 0001 00 0002 6123', 0x81],
    ['a broken filter', '82 08 0001 00 0002 6123 00', 0x8f],
    ['No Local on a shared subscription', '82 10 0001 00 000a 2473686172652f672f74 04', 0x82],
    ['SUBSCRIBE of nothing', '82 03 0001 00', 0x82],
  ] as const)('by %s is told why and ends, and nobody else notices', async (_what, hex, reasonCode) => {
    const { client, expectAlive } = await serve();
    const other = await client(4);
    const bad = await client(5);
    bad.send(hex, { cmd: 'pingreq' });
    expect(await bad.expect('disconnect')).toMatchObject({ reasonCode });
    expect(await bad.end()).toEqual([]);
    other.send({ cmd: 'pingreq' });
    await other.expect('pingresp');
    await expectAlive();
  });

  it('is told why in a number alone where its packets must be small [MQTT-3.14.2-3]', async () => {
    const { client } = await serve();
    const bad = await client(5, { properties: { maximumPacketSize: 30 } });
    bad.send('c1 00');
    const { reasonCode, properties } = await bad.expect('disconnect');
    expect([reasonCode, properties?.reasonString]).toEqual([0x81, undefined]);
  });

  it('below version 5 just ends', async () => {
    const { client } = await serve();
    const bad = await client(4);
    bad.send('36 05 000174 0001', { cmd: 'pingreq' });
    expect(await bad.end()).toEqual([]);
  });

  it('has none of what is behind the fault taken [MQTT-4.8.0-1]', async () => {
    const { client, hub } = await serve();
    hub.topics.make('t');
    const bad = await client(4);
    bad.send('30 04 000174 31', '31', 'c1 00');
    await bad.end();
    expect(hub.topics.partition('t', 0)?.logEndOffset).toBe(1);
  });
});

describe('a client that does not read its answers', () => {
  it('is read no further until it does, and everybody else is served', async () => {
    const unreadBytesMax = 256 * 1024;
    const { client, expectAlive, port } = await serve({ unreadBytesMax });
    const pause = vi.spyOn(Socket.prototype, 'pause');
    onTestFinished(() => pause.mockRestore());
    const paused = () => (pause.mock.contexts as Socket[]).find(({ localPort }) => localPort === port); // of that method
    const deaf = await client(5);
    deaf.socket.pause();
    // More than the kernel takes on both sides; each is answered with five bytes.
    const count = 2_000_000;
    deaf.send(Buffer.alloc(4 * count, Buffer.from('62020001', 'hex')));
    await eventually(() => paused() !== undefined);
    // One piece of requests more.
    expect(paused()!.writableLength).toBeLessThan(unreadBytesMax + 128 * 1024);
    await expectAlive();
    let answeredBytes = 0;
    deaf.socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
      answeredBytes += bytes.length;
    });
    deaf.socket.resume();
    await eventually(() => answeredBytes === 5 * count);
  });
});

describe('DISCONNECT', () => {
  it('ends the connection; nothing behind it is looked at', async () => {
    const { client, hub } = await serve();
    hub.topics.make('t');
    const leaving = await client(4);
    leaving.send({ cmd: 'disconnect' }, '30 03 000174');
    expect(await leaving.end()).toEqual([]);
    expect(hub.topics.partition('t', 0)?.logEndOffset).toBe(0);
  });

  it('may not ask for a session that CONNECT did not ask for', async () => {
    const { client } = await serve();
    const leaving = await client(5);
    leaving.send('e0 07 00 05 1100000001');
    expect(await leaving.expect('disconnect')).toMatchObject({ reasonCode: 0x82 });
  });
});

describe('a stop', () => {
  it('says goodbye to v5 clients after answering what is under way', async () => {
    const { client, hub, frontEnd } = await serve();
    hub.commits = 'when-told';
    hub.topics.make('t');
    const [four, five] = [await client(4), await client(5)];
    for (const each of [four, five]) {
      each.send({
        cmd: 'publish',
        topic: 't',
        payload: 'x',
        qos: 1,
        messageId: 5,
        dup: false,
        retain: false,
      });
      each.send({ cmd: 'pingreq' });
      await each.expect('pingresp');
    }
    const drained = frontEnd.drain();
    (hub.topics.partition('t', 0) as unknown as { commit(): void }).commit();
    for (const each of [four, five]) expect(await each.expect('puback')).toMatchObject({ messageId: 5 });
    expect(await five.expect('disconnect')).toMatchObject({ reasonCode: 0x8b });
    expect(await four.end()).toEqual([]);
    await drained;
  });

  it('accepts nobody new', async () => {
    const { frontEnd, raw } = await serve();
    await frontEnd.drain();
    await expect(raw(4)).rejects.toThrow();
  });

  it('can be asked for twice, and at any time', async () => {
    const { frontEnd, client } = await serve();
    const connected = await client(4);
    await Promise.all([frontEnd.close(), frontEnd.close(), frontEnd.drain()]);
    await connected.end();
    expect(frontEnd.listeners()).toEqual([]);
  });
});

describe('listeners', () => {
  it('are shown with the port that was taken and their connections', async () => {
    const { frontEnd, port, client } = await serve();
    await client(4);
    expect(frontEnd.listeners()).toEqual([
      { name: 'mqtt', protocol: 'mqtt', host: '127.0.0.1', port, connections: 1 },
    ]);
  });

  it('on a port that is taken are an error', async () => {
    const { frontEnd, port } = await serve();
    await expect(
      frontEnd.listen({ name: 'second', host: '127.0.0.1', port, connectionsMax: 1 }),
    ).rejects.toThrow('EADDRINUSE');
  });
});
