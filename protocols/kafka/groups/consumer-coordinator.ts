// Owns what groups of the consumer protocol (KIP-848) need besides their values: timers, the queue to the log, the
// topics, the meaning of expressions. It hands each request to the functions of consumer/, and answers when what they
// decided is on disk. Groups change their protocol here.

import type { Hub, StateRecord, Timer } from '../../port.ts';
import { ERROR_CODES, type ErrorCode, errorName } from '../error-codes.ts';
import { heartbeatClassic, joinClassic, leaveClassic, syncClassic } from './consumer/classic-members.ts';
import {
  applyRecord,
  type ConsumerGroup,
  createConsumerGroup,
  isClassicAgain,
  tombstonesOf,
} from './consumer/consumer-group.ts';
import {
  type HeartbeatAnswer,
  type HeartbeatRequest,
  heartbeat,
  heartbeatFault,
} from './consumer/heartbeat.ts';
import { type LeaveRequest, leave, regexesResolved, startSessions, timerFired } from './consumer/members.ts';
import { downgraded, upgrade, upgradeProblem } from './consumer/migration.ts';
import { encodeConsumerRecord } from './consumer/records.ts';
import {
  type ConsumerSettings,
  type ConsumerTimer,
  type ConsumerTimerKind,
  type ConsumerTurn,
  type Fault,
  fault,
  write,
} from './consumer/turn.ts';
import type { GroupRecord, JoinAnswer, SyncAnswer } from './effects.ts';
import { createGroup, type Group, type JoinRequest } from './group.ts';
import type { GroupEntry, GroupStore } from './group-store.ts';
import type { Leaver, MemberClaim } from './membership.ts';
import { RecordQueue } from './record-queue.ts';
import { RegexResolver } from './regex-resolver.ts';
import { encodeGroup } from './state-records.ts';
import type { SyncRequest } from './sync.ts';
import { HubTopics } from './topic-image.ts';

/** What the coordinator of classic groups does for one that changes its protocol. */
export interface ClassicSide {
  availability(groupId: string): ErrorCode;
  /** Undefined when there are as many groups as there may be. */
  create(groupId: string, client: string): GroupEntry | undefined;
  /** Whether a member may take so much memory. */
  memberFault(memberBytes: number): ErrorCode;
  /** Whoever waits in the group's round is told to join again; its timers end. */
  release(entry: GroupEntry): void;
  /** The group goes on in the classic protocol, with a round at once. */
  adopt(entry: GroupEntry, record: GroupRecord): void;
  /** A decision was taken back: timers as after a restart. */
  resume(entry: GroupEntry): void;
  /** Members may have come, gone or changed. */
  count(entry: GroupEntry): void;
}

type Extra = { readonly records: StateRecord[]; readonly undo: (() => void)[] };

export class ConsumerCoordinator {
  readonly #hub: Hub;
  readonly #settings: ConsumerSettings;
  readonly #store: GroupStore;
  readonly #classic: ClassicSide;
  readonly #queue: RecordQueue;
  readonly #topics: HubTopics;
  readonly #resolver: RegexResolver;
  readonly #timers = new Map<GroupEntry, Map<string, Timer>>();

  constructor(hub: Hub, settings: ConsumerSettings, store: GroupStore, classic: ClassicSide) {
    this.#hub = hub;
    this.#settings = settings;
    this.#store = store;
    this.#classic = classic;
    this.#queue = new RecordQueue(store, (entry) => this.#takenBack(entry));
    this.#topics = new HubTopics(hub, ({ name }) => this.#topicChanged(name));
    this.#resolver = new RegexResolver(hub);
  }

  /** ConsumerGroupHeartbeat of a member that is there or joins. */
  async heartbeat(groupId: string, request: HeartbeatRequest): Promise<HeartbeatAnswer | Fault> {
    const matchedTopics = await this.#matchedTopics(groupId, request.topicRegex);
    if ('errorCode' in matchedTopics) return this.#strangerFault(groupId, request) ?? matchedTopics;
    const refused = this.#heartbeatFault(groupId, request);
    if (refused !== undefined) return refused;
    const known = this.#store.get(groupId);
    if (known === undefined && request.memberEpoch !== 0) return noSuchGroup(groupId);
    const entry = known ?? this.#classic.create(groupId, request.clientHost);
    if (entry === undefined) return fault('POLICY_VIOLATION', 'There are as many groups as there may be.');
    const extra: Extra = { records: [], undo: [] };
    const turn = this.#turn();
    const problem = entry.consumer === undefined ? this.#upgrade(entry, request, turn, extra) : undefined;
    if (problem !== undefined) return problem;
    const group = this.#groupOf(entry);
    const answer = heartbeat(group, { ...request, matchedTopics }, turn);
    return this.#finish(entry, group, turn, answer, extra);
  }

  /** Who may not speak for the group is told so, whatever is wrong with what it says. */
  #strangerFault(groupId: string, request: HeartbeatRequest): Fault | undefined {
    const group = this.#store.get(groupId)?.consumer;
    return group === undefined ? undefined : heartbeatFault(group, request, this.#turn());
  }

  #heartbeatFault(groupId: string, request: HeartbeatRequest): Fault | undefined {
    const errorCode = this.#classic.availability(groupId);
    if (errorCode !== ERROR_CODES.NONE) return { errorCode, errorMessage: '' };
    // What says nothing new takes nothing more.
    const memberBytes = bytesOf(request);
    const refused = memberBytes === 0 ? ERROR_CODES.NONE : this.#classic.memberFault(memberBytes);
    if (refused === ERROR_CODES.NONE) return undefined;
    return { errorCode: refused, errorMessage: 'The member would take more memory than it may.' };
  }

  /** The topics that an expression means; a fault when it is none. */
  async #matchedTopics(groupId: string, regex: string | null): Promise<readonly string[] | Fault> {
    if (regex === null || regex === '' || this.#store.get(groupId)?.consumer?.regexes.has(regex)) return [];
    const versionBefore = this.#topics.version;
    const matched = await this.#resolver.match(regex);
    if (matched.problem !== undefined)
      return fault('INVALID_REGULAR_EXPRESSION', `The expression ${matched.problem}.`);
    // Topics that came meanwhile are not looked for in a group that has not had the expression yet.
    return versionBefore === this.#topics.version ? matched.topics : this.#matchedTopics(groupId, regex);
  }

  async leave(groupId: string, request: LeaveRequest): Promise<LeaveRequest | Fault> {
    const errorCode = this.#classic.availability(groupId);
    if (errorCode !== ERROR_CODES.NONE) return { errorCode, errorMessage: '' };
    const entry = this.#store.get(groupId);
    if (entry?.consumer === undefined) return noSuchGroup(groupId);
    const group = entry.consumer;
    const turn = this.#turn();
    return this.#finish(entry, group, turn, leave(group, request, turn));
  }

  /** @param rejoin hands the request to the classic group that this may have become. */
  async joinClassic(
    entry: GroupEntry,
    request: JoinRequest,
    rejoin: (memberId: string) => Promise<JoinAnswer>,
  ): Promise<JoinAnswer> {
    const group = this.#groupOf(entry);
    const turn = this.#turn();
    const answer = joinClassic(group, request, turn);
    const errorCode = await this.#commit(entry, group, turn);
    if (errorCode !== ERROR_CODES.NONE) return { ...answer, errorCode, memberId: request.memberId };
    const isClassicNow = answer.errorCode === ERROR_CODES.NONE && entry.consumer === undefined;
    return isClassicNow ? rejoin(answer.memberId) : answer;
  }

  async syncClassic(entry: GroupEntry, request: SyncRequest): Promise<SyncAnswer> {
    const group = this.#groupOf(entry);
    const turn = this.#turn();
    const answer = syncClassic(group, request, turn);
    const errorCode = await this.#commit(entry, group, turn);
    return errorCode === ERROR_CODES.NONE ? answer : { ...answer, errorCode, assignment: Buffer.alloc(0) };
  }

  /** Answered at once: that topics have changed, which this may find, is nothing that the member is told here. */
  heartbeatClassic(entry: GroupEntry, claim: MemberClaim): ErrorCode {
    const group = this.#groupOf(entry);
    const turn = this.#turn();
    const code = heartbeatClassic(group, claim, turn);
    void this.#commit(entry, group, turn);
    return code;
  }

  leaveClassic(entry: GroupEntry, leavers: readonly Leaver[]): readonly ErrorCode[] {
    const group = this.#groupOf(entry);
    const turn = this.#turn();
    const codes = leaveClassic(group, leavers, turn);
    void this.#commit(entry, group, turn);
    return codes;
  }

  /** A group without members is no group any more, of whichever protocol the next one is. */
  erase(entry: GroupEntry, records: readonly StateRecord[] = []): Promise<ErrorCode> {
    const group = this.#groupOf(entry);
    const turn = this.#turn();
    for (const record of tombstonesOf(group)) write(group, turn, record);
    entry.consumer = undefined;
    const undo = [() => this.#restore(entry, group)];
    return this.#commit(entry, group, turn, { records: [...records], undo });
  }

  /** After a restart: sessions begin, and expressions are looked at again, for topics may have changed. */
  serve(entry: GroupEntry, group: ConsumerGroup): void {
    const turn = this.#turn();
    startSessions(group, turn);
    void this.#commit(entry, group, turn);
    for (const regex of group.regexes.keys()) void this.#refreshRegex(entry, group, regex, undefined);
  }

  disown(entry: GroupEntry): void {
    for (const timer of this.#timers.get(entry)?.values() ?? []) timer.cancel();
    this.#timers.delete(entry);
  }

  close(): void {
    for (const entry of [...this.#timers.keys()]) this.disown(entry);
    this.#topics.close();
  }

  #turn(): ConsumerTurn {
    return {
      nowMs: this.#hub.clock.now(),
      settings: this.#settings,
      topics: this.#topics,
      ...{ records: [], undo: [], timers: [] },
    };
  }

  #groupOf(entry: GroupEntry): ConsumerGroup {
    // Whoever calls has looked; there is no await between.
    if (entry.consumer === undefined) throw new Error(`${entry.groupId} is not of the consumer protocol`);
    return entry.consumer;
  }

  async #finish<Answer extends object>(
    entry: GroupEntry,
    group: ConsumerGroup,
    turn: ConsumerTurn,
    answer: Answer | Fault,
    extra?: Extra,
  ): Promise<Answer | Fault> {
    const code = await this.#commit(entry, group, turn, extra);
    if (code === ERROR_CODES.NONE) return answer;
    return { errorCode: code, errorMessage: `The group's state could not be written: ${errorName(code)}.` };
  }

  #commit(entry: GroupEntry, group: ConsumerGroup, turn: ConsumerTurn, extra?: Extra): Promise<ErrorCode> {
    const more = extra ?? { records: [], undo: [] };
    if (entry.consumer === group && turn.records.length > 0 && isClassicAgain(group))
      this.#downgrade(entry, group, turn, more);
    if (entry.consumer === group) this.#setTimers(entry, turn.timers);
    const records = turn.records.map((record) => encodeConsumerRecord(entry.groupId, record));
    const undo = turn.undo.map((record) => () => void applyRecord(group, record, turn.nowMs));
    if (records.length > 0) this.#classic.count(entry);
    // What else is undone comes last of all, as it came first: the group is then the entry's again.
    return this.#queue.write(entry, [...more.records, ...records], [...more.undo, ...undo]);
  }

  #upgrade(
    entry: GroupEntry,
    request: HeartbeatRequest,
    turn: ConsumerTurn,
    extra: Extra,
  ): Fault | undefined {
    const from = entry.group;
    const problem = upgradeProblem(from, this.#settings.membersMax - 1);
    if (request.memberEpoch !== 0 || problem !== undefined)
      return {
        errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND,
        errorMessage: `Group ${entry.groupId} is not of the consumer protocol${problem === undefined ? '' : `: ${problem}`}.`,
      };
    const group = createConsumerGroup(entry.groupId, turn.nowMs);
    if (from.members.size > 0) upgrade(from, group, turn);
    this.#classic.release(entry);
    entry.group = createGroup(entry.groupId, turn.nowMs);
    entry.consumer = group;
    if (from.isRecorded) extra.records.push(encodeGroup(entry.groupId, null));
    extra.undo.push(() => this.#restoreClassic(entry, from));
    return undefined;
  }

  /** The last member of the consumer protocol is gone: the others go on as they began. */
  #downgrade(entry: GroupEntry, group: ConsumerGroup, turn: ConsumerTurn, extra: Extra): void {
    const record = downgraded(group, this.#topics, turn.nowMs);
    for (const tombstone of tombstonesOf(group)) write(group, turn, tombstone);
    this.disown(entry);
    entry.consumer = undefined;
    extra.records.push(encodeGroup(entry.groupId, record));
    extra.undo.push(() => this.#restore(entry, group));
    this.#classic.adopt(entry, record);
  }

  #restore(entry: GroupEntry, group: ConsumerGroup): void {
    this.#classic.release(entry);
    entry.group = createGroup(entry.groupId, this.#hub.clock.now());
    entry.consumer = group;
  }

  #restoreClassic(entry: GroupEntry, group: Group): void {
    this.disown(entry);
    entry.consumer = undefined;
    entry.group = group;
  }

  #takenBack(entry: GroupEntry): void {
    if (this.#store.get(entry.groupId) !== entry) return;
    if (entry.consumer === undefined) this.#classic.resume(entry);
    else {
      const turn = this.#turn();
      startSessions(entry.consumer, turn);
      this.#setTimers(entry, turn.timers);
    }
    this.#classic.count(entry);
  }

  #setTimers(entry: GroupEntry, effects: readonly ConsumerTimer[]): void {
    const timers = this.#timers.get(entry) ?? new Map<string, Timer>();
    if (effects.length > 0) this.#timers.set(entry, timers);
    for (const { kind, memberId, delayMs, keepsRunning } of effects) {
      const key = `${kind} ${memberId}`;
      if (keepsRunning && timers.has(key)) continue;
      timers.get(key)?.cancel();
      timers.delete(key);
      if (delayMs === undefined) continue;
      const timer = this.#hub.clock.setTimer(delayMs, () => {
        timers.delete(key);
        this.#timerFired(entry, kind, memberId);
      });
      timers.set(key, timer);
    }
  }

  #timerFired(entry: GroupEntry, kind: ConsumerTimerKind, memberId: string): void {
    const group = entry.consumer;
    if (group === undefined || this.#store.get(entry.groupId) !== entry) return;
    const turn = this.#turn();
    timerFired(group, kind, memberId, turn);
    if (turn.records.length > 0)
      this.#hub.log.info('group-member-removed', { group: entry.groupId, member: memberId, after: kind });
    void this.#commit(entry, group, turn);
  }

  #topicChanged(name: string): void {
    for (const entry of this.#store.entries()) {
      const group = entry.consumer;
      if (group === undefined) continue;
      for (const regex of group.regexes.keys()) void this.#refreshRegex(entry, group, regex, name);
    }
  }

  /** @param name the topic that came or went; undefined = all are looked at. */
  async #refreshRegex(
    entry: GroupEntry,
    group: ConsumerGroup,
    regex: string,
    name: string | undefined,
  ): Promise<void> {
    const matched = await this.#resolver.match(regex, name === undefined ? undefined : [name]);
    const before = group.regexes.get(regex)?.topics;
    if (matched.problem !== undefined || before === undefined || entry.consumer !== group) return;
    const topics =
      name === undefined
        ? matched.topics
        : [...new Set([...before.filter((known) => known !== name), ...matched.topics])].sort();
    const turn = this.#turn();
    regexesResolved(group, new Map([[regex, topics]]), turn);
    void this.#commit(entry, group, turn);
  }
}

/** What a request makes its member take: names are kept as they are and once more as a key. */
function bytesOf({ topicNames, topicRegex }: HeartbeatRequest): number {
  let bytes = topicRegex?.length ?? 0;
  for (const name of topicNames ?? []) bytes += TOPIC_NAME_BYTES + 3 * name.length;
  return bytes;
}

function noSuchGroup(groupId: string): Fault {
  return fault('GROUP_ID_NOT_FOUND', `Group ${groupId} is not a group of the consumer protocol.`);
}

const TOPIC_NAME_BYTES = 32;
