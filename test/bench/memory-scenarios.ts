// What `npm run bench -- memory` measures: what brokers take that have just started, that are under load, and that have been
// for long. What an idle MQTT connection takes is a row of the MQTT suite.
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Child } from '../helpers/child.ts';
import { startHubProcess } from '../helpers/hub-process.ts';
import { measureIdlePartitions } from './openings.ts';
import type { Peer, Target } from './peers.ts';
import type { Bench, Probe, Probing, Way } from './probe.ts';
import { peakResidentMiB, processCpuSeconds, residentMiB } from './process-figures.ts';
import type { Generator, Load, Result, SeriesPoint } from './scenario.ts';
import { median } from './statistics.ts';

/** Megabytes of the bars, in MiB. */
const MEGABYTE = 1e6 / 1024 ** 2;
/** Flat is what a garbage collector's own breathing does not pass. */
const GROWTH_MIB_MAX = 32;
const WATCHED_SECONDS = 8;
const SAMPLE_MS = 5_000;
const noEnd = async (): Promise<void> => undefined;

export const memoryScenarios: readonly Probe[] = [
  {
    name: 'idle, nothing stored',
    metric: 'brokerResidentMiB',
    bars: [
      { metric: 'brokerResidentMiB', atMost: 90 * MEGABYTE },
      { metric: 'cpuPercent', atMost: 0.5 },
    ],
    open: openIdle,
  },
  {
    name: 'under the Kafka load: batches, single records, fetches',
    metric: 'peakResidentMiB',
    bars: [
      { metric: 'peakResidentMiB', atMost: 200 * MEGABYTE },
      { against: 'kafka', metric: 'peakResidentMiB', atMost: 0.25 },
    ],
    open: openLoaded,
  },
  {
    name: '20,000 idle partitions, each with a segment',
    metric: 'partitionKiB',
    bars: [
      { metric: 'partitionKiB', atMost: 4 },
      { metric: 'openFiles', atMost: 1_000 },
    ],
    isOnce: true,
    async open({ scale }) {
      const hub = async () => {
        const { bytesEach, openFilesMax } = measureIdlePartitions(Math.max(1_000, 20_000 * scale));
        return { partitionKiB: bytesEach / 1024, openFiles: openFilesMax };
      };
      return { ways: { hub }, close: noEnd };
    },
  },
  mixed('five', 5),
  mixed('thirty', 30),
];

const hubTarget = async (directory: string): Promise<Target> => {
  const { kafkaPort, mqttPort, pid, stop } = await startHubProcess(directory);
  return { name: 'hub', kafkaPort, mqttPort, pid, stop: async () => void (await stop()) };
};

async function openIdle(bench: Bench): Promise<Probing> {
  const targets = [await hubTarget(join(bench.directory, 'hub'))];
  for (const peer of await bench.peers('kafka', 'mosquitto', 'aedes'))
    targets.push(await peer.start(bench.directory));
  const watchedMs = Math.max(500, WATCHED_SECONDS * 1_000 * bench.scale);
  const ways = targets.map(({ name, pid }): [string, Way] => [
    name,
    async () => {
      const before = processCpuSeconds(pid);
      await setTimeout(watchedMs);
      const cpuPercent = ((processCpuSeconds(pid) - before) * 1e5) / watchedMs;
      return { brokerResidentMiB: residentMiB(pid), cpuPercent };
    },
  ]);
  const close = async (): Promise<void> => {
    for (const target of targets) await target.stop();
  };
  return { ways: Object.fromEntries(ways), close };
}

const kafkaLoad = (mode: string, ...args: string[]): Load => ({
  generator: 'kafka-load',
  args: ['--mode', mode, '--size', '100', ...args],
});

/** One after the other, each with what it writes to or reads. */
const KAFKA_LOADS: readonly { readonly load: Load; readonly topic: string; readonly records: number }[] = [
  { load: kafkaLoad('produce', '--connections', '4'), topic: 'batches', records: 2_000_000 },
  { load: kafkaLoad('produce', '--batch', '1', '--connections', '16'), topic: 'single', records: 150_000 },
  { load: kafkaLoad('fetch', '--connections', '4'), topic: 'batches', records: 500_000 },
  { load: kafkaLoad('fetch', '--connections', '4'), topic: 'single', records: 50_000 },
];

/** Each on a broker that has just started. */
async function openLoaded(bench: Bench): Promise<Probing> {
  let starts = 0;
  const measure = async (start: (directory: string) => Promise<Target>): Promise<Result> => {
    const target = await start(join(bench.directory, String(starts++)));
    try {
      const written = new Map<string, number>();
      for (const { load, topic, records } of KAFKA_LOADS) {
        const most = Math.ceil(records * bench.scale);
        const count = Math.min(most, written.get(topic) ?? most);
        const { records: done = count } = await bench.generators.run(load, { target, topic, records: count });
        written.set(topic, done);
      }
      return { peakResidentMiB: peakResidentMiB(target.pid), brokerResidentMiB: residentMiB(target.pid) };
    } finally {
      await target.stop();
    }
  };
  const missing = bench.generators.missing('kafka-load');
  if (missing !== undefined) throw new Error(missing);
  const ways: Record<string, Way> = { hub: () => measure(hubTarget) };
  for (const peer of await bench.peers('kafka'))
    ways[peer.name] = () => measure((folder) => started(peer, folder));
  return { ways, close: noEnd };
}

const started = (peer: Peer, directory: string): Promise<Target> => peer.start(directory);

interface PacedLoad {
  readonly generator: Generator;
  readonly topic: string;
  readonly rate: number;
  readonly args: readonly string[];
}

/** All at once, each at its pace, far below what the hub can do: what grows then is not a queue. */
const MIXED: readonly PacedLoad[] = [
  {
    generator: 'kafka-load',
    topic: 'mixed-kafka',
    rate: 3_000,
    args: ['--mode', 'latency', '--size', '100', '--connections', '8'],
  },
  {
    generator: 'mqtt-load',
    topic: 'mixed/qos1/device/7',
    rate: 2_000,
    args: ['--qos', '1', '--publishers', '50', '--subscribers', '5', '--idle', '500', '--filters', '10000'],
  },
  {
    generator: 'mqtt-load',
    topic: 'mixed/qos0/device/7',
    rate: 3_000,
    args: ['--qos', '0', '--version', '5', '--publishers', '20', '--subscribers', '5'],
  },
  {
    generator: 'mqtt-load',
    topic: 'mixed/qos2/device/7',
    rate: 500,
    args: ['--qos', '2', '--publishers', '10', '--subscribers', '2'],
  },
];

/** `series` has what it took over time. Segments close, and retention takes them, meanwhile. */
function mixed(word: string, minutes: number): Probe {
  return {
    name: `mixed load for ${word} minutes`,
    metric: 'residentGrowthMiB',
    bars: [{ metric: 'residentGrowthMiB', atMost: GROWTH_MIB_MAX }],
    isOnce: true,
    isLong: true,
    async open(bench) {
      const missing = bench.generators.missing('kafka-load');
      if (missing !== undefined) throw new Error(missing);
      const { kafkaPort, mqttPort, pid, stop } = await startHubProcess(bench.directory, SHORT_RETENTION);
      const target = { name: 'hub', kafkaPort, mqttPort, pid, stop: noEnd };
      const hub = () => underMixedLoad(bench, target, minutes * 60 * bench.scale);
      return { ways: { hub }, close: async () => void (await stop()) };
    },
  };
}

const SHORT_RETENTION = `
[topics.config]
"segment.bytes" = "32MiB"
"retention.bytes" = "256MiB"
`;

async function underMixedLoad({ generators }: Bench, target: Target, seconds: number): Promise<Result> {
  const loads = MIXED.map(({ generator, topic, rate, args }) =>
    generators.start(
      { generator, args: [...args, '--rate', `${rate}`] },
      { target, topic, records: Math.max(100, Math.round(rate * seconds)) },
    ),
  );
  const series = await sampled(target.pid, loads);
  for (const load of loads) {
    const { code, stderr } = await load.finished;
    if (code !== 0) throw new Error(`${load.command}: ${stderr}`);
  }
  return {
    series,
    residentGrowthMiB: growth(series),
    brokerResidentMiB: median(series.map((point) => point.residentMiB)),
    peakResidentMiB: peakResidentMiB(target.pid),
  };
}

async function sampled(pid: number, loads: readonly Child[]): Promise<SeriesPoint[]> {
  const series: SeriesPoint[] = [];
  const startedMs = performance.now();
  let lastMs = startedMs;
  let lastCpu = processCpuSeconds(pid);
  const over = Promise.all(loads.map(({ finished }) => finished)).then(() => true);
  for (;;) {
    const isOver = await Promise.race([over, setTimeout(SAMPLE_MS, false)]);
    const [nowMs, cpu] = [performance.now(), processCpuSeconds(pid)];
    series.push({
      atSeconds: Math.round((nowMs - startedMs) / 100) / 10,
      residentMiB: Math.round(residentMiB(pid) * 10) / 10,
      cpuPercent: Math.round(((cpu - lastCpu) * 1e5) / (nowMs - lastMs)),
    });
    [lastMs, lastCpu] = [nowMs, cpu];
    if (isOver) return series;
  }
}

/** From the second third to the last: the first is for compilers and pools to settle. */
function growth(series: readonly SeriesPoint[]): number {
  const third = Math.floor(series.length / 3);
  const of = (from: number, to: number) => median(series.slice(from, to).map((point) => point.residentMiB));
  return of(2 * third, series.length) - of(third, 2 * third);
}
