// Medians of the rounds, the bars that they are held to, and how both are shown.
import type { LoadResult } from './generators.ts';
import type { Bar, Metric } from './scenario.ts';
import { median, rounded, shown } from './statistics.ts';

export interface Measured {
  /** Median, lowest and highest of what the row is about. */
  readonly value: number;
  readonly lowest: number;
  readonly highest: number;
  /** Medians of all that was reported. */
  readonly metrics: Readonly<Partial<Record<Metric | 'p50Ms', number>>>;
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
  readonly scenario: string;
  readonly metric: Metric;
  readonly hub: Measured;
  readonly peers: Readonly<Record<string, Measured>>;
  readonly baselinePerSecond?: number;
  readonly bars: readonly BarResult[];
}

const METRICS = [
  ...(['recordsPerSecond', 'deliveredPerSecond', 'p50Ms', 'p99Ms'] as const),
  ...(['brokerResidentMiB', 'residentGrowthMiB', 'idleConnectionKiB'] as const),
];

const UNITS: Readonly<Record<Metric, string>> = {
  recordsPerSecond: 'records/s',
  deliveredPerSecond: 'deliveries/s',
  p99Ms: 'ms p99',
  brokerResidentMiB: 'MiB',
  residentGrowthMiB: 'MiB grown',
  idleConnectionKiB: 'KiB a connection',
};

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function summarise(metric: Metric, results: readonly LoadResult[]): Measured {
  const values = results.map((result) => result[metric] ?? 0);
  const perRecord = (name: 'brokerCpuSeconds' | 'loadCpuSeconds'): number | undefined =>
    medianOf(results, (result) => {
      const seconds = result[name];
      return seconds === undefined ? undefined : (seconds * 1e6) / result.records;
    });
  const brokerCpuMicrosPerRecord = perRecord('brokerCpuSeconds');
  const loadCpuMicrosPerRecord = perRecord('loadCpuSeconds');
  const metrics = METRICS.flatMap((name) => {
    const value = medianOf(results, (result) => result[name]);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...{ value: median(values), lowest: Math.min(...values), highest: Math.max(...values) },
    metrics: Object.fromEntries(metrics),
    ...(brokerCpuMicrosPerRecord === undefined ? {} : { brokerCpuMicrosPerRecord }),
    ...(loadCpuMicrosPerRecord === undefined ? {} : { loadCpuMicrosPerRecord }),
  };
}

/** Undefined when any result lacks it. */
function medianOf(
  results: readonly LoadResult[],
  of: (result: LoadResult) => number | undefined,
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
  const otherOf = ({ against, againstRow, metric }: Bar): number | undefined => {
    if (against !== undefined) return peers[against]?.metrics[metric];
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
    const holds = reached >= (bar.atLeast ?? 0) && reached <= (bar.atMost ?? Number.POSITIVE_INFINITY);
    return { bar, reached, holds };
  });
}

export function printRow(row: Row): void {
  say(row.scenario);
  say(line('hub', row.hub, row.metric));
  for (const [name, measured] of Object.entries(row.peers)) {
    say(`${line(name, measured, row.metric)}  hub / ${name} = ${shown(row.hub.value / measured.value)}`);
  }
  if (row.baselinePerSecond !== undefined) {
    const value = shown(row.baselinePerSecond).padStart(11);
    say(
      `  ${'plain Node'.padEnd(16)} ${value}  hub / plain Node = ${shown(row.hub.value / row.baselinePerSecond)}`,
    );
  }
  for (const result of row.bars) say(`    ${barText(result)}`);
  say('');
}

function line(name: string, { value, lowest, highest, ...more }: Measured, metric: Metric): string {
  const { p50Ms, p99Ms, brokerResidentMiB } = more.metrics;
  return [
    `  ${name.padEnd(16)} ${shown(value).padStart(11)} ${UNITS[metric]} (${shown(lowest)} – ${shown(highest)})`,
    ...(more.brokerCpuMicrosPerRecord === undefined ? [] : [`${shown(more.brokerCpuMicrosPerRecord)} µs`]),
    ...(more.loadCpuMicrosPerRecord === undefined ? [] : [`load ${shown(more.loadCpuMicrosPerRecord)} µs`]),
    ...(brokerResidentMiB === undefined ? [] : [`${shown(brokerResidentMiB)} MiB`]),
    ...(p50Ms === undefined || p99Ms === undefined ? [] : [`p50 ${shown(p50Ms)} ms, p99 ${shown(p99Ms)} ms`]),
  ].join('  ');
}

function barText({ bar, reached, holds }: BarResult): string {
  const limit = bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`;
  const other = bar.against ?? bar.againstRow;
  const of = other === undefined ? UNITS[bar.metric] : `× ${other} (${UNITS[bar.metric]})`;
  if (reached === undefined) return `bar ${limit} ${of}: not measured`;
  return `bar ${limit} ${of}: ${shown(reached)}, ${holds === true ? 'holds' : 'DOES NOT HOLD'}`;
}

export function printSummary(rows: readonly Row[]): void {
  const bars = rows.flatMap((row) => row.bars.map((result) => ({ row, result })));
  const missed = bars.filter(({ result }) => result.holds === false);
  const open = bars.filter(({ result }) => result.holds === undefined).length;
  say(`${bars.length - missed.length - open} of ${bars.length} bars hold, ${open} were not measured`);
  for (const { row, result } of missed) say(`  ${row.scenario}: ${barText(result)}`);
}
