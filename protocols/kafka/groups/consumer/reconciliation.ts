// How a member gets from what it has to what it should have (KIP-848): first it gives up what is no longer its own,
// and only then, in the new epoch, it gets what others have given up. No partition is ever two members'.
//
//   stable      → target epoch as soon as there is one
//   unrevoked   → goes on when the member no longer reports what it was told to give up
//   unreleased  → has the target epoch and waits for partitions that others still hold

import {
  type Assignment,
  type ConsumerGroup,
  type CurrentAssignment,
  currentOf,
  NO_PARTITIONS,
  type SinceEpochs,
  sameAssignment,
  targetEpochOf,
  union,
} from './consumer-group.ts';
import { type ConsumerTurn, clearTimer, setTimer, write } from './turn.ts';

/** @param owned what the member says that it has; null = it does not say. */
export function reconcile(
  group: ConsumerGroup,
  memberId: string,
  owned: Assignment | null,
  turn: ConsumerTurn,
): CurrentAssignment {
  const before = currentOf(group, memberId);
  const after = nextAssignment(group, memberId, before, owned);
  if (after === before) return before;
  write(group, turn, { kind: 'current', memberId, value: after });
  const member = group.members.get(memberId);
  // Members of the classic protocol have their own timers: they give partitions up by joining again.
  if (member === undefined || member.classic !== null) return after;
  if (after.state === 'unrevoked') setTimer(turn, 'rebalance', memberId, member.rebalanceTimeoutMs);
  else clearTimer(turn, 'rebalance', memberId);
  return after;
}

function nextAssignment(
  group: ConsumerGroup,
  memberId: string,
  current: CurrentAssignment,
  owned: Assignment | null,
): CurrentAssignment {
  switch (current.state) {
    case 'stable':
      return current.epoch === targetEpochOf(group)
        ? current
        : towards(group, memberId, current, owned, current.epoch);
    case 'unrevoked':
      // A member that has given up what it was told to is in a new epoch, so that what it said before is stale.
      return owns(owned, current.pendingRevocation)
        ? current
        : towards(group, memberId, current, owned, current.epoch + 1);
    case 'unreleased':
      return towards(group, memberId, current, owned, current.epoch);
    default:
      return current.state satisfies never;
  }
}

/** A member that does not say what it owns may own all of it. */
function owns(owned: Assignment | null, partitions: Assignment): boolean {
  if (owned === null) return true;
  for (const [topicId, list] of partitions) {
    const ofTopic = owned.get(topicId);
    if (ofTopic !== undefined && list.some((partition) => ofTopic.includes(partition))) return true;
  }
  return false;
}

function towards(
  group: ConsumerGroup,
  memberId: string,
  current: CurrentAssignment,
  owned: Assignment | null,
  epoch: number,
): CurrentAssignment {
  const target = group.targets.get(memberId) ?? NO_PARTITIONS;
  const { kept, revoked, missing } = compare(current.assigned, target);
  if (revoked.size > 0 && owns(owned, revoked))
    return changed(current, { epoch, state: 'unrevoked', assigned: kept, pendingRevocation: revoked });
  const { free, taken } = split(group, memberId, missing);
  return changed(current, {
    epoch: targetEpochOf(group),
    state: taken ? 'unreleased' : 'stable',
    assigned: free.size > 0 ? union(kept, free) : kept,
    pendingRevocation: NO_PARTITIONS,
  });
}

function changed(
  current: CurrentAssignment,
  next: Omit<CurrentAssignment, 'previousEpoch' | 'sinceEpochs'>,
): CurrentAssignment {
  const isSame =
    current.epoch === next.epoch &&
    current.state === next.state &&
    sameAssignment(current.assigned, next.assigned) &&
    sameAssignment(current.pendingRevocation, next.pendingRevocation);
  if (isSame) return current;
  return {
    ...{ ...next, sinceEpochs: sinceEpochs(current, next) },
    previousEpoch: current.epoch === next.epoch ? current.previousEpoch : current.epoch,
  };
}

/** What the member keeps, it has since when it had it first (KIP-1251). */
function sinceEpochs(
  current: CurrentAssignment,
  next: Pick<CurrentAssignment, 'epoch' | 'assigned' | 'pendingRevocation'>,
): SinceEpochs {
  const kept = new Map<string, ReadonlyMap<number, number>>();
  for (const topicId of new Set([...next.assigned.keys(), ...next.pendingRevocation.keys()])) {
    const had = epochsOf(current, topicId);
    const ofTopic = new Map<number, number>();
    for (const assignment of [next.assigned, next.pendingRevocation])
      for (const partition of assignment.get(topicId) ?? []) {
        const epoch = had.get(partition);
        if (epoch !== undefined && epoch !== next.epoch) ofTopic.set(partition, epoch);
      }
    if (ofTopic.size > 0) kept.set(topicId, ofTopic);
  }
  return kept;
}

function epochsOf(current: CurrentAssignment, topicId: string): ReadonlyMap<number, number> {
  const known = current.sinceEpochs?.get(topicId);
  const held = [...(current.assigned.get(topicId) ?? []), ...(current.pendingRevocation.get(topicId) ?? [])];
  return new Map(held.map((partition) => [partition, known?.get(partition) ?? current.epoch]));
}

function compare(assigned: Assignment, target: Assignment) {
  const kept = new Map<string, number[]>();
  const revoked = new Map<string, number[]>();
  const missing = new Map<string, number[]>();
  for (const topicId of new Set([...target.keys(), ...assigned.keys()])) {
    const has = new Set(assigned.get(topicId));
    const wants = new Set(target.get(topicId));
    const into = (map: Map<string, number[]>, partitions: number[]): void => {
      if (partitions.length > 0) map.set(topicId, partitions);
    };
    into(
      kept,
      [...has].filter((partition) => wants.has(partition)),
    );
    into(
      revoked,
      [...has].filter((partition) => !wants.has(partition)),
    );
    into(
      missing,
      [...wants].filter((partition) => !has.has(partition)),
    );
  }
  return { kept, revoked, missing };
}

/** What nobody else has, and whether there is more. */
function split(group: ConsumerGroup, memberId: string, missing: Assignment) {
  const free = new Map<string, number[]>();
  let taken = false;
  for (const [topicId, partitions] of missing) {
    const owners = group.owners.get(topicId);
    const released = partitions.filter((partition) => (owners?.get(partition) ?? memberId) === memberId);
    if (released.length < partitions.length) taken = true;
    if (released.length > 0) free.set(topicId, released);
  }
  return { free, taken };
}

/** Whether some of its target is still another's: until then a member need not come again to get the rest. */
export function waitsForOthers(group: ConsumerGroup, memberId: string): boolean {
  const target = group.targets.get(memberId) ?? NO_PARTITIONS;
  return split(group, memberId, compare(currentOf(group, memberId).assigned, target).missing).taken;
}
