// The listeners of a running hub and the front ends behind them: opened at the start, each front end at its first
// listener; opened, changed and closed while the hub runs when its configuration is another one.
import type { FrontEnd, Hub, ListenerView, Log } from '../protocols/port.ts';
import type { BrokerConfig, ListenerConfig } from './config/broker-config.ts';
import { listenProblem } from './listen-probe.ts';
import { settledWithin } from './settled-within.ts';

export interface OpenFrontEnd {
  readonly frontEnd: FrontEnd;
  /** Takes other limits and rules; must not throw. Absent = there is nothing that may be another. */
  reconfigure?(config: BrokerConfig): void;
}

export interface FrontEndFactory {
  /** As listeners name it. */
  readonly protocol: string;
  /** Its other names there. */
  readonly transports?: readonly string[];
  create(hub: Hub, config: BrokerConfig): OpenFrontEnd | Promise<OpenFrontEnd>;
}

export interface AdminServer {
  listeners(): readonly ListenerView[];
  /** One more. Throws BrokerError `listen`. */
  listen(listener: ListenerConfig): Promise<void>;
  /** Other limits; the address stays. */
  changeListener(listener: ListenerConfig): void;
  /** Stops accepting at once; resolves when the requests in flight are answered. */
  closeListener(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface FrontEndsOptions {
  readonly factories: readonly FrontEndFactory[];
  /** Undefined = nobody serves the admin API: its listeners stay closed. */
  readonly startAdmin: ((listeners: readonly ListenerConfig[]) => Promise<AdminServer>) | undefined;
  readonly log: Log;
}

/** Why a broker did not start, in a sentence for whoever configures it. */
export class BrokerError extends Error {
  readonly code: 'listen' | 'protocol' | 'stopping';

  constructor(code: BrokerError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BrokerError';
    this.code = code;
  }
}

const ADMIN_PROTOCOL = 'http';

/** Clients of a listener that is closed while the hub goes on have so long to be answered. */
const CLOSE_LISTENER_MS = 3_000;

export class FrontEnds {
  readonly #options: FrontEndsOptions;
  readonly #open: OpenFrontEnd[] = [];
  #admin: AdminServer | undefined;
  #isStopping = false;

  constructor(options: FrontEndsOptions) {
    this.#options = options;
  }

  get all(): readonly FrontEnd[] {
    return this.#open.map(({ frontEnd }) => frontEnd);
  }

  get admin(): AdminServer | undefined {
    return this.#admin;
  }

  listeners(): readonly ListenerView[] {
    return [...this.all.flatMap((frontEnd) => frontEnd.listeners()), ...(this.#admin?.listeners() ?? [])];
  }

  /**
   * Those of clients first, in their order; then the admin API. Throws BrokerError; what is open then stays open.
   * @param unheard protocols that are opened though no listener may speak them
   */
  async start(hub: Hub, config: BrokerConfig, unheard: readonly string[] = []): Promise<void> {
    for (const protocol of unheard) {
      const { frontEnd } = await this.#create({ name: 'unheard', protocol }, hub, config);
      await frontEnd.open?.();
    }
    const admin = config.listeners.filter(({ protocol }) => protocol === ADMIN_PROTOCOL);
    for (const listener of config.listeners) {
      if (listener.protocol !== ADMIN_PROTOCOL) await this.#listen(listener, hub, config);
    }
    if (admin.length > 0) this.#admin = await this.#options.startAdmin?.(admin);
  }

  /** Nothing is opened any more; what is being opened is closed by whoever opens it. */
  stopOpening(): void {
    this.#isStopping = true;
  }

  /** Opens what is new in `next`. Throws BrokerError; nothing of it is open then. */
  async openNew(hub: Hub, running: BrokerConfig, next: BrokerConfig): Promise<readonly string[]> {
    const added = next.listeners.filter(({ name }) => running.listeners.every((each) => each.name !== name));
    // Before a front end is made for one of them: it would stay, for its state is the hub's.
    for (const listener of added) {
      const problem = await listenProblem(listener);
      if (problem !== undefined) throw cannotListen(listener, problem);
    }
    const opened: string[] = [];
    try {
      for (const listener of added) {
        this.#refuseWhileStopping();
        if (listener.protocol !== ADMIN_PROTOCOL) await this.#listen(listener, hub, next);
        else await this.#listenAdmin(listener);
        opened.push(listener.name);
      }
      return opened;
    } catch (error) {
      await this.close(opened);
      throw error;
    }
  }

  /** Limits and rules of all front ends, and of listeners that stay. */
  change(next: BrokerConfig): void {
    for (const { reconfigure } of this.#open) reconfigure?.(next);
    for (const listener of next.listeners) {
      if (listener.protocol === ADMIN_PROTOCOL) this.#admin?.changeListener(listener);
      else this.#speaking(listener.protocol)?.frontEnd.changeListener?.(listenerOptions(listener));
    }
  }

  /** Resolves when their clients are gone, or have had their time. */
  async close(names: readonly string[]): Promise<void> {
    const { log } = this.#options;
    await Promise.all(
      names.map(async (listener) => {
        const works = [this.#admin, ...this.all].map((each) => each?.closeListener?.(listener));
        const outcome = await settledWithin(Promise.all(works), CLOSE_LISTENER_MS);
        if (outcome === 'settled') return;
        log.warn(
          'listener-not-closed',
          outcome === 'late' ? { listener } : { listener, error: outcome.error },
        );
      }),
    );
  }

  async #listen(listener: ListenerConfig, hub: Hub, config: BrokerConfig): Promise<void> {
    const { frontEnd } = this.#speaking(listener.protocol) ?? (await this.#create(listener, hub, config));
    try {
      await frontEnd.listen(listenerOptions(listener));
    } catch (error) {
      throw cannotListen(listener, error);
    }
    await this.#closeWhenStopping(frontEnd);
  }

  async #listenAdmin(listener: ListenerConfig): Promise<void> {
    if (this.#admin !== undefined) await this.#admin.listen(listener);
    else this.#admin = await this.#options.startAdmin?.([listener]);
    await this.#closeWhenStopping(this.#admin);
  }

  /** The stop has closed all that was open before it: not what has been opened since. */
  async #closeWhenStopping(opened: Pick<FrontEnd, 'close'> | undefined): Promise<void> {
    if (!this.#isStopping) return;
    await opened?.close();
    this.#refuseWhileStopping();
  }

  #refuseWhileStopping(): void {
    if (this.#isStopping) throw new BrokerError('stopping', 'the hub is stopping');
  }

  async #create(
    { name, protocol }: Pick<ListenerConfig, 'name' | 'protocol'>,
    hub: Hub,
    config: BrokerConfig,
  ): Promise<OpenFrontEnd> {
    const factory = this.#options.factories.find((each) => speaks(each, protocol));
    if (factory === undefined)
      throw new BrokerError('protocol', `listener "${name}": there is no protocol "${protocol}"`);
    const open = await factory.create(hub, config);
    await this.#closeWhenStopping(open.frontEnd);
    this.#open.push(open);
    return open;
  }

  #speaking(protocol: string): OpenFrontEnd | undefined {
    return this.#open.find(({ frontEnd }) => speaks(frontEnd, protocol));
  }
}

function cannotListen({ name, host, port }: ListenerConfig, error: unknown): BrokerError {
  const reason = error instanceof Error ? error.message : String(error);
  return new BrokerError('listen', `listener "${name}" cannot listen on ${host}:${port}: ${reason}`, error);
}

function listenerOptions({ advertised: _, hosts: __, ...options }: ListenerConfig) {
  return options;
}

function speaks({ protocol, transports }: FrontEndFactory | FrontEnd, asked: string): boolean {
  return protocol === asked || transports?.includes(asked) === true;
}
