// Owns the groups of this node: hands each request to the group functions, and carries out what they ask for:
// answers, timers, records. Between a decision and its effects there is no await.

import type { Hub, Timer } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { ClientShares } from './client-shares.ts';
import type { ConsumerSettings } from './consumer/turn.ts';
import { ConsumerCoordinator } from './consumer-coordinator.ts';
import {
  type Effect,
  type GroupSettings,
  type JoinAnswer,
  type RecordPurpose,
  refuseJoin,
  refuseSync,
  type SyncAnswer,
  type TimerKey,
  type Turn,
} from './effects.ts';
import { createGroup, type Group, heldBytesOf, type JoinRequest, protocolBytesOf } from './group.ts';
import { type GroupEntry, GroupStore, isUsed } from './group-store.ts';
import { joinGroup } from './join.ts';
import { heartbeat, type Leaver, leaveGroup, type MemberClaim } from './membership.ts';
import { joinTimerFired, memberTimerFired, rebalance, startSession, syncTimerFired } from './rebalance.ts';
import { encodeGroup } from './state-records.ts';
import { applyGroupRecord, groupNotRecorded, groupRecorded, type SyncRequest, syncGroup } from './sync.ts';

export interface CoordinatorSettings extends GroupSettings {
  readonly groupsMax: number;
  /** Groups that clients of one address may have made since the start, so that none makes all there can be. */
  readonly groupsPerClientMax: number;
  readonly consumer: ConsumerSettings;
  /** What one member may take with its protocols, and one leader with the assignments of all. */
  readonly memberBytesMax: number;
  readonly assignmentBytesMax: number;
  /** What all members of all groups may take together. */
  readonly heldBytesMax: number;
}

const MEMBER_TIMER_PREFIX = 'member ';

export class GroupCoordinator {
  readonly #hub: Hub;
  readonly #settings: CoordinatorSettings;
  readonly #store: GroupStore;
  readonly #consumers: ConsumerCoordinator;
  readonly #shares: ClientShares;
  readonly #timers = new Map<GroupEntry, Map<TimerKey, Timer>>();
  readonly #joins = new Map<number, (answer: JoinAnswer) => void>();
  readonly #syncs = new Map<number, (answer: SyncAnswer) => void>();
  #lastTicket = 0;
  /** Of all groups together, as far as clients decide it. */
  #heldBytes = 0;
  #isDraining = false;

  private constructor(hub: Hub, settings: CoordinatorSettings) {
    this.#hub = hub;
    this.#settings = settings;
    this.#shares = new ClientShares(() => settings.groupsPerClientMax);
    this.#store = new GroupStore(hub, {
      serving: (entry) => this.#serve(entry),
      dropped: (entry) => this.#drop(entry),
    });
    this.#consumers = new ConsumerCoordinator(hub, settings.consumer, this.#store, {
      availability: (groupId) => this.availability(groupId),
      create: (groupId, client) => this.create(groupId, client),
      memberFault: (memberBytes) => this.#memberFault(memberBytes),
      release: (entry) => this.#release(entry, ERROR_CODES.REBALANCE_IN_PROGRESS),
      adopt: (entry, record) => {
        entry.group = createGroup(entry.groupId, hub.clock.now());
        applyGroupRecord(entry.group, record, hub.clock.now());
        this.#serve(entry);
        this.#act(entry, (turn) => rebalance(entry.group, turn));
      },
      resume: (entry) => this.#serve(entry),
      count: (entry) => this.#count(entry),
    });
  }

  static async open(hub: Hub, settings: CoordinatorSettings): Promise<GroupCoordinator> {
    const coordinator = new GroupCoordinator(hub, settings);
    await coordinator.#store.load();
    return coordinator;
  }

  get store(): GroupStore {
    return this.#store;
  }

  /** A new id for a member: the client's name for people, a uuid for uniqueness. */
  newMemberId(prefix: string): string {
    return `${prefix.slice(0, 200)}-${this.#hub.random.uuid()}`;
  }

  join(groupId: string, request: JoinRequest): Promise<JoinAnswer> {
    return new Promise((resolve) => {
      const refuse = (code: ErrorCode): void => {
        const turn = this.#turn();
        refuseJoin(turn, this.#ticket(this.#joins, resolve), code, request.memberId);
        this.#carryOut(undefined, turn.effects);
      };
      const fault = this.#joinFault(groupId, request);
      if (fault !== ERROR_CODES.NONE) return refuse(fault);
      // Only a member without an id makes a group; one that has an id was in a group that is gone.
      const isFirst = request.memberId === '';
      const entry =
        this.#store.get(groupId) ?? (isFirst ? this.create(groupId, request.clientHost) : undefined);
      if (entry === undefined)
        return refuse(isFirst ? ERROR_CODES.POLICY_VIOLATION : ERROR_CODES.UNKNOWN_MEMBER_ID);
      if (entry.consumer !== undefined && entry.consumer.members.size > 0) {
        const rejoin = (memberId: string) => this.join(groupId, { ...request, memberId });
        return resolve(this.#consumers.joinClassic(entry, request, rejoin));
      }
      // A group that the consumer protocol has left empty is anybody's.
      if (entry.consumer !== undefined) void this.#consumers.erase(entry);
      this.#act(entry, (turn) => joinGroup(entry.group, request, this.#ticket(this.#joins, resolve), turn));
      this.#count(entry);
    });
  }

  #joinFault(groupId: string, request: JoinRequest): ErrorCode {
    const availability = this.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#settings;
    if (request.sessionTimeoutMs < minSessionTimeoutMs || request.sessionTimeoutMs > maxSessionTimeoutMs)
      return ERROR_CODES.INVALID_SESSION_TIMEOUT;
    return this.#memberFault(protocolBytesOf(request.protocols));
  }

  #memberFault(memberBytes: number): ErrorCode {
    if (memberBytes > this.#settings.memberBytesMax) return ERROR_CODES.MESSAGE_TOO_LARGE;
    return this.#heldBytes + memberBytes > this.#settings.heldBytesMax
      ? ERROR_CODES.GROUP_MAX_SIZE_REACHED
      : ERROR_CODES.NONE;
  }

  sync(groupId: string, request: SyncRequest): Promise<SyncAnswer> {
    return new Promise((resolve) => {
      const fault = this.#syncFault(groupId, request);
      const entry = this.#store.get(groupId);
      if (fault === ERROR_CODES.NONE && entry?.consumer !== undefined)
        return resolve(this.#consumers.syncClassic(entry, request));
      if (fault === ERROR_CODES.NONE && entry !== undefined) {
        this.#act(entry, (turn) => syncGroup(entry.group, request, this.#ticket(this.#syncs, resolve), turn));
        return;
      }
      const turn = this.#turn();
      const code = fault === ERROR_CODES.NONE ? ERROR_CODES.UNKNOWN_MEMBER_ID : fault;
      refuseSync(turn, this.#ticket(this.#syncs, resolve), code);
      this.#carryOut(undefined, turn.effects);
    });
  }

  #syncFault(groupId: string, request: SyncRequest): ErrorCode {
    const availability = this.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    let assignmentBytes = 0;
    for (const assignment of request.assignments.values()) assignmentBytes += assignment.length;
    return assignmentBytes > this.#settings.assignmentBytesMax
      ? ERROR_CODES.MESSAGE_TOO_LARGE
      : ERROR_CODES.NONE;
  }

  heartbeat(groupId: string, claim: MemberClaim): ErrorCode {
    const availability = this.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    const entry = this.#store.get(groupId);
    if (entry === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    if (entry.consumer !== undefined) return this.#consumers.heartbeatClassic(entry, claim);
    return this.#act(entry, (turn) => heartbeat(entry.group, claim, turn));
  }

  /** A code for the whole request, or one per leaver. */
  leave(groupId: string, leavers: readonly Leaver[]): ErrorCode | readonly ErrorCode[] {
    const availability = this.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    const entry = this.#store.get(groupId);
    if (entry === undefined) return leavers.map(() => ERROR_CODES.UNKNOWN_MEMBER_ID);
    if (entry.consumer !== undefined) return this.#consumers.leaveClassic(entry, leavers);
    const codes = this.#act(entry, (turn) => leaveGroup(entry.group, leavers, turn));
    this.#count(entry);
    return codes;
  }

  /** What groups of the consumer protocol do. */
  get consumers(): ConsumerCoordinator {
    return this.#consumers;
  }

  availability(groupId: string): ErrorCode {
    return this.#isDraining ? ERROR_CODES.NOT_COORDINATOR : this.#store.availability(groupId);
  }

  /** Undefined when there are as many groups as there may be. */
  create(groupId: string, client: string): GroupEntry | undefined {
    const { groupsMax } = this.#settings;
    if (this.#store.size < groupsMax && this.#shares.hasRoom(client)) {
      const entry = this.#store.create(groupId);
      this.#shares.add(entry, client);
      return entry;
    }
    this.#hub.log.warn('group-not-created', { group: groupId, client, max: groupsMax });
    return undefined;
  }

  /** Decides something about a group and carries out what follows from it. */
  act<Result>(entry: GroupEntry, decide: (group: Group, turn: Turn) => Result): Result {
    return this.#act(entry, (turn) => decide(entry.group, turn));
  }

  /** Members that wait are told to look for the coordinator again; from now on nobody is served. */
  drain(): void {
    this.#isDraining = true;
    const turn = this.#turn();
    for (const ticket of this.#joins.keys()) refuseJoin(turn, ticket, ERROR_CODES.NOT_COORDINATOR, '');
    for (const ticket of this.#syncs.keys()) refuseSync(turn, ticket, ERROR_CODES.NOT_COORDINATOR);
    this.#carryOut(undefined, turn.effects);
    this.close();
  }

  close(): void {
    for (const timers of this.#timers.values()) for (const timer of timers.values()) timer.cancel();
    this.#timers.clear();
    this.#consumers.close();
  }

  #turn(): Turn {
    return { nowMs: this.#hub.clock.now(), settings: this.#settings, effects: [] };
  }

  #ticket<Answer>(waiting: Map<number, (answer: Answer) => void>, resolve: (answer: Answer) => void): number {
    const ticket = ++this.#lastTicket;
    waiting.set(ticket, resolve);
    return ticket;
  }

  #act<Result>(entry: GroupEntry, decide: (turn: Turn) => Result): Result {
    const turn = this.#turn();
    const result = decide(turn);
    this.#carryOut(entry, turn.effects);
    this.forgetIfUnused(entry);
    return result;
  }

  /** After members may have come, gone or changed. */
  #count(entry: GroupEntry): void {
    let heldBytes = 0;
    if (this.#store.get(entry.groupId) === entry) heldBytes += heldBytesOf(entry.group);
    if (entry.consumer !== undefined) heldBytes += entry.consumer.heldBytes;
    this.#heldBytes += heldBytes - entry.heldBytes;
    entry.heldBytes = heldBytes;
  }

  /** A group of which nothing is written and in which nobody is leaves nothing behind. */
  forgetIfUnused(entry: GroupEntry): void {
    if (!isUsed(entry) && this.#store.get(entry.groupId) === entry) this.#store.forget(entry);
  }

  #carryOut(entry: GroupEntry | undefined, effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'join-answer':
          this.#joins.get(effect.ticket)?.(effect.answer);
          this.#joins.delete(effect.ticket);
          break;
        case 'sync-answer':
          this.#syncs.get(effect.ticket)?.(effect.answer);
          this.#syncs.delete(effect.ticket);
          break;
        case 'set-timer':
          if (entry !== undefined) this.#setTimer(entry, effect.key, effect.delayMs);
          break;
        case 'clear-timer':
          if (entry !== undefined) this.#clearTimer(entry, effect.key);
          break;
        case 'record':
          if (entry !== undefined) void this.#record(entry, effect.record, effect.purpose);
          break;
        default:
          effect satisfies never;
      }
    }
  }

  async #record(
    entry: GroupEntry,
    record: Parameters<typeof groupRecorded>[1],
    purpose: RecordPurpose,
  ): Promise<void> {
    const { group } = entry;
    entry.recordsInFlight++;
    const code = await this.#store.write(entry, [encodeGroup(group.groupId, record)]);
    entry.recordsInFlight--;
    // The group may have gone on in the other protocol meanwhile.
    if (this.#store.get(group.groupId) !== entry || entry.group !== group || this.#isDraining) return;
    this.#act(entry, (turn) => {
      if (code === ERROR_CODES.NONE) groupRecorded(group, record, purpose, turn);
      else groupNotRecorded(group, record, purpose, code, turn);
    });
    this.#count(entry);
  }

  #setTimer(entry: GroupEntry, key: TimerKey, delayMs: number): void {
    this.#clearTimer(entry, key);
    const timers = this.#timers.get(entry) ?? new Map<TimerKey, Timer>();
    this.#timers.set(entry, timers);
    const timer = this.#hub.clock.setTimer(delayMs, () => {
      timers.delete(key);
      this.#act(entry, (turn) => timerFired(entry.group, key, turn));
      this.#count(entry);
    });
    timers.set(key, timer);
  }

  #clearTimer(entry: GroupEntry, key: TimerKey): void {
    const timers = this.#timers.get(entry);
    timers?.get(key)?.cancel();
    timers?.delete(key);
  }

  /** After a restart members are given their whole session to say that they are still there. */
  #serve(entry: GroupEntry): void {
    if (entry.consumer !== undefined) this.#consumers.serve(entry, entry.consumer);
    this.#act(entry, (turn) => {
      for (const member of entry.group.members.values()) startSession(member, turn);
    });
    this.#count(entry);
  }

  #drop(entry: GroupEntry): void {
    this.#heldBytes -= entry.heldBytes;
    entry.heldBytes = 0;
    this.#shares.remove(entry);
    this.#consumers.disown(entry);
    this.#release(entry, ERROR_CODES.NOT_COORDINATOR);
    entry.group.state = 'dead';
  }

  /** Nobody waits in the group any more, and none of its timers fires. */
  #release(entry: GroupEntry, code: ErrorCode): void {
    for (const timer of this.#timers.get(entry)?.values() ?? []) timer.cancel();
    this.#timers.delete(entry);
    const turn = this.#turn();
    const { group } = entry;
    for (const { ticket } of group.replacements.values()) refuseJoin(turn, ticket, code, '');
    group.replacements.clear();
    for (const member of group.members.values()) {
      const { joinTicket, syncTicket, memberId } = member;
      if (joinTicket !== undefined) refuseJoin(turn, joinTicket, code, memberId);
      if (syncTicket !== undefined) refuseSync(turn, syncTicket, code);
      member.joinTicket = undefined;
      member.syncTicket = undefined;
    }
    this.#carryOut(undefined, turn.effects);
  }
}

function timerFired(group: Group, key: TimerKey, turn: Turn): void {
  if (key === 'join') joinTimerFired(group, turn);
  else if (key === 'sync') syncTimerFired(group, turn);
  else memberTimerFired(group, key.slice(MEMBER_TIMER_PREFIX.length), turn);
}
