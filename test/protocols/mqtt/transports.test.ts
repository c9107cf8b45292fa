// What MQTT comes by: WebSocket (section 6) and the PROXY protocol, in front of a front end with a hub in memory.
import { connect as connectTcp } from 'node:net';
import mqtt from 'mqtt';
import mqttPacket from 'mqtt-packet';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { addressList } from '../../../protocols/mqtt/transports/address-list.ts';
import { readProxyHeader } from '../../../protocols/mqtt/transports/proxy-protocol.ts';
import type { ListenerOptions } from '../../../protocols/port.ts';
import type { Serving } from './front-end-fixture.ts';
import { connectPacket, eventually, serve } from './front-end-fixture.ts';

async function listen(serving: Serving, options: Partial<ListenerOptions>): Promise<number> {
  const { port } = await serving.frontEnd.listen({
    name: 'second',
    host: '127.0.0.1',
    port: 0,
    connectionsMax: 10,
    ...options,
  });
  return port;
}

/** The frames that come, and how it ends: an HTTP status, or the status of a close. */
class Frames {
  readonly socket: WebSocket;
  readonly ended: Promise<number>;
  #bytes = Buffer.alloc(0);

  constructor(port: number, { path = '/mqtt', subprotocols = ['mqtt'], headers = {} } = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, subprotocols, { headers });
    this.socket.on('message', (data: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, data]);
    });
    this.ended = new Promise((resolve) => {
      this.socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
      this.socket.on('close', resolve);
    });
    this.socket.on('error', () => undefined);
    onTestFinished(() => this.socket.terminate());
  }

  async opened(): Promise<void> {
    await new Promise((resolve) => this.socket.once('open', resolve));
  }

  get hex(): string {
    return this.#bytes.toString('hex');
  }

  async expect(hex: RegExp): Promise<void> {
    await eventually(() => hex.test(this.hex));
  }
}

const CONNECT = mqttPacket.generate(connectPacket(4, { clientId: 'ws' }));
const PING = Buffer.from('c000', 'hex');
const CONNACK = '20020000';

describe('WebSocket', () => {
  it('serves a client of MQTT.js, both ways', async () => {
    const serving = await serve();
    const port = await listen(serving, { protocol: 'mqtt-ws' });
    const client = await mqtt.connectAsync(`ws://127.0.0.1:${port}/mqtt`, { protocolVersion: 5 });
    onTestFinished(() => client.endAsync(true));
    await client.subscribeAsync('a/#', { qos: 2 });
    const received = new Promise<string>((resolve) =>
      client.once('message', (_topic, body) => resolve(body.toString())),
    );
    await client.publishAsync('a/b', 'x'.repeat(100_000), { qos: 2 });
    expect((await received).length).toBe(100_000);
    expect(
      serving.frontEnd.listeners().map(({ protocol, connections }) => `${protocol} ${connections}`),
    ).toEqual(['mqtt 0', 'mqtt-ws 1']);
  });

  it('takes packets split over frames and fragments, and several in one', async () => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws' });
    const frames = new Frames(port);
    await frames.opened();
    for (const byte of CONNECT) frames.socket.send(Buffer.from([byte]));
    frames.socket.send(PING.subarray(0, 1), { fin: false });
    frames.socket.send(PING.subarray(1), { fin: true });
    frames.socket.send(Buffer.concat([PING, PING]));
    await frames.expect(new RegExp(`^${CONNACK}d000d000d000$`));
  });

  it('sends what one turn has made as one frame', async () => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws' });
    const frames = new Frames(port);
    await frames.opened();
    const sizes: number[] = [];
    frames.socket.on('message', (data: Buffer) => sizes.push(data.length));
    frames.socket.send(Buffer.concat([CONNECT, PING, PING, PING]));
    await frames.expect(/d000d000d000$/);
    expect(sizes.at(-1)).toBeGreaterThanOrEqual(6);
  });

  it.each([
    ['another path', { path: '/other' }, 404],
    ['no subprotocol', { subprotocols: [] as string[] }, 400],
    ['another subprotocol', { subprotocols: ['soap'] }, 400],
    ['an origin that is not listed', { headers: { Origin: 'https://elsewhere.example' } }, 403],
  ])('refuses %s', async (_what, how, status) => {
    const serving = await serve();
    const port = await listen(serving, { protocol: 'mqtt-ws', origins: ['https://here.example'] });
    expect(await new Frames(port, how).ended).toBe(status);
    expect(serving.frontEnd.counters.connectionsRefused).toBe(1);
  });

  it.each([
    ['a listed origin', ['https://here.example'], { Origin: 'https://here.example' }],
    ['any origin', ['*'], { Origin: 'https://elsewhere.example' }],
    ['no origin', [], {}],
  ])('lets %s in', async (_what, origins, headers) => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws', origins });
    const frames = new Frames(port, { headers: headers as Record<string, string> });
    await frames.opened();
    expect(frames.socket.protocol).toBe('mqtt');
    expect(frames.socket.extensions).toBe('');
  });

  it('answers what is no WebSocket', async () => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws' });
    expect((await fetch(`http://127.0.0.1:${port}/mqtt`)).status).toBe(426);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  });

  it('ends with a text frame [MQTT-6.0.0-1]', async () => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws' });
    const frames = new Frames(port);
    await frames.opened();
    frames.socket.send('text');
    expect(await frames.ended).toBe(1003);
  });

  it('puts nothing long together before CONNECT, and nothing too long after it', async () => {
    const serving = await serve({ packetBytesMax: 200_000 });
    const port = await listen(serving, { protocol: 'mqtt-ws' });
    const early = new Frames(port);
    await early.opened();
    early.socket.send(Buffer.alloc(150_000, 0x10));
    expect(await early.ended).toBe(1006);
    const late = new Frames(port);
    await late.opened();
    late.socket.send(CONNECT);
    await late.expect(new RegExp(`^${CONNACK}`));
    late.socket.send(Buffer.alloc(200_001));
    expect(await late.ended).toBe(1009);
    await serving.expectAlive();
  });

  it('ends a client whose protocol is wrong, as everywhere', async () => {
    const port = await listen(await serve(), { protocol: 'mqtt-ws' });
    const frames = new Frames(port);
    await frames.opened();
    frames.socket.send(mqttPacket.generate(connectPacket(5, { clientId: 'ws5' })));
    frames.socket.send(Buffer.from('36', 'hex'));
    frames.socket.send(Buffer.from('0000', 'hex'));
    // DISCONNECT 0x81, then the end.
    await frames.expect(/e0..81/);
    expect(await frames.ended).toBe(1000);
  });

  it('publishes the will of a client that is cut off', async () => {
    const serving = await serve();
    const port = await listen(serving, { protocol: 'mqtt-ws' });
    const watcher = await serving.client(4);
    watcher.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'will', qos: 0 }] });
    await watcher.expect('suback');
    const frames = new Frames(port);
    await frames.opened();
    const will = { topic: 'will', payload: Buffer.from('gone'), qos: 0, retain: false } as const;
    frames.socket.send(mqttPacket.generate(connectPacket(4, { will })));
    await frames.expect(new RegExp(`^${CONNACK}`));
    frames.socket.terminate();
    expect(await watcher.expect('publish')).toMatchObject({ topic: 'will' });
  });
});

describe('a PROXY header', () => {
  const v2 = (command: number, family: number, body: string) => {
    const rest = Buffer.from(body, 'hex');
    const head = Buffer.from('0d0a0d0a000d0a515549540a00000000', 'hex');
    head[12] = command;
    head[13] = family;
    head.writeUInt16BE(rest.length, 14);
    return Buffer.concat([head, rest]);
  };

  const sound: readonly (readonly [string, Buffer, string | undefined])[] = [
    ['1, IPv4', Buffer.from('PROXY TCP4 192.0.2.7 10.0.0.1 5000 1883\r\n'), '192.0.2.7'],
    ['1, IPv6', Buffer.from('PROXY TCP6 2001:db8::7 ::1 5000 1883\r\n'), '2001:db8::7'],
    ['1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
    ['1, unknown with more', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), undefined],
    ['2, IPv4', v2(0x21, 0x11, 'c0000207 0a000001 1388 075b'.replaceAll(' ', '')), '192.0.2.7'],
    [
      '2, IPv6',
      v2(0x21, 0x21, `20010db8${'00'.repeat(11)}07${'00'.repeat(15)}01 1388 075b`.replaceAll(' ', '')),
      '2001:db8:0:0:0:0:0:7',
    ],
    [
      '2, with more behind the addresses',
      v2(0x21, 0x11, `c00002070a0000011388075b${'04000100'.repeat(4)}`),
      '192.0.2.7',
    ],
    ['2, the proxy itself', v2(0x20, 0x00, ''), undefined],
    ['2, a local socket', v2(0x21, 0x31, '00'.repeat(216)), undefined],
  ];

  it.each(sound)('of version %s', (_what, header, address) => {
    const whole = Buffer.concat([header, CONNECT]);
    expect(readProxyHeader(whole)).toEqual({ kind: 'complete', length: header.length, address });
    for (let length = 0; length < header.length; length++) {
      expect(readProxyHeader(whole.subarray(0, length)).kind).toBe('need-more');
    }
  });

  it.each([
    ['none', CONNECT],
    ['a line without end', Buffer.from(`PROXY TCP4 ${'1'.repeat(200)}`)],
    ['an address of the other family', Buffer.from('PROXY TCP4 ::1 ::1 1 2\r\n')],
    ['a port that is none', Buffer.from('PROXY TCP4 1.1.1.1 1.1.1.1 1 70000\r\n')],
    ['a port too few', Buffer.from('PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n')],
    ['another version', v2(0x31, 0x11, 'c00002070a0000011388075b')],
    ['UDP', v2(0x21, 0x12, 'c00002070a0000011388075b')],
    ['addresses cut short', v2(0x21, 0x11, 'c0000207')],
    ['a length without measure', v2(0x21, 0x11, '00'.repeat(5000)).subarray(0, 20)],
  ])('is none: %s', (_what, bytes) => {
    expect(readProxyHeader(bytes).kind).toBe('malformed');
  });

  async function connectBehind(port: number, pieces: readonly Buffer[]): Promise<string> {
    const socket = connectTcp({ port, host: '127.0.0.1', noDelay: true });
    onTestFinished(() => {
      socket.destroy();
    });
    let received = Buffer.alloc(0);
    const ended = new Promise<void>((resolve) => {
      socket.on('data', (piece) => {
        received = Buffer.concat([received, piece]);
        if (received.length >= 4) resolve();
      });
      socket.on('close', () => resolve());
      socket.on('error', () => resolve());
    });
    for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
    await ended;
    return received.toString('hex');
  }

  it('says where a client is', async () => {
    const serving = await serve();
    const port = await listen(serving, { proxyTrusted: ['127.0.0.0/8'] });
    for (const [, header, address] of sound) {
      serving.hub.log.entries.length = 0;
      expect(await connectBehind(port, [Buffer.concat([header, CONNECT])])).toBe(CONNACK);
      const fields = serving.hub.log.entries.find(({ event }) => event === 'mqtt-connected')?.fields;
      expect(fields).toMatchObject({ remoteAddress: address ?? '127.0.0.1' });
    }
  });

  it('comes byte by byte', async () => {
    const port = await listen(await serve(), { proxyTrusted: ['127.0.0.1'] });
    const bytes = Buffer.concat([sound[4]![1], CONNECT]);
    expect(
      await connectBehind(
        port,
        Array.from(bytes, (byte) => Buffer.from([byte])),
      ),
    ).toBe(CONNACK);
  });

  it('comes before a WebSocket too', async () => {
    const port = await listen(await serve(), { proxyTrusted: ['127.0.0.1'], protocol: 'mqtt-ws' });
    const request =
      'GET /mqtt HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n';
    const answer = await connectBehind(port, [Buffer.concat([sound[0]![1], Buffer.from(request)])]);
    expect(Buffer.from(answer, 'hex').toString()).toMatch(/^HTTP\/1\.1 101 /);
  });

  it('must be there, and from somebody who is trusted', async () => {
    const serving = await serve();
    expect(await connectBehind(await listen(serving, { proxyTrusted: ['127.0.0.1'] }), [CONNECT])).toBe('');
    expect(await connectBehind(await listen(serving, { proxyTrusted: ['10.0.0.0/8'] }), [sound[0]![1]])).toBe(
      '',
    );
    expect(serving.frontEnd.counters.connectionsRefused).toBe(2);
  });

  it('is waited for no longer than CONNECT', async () => {
    const serving = await serve({ connectTimeoutMs: 5000 });
    const port = await listen(serving, { proxyTrusted: ['127.0.0.1'] });
    const { timerCount } = serving.hub.clock;
    const received = connectBehind(port, []);
    await eventually(() => serving.hub.clock.timerCount > timerCount);
    serving.hub.clock.advance(5000);
    expect(await received).toBe('');
  });
});

describe('a list of addresses', () => {
  it.each([
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['::1', '::1', true],
    ['2001:db8::/32', '2001:db8:1::1', true],
    ['2001:db8::/32', 'unknown', false],
  ])('%s has %s: %s', (text, address, has) => {
    expect(addressList([text]).has(address)).toBe(has);
  });

  it.each(['10.0.0.0/33', 'a', '1.2.3', '::1/129', '1.2.3.4/', '1.2.3.4/8/8'])('%s is none', (text) => {
    expect(() => addressList([text])).toThrow(RangeError);
  });
});
