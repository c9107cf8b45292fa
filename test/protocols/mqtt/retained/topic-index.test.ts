// The index of retained messages against a list and a naive matcher, and what it costs to find something in it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RetainedEntry } from '../../../../protocols/mqtt/retained/topic-index.ts';
import { TopicIndex } from '../../../../protocols/mqtt/retained/topic-index.ts';
import { naiveMatches } from '../naive-matcher.ts';

const SOURCE = { topicId: 'id', partition: 0 };

function entry(stateOffset: number, changes: Partial<RetainedEntry> = {}): RetainedEntry {
  return {
    statePartition: 0,
    stateOffset,
    source: SOURCE,
    sourceOffset: stateOffset,
    timestampMs: 0,
    expiresAtMs: Number.POSITIVE_INFINITY,
    byteLength: 10,
    ...changes,
  };
}

/** Offsets of the entries that a filter finds, ascending. */
function found(index: TopicIndex, filter: string): number[] {
  const walk = index.walk(filter);
  const offsets: number[] = [];
  for (let topic = walk.next(); topic !== undefined; topic = walk.next()) {
    offsets.push(topic.entry!.stateOffset);
  }
  return offsets.sort((left, right) => left - right);
}

const level = fc.constantFrom('', 'a', 'b', 'c', '$x');
const topicName = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
const filterName = fc
  .array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 })
  .chain((levels) => fc.boolean().map((open) => (open ? [...levels, '#'] : levels).join('/')));

describe('an index of topics', () => {
  it('finds what a naive matcher finds, whatever comes and goes', () => {
    const change = fc.tuple(
      topicName.filter((name) => name !== ''),
      fc.boolean(),
    );
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 60 }),
        fc.array(filterName, { minLength: 1 }),
        (changes, filters) => {
          const index = new TopicIndex();
          const model = new Map<string, number>();
          for (const [offset, [topic, isSet]] of changes.entries()) {
            if (isSet) {
              index.set(topic, entry(offset));
              model.set(topic, offset);
            } else {
              expect(index.delete(topic) !== undefined).toBe(model.delete(topic));
            }
          }
          expect(index.size).toBe(model.size);
          expect(index.retainedBytes).toBe(model.size * 10);
          for (const [topic, offset] of model) expect(index.find(topic)?.entry?.stateOffset).toBe(offset);
          for (const filter of ['#', ...filters]) {
            const expected = [...model].filter(([topic]) => naiveMatches(filter, topic)).map(([, at]) => at);
            expect(found(index, filter)).toEqual(expected.sort((left, right) => left - right));
          }
          for (const topic of model.keys()) index.delete(topic);
          expect([index.size, index.heldBytes, index.retainedBytes]).toEqual([0, 0, 0]);
        },
      ),
    );
  });

  it('looks at one node per level for a topic without wildcards, however many others there are [FAULTS 47]', () => {
    const index = new TopicIndex();
    for (let number = 0; number < 5000; number++) index.set(`plant/${number}/temp`, entry(number));
    const walk = index.walk('plant/4711/temp');
    expect(walk.next()?.entry?.stateOffset).toBe(4711);
    expect(walk.next()).toBeUndefined();
    expect(walk.steps).toBe(4);
  });

  it('stands still after as many steps as it is given', () => {
    const index = new TopicIndex();
    for (let number = 0; number < 1000; number++) index.set(`a/${number}/b/c`, entry(number));
    const walk = index.walk('+/+/+/nothing');
    expect(walk.next(100)).toBeUndefined();
    expect([walk.ended, walk.steps]).toEqual([false, 100]);
    expect(walk.next()).toBeUndefined();
    expect(walk.ended).toBe(true);
  });

  it('may change under a walk: what is gone is not found, what stays is', () => {
    const index = new TopicIndex();
    for (let number = 0; number < 10; number++) index.set(`a/${number}`, entry(number));
    const walk = index.walk('a/+');
    const first = walk.next()!.entry!.stateOffset;
    for (let number = 0; number < 10; number += 2) index.delete(`a/${number}`);
    const rest: number[] = [];
    for (let topic = walk.next(); topic !== undefined; topic = walk.next())
      rest.push(topic.entry!.stateOffset);
    expect(rest.sort()).toEqual([1, 3, 5, 7, 9].filter((number) => number !== first));
  });

  it('knows what has expired, and each topic by its name', () => {
    const index = new TopicIndex();
    index.set('a/b', entry(1, { expiresAtMs: 100 }));
    index.set('/c', entry(2, { expiresAtMs: 200 }));
    index.set('d', entry(3));
    expect([...index.expired(99)]).toEqual([]);
    expect([...index.expired(100)]).toEqual(['a/b']);
    expect([...index.expired(1000)]).toEqual(['a/b', '/c']);
    index.set('a/b', entry(4));
    expect([...index.expired(1000)]).toEqual(['/c']);
  });

  it('forgets what lay in a partition of the table that is gone', () => {
    const index = new TopicIndex();
    for (let number = 0; number < 10; number++)
      index.set(`a/${number}`, entry(number, { statePartition: number % 2 }));
    index.deletePartition(0);
    expect(found(index, '#')).toEqual([1, 3, 5, 7, 9]);
  });
});
