// `npm run bench [-- kafka|mqtt] [--peers NAME,…] [--rounds N] [--only TEXT] [--scale 0.1] [--json FILE]`: starts the
// built hub, durable as it is by default, and its peers, all on empty directories, and puts each load of the suite to
// them in turns. What comes out: the medians as a table on stderr, beside the bars that they are held to, and as JSON
// on stdout (or in the file). Without `--peers` all that can be found are measured; `--peers none` measures the hub.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isInstalled } from '../helpers/child.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { measureBaseline } from './baseline.ts';
import { Generators, type LoadResult } from './generators.ts';
import { kafkaScenarios } from './kafka-scenarios.ts';
import { describeMachine } from './machine.ts';
import { mqttScenarios } from './mqtt-scenarios.ts';
import { type Peer, peers, type Target } from './peers.ts';
import { barResults, printRow, printSummary, type Row, say, summarise } from './report.ts';
import type { Load, Scenario } from './scenario.ts';
import { median } from './statistics.ts';

const SUITES = { kafka: kafkaScenarios, mqtt: mqttScenarios } as const;
type Suite = keyof typeof SUITES;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    peers: { type: 'string', default: '' },
    /** Multiplies the number of records, for a quick look. */
    scale: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const scale = Number(options.scale);

await main();

async function main(): Promise<void> {
  const suites = (positionals.length > 0 ? positionals : Object.keys(SUITES)).filter(isSuite);
  if (suites.length === 0 || !(rounds >= 1) || !(scale > 0)) {
    say(
      'usage: npm run bench [-- kafka|mqtt] [--peers NAME,…] [--rounds N] [--only TEXT] [--scale F] [--json FILE]',
    );
    process.exitCode = 2;
    return;
  }
  if (!(await isInstalled('cc'))) {
    say('bench: not run: no C compiler (cc) was found; the load generators in test/bench/load need one');
    process.exitCode = 1;
    return;
  }
  const directory = temporaryDirectory();
  try {
    const generators = new Generators(directory.path);
    await generators.build();
    const machine = describeMachine();
    say(
      Object.entries(machine)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    );
    say(`medians of ${rounds} in turns (lowest – highest); µs = CPU of the broker a record\n`);
    const rows: Row[] = [];
    for (const suite of suites) rows.push(...(await measureSuite(suite, generators, directory.path)));
    printSummary(rows);
    const json = `${JSON.stringify({ machine, rounds, scale, rows })}\n`;
    if (options.json === undefined) process.stdout.write(json);
    else writeFileSync(options.json, json);
  } finally {
    directory.remove();
  }
}

function isSuite(name: string): name is Suite {
  return Object.hasOwn(SUITES, name);
}

async function measureSuite(suite: Suite, generators: Generators, directory: string): Promise<Row[]> {
  const scenarios = SUITES[suite].filter(
    ({ name, isLong }) => name.includes(options.only) && (isLong !== true || options.only !== ''),
  );
  if (scenarios.length === 0) return [];
  const folder = join(directory, suite);
  mkdirSync(folder);
  const targets = [await startHub(join(folder, 'hub'))];
  try {
    for (const peer of await chosenPeers(suite)) targets.push(await peer.start(folder));
    const rows: Row[] = [];
    for (const [index, scenario] of scenarios.entries()) {
      const missing = generators.missing(scenario.load.generator);
      if (missing !== undefined) {
        say(`${scenario.name}: not measured: ${missing}\n`);
        continue;
      }
      try {
        const row = await measureScenario({
          id: `${suite}-${index}`,
          scenario,
          targets,
          generators,
          directory: folder,
          rows,
        });
        printRow(row);
        rows.push(row);
      } catch (error) {
        // The other rows are worth having; the hub has to do this one.
        process.exitCode = 1;
        say(`${scenario.name}: FAILED: ${error instanceof Error ? error.message : error}\n`);
      }
    }
    return rows;
  } finally {
    for (const target of targets) await target.stop();
  }
}

async function startHub(directory: string): Promise<Target> {
  const { kafkaPort, mqttPort, pid, stop } = await startHubProcess(directory);
  return { name: 'hub', kafkaPort, mqttPort, pid, stop: async () => void (await stop()) };
}

/** A name stands for all peers that begin with it: `kafka` for both of Kafka's. */
async function chosenPeers(suite: Suite): Promise<Peer[]> {
  const names = options.peers.split(',').filter((name) => name !== '');
  for (const name of names) {
    if (name !== 'none' && !peers.some((peer) => isMeant(peer, name))) say(`bench: there is no peer ${name}`);
  }
  const chosen: Peer[] = [];
  for (const peer of peers) {
    if (peer.suite !== suite || (names.length > 0 && !names.some((name) => isMeant(peer, name)))) continue;
    const missing = await peer.missing();
    if (missing === undefined) chosen.push(peer);
    else say(`bench: ${peer.name} is not measured: ${missing}`);
  }
  return chosen;
}

function isMeant({ name }: Peer, given: string): boolean {
  return name === given || name.startsWith(`${given}-`);
}

/**
 * The brokers live through the whole run: a virtual machine that has just started is measured by nobody. A round that
 * does not count comes first, and each round has a topic of its own.
 */
async function measureScenario({
  id,
  scenario,
  targets,
  generators,
  directory,
  rows,
}: {
  readonly id: string;
  readonly scenario: Scenario;
  readonly targets: readonly Target[];
  readonly generators: Generators;
  readonly directory: string;
  /** Of this suite, so far. */
  readonly rows: readonly Row[];
}): Promise<Row> {
  const results = new Map<string, LoadResult[]>();
  const failed = new Set(scenario.notFor);
  const baselines: number[] = [];
  const first = scenario.isOnce === true ? rounds : 0;
  for (let round = first; round <= rounds; round++) {
    for (const target of targets) {
      if (failed.has(target.name)) continue;
      try {
        const result = await measureOnce(`bench-${id}-${round}`, scenario, target, generators);
        if (round > 0) results.set(target.name, [...(results.get(target.name) ?? []), result]);
      } catch (error) {
        // A peer that cannot keep up is told; the hub has to.
        if (target === targets[0]) throw error;
        failed.add(target.name);
        say(`bench: ${target.name} was not measured: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (scenario.baseline === undefined || round === 0) continue;
    baselines.push(measureBaseline(directory, scenario.baseline, scenario.records * scale));
  }
  const measured = new Map([...results].map(([name, all]) => [name, summarise(scenario.metric, all)]));
  const hub = measured.get('hub');
  if (hub === undefined) throw new Error('the hub was not measured');
  measured.delete('hub');
  const row = {
    scenario: scenario.name,
    metric: scenario.metric,
    hub,
    peers: Object.fromEntries(measured),
    ...(baselines.length > 0 ? { baselinePerSecond: Math.round(median(baselines)) } : {}),
  };
  return { ...row, bars: barResults(scenario.bars, row, rows) };
}

async function measureOnce(
  topic: string,
  scenario: Scenario,
  target: Target,
  generators: Generators,
): Promise<LoadResult> {
  const records = Math.max(1, Math.round(scenario.records * scale));
  const put = (load: Load, count: number): Promise<LoadResult> =>
    generators.run(load, { target, topic, records: count });
  // What fills the topic ends by time as well: what there is to read is what it says.
  const filled = scenario.prepare === undefined ? undefined : await put(scenario.prepare, records);
  return put(scenario.load, filled?.records ?? records);
}
