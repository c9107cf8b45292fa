// What is collected for one answer: numbers by name and labels. A name or label that nobody has defined is a fault of
// the one who counts, and thrown.
import type { Histogram, MetricLabels, MetricSink } from '../../protocols/port.ts';
import type { MetricDefinition } from './definitions.ts';

export interface Sample {
  /** Of a histogram's parts: the name with its ending. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  value: number;
}

export class Samples implements MetricSink {
  readonly #definitions: Readonly<Record<string, MetricDefinition>>;
  readonly #prefix: string;
  /** By name, then by what the labels say. */
  readonly #numbers = new Map<string, Map<string, Sample>>();
  readonly #histograms = new Map<string, Sample[]>();

  constructor(definitions: Readonly<Record<string, MetricDefinition>>, prefix: string) {
    this.#definitions = definitions;
    this.#prefix = prefix;
  }

  add(name: string, value: number, labels: MetricLabels = {}): void {
    this.#check(name, labels, false);
    const samples = this.#numbers.get(name) ?? new Map<string, Sample>();
    this.#numbers.set(name, samples);
    const key = Object.values(labels).join('\n');
    const before = samples.get(key);
    if (before === undefined) samples.set(key, { labels, value });
    else before.value += value;
  }

  /** As Prometheus has them: how many were at most so large, how many there were, and their sum. */
  addHistogram(name: string, histogram: Histogram, labels: MetricLabels = {}): void {
    this.#check(name, labels, true);
    const samples = this.#histograms.get(name) ?? [];
    this.#histograms.set(name, samples);
    const metricName = `${this.#prefix}${name}`;
    const bucket = `${metricName}_bucket`;
    let count = 0;
    for (const [range, bound] of histogram.bounds.entries()) {
      count += histogram.counts[range]!;
      samples.push({ metricName: bucket, labels: { le: bound, ...labels }, value: count });
    }
    count += histogram.counts[histogram.bounds.length]!;
    samples.push({ metricName: bucket, labels: { le: '+Inf', ...labels }, value: count });
    samples.push({ metricName: `${metricName}_sum`, labels, value: histogram.sum });
    samples.push({ metricName: `${metricName}_count`, labels, value: count });
  }

  of(name: string): readonly Sample[] {
    return this.#histograms.get(name) ?? [...(this.#numbers.get(name)?.values() ?? [])];
  }

  #check(name: string, labels: MetricLabels, isHistogram: boolean): void {
    const definition = this.#definitions[name];
    if (definition === undefined || (definition.type === 'histogram') !== isHistogram)
      throw new TypeError(`there is no such metric: ${name}`);
    const given = Object.keys(labels);
    if (
      given.length !== definition.labels.length ||
      !given.every((label, at) => label === definition.labels[at])
    )
      throw new TypeError(`${name} has the labels ${definition.labels}, not ${given}`);
  }
}
