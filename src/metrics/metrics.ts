// `/metrics` as text: what hub, store and front ends have counted, and the process's own. prom-client writes the format
// and watches the process; nothing is counted through it, so that counting costs an addition.
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { TopicView } from '../../protocols/port.ts';
import { DETAILED_METRICS, METRICS, type MetricDefinition, PREFIX } from './definitions.ts';
import { collectHub, collectTopic, type MetricsTarget } from './hub-metrics.ts';
import { Samples } from './samples.ts';

/** How often it is looked how late timers are: ten times a second costs an idle hub nothing that can be seen. */
const EVENT_LOOP_PRECISION_MS = 100;

export class Metrics {
  readonly #target: MetricsTarget;
  readonly #version: string;
  readonly #process = new Registry();

  constructor(target: MetricsTarget, version: string) {
    this.#target = target;
    this.#version = version;
    collectDefaultMetrics({
      register: this.#process,
      eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
    });
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
