// How members go, and how a static member's new id takes the place of the old one. A member that goes is gone with
// all its records, and the others are assigned what it had.

import { ERROR_CODES, type ErrorCode } from '../../error-codes.ts';
import {
  type ConsumerGroup,
  currentOf,
  isClassicAgain,
  NO_PARTITIONS,
  STATIC_LEAVE_EPOCH,
  sinceEpochOf,
} from './consumer-group.ts';
import { refreshTarget } from './target-assignment.ts';
import {
  type ConsumerTimerKind,
  type ConsumerTurn,
  clearTimer,
  clearTimers,
  type Fault,
  fault,
  setTimer,
  write,
} from './turn.ts';

export const LEAVE_EPOCH = -1;

export interface LeaveRequest {
  readonly memberId: string;
  readonly instanceId: string | null;
  /** −1 = for good, −2 = a static member that will return. */
  readonly memberEpoch: number;
}

export function leave(group: ConsumerGroup, request: LeaveRequest, turn: ConsumerTurn): LeaveRequest | Fault {
  const { memberId, instanceId, memberEpoch } = request;
  const holderId = instanceId === null ? undefined : group.staticMembers.get(instanceId);
  if (instanceId !== null && holderId === undefined)
    return fault('UNKNOWN_MEMBER_ID', `Instance id ${instanceId} is unknown.`);
  if (holderId !== undefined && holderId !== memberId)
    return fault('FENCED_INSTANCE_ID', `Instance id ${instanceId} is held by member ${holderId}.`);
  if (!group.members.has(memberId))
    return fault('UNKNOWN_MEMBER_ID', `Member ${memberId} is not a member of the group.`);
  if (memberEpoch === STATIC_LEAVE_EPOCH) leaveForAWhile(group, memberId, turn);
  else removeMembers(group, [memberId], turn);
  return request;
}

/** It keeps its partitions until it comes back, or its session ends. */
function leaveForAWhile(group: ConsumerGroup, memberId: string, turn: ConsumerTurn): void {
  const current = currentOf(group, memberId);
  const { epoch, assigned } = current;
  const since = [...assigned].map(
    ([topicId, partitions]) =>
      [
        topicId,
        new Map(
          partitions.map((partition) => [partition, sinceEpochOf(current, topicId, partition) ?? epoch]),
        ),
      ] as const,
  );
  const value = {
    ...{ epoch: STATIC_LEAVE_EPOCH, previousEpoch: epoch, state: 'stable' as const, assigned },
    sinceEpochs: new Map(since),
  };
  write(group, turn, { kind: 'current', memberId, value: { ...value, pendingRevocation: NO_PARTITIONS } });
  clearTimer(turn, 'rebalance', memberId);
}

export function removeMembers(group: ConsumerGroup, memberIds: readonly string[], turn: ConsumerTurn): void {
  for (const memberId of memberIds) {
    const member = group.members.get(memberId);
    forget(group, memberId, turn);
    dropUnusedRegex(group, member?.topicRegex ?? null, turn);
  }
  // A group that goes back keeps its epoch, which its members know as their generation: so they can still commit.
  if (!isClassicAgain(group)) refreshTarget(group, true, turn);
}

function forget(group: ConsumerGroup, memberId: string, turn: ConsumerTurn): void {
  clearTimers(turn, memberId);
  if (group.currents.has(memberId)) write(group, turn, { kind: 'current', memberId, value: null });
  if (group.targets.has(memberId)) write(group, turn, { kind: 'target', memberId, value: null });
  write(group, turn, { kind: 'member', memberId, value: null });
}

/** The new id has what the old one had, so that nothing is assigned anew. */
export function replaceStaticMember(
  group: ConsumerGroup,
  oldMemberId: string,
  memberId: string,
  turn: ConsumerTurn,
): void {
  const member = group.members.get(oldMemberId);
  if (member === undefined) return;
  const target = group.targets.get(oldMemberId);
  const current = currentOf(group, oldMemberId);
  forget(group, oldMemberId, turn);
  write(group, turn, { kind: 'member', memberId, value: { ...member, memberId } });
  if (target !== undefined) write(group, turn, { kind: 'target', memberId, value: target });
  write(group, turn, { kind: 'current', memberId, value: { ...current, epoch: 0, previousEpoch: 0 } });
}

/** An expression goes with its last user. */
export function dropUnusedRegex(group: ConsumerGroup, before: string | null, turn: ConsumerTurn): void {
  if (before === null || !group.regexes.has(before)) return;
  for (const { topicRegex } of group.members.values()) if (topicRegex === before) return;
  write(group, turn, { kind: 'regex', regex: before, value: null });
}

/** What expressions mean now; those that nobody uses any more are left out. */
export function regexesResolved(
  group: ConsumerGroup,
  topicsByRegex: ReadonlyMap<string, readonly string[]>,
  turn: ConsumerTurn,
): void {
  const used = new Set([...group.members.values()].map(({ topicRegex }) => topicRegex));
  let isChanged = false;
  for (const [regex, topics] of topicsByRegex) {
    const before = group.regexes.get(regex)?.topics;
    if (!used.has(regex) || (before !== undefined && before.join() === topics.join())) continue;
    write(group, turn, { kind: 'regex', regex, value: { topics, resolvedAtMs: turn.nowMs } });
    if (topics.length > 0 || before !== undefined) isChanged = true;
  }
  if (isChanged) refreshTarget(group, true, turn);
}

/** A member was silent for too long, held on to its partitions, or did not come to join or sync. */
export function timerFired(
  group: ConsumerGroup,
  kind: ConsumerTimerKind,
  memberId: string,
  turn: ConsumerTurn,
): void {
  if (!group.members.has(memberId)) return;
  if (kind === 'rebalance' && currentOf(group, memberId).state !== 'unrevoked') return;
  removeMembers(group, [memberId], turn);
}

/** After a restart members are given their whole session to say that they are still there. */
export function startSessions(group: ConsumerGroup, turn: ConsumerTurn): void {
  for (const { memberId, classic, rebalanceTimeoutMs } of group.members.values()) {
    setTimer(turn, 'session', memberId, classic?.sessionTimeoutMs ?? turn.settings.sessionTimeoutMs);
    if (classic === null && currentOf(group, memberId).state === 'unrevoked')
      setTimer(turn, 'rebalance', memberId, rebalanceTimeoutMs);
  }
}

/** In OffsetCommit this and later versions carry the member's epoch (KIP-848). */
export const EPOCH_VERSION_MIN = 9;

export interface EpochClaim {
  readonly memberId: string;
  /** Epoch, or generation of a member of the classic protocol; below 0 = nobody's. */
  readonly epoch: number;
}

export interface ClaimedPartition {
  readonly topicId: string;
  readonly partition: number;
}

/**
 * Whether offsets may be committed: by members with their epoch, by others only while there are none. An epoch that the
 * member has left is good for partitions that it has had since then, as what it was doing may end late (KIP-1251).
 */
export function commitFault(
  group: ConsumerGroup,
  claim: EpochClaim,
  version: number,
  partitions: readonly ClaimedPartition[],
): ErrorCode {
  if (claim.epoch < 0 && group.members.size === 0) return ERROR_CODES.NONE;
  const member = group.members.get(claim.memberId);
  if (member === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
  if (member.classic === null && version < EPOCH_VERSION_MIN) return ERROR_CODES.UNSUPPORTED_VERSION;
  const fault = epochFault(group, claim);
  if (fault !== ERROR_CODES.STALE_MEMBER_EPOCH || claim.epoch < 0) return fault;
  const current = currentOf(group, claim.memberId);
  const isStill = ({ topicId, partition }: ClaimedPartition): boolean =>
    claim.epoch >= (sinceEpochOf(current, topicId, partition) ?? Number.POSITIVE_INFINITY);
  return claim.epoch < current.epoch && partitions.every(isStill) ? ERROR_CODES.NONE : fault;
}

/** Whether a member may ask for offsets: with its epoch, so that it does not begin where it has been overtaken. */
export function fetchFault(group: ConsumerGroup, claim: EpochClaim): ErrorCode {
  if (!group.members.has(claim.memberId)) return ERROR_CODES.UNKNOWN_MEMBER_ID;
  return epochFault(group, claim);
}

function epochFault(group: ConsumerGroup, { memberId, epoch }: EpochClaim): ErrorCode {
  if (currentOf(group, memberId).epoch === epoch) return ERROR_CODES.NONE;
  const isClassic = group.members.get(memberId)?.classic !== null;
  return isClassic ? ERROR_CODES.ILLEGAL_GENERATION : ERROR_CODES.STALE_MEMBER_EPOCH;
}
