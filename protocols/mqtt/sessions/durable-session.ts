// What a session that outlives its connection adds to one that does not, while its client is connected: it says what has to
// be on disk, writes it, and holds packets back that may not go out before. All that one turn has changed is one write,
// and one write is under way at a time; packets keep their order.
import type { Partition, Refused } from '../../port.ts';
import type { LogSource } from '../log-source.ts';
import type { CursorChange, CursorChanges } from './cursor-changes.ts';
import type { StoredDelivery, StoredExchange } from './delivery-record.ts';
import type { Place } from './places.ts';
import type { ReceivedPublishes } from './received-publishes.ts';
import type { StoredReceived, StoredWill } from './session-records.ts';
import type { SessionChanges } from './session-store.ts';
import type { SubscriptionChunks } from './subscription-chunks.ts';
import type { StoredSubscription } from './subscription-record.ts';

/** What a durable session is told about the live one; all of it as it is now. */
export interface LiveState {
  isSubscribed(): boolean;
  /** As far as there are such. */
  subscriptions(filters: readonly string[]): StoredSubscription[];
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
  readonly cursors: CursorChanges;
  readonly subscriptions: SubscriptionChunks;
  /** Milliseconds from an arbitrary start. */
  now(): number;
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
  /** All cursors are to be written, see cursor-changes.ts. */
  #isComplete = false;
  #deliveryChanged = false;
  #receivedChanged = false;
  #scheduled = false;
  #writing = false;
  #underWay: Promise<unknown> = Promise.resolve();
  #isWritingBase = false;
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

  /** What is being written of it is on disk, or never will be: only then is it known what there is to be removed. */
  get underWay(): Promise<unknown> {
    return this.#underWay;
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
  sent(packetId: number, place: Place, retain: boolean, source: LogSource | undefined): void {
    this.#places.set(packetId, { ...place, retain });
    if (source !== undefined) this.#options.cursors.moved(source);
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

  /** Messages of the partition were passed over: they are not to be looked at again. */
  moved(source: LogSource): void {
    this.#options.cursors.moved(source);
    this.#touch();
  }

  /** These are there from now on, or have other options: with them, where all partitions are. */
  subscribed(filters: readonly string[]): void {
    for (const filter of filters) this.#options.subscriptions.set(filter);
    this.#isComplete = true;
    this.#deliveryChanged = true;
  }

  /** All retained messages of a filter are on their way. */
  retainedSent(filter: string): void {
    this.subscribed([filter]);
    this.#options.onTouched(this);
  }

  unsubscribed(filters: readonly string[]): void {
    for (const filter of filters) this.#options.subscriptions.delete(filter);
    this.#isComplete = true;
    this.#deliveryChanged = true;
  }

  /** Writes all cursors when that was not done for so long, and they have moved. @returns whether it does. */
  refresh(ageMs: number): boolean {
    const { live, cursors, now } = this.#options;
    if (this.#writing || !live.isSubscribed() || !cursors.isOlderThan(now(), ageMs)) return false;
    this.#isComplete = true;
    this.#deliveryChanged = true;
    void this.flush(); // never rejects
    return true;
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
    const written = this.#options.write(this.#takeChanges());
    this.#underWay = written;
    const refused = await written;
    this.#writing = false;
    if (this.#closed) return;
    if (refused !== undefined) {
      this.#options.cursors.forgetBase();
      this.#options.onUnstorable(refused);
      return;
    }
    this.#isWritingBase = false;
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
  close(disconnectedAtMs: number): SessionChanges {
    this.#closed = true;
    this.#held = [];
    // What is being written may fail, and this may not.
    if (this.#isWritingBase) this.#options.cursors.forgetBase();
    const { sessionNumber, expirySeconds, will } = this;
    this.#isComplete = true;
    return {
      session: { sessionNumber, expirySeconds, disconnectedAtMs, will },
      ...this.#takeSubscriptions(),
      ...this.#takeDelivery(),
    };
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
    const changes: SessionChanges = {
      ...this.#takeSubscriptions(),
      ...(this.#deliveryChanged ? this.#takeDelivery() : {}),
      ...(this.#receivedChanged ? { received: this.receivedNow() } : {}),
    };
    this.#receivedChanged = false;
    this.#isWritingBase = changes.base !== undefined;
    return changes;
  }

  #takeSubscriptions(): Pick<SessionChanges, 'subscriptions'> {
    const { subscriptions, live } = this.#options;
    if (!subscriptions.hasChanged) return {};
    const changed = [...subscriptions.takeChanged()];
    return {
      subscriptions: new Map(changed.map(([number, filters]) => [number, live.subscriptions(filters)])),
    };
  }

  #takeDelivery(): Pick<SessionChanges, 'base' | 'delivery'> {
    const { live } = this.#options;
    const { base, cursors } = this.#takeCursors();
    this.#deliveryChanged = false;
    const exchanges: StoredExchange[] = [];
    for (const [packetId, awaited] of live.awaited()) {
      const place = this.#places.get(packetId);
      if (place !== undefined) exchanges.push({ ...place, packetId, awaited });
    }
    const delivery: StoredDelivery = { cursors, lastPacketId: live.lastPacketId(), exchanges };
    return base === undefined ? { delivery } : { base, delivery };
  }

  #takeCursors(): CursorChange {
    const { live, cursors, now } = this.#options;
    const isComplete = this.#isComplete;
    this.#isComplete = false;
    return live.isSubscribed() ? cursors.take(isComplete, now()) : cursors.takeNone();
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
