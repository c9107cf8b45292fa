// One connection of a scenario: sends packets or bytes, answers what comes as a client does, and writes down what
// came, as it is compared.
import { connect, type Socket } from 'node:net';
import type { IPublishPacket, Packet } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import type { Version } from './scenario.ts';

/** What a connection was given. Packet identifiers of the server's choice are numbered as each topic has them. */
export interface Transcript {
  /** In order by kind of packet, and the end of the connection. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  /** In order by topic. */
  readonly deliveries: Readonly<Record<string, readonly string[]>>;
}

export class PlayedClient {
  /** How many packets came, the end being one. */
  eventCount = 0;
  lastEventMs = performance.now();
  /** How many of what it sent has not been answered, which a server does in time of its own. */
  unansweredCount = 0;
  #ended = false;
  readonly #socket: Socket;
  readonly #version: Version;
  readonly #silent: boolean;
  readonly #prefix: string;
  readonly #answers: Record<string, string[]> = {};
  readonly #deliveries: Record<string, string[]> = {};
  readonly #identifiers = new Map<string, number[]>();
  readonly #aliases = new Map<number, string>();

  private constructor(socket: Socket, version: Version, silent: boolean, prefix: string) {
    this.#socket = socket;
    this.#version = version;
    this.#silent = silent;
    this.#prefix = prefix;
    socket.setNoDelay(true);
    const parser = mqttPacket.parser({ protocolVersion: version });
    parser.on('packet', (packet) => this.#take(packet));
    parser.on('error', () => this.#note('not understood', ''));
    socket.on('data', (bytes) => parser.parse(bytes));
    socket.on('end', () => this.#end()).on('close', () => this.#end());
    // A reset is an end like others.
    socket.on('error', () => undefined);
  }

  static async open(port: number, version: Version, silent: boolean, prefix: string): Promise<PlayedClient> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new PlayedClient(socket, version, silent, prefix);
  }

  send(packet: Packet): void {
    if (isAnswered(packet)) this.unansweredCount += 1;
    this.sendBytes(mqttPacket.generate(packet, { protocolVersion: this.#version }));
  }

  sendBytes(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  destroy(): void {
    this.#ended = true;
    this.unansweredCount = 0;
    this.#socket.destroy();
  }

  transcript(): Transcript {
    return { answers: this.#answers, deliveries: this.#deliveries };
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.unansweredCount = 0;
    this.#note('end', 'end');
    this.#socket.destroy();
  }

  #take(packet: Packet): void {
    if (packet.cmd === 'publish') this.#takePublish(packet);
    else this.#note(packet.cmd, this.#told(packet));
    if (ANSWERS.has(packet.cmd) || (packet.cmd === 'pubrec' && this.#silent)) this.unansweredCount -= 1;
    if (this.#silent) return;
    const { messageId = 0 } = packet;
    if (packet.cmd === 'publish' && packet.qos === 1) this.send({ cmd: 'puback', messageId });
    if (packet.cmd === 'publish' && packet.qos === 2) this.send({ cmd: 'pubrec', messageId });
    if (packet.cmd === 'pubrec' && (packet.reasonCode ?? 0) < 0x80) this.send({ cmd: 'pubrel', messageId });
    if (packet.cmd === 'pubrel') this.send({ cmd: 'pubcomp', messageId });
  }

  #takePublish(packet: IPublishPacket): void {
    const { payload, qos, dup, retain, properties = {}, messageId } = packet;
    const { topicAlias, ...given } = properties;
    const rest = Object.fromEntries(Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1)));
    if (topicAlias !== undefined && packet.topic !== '') this.#aliases.set(topicAlias, packet.topic);
    const topic = this.#named(packet.topic || (this.#aliases.get(topicAlias ?? 0) ?? ''));
    const identifier = qos === 0 ? undefined : this.#numbered(topic, messageId);
    const body = payload.length > 100 ? `${payload.length} bytes` : payload.toString();
    const told = {
      payload: body,
      qos,
      dup,
      retain,
      identifier,
      ...(hasAny(rest) ? { properties: rest } : {}),
    };
    this.#deliveries[topic] ??= [];
    this.#deliveries[topic].push(this.#named(JSON.stringify(told)));
    this.#count();
  }

  /** Without the words of a server, and without what it says of itself in CONNACK. */
  #told(packet: Packet): string {
    if (packet.cmd === 'connack') {
      const { reasonCode, returnCode, sessionPresent } = packet;
      const assigned = packet.properties?.assignedClientIdentifier !== undefined;
      return JSON.stringify({
        code: this.#version === 5 ? reasonCode : returnCode,
        sessionPresent,
        assigned,
      });
    }
    const { messageId } = packet;
    const identifier = packet.cmd === 'pubrel' ? 'its own' : messageId;
    const granted = 'granted' in packet ? packet.granted : undefined;
    const reasonCode = 'reasonCode' in packet ? (packet.reasonCode ?? 0) : undefined;
    return JSON.stringify({ identifier, granted, reasonCode });
  }

  #numbered(topic: string, identifier = 0): number {
    const known = this.#identifiers.get(topic) ?? [];
    this.#identifiers.set(topic, known);
    if (!known.includes(identifier)) known.push(identifier);
    return known.indexOf(identifier) + 1;
  }

  #named(text: string): string {
    return text.replaceAll(this.#prefix, '~');
  }

  #note(kind: string, told: string): void {
    this.#answers[kind] ??= [];
    this.#answers[kind].push(told);
    this.#count();
  }

  #count(): void {
    this.eventCount += 1;
    this.lastEventMs = performance.now();
  }
}

const ANSWERS: ReadonlySet<string> = new Set([
  'connack',
  'suback',
  'unsuback',
  'pingresp',
  'puback',
  'pubcomp',
]);

function isAnswered(packet: Packet): boolean {
  if (packet.cmd === 'publish') return packet.qos > 0;
  return ['connect', 'subscribe', 'unsubscribe', 'pingreq'].includes(packet.cmd);
}

const hasAny = (properties: object): boolean => Object.keys(properties).length > 0;
