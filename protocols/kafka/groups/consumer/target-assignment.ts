// What every member of a group should have. It is computed anew when the group epoch rises, which it does when what
// is subscribed to changes: members, their topics, what an expression means, partitions of a topic (KIP-848).

import { createHash } from 'node:crypto';
import type { AssignedMember, SubscribedTopic } from './assignor.ts';
import { ASSIGNORS, DEFAULT_ASSIGNOR } from './assignors.ts';
import {
  type ConsumerGroup,
  type ConsumerMember,
  groupEpochOf,
  NO_PARTITIONS,
  sameAssignment,
  subscriptionKey,
  targetEpochOf,
} from './consumer-group.ts';
import { type ConsumerTurn, type TopicImage, write } from './turn.ts';

/** What the subscriptions of a group come to, among the topics that there are. */
interface ResolvedSubscriptions {
  readonly topicsVersion: number;
  readonly subscriptionsVersion: number;
  readonly byKey: ReadonlyMap<string, readonly SubscribedTopic[]>;
  readonly metadataHash: number;
}

const RESOLVED = new WeakMap<ConsumerGroup, ResolvedSubscriptions>();

/** As in Kafka: a group is made in epoch 1, which its first member raises. */
const FIRST_EPOCH = 2;

/**
 * Raises the group epoch if `isChanged` says so or the topics have changed, and the target assignment to it. To be
 * called after what a request changes is written, and before its member is reconciled.
 */
export function refreshTarget(group: ConsumerGroup, isChanged: boolean, turn: ConsumerTurn): void {
  const { metadataHash } = resolve(group, turn.topics);
  const before = group.epoch;
  if (isChanged || before === null || before.metadataHash !== metadataHash) {
    const epoch = (before?.epoch ?? FIRST_EPOCH - 1) + 1;
    write(group, turn, { kind: 'epoch', value: { epoch, metadataHash } });
  }
  if (groupEpochOf(group) > targetEpochOf(group)) assign(group, turn);
}

/** The assignor that most members ask for, the default while none does. */
export function assignorOf(group: ConsumerGroup): string {
  const votes = new Map<string, number>();
  let chosen = DEFAULT_ASSIGNOR;
  for (const { serverAssignor } of group.members.values()) {
    if (serverAssignor === null) continue;
    const count = (votes.get(serverAssignor) ?? 0) + 1;
    votes.set(serverAssignor, count);
    if (count > (votes.get(chosen) ?? 0) || votes.size === 1) chosen = serverAssignor;
  }
  return chosen;
}

/** Topics that a member is subscribed to by name or by expression. */
export function topicNamesOf(group: ConsumerGroup, member: ConsumerMember): readonly string[] {
  const matched = member.topicRegex === null ? undefined : group.regexes.get(member.topicRegex)?.topics;
  return matched === undefined ? member.topicNames : [...new Set([...member.topicNames, ...matched])].sort();
}

function assign(group: ConsumerGroup, turn: ConsumerTurn): void {
  const { byKey } = resolve(group, turn.topics);
  const members: AssignedMember[] = [];
  for (const member of group.members.values()) {
    const { memberId, instanceId } = member;
    const topics = byKey.get(subscriptionKey(member)) ?? [];
    members.push({ memberId, instanceId, topics, previous: group.targets.get(memberId) ?? NO_PARTITIONS });
  }
  const assignor = ASSIGNORS.get(assignorOf(group));
  for (const [memberId, target] of assignor?.(members) ?? []) {
    if (sameAssignment(target, group.targets.get(memberId) ?? NO_PARTITIONS)) continue;
    write(group, turn, { kind: 'target', memberId, value: target });
  }
  write(group, turn, { kind: 'target-epoch', value: groupEpochOf(group) });
}

function resolve(group: ConsumerGroup, topics: TopicImage): ResolvedSubscriptions {
  const known = RESOLVED.get(group);
  const { subscriptionsVersion } = group;
  if (known?.topicsVersion === topics.version && known.subscriptionsVersion === subscriptionsVersion)
    return known;
  const byKey = new Map<string, readonly SubscribedTopic[]>();
  const byTopics = new Map<string, readonly SubscribedTopic[]>();
  const all = new Map<string, SubscribedTopic>();
  for (const member of firstOfEachSubscription(group)) {
    const found = topicNamesOf(group, member).flatMap((name) => topics.byName(name) ?? []);
    for (const topic of found) if (!all.has(topic.topicId)) all.set(topic.topicId, topic);
    // The same list for the same topics, however they are subscribed to: assignors compare lists, not topics.
    const key = found.map(({ topicId }) => topicId).join();
    const list = byTopics.get(key) ?? found.flatMap(({ topicId }) => all.get(topicId) ?? []);
    byTopics.set(key, list);
    byKey.set(subscriptionKey(member), list);
  }
  const resolved = {
    ...{ topicsVersion: topics.version, subscriptionsVersion, byKey },
    metadataHash: hashOf([...all.values()]),
  };
  RESOLVED.set(group, resolved);
  return resolved;
}

function firstOfEachSubscription(group: ConsumerGroup): Iterable<ConsumerMember> {
  const first = new Map<string, ConsumerMember>();
  for (const member of group.members.values()) {
    const key = subscriptionKey(member);
    if (!first.has(key)) first.set(key, member);
    if (first.size === group.subscriptions.size) break;
  }
  return first.values();
}

const HASH_BYTES = 6;

/** Opaque to everybody: only whether it changes counts. Six bytes, so that a number holds it. */
function hashOf(topics: readonly SubscribedTopic[]): number {
  if (topics.length === 0) return 0;
  const hash = createHash('sha256');
  const sorted = topics.map(({ topicId, partitions }) => `${topicId} ${partitions}\n`).sort();
  for (const line of sorted) hash.update(line);
  return hash.digest().readUIntBE(0, HASH_BYTES);
}
