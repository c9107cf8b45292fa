// A client of raw bytes for MQTT: sends anything, decodes what comes back with mqtt-packet, waits for events.
import { connect, type Socket } from 'node:net';
import type { Packet, Parser } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import { onTestFinished } from 'vitest';

export class RawMqtt {
  readonly socket: Socket;
  readonly received: Packet[] = [];
  /** Set by the other side's FIN, or the end of the connection. */
  ended = false;
  readonly #parser: Parser;
  readonly #waiting = new Set<() => void>();
  #next = 0;

  constructor(socket: Socket, version: 3 | 4 | 5) {
    this.socket = socket;
    this.#parser = mqttPacket.parser({ protocolVersion: version });
    this.#parser.on('packet', (packet) => {
      this.received.push(packet);
      this.#wake();
    });
    this.#parser.on('error', (error: unknown) => socket.destroy(error instanceof Error ? error : undefined));
    socket.on('data', (bytes) => this.#parser.parse(bytes));
    const end = () => {
      this.ended = true;
      this.#wake();
    };
    socket.on('end', end).on('close', end);
    // A reset is an end like others.
    socket.on('error', () => undefined);
  }

  send(...packets: (Packet | Buffer | string)[]): void {
    this.socket.write(Buffer.concat(packets.map((packet) => this.encode(packet))));
  }

  /** A string is hex, spaces ignored. */
  encode(packet: Packet | Buffer | string): Buffer {
    if (typeof packet === 'string') return Buffer.from(packet.replaceAll(' ', ''), 'hex');
    if (Buffer.isBuffer(packet)) return packet;
    return mqttPacket.generate(packet, { protocolVersion: this.version });
  }

  version: 3 | 4 | 5 = 4;

  /** The next packet that comes, or has come; fails when the connection ends first. */
  async next(): Promise<Packet> {
    await this.until(() => this.received.length > this.#next || this.ended);
    const packet = this.received[this.#next++];
    if (packet === undefined) throw new Error('the connection ended');
    return packet;
  }

  /** The next packet must be this one; what is not named of it is free. */
  async expect<Command extends Packet['cmd']>(cmd: Command): Promise<Extract<Packet, { cmd: Command }>> {
    const packet = await this.next();
    if (packet.cmd !== cmd) throw new Error(`expected ${cmd}, got ${JSON.stringify(packet)}`);
    return packet as Extract<Packet, { cmd: Command }>; // the command is the tag
  }

  /** Waits for the other side to end the connection; what had come and was not looked at. */
  async end(): Promise<Packet[]> {
    await this.until(() => this.ended);
    const rest = this.received.slice(this.#next);
    this.#next = this.received.length;
    return rest;
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** A connection with nothing sent; closed when the test is over. */
export async function rawMqtt(port: number, version: 3 | 4 | 5): Promise<RawMqtt> {
  const socket = connect(port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.setNoDelay(true);
  const client = new RawMqtt(socket, version);
  client.version = version;
  onTestFinished(() => void socket.destroy());
  return client;
}
