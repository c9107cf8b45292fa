// What `npm run bench -- start-up` measures: starts, the checks before them, and the end under load. `--gib 10` is the size
// that the bar of a start on a large log is about.
import { copyFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../helpers/child.ts';
import { hubConfigText, startHubProcess } from '../helpers/hub-process.ts';
import { makeTransactionalIds, startOnce, timedStart } from './hub-starts.ts';
import { createTopic } from './kafka-requests.ts';
import type { Peer, Target } from './peers.ts';
import type { Bench, Probe, Probing, Way } from './probe.ts';
import type { Result } from './scenario.ts';
import { measureStop, STOP_LOAD } from './stop-under-load.ts';

const repository = join(import.meta.dirname, '..', '..');
const program = join(repository, 'dist', 'command', 'main.cjs');
const GIB = 1024 ** 3;
const VALUE_BYTES = 1000;
const NONE_KNOWN = 'none known';
const noEnd = async (): Promise<void> => undefined;

const atMost = (ms: number): Probe['bars'] => [{ metric: 'ms', atMost: ms }];

export const startUpScenarios: readonly Probe[] = [
  {
    name: 'start on an empty directory, until it is ready',
    metric: 'ms',
    bars: [],
    open: openStarts,
  },
  {
    name: 'start on a large log, cleanly stopped, until it is ready',
    metric: 'ms',
    bars: atMost(500),
    open: openLargeStart,
  },
  {
    name: 'start that finds 10,000 transactional ids',
    metric: 'moreMs',
    bars: [{ metric: 'moreMs', atMost: 1_000 }],
    open: openTransactionalIds,
  },
  {
    name: 'polylog check',
    metric: 'ms',
    bars: atMost(300),
    async open({ directory }) {
      const config = join(directory, 'polylog.toml');
      writeFileSync(config, hubConfigText(join(directory, 'data')));
      const hub = () => timed(() => run(process.execPath, [program, 'check', '--config', config]));
      return { ways: { hub }, close: noEnd };
    },
  },
  {
    name: '/metrics with 1,000 partitions',
    metric: 'ms',
    bars: atMost(50),
    open: openMetrics,
  },
  {
    name: 'npm ci of what it needs to run',
    metric: 'ms',
    bars: [
      { metric: 'ms', atMost: 60_000 },
      { metric: 'megabytes', atMost: 120 },
    ],
    isOnce: true,
    isLong: true,
    async open({ directory }) {
      for (const file of ['package.json', 'package-lock.json', '.npmrc'])
        copyFileSync(join(repository, file), join(directory, file));
      return { ways: { hub: () => installed(directory) }, close: noEnd };
    },
  },
  {
    name: 'stop under load, with 1,000 MQTT and 50 Kafka clients',
    metric: 'ms',
    bars: atMost(5_000),
    open: openStops,
  },
];

async function installed(directory: string): Promise<Result> {
  const options = { workingDirectory: directory, timeoutMs: 300_000 };
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  const result = await timed(() => run('npm', args, options));
  const modules = join(directory, 'node_modules');
  const bytes = readdirSync(modules, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  return { ...result, megabytes: bytes / 1e6 };
}

async function timed(work: () => Promise<unknown>): Promise<Result> {
  const startedMs = performance.now();
  await work();
  return { ms: performance.now() - startedMs };
}

/** A directory of its own each time. */
async function openStarts(bench: Bench): Promise<Probing> {
  let starts = 0;
  const folder = (): string => join(bench.directory, String(starts++));
  const ways: Record<string, Way> = { hub: async () => ({ ms: (await startOnce(folder())).ms }) };
  for (const peer of await bench.peers('kafka', 'mosquitto', 'aedes'))
    ways[peer.name] = () => timedPeer(peer, folder());
  return { ways, close: noEnd };
}

async function timedPeer(peer: Peer, directory: string): Promise<Result> {
  let target: Target | undefined;
  const result = await timed(async () => {
    target = await peer.start(directory);
  });
  await target?.stop();
  return result;
}

async function openLargeStart(bench: Bench): Promise<Probing> {
  const { directory, generators, gib, scale } = bench;
  const missing = generators.missing('kafka-load');
  if (missing !== undefined) throw new Error(missing);
  const hub = await startHubProcess(directory);
  const records = Math.ceil((gib * scale * GIB) / VALUE_BYTES / 100) * 100;
  const args = ['--mode', 'produce', '--size', `${VALUE_BYTES}`, '--batch', '100', '--seconds', '110'];
  const target = { name: 'hub', kafkaPort: hub.kafkaPort, pid: hub.pid, stop: noEnd };
  await generators.run({ generator: 'kafka-load', args }, { target, topic: 'large', records });
  await hub.stop();
  return { ways: { hub: async () => ({ ms: (await startOnce(directory)).ms }) }, close: noEnd };
}

async function openTransactionalIds({ directory, scale }: Bench): Promise<Probing> {
  const [none, many] = [join(directory, 'none'), join(directory, 'many')];
  await startOnce(none);
  const hub = await startHubProcess(many);
  await makeTransactionalIds(hub, Math.ceil(10_000 * scale));
  await hub.stop();
  return {
    ways: {
      [NONE_KNOWN]: async () => ({ ms: (await startOnce(none)).ms }),
      hub: async (round) => {
        const { ms } = await startOnce(many);
        return { ms, moreMs: ms - (round[NONE_KNOWN]?.ms ?? 0) };
      },
    },
    close: noEnd,
  };
}

async function openMetrics({ directory }: Bench): Promise<Probing> {
  const { hub } = await timedStart(directory);
  await createTopic(hub.kafkaPort, 'thousand', 1_000);
  const ask = async (): Promise<void> => {
    const answer = await fetch(`${hub.adminUrl}/metrics`);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`/metrics answers ${answer.status}: ${text}`);
  };
  return { ways: { hub: () => timed(ask) }, close: async () => void (await hub.stop()) };
}

async function openStops({ scale }: Bench): Promise<Probing> {
  const load = { ...STOP_LOAD, seconds: Math.max(1, STOP_LOAD.seconds * Math.min(1, scale)) };
  return { ways: { hub: async () => ({ ms: (await measureStop(load)).ms }) }, close: noEnd };
}
