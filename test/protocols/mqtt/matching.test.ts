// Topic names, filters, the subscription tree and merging, against the rule written out naively.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Matches, mergeSubscriptions } from '../../../protocols/mqtt/deliveries.ts';
import { matchesFilter } from '../../../protocols/mqtt/session-subscription.ts';
import type { Subscription } from '../../../protocols/mqtt/subscription-tree.ts';
import { SubscriptionTree } from '../../../protocols/mqtt/subscription-tree.ts';
import { isSharedFilter, isTopicFilter, isTopicName } from '../../../protocols/mqtt/topic-filter.ts';
import { naiveMatches } from './naive-matcher.ts';

function subscription(
  subscriber: string,
  filter: string,
  options: Partial<Subscription<string>> = {},
): Subscription<string> {
  return {
    subscriber,
    filter,
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    identifier: 0,
    ...options,
  };
}

describe('topic names and filters', () => {
  it.each(['a', '/', 'a/b', 'a//b', '$SYS', ' ', 'a b'])('%s is a topic name', (topic) => {
    expect(isTopicName(topic)).toBe(true);
  });

  it.each(['', 'a/+', '#', 'a#', '+'])('"%s" is no topic name', (topic) => {
    expect(isTopicName(topic)).toBe(false);
  });

  it.each(['a', '#', '+', '+/+', 'a/#', 'a/+/b', '/+', '+/', '/#', '$SYS/#', '//'])(
    '%s is a filter',
    (filter) => {
      expect(isTopicFilter(filter)).toBe(true);
    },
  );

  it.each(['', 'a#', '#/a', 'a/#/b', '##', 'a+', '+a', 'a/b+', '++', 'a/+b/c'])(
    '"%s" is no filter',
    (filter) => {
      expect(isTopicFilter(filter)).toBe(false);
    },
  );

  it.each([
    ['$share/g/t', true],
    ['$share/g//', true],
    ['$share/g/#', true],
    ['$share/g', false],
    ['$share/g/', false],
    ['$share//t', false],
    ['$share/g+/t', false],
    ['$share/#/t', false],
    ['$share/g/a/#/b', false],
  ])('%s is a shared filter: %s', (filter, legal) => {
    expect(isSharedFilter(filter)).toBe(legal);
  });
});

/** Filter, topics that match, topics that do not. */
const TABLE: readonly (readonly [string, string, string])[] = [
  ['a', 'a', '/a a/ A b a/b'],
  ['a/', 'a/', 'a a//'],
  ['/a', '/a', 'a //a /a/'],
  ['a//b', 'a//b', 'a/b a///b a/x/b'],
  ['+', 'a $', '/ a/b'],
  ['a/+', 'a/b a/', 'a a/b/c a/b/ /a/b'],
  ['+/+', 'a/b /b a/ /', 'a a/b/c'],
  ['a/+/c', 'a/b/c a//c', 'a/c a/b/d a/b/c/d'],
  ['#', 'a a/b / //', '$SYS $SYS/x'],
  ['a/#', 'a a/ a/b a/b/c', 'b ab /a'],
  ['/#', '/ /a /a/b', 'a'],
  ['+/#', 'a a/b / /a', '$SYS $SYS/x'],
  ['$SYS/#', '$SYS $SYS/x', 'SYS/x'],
  ['$SYS/+', '$SYS/x', '$SYS $SYS/x/y'],
  ['a/$b', 'a/$b', 'a/b'],
];

describe('the subscription tree', () => {
  it.each(TABLE)('%s matches %s, not %s', (filter, matching, others) => {
    const tree = new SubscriptionTree<Subscription<string>>();
    tree.set(subscription('s', filter));
    // `$` alone is a topic of the server's, which a wildcard in front does not see.
    for (const topic of matching.split(' ').filter((name) => name !== '$' || filter.startsWith('$'))) {
      expect([topic, tree.match(topic).length]).toEqual([topic, 1]);
    }
    for (const topic of others.split(' ')) expect([topic, tree.match(topic).length]).toEqual([topic, 0]);
  });

  const levels = fc.constantFrom('a', 'b', '', 'cc', '$d');
  const topics = fc.array(levels, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));
  const filters = fc
    .tuple(fc.array(fc.oneof(levels, fc.constant('+')), { minLength: 1, maxLength: 5 }), fc.boolean())
    .map(([names, withHash]) => [...names, ...(withHash ? ['#'] : [])].join('/'));
  const steps = fc.array(
    fc.record({ add: fc.boolean(), subscriber: fc.constantFrom('s', 't', 'u'), filter: filters }),
    { maxLength: 60 },
  );

  it('finds what a linear scan finds, whatever came and went before', () => {
    fc.assert(
      fc.property(steps, fc.array(topics, { maxLength: 20 }), (changes, names) => {
        const tree = new SubscriptionTree<Subscription<string>>();
        const all = new Map<string, Subscription<string>>();
        for (const { add, subscriber, filter } of changes) {
          const key = `${subscriber} ${filter}`;
          if (add) {
            const added = subscription(subscriber, filter);
            expect(tree.set(added)).toBe(all.get(key));
            all.set(key, added);
          } else {
            expect(tree.delete(filter, subscriber)).toBe(all.get(key));
            all.delete(key);
          }
        }
        expect(tree.size).toBe(all.size);
        for (const topic of names) {
          const expected = [...all.values()].filter(({ filter }) => naiveMatches(filter, topic));
          const found = new Set(tree.match(topic));
          expect(tree.match(topic).length).toBe(found.size);
          expect(found.size).toBe(expected.length);
          expect(expected.every((one) => found.has(one))).toBe(true);
        }
        for (const { filter, subscriber } of all.values()) tree.delete(filter, subscriber);
        expect(tree.heldBytes).toBe(0);
      }),
    );
  });

  it('one filter alone matches as in the tree', () => {
    fc.assert(
      fc.property(
        filters,
        topics,
        (filter, topic) => matchesFilter(filter, topic) === naiveMatches(filter, topic),
      ),
    );
  });

  it('holds a node for nothing that is gone', () => {
    const tree = new SubscriptionTree<Subscription<string>>();
    const before = JSON.stringify(tree.match('a/b/c'));
    for (let index = 0; index < 1000; index++) {
      tree.set(subscription('s', `a/${index}/c`));
      tree.delete(`a/${index}/c`, 's');
    }
    expect(tree.size).toBe(0);
    expect(JSON.stringify(tree.match('a/b/c'))).toBe(before);
  });

  it('walks a topic of many levels without recursion', () => {
    const tree = new SubscriptionTree<Subscription<string>>();
    const deep = Array.from({ length: 30_000 }, () => 'l').join('/');
    tree.set(subscription('s', deep));
    tree.set(subscription('t', '#'));
    expect(tree.match(deep)).toHaveLength(2);
  });
});

describe('overlapping subscriptions', () => {
  it('are one delivery at the highest QoS with all identifiers [MQTT-3.3.4-2]', () => {
    const merged = mergeSubscriptions([
      subscription('s', '#', { qos: 0, identifier: 3 }),
      subscription('t', '#', { qos: 2 }),
      subscription('s', 'a', { qos: 1, identifier: 5, retainAsPublished: true }),
      subscription('s', '+', { qos: 0 }),
    ]);
    expect(merged).toMatchObject([
      { subscriber: 's', qos: 1, identifiers: [3, 5], retainAsPublished: true, own: undefined },
      { subscriber: 't', qos: 2, identifiers: [], retainAsPublished: false, own: undefined },
    ]);
  });

  it('with No Local give a client’s own messages only what the others say [MQTT-3.8.3-3]', () => {
    const merged = mergeSubscriptions([
      subscription('s', '#', { qos: 0, identifier: 1 }),
      subscription('s', 'a', { qos: 2, identifier: 2, noLocal: true }),
      subscription('t', 'a', { qos: 1, noLocal: true }),
    ]);
    expect(merged).toMatchObject([
      { subscriber: 's', qos: 2, identifiers: [1, 2], own: { qos: 0, identifiers: [1] } },
      { subscriber: 't', qos: 1, own: null },
    ]);
  });
});

describe('remembered matches', () => {
  const topic = Buffer.from('xa/by');
  const find = (matches: Matches<string>) => matches.recall(topic, 1, 4) ?? matches.find(topic, 1, 4);

  it('are found by bytes where they stand', () => {
    const tree = new SubscriptionTree<Subscription<string>>();
    tree.set(subscription('s', 'a/b'));
    const matches = new Matches<string>(tree);
    const match = find(matches);
    expect(match.topic).toBe('a/b');
    expect(match.encodedTopic.toString('latin1')).toBe('\0\x03a/b');
    expect(find(matches)).toBe(match);
  });

  it('are forgotten when any subscription changes', () => {
    const tree = new SubscriptionTree<Subscription<string>>();
    const matches = new Matches<string>(tree);
    expect(find(matches).deliveries).toHaveLength(0);
    tree.set(subscription('s', 'a/b'));
    expect(find(matches).deliveries).toHaveLength(1);
    tree.delete('a/b', 's');
    expect(find(matches).deliveries).toHaveLength(0);
  });

  it('stay right when there are far more topics than places for them', () => {
    const tree = new SubscriptionTree<Subscription<string>>();
    for (let index = 0; index < 1000; index += 2) tree.set(subscription('s', `t/${index}`));
    const matches = new Matches<string>(tree);
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 40_000; index++) {
        const bytes = Buffer.from(`t/${index}`);
        const match = matches.recall(bytes, 0, bytes.length) ?? matches.find(bytes, 0, bytes.length);
        const expected = index < 1000 && index % 2 === 0 ? 1 : 0;
        if (match.deliveries.length !== expected)
          expect([index, match.deliveries.length]).toEqual([index, expected]);
      }
    }
  });
});
