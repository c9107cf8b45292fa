// What the group functions ask for: answers, timers, records. They decide; the coordinator carries it out, in order.

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { Group } from './group.ts';
import { metadataOf } from './group.ts';

export interface GroupSettings {
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  readonly initialRebalanceDelayMs: number;
  /** Members of one group at most, those given an id and not joined yet included. */
  readonly membersMax: number;
}

/** A new member may wait this long in a round before it counts as gone: clients give up earlier (KIP-394). */
export const NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000;

export interface JoinAnswer {
  readonly errorCode: ErrorCode;
  readonly memberId: string;
  readonly generation: number;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly leaderId: string;
  readonly skipAssignment: boolean;
  /** For the leader: everyone with the metadata of the chosen protocol. */
  readonly members: readonly JoinedMember[];
}

export interface JoinedMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly metadata: Buffer;
}

export interface SyncAnswer {
  readonly errorCode: ErrorCode;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly assignment: Buffer;
}

/** What is written of a group: enough for its members to go on after a restart. */
export interface GroupRecord {
  readonly protocolType: string | null;
  readonly generation: number;
  readonly protocolName: string | null;
  readonly leaderId: string | null;
  readonly stateSinceMs: number;
  readonly members: readonly RecordedMember[];
}

export interface RecordedMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly rebalanceTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly subscription: Buffer;
  readonly assignment: Buffer;
}

/** 'join' ends the joining of a round, 'sync' its assignment; a member's own ends its session or its claim to an id. */
export type TimerKey = 'join' | 'sync' | `member ${string}`;

export type Effect =
  | { readonly kind: 'join-answer'; readonly ticket: number; readonly answer: JoinAnswer }
  | { readonly kind: 'sync-answer'; readonly ticket: number; readonly answer: SyncAnswer }
  /** Replaces a timer of the same key. */
  | { readonly kind: 'set-timer'; readonly key: TimerKey; readonly delayMs: number }
  | { readonly kind: 'clear-timer'; readonly key: TimerKey }
  /** To be written, then applied (applyGroupRecord), then told of (groupRecorded, groupNotRecorded). */
  | { readonly kind: 'record'; readonly record: GroupRecord; readonly purpose: RecordPurpose };

export type RecordPurpose =
  | { readonly kind: 'empty' }
  | { readonly kind: 'assignment' }
  | { readonly kind: 'static-member'; readonly groupInstanceId: string; readonly memberId: string };

/** One decision: the time it is taken at, and what it asks for. */
export interface Turn {
  readonly nowMs: number;
  readonly settings: GroupSettings;
  readonly effects: Effect[];
}

export function memberTimer(memberId: string): TimerKey {
  return `member ${memberId}`;
}

export function refuseJoin(turn: Turn, ticket: number, errorCode: ErrorCode, memberId: string): void {
  const answer: JoinAnswer = {
    errorCode,
    memberId,
    generation: -1,
    protocolType: null,
    protocolName: null,
    leaderId: '',
    skipAssignment: false,
    members: [],
  };
  turn.effects.push({ kind: 'join-answer', ticket, answer });
}

/** What a member of the current round is told; the list of members goes to its leader alone. */
export function currentRound(group: Group, memberId: string, withMembers: boolean): JoinAnswer {
  return {
    errorCode: ERROR_CODES.NONE,
    memberId,
    generation: group.generation,
    protocolType: group.protocolType,
    protocolName: group.protocolName,
    leaderId: group.leaderId ?? '',
    skipAssignment: false,
    members: withMembers ? membersForLeader(group) : [],
  };
}

function membersForLeader(group: Group): JoinedMember[] {
  return [...group.members.values()].map((member) => ({
    memberId: member.memberId,
    groupInstanceId: member.groupInstanceId,
    metadata: metadataOf(member, group.protocolName),
  }));
}

export function refuseSync(turn: Turn, ticket: number, errorCode: ErrorCode): void {
  const answer: SyncAnswer = {
    errorCode,
    protocolType: null,
    protocolName: null,
    assignment: Buffer.alloc(0),
  };
  turn.effects.push({ kind: 'sync-answer', ticket, answer });
}

/** The group as it is now, with the assignments given; members left out keep theirs. */
export function recordOf(
  group: Group,
  nowMs: number,
  assignments?: ReadonlyMap<string, Buffer>,
): GroupRecord {
  return {
    protocolType: group.protocolType,
    generation: group.generation,
    protocolName: group.protocolName,
    leaderId: group.leaderId,
    stateSinceMs: nowMs,
    members: [...group.members.values()].map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      rebalanceTimeoutMs: member.rebalanceTimeoutMs,
      sessionTimeoutMs: member.sessionTimeoutMs,
      subscription: metadataOf(member, group.protocolName),
      assignment: assignments?.get(member.memberId) ?? member.assignment,
    })),
  };
}
