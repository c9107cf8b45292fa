// SyncGroup, and what follows a record: the leader's assignment is written first, applied from the log's own
// record, and only then handed out.

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  type GroupRecord,
  type RecordedMember,
  type RecordPurpose,
  recordOf,
  refuseJoin,
  refuseSync,
  type Turn,
} from './effects.ts';
import {
  type Group,
  type Member,
  memberFault,
  NO_ASSIGNMENT,
  type Replacement,
  rebalanceTimeoutMs,
  transition,
} from './group.ts';
import { answerReplacement, joinGroup } from './join.ts';
import { rebalance, refuseEverySync, startSession } from './rebalance.ts';

export interface SyncRequest {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly generation: number;
  /** v5+; null = not said (KIP-559). */
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  /** From the leader: memberId → assignment. */
  readonly assignments: ReadonlyMap<string, Buffer>;
}

export function syncGroup(group: Group, request: SyncRequest, ticket: number, turn: Turn): void {
  const fault = syncFault(group, request);
  const member = group.members.get(request.memberId);
  if (fault !== ERROR_CODES.NONE || member === undefined) {
    refuseSync(turn, ticket, fault);
    return;
  }
  group.pendingSync.delete(member.memberId);
  if (group.state === 'stable') {
    answerSync(group, member, ticket, turn);
    return;
  }
  if (member.syncTicket !== undefined) refuseSync(turn, member.syncTicket, ERROR_CODES.REBALANCE_IN_PROGRESS);
  member.syncTicket = ticket;
  if (group.leaderId !== member.memberId || group.isRecordingAssignment) return;
  group.isRecordingAssignment = true;
  const assignments = new Map<string, Buffer>();
  for (const memberId of group.members.keys()) {
    assignments.set(memberId, request.assignments.get(memberId) ?? NO_ASSIGNMENT);
  }
  const record = recordOf(group, turn.nowMs, assignments);
  turn.effects.push({ kind: 'record', record, purpose: { kind: 'assignment' } });
}

/** In Kafka's order: 15, 25/82, 22, 23, then what the state says. */
function syncFault(group: Group, request: SyncRequest): ErrorCode {
  if (group.state === 'dead') return ERROR_CODES.COORDINATOR_NOT_AVAILABLE;
  const fault = memberFault(group, request.memberId, request.groupInstanceId);
  if (fault !== ERROR_CODES.NONE) return fault;
  if (request.generation !== group.generation) return ERROR_CODES.ILLEGAL_GENERATION;
  const differs = (said: string | null, chosen: string | null): boolean => said !== null && said !== chosen;
  if (differs(request.protocolType, group.protocolType) || differs(request.protocolName, group.protocolName))
    return ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL;
  if (group.state === 'preparing-rebalance') return ERROR_CODES.REBALANCE_IN_PROGRESS;
  return group.state === 'empty' ? ERROR_CODES.UNKNOWN_MEMBER_ID : ERROR_CODES.NONE;
}

function answerSync(group: Group, member: Member, ticket: number, turn: Turn): void {
  const { protocolType, protocolName } = group;
  const answer = { errorCode: ERROR_CODES.NONE, protocolType, protocolName, assignment: member.assignment };
  turn.effects.push({ kind: 'sync-answer', ticket, answer });
  startSession(member, turn);
}

/**
 * Takes a record from the log into memory, at start-up and live alike. Memory that is ahead of the record (a
 * newer round has begun) stays as it is. Members keep what the log does not know: tickets and other protocols.
 */
export function applyGroupRecord(group: Group, record: GroupRecord, nowMs: number): void {
  group.isRecorded = true;
  if (group.state === 'preparing-rebalance' || group.generation > record.generation) return;
  if (group.state === 'completing-rebalance' && !group.isRecordingAssignment) return;
  const known = new Map(group.members);
  group.members.clear();
  group.staticMembers.clear();
  for (const recorded of record.members) {
    const { memberId, groupInstanceId } = recorded;
    const replacement = group.replacements.get(groupInstanceId ?? '')?.member;
    const returned = replacement?.memberId === memberId ? replacement : undefined;
    const member = known.get(memberId) ?? returned ?? memberOfRecord(record, recorded);
    member.assignment = recorded.assignment;
    group.members.set(memberId, member);
    if (groupInstanceId !== null) group.staticMembers.set(groupInstanceId, memberId);
  }
  group.generation = record.generation;
  group.protocolType = record.protocolType;
  group.protocolName = record.protocolName;
  group.leaderId = record.leaderId;
  group.isRecordingAssignment = false;
  // Since when it is empty decides when its offsets expire, whatever restarts lie between.
  const sinceMs = record.stateSinceMs < 0 ? nowMs : record.stateSinceMs;
  transition(group, record.members.length > 0 ? 'stable' : 'empty', sinceMs);
}

/** The group starts from nothing, unless a new round has begun since the tombstone was decided. */
export function applyGroupTombstone(group: Group, nowMs: number): void {
  group.isRecorded = false;
  if (group.state !== 'empty' && group.state !== 'stable') return;
  group.members.clear();
  group.staticMembers.clear();
  group.generation = 0;
  group.protocolType = null;
  group.protocolName = null;
  group.leaderId = null;
  transition(group, 'empty', nowMs);
}

function memberOfRecord(record: GroupRecord, recorded: RecordedMember): Member {
  const { memberId, groupInstanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs } = recorded;
  const protocols = [{ name: record.protocolName ?? '', metadata: recorded.subscription }];
  return {
    ...{ memberId, groupInstanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs, protocols },
    assignment: recorded.assignment,
    joinTicket: undefined,
    syncTicket: undefined,
    isNew: false,
  };
}

/** After a record is on disk and applied: whoever waited for it is answered. */
export function groupRecorded(group: Group, record: GroupRecord, purpose: RecordPurpose, turn: Turn): void {
  if (purpose.kind === 'static-member') {
    const replacement = takeReplacement(group, purpose);
    if (replacement === undefined) return;
    // A round may have begun meanwhile; then the join is decided anew.
    if (group.members.has(purpose.memberId)) answerReplacement(group, replacement, turn);
    else joinGroup(group, replacement.request, replacement.ticket, turn);
    return;
  }
  if (purpose.kind === 'empty' || group.state !== 'stable' || group.generation !== record.generation) return;
  turn.effects.push({ kind: 'clear-timer', key: 'sync' });
  if (group.pendingSync.size > 0)
    turn.effects.push({ kind: 'set-timer', key: 'sync', delayMs: rebalanceTimeoutMs(group) });
  for (const member of group.members.values()) {
    if (member.syncTicket === undefined) continue;
    answerSync(group, member, member.syncTicket, turn);
    member.syncTicket = undefined;
  }
}

/** The store refused a record: memory is as it was, and whoever waited learns why. */
export function groupNotRecorded(
  group: Group,
  record: GroupRecord,
  purpose: RecordPurpose,
  errorCode: ErrorCode,
  turn: Turn,
): void {
  if (purpose.kind === 'static-member') {
    const replacement = takeReplacement(group, purpose);
    if (replacement !== undefined) refuseJoin(turn, replacement.ticket, errorCode, '');
    return;
  }
  // An empty group without its record is read after a restart as its last members, whose sessions then end.
  if (purpose.kind === 'empty') return;
  if (group.state !== 'completing-rebalance' || group.generation !== record.generation) return;
  refuseEverySync(group, turn, errorCode);
  rebalance(group, turn);
}

function takeReplacement(
  group: Group,
  purpose: { readonly groupInstanceId: string; readonly memberId: string },
): Replacement | undefined {
  const replacement = group.replacements.get(purpose.groupInstanceId);
  if (replacement?.member.memberId !== purpose.memberId) return undefined;
  group.replacements.delete(purpose.groupInstanceId);
  return replacement;
}
