// JoinGroup: who may join, under which id, and whether that begins a round.
//
//   id sent      dynamic member                          static member (KIP-345)
//   none         v4+: told an id, comes back with it     takes over the instance id from whoever had it
//                (KIP-394); before: joins at once
//   given out    joins                                   —
//   of a member  joins the round, or is told of it       the same, if the instance id is its own
//   other        25                                      25, or 82 when another holds the instance id

import { ERROR_CODES } from '../error-codes.ts';
import {
  currentRound,
  type GroupRecord,
  type JoinAnswer,
  memberTimer,
  NEW_MEMBER_JOIN_TIMEOUT_MS,
  recordOf,
  refuseJoin,
  refuseSync,
  type Turn,
} from './effects.ts';
import {
  addMember,
  createMember,
  type Group,
  type JoinRequest,
  type Member,
  memberFault,
  metadataOf,
  type Replacement,
  replaceStaticMember,
  sameProtocols,
  selectProtocol,
  suitsProtocols,
} from './group.ts';
import { rebalance, startSession } from './rebalance.ts';

export function joinGroup(group: Group, request: JoinRequest, ticket: number, turn: Turn): void {
  const { memberId } = request;
  if (group.state === 'dead') {
    refuseJoin(turn, ticket, ERROR_CODES.COORDINATOR_NOT_AVAILABLE, memberId);
  } else if (isFull(group, request, turn)) {
    refuseJoin(turn, ticket, ERROR_CODES.GROUP_MAX_SIZE_REACHED, '');
  } else if (!suitsProtocols(group, request)) {
    refuseJoin(turn, ticket, ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL, memberId);
  } else if (memberId === '') {
    joinWithoutId(group, request, ticket, turn);
  } else if (group.pendingMembers.has(memberId) && request.groupInstanceId === null) {
    enter(group, createMember(memberId, request), request, ticket, turn);
  } else {
    joinAgain(group, request, ticket, turn);
  }
}

/** Ids given out count too, else they would be without bound. */
function isFull(group: Group, request: JoinRequest, turn: Turn): boolean {
  if (group.members.has(request.memberId) || group.pendingMembers.has(request.memberId)) return false;
  if (request.groupInstanceId !== null && group.staticMembers.has(request.groupInstanceId)) return false;
  return group.members.size + group.pendingMembers.size >= turn.settings.membersMax;
}

function joinWithoutId(group: Group, request: JoinRequest, ticket: number, turn: Turn): void {
  const { newMemberId, groupInstanceId } = request;
  if (groupInstanceId !== null) {
    const holder = group.members.get(group.staticMembers.get(groupInstanceId) ?? '');
    if (holder === undefined) enter(group, createMember(newMemberId, request), request, ticket, turn);
    else takeOver(group, holder, request, ticket, turn);
  } else if (request.requiresKnownMemberId) {
    group.pendingMembers.add(newMemberId);
    turn.effects.push({
      kind: 'set-timer',
      key: memberTimer(newMemberId),
      delayMs: request.sessionTimeoutMs,
    });
    refuseJoin(turn, ticket, ERROR_CODES.MEMBER_ID_REQUIRED, newMemberId);
  } else {
    enter(group, createMember(newMemberId, request), request, ticket, turn);
  }
}

function enter(group: Group, member: Member, request: JoinRequest, ticket: number, turn: Turn): void {
  member.isNew = true;
  member.joinTicket = ticket;
  addMember(group, member, request.protocolType);
  if (group.state === 'preparing-rebalance') group.hasNewMember = true;
  turn.effects.push({
    kind: 'set-timer',
    key: memberTimer(member.memberId),
    delayMs: NEW_MEMBER_JOIN_TIMEOUT_MS,
  });
  rebalance(group, turn);
}

function joinAgain(group: Group, request: JoinRequest, ticket: number, turn: Turn): void {
  const fault = memberFault(group, request.memberId, request.groupInstanceId);
  const member = group.members.get(request.memberId);
  if (fault !== ERROR_CODES.NONE || member === undefined) {
    refuseJoin(turn, ticket, fault, request.memberId);
    return;
  }
  const isLeader = group.leaderId === member.memberId;
  const isUnchanged = sameProtocols(member, request.protocols);
  // The answer to an earlier JoinGroup may have got lost: say it again. In a stable group the leader always
  // begins a round: it may have seen partitions come, which its metadata does not show.
  const isToldAgain =
    isUnchanged && (group.state === 'completing-rebalance' || (group.state === 'stable' && !isLeader));
  if (isToldAgain) {
    const answer = currentRound(group, member.memberId, isLeader && group.state === 'completing-rebalance');
    turn.effects.push({ kind: 'join-answer', ticket, answer });
    startSession(member, turn);
    return;
  }
  updateMember(member, request, ticket, turn);
  rebalance(group, turn);
}

function updateMember(member: Member, request: JoinRequest, ticket: number, turn: Turn): void {
  // One member waits once: an earlier request, on a connection it may have lost, is sent to try again.
  if (member.joinTicket !== undefined)
    refuseJoin(turn, member.joinTicket, ERROR_CODES.REBALANCE_IN_PROGRESS, member.memberId);
  member.protocols = request.protocols;
  member.sessionTimeoutMs = request.sessionTimeoutMs;
  member.rebalanceTimeoutMs = request.rebalanceTimeoutMs;
  member.joinTicket = ticket;
}

/**
 * A static member comes back without its id: the new id takes the place of the old one. In a stable group whose
 * protocol stays, that is recorded first and begins no round.
 */
function takeOver(group: Group, holder: Member, request: JoinRequest, ticket: number, turn: Turn): void {
  const member = createMember(request.newMemberId, request);
  const groupInstanceId = holder.groupInstanceId ?? '';
  dropReplacement(group, groupInstanceId, turn);
  if (group.state === 'stable' && keepsProtocol(group, holder, member)) {
    group.replacements.set(groupInstanceId, { member, ticket, request, oldLeaderId: group.leaderId ?? '' });
    turn.effects.push({
      kind: 'record',
      record: withReplacements(group, recordOf(group, turn.nowMs)),
      purpose: { kind: 'static-member', groupInstanceId, memberId: member.memberId },
    });
    return;
  }
  fence(holder, turn);
  replaceStaticMember(group, holder.memberId, member);
  member.joinTicket = ticket;
  startSession(member, turn);
  rebalance(group, turn);
}

function keepsProtocol(group: Group, holder: Member, member: Member): boolean {
  const members = new Map(group.members);
  members.set(holder.memberId, member);
  return selectProtocol({ ...group, members }) === group.protocolName;
}

/** All that are under way, so that the record of one does not take back another. */
function withReplacements(group: Group, record: GroupRecord): GroupRecord {
  let leaderId = record.leaderId;
  const members = record.members.map((recorded) => {
    const replacement = group.replacements.get(recorded.groupInstanceId ?? '');
    if (replacement === undefined) return recorded;
    const { member } = replacement;
    if (leaderId === recorded.memberId) leaderId = member.memberId;
    const { memberId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs } = member;
    const subscription = metadataOf(member, group.protocolName);
    return {
      ...recorded,
      memberId,
      clientId,
      clientHost,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      subscription,
    };
  });
  return { ...record, leaderId, members };
}

/** Tells the old holder of an instance id, wherever it waits, that it is not the one any more. */
function fence(holder: Member, turn: Turn): void {
  turn.effects.push({ kind: 'clear-timer', key: memberTimer(holder.memberId) });
  if (holder.joinTicket !== undefined)
    refuseJoin(turn, holder.joinTicket, ERROR_CODES.FENCED_INSTANCE_ID, holder.memberId);
  if (holder.syncTicket !== undefined) refuseSync(turn, holder.syncTicket, ERROR_CODES.FENCED_INSTANCE_ID);
  holder.joinTicket = undefined;
  holder.syncTicket = undefined;
}

function dropReplacement(group: Group, groupInstanceId: string, turn: Turn): void {
  const earlier = group.replacements.get(groupInstanceId);
  if (earlier === undefined) return;
  group.replacements.delete(groupInstanceId);
  refuseJoin(turn, earlier.ticket, ERROR_CODES.FENCED_INSTANCE_ID, earlier.member.memberId);
}

/**
 * The answer to a static member whose new id is recorded and applied. Before v9 it is shown the leader's old id,
 * so that it does not take itself for the leader and assign anew (KIP-814).
 */
export function answerReplacement(
  group: Group,
  { member, ticket, request, oldLeaderId }: Replacement,
  turn: Turn,
): void {
  const isLeader = group.leaderId === member.memberId;
  const skipAssignment = isLeader && request.supportsSkippingAssignment;
  const round = currentRound(group, member.memberId, skipAssignment);
  const leaderId = request.supportsSkippingAssignment ? round.leaderId : oldLeaderId;
  const answer: JoinAnswer = { ...round, leaderId, skipAssignment };
  turn.effects.push({ kind: 'join-answer', ticket, answer });
  startSession(member, turn);
}
