// Opens the admin API's listeners and closes them. The HTTP server is imported when the first one opens: a hub
// without an admin API never pays for it.
import type { ListenerView, Log } from '../../protocols/port.ts';
import type { ListenerConfig } from '../config/broker-config.ts';
import { type AdminServer, BrokerError } from '../front-ends.ts';
import type { Authorize } from './access.ts';
import { HttpCounters } from './http-counters.ts';
import type { HttpServer } from './http-server.ts';
import { LazyMetrics } from './lazy-metrics.ts';
import type { Operations } from './operations.ts';
import { isOwnHost } from './own-hosts.ts';
import type { HttpServerOptions } from './server.ts';
import { hubSlots } from './slots.ts';
import type { AdminTarget } from './target.ts';

export interface AdminOptions {
  readonly target: AdminTarget;
  readonly listeners: readonly ListenerConfig[];
  readonly version: string;
  readonly log: Log;
  /** Default: everyone may do everything. */
  readonly authorize?: Authorize;
  /** Absent = the process has no file and no log of its own. */
  readonly operations?: Operations;
}

interface OpenListener {
  readonly name: string;
  readonly server: HttpServer;
  readonly host: string;
  readonly port: number;
  /** Counted here: Node tells it through a callback only. */
  connections: number;
  /** Other limits and names. */
  change(listener: ListenerConfig): void;
}

/** How long requests in flight may take to end when the hub stops. */
const DRAIN_MS = 300;

/** @throws BrokerError `listen`; nothing is left open then. */
export async function startAdmin(options: AdminOptions): Promise<AdminServer> {
  const open: OpenListener[] = [];
  const { target, version, operations } = options;
  const counters = new HttpCounters(target.hub);
  const metrics = new LazyMetrics({ target, version, operations, counters });
  const shared = { ...options, counters, metrics, slots: hubSlots() };
  const admin: AdminServer = {
    listeners: () => open.map(viewOf),
    listen: async (listener) => void open.push(await openListener(shared, listener)),
    changeListener: (listener) => open.find(({ name }) => name === listener.name)?.change(listener),
    closeListener: async (name) => {
      const index = open.findIndex((each) => each.name === name);
      if (index >= 0) await Promise.all(open.splice(index, 1).map(closeListener));
    },
    close: async () => {
      await Promise.all(open.splice(0).map(closeListener));
      await metrics.close();
    },
  };
  try {
    for (const listener of options.listeners) open.push(await openListener(shared, listener));
    return admin;
  } catch (error) {
    await admin.close();
    throw error;
  }
}

async function openListener(
  options: Omit<HttpServerOptions, 'listener' | 'isOwnHost'>,
  listener: ListenerConfig,
): Promise<OpenListener> {
  const { name, host, port } = listener;
  let configured = listener;
  const { buildHttpServer } = await import('./server.ts');
  const server = await buildHttpServer({
    ...{ ...options, listener: name },
    isOwnHost: (header) => isOwnHost(header, configured),
  });
  const change = (next: ListenerConfig): void => {
    configured = next;
    server.server.maxConnections = next.connectionsMax;
  };
  change(listener);
  try {
    await server.listen({ host, port });
  } catch (error) {
    await server.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new BrokerError('listen', `listener "${name}" cannot listen on ${host}:${port}: ${reason}`, error);
  }
  const address = server.server.address();
  const isBound = typeof address === 'object' && address !== null;
  const open = { name, server, host, port: isBound ? address.port : port, connections: 0, change };
  server.server.on('drop', () => {
    options.counters.connectionsRefused++;
  });
  server.server.on('connection', (socket) => {
    options.counters.connectionsAccepted++;
    open.connections++;
    socket.once('close', () => {
      open.connections--;
    });
  });
  return open;
}

/** Connections without a request are closed at once, the others after their answer or after {@link DRAIN_MS}. */
async function closeListener({ server }: OpenListener): Promise<void> {
  const stuck = setTimeout(() => server.server.closeAllConnections(), DRAIN_MS);
  await server.close();
  clearTimeout(stuck);
}

function viewOf({ name, host, port, connections }: OpenListener): ListenerView {
  return { name, protocol: 'http', host, port, connections };
}
