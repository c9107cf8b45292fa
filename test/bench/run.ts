// `npm run bench [-- --rounds N --only TEXT --peers kafka,mosquitto,aedes --scale 0.1]`: starts the built hub on an
// empty directory, durable as it is by default, runs each scenario in turns with the peers and the baseline, and
// prints the medians as a table on stderr and as JSON on stdout. The generators are built with the system's C compiler.
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isInstalled, run } from '../helpers/child.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { measureBaseline } from './baseline.ts';
import { type Peer, peers, type Target } from './peers.ts';
import { type Scenario, scenarios } from './scenarios.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    peers: { type: 'string', default: '' },
    /** Multiplies the number of records, for a quick look. */
    scale: { type: 'string', default: '1' },
  },
});
const rounds = Number(options.rounds);
const scale = Number(options.scale);

/** What a generator reports; the fields used here. */
interface LoadResult {
  readonly recordsPerSecond: number;
  readonly deliveredPerSecond?: number;
  readonly records: number;
  readonly loadCpuSeconds: number;
  readonly brokerCpuSeconds: number;
  readonly brokerResidentMiB: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

/** Medians over the rounds. */
interface Measured {
  readonly perSecond: number;
  readonly lowest: number;
  readonly highest: number;
  readonly brokerCpuMicrosPerRecord: number;
  readonly loadCpuMicrosPerRecord: number;
  readonly brokerResidentMiB: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}

interface Row {
  readonly scenario: string;
  readonly hub: Measured;
  readonly baselinePerSecond?: number;
  readonly peers: Readonly<Record<string, Measured>>;
}

await main();

async function main(): Promise<void> {
  if (!(await isInstalled('cc'))) {
    say('bench: not run: no C compiler (cc) was found; the load generators in test/bench/load need one');
    process.exitCode = 1;
    return;
  }
  const chosenPeers = await choosePeers(options.peers.split(',').filter((name) => name !== ''));
  const directory = temporaryDirectory();
  try {
    const generators = await buildGenerators(directory.path);
    const rows: Row[] = [];
    say(`medians of ${rounds} (lowest – highest), records a second; µs = CPU of the broker a record`);
    for (const scenario of scenarios.filter(({ name }) => name.includes(options.only))) {
      const row = await measureScenario(scenario, chosenPeers, generators, directory.path);
      printRow(row);
      rows.push(row);
    }
    process.stdout.write(
      `${JSON.stringify({ node: process.version, cpus: availableParallelism(), rounds, scale, rows })}\n`,
    );
  } finally {
    directory.remove();
  }
}

async function choosePeers(names: readonly string[]): Promise<Peer[]> {
  const chosen: Peer[] = [];
  for (const name of names) {
    const peer = peers.find((candidate) => candidate.name === name);
    const missing = peer === undefined ? 'there is no such peer' : await peer.missing();
    if (missing !== undefined || peer === undefined) say(`bench: ${name} is not measured: ${missing}`);
    else chosen.push(peer);
  }
  return chosen;
}

type Generators = Readonly<Record<Scenario['door'], string>>;

async function buildGenerators(directory: string): Promise<Generators> {
  const build = async (name: string): Promise<string> => {
    const program = join(directory, name);
    await run('cc', ['-O2', '-o', program, join(import.meta.dirname, 'load', `${name}.c`)]);
    return program;
  };
  return { kafka: await build('kafka-load'), mqtt: await build('mqtt-load') };
}

/** A fresh broker for each run: neither a warm cache nor a long log of another run counts for or against anyone. */
async function measureScenario(
  scenario: Scenario,
  chosenPeers: readonly Peer[],
  generators: Generators,
  directory: string,
): Promise<Row> {
  say(`\n${scenario.name}`);
  const results = new Map<string, LoadResult[]>();
  const baselines: number[] = [];
  const hub = { name: 'hub', start: startHub };
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of [hub, ...chosenPeers.filter(({ door }) => door === scenario.door)]) {
      const runDirectory = join(directory, `${scenarios.indexOf(scenario)}-${round}-${peer.name}`);
      mkdirSync(runDirectory);
      try {
        const result = await measureOnce(scenario, peer, runDirectory, generators);
        results.set(peer.name, [...(results.get(peer.name) ?? []), result]);
      } catch (error) {
        // A peer that cannot keep up is told; the hub has to.
        if (peer === hub) throw error;
        say(`bench: ${peer.name} was not measured: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (scenario.baseline !== undefined) {
      baselines.push(measureBaseline(directory, scenario.baseline, scenario.records * scale));
    }
  }
  const measured = new Map([...results].map(([name, all]) => [name, summarise(scenario, all)]));
  const own = measured.get('hub');
  if (own === undefined) throw new Error('the hub has no such door');
  measured.delete('hub');
  return {
    scenario: scenario.name,
    hub: own,
    ...(baselines.length > 0 ? { baselinePerSecond: Math.round(median(baselines)) } : {}),
    peers: Object.fromEntries(measured),
  };
}

async function startHub(directory: string): Promise<Target> {
  const { kafkaPort, mqttPort, pid, stop } = await startHubProcess(directory);
  return { name: 'hub', kafkaPort, mqttPort, pid, stop: async () => void (await stop()) };
}

async function measureOnce(
  scenario: Scenario,
  peer: Pick<Peer, 'start'>,
  directory: string,
  generators: Generators,
): Promise<LoadResult> {
  const target = await peer.start(directory);
  try {
    return await measureTarget(scenario, target, generators);
  } finally {
    await target.stop();
  }
}

async function measureTarget(
  scenario: Scenario,
  target: Target,
  generators: Generators,
): Promise<LoadResult> {
  const port = scenario.door === 'kafka' ? target.kafkaPort : target.mqttPort;
  if (port === undefined) throw new Error(`${target.name} has no port for ${scenario.door}`);
  const countOption = scenario.door === 'kafka' ? '--records' : '--messages';
  const load = async (topic: string, args: readonly string[], records: number): Promise<LoadResult> => {
    const whole = [
      ...['--port', `${port}`, '--pid', `${target.pid}`, '--topic', topic, countOption],
      ...[`${Math.max(1, Math.round(records * scale))}`, ...args],
    ];
    return JSON.parse((await run(generators[scenario.door], whole, { timeoutMs: 180_000 })).toString());
  };
  if (scenario.prepare !== undefined) await load('bench', scenario.prepare, scenario.records);
  await load(scenario.prepare === undefined ? 'warm-up' : 'bench', scenario.load, scenario.records / 5);
  return load('bench', scenario.load, scenario.records);
}

function summarise(scenario: Scenario, results: readonly LoadResult[]): Measured {
  const rates = results.map((result) => result[scenario.metric] ?? 0);
  const of = (value: (result: LoadResult) => number): number => median(results.map(value));
  const latencies = results.every(({ p50Ms }) => p50Ms !== undefined)
    ? { p50Ms: of(({ p50Ms }) => p50Ms ?? 0), p99Ms: of(({ p99Ms }) => p99Ms ?? 0) }
    : {};
  return {
    perSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    brokerCpuMicrosPerRecord: rounded(of((result) => (result.brokerCpuSeconds * 1e6) / result.records)),
    loadCpuMicrosPerRecord: rounded(of((result) => (result.loadCpuSeconds * 1e6) / result.records)),
    brokerResidentMiB: of((result) => result.brokerResidentMiB),
    ...latencies,
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function printRow(row: Row): void {
  const count = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 0 });
  const line = (name: string, { perSecond, lowest, highest, ...more }: Measured): string =>
    [
      `  ${name.padEnd(10)} ${count(perSecond).padStart(11)}  (${count(lowest)} – ${count(highest)})`,
      `${more.brokerCpuMicrosPerRecord} µs`,
      `${more.brokerResidentMiB} MiB`,
      ...(more.p50Ms === undefined ? [] : [`p50 ${more.p50Ms} ms, p99 ${more.p99Ms} ms`]),
      ...(name === 'hub' ? [] : [`hub / ${name} = ${rounded(row.hub.perSecond / perSecond)}`]),
    ].join('  ');
  say(line('hub', row.hub));
  for (const [name, measured] of Object.entries(row.peers)) say(line(name, measured));
  if (row.baselinePerSecond === undefined) return;
  const ratio = rounded(row.hub.perSecond / row.baselinePerSecond);
  const perSecond = count(row.baselinePerSecond).padStart(11);
  say(`  ${'plain Node'.padEnd(10)} ${perSecond}  hub / plain Node = ${ratio}`);
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
