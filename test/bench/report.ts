// Medians of the rounds, the bars that they are held to, and how both are shown.
import { type Bar, METRICS, type Metric, type Result, type SeriesPoint } from './scenario.ts';
import { median, rounded, shown } from './statistics.ts';

export interface Measured {
  /** Median, lowest and highest of what the row is about. */
  readonly value: number;
  readonly lowest: number;
  readonly highest: number;
  /** Medians of all that was reported. */
  readonly metrics: Readonly<Partial<Record<Metric, number>>>;
  /** Lowest and highest of hub / this, round by round. */
  readonly ratioLowest?: number;
  readonly ratioHighest?: number;
  readonly brokerCpuMicrosPerRecord?: number;
  readonly loadCpuMicrosPerRecord?: number;
}

export interface BarResult {
  readonly bar: Bar;
  /** hub / peer, or the hub's number; undefined when the peer was not measured. */
  readonly reached: number | undefined;
  readonly holds: boolean | undefined;
}

export interface Row {
  readonly suite: string;
  readonly scenario: string;
  readonly metric: Metric;
  readonly hub: Measured;
  /** Other brokers, plain Node, and the hub itself in other ways. */
  readonly peers: Readonly<Record<string, Measured>>;
  readonly bars: readonly BarResult[];
  readonly series?: readonly SeriesPoint[];
}

/** What `--json` holds. */
export interface Run {
  readonly machine: Readonly<Record<string, string | number>>;
  readonly rounds: number;
  readonly scale: number;
  /** What could not be measured, and why. */
  readonly missing: readonly string[];
  readonly rows: readonly Row[];
}

const METRIC_NAMES = Object.keys(METRICS) as Metric[]; // what the table has

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** @param hub of the same rounds, when this is what the hub is compared with */
export function summarise(metric: Metric, results: readonly Result[], hub: readonly Result[] = []): Measured {
  const values = results.map((result) => result[metric] ?? 0);
  const perRecord = (name: 'brokerCpuSeconds' | 'loadCpuSeconds'): number | undefined =>
    medianOf(results, (result) => {
      const seconds = result[name];
      return seconds === undefined || !result.records ? undefined : (seconds * 1e6) / result.records;
    });
  const brokerCpuMicrosPerRecord = perRecord('brokerCpuSeconds');
  const loadCpuMicrosPerRecord = perRecord('loadCpuSeconds');
  const metrics = METRIC_NAMES.flatMap((name) => {
    const value = medianOf(results, (result) => result[name]);
    return value === undefined ? [] : [[name, value] as const];
  });
  const ratios = hub.length !== values.length ? [] : hub.map((each, at) => (each[metric] ?? 0) / values[at]!);
  return {
    ...{ value: median(values), lowest: Math.min(...values), highest: Math.max(...values) },
    metrics: Object.fromEntries(metrics),
    ...(ratios.length === 0 || !ratios.every(Number.isFinite)
      ? {}
      : { ratioLowest: rounded(Math.min(...ratios)), ratioHighest: rounded(Math.max(...ratios)) }),
    ...(brokerCpuMicrosPerRecord === undefined ? {} : { brokerCpuMicrosPerRecord }),
    ...(loadCpuMicrosPerRecord === undefined ? {} : { loadCpuMicrosPerRecord }),
  };
}

/** Undefined when any result lacks it. */
function medianOf(
  results: readonly Result[],
  of: (result: Result) => number | undefined,
): number | undefined {
  const values = results.map(of);
  return values.every((value) => value !== undefined) ? rounded(median(values)) : undefined;
}

/** @param rows measured before, which the hub may be held to as well */
export function barResults(
  bars: readonly Bar[],
  { hub, peers }: Omit<Row, 'bars'>,
  rows: readonly Row[],
): BarResult[] {
  const otherOf = ({ against, againstRow, againstSlowest, metric }: Bar): number | undefined => {
    if (against !== undefined) return peers[against]?.metrics[metric];
    if (againstSlowest) return slowest(peers, metric);
    if (againstRow === undefined) return 1;
    return rows.find(({ scenario }) => scenario === againstRow)?.hub.metrics[metric];
  };
  return bars.map((bar) => {
    const own = hub.metrics[bar.metric];
    const other = otherOf(bar);
    if (own === undefined || other === undefined || other === 0) {
      return { bar, reached: undefined, holds: undefined };
    }
    const reached = rounded(own / other);
    const holds =
      reached >= (bar.atLeast ?? Number.NEGATIVE_INFINITY) &&
      reached <= (bar.atMost ?? Number.POSITIVE_INFINITY);
    return { bar, reached, holds };
  });
}

function slowest(peers: Row['peers'], metric: Metric): number | undefined {
  const values = Object.values(peers).flatMap(({ metrics }) => metrics[metric] ?? []);
  return values.length === 0 ? undefined : Math.min(...values);
}

export function printRow(row: Row): void {
  say(row.scenario);
  say(line('hub', row.hub, row.metric));
  for (const [name, measured] of Object.entries(row.peers)) say(peerLine(row, name, measured));
  for (const result of row.bars) say(`    ${barText(result)}`);
  say('');
}

function peerLine({ hub, metric }: Row, name: string, measured: Measured): string {
  // What the row is about need not be asked of the others: then what they did is told.
  if (!hasFigure(measured, metric)) return line(name, ...substitute(measured));
  const { ratioLowest, ratioHighest } = measured;
  const ratio = shown(hub.value / measured.value);
  const spread =
    ratioLowest === undefined || ratioHighest === undefined
      ? ''
      : ` (${shown(ratioLowest)} – ${shown(ratioHighest)})`;
  return `${line(name, measured, metric)}  hub / ${name} = ${ratio}${spread}`;
}

export const hasFigure = ({ metrics }: Measured, metric: Metric): boolean => metrics[metric] !== undefined;

function substitute(measured: Measured): [Measured, Metric] {
  const other = METRIC_NAMES.find((name) => hasFigure(measured, name)) ?? 'ms';
  const value = measured.metrics[other] ?? 0;
  return [{ ...measured, value, lowest: value, highest: value }, other];
}

function line(name: string, { value, lowest, highest, ...more }: Measured, metric: Metric): string {
  const { p50Ms, p99Ms, brokerResidentMiB } = more.metrics;
  return [
    `  ${name.padEnd(16)} ${shown(value).padStart(11)} ${METRICS[metric]} (${shown(lowest)} – ${shown(highest)})`,
    ...(more.brokerCpuMicrosPerRecord === undefined ? [] : [`${shown(more.brokerCpuMicrosPerRecord)} µs`]),
    ...(more.loadCpuMicrosPerRecord === undefined ? [] : [`load ${shown(more.loadCpuMicrosPerRecord)} µs`]),
    ...(brokerResidentMiB === undefined ? [] : [`${shown(brokerResidentMiB)} MiB`]),
    ...(p50Ms === undefined || p99Ms === undefined ? [] : [`p50 ${shown(p50Ms)} ms, p99 ${shown(p99Ms)} ms`]),
  ].join('  ');
}

/** What the bar asks for, without what was reached. */
export function limitText(bar: Bar): string {
  const limit = bar.atLeast === undefined ? `≤ ${shown(bar.atMost ?? 0)}` : `≥ ${shown(bar.atLeast)}`;
  const other = bar.against ?? bar.againstRow ?? (bar.againstSlowest ? 'the slowest side alone' : undefined);
  return other === undefined
    ? `${limit} ${METRICS[bar.metric]}`
    : `${limit} × ${other} (${METRICS[bar.metric]})`;
}

function barText({ bar, reached, holds }: BarResult): string {
  if (reached === undefined) return `bar ${limitText(bar)}: not measured`;
  return `bar ${limitText(bar)}: ${shown(reached)}, ${holds === true ? 'holds' : 'DOES NOT HOLD'}`;
}

/** Every bar beside what was reached. */
export function printSummary(rows: readonly Row[]): void {
  const bars = rows.flatMap((row) => row.bars.map((result) => ({ row, result })));
  if (bars.length === 0) return;
  const words = bars.map(({ row, result: { bar, reached, holds } }) => [
    holds === undefined ? '  -  ' : holds ? ' ok  ' : 'MISS ',
    `${row.suite}: ${row.scenario}`,
    limitText(bar),
    reached === undefined ? 'not measured' : shown(reached),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...words.map((line) => line[column]!.length))); // three of four
  for (const line of words) say(line.map((word, column) => word.padEnd(widths[column] ?? 0)).join('  '));
  const missed = bars.filter(({ result }) => result.holds === false).length;
  const open = bars.filter(({ result }) => result.holds === undefined).length;
  say(
    `${bars.length - missed - open} of ${bars.length} bars hold, ${missed} do not, ${open} were not measured`,
  );
}
