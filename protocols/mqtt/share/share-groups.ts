// All shared subscriptions (section 4.8.2): a group is in memory while a member is connected; while none is, there is its
// record, and the log keeps what it has to get. A group whose last member has ended its session, or its subscription, is
// gone.
import type { Hub, Partition, Refused, Timer } from '../../port.ts';
import type { LagLimits } from '../catch-up.ts';
import { CatchUp } from '../catch-up.ts';
import type { MqttCounters } from '../counters.ts';
import type { Dispatchers } from '../dispatchers.ts';
import type { Mappings } from '../mapping/mappings.ts';
import { FlushQueue, Output, OutputBuffers } from '../output.ts';
import type { RecordReader } from '../record-reader.ts';
import type { Session, SessionSubscription } from '../session.ts';
import type { CursorChange } from '../sessions/cursor-changes.ts';
import { CursorChanges } from '../sessions/cursor-changes.ts';
import type { Place } from '../sessions/places.ts';
import { decodePlaces, encodePlaces } from '../sessions/places.ts';
import { isShared, sharedFilterOf } from '../topic-filter.ts';
import { SharedGroup } from './share-group.ts';
import { SharedMembership } from './share-membership.ts';
import type { GroupChanges, GroupValues } from './share-record.ts';
import { decodeGroup, encodeGroup } from './share-record.ts';

/** Places of groups are written this often: after a crash what came since comes again. */
const TOUCHED_INTERVAL_MS = 1000;

/** All cursors of a group are written so often, and in between those of partitions that it was sent something from. */
const COMPLETE_INTERVAL_MS = 60_000;
/** A write has failed: what is on disk is no name of positions. */
const UNKNOWN_BASE = '';
const NO_PLACES = encodePlaces([]);

/** Records of groups; see sessions/session-store.ts. */
export interface GroupRecords {
  /** What there was at the start; given away once. */
  take(): Iterable<readonly [filter: string, values: GroupValues]>;
  /** null removes one, undefined leaves it. Never rejects. */
  write(filter: string, changes: GroupChanges): Promise<undefined | Refused>;
}

export interface SharedGroupsOptions {
  readonly hub: Hub;
  readonly dispatchers: Dispatchers;
  readonly counters: MqttCounters;
  readonly mappings: Mappings;
  readonly reader: RecordReader;
  readonly records: GroupRecords;
  readonly followBytesMax: number;
  readonly groupsMax: number;
  readonly queueLimits: LagLimits;
}

interface Known {
  /** All cursors while nobody is connected; see encodePlaces. */
  places: Buffer;
  /** How they are on disk: against positions of this name … */
  baseId: string | undefined;
  /** … so many differ. */
  named: readonly Place[];
  owed: readonly Place[];
  /** Clients whose sessions outlive their connections. */
  readonly memberIds: Set<string>;
  isStored: boolean;
}

export class SharedGroups {
  readonly #options: SharedGroupsOptions;
  /** By the whole filter. */
  readonly #known = new Map<string, Known>();
  readonly #groups = new Map<string, SharedGroup>();
  readonly #writes = new Set<Promise<unknown>>();
  readonly #touched = new Set<string>();
  #timer: Timer | undefined;

  constructor(options: SharedGroupsOptions) {
    this.#options = options;
    for (const [filter, { group, cursors: base }] of options.records.take()) {
      // Compaction has left one without the other.
      if (group === undefined) continue;
      try {
        const stored = decodeGroup(group, base);
        this.#known.set(filter, {
          places: encodePlaces(stored.cursors),
          baseId: stored.base?.id,
          named: stored.named,
          owed: stored.owed,
          memberIds: new Set(stored.memberIds),
          isStored: true,
        });
      } catch (error) {
        options.hub.log.error('mqtt-shared-unreadable', { filter, error });
      }
    }
  }

  /** Whether there is no room for a group that is not there yet. */
  isFull(filter: string): boolean {
    return this.#known.size >= this.#options.groupsMax && !this.#known.has(filter);
  }

  /**
   * The group is there from now on: what is committed later is for it. A promise when that has to be on disk first, as it
   * has for a session that outlives its connection.
   */
  prepare(filter: string, session: Session): undefined | Promise<undefined | Refused> {
    const known = this.#known.get(filter) ?? this.#begin(filter);
    if (session.durable === undefined || known.memberIds.has(session.clientId)) return undefined;
    known.memberIds.add(session.clientId);
    return this.#write(filter);
  }

  /** After {@link prepare}. */
  join(session: Session, subscription: SessionSubscription): void {
    const { filter } = subscription;
    const group = this.#groups.get(filter) ?? this.#open(filter);
    const membership = this.#membershipOf(session);
    membership.groups.set(filter, group);
    group.join(session, membership, subscription);
  }

  /** A session that goes on joins the groups that it was in. */
  rejoin(session: Session): void {
    for (const subscription of session.subscriptions.values()) {
      if (!isShared(subscription.filter)) continue;
      void this.prepare(subscription.filter, session); // never rejects
      this.join(session, subscription);
    }
  }

  /** The client has unsubscribed, or its subscription was refused. */
  leave(session: Session, filter: string): void {
    const known = this.#known.get(filter);
    if (known === undefined) return;
    known.memberIds.delete(session.clientId);
    session.shared?.groups.delete(filter);
    this.#groups.get(filter)?.leave(session);
    this.#settle(filter);
    if (known.isStored && this.#known.has(filter)) this.#write(filter);
  }

  /** The session is over. */
  forgetClient(clientId: string): void {
    for (const [filter, known] of this.#known) {
      if (!known.memberIds.delete(clientId)) continue;
      this.#settle(filter);
      if (this.#known.has(filter)) this.#write(filter);
    }
  }

  /** All that is under way is written. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#writeTouched();
    while (this.#writes.size > 0) await Promise.all(this.#writes);
    for (const group of this.#groups.values()) group.close();
  }

  #membershipOf(session: Session): SharedMembership {
    session.shared ??= new SharedMembership((membership) => {
      for (const filter of membership.groups.keys()) {
        this.#groups.get(filter)?.leave(session);
        this.#settle(filter);
      }
    });
    // Made here alone.
    return session.shared as SharedMembership;
  }

  #begin(filter: string): Known {
    const cursors: Place[] = [];
    for (const topic of this.#options.hub.topics.list()) {
      if (topic.internal) continue;
      for (const partition of topic.partitions) cursors.push(endOf(partition));
    }
    const known: Known = {
      places: encodePlaces(cursors),
      baseId: undefined,
      named: cursors,
      owed: [],
      memberIds: new Set(),
      isStored: false,
    };
    this.#known.set(filter, known);
    return known;
  }

  #open(filter: string): SharedGroup {
    const { hub, dispatchers, counters, mappings, reader, followBytesMax } = this.#options;
    const known = this.#known.get(filter) ?? this.#begin(filter);
    const cursors = decodePlaces(known.places);
    const group = new SharedGroup({
      session: {
        clientId: filter,
        version: 5,
        principal: { name: 'ANONYMOUS', listener: '', remoteAddress: '' },
        access: hub.access,
        log: hub.log,
        output: new Output(NOWHERE, NO_BUFFERS, NO_QUEUE),
        counters,
        inflightMax: 0,
        packetBytesMax: Number.MAX_SAFE_INTEGER,
        outputBytesMax: 0,
        topicAliasMaximum: 0,
      },
      hub,
      dispatchers,
      reader,
      owed: known.owed,
      onTouched: () => this.#touch(filter),
    });
    const { queueLimits: limits } = this.#options;
    group.lag = new CatchUp(group, { hub, reader, counters, mappings, followBytesMax, limits });
    this.#groups.set(filter, group);
    const subscription = {
      filter: sharedFilterOf(filter),
      qos: 2,
      noLocal: false,
      retainAsPublished: false,
      identifier: 0,
      starts: cursors,
    } as const;
    dispatchers.restore(group, [subscription], cursors);
    const base = known.baseId === undefined ? undefined : { id: known.baseId, places: [] };
    group.changes = new CursorChanges(dispatchers.cursorsFor(group), base, known.named);
    if (known.baseId === UNKNOWN_BASE) group.changes.forgetBase();
    known.places = NO_PLACES;
    known.named = [];
    // What is too old, or too much, is found before the first of it is sent: `CatchUp` asks for that itself.
    group.lag.start();
    return group;
  }

  /** A group without a member that is connected leaves the memory; one without any is gone. */
  #settle(filter: string): void {
    const known = this.#known.get(filter);
    if (known === undefined) return;
    const group = this.#groups.get(filter);
    if (group !== undefined && group.memberCount > 0) return;
    this.#touched.delete(filter);
    if (group !== undefined) {
      if (known.memberIds.size > 0) this.#write(filter, true);
      known.places = encodePlaces(group.cursors());
      group.close();
      this.#options.dispatchers.forget(group);
      this.#groups.delete(filter);
    }
    if (known.memberIds.size > 0) return;
    this.#known.delete(filter);
    if (known.isStored)
      this.#track(this.#options.records.write(filter, { group: null, cursors: null }), known);
  }

  #touch(filter: string): void {
    if ((this.#known.get(filter)?.memberIds.size ?? 0) === 0) return;
    this.#touched.add(filter);
    this.#timer ??= this.#options.hub.clock.setTimer(TOUCHED_INTERVAL_MS, () => this.#writeTouched());
  }

  #writeTouched(): void {
    this.#timer = undefined;
    for (const filter of this.#touched) this.#write(filter);
    this.#touched.clear();
  }

  /** @param isComplete all cursors as they are now; see ../sessions/cursor-changes.ts */
  #write(filter: string, isComplete = false): Promise<undefined | Refused> {
    const known = this.#known.get(filter);
    if (known === undefined) return Promise.resolve(undefined);
    const group = this.#groups.get(filter);
    known.owed = group?.owed() ?? known.owed;
    known.isStored = true;
    const change =
      group?.changes && takeChange(group.changes, isComplete, this.#options.hub.clock.monotonic());
    const base = change?.base;
    if (base !== undefined) known.baseId = base?.id;
    // Of one that is not in memory, cursors have not changed; all of them are right against whatever positions.
    if (group === undefined && known.baseId === UNKNOWN_BASE) known.named = decodePlaces(known.places);
    const { owed, memberIds } = known;
    const named = change?.cursors ?? known.named;
    if (isComplete) known.named = named;
    const value = encodeGroup({ named, owed, memberIds });
    return this.#track(this.#options.records.write(filter, { group: value, cursors: base?.encode() }), known);
  }

  #track(write: Promise<undefined | Refused>, known: Known): Promise<undefined | Refused> {
    const { log } = this.#options.hub;
    const tracked = write.then((refused) => {
      this.#writes.delete(tracked);
      if (refused === undefined) return undefined;
      // An old place means messages that come again, and nothing else.
      log.error('mqtt-shared-not-stored', refused);
      known.baseId = UNKNOWN_BASE;
      for (const group of this.#groups.values()) group.changes?.forgetBase();
      return refused;
    });
    this.#writes.add(tracked);
    return tracked;
  }
}

function takeChange(changes: CursorChanges, isComplete: boolean, nowMs: number): CursorChange {
  return changes.take(isComplete || changes.isOlderThan(nowMs, COMPLETE_INTERVAL_MS), nowMs);
}

function endOf({ topicId, partition, highWatermark }: Partition): Place {
  return { topicId, partition, offset: highWatermark };
}

/** A group sends nothing itself. */
const NOWHERE = { writableLength: 0, write: () => true, cork: () => undefined, uncork: () => undefined };
const NO_BUFFERS = new OutputBuffers();
const NO_QUEUE = new FlushQueue(() => undefined);
