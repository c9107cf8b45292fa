// `/metrics` as text: what hub, store and front ends have counted, and the process's own. prom-client writes the format
// and watches the process; nothing is counted through it, so that counting costs an addition.
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { TopicView } from '../../protocols/port.ts';
import { DETAILED_METRICS, METRICS, type MetricDefinition, PREFIX } from './definitions.ts';
import { collectHub, collectTopic, type MetricsTarget } from './hub-metrics.ts';
import { Samples } from './samples.ts';

/** prom-client's look at the event loop, which is not told: this is how seldom it may be. */
const EVENT_LOOP_PRECISION_MS = 2 ** 31 - 1;
const EVENT_LOOP_PREFIX = 'nodejs_eventloop_lag';

export class Metrics {
  readonly #target: MetricsTarget;
  readonly #version: string;
  readonly #process = processRegistry();

  constructor(target: MetricsTarget, version: string) {
    this.#target = target;
    this.#version = version;
  }

  async text(): Promise<string> {
    const samples = new Samples(METRICS, PREFIX);
    await collectHub(this.#target, this.#version, samples);
    return `${await textOf(METRICS, samples)}\n${await this.#process.metrics()}`;
  }

  /** Of each partition of these topics. */
  async detailedText(topics: readonly TopicView[]): Promise<string> {
    const samples = new Samples(DETAILED_METRICS, PREFIX);
    for (const topic of topics) collectTopic(topic, samples);
    return textOf(DETAILED_METRICS, samples);
  }

  close(): void {
    this.#process.clear();
  }
}

/** What prom-client knows of the process, but for the event loop, of which `event_loop_delay_seconds` tells. */
export function processRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(EVENT_LOOP_PREFIX)) registry.removeSingleMetric(name);
  return registry;
}

async function textOf(
  definitions: Readonly<Record<string, MetricDefinition>>,
  samples: Samples,
): Promise<string> {
  const registry = new Registry();
  for (const [name, { type, help }] of Object.entries(definitions)) {
    const values = samples.of(name);
    if (values.length === 0) continue;
    const metric = { name: PREFIX + name, help, type, get: async () => ({ ...metric, values }) };
    // A cast: the registry takes whatever has these, and its type knows prom-client's own classes only.
    registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  }
  return registry.metrics();
}
