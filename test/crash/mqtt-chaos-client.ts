// An MQTT 5 client that keeps its half of the promises: what it has sent and not seen acknowledged it sends again, in order
// and under the same packet identifiers; of QoS 2 it takes each packet identifier once until it is released. What it knows
// outlives its connections, and it says what it has received, in order.
import { connect, type Socket } from 'node:net';
import type { IPublishPacket, Packet } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';

const WINDOW = 8;

export interface ChaosClientOptions {
  readonly clientId: string;
  readonly filter: string;
  /** Where to connect, when there is something to connect to. */
  port(): Promise<number>;
  onReceived(topic: string, payload: string): void;
  /** Everything that it has published is acknowledged. */
  onIdle(): void;
  /** It was told something that is not so. */
  onFault(message: string): void;
}

type Waiting = Pick<IPublishPacket, 'topic' | 'payload' | 'retain'> & { readonly qos: 1 | 2 };
type Outgoing = { readonly packet: IPublishPacket; released: boolean };

export class ChaosClient {
  readonly clientId: string;
  readonly #options: ChaosClientOptions;
  readonly #outgoing = new Map<number, Outgoing>();
  /** QoS 2 messages that it has and that the hub has not released. */
  readonly #received = new Set<number>();
  readonly #waiting: Waiting[] = [];
  #packetId = 0;
  #socket: Socket | undefined;
  #isConnected = false;
  #isSubscribed = false;
  #closed = false;

  constructor(options: ChaosClientOptions) {
    this.clientId = options.clientId;
    this.#options = options;
    this.connect();
  }

  get isIdle(): boolean {
    return this.#outgoing.size === 0 && this.#waiting.length === 0 && this.#isSubscribed;
  }

  publish(topic: string, payload: string, qos: 1 | 2, retain: boolean): void {
    this.#waiting.push({ topic, payload, qos, retain });
    if (this.#isConnected) this.#sendMore();
  }

  /** A new connection; one that there is stays as it is, until the hub ends it. */
  connect(): void {
    void this.#options.port().then((port) => {
      if (this.#closed) return;
      this.#isConnected = false;
      const socket = connect(port, '127.0.0.1');
      this.#socket = socket;
      const parser = mqttPacket.parser({ protocolVersion: 5 });
      parser.on('packet', (packet) => {
        if (socket === this.#socket) this.#take(packet);
      });
      socket.on('data', (bytes) => parser.parse(bytes));
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (socket === this.#socket) this.connect();
      });
      socket.on('connect', () =>
        this.#send({
          cmd: 'connect',
          protocolId: 'MQTT',
          protocolVersion: 5,
          clientId: this.clientId,
          clean: false,
          keepalive: 0,
          properties: { sessionExpiryInterval: 3600, receiveMaximum: WINDOW },
        }),
      );
    });
  }

  disconnect(): void {
    this.#socket?.destroy();
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
  }

  #take(packet: Packet): void {
    switch (packet.cmd) {
      case 'connack':
        this.#welcomed(packet.sessionPresent);
        break;
      case 'suback':
        this.#isSubscribed = true;
        this.#progressed();
        break;
      case 'publish':
        this.#takePublish(packet);
        break;
      case 'pubrel':
        this.#received.delete(packet.messageId!);
        this.#send({ cmd: 'pubcomp', messageId: packet.messageId! });
        break;
      case 'pubrec': {
        const outgoing = this.#outgoing.get(packet.messageId!);
        if (outgoing !== undefined) outgoing.released = true;
        this.#send({ cmd: 'pubrel', messageId: packet.messageId! });
        break;
      }
      case 'puback':
      case 'pubcomp':
        this.#outgoing.delete(packet.messageId!);
        this.#progressed();
        break;
      default:
    }
  }

  #welcomed(sessionPresent: boolean): void {
    if (this.#isSubscribed && !sessionPresent) this.#options.onFault(`${this.clientId} lost its session`);
    this.#isConnected = true;
    if (!this.#isSubscribed) {
      const { filter } = this.#options;
      this.#send({
        cmd: 'subscribe',
        messageId: 65_535,
        subscriptions: [{ topic: filter, qos: 2, ...(filter.startsWith('$share/') ? {} : { rh: 2 }) }],
      });
    }
    for (const [messageId, { packet, released }] of this.#outgoing) {
      this.#send(released ? { cmd: 'pubrel', messageId } : { ...packet, dup: true });
    }
    this.#sendMore();
  }

  #takePublish({ topic, payload, qos, messageId }: IPublishPacket): void {
    if (qos === 1) this.#send({ cmd: 'puback', messageId: messageId! });
    if (qos === 2) {
      this.#send({ cmd: 'pubrec', messageId: messageId! });
      if (this.#received.has(messageId!)) return;
      this.#received.add(messageId!);
    }
    this.#options.onReceived(topic, payload.toString());
  }

  #progressed(): void {
    this.#sendMore();
    if (this.isIdle) this.#options.onIdle();
  }

  #sendMore(): void {
    while (this.#outgoing.size < WINDOW) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      do this.#packetId = (this.#packetId % 60_000) + 1;
      while (this.#outgoing.has(this.#packetId));
      const packet = {
        cmd: 'publish',
        ...next,
        messageId: this.#packetId,
        dup: false,
      } as const;
      this.#outgoing.set(this.#packetId, { packet, released: false });
      this.#send(packet);
    }
  }

  #send(packet: Packet): void {
    if (this.#socket?.writable) this.#socket.write(mqttPacket.generate(packet, { protocolVersion: 5 }));
  }
}
