// What memory knows of every session that outlives its connection: where its records are in the state table, when it ends,
// and numbers for those who list sessions. What the records say is read back from the log when it is wanted.
import { countExchanges } from './delivery-record.ts';
import { decodeSession, NEVER_EXPIRES } from './session-records.ts';
import { countSubscriptions, placeOfSubscriptionsKey } from './subscription-record.ts';

/** Offsets of a session's records in its partition of the table; −1 = there is none. */
export interface IndexEntry {
  sessionAt: number;
  cursorsAt: number;
  deliveryAt: number;
  receivedAt: number;
  expirySeconds: number;
  /** −1: connected, or it was when the hub ended without a word. */
  disconnectedAtMs: number;
  /** Of the will that is still to be published; −1 = there is none. */
  willDelaySeconds: number;
  /** In its own record, by version 1 of that. */
  inlineSubscriptionCount: number;
  /** Records of subscriptions: the number of each, its offset, and how many there are in it, one behind the other. */
  readonly chunks: number[];
  exchangeCount: number;
}

/** What a list of sessions shows of one. */
export interface SessionNumbers {
  readonly expirySeconds: number;
  readonly subscriptionCount: number;
  /** Messages on their way to the client. */
  readonly exchangeCount: number;
}

/** See {@link IndexEntry.chunks}. */
const CHUNK_FIELDS = 3;

export class SessionIndex {
  readonly #startedAtMs: number;
  readonly #entries = new Map<string, IndexEntry>();

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  clientIds(): IterableIterator<string> {
    return this.#entries.keys();
  }

  get(clientId: string): Readonly<IndexEntry> | undefined {
    return this.#entries.get(clientId);
  }

  has(clientId: string): boolean {
    return (this.#entries.get(clientId)?.sessionAt ?? -1) >= 0;
  }

  /** Of sessions that were removed, or whose partition could not be loaded. */
  forgetRemains(): void {
    for (const [clientId, { sessionAt }] of this.#entries) if (sessionAt < 0) this.#entries.delete(clientId);
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
    if (entry === undefined || entry.sessionAt < 0) return undefined;
    const { expirySeconds, exchangeCount, chunks } = entry;
    let subscriptionCount = entry.inlineSubscriptionCount;
    for (let at = 2; at < chunks.length; at += CHUNK_FIELDS) subscriptionCount += chunks[at] as number;
    return { expirySeconds, subscriptionCount, exchangeCount };
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

  // ---------------------------------------------------------------------------------- records, as they are committed

  applyCursors(clientId: string, value: Buffer | null, offset: number): void {
    if (value !== null) this.#entryOf(clientId).cursorsAt = offset;
    else this.#noRecord(clientId, 'cursorsAt');
  }

  applyReceived(clientId: string, value: Buffer | null, offset: number): void {
    if (value !== null) this.#entryOf(clientId).receivedAt = offset;
    else this.#noRecord(clientId, 'receivedAt');
  }

  applySession(clientId: string, value: Buffer | null, offset: number): void {
    if (value === null) {
      this.#entries.delete(clientId);
      return;
    }
    const { session, subscriptions } = decodeSession(value);
    const entry = this.#entryOf(clientId);
    entry.sessionAt = offset;
    entry.expirySeconds = session.expirySeconds;
    entry.disconnectedAtMs = session.disconnectedAtMs;
    entry.inlineSubscriptionCount = subscriptions?.length ?? 0;
    entry.willDelaySeconds = session.will?.delaySeconds ?? -1;
  }

  applyDelivery(clientId: string, value: Buffer | null, offset: number): void {
    if (value === null) {
      this.#noRecord(clientId, 'deliveryAt');
      return;
    }
    const entry = this.#entryOf(clientId);
    entry.deliveryAt = offset;
    entry.exchangeCount = countExchanges(value);
  }

  applySubscriptions(key: Buffer, value: Buffer | null, offset: number): void {
    const { number, clientId } = placeOfSubscriptionsKey(key);
    const entry = value === null ? this.#entries.get(clientId) : this.#entryOf(clientId);
    if (entry === undefined) return;
    const { chunks } = entry;
    let at = 0;
    while (at < chunks.length && chunks[at] !== number) at += CHUNK_FIELDS;
    if (value === null) chunks.splice(at, CHUNK_FIELDS);
    else chunks.splice(at, CHUNK_FIELDS, number, offset, countSubscriptions(value));
  }

  #noRecord(clientId: string, which: 'cursorsAt' | 'deliveryAt' | 'receivedAt'): void {
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
      cursorsAt: -1,
      deliveryAt: -1,
      receivedAt: -1,
      expirySeconds: 0,
      disconnectedAtMs: -1,
      willDelaySeconds: -1,
      inlineSubscriptionCount: 0,
      chunks: [],
      exchangeCount: 0,
    };
    this.#entries.set(clientId, entry);
    return entry;
  }
}

export interface Chunk {
  readonly number: number;
  readonly offset: number;
}

export function chunksOf(chunks: readonly number[]): Chunk[] {
  const found: Chunk[] = [];
  for (let at = 0; at < chunks.length; at += CHUNK_FIELDS) {
    found.push({ number: chunks[at]!, offset: chunks[at + 1]! });
  }
  return found;
}
