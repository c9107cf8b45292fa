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

export interface PlayedClientOptions {
  readonly port: number;
  readonly version: Version;
  /** Answers no PUBLISH and no PUBREC. */
  readonly silent: boolean;
  readonly prefix: string;
  /** What comes to it is counted apart. */
  readonly witnessTopic: string;
  onEvent(): void;
}

export class PlayedClient {
  /** How many packets came, the end being one. */
  eventCount = 0;
  /** How many messages came to the witness's topic. */
  witnessCount = 0;
  /** PINGREQ of {@link ping} that were not answered yet. */
  unansweredPings = 0;
  /** How many of what it sent has not been answered, which a server does in time of its own. */
  #unansweredCount = 0;
  #accepted = false;
  /** Whether an answer to the first packet or an end must come, whichever it is. */
  #hasBegun = false;
  #hasLeft = false;
  #ended = false;
  /** Of each PINGREQ that is under way, whether the scenario has it. */
  readonly #pings: boolean[] = [];
  readonly #socket: Socket;
  readonly #options: PlayedClientOptions;
  readonly #answers: Record<string, string[]> = {};
  readonly #deliveries: Record<string, string[]> = {};
  readonly #identifiers = new Map<string, number[]>();
  readonly #aliases = new Map<number, string>();

  private constructor(socket: Socket, options: PlayedClientOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    const parser = mqttPacket.parser({ protocolVersion: options.version });
    parser.on('packet', (packet) => this.#take(packet));
    parser.on('error', () => this.#note('not understood', ''));
    socket.on('data', (bytes) => parser.parse(bytes));
    socket.on('end', () => this.#end()).on('close', () => this.#end());
    // A reset is an end like others.
    socket.on('error', () => undefined);
  }

  static async open(options: PlayedClientOptions): Promise<PlayedClient> {
    const socket = connect(options.port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new PlayedClient(socket, options);
  }

  /** Whether the server owes nothing: an answer, or the end after a first packet that is none or after DISCONNECT. */
  get isSettled(): boolean {
    if (this.#ended) return true;
    if (this.#hasLeft || (this.#hasBegun && !this.#accepted)) return false;
    return this.#unansweredCount === 0;
  }

  /** Whether PINGREQ is answered, or the connection ends instead. */
  get isServed(): boolean {
    return this.#accepted && !this.#hasLeft && !this.#ended;
  }

  send(packet: Packet): void {
    if (isAnswered(packet)) this.#unansweredCount += 1;
    if (packet.cmd === 'pingreq') this.#pings.push(true);
    this.sendBytes(mqttPacket.generate(packet, { protocolVersion: this.#options.version }));
    if (packet.cmd === 'disconnect') this.#hasLeft = true;
  }

  sendBytes(bytes: Buffer): void {
    this.#hasBegun = true;
    this.#socket.write(bytes);
  }

  /** Asks whether all has come; neither the question nor its answer is of the scenario. */
  ping(): void {
    this.#pings.push(false);
    this.unansweredPings += 1;
    this.sendBytes(mqttPacket.generate({ cmd: 'pingreq' }));
  }

  destroy(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  /** To a topic as the scenario calls it. */
  deliveredCount(topic: string): number {
    return this.#deliveries[topic]?.length ?? 0;
  }

  transcript(): Transcript {
    return { answers: this.#answers, deliveries: this.#deliveries };
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#note('end', 'end');
    this.#socket.destroy();
  }

  #take(packet: Packet): void {
    const { silent } = this.#options;
    if (packet.cmd === 'pingresp' && this.#pings.shift() === false) {
      this.unansweredPings -= 1;
      this.#options.onEvent();
      return;
    }
    if (packet.cmd === 'connack') this.#accepted = (packet.reasonCode ?? packet.returnCode ?? 0) === 0;
    const ends = packet.cmd === 'pubrec' && (silent || (packet.reasonCode ?? 0) >= 0x80);
    // Twice the same packet may have one answer, and bytes are answered that were not counted.
    if (ANSWERS.has(packet.cmd) || ends) this.#unansweredCount = Math.max(0, this.#unansweredCount - 1);
    if (!silent) this.#answer(packet);
    if (packet.cmd === 'publish') this.#takePublish(packet);
    else this.#note(packet.cmd, this.#told(packet));
  }

  #answer(packet: Packet): void {
    const { messageId = 0 } = packet;
    if (packet.cmd === 'publish' && packet.qos === 1) this.send({ cmd: 'puback', messageId });
    if (packet.cmd === 'publish' && packet.qos === 2) this.send({ cmd: 'pubrec', messageId });
    if (packet.cmd === 'pubrec' && (packet.reasonCode ?? 0) < 0x80) this.send({ cmd: 'pubrel', messageId });
    if (packet.cmd === 'pubrel') this.send({ cmd: 'pubcomp', messageId });
  }

  #takePublish(packet: IPublishPacket): void {
    const { payload, qos, dup, retain, properties = {}, messageId } = packet;
    const { topicAlias, ...given } = properties;
    // What is left of it, which depends on how long all took.
    if (given.messageExpiryInterval !== undefined)
      given.messageExpiryInterval = Math.ceil(given.messageExpiryInterval / 10) * 10;
    const rest = Object.fromEntries(Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1)));
    if (topicAlias !== undefined && packet.topic !== '') this.#aliases.set(topicAlias, packet.topic);
    const fullTopic = packet.topic || (this.#aliases.get(topicAlias ?? 0) ?? '');
    if (fullTopic === this.#options.witnessTopic) {
      this.witnessCount += 1;
      this.#options.onEvent();
      return;
    }
    const topic = this.#named(fullTopic);
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
        code: this.#options.version === 5 ? reasonCode : returnCode,
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
    return text.replaceAll(this.#options.prefix, '~');
  }

  #note(kind: string, told: string): void {
    this.#answers[kind] ??= [];
    this.#answers[kind].push(told);
    this.#count();
  }

  #count(): void {
    this.eventCount += 1;
    this.#options.onEvent();
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
