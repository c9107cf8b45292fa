// What the server keeps for one client while it is connected: its subscriptions, the messages on their way to it, and the
// QoS 2 exchanges it has begun. Of a session that outlives its connection, `durable` says what has to be on disk and when;
// another connection of its client begins with another object, made of what is there. See sessions/README.md.
import type { Access, Clock, Log, Principal, Timer } from '../port.ts';
import { COPY_BYTES_MAX } from './copy-bytes.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery } from './deliveries.ts';
import { protocolError } from './errors.ts';
import { AWAIT, Exchanges } from './exchanges.ts';
import { type Lag, type LogSource, type Origin, placeOf } from './log-source.ts';
import { writeMessage } from './message-output.ts';
import type { MessageView } from './message-view.ts';
import type { Output } from './output.ts';
import { OwnPart } from './own-part.ts';
import { ACKNOWLEDGEMENT, acknowledgementLength, writeAcknowledgement } from './packets/acknowledgement.ts';
import { encodeRefusedPublish } from './packets/cold-packets.ts';
import type { QoS, Version } from './packets/publish.ts';
import { REMAINING_LENGTH_MAX } from './packets/publish.ts';
import {
  DUP,
  encodePublish,
  firstByteOf,
  packetLength,
  publishRemainingLength,
} from './packets/publish-writer.ts';
import { isFailure, REASON } from './reason-codes.ts';
import type { RetainedPart, SessionOpening, SessionOptions, SharedPart } from './session-options.ts';
import type { DurableSession } from './sessions/durable-session.ts';
import type { Subscription } from './subscription-tree.ts';

/** A subscription of a session; `starts` says from which offset on, where that is not simply "from now on". */
export interface SessionSubscription extends Subscription<Session> {
  readonly starts: Map<LogSource, number>;
}

const GO_ON_DELAY_MS = 2; // in which half of the window may become free

export class Session {
  readonly clientId: string;
  readonly clientIdBytes: Buffer;
  readonly version: Version;
  readonly principal: Principal;
  readonly opening: SessionOpening | undefined;
  readonly packetBytesMax: number;
  readonly subscriptions = new Map<string, SessionSubscription>();
  /** QoS 2 publishes of the client that it has not released, by packet identifier. */
  readonly received = new Map<number, 'storing' | 'stored'>();
  lag: Lag | undefined;
  /** Retained messages on their way, once the client has subscribed to something. */
  retained: RetainedPart | undefined;
  /** Its shared subscriptions, once it has one; see share/. */
  shared: SharedPart | undefined;
  /** Undefined for a session that ends with its connection. */
  durable: DurableSession | undefined;
  readonly own: OwnPart;
  /** Whether answers may say why in words [MQTT-3.1.2-29]. */
  readonly wantsReasons: boolean;

  readonly #access: Access;
  readonly #log: Log;
  readonly #output: Output;
  readonly #mayForward: ((topic: string) => boolean) | undefined;
  readonly #counters: MqttCounters;
  readonly #inflightMax: number;
  readonly #outputBytesMax: number;
  readonly exchanges = new Exchanges();
  readonly #waitingForRoom: (() => void)[] = [];
  /** Messages are being dropped because the client does not read; said once until it has. */
  #isDropping = false;
  #hasMadeRoom = false; // since what is behind has gone on last
  #goingOn: Timer | undefined;
  #closed = false;

  constructor(options: SessionOptions) {
    this.clientId = options.clientId;
    this.clientIdBytes = Buffer.from(options.clientId);
    this.version = options.version;
    this.principal = options.principal;
    this.opening = options.opening;
    this.#access = options.access;
    this.#log = options.log;
    this.#output = options.output;
    this.#mayForward = options.mayForward;
    this.#counters = options.counters;
    this.#inflightMax = options.inflightMax;
    this.packetBytesMax = options.packetBytesMax;
    this.#outputBytesMax = options.outputBytesMax;
    this.wantsReasons = options.version === 5 && options.wantsProblemInformation !== false;
    this.own = new OwnPart(options.version, options.topicAliasMaximum);
  }

  get inflightCount(): number {
    return this.exchanges.size;
  }

  /** The connection has ended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether it can be sent something, and its socket is not behind. */
  get hasRoom(): boolean {
    return this.exchanges.size < this.#inflightMax && this.#pendingBytes() <= this.#outputBytesMax >> 1;
  }

  /** Resolves when there is room, or the session is closed: to be asked again then. */
  whenRoom(): Promise<void> {
    if (this.hasRoom || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  mayRead(kafkaTopic: string): boolean {
    return this.#access.allows(this.principal, 'read', 'topic', kafkaTopic);
  }

  /** Messages of a partition were passed over, which nothing else tells. */
  passedOver(source: LogSource): void {
    this.durable?.moved(source);
  }

  /** Nothing is sent any more. */
  close(): void {
    this.#closed = true;
    this.#goingOn?.cancel();
    this.lag?.close();
    this.#wakeWaiting();
    this.shared?.left();
  }

  /**
   * Sends a message, or drops it where the protocol lets it.
   * @param origin where a durable session finds it again; without it the exchange ends with the connection.
   * @returns false when it cannot be taken now and must not be lost: nothing was sent.
   */
  deliver(message: MessageView, delivery: Delivery<Session>, origin?: Origin): boolean {
    if (this.#closed) return true;
    // The topic stands behind its two bytes of length.
    if (this.#mayForward !== undefined && !this.#mayForward(message.topic.toString('utf8', 2))) {
      this.#counters.hookRefusals++;
      return true;
    }
    const qos = Math.min(message.qos, delivery.qos) as QoS; // one of the two
    if (qos > 0 && this.exchanges.size >= this.#inflightMax) return false;
    if (this.#pendingBytes() > this.#outputBytesMax) {
      if (qos > 0) return false;
      this.#dropSlow();
      return true;
    }
    const retain = message.retain && delivery.retainAsPublished;
    const own = this.own.propertiesOf(message);
    const length = publishRemainingLength(message, this.version, qos, delivery.identifiers, own);
    if (this.#isTooLarge(length)) return true;
    this.#counters.messagesDelivered++;
    const { durable } = this;
    if (own.length > 0) {
      this.own.noteSent(message, own);
    } else if (qos === 0 && message.isShared && !retain && delivery.identifiers.length === 0) {
      const packet = message.sharedPacket(this.version);
      if (durable?.isHolding) durable.hold(packet);
      else this.#output.writeShared(packet);
      return true;
    }
    const packetId = qos === 0 ? 0 : this.exchanges.take(qos === 1 ? AWAIT.PUBACK : AWAIT.PUBREC);
    if (qos > 0 && origin !== undefined) durable?.sent(packetId, placeOf(origin), retain, origin.logSource);
    // A packet identifier at QoS 2 is on disk before its message goes out: the client must never meet another under it.
    if (durable === undefined || (qos < 2 && !durable.isHolding)) {
      writeMessage(
        this.#output,
        message,
        length,
        this.version,
        qos,
        retain,
        packetId,
        delivery.identifiers,
        own,
      );
      return true;
    }
    const first = firstByteOf(qos, retain);
    durable.hold(encodePublish(first, message, length, this.version, packetId, delivery.identifiers, own));
    return true;
  }

  /** As if sending had been completed [MQTT-3.1.2-25]. */
  #isTooLarge(remainingLength: number): boolean {
    if (remainingLength <= REMAINING_LENGTH_MAX && packetLength(remainingLength) <= this.packetBytesMax) {
      return false;
    }
    this.#counters.droppedTooLarge++;
    this.#tellDropped(`a packet of more than the client's ${this.packetBytesMax} bytes`);
    return true;
  }

  /** What has not left for the kernel, and what waits for the disk before it may. No getter: a private one costs 10 ns more. */
  #pendingBytes(): number {
    return this.#output.pendingBytes + (this.durable?.heldBytes ?? 0);
  }

  /** An answer that keeps its place among messages. */
  send(packet: Buffer): void {
    if (this.durable?.isHolding) this.durable.hold(packet);
    else this.#output.write(packet);
  }

  /** An answer that must not go out before what it answers is on disk. */
  sendDurably(packet: Buffer): void {
    this.#counters.sent[packet[0]! >> 4]!++;
    if (this.durable === undefined) this.#output.write(packet);
    else this.durable.hold(packet);
  }

  // ------------------------------------------------------------------------- exchanges of an earlier connection

  /** Whether the client's Receive Maximum lets another of them be taken up. */
  get canTakeUp(): boolean {
    return this.exchanges.active < this.#inflightMax && this.#pendingBytes() <= this.#outputBytesMax;
  }

  /** Sends a message again under its packet identifier, marked as such [MQTT-3.3.1-1] [MQTT-4.4.0-1]. */
  redeliver(message: MessageView, packetId: number, retain: boolean, delivery: Delivery<Session>): void {
    const qos: QoS = this.exchanges.get(packetId) === AWAIT.PUBACK ? 1 : 2;
    const own = this.own.propertiesOf(message);
    const length = publishRemainingLength(message, this.version, qos, delivery.identifiers, own);
    if (this.#isTooLarge(length)) {
      this.#free(packetId);
      return;
    }
    this.#counters.messagesDelivered++;
    if (own.length > 0) this.own.noteSent(message, own);
    const first = firstByteOf(qos, retain) | DUP;
    this.send(encodePublish(first, message, length, this.version, packetId, delivery.identifiers, own));
  }

  /** Sends PUBREL again [MQTT-4.4.0-1]. */
  releaseAgain(packetId: number): void {
    this.acknowledge(ACKNOWLEDGEMENT.PUBREL, packetId, REASON.SUCCESS);
  }

  /** The message is not there any more: nothing is left to be sent. */
  abandon(packetId: number): void {
    this.#free(packetId);
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

  /** PUBACK: the end of a QoS 1 exchange. One for nothing is ignored; one of the wrong kind is an error. */
  puback(packetId: number): void {
    const awaited = this.exchanges.get(packetId);
    if (awaited === undefined) return;
    if (awaited !== AWAIT.PUBACK) throw protocolError(`PUBACK for a message at QoS 2, ${packetId}`);
    this.#free(packetId);
  }

  /** PUBREC: the client has the message; an error ends the exchange (section 4.3.3). */
  pubrec(packetId: number, reasonCode: number): void {
    const awaited = this.exchanges.get(packetId);
    if (awaited === AWAIT.PUBACK) throw protocolError(`PUBREC for a message at QoS 1, ${packetId}`);
    if (isFailure(reasonCode)) {
      if (awaited === AWAIT.PUBREC) this.#free(packetId);
      return;
    }
    if (awaited === AWAIT.PUBREC) {
      this.exchanges.set(packetId, AWAIT.PUBCOMP);
      this.durable?.proceeded();
    }
    // Once PUBREL is out, the message must never be sent again: the client would take it for another.
    this.#acknowledgeDurably(
      ACKNOWLEDGEMENT.PUBREL,
      packetId,
      awaited === undefined ? REASON.PACKET_IDENTIFIER_NOT_FOUND : REASON.SUCCESS,
    );
  }

  /** PUBCOMP: the end of a QoS 2 exchange. */
  pubcomp(packetId: number): void {
    const awaited = this.exchanges.get(packetId);
    if (awaited === undefined) return;
    if (awaited !== AWAIT.PUBCOMP) throw protocolError(`PUBCOMP before PUBREC, ${packetId}`);
    this.#free(packetId);
  }

  /** PUBREL: the client will not send this packet identifier's message again. */
  pubrel(packetId: number): void {
    const known = this.received.delete(packetId);
    this.durable?.released(packetId);
    // Once PUBCOMP is out, the client may use the identifier for another message.
    this.#acknowledgeDurably(
      ACKNOWLEDGEMENT.PUBCOMP,
      packetId,
      known ? REASON.SUCCESS : REASON.PACKET_IDENTIFIER_NOT_FOUND,
    );
  }

  /** A publish was not taken: the answer says why, where the client wants that and takes a packet of the size. */
  refusePublish(qos: QoS, packetId: number, reasonCode: number, message: string): void {
    const packet = this.wantsReasons
      ? encodeRefusedPublish(qos === 1 ? 'puback' : 'pubrec', packetId, reasonCode, message)
      : undefined;
    if (packet !== undefined && packet.length <= this.packetBytesMax) {
      this.#counters.sent[packet[0]! >> 4]!++;
      this.send(packet);
    } else
      this.acknowledge(qos === 1 ? ACKNOWLEDGEMENT.PUBACK : ACKNOWLEDGEMENT.PUBREC, packetId, reasonCode);
  }

  /** @param firstByte of {@link ACKNOWLEDGEMENT}. */
  acknowledge(firstByte: number, packetId: number, reasonCode: number): void {
    this.#counters.sent[firstByte >> 4]!++;
    const length = acknowledgementLength(reasonCode, this.version);
    const at = this.#output.reserve(length);
    writeAcknowledgement(this.#output.bytes, at, firstByte, packetId, reasonCode, this.version);
    this.#output.commit(length);
  }

  #acknowledgeDurably(firstByte: number, packetId: number, reasonCode: number): void {
    const { durable, version } = this;
    if (durable === undefined) {
      this.acknowledge(firstByte, packetId, reasonCode);
      return;
    }
    this.#counters.sent[firstByte >> 4]!++;
    const packet = Buffer.allocUnsafe(acknowledgementLength(reasonCode, version));
    writeAcknowledgement(packet, 0, firstByte, packetId, reasonCode, version);
    durable.hold(packet);
  }

  /** A packet that was held goes out. */
  release(packet: Buffer): void {
    if (packet.length > COPY_BYTES_MAX) this.#output.writeReference(packet);
    else this.#output.write(packet);
  }

  /** The socket has taken what waited, or the disk what was held for it. */
  drained(): void {
    this.#isDropping = false;
    this.#roomMade();
  }

  #free(packetId: number): void {
    this.exchanges.delete(packetId);
    this.durable?.freed(packetId);
    this.shared?.freed(packetId);
    this.#roomMade();
  }

  #roomMade(): void {
    if (this.#waitingForRoom.length > 0 && (this.hasRoom || this.canTakeUp)) this.#wakeWaiting();
    this.#hasMadeRoom = true;
    // So much is free that going on is worth a read of the log, whatever comes behind this acknowledgement.
    if (this.exchanges.size <= this.#inflightMax >> 1) this.#goOn();
  }

  /**
   * All packets of a piece are dealt with. Soon it goes on for a single place too: a client whose system collects small writes
   * (RFC 896) holds back its other acknowledgements until ours for the first has come, which waits 40 ms for something to go
   * with. Not at once: others acknowledge one by one, and each read of the log would send one message.
   */
  pieceEnded(clock: Clock): void {
    if (!this.#hasMadeRoom || this.#closed) return;
    this.#goingOn ??= clock.setTimer(GO_ON_DELAY_MS, () => {
      this.#goingOn = undefined;
      this.#goOn();
    });
  }

  #goOn(): void {
    if (!this.#hasMadeRoom || !this.hasRoom) return;
    this.#hasMadeRoom = false;
    this.lag?.resume();
    this.shared?.roomMade();
  }

  #wakeWaiting(): void {
    for (const resolve of this.#waitingForRoom.splice(0)) resolve();
  }
}
