// What the admin API counts beside its work, of all its listeners together.
import type { Histogram, Hub, MetricSink } from '../../protocols/port.ts';
import type { HttpServer } from './http-server.ts';

declare module 'fastify' {
  interface FastifyInstance {
    counted: HttpCounters;
  }
}

export class HttpCounters {
  readonly #hub: Hub;
  readonly #timings = new Map<string, Histogram>();
  recordsAppended = 0;
  bytesAppended = 0;
  recordsDelivered = 0;
  connectionsAccepted = 0;
  /** Above what the listener takes at once. */
  connectionsRefused = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  answered(api: string, seconds: number): void {
    const timings = this.#timings.get(api) ?? this.#hub.histogram();
    this.#timings.set(api, timings);
    timings.observe(seconds);
  }

  collect(sink: MetricSink): void {
    for (const [api, timings] of this.#timings)
      sink.addHistogram('request_seconds', timings, { protocol: 'http', api });
    sink.add('connections_total', this.connectionsAccepted, { protocol: 'http', result: 'accepted' });
    sink.add('connections_total', this.connectionsRefused, { protocol: 'http', result: 'refused' });
    sink.add('records_appended_total', this.recordsAppended, { source: 'http' });
    sink.add('bytes_appended_total', this.bytesAppended, { source: 'http' });
    sink.add('records_delivered_total', this.recordsDelivered, { sink: 'http' });
  }
}

/** From then on every request of the server is counted, under its route. */
export function watchRequests(server: HttpServer, counters: HttpCounters): void {
  server.decorate('counted', counters);
  server.addHook('onResponse', async ({ method, routeOptions: { url } }, { elapsedTime }) => {
    // Whoever asks for what is not there makes such names.
    if (url === undefined) return;
    counters.answered(`${method} ${url}`, elapsedTime / 1000);
  });
}
