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
    const child = new Child('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { timeoutMs: 600_000 });
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
    const child = new Child(process.execPath, ['--import', 'tsx', program], { timeoutMs: 600_000 });
    const port = Number((await child.waitFor(/listening on (\d+)/))[1]);
    return { name: 'aedes', mqttPort: port, pid: child.pid, stop: () => stopped(child) };
  },
};

export const peers: readonly Peer[] = [
  // Each batch is on disk before it is acknowledged, as it is with the hub.
  kafka('kafka', { 'log.flush.interval.messages': 1 }),
  kafka('kafka-page-cache', {}),
  mosquitto,
  aedes,
];

async function stopped(child: Child): Promise<void> {
  // They keep nothing, and mosquitto forgets a SIGTERM that comes just after it has started.
  child.kill('SIGKILL');
  await child.finished;
}
