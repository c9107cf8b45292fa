// Plays a scenario against a server. After each step every client is pinged until nothing else comes: what a server
// answers or delivers because of the step is in front of its PINGRESP, so that what does not come is told without a
// pause. A server that delivers in time of its own, once a message is on disk, has passed on what was published before
// when an observer has the message that was published last. Which packets a step brings is learned from the first
// server; another one has time until it has brought as many.
import { setTimeout as delay } from 'node:timers/promises';
import type { IConnectPacket, Packet } from 'mqtt-packet';
import { PlayedClient, type Transcript } from './played-client.ts';
import type { Connect, Scenario, Step, Version } from './scenario.ts';

/** How often nothing may have come until nothing will: a server notices cut connections between two rounds, say. */
const QUIET_ROUNDS = 3;
/** Only what does not come is waited for so long; where that is known, not so long. */
const LATE_MS = 10_000;
const LESS_MS = 500;
/** Of the observer: no filter of a scenario matches it but those that end in `#`. */
const WITNESS_TOPIC = 'witness/of/all/that/was/published';

export interface Played {
  /** Of each connection: the client's name and which of its connections it is. */
  readonly transcripts: ReadonlyMap<string, Transcript>;
  /** How many packets each connection, and all members together, had been given after each step. */
  readonly counts: readonly ReadonlyMap<string, number>[];
}

/** The connections of one scenario to one server. */
class Stage {
  readonly connections = new Map<string, PlayedClient>();
  readonly current = new Map<string, PlayedClient>();
  readonly #port: number;
  readonly #prefix: string;
  /** How many packets each connection was brought less than the first server's. */
  readonly #missing = new Map<string, number>();
  readonly #lateMs: number;
  #observer: PlayedClient | undefined;
  #wake: () => void = () => undefined;

  readonly #members: readonly string[];

  constructor({ members = [] }: Scenario, { port, prefix, bringsLess = false }: PlayOptions) {
    this.#members = members;
    this.#port = port;
    this.#prefix = prefix;
    this.#lateMs = bringsLess ? LESS_MS : LATE_MS;
  }

  async open(version: Version, silent: boolean): Promise<PlayedClient> {
    const witnessTopic = `${this.#prefix}/${WITNESS_TOPIC}`;
    const onEvent = (): void => this.#wake();
    return await PlayedClient.open({
      port: this.#port,
      version,
      silent,
      prefix: this.#prefix,
      witnessTopic,
      onEvent,
    });
  }

  async openObserver(): Promise<void> {
    const observer = await this.open(4, false);
    this.#observer = observer;
    observer.send(named(connectPacket('observer', {}, 4), this.#prefix));
    const subscriptions = [{ topic: `${this.#prefix}/${WITNESS_TOPIC}`, qos: 0 as const }];
    observer.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    await this.#must(() => observer.isSettled, 'the observer was not let in');
  }

  /** Waits for answers to what was sent and for as many packets as are expected, then until nothing more comes. */
  async settle(
    actor: PlayedClient | undefined,
    expected: ReadonlyMap<string, number> | undefined,
  ): Promise<void> {
    const shortOf = (): [name: string, count: number][] => {
      const counts = this.counts();
      return [...(expected ?? [])].map(([name, count]) => [name, count - (counts.get(name) ?? 0)]);
    };
    const hasAll = (): boolean =>
      [...this.connections.values()].every(({ isSettled }) => isSettled) &&
      shortOf().every(([name, count]) => count <= (this.#missing.get(name) ?? 0));
    await this.until(hasAll, this.#lateMs);
    for (const [name, count] of shortOf()) this.#missing.set(name, count);
    for (let quiet = 0; quiet < QUIET_ROUNDS; ) {
      const before = this.#eventCount();
      // First whoever did something: what it caused is with the others before they are asked.
      if (actor !== undefined) await this.#ping([actor]);
      if (quiet === 0) await this.#witness();
      await this.#ping([...this.connections.values()]);
      quiet = this.#eventCount() === before ? quiet + 1 : 0;
    }
  }

  /** False when the condition is not met in time. */
  async until(condition: () => boolean, lateMs = LATE_MS): Promise<boolean> {
    const untilMs = performance.now() + lateMs;
    while (!condition()) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  }

  /** How many packets have come: to each connection, to all members of a shared subscription together. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [name, { eventCount }] of this.connections) {
      const place = this.#members.includes(name.split(' ')[0] ?? '') ? 'members' : name;
      counts.set(place, (counts.get(place) ?? 0) + eventCount);
    }
    return counts;
  }

  close(): void {
    for (const client of this.connections.values()) client.destroy();
    this.#observer?.destroy();
  }

  async #must(condition: () => boolean, otherwise: string): Promise<void> {
    if (!(await this.until(condition))) throw new Error(`${this.#prefix}: ${otherwise}`);
  }

  async #ping(clients: readonly PlayedClient[]): Promise<void> {
    const asked = clients.filter(({ isServed }) => isServed);
    for (const client of asked) client.ping();
    await this.#must(
      () => asked.every(({ isServed, unansweredPings }) => !isServed || unansweredPings === 0),
      'PINGREQ is not answered',
    );
  }

  async #witness(): Promise<void> {
    const observer = this.#observer;
    if (observer === undefined) return;
    const wanted = observer.witnessCount + 1;
    const topic = `${this.#prefix}/${WITNESS_TOPIC}`;
    observer.send({ cmd: 'publish', topic, payload: '', qos: 0, dup: false, retain: false });
    await this.#must(() => observer.witnessCount >= wanted, 'the witness did not come');
  }

  #eventCount(): number {
    return [...this.connections.values()].reduce((sum, { eventCount }) => sum + eventCount, 0);
  }
}

export interface PlayOptions {
  readonly port: number;
  readonly prefix: string;
  /** What the first server brought. */
  readonly learned?: Played;
  /** This one is known to bring less than it. */
  readonly bringsLess?: boolean;
}

export async function play(scenario: Scenario, options: PlayOptions): Promise<Played> {
  const { prefix, learned } = options;
  const stage = new Stage(scenario, options);
  const { connections, current } = stage;
  const counts: ReadonlyMap<string, number>[] = [];
  try {
    await stage.openObserver();
    for (const [index, step] of scenario.steps.entries()) {
      if (step.do === 'pass') await delay(step.seconds * 1_000);
      else if (step.do === 'connect' || step.do === 'open') {
        const client = await openConnection(stage, step, scenario.version, prefix);
        const nth = [...connections.keys()].filter((name) => name.startsWith(`${step.client} `)).length + 1;
        connections.set(`${step.client} ${nth}`, client);
        current.set(step.client, client);
      } else if (step.do === 'await') {
        const client = clientOf(step.client, current);
        await stage.until(() => client.deliveredCount(step.topic) >= step.count);
      } else act(step, clientOf(step.client, current), prefix);
      const actor = step.do === 'pass' ? undefined : current.get(step.client);
      await stage.settle(actor, learned?.counts[index]);
      counts.push(stage.counts());
    }
    return {
      transcripts: new Map([...connections].map(([name, client]) => [name, client.transcript()])),
      counts,
    };
  } finally {
    stage.close();
  }
}

function clientOf(name: string, current: ReadonlyMap<string, PlayedClient>): PlayedClient {
  const client = current.get(name);
  if (client === undefined) throw new Error(`${name} is not connected`);
  return client;
}

async function openConnection(
  stage: Stage,
  step: Extract<Step, { do: 'connect' | 'open' }>,
  version: Version,
  prefix: string,
): Promise<PlayedClient> {
  const packet = step.do === 'connect' ? connectPacket(step.client, step.packet, version) : undefined;
  const silent = step.do === 'connect' && step.packet.keepsSilent === true;
  const client = await stage.open(packet?.protocolVersion ?? version, silent);
  if (packet !== undefined) client.send(named(packet, prefix));
  return client;
}

function connectPacket(
  client: string,
  { keepsSilent, ...packet }: Connect,
  version: Version,
): IConnectPacket & { readonly protocolVersion: Version } {
  const protocolVersion = (packet.protocolVersion as Version | undefined) ?? version; // no scenario names another
  return {
    cmd: 'connect',
    protocolId: protocolVersion === 3 ? 'MQIsdp' : 'MQTT',
    clientId: `~${client}`,
    clean: true,
    keepalive: 0,
    ...packet,
    protocolVersion,
  };
}

function act(
  step: Exclude<Step, { do: 'connect' | 'open' | 'pass' | 'await' }>,
  client: PlayedClient,
  prefix: string,
) {
  if (step.do === 'cut') client.destroy();
  else if (step.do === 'bytes') client.sendBytes(Buffer.from(step.hex.replace(/\s/g, ''), 'hex'));
  else client.send(named(step.packet, prefix));
}

/** Every text of the packet that begins with `~`, or has it behind `$share/…/`, under the scenario's own name. */
function named<Kind extends Packet>(packet: Kind, prefix: string): Kind {
  const rename = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^(\$share\/[^/]*\/)?~/, `$1${prefix}`);
    if (Buffer.isBuffer(value) || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(rename);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rename(each)]));
  };
  return rename(packet) as Kind; // of the same shape
}
