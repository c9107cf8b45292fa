// `uniform`: every member gets as many partitions as the others as far as subscriptions allow, and keeps what it has
// as far as that allows. Where all are subscribed to the same, the counts differ by one at most; else partitions
// are moved from the fullest to the emptiest subscriber of each topic until nothing is gained by it.

import type { AssignedMember, SubscribedTopic } from './assignor.ts';
import { type Assignment, NO_PARTITIONS } from './consumer-group.ts';

export function assignUniformly(members: readonly AssignedMember[]): ReadonlyMap<string, Assignment> {
  const shares = members.map((member) => new Share(member));
  const homes = homesOf(members);
  keepPrevious(shares, homes);
  const first = members[0]?.topics;
  if (members.every(({ topics }) => topics === first)) shareAlike(shares, homes);
  else shareBySubscription(shares, homes);
  return new Map(shares.map((share) => [share.member.memberId, share.assignment()]));
}

/** What one member is being given: what it had, until that is touched. Most members keep what they had. */
class Share {
  readonly member: AssignedMember;
  #kept: Assignment;
  #changed: Map<string, number[]> | undefined;
  count = 0;

  constructor(member: AssignedMember) {
    this.member = member;
    this.#kept = NO_PARTITIONS;
  }

  /** All that it had, which nobody else has and all of which it may keep. */
  keep(previous: Assignment, count: number): void {
    this.#kept = previous;
    this.count = count;
  }

  add(topicId: string, partition: number): void {
    const partitions = this.#partitions();
    const list = partitions.get(topicId);
    if (list === undefined) partitions.set(topicId, [partition]);
    else list.push(partition);
    this.count++;
  }

  /** The last one of the topic, or of any; undefined when there is none. */
  take(topicId?: string): { readonly topicId: string; readonly partition: number } | undefined {
    const partitions = this.#partitions();
    for (const from of topicId === undefined ? [...partitions.keys()].reverse() : [topicId]) {
      const list = partitions.get(from);
      const partition = list?.pop();
      if (partition === undefined) continue;
      if (list?.length === 0) partitions.delete(from);
      this.count--;
      return { topicId: from, partition };
    }
    return undefined;
  }

  has(topicId: string): boolean {
    return (this.#changed ?? this.#kept).has(topicId);
  }

  assignment(): Assignment {
    for (const list of this.#changed?.values() ?? []) list.sort((a, b) => a - b);
    return this.#changed ?? this.#kept;
  }

  #partitions(): Map<string, number[]> {
    this.#changed ??= new Map([...this.#kept].map(([topicId, partitions]) => [topicId, [...partitions]]));
    return this.#changed;
  }
}

/** A topic, which of its partitions somebody has, and who may have them. */
interface Home {
  readonly topic: SubscribedTopic;
  readonly isTaken: Uint8Array;
}

function homesOf(members: readonly AssignedMember[]): ReadonlyMap<string, Home> {
  const homes = new Map<string, Home>();
  for (const topics of new Set(members.map((member) => member.topics))) {
    for (const topic of topics) {
      if (!homes.has(topic.topicId))
        homes.set(topic.topicId, { topic, isTaken: new Uint8Array(topic.partitions) });
    }
  }
  return homes;
}

/** Everyone first keeps what it had of the topics it is still subscribed to; what two had goes to the first. */
function keepPrevious(shares: readonly Share[], homes: ReadonlyMap<string, Home>): void {
  const subscribed = new Map<readonly SubscribedTopic[], ReadonlySet<string>>();
  for (const share of shares) {
    const { topics, previous } = share.member;
    const topicIds = subscribed.get(topics) ?? new Set(topics.map(({ topicId }) => topicId));
    subscribed.set(topics, topicIds);
    const homeOf = (topicId: string) => (topicIds.has(topicId) ? homes.get(topicId) : undefined);
    const count = countOfFree(previous, homeOf);
    if (count !== undefined) share.keep(previous, count);
    for (const [topicId, partitions] of previous) {
      const home = homeOf(topicId);
      if (home === undefined) continue;
      for (const partition of partitions) {
        if (home.isTaken[partition] !== 0) continue;
        home.isTaken[partition] = 1;
        if (count === undefined) share.add(topicId, partition);
      }
    }
  }
}

/** How many partitions those are, if all of them are there, in order, once each, and nobody's yet. */
function countOfFree(
  assignment: Assignment,
  homeOf: (topicId: string) => Home | undefined,
): number | undefined {
  let count = 0;
  for (const [topicId, partitions] of assignment) {
    const isTaken = homeOf(topicId)?.isTaken;
    if (isTaken === undefined) return undefined;
    let before = -1;
    for (const partition of partitions) {
      if (partition <= before || isTaken[partition] !== 0) return undefined;
      before = partition;
    }
    count += partitions.length;
  }
  return count;
}

function* untaken(
  homes: Iterable<Home>,
): Generator<{ readonly topicId: string; readonly partition: number }> {
  for (const { topic, isTaken } of homes) {
    for (let partition = 0; partition < topic.partitions; partition++)
      if (isTaken[partition] === 0) yield { topicId: topic.topicId, partition };
  }
}

/** All are subscribed to the same: the total divided, one more for as many as there is a remainder. */
function shareAlike(shares: readonly Share[], homes: ReadonlyMap<string, Home>): void {
  let total = 0;
  for (const { topic } of homes.values()) total += topic.partitions;
  const least = Math.floor(total / Math.max(1, shares.length));
  let withOneMore = total % Math.max(1, shares.length);
  const loose = [...untaken(homes.values())].reverse();
  for (const share of shares) {
    // The remainder stays with those who have it already.
    const most = share.count > least && withOneMore > 0 ? least + 1 : least;
    if (most > least) withOneMore--;
    while (share.count > most) {
      const taken = share.take();
      if (taken === undefined) break;
      loose.push(taken);
    }
  }
  for (const share of shares) {
    let most = least;
    if (share.count <= least && withOneMore > 0) {
      most = least + 1;
      withOneMore--;
    }
    while (share.count < most) {
      const next = loose.pop();
      if (next === undefined) break;
      share.add(next.topicId, next.partition);
    }
  }
}

/** Passes over all topics; each move makes the counts more even, so they end, but nobody waits for the last of it. */
const BALANCING_PASSES_MAX = 8;
/** Topics × subscribers up to which counts are looked at; beyond it partitions are dealt out in turn. */
const BALANCED_SUBSCRIPTIONS_MAX = 200_000;

function shareBySubscription(shares: readonly Share[], homes: ReadonlyMap<string, Home>): void {
  const subscribers = new Map<string, Share[]>();
  let subscriptions = 0;
  for (const share of shares) {
    subscriptions += share.member.topics.length;
    for (const { topicId } of share.member.topics) {
      const list = subscribers.get(topicId);
      if (list === undefined) subscribers.set(topicId, [share]);
      else list.push(share);
    }
  }
  if (subscriptions > BALANCED_SUBSCRIPTIONS_MAX) {
    let turn = 0;
    for (const { topicId, partition } of untaken(homes.values())) {
      const list = subscribers.get(topicId) ?? [];
      list[turn++ % list.length]?.add(topicId, partition);
    }
    return;
  }
  // Topics that few can have come first: their partitions have the least choice.
  const ordered = [...homes.values()].sort(
    (one, other) =>
      (subscribers.get(one.topic.topicId)?.length ?? 0) - (subscribers.get(other.topic.topicId)?.length ?? 0),
  );
  for (const home of ordered) fill(home, subscribers.get(home.topic.topicId) ?? []);
  for (let pass = 0; pass < BALANCING_PASSES_MAX; pass++) {
    let moved = false;
    for (const { topic } of ordered) {
      if (evenOut(topic.topicId, subscribers.get(topic.topicId) ?? [])) moved = true;
    }
    if (!moved) return;
  }
}

/** Gives what nobody has of a topic to its emptiest subscribers. */
function fill(home: Home, subscribers: readonly Share[]): void {
  const loose = [...untaken([home])];
  if (loose.length === 0 || subscribers.length === 0) return;
  const byCount = [...subscribers].sort((one, other) => one.count - other.count);
  let next = 0;
  for (const { topicId, partition } of loose) {
    byCount[next]?.add(topicId, partition);
    // Those before `next` have as many as it or one more: go on to the next as long as it has no more.
    const following = byCount[next + 1];
    const level = byCount[next]?.count ?? 0;
    next = following !== undefined && following.count < level ? next + 1 : 0;
  }
}

/** Moves partitions of one topic from the fullest of its subscribers to the emptiest. */
function evenOut(topicId: string, subscribers: readonly Share[]): boolean {
  if (subscribers.length < 2) return false;
  const byCount = [...subscribers].sort((one, other) => other.count - one.count);
  let moved = false;
  let emptiest = byCount.length - 1;
  for (const [index, full] of byCount.entries()) {
    while (full.has(topicId)) {
      while (emptiest > index && (byCount[emptiest]?.count ?? 0) + 1 >= full.count) emptiest--;
      const empty = byCount[emptiest];
      if (empty === undefined || emptiest <= index || empty.count + 1 >= full.count) break;
      const taken = full.take(topicId);
      if (taken === undefined) break;
      empty.add(topicId, taken.partition);
      moved = true;
    }
    emptiest = byCount.length - 1;
  }
  return moved;
}
