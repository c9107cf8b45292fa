// Heartbeat, LeaveGroup, and who may commit offsets: the checks of a member between two rounds, in Kafka's order
// (member 25 or 82, generation 22, rebalance 27).

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { Turn } from './effects.ts';
import { memberTimer } from './effects.ts';
import { dropMember, type Group, type GroupState, memberFault } from './group.ts';
import { rebalance, removeMember, startSession } from './rebalance.ts';

export interface MemberClaim {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly generation: number;
}

/** What a member with the right generation is told. It learns of a round from 27, and joins it. */
const HEARTBEAT_CODES: Readonly<Record<GroupState, ErrorCode>> = {
  empty: ERROR_CODES.UNKNOWN_MEMBER_ID,
  'preparing-rebalance': ERROR_CODES.REBALANCE_IN_PROGRESS,
  'completing-rebalance': ERROR_CODES.NONE,
  stable: ERROR_CODES.NONE,
  dead: ERROR_CODES.COORDINATOR_NOT_AVAILABLE,
};

/**
 * Before it joins the next round a member may still commit what it read in this one; between the round's joining
 * and its assignment it may not, since its partitions may be someone else's by then.
 */
const COMMIT_CODES: Readonly<Record<GroupState, ErrorCode>> = {
  empty: ERROR_CODES.UNKNOWN_MEMBER_ID,
  'preparing-rebalance': ERROR_CODES.NONE,
  'completing-rebalance': ERROR_CODES.REBALANCE_IN_PROGRESS,
  stable: ERROR_CODES.NONE,
  dead: ERROR_CODES.COORDINATOR_NOT_AVAILABLE,
};

export function heartbeat(group: Group, claim: MemberClaim, turn: Turn): ErrorCode {
  return checkMember(group, claim, HEARTBEAT_CODES, turn);
}

/** Whether offsets may be committed. Without member and generation only while the group has no members. */
export function checkCommit(group: Group, claim: MemberClaim, turn: Turn): ErrorCode {
  const isNobody = claim.generation < 0 && claim.memberId === '' && claim.groupInstanceId === null;
  if (claim.generation < 0 && group.state === 'empty') return ERROR_CODES.NONE;
  if (isNobody) return ERROR_CODES.UNKNOWN_MEMBER_ID;
  return checkMember(group, claim, COMMIT_CODES, turn);
}

/**
 * The same in a transaction (KIP-447): who says nothing of a member is a producer that does not know better, and the end
 * of the transaction, not the round, decides about the partitions.
 */
export function transactionalCommitFault(group: Group, claim: MemberClaim): ErrorCode {
  if (group.state === 'dead') return COMMIT_CODES.dead;
  const saysNothing = claim.memberId === '' && claim.groupInstanceId === null;
  if (claim.generation < 0 && (group.state === 'empty' || saysNothing)) return ERROR_CODES.NONE;
  const fault = memberFault(group, claim.memberId, claim.groupInstanceId);
  if (fault !== ERROR_CODES.NONE) return fault;
  return claim.generation === group.generation ? ERROR_CODES.NONE : ERROR_CODES.ILLEGAL_GENERATION;
}

function checkMember(
  group: Group,
  claim: MemberClaim,
  codes: Readonly<Record<GroupState, ErrorCode>>,
  turn: Turn,
): ErrorCode {
  if (group.state === 'dead') return codes.dead;
  const fault = memberFault(group, claim.memberId, claim.groupInstanceId);
  if (fault !== ERROR_CODES.NONE) return fault;
  if (claim.generation !== group.generation) return ERROR_CODES.ILLEGAL_GENERATION;
  const member = group.members.get(claim.memberId);
  if (member !== undefined && !member.isNew) startSession(member, turn);
  return codes[group.state];
}

export interface Leaver {
  /** '' = named by its instance id alone: an administrator removes it (KIP-345). */
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

/** One code per member, in the order given; one round for all who leave. */
export function leaveGroup(group: Group, leavers: readonly Leaver[], turn: Turn): ErrorCode[] {
  if (group.state === 'dead') return leavers.map(() => ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
  const membersBefore = group.members.size;
  const codes = leavers.map((leaver) => leave(group, leaver, turn));
  // Giving up an id begins no round, but a round may have waited for its owner.
  if (group.members.size < membersBefore || group.state === 'preparing-rebalance') rebalance(group, turn);
  return codes;
}

function leave(group: Group, { memberId, groupInstanceId }: Leaver, turn: Turn): ErrorCode {
  if (memberId === '') {
    const holder = groupInstanceId === null ? undefined : group.staticMembers.get(groupInstanceId);
    if (holder === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    removeMember(group, holder, turn);
    return ERROR_CODES.NONE;
  }
  if (group.pendingMembers.has(memberId)) {
    dropMember(group, memberId);
    turn.effects.push({ kind: 'clear-timer', key: memberTimer(memberId) });
    return ERROR_CODES.NONE;
  }
  const fault = memberFault(group, memberId, groupInstanceId);
  if (fault === ERROR_CODES.NONE) removeMember(group, memberId, turn);
  return fault;
}
