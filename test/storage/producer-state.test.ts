// One producer: what may come next of it, and what a batch that comes again is told. Sequences go round at 2^31 − 1.
import { describe, expect, it } from 'vitest';
import { ProducerBudget } from '../../storage/producer-budget.ts';
import { ProducerState, SEQUENCE_MAX, sequenceAfter } from '../../storage/producer-state.ts';
import { ProducerStates } from '../../storage/producer-states.ts';

const counters = { evictedProducers: 0 };
// Of the store's counters the budget has the one.
const budget = new ProducerBudget({ producersMax: 10, expirationMs: 1000, counters: counters as never });
const owner = new ProducerStates('t-0', budget);

/** A producer of epoch 0 that has written batches of these sizes from `first` on. */
function producer(first: number, sizes: readonly number[], epoch = 0): ProducerState {
  const state = new ProducerState(7, 0, owner);
  let baseSequence = first;
  let baseOffset = 1000;
  for (const recordCount of sizes) {
    state.appended(epoch, { baseSequence, recordCount, baseOffset, maxTimestampMs: baseOffset });
    baseSequence = sequenceAfter(baseSequence, recordCount);
    baseOffset += recordCount;
  }
  return state;
}

describe('what may come next', () => {
  it('is the sequence behind the last', () => {
    const state = producer(0, [3, 2]);
    expect(state.judge(0, 5, 4)).toBe('next');
    expect([state.judge(0, 6, 1), state.judge(0, 4, 2), state.judge(0, 7, 1)]).toEqual(['gap', 'gap', 'gap']);
  });

  it('goes round at 2^31 − 1, between batches and within one', () => {
    expect(producer(SEQUENCE_MAX - 1, [2]).judge(0, 0, 1)).toBe('next');
    const state = producer(SEQUENCE_MAX - 1, [5]);
    expect(state.judge(0, 3, 1)).toBe('next');
    expect(state.judge(0, SEQUENCE_MAX - 1, 5)).toBe('duplicate');
    expect(state.judge(0, 0, 1)).toBe('gap');
  });

  it('is 0 with a new epoch, and nothing with an old one', () => {
    const state = producer(0, [3], 4);
    expect([state.judge(5, 0, 1), state.judge(5, 3, 1), state.judge(3, 3, 1)]).toEqual([
      'next',
      'gap',
      'fenced',
    ]);
  });

  it('is 0 after a control batch that raised the epoch, and unchanged after one that did not', () => {
    const same = producer(0, [3], 4);
    same.controlled(4, 0, 9);
    expect([same.judge(4, 3, 1), same.judge(4, 0, 3)]).toEqual(['next', 'duplicate']);
    const raised = producer(0, [3], 4);
    raised.controlled(5, 0, 9);
    expect([raised.judge(5, 0, 1), raised.judge(5, 3, 1), raised.judge(4, 3, 1)]).toEqual([
      'next',
      'gap',
      'fenced',
    ]);
  });

  it('is anything when a control batch is all that is known', () => {
    const state = producer(0, []);
    state.controlled(2, 0, 9);
    expect([state.judge(2, 41, 1), state.judge(1, 0, 1)]).toEqual(['next', 'fenced']);
  });
});

describe('a batch that comes again', () => {
  it('is told from the last five by its first and last sequence', () => {
    const state = producer(10, [1, 2, 3, 4, 5]);
    for (const [sequence, count, baseOffset] of [
      [10, 1, 1000],
      [11, 2, 1001],
      [13, 3, 1003],
      [16, 4, 1006],
      [20, 5, 1010],
    ] as const) {
      expect(state.judge(0, sequence, count)).toBe('duplicate');
      expect(state.remembered(sequence, count)).toMatchObject({ baseOffset, maxTimestampMs: baseOffset });
    }
    expect(state.judge(0, 20, 4)).toBe('gap');
    expect(state.judge(0, 21, 4)).toBe('gap');
  });

  it('is an old duplicate when it lies before them and was appended', () => {
    const state = producer(10, [1, 2, 3, 4, 5, 6, 7]);
    expect([state.judge(0, 10, 1), state.judge(0, 11, 2)]).toEqual(['old-duplicate', 'old-duplicate']);
    // Half of it is remembered otherwise; it was never seen.
    expect([state.judge(0, 11, 3), state.judge(0, 9, 1), state.judge(0, 9, 2)]).toEqual([
      'gap',
      'gap',
      'gap',
    ]);
  });

  it('of before the wrap is as old as any', () => {
    const state = producer(SEQUENCE_MAX - 3, [2, 2, 2, 2, 2, 2, 2]);
    expect(state.judge(0, SEQUENCE_MAX - 3, 2)).toBe('old-duplicate');
    expect(state.judge(0, SEQUENCE_MAX - 1, 2)).toBe('old-duplicate');
    expect(state.judge(0, 0, 2)).toBe('duplicate');
    expect(state.judge(0, SEQUENCE_MAX - 5, 2)).toBe('gap');
  });
});

it('what the log says counts: a batch that does not follow begins anew', () => {
  const state = producer(0, [3, 3]);
  state.appended(0, { baseSequence: 100, recordCount: 2, baseOffset: 5000, maxTimestampMs: 1 });
  expect(state.batches).toHaveLength(1);
  expect([state.judge(0, 102, 1), state.judge(0, 0, 3), state.judge(0, 3, 3)]).toEqual([
    'next',
    'gap',
    'gap',
  ]);
  expect(state.newestBaseOffset).toBe(5000);
});

it('is the same again from what a snapshot keeps', () => {
  const state = producer(SEQUENCE_MAX - 3, [2, 2, 2, 2, 2, 2, 2]);
  const again = new ProducerState(7, 0, owner);
  const { epoch, lastSequence, covered, coordinatorEpoch, controlOffset, batches } = state;
  again.restore({ epoch, lastSequence, covered, coordinatorEpoch, controlOffset, batches });
  expect(again.batches).toEqual(state.batches);
  for (const sequence of [0, 1, 9, 10, SEQUENCE_MAX - 3, SEQUENCE_MAX - 5]) {
    for (const count of [1, 2]) {
      expect(again.judge(0, sequence, count)).toBe(state.judge(0, sequence, count));
    }
  }
});
