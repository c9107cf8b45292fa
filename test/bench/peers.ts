// The brokers that `npm run bench` measures beside the hub, in turns with it, on the same machine.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, isInstalled } from '../helpers/child.ts';
import { prepareKafkaBroker, startKafkaBroker } from '../interop/kafka-broker.ts';
import { freePort } from '../interop/own-hub.ts';

export interface Target {
  readonly name: string;
  readonly kafkaPort?: number;
  readonly mqttPort?: number;
  /** Whose CPU time and memory are read. */
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** Where it is measured beside the hub in every row; probes ask for it by name. */
  readonly suite: 'kafka' | 'mqtt';
  /** Why it cannot be measured here; undefined when it can. */
  missing(): Promise<string | undefined>;
  start(directory: string): Promise<Target>;
}

/** Apache Kafka 4.4, one node, with the settings that its own start script gives its virtual machine. */
function kafka(name: string, settings: Readonly<Record<string, string | number>>): Peer {
  return {
    name,
    suite: 'kafka',
    missing: prepareKafkaBroker,
    async start() {
      const { port, pid, stop } = await startKafkaBroker(settings, VIRTUAL_MACHINE);
      return { name, kafkaPort: port, pid, stop };
    },
  };
}

/** They live through the whole run. */
const LIFE_MS_MAX = 3_600_000;

const VIRTUAL_MACHINE = ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20'];

/** Mosquitto, in memory only, with no bound on its queues: what it does by default but for dropping nothing. */
const mosquitto: Peer = {
  name: 'mosquitto',
  suite: 'mqtt',
  async missing() {
    return (await isInstalled('mosquitto')) ? undefined : 'mosquitto is not installed';
  },
  async start(directory) {
    const port = await freePort();
    const folder = join(directory, 'mosquitto');
    mkdirSync(folder, { recursive: true });
    const lines = [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'persistence false',
      'max_queued_messages 0',
      'max_inflight_messages 0',
    ];
    writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
    const child = new Child('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { timeoutMs: LIFE_MS_MAX });
    await child.waitFor(/running/);
    return { name: 'mosquitto', mqttPort: port, pid: child.pid, stop: () => stopped(child) };
  },
};

const aedes: Peer = {
  name: 'aedes',
  suite: 'mqtt',
  async missing() {
    return undefined;
  },
  async start() {
    const program = join(import.meta.dirname, 'aedes-peer.ts');
    const child = new Child(process.execPath, ['--import', 'tsx', program], { timeoutMs: LIFE_MS_MAX });
    const port = Number((await child.waitFor(/listening on (\d+)/))[1]);
    return { name: 'aedes', mqttPort: port, pid: child.pid, stop: () => stopped(child) };
  },
};

const PEERS: readonly Peer[] = [
  // Each batch is on disk before it is acknowledged, as it is with the hub.
  kafka('kafka', { 'log.flush.interval.messages': 1 }),
  kafka('kafka-page-cache', {}),
  mosquitto,
  aedes,
];

/** Those of a run: a name that is asked for stands for all peers that begin with it (`kafka` for both of Kafka's). */
export class Peers {
  readonly #asked: readonly string[];
  readonly #tell: (text: string) => void;
  readonly #problems = new Map<string, Promise<string | undefined>>();

  /** @param asked none = all that can be found; `none` = none of them */
  constructor(asked: readonly string[], tell: (text: string) => void) {
    this.#asked = asked;
    this.#tell = tell;
    for (const name of asked) {
      if (name !== 'none' && !PEERS.some((peer) => isMeant(peer, name))) tell(`there is no peer ${name}`);
    }
  }

  ofSuite(suite: string): Promise<Peer[]> {
    return this.#available((peer) => peer.suite === suite);
  }

  named(names: readonly string[]): Promise<Peer[]> {
    return this.#available(({ name }) => names.includes(name));
  }

  /** Why one cannot be measured is told once. */
  async #available(isWanted: (peer: Peer) => boolean): Promise<Peer[]> {
    const available: Peer[] = [];
    for (const peer of PEERS.filter(isWanted)) {
      if (this.#asked.length > 0 && !this.#asked.some((name) => isMeant(peer, name))) continue;
      const known = this.#problems.get(peer.name);
      const problem = known ?? peer.missing();
      this.#problems.set(peer.name, problem);
      const missing = await problem;
      if (missing === undefined) available.push(peer);
      else if (known === undefined) this.#tell(`${peer.name} is not measured: ${missing}`);
    }
    return available;
  }
}

function isMeant({ name }: Peer, given: string): boolean {
  return name === given || name.startsWith(`${given}-`);
}

async function stopped(child: Child): Promise<void> {
  // They keep nothing, and mosquitto forgets a SIGTERM that comes just after it has started.
  child.kill('SIGKILL');
  await child.finished;
}
