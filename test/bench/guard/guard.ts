// `npm run bench -- guard`: whether the hub has become slower. A few loads of a few seconds, each in turns with plain Node
// that does the same bytes in the same run; the median of the turns' ratios is held to the one that is expected, and
// fails below half of it. Never an absolute time: what slows the machine slows both. Needs no C compiler and no peer;
// the clients are plain Node in this process, and what they cost is in both sides. Last line: `N passed, N failed`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from '../../helpers/child.ts';
import { startHubProcess, temporaryDirectory } from '../../helpers/hub-process.ts';
import { processCpuSeconds } from '../process-figures.ts';
import { say } from '../report.ts';
import { median, shown } from '../statistics.ts';
import { type GuardRow, guardRows, type Pair, type Surroundings } from './rows.ts';

/** Of the expected ratio. */
const FALL_MAX = 0.5;
const TURN_MS = 100;
const TURNS = 15;
/** Compilers settle meanwhile. */
const WARM_UP_TURNS = 6;
/** A row that fails is measured again before it counts: where ten others want to run, fifteen turns may be unlucky. */
const TURNS_AGAIN = 45;

interface Turn {
  readonly hub: number;
  readonly plain: number;
}

export interface GuardResult {
  readonly name: string;
  readonly unit: string;
  readonly expected: number;
  readonly turns: readonly Turn[];
  readonly ratio: number;
  readonly holds: boolean;
}

/** @returns a row's figures each; the exit code is the caller's */
export async function runGuard(only: string): Promise<GuardResult[]> {
  const directory = temporaryDirectory();
  const plain = startPlain(directory.path);
  const results: GuardResult[] = [];
  try {
    const plainPort = Number((await plain.waitFor(/listening on (\d+)/))[1]);
    const hub = await startHubProcess(join(directory.path, 'hub'));
    const rows = guardRows.filter(({ name }) => name.includes(only));
    for (const [index, row] of rows.entries()) {
      const folder = join(directory.path, `row-${index}`);
      mkdirSync(folder);
      const result = await measureRow(row, { hub, plainPort, directory: folder });
      results.push(result);
      tell(result);
    }
    await hub.stop();
  } finally {
    plain.kill('SIGKILL');
    await plain.finished;
    directory.remove();
  }
  const failed = results.filter(({ holds }) => !holds).length;
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`);
  return results;
}

function startPlain(directory: string): Child {
  const program = join(import.meta.dirname, 'plain-server.ts');
  const args = ['--import', 'tsx', program, join(directory, 'plain.log')];
  return new Child(process.execPath, args, { timeoutMs: 600_000 });
}

async function measureRow(row: GuardRow, surroundings: Surroundings): Promise<GuardResult> {
  const pair = await row.open(surroundings);
  try {
    for (let turn = 0; turn < WARM_UP_TURNS; turn++) await takeTurn(pair);
    const ownBefore = process.cpuUsage();
    const hubBefore = processCpuSeconds(surroundings.hub.pid);
    const startedMs = performance.now();
    let turns = await takeTurns(pair, TURNS);
    let result = resultOf(row, turns);
    if (!result.holds) {
      turns = [...turns, ...(await takeTurns(pair, TURNS_AGAIN))];
      result = resultOf(row, turns);
    }
    tellCosts(ownBefore, surroundings.hub.pid, hubBefore, startedMs);
    return result;
  } finally {
    await pair.close();
  }
}

async function takeTurns(pair: Pair, count: number): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (let turn = 0; turn < count; turn++) turns.push(await takeTurn(pair));
  return turns;
}

async function takeTurn(pair: Pair): Promise<Turn> {
  return { hub: await pair.hub(TURN_MS), plain: await pair.plain(TURN_MS) };
}

function resultOf({ name, unit, expected }: GuardRow, turns: readonly Turn[]): GuardResult {
  const ratio = median(turns.map(({ hub, plain }) => hub / plain));
  return { name, unit, expected, turns, ratio, holds: ratio >= expected * FALL_MAX };
}

function tell({ name, unit, expected, turns, ratio, holds }: GuardResult): void {
  const ratios = turns.map((turn) => turn.hub / turn.plain);
  const [hub, plain] = [median(turns.map((turn) => turn.hub)), median(turns.map((turn) => turn.plain))];
  const spread = `${shown(Math.min(...ratios))} – ${shown(Math.max(...ratios))}`;
  say(`${holds ? 'ok' : 'FELL'}: ${name}`);
  say(
    `    hub ${shown(hub)}, plain Node ${shown(plain)} ${unit}; ratio ${shown(ratio)} (${spread}), expected ${expected}, at least ${expected * FALL_MAX}`,
  );
}

function tellCosts(ownBefore: NodeJS.CpuUsage, hubPid: number, hubBefore: number, startedMs: number): void {
  const own = process.cpuUsage(ownBefore);
  const ownSeconds = (own.user + own.system) / 1e6;
  const seconds = (performance.now() - startedMs) / 1_000;
  const hubSeconds = processCpuSeconds(hubPid) - hubBefore;
  say(`    CPU in ${shown(seconds)} s: clients ${shown(ownSeconds)} s, hub ${shown(hubSeconds)} s`);
}
