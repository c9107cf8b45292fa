// How often a number was how large: counts for ranges, a few additions for each number. For what is measured all the
// time and looked at seldom.

/** Upper ends of ranges of durations, in seconds: 0.1 ms to 30 s. */
export const SECONDS: readonly number[] = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1],
  ...[0.25, 0.5, 1, 2.5, 5, 10, 30],
];

export class Histogram {
  /** Ascending: each is the largest number that its range takes. */
  readonly bounds: readonly number[];
  /** One more than there are bounds: the last is of numbers above all of them. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[] = SECONDS) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let range = 0;
    while (range < bounds.length && value > bounds[range]!) range++;
    counts[range]!++;
    this.sum += value;
  }
}
