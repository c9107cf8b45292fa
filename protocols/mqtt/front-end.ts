// The MQTT front end: listeners, what their connections share, and stopping.
import { isDeepStrictEqual } from 'node:util';
import type {
  FrontEnd,
  Hub,
  ListenerOptions,
  ListenerView,
  MessagingDirectory,
  MetricSink,
} from '../port.ts';
import type { Client, Context } from './client.ts';
import { Connection } from './connection.ts';
import type { MqttCounters } from './counters.ts';
import { newCounters } from './counters.ts';
import { Matches } from './deliveries.ts';
import { messagingDirectory } from './directory/messaging-directory.ts';
import { Dispatchers } from './dispatchers.ts';
import type { Hooks } from './hooks.ts';
import { ALLOW_ALL } from './hooks.ts';
import { Mappings } from './mapping/mappings.ts';
import { collectContext, collectCounters } from './metrics.ts';
import type { MqttOptions } from './options.ts';
import { DEFAULT_OPTIONS } from './options.ts';
import { FlushQueue, OutputBuffers } from './output.ts';
import { UnstoredBytes } from './publish-flow.ts';
import { RecordReader } from './record-reader.ts';
import { RecordTopics } from './record-topic.ts';
import { RetainedMessages } from './retained/retained-messages.ts';
import { Routes, reroute } from './routes.ts';
import type { Session, SessionSubscription } from './session.ts';
import { QueueLimits } from './sessions/queue-limits.ts';
import { Sessions } from './sessions/sessions.ts';
import { SharedGroups } from './share/share-groups.ts';
import { SubscriptionTree } from './subscription-tree.ts';
import { SysTopics } from './sys-topics.ts';
import { AddressCounts } from './transports/address-counts.ts';
import type { Incoming } from './transports/listener.ts';
import { Listener } from './transports/listener.ts';
import { absentAuthor, Wills, willPacketOf } from './will.ts';

export interface MqttFrontEnd extends FrontEnd {
  /** Other options, from now on; what a client is told when it connects counts for those that connect from now on. */
  reconfigure(options: Partial<MqttOptions>): void;
  changeListener(options: ListenerOptions): void;
  closeListener(name: string): Promise<void>;
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

/** @param hooks a policy; without one everything is allowed. */
export function createMqttFrontEnd(
  hub: Hub,
  options: Partial<MqttOptions> = {},
  hooks: Hooks = ALLOW_ALL,
): MqttFrontEnd {
  return new ListeningFrontEnd(hub, { ...DEFAULT_OPTIONS, ...options }, hooks);
}

class ListeningFrontEnd implements MqttFrontEnd {
  readonly protocol = 'mqtt';
  readonly transports = ['mqtt-ws'];
  readonly counters = newCounters();
  readonly #hub: Hub;
  /** Everyone looks here when it matters: it changes in place. */
  readonly #options: MqttOptions;
  readonly #hooks: Hooks;
  readonly #addresses: AddressCounts;
  #context: Context | undefined;
  #opening: Promise<Context> | undefined;
  #retained: RetainedMessages | undefined;
  #messaging: MessagingDirectory | undefined;
  readonly #buffers = new OutputBuffers();
  // After everything that this turn of the event loop has read and resolved: one write per client.
  readonly #flushQueue = new FlushQueue((flush) => setImmediate(flush));
  readonly #listeners: Listener[] = [];
  /** By listeners that are gone. */
  #bytesSentBefore = 0;
  readonly #connections = new Set<Connection>();
  #wills: Wills | undefined;

  constructor(hub: Hub, options: MqttOptions, hooks: Hooks) {
    this.#hub = hub;
    this.#options = options;
    this.#hooks = hooks;
    this.#addresses = new AddressCounts(() => options.connectionsPerAddressMax);
  }

  async open(): Promise<void> {
    await this.#opened();
  }

  async #opened(): Promise<Context> {
    this.#opening ??= this.#openContext(this.#hub, this.#options);
    const context = await this.#opening;
    this.#context = context;
    this.#messaging ??= messagingDirectory(context);
    return context;
  }

  async listen(options: ListenerOptions): Promise<ListenerView> {
    const context = await this.#opened();
    const listener = new Listener(options, {
      log: this.#hub.log,
      clock: this.#hub.clock,
      counters: this.counters,
      options: this.#options,
      addresses: this.#addresses,
      serve: (incoming) => this.#serve(context, incoming),
    });
    const view = await listener.open();
    this.#listeners.push(listener);
    return view;
  }

  reconfigure(options: Partial<MqttOptions>): void {
    const { mappings } = this.#options;
    const next = { ...DEFAULT_OPTIONS, ...options };
    if (!isDeepStrictEqual(next.mappings, mappings)) this.#context?.mappings.replace(next.mappings);
    // Nobody else may write to them, which is what their type says.
    Object.assign(this.#options, next);
    this.#context?.sys.intervalChanged();
    for (const listener of this.#listeners) listener.optionsChanged();
  }

  changeListener(options: ListenerOptions): void {
    this.#listeners.find(({ view }) => view.name === options.name)?.change(options);
  }

  async closeListener(name: string): Promise<void> {
    const listener = this.#listeners.find(({ view }) => view.name === name);
    if (listener === undefined) return;
    this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    const connections = [...this.#connections].filter((connection) => connection.listener === name);
    const stopped = listener.stopAccepting();
    for (const connection of connections) connection.drain();
    await Promise.all([stopped, ...connections.map(({ closed }) => closed)]);
    this.#bytesSentBefore += listener.bytesSent;
  }

  #serve(context: Context, incoming: Incoming): Connection {
    const connection = new Connection({
      ...incoming,
      context,
      buffers: this.#buffers,
      flushQueue: this.#flushQueue,
    });
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }

  collect(sink: MetricSink): void {
    collectCounters(this.counters, sink);
    if (this.#context !== undefined) collectContext(this.#context, sink);
  }

  get messaging(): MessagingDirectory | undefined {
    return this.#messaging;
  }

  get retained(): RetainedView {
    return this.#retained ?? NOTHING_RETAINED;
  }

  listeners(): readonly ListenerView[] {
    return this.#listeners.map(({ view }) => view);
  }

  async drain(): Promise<void> {
    await this.#stop((connection) => connection.drain());
  }

  async close(): Promise<void> {
    await this.#stop((connection) => connection.destroy());
    this.#listeners.length = 0;
    // Never opened, or not to be opened: then there is nothing to close.
    const context = await this.#opening?.catch(() => undefined);
    context?.sys.close();
    await context?.shared.close();
    await context?.sessions.close();
    context?.dispatchers.close();
    await context?.retained.close();
  }

  #bytesSent(): number {
    return this.#listeners.reduce((sum, { bytesSent }) => sum + bytesSent, this.#bytesSentBefore);
  }

  /** Resolves when all connections are gone and what they left behind is published. */
  async #stop(end: (connection: Connection) => void): Promise<void> {
    const stopped = this.#listeners.map((listener) => listener.stopAccepting());
    const connections = [...this.#connections];
    for (const connection of connections) end(connection);
    await Promise.all([...stopped, ...connections.map(({ closed }) => closed)]);
    await this.#wills?.settled();
  }

  /** Resolves when the state that outlives connections is there. */
  async #openContext(hub: Hub, options: MqttOptions): Promise<Context> {
    const { counters } = this;
    const tree = new SubscriptionTree<SessionSubscription>();
    const mappings = new Mappings(options.mappings);
    const matches = new Matches<Session>(tree, mappings);
    const topics = new RecordTopics(matches, options.topicLevelsMax, mappings);
    const reader = () => new RecordReader({ cursor: hub.cursor(), clock: hub.clock, topics, counters });
    const routes = new Routes(hub, options, mappings);
    mappings.onReplaced(() => {
      for (const connection of this.#connections) reroute(connection, routes);
    });
    const retained = await RetainedMessages.open({ hub, counters, topics, limits: options });
    this.#retained = retained;
    const { followBytesMax } = options;
    const dispatchers = new Dispatchers({ hub, tree, reader: reader(), counters, mappings, followBytesMax });
    const clients = new Map<string, Client>();
    const catchUpReader = reader();
    const wills = new Wills({ hub, routes, retained, counters, hooks: this.#hooks });
    this.#wills = wills;
    const queueLimits = new QueueLimits({
      clock: hub.clock,
      log: hub.log,
      counters,
      reader: catchUpReader,
      get countMax() {
        return options.queueCountMax;
      },
      get ageMaxMs() {
        return options.queueAgeMaxMs;
      },
    });
    let shared: SharedGroups | undefined;
    const sessions = await Sessions.open({
      onEnded: (clientId) => {
        shared?.forgetClient(clientId);
        retained.left.take(clientId);
      },
      publishWill: (clientId, will) => wills.publish(absentAuthor(clientId, will), willPacketOf(will)),
      hub,
      clients,
      dispatchers,
      resumption: { hub, reader: catchUpReader, counters },
      queueLimits,
      get sessionsMax() {
        return options.sessionsMax;
      },
    });
    shared = new SharedGroups({
      hub,
      dispatchers,
      counters,
      mappings,
      reader: catchUpReader,
      records: sessions.groups,
      queueLimits,
      followBytesMax,
      get groupsMax() {
        return options.sharedGroupsMax;
      },
    });
    return {
      hub,
      options,
      shared,
      counters,
      routes,
      retained,
      mappings,
      hooks: this.#hooks,
      sys: new SysTopics({
        clock: hub.clock,
        counters,
        tree,
        connected: () => clients.size,
        sessions: () => sessions.count,
        retained: () => retained.count,
        bytesSent: () => this.#bytesSent(),
        get intervalMs() {
          return options.sysIntervalMs;
        },
      }),
      tree,
      dispatchers,
      catchUpReader,
      queueLimits,
      unstored: new UnstoredBytes(options.unstoredBytesTotalMax),
      clients,
      sessions,
      wills,
    };
  }
}

const NOTHING_RETAINED: RetainedView = { count: 0, byteLength: 0, heldBytes: 0 };
