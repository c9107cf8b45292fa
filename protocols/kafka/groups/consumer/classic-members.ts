// Members of a consumer group that still speak the classic protocol, while a group is upgraded member by member
// (KIP-848): their JoinGroup is a heartbeat that says everything, their SyncGroup fetches what they were assigned, their
// Heartbeat tells them when to join again. Nobody leads: the assignment comes from the server.

import { ERROR_CODES, type ErrorCode } from '../../error-codes.ts';
import { decodeSubscription, encodeAssignment, type Subscription } from '../consumer-protocol.ts';
import type { JoinAnswer, SyncAnswer } from '../effects.ts';
import type { JoinRequest, Protocol } from '../group.ts';
import { CONSUMER_PROTOCOL_TYPE } from '../group-types.ts';
import type { Leaver, MemberClaim } from '../membership.ts';
import type { SyncRequest } from '../sync.ts';
import {
  type Assignment,
  type ConsumerGroup,
  type ConsumerMember,
  currentOf,
  groupEpochOf,
  subscriptionKey,
} from './consumer-group.ts';
import { dropUnusedRegex, removeMembers, replaceStaticMember } from './members.ts';
import { reconcile, waitsForOthers } from './reconciliation.ts';
import { refreshTarget } from './target-assignment.ts';
import { type ConsumerTurn, clearTimer, ensureTimer, setTimer, type TopicImage, write } from './turn.ts';

export function joinClassic(group: ConsumerGroup, request: JoinRequest, turn: ConsumerTurn): JoinAnswer {
  const memberId = request.memberId === '' ? request.newMemberId : request.memberId;
  const subscription = decodeSubscription(request.protocols[0]?.metadata ?? Buffer.alloc(0));
  const code = joinFault(group, request, subscription, turn);
  if (code !== ERROR_CODES.NONE || subscription === undefined) return refusedJoin(code, request.memberId);
  if (request.memberId === '' && request.groupInstanceId === null && request.requiresKnownMemberId)
    return refusedJoin(ERROR_CODES.MEMBER_ID_REQUIRED, memberId);
  const holderId =
    request.groupInstanceId === null ? undefined : group.staticMembers.get(request.groupInstanceId);
  if (holderId !== undefined && holderId !== memberId) replaceStaticMember(group, holderId, memberId, turn);
  const before = group.members.get(memberId);
  const after = classicMember(memberId, request, request.protocols, subscription);
  write(group, turn, { kind: 'member', memberId, value: after });
  dropUnusedRegex(group, before?.topicRegex ?? null, turn);
  refreshTarget(group, before === undefined || subscriptionKey(before) !== subscriptionKey(after), turn);
  const { epoch } = reconcile(group, memberId, assignmentOf(subscription, turn.topics), turn);
  clearTimer(turn, 'join', memberId);
  setTimer(turn, 'session', memberId, request.sessionTimeoutMs);
  setTimer(turn, 'sync', memberId, request.rebalanceTimeoutMs);
  return joined(after, epoch);
}

function joinFault(
  group: ConsumerGroup,
  request: JoinRequest,
  subscription: Subscription | undefined,
  turn: ConsumerTurn,
): ErrorCode {
  const { memberId, groupInstanceId, protocolType, protocols } = request;
  const isCommon = commonProtocols(group, memberId);
  if (protocolType !== CONSUMER_PROTOCOL_TYPE || subscription === undefined)
    return ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL;
  if (!protocols.some(({ name }) => isCommon(name))) return ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL;
  const holderId = groupInstanceId === null ? undefined : group.staticMembers.get(groupInstanceId);
  if (groupInstanceId !== null && memberId !== '') {
    if (holderId === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    if (holderId !== memberId) return ERROR_CODES.FENCED_INSTANCE_ID;
  }
  const isMember = holderId !== undefined || group.members.has(memberId);
  const isFull = !isMember && group.members.size >= turn.settings.membersMax;
  return isFull ? ERROR_CODES.GROUP_MAX_SIZE_REACHED : ERROR_CODES.NONE;
}

/** What all members of the classic protocol speak, in case the group goes back to it. */
function commonProtocols(group: ConsumerGroup, memberId: string): (name: string) => boolean {
  const lists: ReadonlySet<string>[] = [];
  for (const member of group.members.values()) {
    if (member.classic !== null && member.memberId !== memberId)
      lists.push(new Set(member.classic.protocols.map(({ name }) => name)));
  }
  return (name) => lists.every((list) => list.has(name));
}

/** What JoinGroup says of a member, and a classic group keeps. */
type MemberFields = Pick<
  JoinRequest,
  'groupInstanceId' | 'clientId' | 'clientHost' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs'
>;

/** A member of the classic protocol as the group keeps it. */
export function classicMember(
  memberId: string,
  { groupInstanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs }: MemberFields,
  protocols: readonly Protocol[],
  subscription: Subscription,
): ConsumerMember {
  return {
    ...{ memberId, clientId, clientHost, rebalanceTimeoutMs },
    instanceId: groupInstanceId,
    rackId: subscription.rackId,
    topicNames: [...new Set(subscription.topics)].sort(),
    topicRegex: null,
    serverAssignor: null,
    classic: { sessionTimeoutMs, protocols },
  };
}

function joined({ memberId, classic }: ConsumerMember, epoch: number): JoinAnswer {
  return {
    errorCode: ERROR_CODES.NONE,
    memberId,
    generation: epoch,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocolName: classic?.protocols[0]?.name ?? null,
    leaderId: '',
    skipAssignment: false,
    members: [],
  };
}

function refusedJoin(errorCode: ErrorCode, memberId: string): JoinAnswer {
  const nothing = {
    generation: -1,
    protocolType: null,
    protocolName: null,
    leaderId: '',
    skipAssignment: false,
  };
  return { errorCode, memberId, ...nothing, members: [] };
}

export function syncClassic(group: ConsumerGroup, request: SyncRequest, turn: ConsumerTurn): SyncAnswer {
  const { memberId } = request;
  const classic = group.members.get(memberId)?.classic;
  const code = syncFault(group, request, turn);
  if (code !== ERROR_CODES.NONE || classic === undefined || classic === null)
    return { errorCode: code, protocolType: null, protocolName: null, assignment: Buffer.alloc(0) };
  clearTimer(turn, 'sync', memberId);
  setTimer(turn, 'session', memberId, classic.sessionTimeoutMs);
  return {
    errorCode: ERROR_CODES.NONE,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocolName: classic.protocols[0]?.name ?? null,
    assignment: classicAssignment(group, memberId, turn.topics),
  };
}

function syncFault(group: ConsumerGroup, request: SyncRequest, turn: ConsumerTurn): ErrorCode {
  const { memberId, groupInstanceId, generation, protocolType, protocolName } = request;
  const code = classicFault(group, { memberId, groupInstanceId, generation });
  const member = group.members.get(memberId);
  if (code !== ERROR_CODES.NONE || member === undefined) return code;
  const chosen = member.classic?.protocols[0]?.name ?? null;
  const isOther = protocolType !== null && protocolType !== CONSUMER_PROTOCOL_TYPE;
  if (isOther || (protocolName !== null && protocolName !== chosen))
    return ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL;
  const { epoch, state } = currentOf(group, memberId);
  // Who is giving partitions up has joined already; it is told of the next epoch once it has done that.
  if (groupEpochOf(group) <= epoch || state === 'unrevoked') return ERROR_CODES.NONE;
  ensureTimer(turn, 'join', memberId, member.rebalanceTimeoutMs);
  return ERROR_CODES.REBALANCE_IN_PROGRESS;
}

/** 27 when joining again brings something: a newer epoch, partitions to give up, partitions that others gave up. */
export function heartbeatClassic(group: ConsumerGroup, claim: MemberClaim, turn: ConsumerTurn): ErrorCode {
  const code = classicFault(group, claim);
  const member = group.members.get(claim.memberId);
  if (code !== ERROR_CODES.NONE || member === undefined) return code;
  const { memberId, rebalanceTimeoutMs, classic } = member;
  setTimer(turn, 'session', memberId, classic?.sessionTimeoutMs ?? turn.settings.sessionTimeoutMs);
  // The topics may have changed: whoever speaks next brings it about that this is looked at.
  refreshTarget(group, false, turn);
  const { epoch, state } = currentOf(group, memberId);
  const isComplete = epoch === groupEpochOf(group) && state === 'stable';
  if (
    isComplete ||
    (state === 'unreleased' && epoch === groupEpochOf(group) && waitsForOthers(group, memberId))
  )
    return ERROR_CODES.NONE;
  ensureTimer(turn, 'join', memberId, rebalanceTimeoutMs);
  return ERROR_CODES.REBALANCE_IN_PROGRESS;
}

/** One code per member, in the order given. Administrators remove members of either protocol with this request. */
export function leaveClassic(
  group: ConsumerGroup,
  leavers: readonly Leaver[],
  turn: ConsumerTurn,
): ErrorCode[] {
  const leaving: string[] = [];
  const codes = leavers.map(({ memberId, groupInstanceId }) => {
    const holderId = groupInstanceId === null ? memberId : group.staticMembers.get(groupInstanceId);
    if (holderId === undefined || !group.members.has(holderId)) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    // Without a member id an administrator removes whoever holds the instance id (KIP-345).
    if (memberId !== '' && holderId !== memberId) return ERROR_CODES.FENCED_INSTANCE_ID;
    if (leaving.includes(holderId)) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    leaving.push(holderId);
    return ERROR_CODES.NONE;
  });
  if (leaving.length > 0) removeMembers(group, leaving, turn);
  return codes;
}

/** In Kafka's order: member 25 or 82, not of the classic protocol 25, generation 22. */
function classicFault(group: ConsumerGroup, claim: MemberClaim): ErrorCode {
  const { memberId, groupInstanceId, generation } = claim;
  if (groupInstanceId !== null) {
    const holderId = group.staticMembers.get(groupInstanceId);
    if (holderId === undefined) return ERROR_CODES.UNKNOWN_MEMBER_ID;
    if (holderId !== memberId) return ERROR_CODES.FENCED_INSTANCE_ID;
  }
  const member = group.members.get(memberId);
  if (member === undefined || member.classic === null) return ERROR_CODES.UNKNOWN_MEMBER_ID;
  return currentOf(group, memberId).epoch === generation ? ERROR_CODES.NONE : ERROR_CODES.ILLEGAL_GENERATION;
}

/** What a member has, in the words of the consumer protocol of its own version. */
export function classicAssignment(group: ConsumerGroup, memberId: string, topics: TopicImage): Buffer {
  const metadata = group.members.get(memberId)?.classic?.protocols[0]?.metadata;
  const version = (metadata === undefined ? undefined : decodeSubscription(metadata)?.version) ?? 0;
  const assigned = [...currentOf(group, memberId).assigned].flatMap(([topicId, partitions]) => {
    const topic = topics.byId(topicId)?.name;
    return topic === undefined ? [] : [{ topic, partitions }];
  });
  return encodeAssignment(version, assigned);
}

/** What a member says that it owns. */
function assignmentOf({ ownedPartitions }: Subscription, topics: TopicImage): Assignment {
  return new Map(
    ownedPartitions.flatMap(({ topic, partitions }) => {
      const info = topics.byName(topic);
      return info === undefined ? [] : [[info.topicId, partitions] as const];
    }),
  );
}
