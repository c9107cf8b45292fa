// The delivering half of the front end without sockets: a hub in memory, sessions whose clients acknowledge and read when
// the test says so, and what each of them has been sent.
import type { IPublishPacket, Packet } from 'mqtt-packet';
import mqttPacket from 'mqtt-packet';
import { CatchUp } from '../../../protocols/mqtt/catch-up.ts';
import { newCounters } from '../../../protocols/mqtt/counters.ts';
import { Matches } from '../../../protocols/mqtt/deliveries.ts';
import { Dispatchers } from '../../../protocols/mqtt/dispatchers.ts';
import { NO_MAPPINGS } from '../../../protocols/mqtt/mapping/mappings.ts';
import type { Sink } from '../../../protocols/mqtt/output.ts';
import { FlushQueue, Output, OutputBuffers } from '../../../protocols/mqtt/output.ts';
import type { QoS } from '../../../protocols/mqtt/packets/publish.ts';
import { RecordFill } from '../../../protocols/mqtt/record-fill.ts';
import { encodeAttributes } from '../../../protocols/mqtt/record-mapping.ts';
import { RecordReader } from '../../../protocols/mqtt/record-reader.ts';
import { RecordTopics } from '../../../protocols/mqtt/record-topic.ts';
import type { SessionSubscription } from '../../../protocols/mqtt/session.ts';
import { Session } from '../../../protocols/mqtt/session.ts';
import type { Subscription } from '../../../protocols/mqtt/subscription-tree.ts';
import { SubscriptionTree } from '../../../protocols/mqtt/subscription-tree.ts';
import type { Clock } from '../../../protocols/port.ts';
import type { FakePartition } from '../../helpers/fake-mqtt-hub.ts';
import { FakeHub } from '../../helpers/fake-mqtt-hub.ts';

export const LEVELS_MAX = 16;
export const OUTPUT_BYTES_MAX = 128 * 1024;

/** Lets everything that is under way come to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export interface ClientOptions {
  readonly version?: 4 | 5;
  readonly inflightMax?: number;
  readonly packetBytesMax?: number;
  readonly topicAliasMaximum?: number;
}

/** The other end of a session: reads at once, unless it is stalled. */
export class FakeClient implements Sink {
  readonly packets: Packet[] = [];
  readonly session: Session;
  /** Whether QoS 1 and 2 are acknowledged as they come. */
  acknowledges = true;
  /** Largest amount that ever waited for this client. */
  waitingMax = 0;
  #stalled = false;
  #waiting: { readonly chunk: Buffer; written(): void }[] = [];
  #waitingBytes = 0;
  readonly #parser;
  readonly #unacknowledged: IPublishPacket[] = [];

  readonly #clock: Clock;

  constructor(make: (sink: FakeClient) => Session, version: 4 | 5, clock: Clock) {
    this.#clock = clock;
    this.#parser = mqttPacket.parser({ protocolVersion: version });
    this.#parser.on('packet', (packet) => this.#take(packet));
    this.session = make(this);
  }

  get publishes(): IPublishPacket[] {
    return this.packets.filter((packet): packet is IPublishPacket => packet.cmd === 'publish');
  }

  get payloads(): string[] {
    return this.publishes.map(({ payload }) => payload.toString());
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  /** Stops or starts reading. */
  set stalled(stalled: boolean) {
    this.#stalled = stalled;
    if (stalled) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const { chunk, written } of waiting) {
      // What is parsed refers to its bytes; the buffer is used again.
      this.#parser.parse(Buffer.from(chunk));
      written();
    }
    this.session.drained();
  }

  /** Acknowledges what waits, and from now on all that comes. */
  resumeAcknowledging(): void {
    this.acknowledges = true;
    this.acknowledge();
  }

  /** Acknowledges what waits, at most so many, in one piece. */
  acknowledge(count = Number.POSITIVE_INFINITY): void {
    for (let done = 0; done < count; done++) {
      const packet = this.#unacknowledged.shift();
      if (packet === undefined) break;
      const packetId = packet.messageId!;
      if (packet.qos === 1) this.session.puback(packetId);
      else this.session.pubrec(packetId, 0);
    }
    this.session.pieceEnded(this.#clock);
  }

  get unacknowledgedCount(): number {
    return this.#unacknowledged.length;
  }

  get writableLength(): number {
    return this.#waitingBytes;
  }

  write(chunk: Buffer, written: () => void): boolean {
    if (this.#stalled) {
      this.#waiting.push({ chunk, written });
      this.#waitingBytes += chunk.length;
      this.waitingMax = Math.max(this.waitingMax, this.#waitingBytes);
      return false;
    }
    // As if from a later turn: acknowledgements never come while a packet is being written.
    const copy = Buffer.from(chunk);
    setImmediate(() => {
      this.#parser.parse(copy);
      written();
    });
    return true;
  }

  cork(): void {}
  uncork(): void {}

  #take(packet: Packet): void {
    this.packets.push(packet);
    if (packet.cmd === 'pubrel') this.session.pubcomp(packet.messageId!);
    if (packet.cmd !== 'publish' || packet.qos === 0) return;
    this.#unacknowledged.push(packet);
    if (this.acknowledges) this.acknowledge();
  }
}

export class Delivering {
  readonly hub = new FakeHub();
  readonly counters = newCounters();
  readonly dispatchers: Dispatchers;
  readonly #queue = new FlushQueue((flush) => setImmediate(flush));
  readonly #buffers = new OutputBuffers();
  readonly newReader: () => RecordReader;
  readonly #catchUpReader: RecordReader;
  readonly #record = new RecordFill();

  constructor(followBytesMax = 64 * 1024) {
    const tree = new SubscriptionTree<SessionSubscription>();
    const topics = new RecordTopics(new Matches<Session>(tree), LEVELS_MAX);
    const { hub, counters } = this;
    this.newReader = () => new RecordReader({ cursor: hub.cursor(), clock: hub.clock, topics, counters });
    this.dispatchers = new Dispatchers({
      hub,
      tree,
      reader: this.newReader(),
      counters,
      mappings: NO_MAPPINGS,
      followBytesMax,
    });
    this.#catchUpReader = this.newReader();
    this.followBytesMax = followBytesMax;
  }

  readonly followBytesMax: number;

  /** A client that has a subscription and acknowledges nothing until it is told to. */
  holdingClient(
    clientId: string,
    filter: string,
    { qos, ...options }: ClientOptions & { readonly qos: QoS },
  ): FakeClient {
    const client = this.client(clientId, options);
    client.acknowledges = false;
    this.subscribe(client, filter, { qos });
    return client;
  }

  client(clientId: string, options: ClientOptions = {}): FakeClient {
    const { hub, counters, followBytesMax } = this;
    const version = options.version ?? 5;
    const client = new FakeClient(
      (sink) =>
        new Session({
          clientId,
          version,
          principal: { name: clientId, listener: 'test', remoteAddress: '' },
          access: hub.access,
          log: hub.log,
          output: new Output(sink, this.#buffers, this.#queue),
          counters,
          inflightMax: options.inflightMax ?? 1000,
          packetBytesMax: options.packetBytesMax ?? Number.MAX_SAFE_INTEGER,
          outputBytesMax: OUTPUT_BYTES_MAX,
          topicAliasMaximum: options.topicAliasMaximum ?? 0,
        }),
      version,
      hub.clock,
    );
    const { session } = client;
    session.lag = new CatchUp(session, {
      hub,
      reader: this.#catchUpReader,
      counters,
      mappings: NO_MAPPINGS,
      followBytesMax,
    });
    return client;
  }

  subscribe(client: FakeClient, filter: string, options: Partial<Subscription<Session>> = {}): void {
    this.dispatchers.subscribe([
      {
        subscriber: client.session,
        filter,
        qos: 2,
        noLocal: false,
        retainAsPublished: false,
        identifier: 0,
        ...options,
      },
    ]);
  }

  unsubscribe(client: FakeClient, filter: string): boolean {
    return this.dispatchers.unsubscribe(client.session, [filter])[0]!;
  }

  partition(kafkaTopic: string, index = 0): FakePartition {
    return this.hub.topics.make(kafkaTopic).partitions[index] as FakePartition; // the fake's own
  }

  /** As MQTT does. */
  publish(
    kafkaTopic: string,
    mqttTopic: string,
    payload: string | Buffer,
    options: { qos?: QoS; clientId?: string; retain?: boolean; partition?: number } = {},
  ): void {
    const record = this.#record;
    const bytes = Buffer.from(payload);
    record.key = Buffer.from(mqttTopic);
    record.timestampMs = this.hub.clock.now();
    record.payload = bytes;
    record.payloadEnd = bytes.length;
    record.attributes = encodeAttributes({
      topic: record.key,
      clientId: Buffer.from(options.clientId ?? 'publisher'),
      qos: options.qos ?? 1,
      retain: options.retain ?? false,
      packetId: 0,
    });
    void this.partition(kafkaTopic, options.partition).publish(record.fill);
  }
}
