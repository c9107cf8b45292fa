// How late the event loop is: counted from the start on, by how long after its time a timer came.
import { expect, it } from 'vitest';
import { EventLoopDelay, SAMPLE_MS } from '../../../src/metrics/event-loop-delay.ts';
import { Histogram } from '../../../storage/histogram.ts';
import { TestClock } from '../../helpers/store-fixture.ts';

const BOUNDS_SECONDS = [0.001, 0.01, 0.1];

function watched(): { readonly clock: TestClock; readonly delay: EventLoopDelay; counts(): number[] } {
  const clock = new TestClock();
  const delay = new EventLoopDelay(clock, new Histogram(BOUNDS_SECONDS));
  return { clock, delay, counts: () => Array.from(delay.seconds.counts) };
}

it('a loop that has nothing to do is not late', () => {
  const { clock, counts } = watched();
  for (let sample = 0; sample < 3; sample++) clock.advance(SAMPLE_MS);
  expect(counts()).toEqual([3, 0, 0, 0]);
});

it('one that was held is as late as that took, once', () => {
  const { clock, delay, counts } = watched();
  clock.advance(SAMPLE_MS + 50);
  clock.advance(SAMPLE_MS);
  expect(counts()).toEqual([1, 0, 1, 0]);
  expect(delay.seconds.sum).toBeCloseTo(0.05);
});

it('what was counted is not forgotten when it is told', () => {
  const { clock, delay, counts } = watched();
  clock.advance(SAMPLE_MS + 500);
  expect(counts()).toEqual([0, 0, 0, 1]);
  clock.advance(SAMPLE_MS);
  expect(counts()).toEqual([1, 0, 0, 1]);
  delay.close();
  clock.advance(SAMPLE_MS);
  expect(counts()).toEqual([1, 0, 0, 1]);
});
