// A classic group becomes one of the consumer protocol when the first of its members comes back with that protocol,
// and goes back when the last of those has left (KIP-848, group.consumer.migration.policy = bidirectional). Members
// keep their ids and what they have; the generation becomes the epoch and the other way round.

import { decodeAssignment, decodeSubscription } from '../consumer-protocol.ts';
import type { GroupRecord, RecordedMember } from '../effects.ts';
import type { Group, Member } from '../group.ts';
import { CONSUMER_PROTOCOL_TYPE } from '../group-types.ts';
import { classicAssignment, classicMember } from './classic-members.ts';
import { type Assignment, type ConsumerGroup, groupEpochOf, NO_PARTITIONS } from './consumer-group.ts';
import { type ConsumerTurn, ensureTimer, setTimer, type TopicImage, write } from './turn.ts';

/** Why a classic group cannot be upgraded; undefined = it can. */
export function upgradeProblem(group: Group, membersMax: number): string | undefined {
  if (group.members.size === 0) return undefined;
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return 'its members are not consumers';
  if (group.members.size > membersMax) return 'it has too many members';
  for (const member of group.members.values())
    if (subscriptionOf(group, member) === undefined) return 'the subscription of a member cannot be read';
  return undefined;
}

/** Takes the members of a classic group in: everyone has what it was assigned, in an epoch that is the generation. */
export function upgrade(from: Group, group: ConsumerGroup, turn: ConsumerTurn): void {
  const epoch = Math.max(1, from.generation);
  // Hash 0 is that of no topics: the first refresh finds that it differs, and raises the epoch.
  write(group, turn, { kind: 'epoch', value: { epoch, metadataHash: 0 } });
  for (const member of from.members.values()) takeIn(from, member, group, epoch, turn);
  write(group, turn, { kind: 'target-epoch', value: epoch });
}

function takeIn(from: Group, member: Member, group: ConsumerGroup, epoch: number, turn: ConsumerTurn): void {
  const { memberId, rebalanceTimeoutMs, sessionTimeoutMs } = member;
  const subscription = subscriptionOf(from, member);
  if (subscription === undefined) return;
  const assigned = assignedTo(group, memberId, member.assignment, turn.topics);
  const value = classicMember(memberId, member, protocolsOf(from, member), subscription);
  write(group, turn, { kind: 'member', memberId, value });
  write(group, turn, { kind: 'target', memberId, value: assigned });
  const current = { epoch, previousEpoch: epoch, state: 'stable' as const, assigned };
  write(group, turn, { kind: 'current', memberId, value: { ...current, pendingRevocation: NO_PARTITIONS } });
  setTimer(turn, 'session', memberId, sessionTimeoutMs);
  // Whoever was in a round, or will be told of the new epoch, must come to join.
  ensureTimer(turn, 'join', memberId, rebalanceTimeoutMs);
}

function subscriptionOf(group: Group, member: Member) {
  const metadata = protocolsOf(group, member)[0]?.metadata;
  return metadata === undefined ? undefined : decodeSubscription(metadata);
}

/** The chosen protocol first. */
function protocolsOf(group: Group, member: Member) {
  const chosen = member.protocols.filter(({ name }) => name === group.protocolName);
  return [...chosen, ...member.protocols.filter((protocol) => !chosen.includes(protocol))];
}

/** What the leader assigned; of what it gave to two, the second gets nothing. */
function assignedTo(group: ConsumerGroup, memberId: string, bytes: Buffer, topics: TopicImage): Assignment {
  const assigned = new Map<string, number[]>();
  for (const { topic, partitions } of decodeAssignment(bytes) ?? []) {
    const info = topics.byName(topic);
    if (info === undefined) continue;
    const owners = group.owners.get(info.topicId);
    const own = [...new Set(partitions)]
      .filter((partition) => partition >= 0 && partition < info.partitions)
      .filter((partition) => (owners?.get(partition) ?? memberId) === memberId)
      .sort((a, b) => a - b);
    if (own.length > 0) assigned.set(info.topicId, own);
  }
  return assigned;
}

/** The classic group that the members go on in; it begins a round at once. */
export function downgraded(group: ConsumerGroup, topics: TopicImage, nowMs: number): GroupRecord {
  const members: RecordedMember[] = [];
  for (const {
    memberId,
    instanceId,
    clientId,
    clientHost,
    rebalanceTimeoutMs,
    classic,
  } of group.members.values()) {
    members.push({
      ...{ memberId, clientId, clientHost, rebalanceTimeoutMs },
      groupInstanceId: instanceId,
      sessionTimeoutMs: classic?.sessionTimeoutMs ?? 0,
      subscription: classic?.protocols[0]?.metadata ?? Buffer.alloc(0),
      assignment: classicAssignment(group, memberId, topics),
    });
  }
  return {
    protocolType: CONSUMER_PROTOCOL_TYPE,
    generation: groupEpochOf(group),
    protocolName: commonProtocol(group),
    leaderId: members[0]?.memberId ?? null,
    stateSinceMs: nowMs,
    members,
  };
}

function commonProtocol(group: ConsumerGroup): string | null {
  const lists = [...group.members.values()].map(
    ({ classic }) => classic?.protocols.map(({ name }) => name) ?? [],
  );
  return lists[0]?.find((name) => lists.every((list) => list.includes(name))) ?? null;
}
