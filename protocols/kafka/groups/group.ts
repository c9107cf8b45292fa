// One consumer group as a value: its members, its round, and the rules that read or change nothing else. No
// socket, no clock, no store: what must happen outside is told as Effects by the functions beside this file.
//
// A member waits for an answer by a ticket, a number that its coordinator gave out; the group never sees
// connections. Byte slices held here are copies: they outlive the request they came in.

import assert from 'node:assert/strict';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';

export type GroupState = 'empty' | 'preparing-rebalance' | 'completing-rebalance' | 'stable' | 'dead';

/** The states that each state may be entered from. Replay enters 'empty' and 'stable' from either of the two. */
const PREDECESSORS: Readonly<Record<GroupState, readonly GroupState[]>> = {
  empty: ['preparing-rebalance', 'empty', 'stable'],
  'preparing-rebalance': ['empty', 'completing-rebalance', 'stable'],
  'completing-rebalance': ['preparing-rebalance'],
  stable: ['completing-rebalance', 'stable', 'empty'],
  dead: ['empty', 'preparing-rebalance', 'completing-rebalance', 'stable'],
};

export interface Protocol {
  readonly name: string;
  readonly metadata: Buffer;
}

export interface Member {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  protocols: readonly Protocol[];
  assignment: Buffer;
  joinTicket: number | undefined;
  syncTicket: number | undefined;
  /** Has never been told that a round completed. */
  isNew: boolean;
}

/** A static member that comes back under a new id, while the record that says so is being written. */
export interface Replacement {
  readonly member: Member;
  readonly ticket: number;
  readonly request: JoinRequest;
  /** Who led the group when it was decided; may be the member's own old id. */
  readonly oldLeaderId: string;
}

export interface Group {
  readonly groupId: string;
  state: GroupState;
  stateSinceMs: number;
  generation: number;
  protocolType: string | null;
  protocolName: string | null;
  leaderId: string | null;
  /** In the order of joining. */
  readonly members: Map<string, Member>;
  /** groupInstanceId → memberId. */
  readonly staticMembers: Map<string, string>;
  /** Ids given out with MEMBER_ID_REQUIRED (KIP-394) that nobody has joined with yet. */
  readonly pendingMembers: Set<string>;
  /** Members of this round that have not sent SyncGroup. */
  readonly pendingSync: Set<string>;
  readonly replacements: Map<string, Replacement>;
  /** The first round of a group that was empty: it waits a little for more members (KIP-134). */
  isInitialRound: boolean;
  hasNewMember: boolean;
  /** What may still be added to the wait of the first round. */
  initialDelayLeftMs: number;
  /** The leader's assignment is being written. */
  isRecordingAssignment: boolean;
  /** A record of the group is in the log, so that dropping the group takes a tombstone. */
  isRecorded: boolean;
}

export interface JoinRequest {
  /** '' = wants one. */
  readonly memberId: string;
  /** The id that a new member gets. */
  readonly newMemberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly protocolType: string;
  readonly protocols: readonly Protocol[];
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  /** JoinGroup v4+: a new dynamic member must come back with the id it is told (KIP-394). */
  readonly requiresKnownMemberId: boolean;
  /** JoinGroup v9+: a returning static leader may be told to skip the assignment (KIP-814). */
  readonly supportsSkippingAssignment: boolean;
}

export function createGroup(groupId: string, nowMs: number): Group {
  return {
    groupId,
    state: 'empty',
    stateSinceMs: nowMs,
    generation: 0,
    protocolType: null,
    protocolName: null,
    leaderId: null,
    members: new Map(),
    staticMembers: new Map(),
    pendingMembers: new Set(),
    pendingSync: new Set(),
    replacements: new Map(),
    isInitialRound: false,
    hasNewMember: false,
    initialDelayLeftMs: 0,
    isRecordingAssignment: false,
    isRecorded: false,
  };
}

export function transition(group: Group, state: GroupState, nowMs: number): void {
  assert(PREDECESSORS[state].includes(group.state), `group ${group.groupId}: ${group.state} → ${state}`);
  group.state = state;
  group.stateSinceMs = nowMs;
}

export function createMember(memberId: string, request: JoinRequest): Member {
  return {
    memberId,
    groupInstanceId: request.groupInstanceId,
    clientId: request.clientId,
    clientHost: request.clientHost,
    sessionTimeoutMs: request.sessionTimeoutMs,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    protocols: request.protocols,
    assignment: NO_ASSIGNMENT,
    joinTicket: undefined,
    syncTicket: undefined,
    isNew: false,
  };
}

export const NO_ASSIGNMENT: Buffer = Buffer.alloc(0);

export function addMember(group: Group, member: Member, protocolType: string): void {
  assert(!group.members.has(member.memberId), `group ${group.groupId} has ${member.memberId} twice`);
  if (group.members.size === 0) group.protocolType = protocolType;
  group.members.set(member.memberId, member);
  group.pendingMembers.delete(member.memberId);
  if (member.groupInstanceId !== null) group.staticMembers.set(member.groupInstanceId, member.memberId);
  group.leaderId ??= member.memberId;
}

/** Forgets a member, pending or not; the oldest of those left leads from then on. */
export function dropMember(group: Group, memberId: string): void {
  group.pendingMembers.delete(memberId);
  group.pendingSync.delete(memberId);
  const member = group.members.get(memberId);
  if (member === undefined) return;
  group.members.delete(memberId);
  if (member.groupInstanceId !== null) group.staticMembers.delete(member.groupInstanceId);
  if (group.leaderId === memberId) group.leaderId = group.members.keys().next().value ?? null;
}

/** Puts a static member's new id in the place of the old one, its rank and leadership included. */
export function replaceStaticMember(group: Group, oldMemberId: string, member: Member): void {
  const members = [...group.members.values()];
  group.members.clear();
  for (const other of members) {
    const kept = other.memberId === oldMemberId ? member : other;
    group.members.set(kept.memberId, kept);
  }
  if (member.groupInstanceId !== null) group.staticMembers.set(member.groupInstanceId, member.memberId);
  if (group.leaderId === oldMemberId) group.leaderId = member.memberId;
  if (group.pendingSync.delete(oldMemberId)) group.pendingSync.add(member.memberId);
}

/** Who speaks for the group: 25 unknown, 82 when another id holds the instance id (KIP-345), else 0. */
export function memberFault(group: Group, memberId: string, groupInstanceId: string | null): ErrorCode {
  if (groupInstanceId !== null) {
    const holder = group.staticMembers.get(groupInstanceId);
    if (holder === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    if (holder !== memberId) return ERROR_CODES.FENCED_INSTANCE_ID;
  }
  return group.members.has(memberId) ? ERROR_CODES.NONE : ERROR_CODES.UNKNOWN_MEMBER_ID;
}

/** Whether a member with these protocols can be in the group: some protocol must suit everyone. */
export function suitsProtocols(group: Group, request: JoinRequest): boolean {
  if (group.state === 'empty') return request.protocolType !== '' && request.protocols.length > 0;
  if (group.protocolType !== request.protocolType) return false;
  // How many of the others, without a gap, speak each: in one pass, and without a set for every member that joins.
  const speakers = new Map(request.protocols.map(({ name }) => [name, 0]));
  let others = 0;
  for (const member of group.members.values()) {
    if (member.memberId === request.memberId) continue;
    for (const { name } of member.protocols)
      if (speakers.get(name) === others) speakers.set(name, others + 1);
    others++;
  }
  for (const count of speakers.values()) if (count === others) return true;
  return false;
}

/** What all of them speak, undefined = anything. In one pass: how many protocols a member names is its choice. */
function commonProtocols(members: readonly Member[]): ReadonlySet<string> | undefined {
  let common: ReadonlySet<string> | undefined;
  for (const { protocols } of members) {
    const names = protocols.map(({ name }) => name);
    common = new Set(common === undefined ? names : names.filter((name) => common?.has(name)));
  }
  return common;
}

/** The protocol that most members like best among those that all speak; the elder's vote breaks a tie. */
export function selectProtocol(group: Group): string | null {
  const members = [...group.members.values()];
  const common = commonProtocols(members);
  const votes = new Map<string, number>();
  for (const member of members) {
    const choice = member.protocols.find(({ name }) => common?.has(name));
    if (choice !== undefined) votes.set(choice.name, (votes.get(choice.name) ?? 0) + 1);
  }
  let selected: string | null = null;
  for (const [name, count] of votes) {
    if (selected === null || count > (votes.get(selected) ?? 0)) selected = name;
  }
  return selected;
}

export function metadataOf(member: Member, protocolName: string | null): Buffer {
  return member.protocols.find(({ name }) => name === protocolName)?.metadata ?? NO_ASSIGNMENT;
}

export function sameProtocols(member: Member, protocols: readonly Protocol[]): boolean {
  return (
    member.protocols.length === protocols.length &&
    member.protocols.every(({ name, metadata }, index) => {
      const other = protocols[index];
      return other !== undefined && other.name === name && other.metadata.equals(metadata);
    })
  );
}

export function everyoneJoined(group: Group): boolean {
  if (group.pendingMembers.size > 0) return false;
  for (const member of group.members.values()) if (member.joinTicket === undefined) return false;
  return true;
}

/** A round lasts as long as its most patient member. */
export function rebalanceTimeoutMs(group: Group): number {
  let longestMs = 0;
  for (const member of group.members.values()) longestMs = Math.max(longestMs, member.rebalanceTimeoutMs);
  return longestMs;
}

/** The leader must be one who joined this round. False when nobody did. */
export function electJoinedLeader(group: Group): boolean {
  if (group.leaderId !== null && group.members.get(group.leaderId)?.joinTicket !== undefined) return true;
  for (const member of group.members.values()) {
    if (member.joinTicket === undefined) continue;
    group.leaderId = member.memberId;
    return true;
  }
  return false;
}

/** A member's objects, maps and timer, roughly; an id that was given out is counted as one. */
export const MEMBER_BYTES = 1024;
/** The same of one protocol, which may have neither name nor metadata. */
const PROTOCOL_BYTES = 256;

export function protocolBytesOf(protocols: readonly Protocol[]): number {
  let bytes = 0;
  for (const { name, metadata } of protocols) bytes += PROTOCOL_BYTES + name.length + metadata.length;
  return bytes;
}

/** About the memory that the members take, and those who were given an id and have not joined. */
export function heldBytesOf(group: Group): number {
  let heldBytes = MEMBER_BYTES * group.pendingMembers.size;
  for (const { memberId, clientId, protocols, assignment } of group.members.values()) {
    heldBytes += MEMBER_BYTES + memberId.length + clientId.length + assignment.length;
    heldBytes += protocolBytesOf(protocols);
  }
  return heldBytes;
}
