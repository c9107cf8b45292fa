// The MQTT front end: listeners, what their connections share, and stopping.
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import type { FrontEnd, Hub, ListenerOptions, ListenerView } from '../port.ts';
import type { Client, Context } from './client.ts';
import { Connection } from './connection.ts';
import type { MqttCounters } from './counters.ts';
import { newCounters } from './counters.ts';
import { Matches } from './deliveries.ts';
import { Dispatchers } from './dispatchers.ts';
import { Mappings } from './mapping/mappings.ts';
import type { MqttOptions } from './options.ts';
import { DEFAULT_OPTIONS } from './options.ts';
import { FlushQueue, OutputBuffers } from './output.ts';
import type { WillPacket } from './packets/connect.ts';
import { UnstoredBytes } from './publish-flow.ts';
import { isFailure } from './reason-codes.ts';
import { RecordReader } from './record-reader.ts';
import { RecordTopics } from './record-topic.ts';
import { RetainedMessages } from './retained/retained-messages.ts';
import { Routes } from './routes.ts';
import type { Session, SessionSubscription } from './session.ts';
import { Sessions } from './sessions/sessions.ts';
import { SubscriptionTree } from './subscription-tree.ts';
import type { WillTarget } from './will.ts';
import { publishWill } from './will.ts';

export interface MqttFrontEnd extends FrontEnd {
  /** Live: each number is read when it is looked at. */
  readonly counters: Readonly<MqttCounters>;
  readonly retained: RetainedView;
}

/** Retained messages: how many, what they take in the log, and what their index takes in memory, about. */
export interface RetainedView {
  readonly count: number;
  readonly byteLength: number;
  readonly heldBytes: number;
}

export function createMqttFrontEnd(hub: Hub, options: Partial<MqttOptions> = {}): MqttFrontEnd {
  return new TcpFrontEnd(hub, { ...DEFAULT_OPTIONS, ...options });
}

interface Listener {
  readonly options: ListenerOptions;
  readonly server: Server;
  readonly port: number;
  readonly connections: Set<Connection>;
}

class TcpFrontEnd implements MqttFrontEnd {
  readonly protocol = 'mqtt';
  readonly counters = newCounters();
  readonly #hub: Hub;
  readonly #options: MqttOptions;
  #opening: Promise<Context> | undefined;
  #retained: RetainedMessages | undefined;
  readonly #buffers = new OutputBuffers();
  // After everything that this turn of the event loop has read and resolved: one write per client.
  readonly #flushQueue = new FlushQueue((flush) => setImmediate(flush));
  readonly #listeners: Listener[] = [];
  readonly #wills = new Set<Promise<void>>();

  constructor(hub: Hub, options: MqttOptions) {
    this.#hub = hub;
    this.#options = options;
  }

  async listen(options: ListenerOptions): Promise<ListenerView> {
    this.#opening ??= this.#openContext(this.#hub, this.#options);
    const context = await this.#opening;
    const connections = new Set<Connection>();
    const server = createServer({ noDelay: true }, (socket) => {
      if (connections.size >= options.connectionsMax) {
        this.counters.connectionsRefused++;
        this.#hub.log.warn('mqtt-too-many-connections', { listener: options.name });
        socket.destroy();
        return;
      }
      const connection = new Connection({
        socket,
        listener: options.name,
        context,
        buffers: this.#buffers,
        flushQueue: this.#flushQueue,
      });
      connections.add(connection);
      void connection.closed.then(() => connections.delete(connection));
    });
    const port = await bind(server, options);
    server.on('error', (error) =>
      this.#hub.log.error('mqtt-listener-failed', { listener: options.name, error }),
    );
    const listener = { options, server, port, connections };
    this.#listeners.push(listener);
    return viewOf(listener);
  }

  get retained(): RetainedView {
    return this.#retained ?? NOTHING_RETAINED;
  }

  listeners(): readonly ListenerView[] {
    return this.#listeners.map(viewOf);
  }

  async drain(): Promise<void> {
    await this.#stop((connection) => connection.drain());
  }

  async close(): Promise<void> {
    await this.#stop((connection) => connection.destroy());
    this.#listeners.length = 0;
    // Never opened, or not to be opened: then there is nothing to close.
    const context = await this.#opening?.catch(() => undefined);
    await context?.sessions.close();
    context?.dispatchers.close();
    await context?.retained.close();
  }

  /** Resolves when all connections are gone and what they left behind is published. */
  async #stop(end: (connection: Connection) => void): Promise<void> {
    const stopped = this.#listeners.map(stopAccepting);
    const connections = this.#connections();
    for (const connection of connections) end(connection);
    await Promise.all([...stopped, ...connections.map(({ closed }) => closed)]);
    await Promise.all(this.#wills);
  }

  #connections(): readonly Connection[] {
    return this.#listeners.flatMap(({ connections }) => [...connections]);
  }

  /** Resolves when the state that outlives connections is there. */
  async #openContext(hub: Hub, options: MqttOptions): Promise<Context> {
    const { counters } = this;
    const tree = new SubscriptionTree<SessionSubscription>();
    const mappings = new Mappings(options.mappings);
    const matches = new Matches<Session>(tree, mappings);
    const topics = new RecordTopics(matches, options.topicLevelsMax, mappings);
    const reader = () => new RecordReader({ cursor: hub.cursor(), clock: hub.clock, topics, counters });
    const routes = new Routes(hub, options.topicLevelsMax, mappings);
    const retained = await RetainedMessages.open({ hub, counters, topics, limits: options });
    this.#retained = retained;
    const { followBytesMax } = options;
    const dispatchers = new Dispatchers({ hub, tree, reader: reader(), counters, mappings, followBytesMax });
    const clients = new Map<string, Client>();
    const catchUpReader = reader();
    const sessions = await Sessions.open({
      hub,
      clients,
      dispatchers,
      resumption: { hub, reader: catchUpReader, counters },
      sessionsMax: options.sessionsMax,
    });
    return {
      hub,
      options,
      counters,
      routes,
      retained,
      mappings,
      dispatchers,
      catchUpReader,
      unstored: new UnstoredBytes(options.unstoredBytesTotalMax),
      clients,
      sessions,
      publishWill: (session, will) => this.#publishWill({ hub, routes, retained }, session, will),
    };
  }

  /** Its connection is gone, so a stop has to wait for it here. */
  #publishWill(into: WillTarget, session: Session, will: WillPacket): void {
    const work = publishWill(into, session, will).then(
      (reasonCode) => {
        if (isFailure(reasonCode)) this.#willLost(session, { reasonCode });
      },
      (error: unknown) => this.#willLost(session, { error }),
    );
    const tracked = work.finally(() => this.#wills.delete(tracked));
    this.#wills.add(tracked);
  }

  #willLost(session: Session, why: object): void {
    this.counters.publishesRefused++;
    this.#hub.log.warn('mqtt-will-refused', { clientId: session.clientId, ...why });
  }
}

const NOTHING_RETAINED: RetainedView = { count: 0, byteLength: 0, heldBytes: 0 };

function bind(server: Server, { host, port }: ListenerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      // A TCP server that listens has an address object.
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/** Resolves when the last connection is gone. */
function stopAccepting({ server }: Listener): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function viewOf({ options, port, connections }: Listener): ListenerView {
  const { name, host } = options;
  return { name, protocol: 'mqtt', host, port, connections: connections.size };
}
