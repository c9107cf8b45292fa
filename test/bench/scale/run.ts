// Scale curves, after `npm run build`: `npx tsx test/bench/scale/run.ts [--only NAME] [--to N] [--rounds N]
// [--json FILE] [--write | --render]`, or `npm run bench -- scale` with the same but the last.
// Tables come on stderr, JSON on stdout or in the file. `--to` leaves out larger points. `--write` keeps what was measured in
// measured.json beside what was there of other curves, and makes the plots and the tables of test/bench/README.md of it;
// `--render` makes them of what is there. A point that fails is told, and the others follow.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../../helpers/hub-process.ts';
import { describeMachine } from '../machine.ts';
import { activeKafka, activeMqtt, idleKafka, idleMqtt } from './connections.ts';
import type { Curve } from './curve.ts';
import { filterCount } from './filters.ts';
import { groupCount } from './groups.ts';
import { logSize } from './log-size.ts';
import { type MeasuredCurve, measureCurve } from './measure.ts';
import { partitionCount } from './partitions.ts';
import { recordSize } from './record-size.ts';
import { plotsOf, reasonsOf, tableOf, withScale } from './report.ts';
import { storedSessions } from './sessions.ts';

/** Those that take longest come last. */
export const CURVES: readonly Curve[] = [
  recordSize,
  groupCount,
  activeMqtt,
  activeKafka,
  filterCount,
  idleMqtt,
  idleKafka,
  partitionCount,
  storedSessions,
  logSize,
];

const README = join(import.meta.dirname, '..', 'README.md');
const PLOTS = join(import.meta.dirname, 'plots');
const MEASURED = join(import.meta.dirname, 'measured.json');

export interface ScaleOptions {
  /** Curves whose names hold the text. */
  readonly only?: string;
  /** Larger points are left out. */
  readonly pointMax?: number;
  readonly rounds?: number;
  readonly isWritten?: boolean;
}

export interface ScaleResult {
  readonly machine: Readonly<Record<string, string | number>>;
  readonly rounds: number;
  readonly curves: readonly MeasuredCurve[];
}

export async function measureScale(options: ScaleOptions = {}): Promise<ScaleResult> {
  const { only = '', pointMax = Number.POSITIVE_INFINITY, rounds = 5 } = options;
  const machine = describeMachine();
  const measured: MeasuredCurve[] = [];
  for (const curve of CURVES.filter(({ name }) => name.includes(only))) {
    say(`${curve.title}`);
    const directory = temporaryDirectory();
    const startMs = performance.now();
    try {
      const each = await measureCurve(curve, { rounds, pointMax, directory: directory.path, say });
      measured.push(each);
      say(
        `\n${tableOf(curve, each)}\n${reasonsOf(each)}\nin ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`,
      );
    } finally {
      directory.remove();
    }
    // At once: a run that is ended has kept what it had.
    if (options.isWritten === true) write({ machine, rounds, curves: measured });
  }
  return { machine, rounds, curves: measured };
}

/** Puts what was measured in the place of what was measured of the same curves before. */
function write(result: ScaleResult): void {
  const before: ScaleResult | undefined = existsSync(MEASURED)
    ? (JSON.parse(readFileSync(MEASURED, 'utf8')) as ScaleResult) // written below
    : undefined;
  const isNew = new Set(result.curves.map(({ name }) => name));
  const kept = before?.curves.filter(({ name }) => !isNew.has(name)) ?? [];
  const all = { ...result, curves: [...result.curves, ...kept] };
  writeFileSync(MEASURED, `${JSON.stringify(all, null, 2)}\n`);
  render(all);
}

function render({ machine, rounds, curves }: ScaleResult): void {
  mkdirSync(PLOTS, { recursive: true });
  for (const curve of CURVES) {
    const found = curves.find(({ name }) => name === curve.name);
    if (found === undefined) continue;
    for (const { file, svg } of plotsOf(curve, found)) writeFileSync(join(PLOTS, file), svg);
  }
  const { processor, cores, memoryGiB, node, loadBefore } = machine;
  const taken = `Medians of ${rounds} rounds on ${processor}, ${cores} cores, ${memoryGiB} GiB, Node ${node}; load before the run ${loadBefore}.`;
  writeFileSync(README, withScale(readFileSync(README, 'utf8'), CURVES, curves, taken));
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

export interface ScaleCommand extends ScaleOptions {
  /** Instead of stdout. */
  readonly json?: string | undefined;
}

/** Measures, and tells: `npm run bench -- scale` as well. */
export async function runScale({ json, ...options }: ScaleCommand): Promise<void> {
  const result = await measureScale(options);
  const text = `${JSON.stringify(result)}\n`;
  if (json === undefined) process.stdout.write(text);
  else writeFileSync(json, text);
  if (result.curves.length === 0)
    say(`there is no curve ${options.only}: ${CURVES.map(({ name }) => name).join(', ')}`);
  if (result.curves.some(({ failed }) => failed.length > 0)) process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      to: { type: 'string', default: 'Infinity' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'string' },
      write: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
    },
  });
  if (values.render) {
    render(JSON.parse(readFileSync(MEASURED, 'utf8')) as ScaleResult); // written above
    return;
  }
  await runScale({
    ...{ only: values.only, pointMax: Number(values.to), rounds: Number(values.rounds) },
    ...{ isWritten: values.write, json: values.json },
  });
}

if (process.argv[1] === import.meta.filename) await main();
