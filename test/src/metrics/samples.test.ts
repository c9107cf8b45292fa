// What is collected comes out in Prometheus' form, and what nobody has defined does not come in.
import { describe, expect, it } from 'vitest';
import type { MetricDefinition } from '../../../src/metrics/definitions.ts';
import { Samples } from '../../../src/metrics/samples.ts';
import { Histogram } from '../../../storage/histogram.ts';

const definitions: Record<string, MetricDefinition> = {
  things: { type: 'gauge', help: 'Things', labels: ['kind'] },
  seconds: { type: 'histogram', help: 'Seconds', labels: [] },
};

const samples = () => new Samples(definitions, 'hub_');

describe('samples', () => {
  it('adds up numbers with the same labels', () => {
    const each = samples();
    each.add('things', 1, { kind: 'a' });
    each.add('things', 2, { kind: 'b' });
    each.add('things', 3, { kind: 'a' });
    expect(each.of('things')).toEqual([
      { labels: { kind: 'a' }, value: 4 },
      { labels: { kind: 'b' }, value: 2 },
    ]);
  });

  it('has nothing of what nobody counted', () => {
    expect(samples().of('things')).toEqual([]);
  });

  it('gives how many were at most so large, how many there were, and their sum', () => {
    const histogram = new Histogram([1, 10]);
    for (const value of [0.5, 1, 5, 50]) histogram.observe(value);
    const each = samples();
    each.addHistogram('seconds', histogram);
    expect(each.of('seconds')).toEqual([
      { metricName: 'hub_seconds_bucket', labels: { le: 1 }, value: 2 },
      { metricName: 'hub_seconds_bucket', labels: { le: 10 }, value: 3 },
      { metricName: 'hub_seconds_bucket', labels: { le: '+Inf' }, value: 4 },
      { metricName: 'hub_seconds_sum', labels: {}, value: 56.5 },
      { metricName: 'hub_seconds_count', labels: {}, value: 4 },
    ]);
  });

  it.each([
    ['another name', 'stuff', { kind: 'a' }],
    ['a histogram', 'seconds', {}],
    ['no label', 'things', {}],
    ['another label', 'things', { sort: 'a' }],
    ['one label too many', 'things', { kind: 'a', sort: 'b' }],
  ])('refuses %s', (_title, name, labels) => {
    expect(() => samples().add(name, 1, labels)).toThrow(TypeError);
  });
});
