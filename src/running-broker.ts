// One broker from start to stop: stores → hub → front ends → admin, and back. A start that fails half way closes
// what it had opened, by the same path as a stop. Which protocols there are is said in broker.ts.
import path from 'node:path';
import type {
  Clock,
  Endpoint,
  GroupDirectory,
  GroupError,
  Hub,
  ListenerView,
  Log,
  MessagingDirectory,
  MetricSink,
  Random,
  TransactionDirectory,
} from '../protocols/port.ts';
import {
  type FileSystem,
  type LogStore,
  type MetaStore,
  openLogStore,
  openMetaStore,
  type StoreCounters,
} from '../storage/index.ts';
import type { BrokerConfig, ListenerConfig } from './config/broker-config.ts';
import { type AdminServer, BrokerError, type FrontEndFactory, FrontEnds } from './front-ends.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from './hub/clock.ts';
import { type LocalHub, openHub } from './hub/hub.ts';
import type { Recovery } from './recovery.ts';
import { settledWithin } from './settled-within.ts';

export interface Broker {
  readonly config: BrokerConfig;
  readonly hub: Hub;
  readonly clusterId: string;
  readonly startedAtMs: number;
  readonly recovery: Recovery;
  /** Live: each property is read when it is looked at. */
  readonly storeCounters: Readonly<StoreCounters>;
  readonly groups: GroupDirectory;
  readonly transactions: TransactionDirectory;
  /** Undefined when no listener has clients that publish and subscribe. */
  readonly messaging: MessagingDirectory | undefined;
  /** What the front ends have counted, and what the store keeps in memory. */
  collect(sink: MetricSink): void;
  /** In the order of the configuration, with the ports that were really taken. */
  listeners(): readonly ListenerView[];
  /** Why it does not serve everything, a phrase each; empty when it does. */
  ready(): readonly string[];
  /**
   * Takes another configuration, but for what is fixed by the start: see the key table of config/README.md. Throws
   * HubError or BrokerError, with a sentence for the user, when that cannot be done; nothing has changed then, or it is a
   * PartlyAppliedError, which says what has.
   */
  reconfigure(next: BrokerConfig): Promise<void>;
  /** Resolves in less than 5 s, whatever hangs. Idempotent. */
  stop(): Promise<void>;
}

export interface BrokerOptions {
  /** Serves the listeners of protocol `http`; without it they stay closed. */
  readonly startAdmin?: (broker: Broker, listeners: readonly ListenerConfig[]) => Promise<AdminServer>;
  /** Protocols that are at work though no listener speaks them: for who has the hub in his own process. */
  readonly unheard?: readonly string[];
  /** What will be imported anyway: begun while the stores wait for the disk. */
  readonly imports?: readonly (() => Promise<unknown>)[];
  readonly clock?: Clock;
  readonly random?: Random;
  readonly fileSystem?: FileSystem;
}

/** Clients get this long to be answered and told goodbye … */
const DRAIN_MS = 2000;
/** … what is left of them this long to be closed … */
const CLOSE_MS = 500;
/** … and all of it, the stores' last flush included, this long: below the 5 s that a stop may take. */
const STOP_MS = 4500;

const NO_TRANSACTIONS: TransactionDirectory = {
  list: () => [],
  get: () => undefined,
  abort: async (id) => ({ error: 'unknown-transaction', message: `there is no transactional id ${id}` }),
};
const noGroup = async (id: string): Promise<GroupError> => {
  return { error: 'unknown-group', message: `there is no group ${id}` };
};
const NO_GROUPS: GroupDirectory = {
  list: () => [],
  get: () => undefined,
  offsets: () => undefined,
  delete: noGroup,
  deleteOffsets: noGroup,
  commitOffsets: noGroup,
};

/** Throws StorageError, HubError or BrokerError; nothing is left open then. */
export async function runBroker(
  config: BrokerConfig,
  log: Log,
  frontEnds: readonly FrontEndFactory[],
  options: BrokerOptions = {},
): Promise<Broker> {
  const broker = new RunningBroker(config, log, frontEnds, options);
  try {
    await broker.start();
    return broker;
  } catch (error) {
    await broker.stop();
    throw error;
  }
}

class RunningBroker implements Broker {
  readonly startedAtMs: number;
  #config: BrokerConfig;
  readonly #log: Log;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Of the stores and the hub, in the order in which they were opened. */
  readonly #closings: { readonly what: string; readonly work: () => Promise<void> }[] = [];
  readonly #frontEnds: FrontEnds;
  /** One after the other; never rejects. */
  #reconfiguring: Promise<unknown> = Promise.resolve();
  #state: 'starting' | 'started' | 'stopping' = 'starting';
  #store: LogStore | undefined;
  /** On its way from the moment on at which the data directory is known to be ours. */
  #metaStore: Promise<MetaStore> | undefined;
  #hub: LocalHub | undefined;
  #recovery: Recovery | undefined;
  #stopping: Promise<void> | undefined;
  #releaseSmallWrites: () => void = () => undefined;

  constructor(config: BrokerConfig, log: Log, factories: readonly FrontEndFactory[], options: BrokerOptions) {
    this.#config = config;
    this.#log = log;
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#random = options.random ?? SYSTEM_RANDOM;
    this.startedAtMs = this.#clock.now();
    const { startAdmin } = options;
    this.#frontEnds = new FrontEnds({
      factories,
      startAdmin: startAdmin && ((listeners) => startAdmin(this, listeners)),
      log,
    });
  }

  async start(): Promise<void> {
    try {
      await this.#openHub();
      await this.#frontEnds.start(this.#started.hub, this.#config, this.#options.unheard);
    } finally {
      this.#releaseSmallWrites();
    }
    this.#state = 'started';
    this.#log.info('started', { ...this.recovery, faults: this.#started.hub.faults().length });
  }

  get config(): BrokerConfig {
    return this.#config;
  }

  reconfigure(next: BrokerConfig): Promise<void> {
    const done = this.#reconfiguring.then(() => this.#reconfigure(next));
    this.#reconfiguring = done.catch(() => undefined); // the failure is the caller's
    return done;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  get hub(): LocalHub {
    return this.#started.hub;
  }

  get clusterId(): string {
    return this.#started.store.identity.clusterId;
  }

  get storeCounters(): StoreCounters {
    return this.#started.store.counters;
  }

  get recovery(): Recovery {
    return this.#started.recovery;
  }

  get groups(): GroupDirectory {
    return this.#frontEnds.all.find((frontEnd) => frontEnd.groups !== undefined)?.groups ?? NO_GROUPS;
  }

  get transactions(): TransactionDirectory {
    const coordinates = this.#frontEnds.all.find((frontEnd) => frontEnd.transactions !== undefined);
    return coordinates?.transactions ?? NO_TRANSACTIONS;
  }

  get messaging(): MessagingDirectory | undefined {
    return this.#frontEnds.all.find((frontEnd) => frontEnd.messaging !== undefined)?.messaging;
  }

  collect(sink: MetricSink): void {
    for (const frontEnd of this.#frontEnds.all) frontEnd.collect?.(sink);
    for (const { use, bytes, bytesMax } of this.#started.store.buffers) {
      sink.add('buffer_bytes', bytes, { use });
      sink.add('buffer_bytes_max', bytesMax, { use });
    }
  }

  listeners(): readonly ListenerView[] {
    const byName = new Map(this.#frontEnds.listeners().map((each) => [each.name, each]));
    return this.#config.listeners.flatMap(({ name }) => byName.get(name) ?? []);
  }

  ready(): readonly string[] {
    return this.#state === 'started' ? this.#started.hub.faults() : [`the hub is ${this.#state}`];
  }

  // -------------------------------------------------------------------------------------------- starting

  get #started(): { readonly store: LogStore; readonly hub: LocalHub; readonly recovery: Recovery } {
    if (this.#store === undefined || this.#hub === undefined || this.#recovery === undefined) {
      throw new Error('the broker has not opened its hub yet');
    }
    return { store: this.#store, hub: this.#hub, recovery: this.#recovery };
  }

  async #openHub(): Promise<void> {
    const { dataDirectory, nodeId, rack, storage, topics, declaredTopics } = this.#config;
    const surroundings = { clock: this.#clock, random: this.#random, log: this.#log };
    const { fileSystem } = this.#options;
    const beganAtMs = this.#clock.monotonic();
    // The log store first: it holds the lock on the data directory and knows whether it is ours.
    const store = await openLogStore({
      directory: dataDirectory,
      onOwned: () => {
        this.#metaStore = openMetaStore(path.join(dataDirectory, 'meta'));
        this.#metaStore.catch(() => undefined); // told below
      },
      nodeId,
      ...surroundings,
      ...storage,
      ...(fileSystem === undefined ? {} : { fileSystem }),
    }).catch(async (error: unknown) => {
      await this.#closeMetaStore();
      throw error;
    });
    this.#closings.push({ what: 'log store', work: () => store.close() });
    this.#closings.push({ what: 'meta store', work: () => this.#closeMetaStore() });
    this.#releaseSmallWrites = store.holdSmallWrites();
    const metaStore = await this.#metaStore!; // the log store is open, so it was owned
    const advertised = advertisedBy(this.#config.listeners);
    const hub = await openHub({
      store,
      metaStore,
      nodeId,
      rack,
      topics,
      declaredTopics,
      advertised,
      ...surroundings,
    });
    this.#closings.push({ what: 'hub', work: async () => hub.close() });
    this.#store = store;
    this.#hub = hub;
    this.#recovery = {
      durationMs: Math.round(this.#clock.monotonic() - beganAtMs),
      partitions: hub.topics.list().reduce((count, topic) => count + topic.partitions.length, 0),
      recoveredBytes: store.counters.recoveredBytes,
      cutBytes: store.counters.cutBytes,
      previousStopWasClean: store.identity.previousStopWasClean,
    };
  }

  /** One that could not be opened has nothing to close. */
  async #closeMetaStore(): Promise<void> {
    const metaStore = await this.#metaStore?.catch(() => undefined);
    await metaStore?.close();
  }

  // ------------------------------------------------------------------------------------------- changing

  /** What may fail comes first and is taken back; then what cannot. */
  async #reconfigure(next: BrokerConfig): Promise<void> {
    this.#refuseUnlessStarted();
    const { hub } = this.#started;
    const running = this.#config;
    const opened = await this.#frontEnds.openNew(hub, running, next);
    try {
      const { topics, declaredTopics, listeners } = next;
      await hub.reconfigure({ topics, declaredTopics, advertised: advertisedBy(listeners) });
      this.#refuseUnlessStarted();
    } catch (error) {
      await this.#frontEnds.close(opened);
      throw error;
    }
    this.#frontEnds.change(next);
    this.#config = next;
    const stays = new Set(next.listeners.map(({ name }) => name));
    const gone = running.listeners.filter(({ name }) => !stays.has(name));
    const ofAdmin = new Set(this.#frontEnds.admin?.listeners().map(({ name }) => name));
    // Whoever asked for this may have asked there, and is answered first.
    void this.#frontEnds.close(gone.flatMap(({ name }) => (ofAdmin.has(name) ? [name] : [])));
    await this.#frontEnds.close(gone.flatMap(({ name }) => (ofAdmin.has(name) ? [] : [name])));
  }

  #refuseUnlessStarted(): void {
    if (this.#state !== 'started') throw new BrokerError('stopping', `the hub is ${this.#state}`);
  }

  // -------------------------------------------------------------------------------------------- stopping

  async #stop(): Promise<void> {
    const wasStarted = this.#state === 'started';
    this.#state = 'stopping';
    const beganAtMs = performance.now();
    this.#frontEnds.stopOpening();
    // What it has opened is to be closed too.
    await settledWithin(this.#reconfiguring, CLOSE_MS);
    const close = async (what: string, limitMs: number, work: () => Promise<void>): Promise<void> => {
      const remainingMs = Math.max(0, STOP_MS - (performance.now() - beganAtMs));
      const outcome = await settledWithin(work(), Math.min(limitMs, remainingMs));
      if (outcome === 'settled') return;
      this.#log.error(
        'stop-incomplete',
        outcome === 'late' ? { what, limitMs } : { what, error: outcome.error },
      );
    };
    const frontEnds = this.#frontEnds.all;
    await Promise.all(frontEnds.map((each) => close(`drain ${each.protocol}`, DRAIN_MS, () => each.drain())));
    await Promise.all(frontEnds.map((each) => close(each.protocol, CLOSE_MS, () => each.close())));
    // After them, so that whoever asks hears "not ready" until the clients are gone.
    const { admin } = this.#frontEnds;
    if (admin !== undefined) await close('admin', CLOSE_MS, () => admin.close());
    for (const { what, work } of this.#closings.toReversed()) await close(what, STOP_MS, work);
    if (wasStarted) this.#log.info('stopped', { durationMs: Math.round(performance.now() - beganAtMs) });
  }
}

function advertisedBy(listeners: readonly ListenerConfig[]): ReadonlyMap<string, Endpoint> {
  return new Map(
    listeners.flatMap(({ name, advertised }) => (advertised === undefined ? [] : [[name, advertised]])),
  );
}
