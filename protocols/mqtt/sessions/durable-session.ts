// What a session that outlives its connection adds to one that does not, while its client is connected: it says what has to
// be on disk, writes it, and holds packets back that may not go out before. All that one turn has changed is one write,
// and one write is under way at a time; packets keep their order.
import type { Partition, Refused } from '../../port.ts';
import type { ReceivedPublishes } from './received-publishes.ts';
import type {
  Place,
  StoredDelivery,
  StoredExchange,
  StoredReceived,
  StoredSession,
  StoredWill,
} from './session-records.ts';
import type { SessionChanges } from './session-store.ts';

/** What a durable session is told about the live one; all of it as it is now. */
export interface LiveState {
  /** Next offset per partition; undefined without subscriptions. */
  cursors(): readonly Place[] | undefined;
  subscriptions(): StoredSession['subscriptions'];
  /** Packet identifiers on their way, in the order of first sending, and what they wait for. */
  awaited(): Iterable<readonly [packetId: number, awaited: StoredExchange['awaited']]>;
  lastPacketId(): number;
}

type SentPlace = Place & Pick<StoredExchange, 'retain'>;

export interface DurableSessionOptions {
  readonly clientId: string;
  readonly sessionNumber: number;
  readonly expirySeconds: number;
  readonly will: StoredWill | undefined;
  readonly received: ReceivedPublishes;
  /** Of an earlier connection. */
  readonly exchanges: readonly StoredExchange[];
  readonly live: LiveState;
  write(changes: SessionChanges): Promise<undefined | Refused>;
  /** Where the search for QoS 2 publishes begins after a crash. */
  searchedFrom(place: Place): number;
  /** Sends a packet that was held. */
  send(packet: Buffer): void;
  /** What was held may have made room. */
  onWritten(): void;
  /** What has changed could not be written: the connection cannot go on. */
  onUnstorable(refused: Refused): void;
  /** Something has changed that need not be written at once. */
  onTouched(session: DurableSession): void;
}

export class DurableSession {
  readonly sessionNumber: number;
  readonly received: ReceivedPublishes;
  expirySeconds: number;
  will: StoredWill | undefined;
  readonly #options: DurableSessionOptions;
  /** Where the messages on their way to the client are in the log. */
  readonly #places = new Map<number, SentPlace>();
  #held: Buffer[] = [];
  #heldBytes = 0;
  #sessionChanged = false;
  #deliveryChanged = false;
  #receivedChanged = false;
  #scheduled = false;
  #writing = false;
  #closed = false;

  constructor(options: DurableSessionOptions) {
    this.#options = options;
    this.sessionNumber = options.sessionNumber;
    this.expirySeconds = options.expirySeconds;
    this.will = options.will;
    this.received = options.received;
    for (const { packetId, topicId, partition, offset, retain } of options.exchanges) {
      this.#places.set(packetId, { topicId, partition, offset, retain });
    }
  }

  get clientId(): string {
    return this.#options.clientId;
  }

  /** Whether packets wait: then those that follow have to wait behind them. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The packet goes out when everything that has changed until now is on disk. */
  hold(packet: Buffer): void {
    this.#held.push(packet);
    this.#heldBytes += packet.length;
    this.#schedule();
  }

  /** A message has got a packet identifier. */
  sent(packetId: number, place: Place, retain: boolean): void {
    this.#places.set(packetId, { ...place, retain });
    this.#touch();
  }

  /** An exchange has got further. */
  proceeded(): void {
    this.#touch();
  }

  freed(packetId: number): void {
    this.#places.delete(packetId);
    this.#touch();
  }

  /** A message was sent that needs no answer, or none was for the client: its cursors have moved. */
  moved(): void {
    if (!this.#deliveryChanged) this.#touch();
  }

  /** The session record, and with it where its subscriptions begin. */
  changed(): void {
    this.#sessionChanged = true;
    this.#deliveryChanged = true;
  }

  receiving(packetId: number, partition: Partition, offset: number): void {
    this.received.storing(packetId, partition, offset);
  }

  /** The client has released a publish. */
  released(packetId: number): void {
    this.received.released(packetId);
    this.#receivedChanged = true;
  }

  /** Writes what has changed; resolves when it is on disk, or never will be. */
  async flush(): Promise<void> {
    if (this.#writing || this.#closed) return;
    this.#writing = true;
    const heldCount = this.#held.length;
    const refused = await this.#options.write(this.#takeChanges());
    this.#writing = false;
    if (this.#closed) return;
    if (refused !== undefined) {
      this.#options.onUnstorable(refused);
      return;
    }
    this.#release(heldCount);
    this.#options.onWritten();
    if (this.isHolding) this.#schedule();
  }

  /**
   * Writes what the client has published and not released, as it is now.
   * @returns what of it the log may yet refuse; undefined when it could not be written.
   */
  async writeReceived(): Promise<readonly Place[] | undefined> {
    const unsettled = this.received.unsettled();
    const refused = await this.#options.write({ received: this.receivedNow() });
    return refused === undefined ? unsettled : undefined;
  }

  receivedNow(): StoredReceived {
    return this.received.snapshot(this.#options.searchedFrom);
  }

  /**
   * @returns what has to be written when the connection ends; nothing is written or sent from here any more. What was
   * received is not among it: some of it may be on its way to the log.
   */
  close(disconnectedAtMs: number): { readonly session: StoredSession; readonly delivery: StoredDelivery } {
    this.#closed = true;
    this.#held = [];
    return { session: this.#session(disconnectedAtMs), delivery: this.#delivery() };
  }

  #touch(): void {
    this.#deliveryChanged = true;
    this.#options.onTouched(this);
  }

  #schedule(): void {
    if (this.#scheduled || this.#writing) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      void this.flush(); // never rejects
    });
  }

  #takeChanges(): SessionChanges {
    const changes = {
      ...(this.#sessionChanged ? { session: this.#session(-1) } : {}),
      ...(this.#deliveryChanged ? { delivery: this.#delivery() } : {}),
      ...(this.#receivedChanged ? { received: this.receivedNow() } : {}),
    };
    this.#sessionChanged = false;
    this.#deliveryChanged = false;
    this.#receivedChanged = false;
    return changes;
  }

  #session(disconnectedAtMs: number): StoredSession {
    const { sessionNumber, expirySeconds, will } = this;
    return {
      sessionNumber,
      expirySeconds,
      disconnectedAtMs,
      will,
      subscriptions: this.#options.live.subscriptions(),
    };
  }

  #delivery(): StoredDelivery {
    const { live } = this.#options;
    const exchanges: StoredExchange[] = [];
    for (const [packetId, awaited] of live.awaited()) {
      const place = this.#places.get(packetId);
      if (place !== undefined) exchanges.push({ ...place, packetId, awaited });
    }
    return { cursors: live.cursors(), lastPacketId: live.lastPacketId(), exchanges };
  }

  #release(count: number): void {
    const released = this.#held.slice(0, count);
    this.#held = this.#held.slice(count);
    for (const packet of released) {
      this.#heldBytes -= packet.length;
      this.#options.send(packet);
    }
  }
}
