// What the server keeps for one client: its subscriptions, the messages on their way to it, and the QoS 2 exchanges it
// has begun. In this build a session ends with its connection (CONNACK says so); the two are apart already, because
// they will not stay so.
import type { Access, Log, Principal } from '../port.ts';
import { COPY_BYTES_MAX, copyBytes } from './copy-bytes.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery } from './deliveries.ts';
import { protocolError } from './errors.ts';
import type { LogSource } from './log-source.ts';
import type { MessageView } from './message-view.ts';
import type { Output } from './output.ts';
import { ACKNOWLEDGEMENT, acknowledgementLength, writeAcknowledgement } from './packets/acknowledgement.ts';
import type { QoS, Version } from './packets/publish.ts';
import { REMAINING_LENGTH_MAX, variableByteIntegerLength } from './packets/publish.ts';
import { publishRemainingLength, writePublishHead } from './packets/publish-writer.ts';
import { isFailure, REASON } from './reason-codes.ts';
import type { Subscription } from './subscription-tree.ts';

/** What the server waits for, per packet identifier on its way to the client. */
const AWAIT = { PUBACK: 1, PUBREC: 2, PUBCOMP: 3 } as const;
type Awaiting = (typeof AWAIT)[keyof typeof AWAIT];

/** Where a session is behind the live stream of a partition; see catch-up.ts. */
export interface Lag {
  covers(source: LogSource): boolean;
  begin(source: LogSource, offset: number): void;
  /** The session can take messages again. */
  resume(): void;
  close(): void;
}

export interface SessionOptions {
  readonly clientId: string;
  readonly version: Version;
  readonly principal: Principal;
  readonly access: Access;
  readonly log: Log;
  readonly output: Output;
  readonly counters: MqttCounters;
  /** QoS 1 and 2 messages unacknowledged at most: the client's Receive Maximum and the server's own bound. */
  readonly inflightMax: number;
  /** The client's Maximum Packet Size. */
  readonly packetBytesMax: number;
  readonly outputBytesMax: number;
}

/** A subscription of a session; `starts` says from which offset on, where that is not simply "from now on". */
export interface SessionSubscription extends Subscription<Session> {
  readonly starts: Map<LogSource, number>;
}

export class Session {
  readonly clientId: string;
  readonly clientIdBytes: Buffer;
  readonly version: Version;
  readonly principal: Principal;
  readonly packetBytesMax: number;
  readonly subscriptions = new Map<string, SessionSubscription>();
  /** QoS 2 publishes of the client that it has not released, by packet identifier. */
  readonly received = new Map<number, 'storing' | 'stored'>();
  lag: Lag | undefined;

  readonly #access: Access;
  readonly #log: Log;
  readonly #output: Output;
  readonly #counters: MqttCounters;
  readonly #inflightMax: number;
  readonly #outputBytesMax: number;
  readonly #inflight = new Map<number, Awaiting>();
  #lastPacketId = 0;
  /** Messages are being dropped because the client does not read; said once until it has. */
  #isDropping = false;
  #closed = false;

  constructor(options: SessionOptions) {
    this.clientId = options.clientId;
    this.clientIdBytes = Buffer.from(options.clientId);
    this.version = options.version;
    this.principal = options.principal;
    this.#access = options.access;
    this.#log = options.log;
    this.#output = options.output;
    this.#counters = options.counters;
    this.#inflightMax = options.inflightMax;
    this.packetBytesMax = options.packetBytesMax;
    this.#outputBytesMax = options.outputBytesMax;
  }

  get inflightCount(): number {
    return this.#inflight.size;
  }

  /** Whether so much is free that going on is worth a read of the log. */
  get hasRoom(): boolean {
    return (
      this.#inflight.size <= this.#inflightMax >> 1 && this.#output.pendingBytes <= this.#outputBytesMax >> 1
    );
  }

  mayRead(kafkaTopic: string): boolean {
    return this.#access.allows(this.principal, 'read', 'topic', kafkaTopic);
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true;
    this.lag?.close();
  }

  /**
   * Sends a message, or drops it where the protocol lets it.
   * @returns false when it cannot be taken now and must not be lost: nothing was sent.
   */
  deliver(message: MessageView, delivery: Delivery<Session>): boolean {
    if (this.#closed) return true;
    const qos = Math.min(message.qos, delivery.qos) as QoS; // one of the two
    if (qos > 0 && this.#inflight.size >= this.#inflightMax) return false;
    if (this.#output.pendingBytes > this.#outputBytesMax) {
      if (qos > 0) return false;
      this.#dropSlow();
      return true;
    }
    const retain = message.retain && delivery.retainAsPublished;
    const length = publishRemainingLength(message, this.version, qos, delivery.identifiers);
    if (length > REMAINING_LENGTH_MAX || packetLength(length) > this.packetBytesMax) {
      // As if sending had been completed [MQTT-3.1.2-25].
      this.#counters.droppedTooLarge++;
      this.#tellDropped(`a packet of more than the client's ${this.packetBytesMax} bytes`);
      return true;
    }
    this.#counters.messagesDelivered++;
    if (qos === 0 && message.isShared && !retain && delivery.identifiers.length === 0) {
      this.#output.writeShared(message.sharedPacket(this.version));
      return true;
    }
    const packetId = qos === 0 ? 0 : this.#take(qos === 1 ? AWAIT.PUBACK : AWAIT.PUBREC);
    this.#write(message, length, qos, retain, packetId, delivery.identifiers);
    return true;
  }

  #write(
    message: MessageView,
    length: number,
    qos: QoS,
    retain: boolean,
    packetId: number,
    identifiers: readonly number[],
  ): void {
    const { payload, payloadStart, payloadEnd } = message;
    const payloadLength = payloadEnd - payloadStart;
    const isLarge = payloadLength > COPY_BYTES_MAX;
    const output = this.#output;
    const start = output.reserve(packetLength(length) - (isLarge ? payloadLength : 0));
    const bytes = output.bytes;
    const at = writePublishHead(
      bytes,
      start,
      length,
      message,
      this.version,
      qos,
      retain,
      packetId,
      identifiers,
    );
    if (isLarge) {
      output.commit(at - start);
      output.writeReference(payload.subarray(payloadStart, payloadEnd));
      return;
    }
    copyBytes(payload, payloadStart, payloadEnd, bytes, at);
    output.commit(at + payloadLength - start);
  }

  #dropSlow(): void {
    this.#counters.droppedSlow++;
    if (this.#isDropping) return;
    this.#isDropping = true;
    this.#tellDropped('the client does not read fast enough');
  }

  #tellDropped(reason: string): void {
    this.#log.warn('mqtt-message-dropped', { clientId: this.clientId, reason });
  }

  /** The next packet identifier that is not on its way [MQTT-2.2.1-4]; there is one, for fewer than 65,535 are. */
  #take(awaited: Awaiting): number {
    let packetId = this.#lastPacketId;
    do packetId = packetId === 65_535 ? 1 : packetId + 1;
    while (this.#inflight.has(packetId));
    this.#lastPacketId = packetId;
    this.#inflight.set(packetId, awaited);
    return packetId;
  }

  /** PUBACK: the end of a QoS 1 exchange. One for nothing is ignored; one of the wrong kind is an error. */
  puback(packetId: number): void {
    const awaited = this.#inflight.get(packetId);
    if (awaited === undefined) return;
    if (awaited !== AWAIT.PUBACK) throw protocolError(`PUBACK for a message at QoS 2, ${packetId}`);
    this.#free(packetId);
  }

  /** PUBREC: the client has the message; an error ends the exchange (section 4.3.3). */
  pubrec(packetId: number, reasonCode: number): void {
    const awaited = this.#inflight.get(packetId);
    if (awaited === AWAIT.PUBACK) throw protocolError(`PUBREC for a message at QoS 1, ${packetId}`);
    if (isFailure(reasonCode)) {
      if (awaited === AWAIT.PUBREC) this.#free(packetId);
      return;
    }
    if (awaited === AWAIT.PUBREC) this.#inflight.set(packetId, AWAIT.PUBCOMP);
    this.acknowledge(
      ACKNOWLEDGEMENT.PUBREL,
      packetId,
      awaited === undefined ? REASON.PACKET_IDENTIFIER_NOT_FOUND : REASON.SUCCESS,
    );
  }

  /** PUBCOMP: the end of a QoS 2 exchange. */
  pubcomp(packetId: number): void {
    const awaited = this.#inflight.get(packetId);
    if (awaited === undefined) return;
    if (awaited !== AWAIT.PUBCOMP) throw protocolError(`PUBCOMP before PUBREC, ${packetId}`);
    this.#free(packetId);
  }

  /** PUBREL: the client will not send this packet identifier's message again. */
  pubrel(packetId: number): void {
    const known = this.received.delete(packetId);
    this.acknowledge(
      ACKNOWLEDGEMENT.PUBCOMP,
      packetId,
      known ? REASON.SUCCESS : REASON.PACKET_IDENTIFIER_NOT_FOUND,
    );
  }

  /** @param firstByte of {@link ACKNOWLEDGEMENT}. */
  acknowledge(firstByte: number, packetId: number, reasonCode: number): void {
    const length = acknowledgementLength(reasonCode, this.version);
    const at = this.#output.reserve(length);
    writeAcknowledgement(this.#output.bytes, at, firstByte, packetId, reasonCode, this.version);
    this.#output.commit(length);
  }

  /** The socket has taken what waited. */
  drained(): void {
    this.#isDropping = false;
    if (this.lag !== undefined && this.hasRoom) this.lag.resume();
  }

  #free(packetId: number): void {
    this.#inflight.delete(packetId);
    if (this.lag !== undefined && this.hasRoom) this.lag.resume();
  }
}

/** A packet of so much remaining length, with its fixed header. */
function packetLength(remainingLength: number): number {
  return 1 + variableByteIntegerLength(remainingLength) + remainingLength;
}
