// MQTT 5 clients that do a known amount of work: publishes that are encoded beforehand, and subscribers that count and
// acknowledge what comes.
import { connect, type Socket } from 'node:net';
import mqttPacket, { type Packet } from 'mqtt-packet';
import { FRAME, type FrameBounds, findFrame, PACKET_TYPE } from '../../../protocols/mqtt/framing.ts';
import { addressOf } from './kafka-work.ts';

const PACKET_BYTES_MAX = 1 << 28;
/** Ids are those of the places in a list of packets: a list longer than this begins again at 1. */
const PACKET_IDS = 60_000;
/** In one SUBSCRIBE. */
const FILTERS_AT_ONCE = 500;

export interface MqttClientOptions {
  readonly clientId: string;
  /** 0 = there is nothing left of it when it goes. */
  readonly expirySeconds?: number;
  /** It takes up what an earlier connection has left. */
  readonly isBack?: boolean;
  /** Gives it one of several addresses: the ports of one are too few for very many. */
  readonly number?: number;
}

export class MqttConnection {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  readonly #bounds: FrameBounds = { bodyStart: 0, bodyEnd: 0 };
  #answered: (() => void) | undefined;
  #lost: (error: Error) => void = () => undefined;
  /** PUBACKs. */
  acknowledged = 0;
  /** PUBLISHes. */
  received = 0;
  /** Called when either has grown. */
  onProgress: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', () => undefined);
    socket.once('close', () => this.#lost(new Error('the hub closed the connection')));
  }

  /** Resolves with CONNACK. */
  static async open(port: number, options: MqttClientOptions): Promise<MqttConnection> {
    const localAddress = addressOf(options.number ?? 0);
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const connection = new MqttConnection(socket);
    await connection.#ask({
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, keepalive: 0 },
      ...{ clientId: options.clientId, clean: options.isBack !== true },
      properties: { sessionExpiryInterval: options.expirySeconds ?? 0 },
    });
    return connection;
  }

  async subscribe(filters: readonly string[], qos: 0 | 1 = 1): Promise<void> {
    for (let from = 0; from < filters.length; from += FILTERS_AT_ONCE) {
      const subscriptions = filters.slice(from, from + FILTERS_AT_ONCE).map((topic) => ({ topic, qos }));
      await this.#ask({ cmd: 'subscribe', messageId: 1, subscriptions });
    }
  }

  unsubscribe(filter: string): Promise<void> {
    return this.#ask({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: [filter] });
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Rejects when the hub closes the connection first. */
  whenLost(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.#lost = reject;
    });
  }

  /** As a client that goes; what it has asked to be kept is kept. */
  async disconnect(): Promise<void> {
    this.#lost = () => undefined;
    const closed = new Promise((resolve) => this.#socket.once('close', resolve));
    this.#socket.end(encoded({ cmd: 'disconnect', reasonCode: 0 }));
    await closed;
  }

  close(): void {
    this.#lost = () => undefined;
    this.#socket.destroy();
  }

  async #ask(packet: Packet): Promise<void> {
    const answered = new Promise<void>((resolve, reject) => {
      this.#answered = resolve;
      this.#lost = reject;
    });
    this.send(encoded(packet));
    await answered;
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const before = this.acknowledged + this.received;
    const acknowledgements: number[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (findFrame(bytes, at, bytes.length, PACKET_BYTES_MAX, this.#bounds) !== FRAME.COMPLETE) break;
      const { bodyStart, bodyEnd } = this.#bounds;
      this.#onPacket(bytes, at, bodyStart, acknowledgements);
      at = bodyEnd;
    }
    this.#rest = at < bytes.length ? Buffer.from(bytes.subarray(at)) : Buffer.alloc(0);
    if (acknowledgements.length > 0) this.send(Buffer.from(acknowledgements));
    if (this.acknowledged + this.received > before) this.onProgress();
  }

  #onPacket(bytes: Buffer, at: number, bodyStart: number, acknowledgements: number[]): void {
    const first = bytes[at] ?? 0;
    switch (first >> 4) {
      case PACKET_TYPE.PUBACK:
        this.acknowledged++;
        return;
      case PACKET_TYPE.PUBLISH: {
        this.received++;
        if ((first & 6) === 0) return;
        const idAt = bodyStart + 2 + bytes.readUInt16BE(bodyStart);
        acknowledgements.push(PACKET_TYPE.PUBACK << 4, 2, bytes[idAt] ?? 0, bytes[idAt + 1] ?? 0);
        return;
      }
      case PACKET_TYPE.CONNACK:
        if (bytes[bodyStart + 1] !== 0) this.#lost(new Error(`CONNECT was refused: ${bytes[bodyStart + 1]}`));
        else this.#answered?.();
        return;
      default:
        this.#answered?.();
    }
  }
}

function encoded(packet: Packet): Buffer {
  return mqttPacket.generate(packet, { protocolVersion: 5 });
}

/** PUBLISHes of QoS 1 that lie one behind the other. */
export interface Publishes {
  readonly bytes: Buffer;
  /** Where each begins, and where the last one ends. */
  readonly starts: readonly number[];
}

export function publishesOf(
  count: number,
  topicOf: (index: number) => string,
  payloadBytes: number,
): Publishes {
  const payload = Buffer.alloc(payloadBytes, 'x');
  const starts: number[] = [0];
  let end = 0;
  const packets = Array.from({ length: count }, (_, index) => {
    const messageId = (index % PACKET_IDS) + 1;
    const packet = encoded({
      cmd: 'publish',
      topic: topicOf(index),
      payload,
      qos: 1,
      messageId,
      dup: false,
      retain: false,
    });
    end += packet.length;
    starts.push(end);
    return packet;
  });
  return { bytes: Buffer.concat(packets), starts };
}

/**
 * Each publisher sends all of `publishes`, at most `window` ahead of its acknowledgements and of the subscribers. Resolves
 * when all is acknowledged and every subscriber has got all of it.
 */
export async function publishAll(
  {
    publishers,
    subscribers,
  }: { readonly publishers: readonly MqttConnection[]; readonly subscribers: readonly MqttConnection[] },
  { bytes, starts }: Publishes,
  window: number,
): Promise<void> {
  const each = starts.length - 1;
  const toReceive = each * publishers.length;
  const receivedBefore = subscribers.map(({ received }) => received);
  const senders = publishers.map((connection) => ({ connection, sent: 0, before: connection.acknowledged }));
  let sentTotal = 0;
  let unfinished = publishers.length + subscribers.length;
  const slowest = (): number =>
    subscribers.reduce(
      (least, { received }, index) => Math.min(least, received - (receivedBefore[index] ?? 0)),
      sentTotal,
    );
  const sendMore = (sender: (typeof senders)[number]): void => {
    const { connection, sent, before } = sender;
    const room = Math.min(
      window - (sent - (connection.acknowledged - before)),
      window - (sentTotal - slowest()),
    );
    const upTo = Math.min(each, sent + room);
    if (upTo <= sent) return;
    sender.sent = upTo;
    sentTotal += upTo - sent;
    connection.send(bytes.subarray(starts[sent], starts[upTo]));
  };
  const done = new Promise<void>((resolve) => {
    const finish = (connection: MqttConnection): void => {
      connection.onProgress = () => undefined;
      if (--unfinished === 0) resolve();
    };
    for (const sender of senders) {
      const { connection, before } = sender;
      connection.onProgress = () => {
        if (connection.acknowledged - before === each) finish(connection);
        else sendMore(sender);
      };
    }
    for (const [index, subscriber] of subscribers.entries()) {
      const before = receivedBefore[index] ?? 0;
      subscriber.onProgress = () => {
        for (const sender of senders) sendMore(sender);
        if (subscriber.received - before >= toReceive) finish(subscriber);
      };
    }
    for (const sender of senders) sendMore(sender);
  });
  await Promise.race([done, ...[...publishers, ...subscribers].map((connection) => connection.whenLost())]);
}

/** So many pieces of work, at most so many at once. */
export async function inParallel(
  items: number,
  atOnce: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workers = Array.from({ length: Math.min(items, atOnce) }, async () => {
    while (next < items) await work(next++);
  });
  await Promise.all(workers);
}
