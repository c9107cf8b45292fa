// The metrics of the hub, for all listeners together. What makes their text is imported when somebody first asks: a start does
// not pay for it. How late the event loop is is watched from the start on.
import type { MetricSink } from '../../protocols/port.ts';
import { EventLoopDelay } from '../metrics/event-loop-delay.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { HttpCounters } from './http-counters.ts';
import type { Operations } from './operations.ts';
import type { AdminTarget } from './target.ts';

export interface LazyMetricsOptions {
  readonly target: AdminTarget;
  readonly version: string;
  readonly operations: Operations | undefined;
  readonly counters: HttpCounters;
}

export class LazyMetrics {
  readonly #options: LazyMetricsOptions;
  readonly #eventLoopDelay: EventLoopDelay;
  #metrics: Promise<Metrics> | undefined;

  constructor(options: LazyMetricsOptions) {
    this.#options = options;
    const { hub } = options.target;
    this.#eventLoopDelay = new EventLoopDelay(hub.clock, hub.histogram());
  }

  /** Topics that are told of when nobody names any. */
  get detailedTopics(): readonly string[] {
    return this.#options.target.config.detailedTopics;
  }

  get(): Promise<Metrics> {
    this.#metrics ??= this.#create();
    return this.#metrics;
  }

  async #create(): Promise<Metrics> {
    const { target, version, operations, counters } = this.#options;
    const { Metrics } = await import('../metrics/metrics.ts');
    const { hub, startedAtMs, recovery, storeCounters, groups } = target;
    return new Metrics(
      {
        ...{ hub, startedAtMs, recovery, storeCounters, groups },
        listeners: () => target.listeners(),
        ready: () => target.ready(),
        collect: (sink: MetricSink) => {
          target.collect(sink);
          counters.collect(sink);
          sink.addHistogram('event_loop_delay_seconds', this.#eventLoopDelay.seconds);
          const reloads = operations?.configuration?.reloads;
          if (reloads === undefined) return;
          sink.add('config_reload_total', reloads.applied, { result: 'applied' });
          sink.add('config_reload_total', reloads.refused, { result: 'refused' });
        },
      },
      version,
    );
  }

  async close(): Promise<void> {
    this.#eventLoopDelay.close();
    (await this.#metrics)?.close();
  }
}
