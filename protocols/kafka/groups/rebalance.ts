// A round of a group: everyone joins, one protocol is chosen, the leader assigns. Here is what begins a round,
// what ends its joining, and what a member's leaving or silence does to it.

import { ERROR_CODES } from '../error-codes.ts';
import { currentRound, memberTimer, recordOf, refuseJoin, refuseSync, type Turn } from './effects.ts';
import {
  dropMember,
  electJoinedLeader,
  everyoneJoined,
  type Group,
  type Member,
  NO_ASSIGNMENT,
  rebalanceTimeoutMs,
  selectProtocol,
  transition,
} from './group.ts';

/** After a member joined, changed or left: begins a round, or ends its joining if nobody is missing. */
export function rebalance(group: Group, turn: Turn): void {
  if (group.state === 'preparing-rebalance') completeJoinIfEveryoneIsHere(group, turn);
  else prepareRebalance(group, turn);
}

function prepareRebalance(group: Group, turn: Turn): void {
  // Whoever waits for an assignment of the old round must join the new one.
  if (group.state === 'completing-rebalance') refuseEverySync(group, turn, ERROR_CODES.REBALANCE_IN_PROGRESS);
  turn.effects.push({ kind: 'clear-timer', key: 'sync' });
  group.pendingSync.clear();
  group.isInitialRound = group.state === 'empty';
  transition(group, 'preparing-rebalance', turn.nowMs);
  if (!group.isInitialRound) {
    if (everyoneJoined(group)) completeJoin(group, turn);
    else turn.effects.push({ kind: 'set-timer', key: 'join', delayMs: rebalanceTimeoutMs(group) });
    return;
  }
  // A new group waits a little for more members (KIP-134), longer while they keep coming.
  const delayMs = turn.settings.initialRebalanceDelayMs;
  group.initialDelayLeftMs = Math.max(0, rebalanceTimeoutMs(group) - delayMs);
  group.hasNewMember = false;
  turn.effects.push({ kind: 'set-timer', key: 'join', delayMs });
}

export function refuseEverySync(group: Group, turn: Turn, errorCode: Parameters<typeof refuseSync>[2]): void {
  group.isRecordingAssignment = false;
  for (const member of group.members.values()) {
    member.assignment = NO_ASSIGNMENT;
    if (member.syncTicket === undefined) continue;
    refuseSync(turn, member.syncTicket, errorCode);
    member.syncTicket = undefined;
    startSession(member, turn);
  }
}

function completeJoinIfEveryoneIsHere(group: Group, turn: Turn): void {
  if (!group.isInitialRound && everyoneJoined(group)) completeJoin(group, turn);
}

/** The joining of a round has lasted as long as it may. */
export function joinTimerFired(group: Group, turn: Turn): void {
  if (group.state !== 'preparing-rebalance') return;
  if (group.isInitialRound && group.hasNewMember && group.initialDelayLeftMs > 0) {
    const delayMs = Math.min(turn.settings.initialRebalanceDelayMs, group.initialDelayLeftMs);
    group.hasNewMember = false;
    group.initialDelayLeftMs -= delayMs;
    turn.effects.push({ kind: 'set-timer', key: 'join', delayMs });
    return;
  }
  completeJoin(group, turn);
}

function completeJoin(group: Group, turn: Turn): void {
  turn.effects.push({ kind: 'clear-timer', key: 'join' });
  for (const member of [...group.members.values()]) {
    // A static member keeps its place until its session ends (KIP-345).
    if (member.joinTicket !== undefined || member.groupInstanceId !== null) continue;
    dropMember(group, member.memberId);
    turn.effects.push({ kind: 'clear-timer', key: memberTimer(member.memberId) });
  }
  if (group.members.size > 0 && !electJoinedLeader(group)) {
    // Only static members are left, and none is here: wait until they come or their sessions end.
    turn.effects.push({ kind: 'set-timer', key: 'join', delayMs: rebalanceTimeoutMs(group) });
    return;
  }
  group.generation = group.generation === 0x7fffffff ? 1 : group.generation + 1;
  group.isInitialRound = false;
  group.pendingSync.clear();
  if (group.members.size === 0) becomeEmpty(group, turn);
  else beginSync(group, turn);
}

function becomeEmpty(group: Group, turn: Turn): void {
  group.protocolName = null;
  group.leaderId = null;
  transition(group, 'empty', turn.nowMs);
  turn.effects.push({ kind: 'record', record: recordOf(group, turn.nowMs), purpose: { kind: 'empty' } });
}

function beginSync(group: Group, turn: Turn): void {
  group.protocolName = selectProtocol(group);
  transition(group, 'completing-rebalance', turn.nowMs);
  turn.effects.push({ kind: 'set-timer', key: 'sync', delayMs: rebalanceTimeoutMs(group) });
  for (const member of group.members.values()) {
    group.pendingSync.add(member.memberId);
    member.isNew = false;
    startSession(member, turn);
    if (member.joinTicket === undefined) continue;
    const answer = currentRound(group, member.memberId, member.memberId === group.leaderId);
    turn.effects.push({ kind: 'join-answer', ticket: member.joinTicket, answer });
    member.joinTicket = undefined;
  }
}

/** Members that were told of the round and did not ask for their assignment are gone. */
export function syncTimerFired(group: Group, turn: Turn): void {
  if (group.pendingSync.size === 0) return;
  if (group.state !== 'completing-rebalance' && group.state !== 'stable') return;
  for (const memberId of [...group.pendingSync]) {
    removeMember(group, memberId, turn);
  }
  rebalance(group, turn);
}

/** A session ended, a new member never got its first round, or an id given out was not used in time. */
export function memberTimerFired(group: Group, memberId: string, turn: Turn): void {
  if (group.pendingMembers.delete(memberId)) {
    if (group.state === 'preparing-rebalance') completeJoinIfEveryoneIsHere(group, turn);
    return;
  }
  const member = group.members.get(memberId);
  if (member === undefined) return;
  // Who waits for our answer is alive; its session starts again with the answer.
  const isWaiting = member.joinTicket !== undefined || member.syncTicket !== undefined;
  if (isWaiting && !member.isNew) return;
  removeMember(group, memberId, turn);
  rebalance(group, turn);
}

/** Takes a member out and answers what it waits for; `rebalance` must follow. */
export function removeMember(group: Group, memberId: string, turn: Turn): void {
  const member = group.members.get(memberId);
  turn.effects.push({ kind: 'clear-timer', key: memberTimer(memberId) });
  if (member?.joinTicket !== undefined)
    refuseJoin(turn, member.joinTicket, ERROR_CODES.UNKNOWN_MEMBER_ID, memberId);
  if (member?.syncTicket !== undefined) refuseSync(turn, member.syncTicket, ERROR_CODES.UNKNOWN_MEMBER_ID);
  dropMember(group, memberId);
}

export function startSession(member: Member, turn: Turn): void {
  turn.effects.push({
    kind: 'set-timer',
    key: memberTimer(member.memberId),
    delayMs: member.sessionTimeoutMs,
  });
}
