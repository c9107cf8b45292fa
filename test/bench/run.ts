// `npm run bench [-- SUITE …]`, suites being storage, kafka, mqtt, bridge, memory and start-up: puts loads to the built hub,
// durable as it is by default, and to its peers in turns, all on empty directories. What comes out: medians as a table on
// stderr, every bar beside what was reached, and JSON on stdout (or in the file). `npm run bench -- guard` and
// `scale` are other things: guard/guard.ts, scale/run.ts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startHubProcess, takeOwnEnds, temporaryDirectory } from '../helpers/hub-process.ts';
import { printComparison } from './compare.ts';
import { Generators } from './generators.ts';
import { runGuard } from './guard/guard.ts';
import { describeMachine } from './machine.ts';
import { Peers, type Target } from './peers.ts';
import { type Bench, isProbe, type Scenario } from './probe.ts';
import { printRow, printSummary, type Row, type Run, say } from './report.ts';
import { runScale } from './scale/run.ts';
import { isSuite, SUITES, type SuiteName } from './suites.ts';
import { measureScenario } from './turns.ts';

const USAGE = `usage: npm run bench [-- ${Object.keys(SUITES).join('|')}|guard|scale …] [options]
  --peers NAME,…   kafka, mosquitto, aedes; none; those that can be found unless told
  --only TEXT      rows whose names hold the text
  --rounds N       that count; 5 unless told
  --scale F        multiplies counts and durations: 0.02 for a quick look
  --gib N          of what is to be a large log; 1 unless told, the bars are of 10
  --json FILE      the figures, instead of on stdout
  --compare FILE   against the figures of an earlier run
  --to N           scale: points up to it
  --write          scale: keeps the figures, makes the plots and the README's tables of them`;

const END_TOLD_MS = 200;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    peers: { type: 'string', default: '' },
    scale: { type: 'string', default: '1' },
    gib: { type: 'string', default: '1' },
    json: { type: 'string' },
    compare: { type: 'string' },
    to: { type: 'string', default: 'Infinity' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const scale = Number(options.scale);
const gib = Number(options.gib);
const missing: string[] = [];

await main();

async function main(): Promise<void> {
  if (positionals[0] === 'guard') return guard();
  if (positionals[0] === 'scale') {
    const { only, json, write } = options;
    return runScale({ only, json, rounds, pointMax: Number(options.to), isWritten: write });
  }
  const suites = positionals.length > 0 ? positionals : Object.keys(SUITES);
  if (options.help || !suites.every(isSuite) || !(rounds >= 1) || !(scale > 0) || !(gib > 0)) {
    say(USAGE);
    process.exitCode = options.help ? 0 : 2;
    return;
  }
  // Before what takes an hour.
  const earlier = options.compare === undefined ? undefined : readRun(options.compare);
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
    const peers = new Peers(
      options.peers.split(',').filter((name) => name !== ''),
      tellMissing,
    );
    const rows: Row[] = [];
    for (const suite of suites)
      rows.push(...(await measureSuite(suite, { generators, peers, directory: directory.path })));
    printSummary(rows);
    const run: Run = { machine, rounds, scale, missing, rows };
    if (earlier !== undefined) printComparison(run, earlier);
    const json = `${JSON.stringify(run)}\n`;
    if (options.json === undefined) process.stdout.write(json);
    else writeFileSync(options.json, json);
  } finally {
    directory.remove();
  }
}

async function guard(): Promise<void> {
  const results = await runGuard(options.only);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results)}\n`);
  if (results.some(({ holds }) => !holds)) process.exitCode = 1;
}

function readRun(file: string): Run {
  return JSON.parse(readFileSync(file, 'utf8')) as Run; // what `--json` writes
}

function tellMissing(text: string): void {
  missing.push(text.trim());
  say(`bench: ${text}`);
}

interface Tools {
  readonly generators: Generators;
  readonly peers: Peers;
  readonly directory: string;
}

async function measureSuite(suite: SuiteName, tools: Tools): Promise<Row[]> {
  const { scenarios, hasBrokers } = SUITES[suite];
  const wanted = (scenarios as readonly Scenario[]).filter(
    ({ name, isLong }) => name.includes(options.only) && (isLong !== true || options.only !== ''),
  );
  if (wanted.length === 0) return [];
  const suiteDirectory = join(tools.directory, suite);
  mkdirSync(suiteDirectory);
  const targets: Target[] = [];
  try {
    if (hasBrokers) {
      targets.push(await startHub(join(suiteDirectory, 'hub')));
      for (const peer of await tools.peers.ofSuite(suite)) targets.push(await peer.start(suiteDirectory));
    }
    const rows: Row[] = [];
    for (const [index, scenario] of wanted.entries()) {
      const bench = benchOf(tools, suiteDirectory, index);
      const row = await measureRow(scenario, { suite, targets, bench, rounds, rows });
      if (row !== undefined) rows.push(row);
    }
    return rows;
  } finally {
    for (const target of targets) await target.stop();
  }
}

function benchOf({ generators, peers }: Tools, suiteDirectory: string, index: number): Bench {
  const directory = join(suiteDirectory, `row-${index}`);
  mkdirSync(directory);
  const named = (...names: readonly string[]) => peers.named(names);
  return { generators, directory, suiteDirectory, scale, gib, peers: named };
}

/** Undefined when it was not measured; why has been told. */
async function measureRow(
  scenario: Scenario,
  surroundings: Parameters<typeof measureScenario>[1],
): Promise<Row | undefined> {
  const problem = isProbe(scenario)
    ? undefined
    : surroundings.bench.generators.missing(scenario.load.generator);
  if (problem !== undefined) {
    tellMissing(`${scenario.name}: not measured: ${problem}\n`);
    return undefined;
  }
  try {
    const row = await measureScenario(scenario, surroundings);
    printRow(row);
    return row;
  } catch (error) {
    // The other rows are worth having; the hub has to do this one.
    process.exitCode = 1;
    // Whoever lost a connection to it may hear of that before we hear of its end.
    await delay(END_TOLD_MS);
    const reasons = [error instanceof Error ? error.message : `${error}`, ...takeOwnEnds()];
    tellMissing(`${scenario.name}: FAILED: ${reasons.join('\n')}\n`);
    return undefined;
  }
}

async function startHub(directory: string): Promise<Target> {
  const { kafkaPort, mqttPort, pid, stop } = await startHubProcess(directory);
  return { name: 'hub', kafkaPort, mqttPort, pid, stop: async () => void (await stop()) };
}
