// Measures one row: its ways in turns, a round that does not count first, and what comes of them. The brokers live through
// all rounds: a virtual machine that has just started is measured by nobody. Each round of a load has a topic of its own.
import { measureBaseline, measurePacedBaseline } from './baseline.ts';
import type { Generators } from './generators.ts';
import type { Target } from './peers.ts';
import { type Bench, isProbe, type Probing, type Scenario, type Way } from './probe.ts';
import { barResults, type Row, say, summarise } from './report.ts';
import { type Load, type LoadScenario, PLAIN_NODE, type Result } from './scenario.ts';

export interface Surroundings {
  readonly suite: string;
  /** The hub first; none in a suite of probes. */
  readonly targets: readonly Target[];
  readonly bench: Bench;
  readonly rounds: number;
  /** Of this suite, so far. */
  readonly rows: readonly Row[];
}

/** Throws when the hub cannot do it. A peer that cannot is told and left out. */
export async function measureScenario(scenario: Scenario, surroundings: Surroundings): Promise<Row> {
  const probing = isProbe(scenario)
    ? await scenario.open(surroundings.bench)
    : openLoad(scenario, surroundings);
  try {
    const rounds = await takeTurns(scenario, probing, surroundings.rounds);
    return summariseRow(scenario, rounds, surroundings);
  } finally {
    await probing.close();
  }
}

type Round = Partial<Record<string, Result>>;

async function takeTurns(scenario: Scenario, { ways }: Probing, rounds: number): Promise<Round[]> {
  const failed = new Set<string>();
  const all: Round[] = [];
  for (let round = scenario.isOnce === true ? rounds : 0; round <= rounds; round++) {
    const results: Round = {};
    for (const [name, way] of Object.entries(ways)) {
      if (failed.has(name)) continue;
      try {
        results[name] = await way(results);
      } catch (error) {
        if (name === 'hub') throw error;
        failed.add(name);
        say(`bench: ${name} was not measured: ${error instanceof Error ? error.message : error}`);
      }
    }
    if (round > 0) all.push(results);
  }
  return all;
}

function summariseRow(scenario: Scenario, rounds: readonly Round[], { suite, rows }: Surroundings): Row {
  const { name, metric, bars } = scenario;
  const hub = summarise(metric, resultsOf(rounds, 'hub'));
  const peers = Object.fromEntries(
    [...new Set(rounds.flatMap((round) => Object.keys(round)))]
      .filter((each) => each !== 'hub')
      .map((each) => [each, summarise(metric, resultsOf(rounds, each), resultsOf(rounds, 'hub'))]),
  );
  const series = rounds.at(-1)?.['hub']?.series;
  const row = { suite, scenario: name, metric, hub, peers, ...(series === undefined ? {} : { series }) };
  return { ...row, bars: barResults(bars, row, rows) };
}

const resultsOf = (rounds: readonly Round[], name: string): Result[] =>
  rounds.flatMap((round) => round[name] ?? []);

/** Variants of the hub first, for a pace may hang on them; then plain Node; then the hub and its peers. */
function openLoad(scenario: LoadScenario, { suite, targets, bench, rows }: Surroundings): Probing {
  const { variants = {}, baseline, pace, notFor = [] } = scenario;
  const [hub] = targets;
  if (hub === undefined) throw new Error(`suite ${suite} has no brokers`);
  let runs = 0;
  const topic = (): string => `bench-${suite}-${rows.length}-${runs++}`;
  const records = Math.max(1, Math.round(scenario.records * bench.scale));
  const once = (load: Filled, target: Target): Promise<Result> =>
    measureOnce(load, { target, topic: topic(), records }, bench.generators);
  const ways: Record<string, Way> = {};
  for (const [name, variant] of Object.entries(variants)) ways[name] = () => once(variant, hub);
  if (baseline !== undefined) {
    ways[PLAIN_NODE] = async (round) =>
      pace === undefined
        ? measureBaseline(bench.directory, baseline, records)
        : measurePacedBaseline(bench.directory, baseline, records, paceOf(pace, round));
  }
  for (const target of targets) {
    if (notFor.includes(target.name)) continue;
    ways[target.name] = async (round) => {
      const load = pace === undefined ? scenario : { ...scenario, load: paced(scenario.load, pace, round) };
      return beyondFlush(await once(load, target), round[PLAIN_NODE]);
    };
  }
  return { ways, close: async () => undefined };
}

type Filled = Pick<LoadScenario, 'load' | 'prepare'>;

async function measureOnce(
  { load, prepare }: Filled,
  run: { readonly target: Target; readonly topic: string; readonly records: number },
  generators: Generators,
): Promise<Result> {
  // What fills the topic ends by time as well: what there is to read is what it says.
  const filled = prepare === undefined ? undefined : await generators.run(prepare, run);
  return generators.run(load, { ...run, records: filled?.records ?? run.records });
}

type Pace = NonNullable<LoadScenario['pace']>;

const paced = (load: Load, pace: Pace, round: Round): Load => ({
  ...load,
  args: [...load.args, '--rate', `${paceOf(pace, round)}`],
});

/** Records per second. */
function paceOf({ of, share }: Pace, round: Round): number {
  const reached = round[of]?.recordsPerSecond;
  if (reached === undefined) throw new Error(`the pace hangs on ${of}, which was not measured`);
  return Math.max(1, Math.round(reached * share));
}

/** How much later than the disk's own. */
function beyondFlush(result: Result, plain: Result | undefined): Result {
  if (result.p99Ms === undefined || plain?.p99Ms === undefined) return result;
  return { ...result, p99BeyondFlushMs: Math.max(0, result.p99Ms - plain.p99Ms) };
}
