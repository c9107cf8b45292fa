// The young part of the heap grows up to its bound, and again when it has shrunk.
import { expect, it } from 'vitest';
import { boundYoungGeneration, V8_YOUNG_GENERATION } from '../../src/young-generation.ts';
import { TestClock } from '../helpers/store-fixture.ts';

const MIB = 1024 ** 2;
/** Those of this very process have a size. */
const OPTIONS: readonly string[] = [];

class FakeYoungGeneration {
  mebibytes = 1;
  listeners = new Set<() => void>();
  readonly told: boolean[] = [];

  bytes(): number {
    return this.mebibytes * MIB;
  }

  setGrowing(grows: boolean): void {
    this.told.push(grows);
  }

  onCollection(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  collect(mebibytes: number): void {
    this.mebibytes = mebibytes;
    for (const listener of this.listeners) listener();
  }
}

it('grows as long as twice its size is within the bound, and is looked at with each collection', () => {
  const young = new FakeYoungGeneration();
  const bound = boundYoungGeneration(new TestClock(), young, OPTIONS);
  for (const mebibytes of [1, 2, 4]) young.collect(mebibytes);
  expect(young.told).toEqual([]);
  young.collect(8);
  expect(young.told).toEqual([false]);
  expect(young.listeners.size).toBe(0);
  bound.close();
});

it('grows again once it has shrunk', () => {
  const young = new FakeYoungGeneration();
  const clock = new TestClock();
  young.mebibytes = 8;
  const bound = boundYoungGeneration(clock, young, OPTIONS);
  expect(young.told).toEqual([false]);
  clock.advance(10_000);
  expect(young.told).toEqual([false]);
  young.mebibytes = 1;
  clock.advance(10_000);
  expect(young.told).toEqual([false, true]);
  young.collect(16);
  expect(young.told).toEqual([false, true, false]);
  bound.close();
  young.mebibytes = 1;
  clock.advance(20_000);
  expect(young.told).toEqual([false, true, false]);
});

it('V8 says how large it is, and takes what it is told', () => {
  expect(V8_YOUNG_GENERATION.bytes()).toBeGreaterThan(0);
  for (const grows of [false, true]) V8_YOUNG_GENERATION.setGrowing(grows);
  V8_YOUNG_GENERATION.onCollection(() => {})();
});

it.each(['--max-semi-space-size=16', '--max_semi_space_size=16'])('%s is left alone', (option) => {
  const young = new FakeYoungGeneration();
  young.mebibytes = 8;
  boundYoungGeneration(new TestClock(), young, ['--enable-source-maps', option]).close();
  expect(young.told).toEqual([]);
});
