// One group of the consumer protocol (KIP-848) as a value: what its records say, and what follows from them. Every
// change is a record; `applyRecord` puts it into memory, at start-up and live alike, and returns the record that
// would take it back, so that what the log refused can be undone.
//
// Members, assignments and resolved expressions are never changed in place: a change is a new value.

import { MEMBER_BYTES, type Protocol, protocolBytesOf } from '../group.ts';

/** topicId → partitions, ascending. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

export const NO_PARTITIONS: Assignment = new Map();

/** What a member that still speaks the classic protocol said in its JoinGroup. */
export interface ClassicMetadata {
  readonly sessionTimeoutMs: number;
  readonly protocols: readonly Protocol[];
}

export interface ConsumerMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly rackId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  /** Sorted, each once. */
  readonly topicNames: readonly string[];
  readonly topicRegex: string | null;
  readonly rebalanceTimeoutMs: number;
  readonly serverAssignor: string | null;
  /** null = it speaks the consumer protocol. */
  readonly classic: ClassicMetadata | null;
}

/** 'unrevoked': it must give partitions up first; 'unreleased': partitions of its target are still others'. */
export type MemberState = 'stable' | 'unrevoked' | 'unreleased';

export interface CurrentAssignment {
  /** −2 = a static member that left and will return. */
  readonly epoch: number;
  readonly previousEpoch: number;
  readonly state: MemberState;
  readonly assigned: Assignment;
  readonly pendingRevocation: Assignment;
  /** Since which epoch it has each of these partitions (KIP-1251); those that are missing, since `epoch`. */
  readonly sinceEpochs?: SinceEpochs;
}

/** topicId → partition → epoch. */
export type SinceEpochs = ReadonlyMap<string, ReadonlyMap<number, number>>;

export const STATIC_LEAVE_EPOCH = -2;

/** Of a member that has not been told anything yet. */
const JOINING: CurrentAssignment = {
  ...{ epoch: 0, previousEpoch: 0, state: 'stable' },
  ...{ assigned: NO_PARTITIONS, pendingRevocation: NO_PARTITIONS },
};

export interface ResolvedRegex {
  /** Sorted. */
  readonly topics: readonly string[];
  readonly resolvedAtMs: number;
}

export interface GroupEpoch {
  readonly epoch: number;
  /** Of the subscribed topics, their ids and numbers of partitions (KIP-1101). */
  readonly metadataHash: number;
}

export type ConsumerRecord =
  | { readonly kind: 'epoch'; readonly value: GroupEpoch | null }
  | { readonly kind: 'member'; readonly memberId: string; readonly value: ConsumerMember | null }
  | { readonly kind: 'target-epoch'; readonly value: number | null }
  | { readonly kind: 'target'; readonly memberId: string; readonly value: Assignment | null }
  | { readonly kind: 'current'; readonly memberId: string; readonly value: CurrentAssignment | null }
  | { readonly kind: 'regex'; readonly regex: string; readonly value: ResolvedRegex | null };

export interface ConsumerGroup {
  readonly groupId: string;
  epoch: GroupEpoch | null;
  targetEpoch: number | null;
  readonly members: Map<string, ConsumerMember>;
  readonly targets: Map<string, Assignment>;
  readonly currents: Map<string, CurrentAssignment>;
  readonly regexes: Map<string, ResolvedRegex>;
  /** instanceId → memberId. */
  readonly staticMembers: Map<string, string>;
  /** topicId → partition → the member that has it, or has not given it up yet. */
  readonly owners: Map<string, Map<number, string>>;
  /** How many members have each subscription, by its key. */
  readonly subscriptions: Map<string, number>;
  /** Changes with what is subscribed to: another subscription, another meaning of an expression. */
  subscriptionsVersion: number;
  /** Since when it has had no members: its offsets expire a retention later. */
  emptySinceMs: number;
  /** About the memory that members, assignments and meanings of expressions take. */
  heldBytes: number;
}

export function createConsumerGroup(groupId: string, nowMs: number): ConsumerGroup {
  return {
    groupId,
    epoch: null,
    targetEpoch: null,
    members: new Map(),
    targets: new Map(),
    currents: new Map(),
    regexes: new Map(),
    staticMembers: new Map(),
    owners: new Map(),
    subscriptions: new Map(),
    subscriptionsVersion: 0,
    emptySinceMs: nowMs,
    heldBytes: 0,
  };
}

/** Returns the record that takes this one back. */
export function applyRecord(group: ConsumerGroup, record: ConsumerRecord, nowMs: number): ConsumerRecord {
  const before = takeIn(group, record, nowMs);
  group.heldBytes += bytesOf(record) - bytesOf(before);
  return before;
}

function takeIn(group: ConsumerGroup, record: ConsumerRecord, nowMs: number): ConsumerRecord {
  switch (record.kind) {
    case 'epoch': {
      const before = group.epoch;
      group.epoch = record.value;
      if (group.members.size === 0) group.emptySinceMs = nowMs;
      return { kind: 'epoch', value: before };
    }
    case 'target-epoch': {
      const before = group.targetEpoch;
      group.targetEpoch = record.value;
      return { kind: 'target-epoch', value: before };
    }
    case 'member':
      return { ...record, value: applyMember(group, record.memberId, record.value, nowMs) };
    case 'target':
      return { ...record, value: put(group.targets, record.memberId, record.value) };
    case 'current':
      return { ...record, value: applyCurrent(group, record.memberId, record.value) };
    case 'regex':
      group.subscriptionsVersion++;
      return { ...record, value: put(group.regexes, record.regex, record.value) };
    default:
      return record satisfies never;
  }
}

function put<Value>(map: Map<string, Value>, key: string, value: Value | null): Value | null {
  const before = map.get(key) ?? null;
  if (value === null) map.delete(key);
  else map.set(key, value);
  return before;
}

function applyMember(
  group: ConsumerGroup,
  memberId: string,
  member: ConsumerMember | null,
  nowMs: number,
): ConsumerMember | null {
  const before = put(group.members, memberId, member);
  // Another member may have taken the instance id over meanwhile.
  const heldId = before?.instanceId ?? null;
  if (heldId !== null && group.staticMembers.get(heldId) === memberId) group.staticMembers.delete(heldId);
  const instanceId = member?.instanceId ?? null;
  if (instanceId !== null) group.staticMembers.set(instanceId, memberId);
  countSubscription(group, before, -1);
  countSubscription(group, member, 1);
  if (group.members.size === 0) group.emptySinceMs = nowMs;
  return before;
}

function countSubscription(group: ConsumerGroup, member: ConsumerMember | null, by: 1 | -1): void {
  if (member === null) return;
  const key = subscriptionKey(member);
  const before = group.subscriptions.get(key) ?? 0;
  if (before + by > 0) group.subscriptions.set(key, before + by);
  else group.subscriptions.delete(key);
  if (before === 0 || before + by === 0) group.subscriptionsVersion++;
}

const KEYS = new WeakMap<ConsumerMember, string>();

/** The same for members that are subscribed to the same, however they said it. Topic names hold no spaces. */
export function subscriptionKey(member: ConsumerMember): string {
  const known = KEYS.get(member);
  if (known !== undefined) return known;
  const key = `${member.topicNames.join(' ')}\n${member.topicRegex ?? ''}`;
  KEYS.set(member, key);
  return key;
}

function applyCurrent(
  group: ConsumerGroup,
  memberId: string,
  current: CurrentAssignment | null,
): CurrentAssignment | null {
  const before = put(group.currents, memberId, current);
  if (
    before !== null &&
    before.assigned === current?.assigned &&
    before.pendingRevocation === current.pendingRevocation
  )
    return before;
  for (const assignment of heldBy(before)) disown(group, memberId, assignment);
  for (const assignment of heldBy(current)) own(group, memberId, assignment);
  return before;
}

function heldBy(current: CurrentAssignment | null): readonly Assignment[] {
  return current === null ? [] : [current.assigned, current.pendingRevocation];
}

function own({ owners }: ConsumerGroup, memberId: string, assignment: Assignment): void {
  for (const [topicId, partitions] of assignment) {
    const ofTopic = owners.get(topicId) ?? new Map<number, string>();
    owners.set(topicId, ofTopic);
    for (const partition of partitions) ofTopic.set(partition, memberId);
  }
}

function disown({ owners }: ConsumerGroup, memberId: string, assignment: Assignment): void {
  for (const [topicId, partitions] of assignment) {
    const ofTopic = owners.get(topicId);
    if (ofTopic === undefined) continue;
    for (const partition of partitions) if (ofTopic.get(partition) === memberId) ofTopic.delete(partition);
    if (ofTopic.size === 0) owners.delete(topicId);
  }
}

/** The records that make the group nothing. Its members first, itself last. */
export function tombstonesOf(group: ConsumerGroup): ConsumerRecord[] {
  return [
    ...[...group.currents.keys()].map((memberId) => ({ kind: 'current' as const, memberId, value: null })),
    ...[...group.targets.keys()].map((memberId) => ({ kind: 'target' as const, memberId, value: null })),
    ...[...group.members.keys()].map((memberId) => ({ kind: 'member' as const, memberId, value: null })),
    ...[...group.regexes.keys()].map((regex) => ({ kind: 'regex' as const, regex, value: null })),
    { kind: 'target-epoch', value: null },
    { kind: 'epoch', value: null },
  ];
}

/** A partition in a list, with its owner, and with the epoch since which. */
const PARTITION_BYTES = 64;
const TOPIC_NAME_BYTES = 16;

function bytesOf(record: ConsumerRecord): number {
  switch (record.kind) {
    case 'member':
      return record.value === null ? 0 : memberBytes(record.value);
    case 'target':
      return record.value === null ? 0 : PARTITION_BYTES * partitionCountOf(record.value);
    case 'current':
      return record.value === null ? 0 : PARTITION_BYTES * partitionCountOf(record.value.assigned);
    case 'regex':
      return record.value === null ? 0 : record.regex.length + TOPIC_NAME_BYTES * record.value.topics.length;
    default:
      return 0;
  }
}

function memberBytes(member: ConsumerMember): number {
  const protocols = member.classic === null ? 0 : protocolBytesOf(member.classic.protocols);
  const names = 2 * member.memberId.length + member.clientId.length;
  // What it is subscribed to, and the key that is made of it.
  return MEMBER_BYTES + names + 3 * subscriptionKey(member).length + protocols;
}

export type ConsumerGroupState = 'empty' | 'assigning' | 'reconciling' | 'stable';

export function stateOf(group: ConsumerGroup): ConsumerGroupState {
  if (group.members.size === 0) return 'empty';
  if (groupEpochOf(group) > targetEpochOf(group)) return 'assigning';
  for (const memberId of group.members.keys()) if (!isReconciled(group, memberId)) return 'reconciling';
  return 'stable';
}

export function groupEpochOf(group: ConsumerGroup): number {
  return group.epoch?.epoch ?? 0;
}

export function targetEpochOf(group: ConsumerGroup): number {
  return group.targetEpoch ?? 0;
}

export function currentOf(group: ConsumerGroup, memberId: string): CurrentAssignment {
  return group.currents.get(memberId) ?? JOINING;
}

/** Since which epoch the member has a partition, also if it is about to give it up; undefined when it has not. */
export function sinceEpochOf(
  current: CurrentAssignment,
  topicId: string,
  partition: number,
): number | undefined {
  const has = heldBy(current).some((assignment) => assignment.get(topicId)?.includes(partition) === true);
  return has ? (current.sinceEpochs?.get(topicId)?.get(partition) ?? current.epoch) : undefined;
}

function isReconciled(group: ConsumerGroup, memberId: string): boolean {
  const { state, epoch } = currentOf(group, memberId);
  return state === 'stable' && epoch === targetEpochOf(group);
}

/** No member of the consumer protocol is left: the group goes back to the classic one. */
export function isClassicAgain(group: ConsumerGroup): boolean {
  if (group.members.size === 0) return false;
  for (const { classic } of group.members.values()) if (classic === null) return false;
  return true;
}

export function sameAssignment(one: Assignment, other: Assignment): boolean {
  if (one === other) return true;
  if (one.size !== other.size) return false;
  for (const [topicId, partitions] of one) {
    const others = other.get(topicId);
    if (others === undefined || others.length !== partitions.length) return false;
    if (!partitions.every((partition, index) => partition === others[index])) return false;
  }
  return true;
}

export function union(one: Assignment, other: Assignment): Assignment {
  const both = new Map(one);
  for (const [topicId, partitions] of other)
    both.set(
      topicId,
      [...(one.get(topicId) ?? []), ...partitions].sort((a, b) => a - b),
    );
  return both;
}

export function partitionCountOf(assignment: Assignment): number {
  let count = 0;
  for (const partitions of assignment.values()) count += partitions.length;
  return count;
}
