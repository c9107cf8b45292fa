// Bytes that nobody should send: random, mutated, cut anywhere.
import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import type { Packet } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { MqttError } from '../../../protocols/mqtt/errors.ts';
import { readAcknowledgement } from '../../../protocols/mqtt/packets/acknowledgement.ts';
import { readAuth } from '../../../protocols/mqtt/packets/auth.ts';
import { readConnect } from '../../../protocols/mqtt/packets/connect.ts';
import { readDisconnect } from '../../../protocols/mqtt/packets/disconnect.ts';
import { MessageProperties } from '../../../protocols/mqtt/packets/message-properties.ts';
import { PLACE } from '../../../protocols/mqtt/packets/properties.ts';
import type { Version } from '../../../protocols/mqtt/packets/publish.ts';
import { publishBounds, readPublish } from '../../../protocols/mqtt/packets/publish.ts';
import { readSubscribe } from '../../../protocols/mqtt/packets/subscribe.ts';
import { readUnsubscribe } from '../../../protocols/mqtt/packets/unsubscribe.ts';
import type { Serving } from './front-end-fixture.ts';
import { connectPacket, serve } from './front-end-fixture.ts';

/** One of each packet that a client sends, with everything that it may hold. */
const PACKETS: readonly Packet[] = [
  {
    ...connectPacket(5, { clientId: 'fuzzed', username: 'u', password: Buffer.from('p') }),
    properties: { receiveMaximum: 5, userProperties: { a: 'b' } },
    will: { topic: 'w', payload: 'x', qos: 1, properties: { contentType: 't', userProperties: { a: 'b' } } },
  },
  {
    cmd: 'publish',
    topic: 'a/b',
    payload: 'x',
    qos: 1,
    messageId: 1,
    dup: false,
    retain: false,
    properties: {
      payloadFormatIndicator: true,
      messageExpiryInterval: 60,
      responseTopic: 'r',
      correlationData: Buffer.from([1, 2]),
      userProperties: { a: ['b', 'c'] },
      contentType: 'text',
    },
  },
  { cmd: 'puback', messageId: 1, reasonCode: 0x97, properties: { reasonString: 'r' } },
  { cmd: 'pubrec', messageId: 1, reasonCode: 0x97, properties: { userProperties: { a: 'b' } } },
  { cmd: 'pubrel', messageId: 1, reasonCode: 0x92, properties: { reasonString: 'r' } },
  { cmd: 'pubcomp', messageId: 1 },
  {
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: [{ topic: 'a/+/#', qos: 2, nl: true, rap: true, rh: 1 }],
    properties: { subscriptionIdentifier: 300, userProperties: { a: 'b' } },
  },
  { cmd: 'unsubscribe', messageId: 1, unsubscriptions: ['a/+/#', 'b'] },
  { cmd: 'pingreq' },
  { cmd: 'disconnect', reasonCode: 4, properties: { reasonString: 'bye' } },
  { cmd: 'auth', reasonCode: 0x19, properties: { authenticationMethod: 'm', reasonString: 'r' } },
];

const encoded = PACKETS.map((packet) => mqttPacket.generate(packet, { protocolVersion: 5 }));

type Decoder = (bytes: Buffer, start: number, end: number, version: Version) => unknown;

const DECODERS: readonly Decoder[] = [
  (bytes, start, end) => readConnect(bytes, start, end, { version: undefined, packetBytesMax: 0 }),
  (bytes, start, end, version) => {
    const bounds = publishBounds();
    readPublish(bounds, 0x32, bytes, start, end, version);
    new MessageProperties().read(bytes, bounds.propertiesStart, bounds.propertiesEnd, PLACE.PUBLISH);
    return bounds;
  },
  (bytes, start, end, version) =>
    readAcknowledgement({ packetId: 0, reasonCode: 0 }, 4, bytes, start, end, version),
  readSubscribe,
  readUnsubscribe,
  readDisconnect,
  (bytes, start, end) => readAuth(bytes, start, end),
];

/** Bytes that are a packet's, with some of them changed, dropped or put in. */
const mutated = fc
  .record({
    packet: fc.constantFrom(...encoded),
    changes: fc.array(fc.record({ at: fc.nat(200), byte: fc.nat(255), kind: fc.nat(2) }), {
      minLength: 1,
      maxLength: 4,
    }),
  })
  .map(({ packet, changes }) => {
    let bytes = [...packet];
    for (const { at, byte, kind } of changes) {
      const index = at % bytes.length;
      if (kind === 0) bytes[index] = byte;
      else if (kind === 1) bytes = [...bytes.slice(0, index), byte, ...bytes.slice(index)];
      else if (bytes.length > 1) bytes.splice(index, 1);
    }
    return Buffer.from(bytes);
  });
const random = fc.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) => Buffer.from(bytes));

describe('decoders', () => {
  it('take any bytes: they answer, or refuse with a reason', () => {
    fc.assert(
      fc.property(
        fc.oneof(random, mutated),
        fc.constantFrom<Version>(3, 4, 5),
        fc.nat(3),
        (bytes, version, start) => {
          for (const decode of DECODERS) {
            try {
              decode(bytes, Math.min(start, bytes.length), bytes.length, version);
            } catch (error) {
              if (!(error instanceof MqttError)) throw error;
            }
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('never look behind the end they are given [FAULTS 51]', () => {
    fc.assert(
      fc.property(random, random, fc.constantFrom<Version>(4, 5), (bytes, behind, version) => {
        const outcome = (decode: Decoder, all: Buffer) => {
          try {
            return JSON.stringify(decode(all, 0, bytes.length, version));
          } catch (error) {
            return String(error);
          }
        };
        for (const decode of DECODERS) {
          // Whatever follows, the answer is the same.
          const alone = outcome(decode, bytes);
          const followed = outcome(decode, Buffer.concat([bytes, behind]));
          expect(followed).toBe(alone);
        }
      }),
      { numRuns: 200 },
    );
  });
});

async function send(serving: Serving, version: 4 | 5, connected: boolean, bytes: Buffer): Promise<void> {
  const client = await serving.raw(version);
  if (connected) client.send(connectPacket(version));
  client.send(bytes);
  client.socket.end();
  await client.end();
}

describe('a connection', () => {
  it('that sends anything harms nobody, and no fault of ours comes of it', async () => {
    const serving = await serve();
    const bystander = await serving.client(5);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(random, mutated),
        fc.constantFrom<4 | 5>(4, 5),
        fc.boolean(),
        (bytes, version, connected) => send(serving, version, connected, bytes),
      ),
      { numRuns: 150 },
    );
    bystander.send({ cmd: 'pingreq' });
    await bystander.expect('pingresp');
    expect(serving.hub.log.events('error')).toEqual([]);
    await serving.expectAlive();
  });

  it.each([4, 5] as const)('of version %i is answered alike however its bytes are cut', async (version) => {
    const { client, hub } = await serve();
    hub.topics.make('cut');
    const session = Buffer.concat(
      (
        [
          { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'cut/#', qos: 1 }] },
          { cmd: 'publish', topic: 'cut/a', payload: 'one', qos: 1, messageId: 2, dup: false, retain: false },
          { cmd: 'publish', topic: 'cut/b', payload: 'two', qos: 2, messageId: 3, dup: false, retain: false },
          { cmd: 'pubrel', messageId: 3 },
          { cmd: 'unsubscribe', messageId: 4, unsubscriptions: ['cut/#'] },
          { cmd: 'pingreq' },
        ] satisfies Packet[]
      ).map((packet) => mqttPacket.generate(packet, { protocolVersion: version })),
    );
    for (let cut = 0; cut < session.length; cut++) {
      const cutting = await client(version);
      cutting.send(session.subarray(0, cut));
      await new Promise<void>((resolve) => setImmediate(resolve));
      cutting.send(session.subarray(cut));
      const seen: string[] = [];
      while (seen.length < 8) seen.push((await cutting.next()).cmd);
      expect(seen.sort()).toEqual(
        ['suback', 'puback', 'pubrec', 'pubcomp', 'unsuback', 'pingresp', 'publish', 'publish'].sort(),
      );
      cutting.socket.destroy();
    }
  });

  it('is answered alike when random packets, right or wrong, come byte by byte', async () => {
    const { port, expectAlive, hub } = await serve();
    hub.topics.make('a');
    const greeting = mqttPacket.generate(connectPacket(5, { clientId: 'cut' }), { protocolVersion: 5 });
    /** All that is answered, in one connection that ends with bytes that nobody may send. */
    const answers = async (pieces: readonly Buffer[]): Promise<string> => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
      const closed = once(socket, 'close');
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      socket.end(Buffer.from([0xd0, 0x00]));
      await closed;
      return Buffer.concat(chunks).toString('hex');
    };
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, fc.constantFrom(...encoded.slice(2)), random), async (bytes) => {
        // What a PUBLISH is answered with waits for the log: the end of the connection may come first.
        fc.pre(!bytes.some((byte) => byte >> 4 === 3));
        const whole = await answers([Buffer.concat([greeting, bytes])]);
        const cut = await answers([...Buffer.concat([greeting, bytes])].map((byte) => Buffer.from([byte])));
        expect(cut).toBe(whole);
      }),
      { numRuns: 60 },
    );
    expect(hub.log.events('error')).toEqual([]);
    await expectAlive();
  });

  it('is answered alike when they come one by one', async () => {
    const { client } = await serve();
    const slow = await client(5);
    const packets = Buffer.concat(encoded.slice(6, 9));
    for (const byte of packets) {
      slow.send(Buffer.from([byte]));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    for (const cmd of ['suback', 'unsuback', 'pingresp'] as const) await slow.expect(cmd);
  });
});
