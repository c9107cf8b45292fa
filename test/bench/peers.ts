// The brokers that `npm run bench --peers …` measures beside the hub, in turns with it, on the same machine.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Child, isInstalled, run } from '../helpers/child.ts';

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
  readonly door: 'kafka' | 'mqtt';
  /** Why it cannot be measured here; undefined when it can. */
  missing(): Promise<string | undefined>;
  start(directory: string): Promise<Target>;
}

/** Apache Kafka, durable on every batch as the hub is by default, through a script that starts and stops one node. */
const kafka: Peer = {
  name: 'kafka',
  door: 'kafka',
  async missing() {
    return process.env['POLYLOG_KAFKA_PEER'] === undefined
      ? 'POLYLOG_KAFKA_PEER does not name the script that starts it'
      : undefined;
  },
  async start() {
    const script = process.env['POLYLOG_KAFKA_PEER'] ?? '';
    // It takes the next port as well, for its controller.
    const port = await freePortPair();
    // The script leaves the broker behind with its output closed only when the broker ends: it is not waited for.
    const starter = new Child('bash', [script, 'start', `${port}`, 'log.flush.interval.messages=1'], {
      timeoutMs: 600_000,
    });
    await starter.waitFor(/listening after/, 120_000);
    const home = process.env['KAFKA_PEER_HOME'] ?? join(homedir(), '.cache', 'kafka-peer');
    return {
      name: 'kafka',
      kafkaPort: port,
      pid: Number(readFileSync(join(home, `node-${port}`, 'pid'), 'utf8')),
      stop: async () => void (await run('bash', [script, 'stop', `${port}`])),
    };
  },
};

/** Mosquitto, in memory only, with no bound on its queues: what it does by default but for dropping nothing. */
const mosquitto: Peer = {
  name: 'mosquitto',
  door: 'mqtt',
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
  door: 'mqtt',
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

export const peers: readonly Peer[] = [kafka, mosquitto, aedes];

async function stopped(child: Child): Promise<void> {
  // They keep nothing, and mosquitto forgets a SIGTERM that comes just after it has started.
  child.kill('SIGKILL');
  await child.finished;
}

/** A port that was free a moment ago, for programs that cannot be told to take any. */
async function freePort(): Promise<number> {
  const port = await portTaken(0);
  if (port === undefined) throw new Error('no port is free');
  return port;
}

/** Below the range that the system hands out: the second one is to be free when the program comes to it. */
async function freePortPair(): Promise<number> {
  for (let port = 20_000; port < 30_000; port += 2) {
    const both = [await portTaken(port), await portTaken(port + 1)];
    if (!both.includes(undefined)) return port;
  }
  throw new Error('no two ports are free');
}

/** The port, taken and let go again; undefined when it is not free. 0 = any. */
function portTaken(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
    });
  });
}
