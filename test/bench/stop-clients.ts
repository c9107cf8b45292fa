// Clients that keep a hub busy until it stops them: MQTT at QoS 1, Kafka producers and consumers. They count what was
// acknowledged, and hold nothing against a connection that ends.
import { connect, type Socket } from 'node:net';
import mqttPacket from 'mqtt-packet';
import { FrameReader } from '../../protocols/kafka/framing.ts';
import { FetchRequest } from '../../protocols/kafka/messages/fetch.ts';
import { ProduceRequest } from '../../protocols/kafka/messages/produce.ts';
import { batchOf } from './kafka-batches.ts';
import { requestFrame } from './request-client.ts';

export interface Counts {
  /** Publishes that were answered with PUBACK, and records whose batch was answered. */
  acknowledged: number;
  /** Messages and answers to fetches with records. */
  received: number;
  /** Connections that have ended. */
  ended: number;
}

export const newCounts = (): Counts => ({ acknowledged: 0, received: 0, ended: 0 });

const PUBLISH = 3;
const PUBACK = 4;
const SUBACK = 9;
const CONNACK = 2;

export interface MqttClientOptions {
  readonly port: number;
  readonly clientId: string;
  readonly version: 4 | 5;
  /** Its session outlives it. */
  readonly isDurable: boolean;
  readonly publishesTo: string;
  readonly subscribesTo: string;
  readonly payloadBytes: number;
}

/**
 * Once told to, publishes one message after the other, and acknowledges what it is sent.
 * Resolves when it is subscribed.
 */
export function startMqttClient(
  options: MqttClientOptions,
  begin: Promise<void>,
  counts: Counts,
): Promise<void> {
  const { port, clientId, version, isDurable, publishesTo, subscribesTo, payloadBytes } = options;
  const generate = (packet: mqttPacket.Packet): Buffer =>
    mqttPacket.generate(packet, { protocolVersion: version });
  const hello = generate({
    ...{
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: !isDurable,
      clientId,
      keepalive: 60,
    },
    ...(version === 5 && isDurable ? { properties: { sessionExpiryInterval: 3600 } } : {}),
  });
  const subscribe = generate({
    ...{ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: subscribesTo, qos: 1 }] },
  });
  const publish = generate({
    ...{ cmd: 'publish', topic: publishesTo, payload: Buffer.alloc(payloadBytes, 'x'), qos: 1, messageId: 2 },
    ...{ dup: false, retain: false },
  });
  return new Promise((resolve) => {
    const socket = openSocket(port, counts, resolve);
    socket.write(hello);
    let rest: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      for (let end = packetEnd(bytes, at); end !== undefined; end = packetEnd(bytes, at)) {
        const type = bytes[at]! >> 4;
        if (type === CONNACK) socket.write(subscribe);
        else if (type === SUBACK) {
          resolve();
          void begin.then(() => socket.write(publish));
        } else if (type === PUBACK) {
          counts.acknowledged++;
          socket.write(publish);
        } else if (type === PUBLISH) {
          counts.received++;
          socket.write(pubackFor(bytes, at));
        }
        at = end;
      }
      rest = bytes.subarray(at);
    });
  });
}

/** Undefined while the packet is not whole. */
function packetEnd(bytes: Buffer, at: number): number | undefined {
  let length = 0;
  for (let index = 1; index <= 4; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 128 ** (index - 1);
    if (byte < 0x80) {
      const end = at + 1 + index + length;
      return end <= bytes.length ? end : undefined;
    }
  }
  throw new Error('a length of more than four bytes');
}

/** Short messages: their length takes one byte or two. */
function pubackFor(bytes: Buffer, at: number): Buffer {
  const topicAt = at + (bytes[at + 1]! < 0x80 ? 2 : 3);
  const idAt = topicAt + 2 + bytes.readUInt16BE(topicAt);
  return Buffer.from([0x40, 2, bytes[idAt]!, bytes[idAt + 1]!]);
}

const PRODUCE = { key: 0, version: 9 };
const FETCH = { key: 1, version: 12 };
const RECORDS = 10;

/** Appends a batch to each of the topics in turn, with one request on its way. */
export function startProducer(port: number, topics: readonly string[], counts: Counts): void {
  const records = batchOf(RECORDS, 0, 100);
  const frames = topics.map((name) =>
    requestFrame(PRODUCE.key, PRODUCE.version, ProduceRequest, {
      ...{ transactionalId: null, acks: -1, timeoutMs: 30_000 },
      topicData: [{ name, partitionData: [{ index: 0, records }] }],
    }),
  );
  startAsking(port, frames, counts, () => {
    counts.acknowledged += RECORDS;
  });
}

/** Fetches from the beginning of all the topics, again and again. */
export function startConsumer(port: number, topics: readonly string[], counts: Counts): void {
  const frame = requestFrame(FETCH.key, FETCH.version, FetchRequest, {
    ...{ maxWaitMs: 500, minBytes: 1, maxBytes: 64 * 1024 },
    topics: topics.map((topic) => ({
      topic,
      partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 16 * 1024 }],
    })),
  });
  startAsking(port, [frame], counts, () => {
    counts.received++;
  });
}

function startAsking(port: number, frames: readonly Buffer[], counts: Counts, onAnswer: () => void): void {
  const socket = openSocket(port, counts);
  const answers = new FrameReader(1 << 30);
  let next = 0;
  const ask = (): void => {
    socket.write(frames[next++ % frames.length]!); // there is one
  };
  ask();
  socket.on('data', (chunk: Buffer) => {
    answers.push(chunk);
    for (let answer = answers.next(); answer !== undefined; answer = answers.next()) {
      onAnswer();
      ask();
    }
  });
}

function openSocket(port: number, counts: Counts, onEnded: () => void = () => undefined): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  // A reset is an end like others.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    counts.ended++;
    onEnded();
  });
  return socket;
}
