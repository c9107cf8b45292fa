// The sessions that outlive their connections, as the state table has them. In memory there is, for each, where its records
// are and when it expires, and nothing else: what a record says is read back from the log when it is wanted.
import type { Hub, Log, Refused, StateRecord, StateTable } from '../../port.ts';
import type {
  Place,
  RecordKind,
  SessionHead,
  StoredDelivery,
  StoredReceived,
  StoredSession,
} from './session-records.ts';
import {
  countExchanges,
  countSubscriptions,
  decodeDelivery,
  decodePlaces,
  decodeReceived,
  decodeSession,
  decodeSessionHead,
  encodeDelivery,
  encodePlaces,
  encodeReceived,
  encodeSession,
  idOfKey,
  NEVER_EXPIRES,
  RECORD_KIND,
  recordKey,
  SESSIONS_TOPIC,
} from './session-records.ts';

/** Offsets of a session's records in its partition of the table; −1 = there is none. */
interface IndexEntry {
  sessionAt: number;
  deliveryAt: number;
  receivedAt: number;
  expirySeconds: number;
  /** −1: connected, or it was when the hub ended without a word. */
  disconnectedAtMs: number;
  /** Of the will that is still to be published; −1 = there is none. */
  willDelaySeconds: number;
  subscriptionCount: number;
  exchangeCount: number;
}

/** What changes of a client's records; `null` removes one, absent leaves it. */
export interface SessionChanges {
  readonly session?: StoredSession | null;
  readonly delivery?: StoredDelivery | null;
  readonly received?: StoredReceived | null;
}

export interface StoredRecords {
  readonly session: StoredSession;
  readonly delivery: StoredDelivery;
  readonly received: StoredReceived;
}

/** What a list of sessions shows of one. */
export interface SessionNumbers {
  readonly expirySeconds: number;
  readonly subscriptionCount: number;
  /** Messages on their way to the client. */
  readonly exchangeCount: number;
}

const NO_DELIVERY: StoredDelivery = { cursors: undefined, lastPacketId: 0, exchanges: [] };
const NO_RECEIVED: StoredReceived = { known: [], publishes: [] };

export class SessionStore {
  readonly #log: Log;
  readonly #startedAtMs: number;
  readonly #entries = new Map<string, IndexEntry>();
  /** By topic id. */
  readonly #tails = new Map<string, readonly Place[]>();
  /** Of shared subscriptions, by their filter. */
  readonly #groups = new Map<string, Buffer>();
  #table: StateTable | undefined;

  private constructor(log: Log, startedAtMs: number) {
    this.#log = log;
    this.#startedAtMs = startedAtMs;
  }

  /** Resolves when what there is has been replayed. */
  static async open(hub: Hub): Promise<SessionStore> {
    const store = new SessionStore(hub.log, hub.clock.now());
    store.#table = await hub.stateTable({
      topic: SESSIONS_TOPIC,
      apply: (_partition, key, value, offset) => store.#apply(key, value, offset),
    });
    for (const [clientId, { sessionAt }] of store.#entries) {
      // The session itself was removed, or its partition could not be loaded.
      if (sessionAt < 0) store.#entries.delete(clientId);
    }
    return store;
  }

  get size(): number {
    return this.#entries.size;
  }

  clientIds(): IterableIterator<string> {
    return this.#entries.keys();
  }

  has(clientId: string): boolean {
    return (this.#entries.get(clientId)?.sessionAt ?? -1) >= 0;
  }

  /** Whether what a client identifier has can be read and written now. */
  isServing(clientId: string): boolean {
    return this.#tableNow.stateOf(this.#tableNow.partitionOf(clientId)) === 'serving';
  }

  /**
   * When a session whose client is not connected ends, in milliseconds since the epoch. One that was connected when the
   * hub was killed counts from the start.
   */
  deadlineMs(clientId: string): number {
    const entry = this.#entries.get(clientId);
    if (entry === undefined || entry.expirySeconds >= NEVER_EXPIRES) return Number.POSITIVE_INFINITY;
    const fromMs = entry.disconnectedAtMs < 0 ? this.#startedAtMs : entry.disconnectedAtMs;
    return fromMs + entry.expirySeconds * 1000;
  }

  /** When its will is to be published, unless its client comes back or the session ends before. */
  willDeadlineMs(clientId: string): number {
    const entry = this.#entries.get(clientId);
    if (entry === undefined || entry.willDelaySeconds < 0) return Number.POSITIVE_INFINITY;
    const fromMs = entry.disconnectedAtMs < 0 ? this.#startedAtMs : entry.disconnectedAtMs;
    return fromMs + entry.willDelaySeconds * 1000;
  }

  /** What its records say in numbers, from memory; undefined = there is no session. */
  numbersOf(clientId: string): SessionNumbers | undefined {
    const entry = this.#entries.get(clientId);
    return entry === undefined || entry.sessionAt < 0 ? undefined : entry;
  }

  /** It is published, whatever its record says. */
  forgetWill(clientId: string): void {
    const entry = this.#entries.get(clientId);
    if (entry !== undefined) entry.willDelaySeconds = -1;
  }

  /** The connection ended and nothing could be written: the time counts all the same. */
  noteDisconnected(clientId: string, atMs: number): void {
    const entry = this.#entries.get(clientId);
    if (entry !== undefined) entry.disconnectedAtMs = atMs;
  }

  /** All in one batch: resolves when it is on disk, or with why it never will be. Never rejects. */
  async write(clientId: string, changes: SessionChanges): Promise<undefined | Refused> {
    const records: StateRecord[] = [];
    const add = <Value>(
      kind: RecordKind,
      value: Value | null | undefined,
      encode: (value: Value) => Buffer,
    ): void => {
      if (value === undefined) return;
      records.push({ key: recordKey(kind, clientId), value: value === null ? null : encode(value) });
    };
    add(RECORD_KIND.SESSION, changes.session, encodeSession);
    add(RECORD_KIND.DELIVERY, changes.delivery, encodeDelivery);
    add(RECORD_KIND.RECEIVED, changes.received, encodeReceived);
    return this.#tableNow.write(this.#tableNow.partitionOf(clientId), records);
  }

  remove(clientId: string): Promise<undefined | Refused> {
    return this.write(clientId, { session: null, delivery: null, received: null });
  }

  /** Undefined when there is no session. Rejects when the log cannot be read, or a record is not understood. */
  async read(clientId: string): Promise<StoredRecords | undefined> {
    const entry = this.#entries.get(clientId);
    if (entry === undefined) return undefined;
    const partition = this.#tableNow.partitionOf(clientId);
    const [session, delivery, received] = await Promise.all([
      this.#value(partition, entry.sessionAt),
      this.#value(partition, entry.deliveryAt),
      this.#value(partition, entry.receivedAt),
    ]);
    if (session === undefined) return undefined;
    return {
      session: decodeSession(session),
      delivery: delivery === undefined ? NO_DELIVERY : decodeDelivery(delivery),
      received: received === undefined ? NO_RECEIVED : decodeReceived(received),
    };
  }

  // -------------------------------------------------------------------------------------- tails, see received-tail.ts

  tailOf(topicId: string): readonly Place[] {
    return this.#tails.get(topicId) ?? [];
  }

  tails(): Iterable<readonly [string, readonly Place[]]> {
    return this.#tails;
  }

  /** Positions of all of a topic's partitions; none = the topic is gone. */
  writeTail(topicId: string, places: readonly Place[]): Promise<undefined | Refused> {
    const value = places.length === 0 ? null : encodePlaces(places);
    const record = { key: recordKey(RECORD_KIND.TAIL, topicId), value };
    return this.#tableNow.write(this.#tableNow.partitionOf(topicId), [record]);
  }

  // ------------------------------------------------------------------------------ groups, see share/share-record.ts

  groups(): Iterable<readonly [string, Buffer]> {
    return this.#groups;
  }

  writeGroup(filter: string, value: Buffer | null): Promise<undefined | Refused> {
    const record = { key: recordKey(RECORD_KIND.SHARED, filter), value };
    return this.#tableNow.write(this.#tableNow.partitionOf(filter), [record]);
  }

  // ---------------------------------------------------------------------------------------------------- private

  /** Set before anybody has the store. */
  get #tableNow(): StateTable {
    return this.#table as StateTable;
  }

  async #value(partition: number, offset: number): Promise<Buffer | undefined> {
    if (offset < 0) return undefined;
    const record = await this.#tableNow.read(partition, offset);
    return record?.value ?? undefined;
  }

  #apply(key: Buffer, value: Buffer | null, offset: number): void {
    const id = idOfKey(key);
    switch (key[0]) {
      case RECORD_KIND.SESSION:
        if (value === null) this.#entries.delete(id);
        else this.#applySession(id, value, offset);
        return;
      case RECORD_KIND.DELIVERY:
        if (value !== null) this.#applyDelivery(id, value, offset);
        else this.#noRecord(id, 'deliveryAt');
        return;
      case RECORD_KIND.RECEIVED:
        if (value !== null) this.#entryOf(id).receivedAt = offset;
        else this.#noRecord(id, 'receivedAt');
        return;
      case RECORD_KIND.SHARED:
        if (value === null) this.#groups.delete(id);
        else this.#groups.set(id, value);
        return;
      case RECORD_KIND.TAIL:
        if (value === null) this.#tails.delete(id);
        else this.#tails.set(id, decodePlaces(value));
        return;
      default:
        this.#log.debug('mqtt-session-record-unknown', { kind: key[0] });
    }
  }

  #applySession(clientId: string, value: Buffer, offset: number): void {
    const head: SessionHead = decodeSessionHead(value);
    const entry = this.#entryOf(clientId);
    entry.sessionAt = offset;
    entry.expirySeconds = head.expirySeconds;
    entry.disconnectedAtMs = head.disconnectedAtMs;
    entry.subscriptionCount = countSubscriptions(value);
    entry.willDelaySeconds = head.hasWill ? (decodeSession(value).will?.delaySeconds ?? -1) : -1;
  }

  #applyDelivery(clientId: string, value: Buffer, offset: number): void {
    const entry = this.#entryOf(clientId);
    entry.deliveryAt = offset;
    entry.exchangeCount = countExchanges(value);
  }

  #noRecord(clientId: string, which: 'deliveryAt' | 'receivedAt'): void {
    const entry = this.#entries.get(clientId);
    if (entry === undefined) return;
    entry[which] = -1;
    if (which === 'deliveryAt') entry.exchangeCount = 0;
  }

  /** Compaction may leave another record of a session in front of the session's own. */
  #entryOf(clientId: string): IndexEntry {
    const existing = this.#entries.get(clientId);
    if (existing !== undefined) return existing;
    const entry: IndexEntry = {
      sessionAt: -1,
      deliveryAt: -1,
      receivedAt: -1,
      expirySeconds: 0,
      disconnectedAtMs: -1,
      willDelaySeconds: -1,
      subscriptionCount: 0,
      exchangeCount: 0,
    };
    this.#entries.set(clientId, entry);
    return entry;
  }
}
