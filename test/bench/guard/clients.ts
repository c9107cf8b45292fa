// The guard's clients, in plain Node: the same code, and but for greetings the same bytes, against the hub and against
// plain-server.ts, so that what they cost is in both sides of a ratio.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import mqttPacket, { type Packet } from 'mqtt-packet';
import { FrameCounter } from './frames.ts';

export type PlainMode = 'A' | 'F' | 'P' | 'S';

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** A connection to plain-server.ts. */
export async function openPlain(
  port: number,
  mode: PlainMode,
  number: number,
  isAnswered = false,
): Promise<Socket> {
  const socket = await openSocket(port);
  const head = Buffer.from([mode.charCodeAt(0), isAnswered ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt32BE(number, 2);
  socket.write(head);
  return socket;
}

/** A client of the hub's, greeted and, with a topic, subscribed. */
export async function openMqtt(
  port: number,
  clientId: string,
  topic?: string,
  qos: 0 | 1 = 0,
): Promise<Socket> {
  const socket = await openSocket(port);
  await answered(
    socket,
    { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId, clean: true },
    4,
  );
  if (topic !== undefined)
    await answered(socket, { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] }, 5);
  return socket;
}

async function answered(socket: Socket, packet: Packet, answerBytes: number): Promise<void> {
  socket.write(mqttPacket.generate(packet));
  let received = 0;
  while (received < answerBytes) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]; // no encoding is set
    received += chunk.length;
  }
}

/** Runs for so many milliseconds. @returns units a second, what was in flight at the end waited for */
export interface Client {
  run(durationMs: number): Promise<number>;
  close(): void;
}

const STALL_MS = 30_000;

/** Waits for the end of a turn, which comes soon unless the other side has stopped to answer. */
class Turn {
  readonly over: Promise<void>;
  #resolve: () => void = () => undefined;

  /** @param left what is still to come */
  constructor(durationMs: number, left: () => string) {
    this.over = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no end: ${left()}`)), durationMs + STALL_MS);
      this.#resolve = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.#resolve();
  }
}

/** Each connection keeps so many requests in flight; unit: a request. */
export class RequestLoop implements Client {
  readonly #sockets: readonly Socket[];
  readonly #requests: Buffer;
  readonly #requestBytes: number;
  readonly #inFlight: number;
  #untilMs = 0;
  #outstanding = 0;
  #answered = 0;
  #turn: Turn | undefined;

  constructor(sockets: readonly Socket[], request: Buffer, inFlight: number) {
    this.#sockets = sockets;
    this.#requests = Buffer.concat(Array.from({ length: inFlight }, () => request));
    this.#requestBytes = request.length;
    this.#inFlight = inFlight;
    for (const socket of sockets) {
      const frames = new FrameCounter();
      socket.on('data', (chunk) => this.#take(socket, frames.push(chunk)));
    }
  }

  async run(durationMs: number): Promise<number> {
    const startedMs = performance.now();
    this.#untilMs = startedMs + durationMs;
    this.#answered = 0;
    this.#turn = new Turn(durationMs, () => `${this.#outstanding} requests are not answered`);
    for (const socket of this.#sockets) this.#send(socket, this.#inFlight);
    await this.#turn.over;
    return (this.#answered * 1_000) / (performance.now() - startedMs);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #send(socket: Socket, count: number): void {
    this.#outstanding += count;
    socket.write(this.#requests.subarray(0, count * this.#requestBytes));
  }

  #take(socket: Socket, count: number): void {
    if (count === 0) return;
    this.#outstanding -= count;
    this.#answered += count;
    if (performance.now() < this.#untilMs) this.#send(socket, count);
    else if (this.#outstanding === 0) this.#turn?.end();
  }
}

const BLOCK_PACKETS = 50;
const WINDOW_BLOCKS = 20;
const WINDOW = BLOCK_PACKETS * WINDOW_BLOCKS;

export interface Publishing {
  readonly publisher: Socket;
  readonly subscriber: Socket;
  readonly topic: string;
  readonly qos: 0 | 1;
}

/** One publisher, one subscriber, a window of a thousand; unit: a message that has arrived. */
export class DeliveryLoop implements Client {
  readonly #sides: Publishing;
  readonly #blocks: readonly Buffer[];
  readonly #packetBytes: number;
  /** Of the packet id in a packet of QoS 1. */
  readonly #idAt: number;
  #untilMs = 0;
  #sent = 0;
  #acknowledgedBytes = 0;
  #delivered = 0;
  #rest: Buffer = Buffer.alloc(0);
  #turn: Turn | undefined;

  constructor(sides: Publishing) {
    this.#sides = sides;
    this.#blocks = blocksOf(sides);
    this.#packetBytes = publishBytes(sides);
    this.#idAt = 2 + 2 + Buffer.byteLength(sides.topic);
    sides.publisher.on('data', (chunk) => {
      this.#acknowledgedBytes += chunk.length;
      this.#sendMore();
    });
    sides.subscriber.on('data', (chunk) => this.#take(chunk));
  }

  async run(durationMs: number): Promise<number> {
    const startedMs = performance.now();
    this.#untilMs = startedMs + durationMs;
    const before = this.#delivered;
    this.#turn = new Turn(durationMs, () => `${this.#sent - this.#confirmed} messages did not arrive`);
    this.#sendMore();
    await this.#turn.over;
    return ((this.#delivered - before) * 1_000) / (performance.now() - startedMs);
  }

  close(): void {
    this.#sides.publisher.destroy();
    this.#sides.subscriber.destroy();
  }

  get #confirmed(): number {
    if (this.#sides.qos === 0) return this.#delivered;
    return Math.min(this.#delivered, this.#acknowledgedBytes >> 2);
  }

  #sendMore(): void {
    if (performance.now() >= this.#untilMs) {
      if (this.#confirmed === this.#sent) this.#turn?.end();
      return;
    }
    while (this.#sent + BLOCK_PACKETS - this.#confirmed <= WINDOW) {
      this.#sides.publisher.write(this.#blocks[(this.#sent / BLOCK_PACKETS) % WINDOW_BLOCKS]!); // that many
      this.#sent += BLOCK_PACKETS;
    }
  }

  #take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const count = Math.floor(bytes.length / this.#packetBytes);
    this.#rest = bytes.subarray(count * this.#packetBytes);
    this.#delivered += count;
    if (this.#sides.qos === 1 && count > 0) this.#acknowledge(bytes, count);
    this.#sendMore();
  }

  #acknowledge(bytes: Buffer, count: number): void {
    const packets = Buffer.allocUnsafe(4 * count);
    for (let packet = 0; packet < count; packet++) {
      const idAt = packet * this.#packetBytes + this.#idAt;
      packets[4 * packet] = 0x40;
      packets[4 * packet + 1] = 2;
      packets[4 * packet + 2] = bytes[idAt]!; // a packet is as long as it says
      packets[4 * packet + 3] = bytes[idAt + 1]!;
    }
    this.#sides.subscriber.write(packets);
  }
}

const PAYLOAD = Buffer.alloc(64, 'x');

/** One block after the other has other packet ids, as many as the window is wide. */
function blocksOf(sides: Pick<Publishing, 'topic' | 'qos'>): Buffer[] {
  return Array.from({ length: WINDOW_BLOCKS }, (_, block) =>
    Buffer.concat(
      Array.from({ length: BLOCK_PACKETS }, (_each, packet) =>
        publishOf(sides, block * BLOCK_PACKETS + packet + 1),
      ),
    ),
  );
}

function publishOf({ topic, qos }: Pick<Publishing, 'topic' | 'qos'>, messageId: number): Buffer {
  const packet = { cmd: 'publish', topic, qos, payload: PAYLOAD, retain: false, dup: false } as const;
  return mqttPacket.generate(qos === 0 ? packet : { ...packet, messageId });
}

export const publishBytes = (sides: Pick<Publishing, 'topic' | 'qos'>): number => publishOf(sides, 1).length;
