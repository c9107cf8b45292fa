// What the front end counts beside its work, and gives when somebody asks for metrics.
import type { Histogram, Hub, MetricSink } from '../port.ts';
import type { TransactionStatistics } from './transactions/statistics.ts';

export interface KafkaCounters {
  connectionsAccepted: number;
  /** Connections closed as soon as they were made, for whatever limit. */
  connectionsRefused: number;
  /** Of those, because their address had as many as it may. */
  addressLimitRefused: number;
  /** Records that producers sent and the log took, those that it refused later among them, and their bytes as they came. */
  recordsAppended: number;
  bytesAppended: number;
  /** Records of the batches that were fetched. */
  recordsFetched: number;
}

export function newCounters(): KafkaCounters {
  return {
    connectionsAccepted: 0,
    connectionsRefused: 0,
    addressLimitRefused: 0,
    recordsAppended: 0,
    bytesAppended: 0,
    recordsFetched: 0,
  };
}

/** From the moment a request's turn has come until its answer is written; a Fetch's wait is also counted by itself. */
export class RequestTimings {
  readonly #hub: Hub;
  readonly #byName = new Map<string, Histogram>();
  readonly fetchWait: Histogram;

  constructor(hub: Hub) {
    this.#hub = hub;
    this.fetchWait = hub.histogram();
  }

  /** @param api by its name */
  of({ name }: { readonly name: string }): Histogram {
    let timings = this.#byName.get(name);
    if (timings === undefined) {
      timings = this.#hub.histogram();
      this.#byName.set(name, timings);
    }
    return timings;
  }

  collect(sink: MetricSink): void {
    for (const [api, timings] of this.#byName)
      sink.addHistogram('request_seconds', timings, { protocol: 'kafka', api });
    sink.addHistogram('fetch_wait_seconds', this.fetchWait);
  }
}

export function collectCounters(counters: KafkaCounters, sink: MetricSink): void {
  const { connectionsAccepted, connectionsRefused } = counters;
  sink.add('connections_total', connectionsAccepted, { protocol: 'kafka', result: 'accepted' });
  sink.add('connections_total', connectionsRefused, { protocol: 'kafka', result: 'refused' });
  sink.add('records_appended_total', counters.recordsAppended, { source: 'kafka' });
  sink.add('bytes_appended_total', counters.bytesAppended, { source: 'kafka' });
  sink.add('records_delivered_total', counters.recordsFetched, { sink: 'kafka' });
}

/** What several readers are given, and what requests and answers hold that are on their way. */
export function collectBuffers(encoded: BoundedBytes, connections: BoundedBytes, sink: MetricSink): void {
  for (const [use, { byteLength, bytesMax }] of [
    ['kafka_encoded', encoded],
    ['kafka_connections', connections],
  ] as const) {
    sink.add('buffer_bytes', byteLength, { use });
    sink.add('buffer_bytes_max', bytesMax, { use });
  }
}

interface BoundedBytes {
  readonly byteLength: number;
  readonly bytesMax: number;
}

export function collectTransactions(statistics: TransactionStatistics, sink: MetricSink): void {
  const { open, ending, committed, aborted, timedOut, oldestOpenMs } = statistics;
  sink.add('transactions', open, { state: 'open' });
  sink.add('transactions', ending, { state: 'ending' });
  sink.add('transaction_oldest_open_seconds', oldestOpenMs / 1000);
  sink.add('transactional_ids', statistics.ids);
  sink.add('transaction_markers_pending', statistics.markersPending);
  sink.add('transaction_offsets_pending', statistics.offsetsPending);
  sink.add('transactions_total', committed, { result: 'committed' });
  sink.add('transactions_total', aborted - timedOut, { result: 'aborted' });
  sink.add('transactions_total', timedOut, { result: 'timed_out' });
  sink.add('transaction_markers_total', statistics.markersWritten, { result: 'written' });
  sink.add('transaction_markers_total', statistics.markersRefused, { result: 'refused' });
  sink.add('transaction_markers_total', statistics.markersGivenUp, { result: 'given_up' });
}
