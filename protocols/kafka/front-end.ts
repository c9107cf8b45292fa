// The Kafka front end: listeners, the connections on them, and what they share. Made by the composition root.

import { createServer, type Server, type Socket } from 'node:net';
import type {
  FrontEnd,
  GroupDirectory,
  Hub,
  ListenerOptions,
  ListenerView,
  MetricSink,
  Timer,
  TransactionDirectory,
} from '../port.ts';
import { AddressCounts } from './address-counts.ts';
import type { KafkaContext } from './api.ts';
import { ApiIndex } from './api-index.ts';
import { APIS } from './apis.ts';
import { Connection } from './connection.ts';
import { ConnectionMemory } from './connection-memory.ts';
import { EncodedStretches } from './encoded-stretches.ts';
import { FetchSessions } from './fetch-sessions.ts';
import { GroupAdministration } from './groups/administration.ts';
import { GroupCoordinator } from './groups/coordinator.ts';
import { groupDirectory } from './groups/directory.ts';
import { GroupOffsets } from './groups/offsets.ts';
import { TransactionalOffsets } from './groups/transactional-offsets.ts';
import {
  collectBuffers,
  collectCounters,
  collectTransactions,
  type KafkaCounters,
  newCounters,
  RequestTimings,
} from './metrics.ts';
import { plainAddress } from './plain-address.ts';
import { BatchEncoder } from './records/batch-encoder.ts';
import { changeSettings, type KafkaOptions, kafkaSettings } from './settings.ts';
import { TransactionCoordinator } from './transactions/coordinator.ts';
import { transactionDirectory } from './transactions/directory.ts';
import { type TransactionStatistics, transactionStatistics } from './transactions/statistics.ts';
import { WireWriter } from './wire/writer.ts';

/** How often idle connections are looked for, as a part of the time they may be idle. */
const IDLE_CHECKS = 4;

/** Resolves when the state of groups and transactions is read; listeners come after. */
export async function createKafkaFrontEnd(hub: Hub, options: KafkaOptions = {}): Promise<KafkaFrontEnd> {
  return new KafkaFrontEnd(await openKafkaContext(hub, options));
}

/** What handlers work with, without anybody who asks them. */
export async function openKafkaContext(
  hub: Hub,
  options: KafkaOptions,
): Promise<Omit<KafkaContext, 'listeners'>> {
  const settings = kafkaSettings(options);
  const groups = await GroupCoordinator.open(hub, settings.groups);
  const offsets = new GroupOffsets(hub, groups, settings.offsets);
  const transactionalOffsets = new TransactionalOffsets(groups, offsets, settings.pendingOffsets);
  const transactions = await TransactionCoordinator.open(hub, settings.transactions, transactionalOffsets);
  return {
    hub,
    settings,
    groups,
    offsets,
    transactionalOffsets,
    transactions,
    groupAdministration: new GroupAdministration(groups),
    fetchSessions: new FetchSessions(settings.fetchSessions, hub.clock, hub.random),
    apis: APIS,
    encoder: new BatchEncoder(),
    stretches: new EncodedStretches(hub.clock, undefined, (bytes) => hub.keepElsewhere(bytes)),
    cursor: hub.cursor(),
    counters: newCounters(),
    timings: new RequestTimings(hub),
  };
}

interface Listener {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly server: Server;
  readonly connections: Set<Connection>;
  /** Set when it is closed while others go on; called when its last connection is closed. */
  onQuiet?: () => void;
}

/** Connections of a listener that is closed alone have so long to be answered. */
const LISTENER_DRAIN_MS = 2_000;

export class KafkaFrontEnd implements FrontEnd {
  readonly protocol = 'kafka';
  readonly counters: KafkaCounters;
  readonly groups: GroupDirectory;
  readonly transactions: TransactionDirectory;
  readonly #kafka: KafkaContext;
  readonly #apis: ApiIndex;
  readonly #writer = new WireWriter();
  readonly #memory: ConnectionMemory;
  /** Of all listeners. */
  readonly #addresses: AddressCounts;
  readonly #listeners: Listener[] = [];
  #idleTimer: Timer | undefined;
  /** Called when the last connection is closed. */
  #onQuiet: (() => void) | undefined;

  constructor(kafka: Omit<KafkaContext, 'listeners'>) {
    this.#kafka = { ...kafka, listeners: () => this.listeners() };
    this.counters = kafka.counters;
    this.#apis = new ApiIndex(kafka.apis);
    this.#memory = new ConnectionMemory(() => kafka.settings.connectionBytesTotalMax);
    this.#addresses = new AddressCounts(() => kafka.settings.connectionsPerAddressMax);
    this.groups = groupDirectory({
      store: kafka.groups.store,
      offsets: kafka.offsets,
      administration: kafka.groupAdministration,
      topics: kafka.hub.topics,
    });
    this.transactions = transactionDirectory(kafka.transactions);
    this.#scheduleIdleCheck();
  }

  /** Other settings, from now on; what is said at the beginning of a connection counts for new ones. */
  reconfigure(options: KafkaOptions): void {
    changeSettings(this.#kafka.settings, kafkaSettings(options));
    this.#kafka.transactions.settingsChanged();
    this.#idleTimer?.cancel();
    this.#scheduleIdleCheck();
  }

  async listen({ name, host, port, connectionsMax }: ListenerOptions): Promise<ListenerView> {
    const connections = new Set<Connection>();
    const server = createServer({ noDelay: true }, (socket) => this.#accept(listener, socket));
    server.maxConnections = connectionsMax;
    server.on('drop', (data) => {
      this.#countRefused(name, plainAddress(data?.remoteAddress), 'too many');
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) =>
      this.#kafka.hub.log.error('kafka-listener-failed', { listener: name, error }),
    );
    const address = server.address();
    // A TCP server that listens has an address of its own.
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    const listener: Listener = { name, host, port: bound, server, connections };
    this.#listeners.push(listener);
    return viewOf(listener);
  }

  listeners(): readonly ListenerView[] {
    return this.#listeners.filter(({ onQuiet }) => onQuiet === undefined).map(viewOf);
  }

  changeListener({ name, connectionsMax }: ListenerOptions): void {
    const listener = this.#listeners.find((each) => each.name === name);
    if (listener !== undefined) listener.server.maxConnections = connectionsMax;
  }

  async closeListener(name: string): Promise<void> {
    const listener = this.#listeners.find((each) => each.name === name && each.onQuiet === undefined);
    if (listener === undefined) return;
    const { server, connections } = listener;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const quiet = new Promise<void>((resolve) => {
      listener.onQuiet = resolve;
    });
    if (connections.size === 0) listener.onQuiet?.();
    for (const connection of [...connections]) connection.drain();
    const late = this.#kafka.hub.clock.setTimer(LISTENER_DRAIN_MS, () => {
      for (const connection of [...connections]) connection.abort('its listener is gone');
    });
    await Promise.all([closed, quiet]);
    late.cancel();
    this.#listeners.splice(this.#listeners.indexOf(listener), 1);
  }

  collect(sink: MetricSink): void {
    collectCounters(this.counters, sink);
    this.#kafka.timings.collect(sink);
    collectBuffers(this.#kafka.stretches, this.#memory, sink);
    collectTransactions(this.transactionStatistics(), sink);
  }

  transactionStatistics(): TransactionStatistics {
    const { transactions, transactionalOffsets, hub } = this.#kafka;
    return transactionStatistics(transactions, transactionalOffsets, hub.clock.now());
  }

  async drain(): Promise<void> {
    for (const { server } of this.#listeners) server.close();
    this.#kafka.groups.drain();
    this.#kafka.transactions.drain();
    const connections = this.#connections();
    if (connections.length === 0) return;
    const quiet = new Promise<void>((resolve) => {
      this.#onQuiet = resolve;
    });
    for (const connection of connections) connection.drain();
    await quiet;
  }

  async close(): Promise<void> {
    this.#idleTimer?.cancel();
    this.#kafka.offsets.close();
    this.#kafka.groups.close();
    this.#kafka.transactions.close();
    for (const connection of this.#connections()) connection.abort('the hub stops');
    this.#kafka.fetchSessions.close();
    this.#kafka.stretches.close();
    await Promise.all(
      this.#listeners.map(
        ({ server }) => new Promise<void>((resolve) => server.close(() => resolve())), // also when closed already
      ),
    );
  }

  #countRefused(listener: string, remote: string, reason: string): void {
    this.counters.connectionsRefused++;
    this.#kafka.hub.log.warn('kafka-connection-refused', { listener, remote, reason });
  }

  #accept(listener: Listener, socket: Socket): void {
    const { name, connections } = listener;
    const remote = plainAddress(socket.remoteAddress);
    if (!this.#addresses.add(remote)) {
      this.counters.addressLimitRefused++;
      this.#countRefused(name, remote, 'too many of this address');
      socket.on('error', () => undefined); // its end is what is wanted
      socket.destroy();
      return;
    }
    socket.on('close', () => this.#addresses.remove(remote));
    const connection = new Connection({
      socket,
      listener: name,
      kafka: this.#kafka,
      apis: this.#apis,
      writer: this.#writer,
      memory: this.#memory,
      onClosed: (closed) => {
        connections.delete(closed);
        if (connections.size === 0) listener.onQuiet?.();
        if (this.#connections().length === 0) this.#onQuiet?.();
      },
    });
    connections.add(connection);
    this.counters.connectionsAccepted++;
  }

  #connections(): Connection[] {
    return this.#listeners.flatMap(({ connections }) => [...connections]);
  }

  #scheduleIdleCheck(): void {
    const { hub, settings } = this.#kafka;
    if (settings.idleTimeoutMs <= 0) return;
    this.#idleTimer = hub.clock.setTimer(settings.idleTimeoutMs / IDLE_CHECKS, () => {
      const oldestMs = hub.clock.monotonic() - settings.idleTimeoutMs;
      for (const connection of this.#connections()) {
        const { idleSinceMs } = connection;
        if (idleSinceMs !== undefined && idleSinceMs <= oldestMs) connection.abort('idle');
      }
      this.#scheduleIdleCheck();
    });
  }
}

function viewOf({ name, host, port, connections }: Listener): ListenerView {
  return { name, protocol: 'kafka', host, port, connections: connections.size };
}
