// The sessions that outlive their connections, as the state table has them: what is written of one, and read back. Where a
// session's records are, the index knows.
import type { Hub, Log, Refused, StateRecord, StateTable } from '../../port.ts';
import type { GroupChanges, GroupValues } from '../share/share-record.ts';
import type { StoredCursors, StoredDelivery } from './delivery-record.ts';
import { decodeCursors, decodeDelivery, encodeDelivery } from './delivery-record.ts';
import type { Place } from './places.ts';
import { decodePlaces, encodePlaces, mergePlaces } from './places.ts';
import type { PositionSnapshot } from './position-snapshot.ts';
import { chunksOf, SessionIndex } from './session-index.ts';
import type { RecordKind, StoredReceived, StoredSession } from './session-records.ts';
import {
  decodeReceived,
  decodeSession,
  encodeReceived,
  encodeSession,
  idOfKey,
  RECORD_KIND,
  recordKey,
  SESSIONS_TOPIC,
} from './session-records.ts';
import { SubscriptionChunks } from './subscription-chunks.ts';
import type { StoredSubscription } from './subscription-record.ts';
import { decodeSubscriptions, encodeSubscriptions, subscriptionsKey } from './subscription-record.ts';

/** What changes of a client's records; `null` removes one, absent leaves it. */
export interface SessionChanges {
  readonly session?: StoredSession | null;
  /** By the number of their record; none = that is removed. */
  readonly subscriptions?: ReadonlyMap<number, readonly StoredSubscription[]>;
  readonly base?: PositionSnapshot | null;
  readonly delivery?: StoredDelivery | null;
  readonly received?: StoredReceived | null;
}

export interface StoredRecords {
  readonly session: StoredSession;
  readonly subscriptions: readonly StoredSubscription[];
  /** Of each subscription, by its filter. */
  readonly chunkOf: ReadonlyMap<string, number>;
  /** All cursors, wherever they are written. */
  readonly delivery: StoredDelivery;
  /** Undefined when there is no such record. */
  readonly base: StoredCursors | undefined;
  /** Cursors that are not as in that. */
  readonly named: readonly Place[];
  readonly received: StoredReceived;
}

const NO_DELIVERY: StoredDelivery = { cursors: undefined, lastPacketId: 0, exchanges: [] };
const NO_RECEIVED: StoredReceived = { known: [], publishes: [] };

/** What a session begins with. */
export const NOTHING_STORED: Omit<StoredRecords, 'session'> = {
  subscriptions: [],
  chunkOf: new Map(),
  base: undefined,
  named: [],
  delivery: NO_DELIVERY,
  received: NO_RECEIVED,
};

export class SessionStore {
  readonly index: SessionIndex;
  readonly #log: Log;
  /** By topic id. */
  readonly #tails = new Map<string, readonly Place[]>();
  /** Of shared subscriptions, by their filter, until somebody has taken them. */
  #groups: Map<string, GroupValues> | undefined = new Map();
  #table: StateTable | undefined;

  private constructor(log: Log, startedAtMs: number) {
    this.#log = log;
    this.index = new SessionIndex(startedAtMs);
  }

  /** Resolves when what there is has been replayed. */
  static async open(hub: Hub): Promise<SessionStore> {
    const store = new SessionStore(hub.log, hub.clock.now());
    store.#table = await hub.stateTable({
      topic: SESSIONS_TOPIC,
      apply: (_partition, key, value, offset) => store.#apply(key, value, offset),
    });
    store.index.forgetRemains();
    return store;
  }

  /** Whether what a client identifier has can be read and written now. */
  isServing(clientId: string): boolean {
    return this.#tableNow.stateOf(this.#tableNow.partitionOf(clientId)) === 'serving';
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
    for (const [number, subscriptions] of changes.subscriptions ?? []) {
      const value = subscriptions.length === 0 ? null : encodeSubscriptions(subscriptions);
      records.push({ key: subscriptionsKey(RECORD_KIND.SUBSCRIPTIONS, number, clientId), value });
    }
    add(RECORD_KIND.CURSORS, changes.base, (base) => base.encode());
    add(RECORD_KIND.DELIVERY, changes.delivery, encodeDelivery);
    add(RECORD_KIND.RECEIVED, changes.received, encodeReceived);
    return this.#tableNow.write(this.#tableNow.partitionOf(clientId), records);
  }

  remove(clientId: string): Promise<undefined | Refused> {
    return this.write(clientId, { session: null, ...this.removals(clientId) });
  }

  /** Takes away all that is on disk of a client but the session's own record. */
  removals(clientId: string): SessionChanges {
    const { chunks = [], cursorsAt = -1 } = this.index.get(clientId) ?? {};
    const subscriptions = new Map(chunksOf(chunks).map(({ number }) => [number, []]));
    return { subscriptions, delivery: null, received: null, ...(cursorsAt < 0 ? {} : { base: null }) };
  }

  /** Undefined when there is no session. Rejects when the log cannot be read, or a record is not understood. */
  async read(clientId: string): Promise<StoredRecords | undefined> {
    const entry = this.index.get(clientId);
    if (entry === undefined) return undefined;
    const partition = this.#tableNow.partitionOf(clientId);
    const [values, chunks] = await Promise.all([
      Promise.all(
        [entry.sessionAt, entry.cursorsAt, entry.deliveryAt, entry.receivedAt].map((offset) =>
          this.#value(partition, offset),
        ),
      ),
      this.#readChunks(partition, entry.chunks),
    ]);
    const [sessionValue, cursorsValue, deliveryValue, receivedValue] = values;
    if (sessionValue === undefined) return undefined;
    const { session, subscriptions } = decodeSession(sessionValue);
    const base = cursorsValue === undefined ? undefined : decodeCursors(cursorsValue);
    const delivery = deliveryValue === undefined ? NO_DELIVERY : decodeDelivery(deliveryValue);
    const named = delivery.cursors ?? [];
    const cursors = delivery.cursors && mergePlaces(base?.places ?? [], delivery.cursors);
    return {
      session,
      subscriptions: subscriptions ?? chunks.flatMap(([, own]) => own),
      chunkOf: new Map(chunks.flatMap(([number, own]) => own.map(({ filter }) => [filter, number] as const))),
      delivery: { ...delivery, cursors },
      base,
      named,
      received: receivedValue === undefined ? NO_RECEIVED : decodeReceived(receivedValue),
    };
  }

  /** To be called before any of it is written: records of an earlier version become what they are now. Rejects as {@link read}. */
  async readForChange(clientId: string): Promise<StoredRecords | undefined> {
    const records = await this.read(clientId);
    if (records === undefined || records.chunkOf.size === records.subscriptions.length) return records;
    const { session, subscriptions } = records;
    const chunks = new SubscriptionChunks(new Map());
    for (const { filter } of subscriptions) chunks.set(filter);
    const byFilter = new Map(subscriptions.map((subscription) => [subscription.filter, subscription]));
    const changed = [...chunks.takeChanged()].map(
      ([number, filters]) => [number, filters.flatMap((filter) => byFilter.get(filter) ?? [])] as const,
    );
    const refused = await this.write(clientId, { session, subscriptions: new Map(changed) });
    if (refused !== undefined) throw new Error(`${clientId} cannot be written anew: ${refused.message}`);
    return this.read(clientId);
  }

  #readChunks(
    partition: number,
    chunks: readonly number[],
  ): Promise<(readonly [number, readonly StoredSubscription[]])[]> {
    return Promise.all(
      chunksOf(chunks).map(async ({ number, offset }) => {
        const value = await this.#value(partition, offset);
        return [number, value === undefined ? [] : decodeSubscriptions(value)] as const;
      }),
    );
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

  /** As they were at the start: whoever takes them knows what becomes of them. */
  takeGroups(): Iterable<readonly [string, GroupValues]> {
    const groups = this.#groups ?? new Map<string, GroupValues>();
    this.#groups = undefined;
    return groups;
  }

  writeGroup(filter: string, { group, cursors }: GroupChanges): Promise<undefined | Refused> {
    const records: StateRecord[] = [];
    if (cursors !== undefined) {
      records.push({ key: recordKey(RECORD_KIND.SHARED_CURSORS, filter), value: cursors });
    }
    records.push({ key: recordKey(RECORD_KIND.SHARED, filter), value: group });
    return this.#tableNow.write(this.#tableNow.partitionOf(filter), records);
  }

  #applyGroup(filter: string, changed: Partial<GroupValues>): void {
    const { group, cursors } = {
      group: undefined,
      cursors: undefined,
      ...this.#groups?.get(filter),
      ...changed,
    };
    if (group === undefined && cursors === undefined) this.#groups?.delete(filter);
    else this.#groups?.set(filter, { group, cursors });
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
        this.index.applySession(id, value, offset);
        return;
      case RECORD_KIND.SUBSCRIPTIONS:
        this.index.applySubscriptions(key, value, offset);
        return;
      case RECORD_KIND.CURSORS:
        this.index.applyCursors(id, value, offset);
        return;
      case RECORD_KIND.DELIVERY:
        this.index.applyDelivery(id, value, offset);
        return;
      case RECORD_KIND.RECEIVED:
        this.index.applyReceived(id, value, offset);
        return;
      case RECORD_KIND.SHARED:
        this.#applyGroup(id, { group: value ?? undefined });
        return;
      case RECORD_KIND.SHARED_CURSORS:
        this.#applyGroup(id, { cursors: value ?? undefined });
        return;
      case RECORD_KIND.TAIL:
        if (value === null) this.#tails.delete(id);
        else this.#tails.set(id, decodePlaces(value));
        return;
      default:
        this.#log.debug('mqtt-session-record-unknown', { kind: key[0] });
    }
  }
}
