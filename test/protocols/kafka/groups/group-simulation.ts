// A group with a simulated clock: requests are function calls, answers are looked up by ticket, timers fire when the
// test lets time pass, and records wait until the test says that they are on disk or refused.

import type { ErrorCode } from '../../../../protocols/kafka/error-codes.ts';
import type {
  Effect,
  GroupRecord,
  GroupSettings,
  JoinAnswer,
  RecordPurpose,
  SyncAnswer,
  TimerKey,
  Turn,
} from '../../../../protocols/kafka/groups/effects.ts';
import { createGroup, type Group, type JoinRequest } from '../../../../protocols/kafka/groups/group.ts';
import { joinGroup } from '../../../../protocols/kafka/groups/join.ts';
import {
  checkCommit,
  heartbeat,
  type Leaver,
  leaveGroup,
  type MemberClaim,
} from '../../../../protocols/kafka/groups/membership.ts';
import {
  joinTimerFired,
  memberTimerFired,
  syncTimerFired,
} from '../../../../protocols/kafka/groups/rebalance.ts';
import {
  applyGroupRecord,
  groupNotRecorded,
  groupRecorded,
  syncGroup,
} from '../../../../protocols/kafka/groups/sync.ts';

const SETTINGS: GroupSettings = {
  minSessionTimeoutMs: 6_000,
  maxSessionTimeoutMs: 1_800_000,
  initialRebalanceDelayMs: 3_000,
  membersMax: 5,
};

interface PendingRecord {
  readonly record: GroupRecord;
  readonly purpose: RecordPurpose;
}

export interface JoinOptions extends Partial<Omit<JoinRequest, 'protocols'>> {
  /** Name → metadata. */
  readonly protocols?: Readonly<Record<string, string>>;
}

export class GroupSimulation {
  nowMs = 1_000_000;
  group: Group;
  readonly settings: GroupSettings;
  readonly joins = new Map<number, JoinAnswer>();
  readonly syncs = new Map<number, SyncAnswer>();
  readonly records: PendingRecord[] = [];
  /** Records are on disk and applied at once, unless a test holds them. */
  holdsRecords = false;
  readonly #timers = new Map<TimerKey, number>();
  #lastTicket = 0;
  #lastMember = 0;

  constructor(settings: Partial<GroupSettings> = {}, group = createGroup('g', 1_000_000)) {
    this.settings = { ...SETTINGS, ...settings };
    this.group = group;
  }

  /** Sends JoinGroup; returns its ticket. A member id of '' gets the next of m1, m2, … */
  join(memberId = '', options: JoinOptions = {}): number {
    const ticket = ++this.#lastTicket;
    const { protocols = { range: 'topics' }, ...rest } = options;
    const request: JoinRequest = {
      memberId,
      newMemberId: `m${++this.#lastMember}`,
      groupInstanceId: null,
      clientId: 'client',
      clientHost: '/127.0.0.1',
      protocolType: 'consumer',
      protocols: Object.entries(protocols).map(([name, metadata]) => ({
        name,
        metadata: Buffer.from(metadata),
      })),
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      requiresKnownMemberId: false,
      supportsSkippingAssignment: false,
      ...rest,
    };
    this.#run((turn) => joinGroup(this.group, request, ticket, turn));
    return ticket;
  }

  sync(
    memberId: string,
    generation: number,
    assignments: Readonly<Record<string, string>> = {},
    protocol: { readonly protocolType?: string; readonly protocolName?: string } = {},
  ): number {
    const ticket = ++this.#lastTicket;
    const request = {
      ...{ memberId, generation, groupInstanceId: null, protocolType: null, protocolName: null, ...protocol },
      assignments: new Map(Object.entries(assignments).map(([id, text]) => [id, Buffer.from(text)] as const)),
    };
    this.#run((turn) => syncGroup(this.group, request, ticket, turn));
    return ticket;
  }

  heartbeat(memberId: string, generation: number, groupInstanceId: string | null = null): ErrorCode {
    return this.#run((turn) => heartbeat(this.group, { memberId, generation, groupInstanceId }, turn));
  }

  commit(claim: Partial<MemberClaim>): ErrorCode {
    const whole = { memberId: '', groupInstanceId: null, generation: -1, ...claim };
    return this.#run((turn) => checkCommit(this.group, whole, turn));
  }

  leave(...leavers: (string | Leaver)[]): ErrorCode[] {
    const whole = leavers.map((leaver) =>
      typeof leaver === 'string' ? { memberId: leaver, groupInstanceId: null } : leaver,
    );
    return this.#run((turn) => leaveGroup(this.group, whole, turn));
  }

  /** Lets time pass; timers fire in their order. */
  pass(durationMs: number): void {
    const endMs = this.nowMs + durationMs;
    for (;;) {
      const due = [...this.#timers].filter(([, atMs]) => atMs <= endMs).sort((a, b) => a[1] - b[1])[0];
      if (due === undefined) break;
      const [key, atMs] = due;
      this.nowMs = Math.max(this.nowMs, atMs);
      this.#timers.delete(key);
      this.#run((turn) => {
        if (key === 'join') joinTimerFired(this.group, turn);
        else if (key === 'sync') syncTimerFired(this.group, turn);
        else memberTimerFired(this.group, key.slice('member '.length), turn);
      });
    }
    this.nowMs = endMs;
  }

  /** The oldest record that waits is on disk, or refused with a code. */
  settleRecord(errorCode?: ErrorCode): void {
    const { record, purpose } = this.records.shift()!;
    if (errorCode === undefined) applyGroupRecord(this.group, record, this.nowMs);
    this.#run((turn) => {
      if (errorCode === undefined) groupRecorded(this.group, record, purpose, turn);
      else groupNotRecorded(this.group, record, purpose, errorCode, turn);
    });
  }

  answerTo(joinTicket: number): JoinAnswer {
    const answer = this.joins.get(joinTicket);
    if (answer === undefined) throw new Error(`join ${joinTicket} is not answered`);
    return answer;
  }

  assignmentTo(syncTicket: number): string {
    const answer = this.syncs.get(syncTicket);
    return answer === undefined
      ? 'waits'
      : answer.errorCode !== 0
        ? `${answer.errorCode}`
        : `${answer.assignment}`;
  }

  /** `count` members in a stable group of generation 1, each assigned its own id. */
  static stable(count: number, settings: Partial<GroupSettings> = {}): GroupSimulation {
    const simulation = new GroupSimulation(settings);
    for (let index = 0; index < count; index++) simulation.join();
    simulation.pass(simulation.settings.initialRebalanceDelayMs * 2);
    simulation.syncAll();
    return simulation;
  }

  /** Everyone of the current round syncs, the leader first. */
  syncAll(): void {
    const { members, leaderId, generation } = this.group;
    const ids = [...members.keys()];
    this.sync(leaderId!, generation, Object.fromEntries(ids.map((id) => [id, `for ${id}`])));
    for (const id of ids) if (id !== leaderId) this.sync(id, generation);
  }

  #run<Result>(decide: (turn: Turn) => Result): Result {
    const turn: Turn = { nowMs: this.nowMs, settings: this.settings, effects: [] };
    const result = decide(turn);
    for (const effect of turn.effects) this.#carryOut(effect);
    while (!this.holdsRecords && this.records.length > 0) this.settleRecord();
    return result;
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'join-answer':
        if (this.joins.has(effect.ticket)) throw new Error(`join ${effect.ticket} is answered twice`);
        this.joins.set(effect.ticket, effect.answer);
        break;
      case 'sync-answer':
        if (this.syncs.has(effect.ticket)) throw new Error(`sync ${effect.ticket} is answered twice`);
        this.syncs.set(effect.ticket, effect.answer);
        break;
      case 'set-timer':
        this.#timers.set(effect.key, this.nowMs + effect.delayMs);
        break;
      case 'clear-timer':
        this.#timers.delete(effect.key);
        break;
      case 'record':
        this.records.push(effect);
        break;
    }
  }
}
