// Sessions from one connection to the next: which client has one, what it is made of again, how it ends. What is done for
// one client identifier is done one after another, so that a takeover finds what the connection before has left.
import type { Clock, Hub, Log, Refused } from '../../port.ts';
import type { Dispatchers } from '../dispatchers.ts';
import type { PublishFlow } from '../publish-flow.ts';
import type { Session } from '../session.ts';
import type { GroupRecords } from '../share/share-groups.ts';
import { ConnectedSessions } from './connected-sessions.ts';
import { CursorChanges } from './cursor-changes.ts';
import { DueSessions } from './due-sessions.ts';
import { DurableSession } from './durable-session.ts';
import type { Place } from './places.ts';
import type { QueueLimits } from './queue-limits.ts';
import { ReceivedPublishes } from './received-publishes.ts';
import { ReceivedTail } from './received-tail.ts';
import type { ResumptionOptions } from './resumption.ts';
import { resendExchanges } from './resumption.ts';
import type { SessionNumbers } from './session-index.ts';
import type { StoredSession, StoredWill } from './session-records.ts';
import type { StoredRecords } from './session-store.ts';
import { NOTHING_STORED, SessionStore } from './session-store.ts';
import { SubscriptionChunks } from './subscription-chunks.ts';
import type { StoredSubscription } from './subscription-record.ts';

const SESSION_NUMBERS = 2 ** 47;

export interface SessionsOptions {
  readonly hub: Hub;
  /** Connected clients by client identifier. */
  readonly clients: ReadonlyMap<string, { readonly session: Session | undefined }>;
  readonly dispatchers: Dispatchers;
  readonly resumption: Omit<ResumptionOptions, 'sourceOf'>;
  readonly queueLimits: QueueLimits;
  readonly sessionsMax: number;
  /** Resolves when the log has it, or never will. Never rejects. */
  publishWill(clientId: string, will: StoredWill): Promise<void>;
  /** Its records are gone. */
  onEnded(clientId: string): void;
}

/** What CONNECT makes durable. */
export interface SessionTerms {
  readonly expirySeconds: number;
  readonly will: StoredWill | undefined;
}

/** What a session is shown by. */
export interface SessionContents {
  readonly subscriptions: readonly StoredSubscription[];
  /** A partition that is not named is younger than the session's last connection. */
  readonly cursors: readonly Place[];
}

export class Sessions {
  readonly tail: ReceivedTail;
  readonly #hub: Hub;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #store: SessionStore;
  readonly #options: SessionsOptions;
  readonly #due: DueSessions;
  /** What is done for a client identifier, one behind the other. */
  readonly #work = new Map<string, Promise<void>>();
  /** What the last connection of a client has left, on its way to the disk. */
  readonly #detaching = new Map<string, Promise<void>>();
  readonly #connected: ConnectedSessions;
  /** What some client has published is in no record of its session: only the search after a restart finds it. */
  #isIncomplete = false;

  private constructor(store: SessionStore, options: SessionsOptions) {
    const { hub } = options;
    this.#hub = hub;
    this.#clock = hub.clock;
    this.#log = hub.log;
    this.#store = store;
    this.#options = options;
    this.#connected = new ConnectedSessions(hub.clock);
    this.#due = new DueSessions(hub.clock, store.index, (clientId) => this.#expire(clientId));
    this.tail = new ReceivedTail({ hub, store, checkpoint: () => this.#checkpointReceived() });
  }

  /** Resolves when the sessions of before are known, and what a crash has left is put in order. */
  static async open(options: SessionsOptions): Promise<Sessions> {
    const store = await SessionStore.open(options.hub);
    const sessions = new Sessions(store, options);
    await sessions.tail.recover();
    for (const clientId of store.index.clientIds()) sessions.#setDeadline(clientId);
    return sessions;
  }

  /** Sessions that outlive their connections, whether connected or not. */
  get count(): number {
    return this.#store.index.size;
  }

  /** Whether another can be made. */
  get isFull(): boolean {
    const { sessionsMax } = this.#options;
    return sessionsMax > 0 && this.#store.index.size >= sessionsMax;
  }

  /** Whether nothing is known of a client identifier: then nothing has to be waited for. */
  isUnknown(clientId: string): boolean {
    return !this.#store.index.has(clientId) && !this.#work.has(clientId) && !this.#detaching.has(clientId);
  }

  isServing(clientId: string): boolean {
    return this.#store.isServing(clientId);
  }

  // ------------------------------------------------------------------------------------ for those who look at it

  clientIds(): Iterable<string> {
    return this.#store.index.clientIds();
  }

  numbersOf(clientId: string): SessionNumbers | undefined {
    return this.#store.index.numbersOf(clientId);
  }

  /** When the session of a client that is not connected ends; infinite = never. */
  deadlineMs(clientId: string): number {
    return this.#store.index.deadlineMs(clientId);
  }

  /** What is on disk of a client that is away. Rejects when the log cannot be read. */
  async peek(clientId: string): Promise<SessionContents | undefined> {
    const stored = await this.#store.read(clientId);
    if (stored === undefined) return undefined;
    return { subscriptions: stored.subscriptions, cursors: stored.delivery.cursors ?? [] };
  }

  /** Resolves when what is under way for the client identifier is done. */
  async settled(clientId: string): Promise<void> {
    await this.#work.get(clientId);
    await this.#detaching.get(clientId);
  }

  /** Ends a session from the outside, by `disconnect` first. @returns false when there is none. */
  async terminate(clientId: string, disconnect: () => void): Promise<boolean | Refused> {
    let ended: boolean | Refused = false;
    await this.exclusively(clientId, async () => {
      if (!this.#store.index.has(clientId)) return;
      disconnect();
      await this.detached(clientId);
      ended = (await this.end(clientId)) ?? true;
    });
    return ended;
  }

  // -------------------------------------------------------------------------------- from connection to connection

  /** Runs when all that was begun for the client identifier before is done. */
  exclusively(clientId: string, work: () => Promise<void>): Promise<void> {
    const before = this.#work.get(clientId) ?? Promise.resolve();
    const done = before.then(work);
    // Who comes next does not care how it ended; who waits for `done` does.
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#work.get(clientId) !== settled) return;
        this.#work.delete(clientId);
        // A client that was not let in, or not in time, has left the session as it was.
        this.#setDeadline(clientId);
      });
    this.#work.set(clientId, settled);
    return done;
  }

  /** Within {@link exclusively}: what the client's last connection has left is on disk. */
  async detached(clientId: string): Promise<void> {
    await this.#detaching.get(clientId);
    this.#due.delete(clientId);
  }

  /** Within {@link exclusively}: the session as it was left; undefined when there is none, or none any more. */
  async load(clientId: string): Promise<StoredRecords | undefined> {
    if (!this.#store.index.has(clientId)) return undefined;
    if (this.#store.index.deadlineMs(clientId) <= this.#clock.now()) {
      await this.end(clientId);
      return undefined;
    }
    return this.#store.readForChange(clientId);
  }

  /** Within {@link exclusively}: the session is over, and with it a will has to wait no longer [MQTT-3.1.3-9]. */
  async end(clientId: string): Promise<Refused | undefined> {
    if (this.#store.index.willDeadlineMs(clientId) < Number.POSITIVE_INFINITY) {
      await this.#publishWill(clientId);
      // If the records cannot be removed now, it does not come again with the next attempt.
      this.#store.index.forgetWill(clientId);
    }
    return this.#remove(clientId);
  }

  async #remove(clientId: string): Promise<Refused | undefined> {
    const refused = await this.#store.remove(clientId);
    if (refused !== undefined) return refused;
    this.#due.forget(clientId);
    this.tail.sessionEnded(clientId);
    this.#options.onEnded(clientId);
    return undefined;
  }

  /** Records of shared subscriptions. */
  get groups(): GroupRecords {
    return {
      take: () => this.#store.takeGroups(),
      write: (filter, changes) => this.#store.writeGroup(filter, changes),
    };
  }

  /** @returns the session that has it; undefined when there is none, or it cannot be read. */
  async #publishWill(clientId: string): Promise<StoredSession | undefined> {
    try {
      const session = (await this.#store.readForChange(clientId))?.session;
      // In the log before it is out of the record: after a crash it comes twice rather than never.
      if (session?.will !== undefined) await this.#options.publishWill(clientId, session.will);
      return session;
    } catch (error) {
      this.#log.error('mqtt-session-unreadable', { clientId, error });
      return undefined;
    }
  }

  /** Within {@link exclusively}: its client has not come back in the time that the will was to wait. */
  async #releaseWill(clientId: string): Promise<void> {
    const session = await this.#publishWill(clientId);
    if (session === undefined) return;
    const refused = await this.#store.write(clientId, { session: { ...session, will: undefined } });
    if (refused !== undefined) this.#log.error('mqtt-session-not-stored', { clientId, ...refused });
    this.#store.index.forgetWill(clientId);
  }

  /**
   * Within {@link exclusively}: makes a session, or goes on with one, on disk when it resolves.
   * @param resumed undefined = what there was is over.
   */
  async begin(
    clientId: string,
    terms: SessionTerms,
    resumed: StoredRecords | undefined,
  ): Promise<StoredRecords | Refused> {
    const session: StoredSession = {
      sessionNumber: resumed?.session.sessionNumber ?? this.#hub.random.below(SESSION_NUMBERS),
      expirySeconds: terms.expirySeconds,
      disconnectedAtMs: -1,
      will: terms.will,
    };
    const refused = await this.#store.write(clientId, {
      session,
      // Of what there was nothing may be left, also where it could not be removed when it ended.
      ...(resumed === undefined ? this.#store.removals(clientId) : {}),
    });
    if (refused !== undefined) return refused;
    return { ...(resumed ?? NOTHING_STORED), session };
  }

  /** The connection that {@link begin} was for is gone before it was answered. */
  async leave(clientId: string, { session }: StoredRecords): Promise<void> {
    const left = { ...session, will: undefined, disconnectedAtMs: this.#clock.now() };
    await this.#store.write(clientId, { session: left });
    this.#setDeadline(clientId);
  }

  /** The client is connected from now on; nothing has been sent to it but CONNACK. */
  attach(session: Session, stored: StoredRecords, onUnstorable: (refused: Refused) => void): void {
    const { dispatchers } = this.#options;
    const { delivery, received } = stored;
    session.exchanges.restore(delivery.exchanges, delivery.lastPacketId);
    dispatchers.restore(session, stored.subscriptions, delivery.cursors ?? []);
    const durable = new DurableSession({
      clientId: session.clientId,
      sessionNumber: stored.session.sessionNumber,
      expirySeconds: stored.session.expirySeconds,
      will: stored.session.will,
      received: new ReceivedPublishes(received),
      cursors: new CursorChanges(dispatchers.cursorsFor(session), stored.base, stored.named),
      subscriptions: new SubscriptionChunks(stored.chunkOf),
      exchanges: delivery.exchanges,
      live: {
        isSubscribed: () => session.subscriptions.size > 0,
        subscriptions: (filters) => dispatchers.storedSubscriptions(session, filters),
        awaited: () => session.exchanges.awaited(),
        lastPacketId: () => session.exchanges.lastPacketId,
      },
      now: () => this.#clock.monotonic(),
      write: (changes) => this.#store.write(session.clientId, changes),
      searchedFrom: (place) => this.tail.searchedFrom(place),
      send: (packet) => session.release(packet),
      onWritten: () => session.drained(),
      onUnstorable,
      onTouched: (touched) => this.#connected.touch(touched),
    });
    session.durable = durable;
    this.#connected.add(durable);
    for (const { packetId } of received.publishes) session.received.set(packetId, 'stored');
    void this.#catchUp(session, delivery.exchanges); // never rejects
  }

  async #catchUp(session: Session, exchanges: StoredRecords['delivery']['exchanges']): Promise<void> {
    const { resumption, dispatchers } = this.#options;
    try {
      const sourceOf = dispatchers.sourceOf.bind(dispatchers);
      await resendExchanges(session, exchanges, { ...resumption, sourceOf });
      if (!session.closed) await this.#options.queueLimits.apply(session);
    } catch (error) {
      this.#log.error('mqtt-resumption-failed', { clientId: session.clientId, error });
    }
    if (!session.closed) session.lag?.start();
  }

  /**
   * The connection has ended: what there is to know is written, or the session ends with it. To be called before the
   * session is taken out of anything else.
   * @param will resolves when the client's will is in the log; undefined = it is to be published later, or not at all
   */
  detach(session: Session, publishes: PublishFlow | undefined, will: Promise<void> | undefined): void {
    const { durable, clientId } = session;
    if (durable === undefined) return;
    this.#connected.delete(durable);
    const atMs = this.#clock.now();
    const changes = durable.close(atMs);
    const write = async (): Promise<void> => {
      // Whether the log has what the client sent last is known before anybody asks for it again.
      await Promise.all([publishes?.settled(), durable.underWay]);
      // The record of the connected session has the will: a crash before this leaves it to the next start.
      await will;
      const refused =
        durable.expirySeconds === 0
          ? await this.#remove(clientId)
          : await this.#store.write(clientId, { ...changes, received: durable.receivedNow() });
      if (refused === undefined) return;
      this.#isIncomplete = true;
      this.#log.error('mqtt-session-not-stored', { clientId, message: refused.message });
      this.#store.index.noteDisconnected(clientId, atMs);
    };
    const detaching = write().finally(() => {
      if (this.#detaching.get(clientId) === detaching) this.#detaching.delete(clientId);
      this.#setDeadline(clientId);
    });
    this.#detaching.set(clientId, detaching);
  }

  /** Nobody is connected any more: all that is under way is written. */
  async close(): Promise<void> {
    this.#due.close();
    this.#connected.close();
    while (this.#detaching.size + this.#work.size > 0) {
      await Promise.all([...this.#detaching.values(), ...this.#work.values()]);
    }
    await this.tail.close();
  }

  #setDeadline(clientId: string): void {
    if (this.#options.clients.get(clientId)?.session?.durable !== undefined) return;
    this.#due.set(clientId);
  }

  #expire(clientId: string): void {
    const work = this.exclusively(clientId, async () => {
      if (!this.#store.index.has(clientId) || this.#options.clients.has(clientId)) return;
      try {
        await this.#detaching.get(clientId);
        await this.#doWhatIsDue(clientId);
      } finally {
        this.#due.tried(clientId);
      }
    });
    work.catch((error: unknown) => this.#log.error('mqtt-session-not-ended', { clientId, error }));
  }

  async #doWhatIsDue(clientId: string): Promise<void> {
    const { index } = this.#store;
    if (index.deadlineMs(clientId) > this.#clock.now()) {
      if (index.willDeadlineMs(clientId) <= this.#clock.now()) await this.#releaseWill(clientId);
      return;
    }
    const refused = await this.end(clientId);
    if (refused !== undefined) {
      this.#log.error('mqtt-session-not-ended', { clientId, message: refused.message });
      return;
    }
    this.#options.resumption.counters.sessionsExpired++;
    this.#log.info('mqtt-session-expired', { clientId });
  }

  /** See {@link ReceivedTail}. Undefined when something could not be written. */
  async #checkpointReceived(): Promise<readonly Place[] | undefined> {
    const written = await this.#connected.writeReceived();
    // Of those that have left, all that is known is on its way too.
    await Promise.all(this.#detaching.values());
    if (this.#isIncomplete || written.includes(undefined)) return undefined;
    return written.flatMap((unsettled) => unsettled ?? []);
  }
}
