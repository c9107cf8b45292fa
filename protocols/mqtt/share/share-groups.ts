// All shared subscriptions (section 4.8.2): a group is in memory while a member is connected; while none is, there is its
// record, and the log keeps what it has to get. A group whose last member has ended its session, or its subscription, is
// gone.
import type { Hub, Partition, Refused, Timer } from '../../port.ts';
import { CatchUp } from '../catch-up.ts';
import type { MqttCounters } from '../counters.ts';
import type { Dispatchers } from '../dispatchers.ts';
import type { Mappings } from '../mapping/mappings.ts';
import { FlushQueue, Output, OutputBuffers } from '../output.ts';
import type { RecordReader } from '../record-reader.ts';
import type { Session, SessionSubscription } from '../session.ts';
import type { Place } from '../sessions/session-records.ts';
import { isShared, sharedFilterOf } from '../topic-filter.ts';
import { SharedGroup } from './share-group.ts';
import { SharedMembership } from './share-membership.ts';
import { decodeGroup, encodeGroup } from './share-record.ts';

/** Places of groups are written this often: after a crash what came since comes again. */
const TOUCHED_INTERVAL_MS = 1000;

/** Records of groups; see sessions/session-store.ts. */
export interface GroupRecords {
  all(): Iterable<readonly [string, Buffer]>;
  /** null removes it. Never rejects. */
  write(filter: string, value: Buffer | null): Promise<undefined | Refused>;
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
}

interface Known {
  cursors: readonly Place[];
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
    for (const [filter, value] of options.records.all()) {
      try {
        const { cursors, owed, memberIds } = decodeGroup(value);
        this.#known.set(filter, { cursors, owed, memberIds: new Set(memberIds), isStored: true });
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
    const known: Known = { cursors, owed: [], memberIds: new Set(), isStored: false };
    this.#known.set(filter, known);
    return known;
  }

  #open(filter: string): SharedGroup {
    const { hub, dispatchers, counters, mappings, reader, followBytesMax } = this.#options;
    const known = this.#known.get(filter) ?? this.#begin(filter);
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
    group.lag = new CatchUp(group, { hub, reader, counters, mappings, followBytesMax });
    this.#groups.set(filter, group);
    const subscription = {
      filter: sharedFilterOf(filter),
      qos: 2,
      noLocal: false,
      retainAsPublished: false,
      identifier: 0,
      starts: known.cursors,
    } as const;
    dispatchers.restore(group, [subscription], known.cursors);
    group.lag.start();
    return group;
  }

  /** A group without a member that is connected leaves the memory; one without any is gone. */
  #settle(filter: string): void {
    const known = this.#known.get(filter);
    if (known === undefined) return;
    const group = this.#groups.get(filter);
    if (group !== undefined && group.memberCount > 0) return;
    if (group !== undefined) {
      known.cursors = group.cursors();
      known.owed = group.owed();
      group.close();
      this.#options.dispatchers.forget(group);
      this.#groups.delete(filter);
    }
    this.#touched.delete(filter);
    if (known.memberIds.size > 0) {
      if (group !== undefined) this.#write(filter);
      return;
    }
    this.#known.delete(filter);
    if (known.isStored) this.#track(this.#options.records.write(filter, null));
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

  #write(filter: string): Promise<undefined | Refused> {
    const known = this.#known.get(filter);
    if (known === undefined) return Promise.resolve(undefined);
    const group = this.#groups.get(filter);
    known.cursors = group?.cursors() ?? known.cursors;
    known.owed = group?.owed() ?? known.owed;
    known.isStored = true;
    return this.#track(this.#options.records.write(filter, encodeGroup(known)));
  }

  #track(write: Promise<undefined | Refused>): Promise<undefined | Refused> {
    const { log } = this.#options.hub;
    const tracked = write.then((refused) => {
      this.#writes.delete(tracked);
      // An old place means messages that come again, and nothing else.
      if (refused !== undefined) log.error('mqtt-shared-not-stored', refused);
      return refused;
    });
    this.#writes.add(tracked);
    return tracked;
  }
}

function endOf({ topicId, partition, highWatermark }: Partition): Place {
  return { topicId, partition, offset: highWatermark };
}

/** A group sends nothing itself. */
const NOWHERE = { writableLength: 0, write: () => true, cork: () => undefined, uncork: () => undefined };
const NO_BUFFERS = new OutputBuffers();
const NO_QUEUE = new FlushQueue(() => undefined);
