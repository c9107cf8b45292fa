// The server-side assignors: balanced, sticky, and bounded in what they cost.

import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import type {
  AssignedMember,
  SubscribedTopic,
} from '../../../../../protocols/kafka/groups/consumer/assignor.ts';
import { ASSIGNORS } from '../../../../../protocols/kafka/groups/consumer/assignors.ts';
import {
  type Assignment,
  partitionCountOf,
} from '../../../../../protocols/kafka/groups/consumer/consumer-group.ts';

const uniform = ASSIGNORS.get('uniform')!;
const range = ASSIGNORS.get('range')!;

const topic = (topicId: string, partitions: number): SubscribedTopic => ({ topicId, partitions });

function member(
  memberId: string,
  topics: readonly SubscribedTopic[],
  previous: Assignment = new Map(),
): AssignedMember {
  return { memberId, instanceId: null, topics, previous };
}

const shown = (assignments: ReadonlyMap<string, Assignment>) =>
  Object.fromEntries(
    [...assignments].map(([memberId, assignment]) => [
      memberId,
      [...assignment].map(([topicId, partitions]) => `${topicId}:${partitions.join()}`).join(' '),
    ]),
  );

describe('range', () => {
  test('cuts each topic into runs, in the order of members; static ones come first', () => {
    const topics = [topic('t', 5), topic('u', 2)];
    const members = [member('b', topics), member('c', topics), { ...member('z', topics), instanceId: 'i' }];
    expect(shown(range(members))).toEqual({ z: 't:0,1 u:0', b: 't:2,3 u:1', c: 't:4' });
  });
});

describe('uniform', () => {
  test('gives everyone as much, and the remainder to those who have it already', () => {
    const topics = [topic('t', 5)];
    const had = new Map([['t', [0, 1, 2]]]);
    const others = new Map([['t', [3, 4]]]);
    const members = [member('a', topics, others), member('b', topics, had), member('c', topics)];
    const assigned = uniform(members);
    expect(shown(assigned)).toMatchObject({ a: 't:3,4', b: 't:0,1', c: 't:2' });
  });

  test('moves from the fullest where subscriptions differ', () => {
    const [t, u] = [topic('t', 4), topic('u', 4)];
    const everything = new Map([
      ['t', [0, 1, 2, 3]],
      ['u', [0, 1, 2, 3]],
    ]);
    const assigned = uniform([member('a', [t, u], everything), member('b', [u]), member('c', [u])]);
    const counts = [...assigned.values()].map(partitionCountOf);
    expect(counts).toEqual([4, 2, 2]);
    expect(shown(assigned)).toMatchObject({ a: 't:0,1,2,3' });
  });
});

const worlds = fc.record({
  partitions: fc.array(fc.nat(7), { minLength: 1, maxLength: 5 }),
  members: fc.array(fc.array(fc.nat(4), { maxLength: 5 }), { minLength: 1, maxLength: 6 }),
  isAlike: fc.boolean(),
  previous: fc.array(fc.tuple(fc.nat(5), fc.nat(4), fc.nat(8)), { maxLength: 20 }),
});

for (const [name, assignor] of ASSIGNORS) {
  property.prop([worlds])(
    `${name}: every partition that somebody wants is one member's who wants it`,
    (world) => {
      const topics = world.partitions.map((count, index) => topic(`t${index}`, count));
      const subscriptions = world.members.map((wanted) =>
        topics.filter((_topic, index) => (world.isAlike ? world.members[0]! : wanted).includes(index)),
      );
      const members = subscriptions.map((subscribed, index) => {
        const previous = new Map<string, number[]>();
        for (const [owner, topicIndex, partition] of world.previous)
          if (owner === index)
            previous.set(`t${topicIndex}`, [...(previous.get(`t${topicIndex}`) ?? []), partition]);
        return member(`m${index}`, world.isAlike ? subscriptions[0]! : subscribed, previous);
      });
      const assigned = assignor(members);
      const given = new Set<string>();
      for (const { memberId, topics: wanted } of members) {
        for (const [topicId, partitions] of assigned.get(memberId) ?? []) {
          const info = wanted.find((candidate) => candidate.topicId === topicId);
          for (const partition of partitions) {
            expect(partition).toBeLessThan(info?.partitions ?? 0);
            expect(given.has(`${topicId} ${partition}`)).toBe(false);
            given.add(`${topicId} ${partition}`);
          }
          expect(partitions).toEqual([...partitions].sort((a, b) => a - b));
        }
      }
      const wanted = new Set(members.flatMap((each) => each.topics));
      let total = 0;
      for (const { partitions } of wanted) total += partitions;
      expect(given.size).toBe(total);
      if (name !== 'uniform') return;
      const counts = members.map(({ memberId }) => partitionCountOf(assigned.get(memberId)!));
      if (world.isAlike) expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      // What is balanced stays as it is.
      const again = assignor(members.map((each) => ({ ...each, previous: assigned.get(each.memberId)! })));
      expect(shown(again)).toEqual(shown(assigned));
    },
  );
}
