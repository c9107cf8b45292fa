// ConsumerGroupHeartbeat (KIP-848): a member joins with epoch 0, says what changed, reports what it owns, and is told
// its epoch and its partitions. One request does what the classic protocol does in four.

import {
  type Assignment,
  type ConsumerGroup,
  type ConsumerMember,
  type CurrentAssignment,
  currentOf,
  STATIC_LEAVE_EPOCH,
  sameAssignment,
  subscriptionKey,
} from './consumer-group.ts';
import { dropUnusedRegex, replaceStaticMember } from './members.ts';
import { reconcile } from './reconciliation.ts';
import { refreshTarget } from './target-assignment.ts';
import { type ConsumerTurn, type Fault, fault, setTimer, write } from './turn.ts';

/** null = as said before. */
export interface HeartbeatRequest {
  readonly memberId: string;
  /** 0 = joins. */
  readonly memberEpoch: number;
  readonly instanceId: string | null;
  readonly rackId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly rebalanceTimeoutMs: number | null;
  /** Sorted, each once. */
  readonly topicNames: readonly string[] | null;
  /** '' = none. */
  readonly topicRegex: string | null;
  /** What the expression matches, sorted; looked at if it is new to the group. */
  readonly matchedTopics: readonly string[];
  readonly serverAssignor: string | null;
  readonly owned: Assignment | null;
}

export interface HeartbeatAnswer {
  readonly memberId: string;
  readonly memberEpoch: number;
  /** null = as told before. */
  readonly assignment: Assignment | null;
}

export function heartbeat(
  group: ConsumerGroup,
  request: HeartbeatRequest,
  turn: ConsumerTurn,
): HeartbeatAnswer | Fault {
  const refused = heartbeatFault(group, request, turn);
  if (refused !== undefined) return refused;
  const { memberId } = request;
  const isNew = prepareMember(group, request, turn);
  const before = currentOf(group, memberId);
  const isChanged = updateMember(group, request, turn) || isNew;
  refreshTarget(group, isChanged, turn);
  const after = reconcile(group, memberId, request.owned, turn);
  setTimer(turn, 'session', memberId, turn.settings.sessionTimeoutMs);
  return { memberId, memberEpoch: after.epoch, assignment: toldAssignment(request, before, after) };
}

/** Nothing is changed before all of this holds. */
export function heartbeatFault(
  group: ConsumerGroup,
  request: HeartbeatRequest,
  turn: ConsumerTurn,
): Fault | undefined {
  const { memberId, memberEpoch, instanceId } = request;
  const isMember = group.members.has(memberId);
  const holderId = instanceId === null ? undefined : group.staticMembers.get(instanceId);
  const comesBack = holderId !== undefined && holderId !== memberId;
  if (!isMember && !comesBack && group.members.size >= turn.settings.membersMax)
    return fault('GROUP_MAX_SIZE_REACHED', `The group has as many members as it may have.`);
  if (memberEpoch === 0) {
    // A member of the classic protocol does not say that it will return: it is upgraded by being replaced.
    const isHeld = comesBack && group.members.get(holderId)?.classic === null;
    if (isHeld && currentOf(group, holderId).epoch !== STATIC_LEAVE_EPOCH)
      return fault('UNRELEASED_INSTANCE_ID', `Instance id ${instanceId} is held by member ${holderId}.`);
    return undefined;
  }
  if (instanceId !== null && holderId === undefined)
    return fault('UNKNOWN_MEMBER_ID', `Instance id ${instanceId} is unknown.`);
  if (comesBack)
    return fault('FENCED_INSTANCE_ID', `Instance id ${instanceId} is held by member ${holderId}.`);
  if (!isMember) return fault('UNKNOWN_MEMBER_ID', `Member ${memberId} is not a member of the group.`);
  return epochFault(currentOf(group, memberId), request);
}

/** The epoch before the current one is taken too while nothing was given away in between: an answer may get lost. */
function epochFault(current: CurrentAssignment, { memberEpoch, owned }: HeartbeatRequest): Fault | undefined {
  if (memberEpoch === current.epoch) return undefined;
  if (memberEpoch === current.previousEpoch && owned !== null && isWithin(owned, current.assigned))
    return undefined;
  return fault(
    'FENCED_MEMBER_EPOCH',
    `The member's epoch is ${current.epoch}, not ${memberEpoch}: it must give up its partitions and join again.`,
  );
}

function isWithin(owned: Assignment, assigned: Assignment): boolean {
  for (const [topicId, partitions] of owned) {
    const ofTopic = assigned.get(topicId);
    if (ofTopic === undefined || !partitions.every((partition) => ofTopic.includes(partition))) return false;
  }
  return true;
}

/** Puts a static member's new id in the place of the old one. True when nobody was there before. */
function prepareMember(
  group: ConsumerGroup,
  { memberId, instanceId }: HeartbeatRequest,
  turn: ConsumerTurn,
): boolean {
  const holderId = instanceId === null ? undefined : group.staticMembers.get(instanceId);
  if (holderId === undefined || holderId === memberId) return !group.members.has(memberId);
  replaceStaticMember(group, holderId, memberId, turn);
  return false;
}

/** True when it is subscribed to something else than before. */
function updateMember(group: ConsumerGroup, request: HeartbeatRequest, turn: ConsumerTurn): boolean {
  const before = group.members.get(request.memberId);
  const after = updated(before, request);
  if (before !== undefined && isSame(before, after)) return false;
  write(group, turn, { kind: 'member', memberId: after.memberId, value: after });
  const { topicRegex } = after;
  if (topicRegex !== null && !group.regexes.has(topicRegex))
    write(group, turn, {
      kind: 'regex',
      regex: topicRegex,
      value: { topics: request.matchedTopics, resolvedAtMs: turn.nowMs },
    });
  if (before !== undefined) dropUnusedRegex(group, before.topicRegex, turn);
  return before === undefined || subscriptionKey(before) !== subscriptionKey(after);
}

function updated(before: ConsumerMember | undefined, request: HeartbeatRequest): ConsumerMember {
  const { memberId, clientId, clientHost, topicRegex } = request;
  return {
    ...{ memberId, clientId, clientHost },
    instanceId: request.instanceId ?? before?.instanceId ?? null,
    rackId: request.rackId ?? before?.rackId ?? null,
    topicNames: request.topicNames ?? before?.topicNames ?? [],
    topicRegex: topicRegex === '' ? null : (topicRegex ?? before?.topicRegex ?? null),
    rebalanceTimeoutMs:
      request.rebalanceTimeoutMs ?? before?.rebalanceTimeoutMs ?? DEFAULT_REBALANCE_TIMEOUT_MS,
    serverAssignor: request.serverAssignor ?? before?.serverAssignor ?? null,
    // Whoever sends this speaks the consumer protocol from now on.
    classic: null,
  };
}

const DEFAULT_REBALANCE_TIMEOUT_MS = 300_000;

function isSame(one: ConsumerMember, other: ConsumerMember): boolean {
  return (
    one.instanceId === other.instanceId &&
    one.rackId === other.rackId &&
    one.clientId === other.clientId &&
    one.clientHost === other.clientHost &&
    one.rebalanceTimeoutMs === other.rebalanceTimeoutMs &&
    one.serverAssignor === other.serverAssignor &&
    one.classic === other.classic &&
    subscriptionKey(one) === subscriptionKey(other)
  );
}

/** Told when it changed, when the member joins, and when it says everything: it may have missed an answer. */
function toldAssignment(
  request: HeartbeatRequest,
  before: CurrentAssignment,
  after: CurrentAssignment,
): Assignment | null {
  const { memberEpoch, rebalanceTimeoutMs, topicNames, topicRegex, owned } = request;
  const isWhole = rebalanceTimeoutMs !== null && (topicNames ?? topicRegex) !== null && owned !== null;
  const isTold = memberEpoch === 0 || isWhole || !sameAssignment(before.assigned, after.assigned);
  return isTold ? after.assigned : null;
}
