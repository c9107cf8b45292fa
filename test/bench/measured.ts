// `npx tsx test/bench/measured.ts FILE … [--write]`: the section "Measured" of this folder's README from what runs wrote with
// `--json`, so that nobody types a figure. Of a row in several files the last counts; what has gone on over time is drawn
// into plots/. Without `--write` the text is printed and nothing is drawn.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { plotSeries } from './plot.ts';
import { hasFigure, limitText, type Row, type Run } from './report.ts';
import { METRICS } from './scenario.ts';
import { shown } from './statistics.ts';

const README = join(import.meta.dirname, 'README.md');
const PLOTS = 'plots';
const HEADING = '## Measured\n';

/** The section without its heading. */
export function measuredText(runs: readonly Run[]): string {
  const [first] = runs;
  if (first === undefined) return '';
  const { processor, cores, memoryGiB, node, system } = first.machine;
  const rows = latestRows(runs);
  const table = [
    ['row', 'hub', 'others in the same turns: hub / other', 'bar', 'reached'],
    ['---', '---', '---', '---', '---'],
    ...rows.flatMap(linesOf),
  ];
  return [
    `${processor}, ${cores} cores, ${memoryGiB} GiB, Node ${String(node).replace('v', '')}, ${system}; medians of ${roundsOf(runs)}`,
    'in turns, lowest and highest in parentheses; the hub durable. Made by `measured.ts` from the figures of the runs.',
    '',
    ...table.map((cells) => `| ${cells.join(' | ')} |`),
    '',
    ...rows.filter(hasSeries).flatMap((row) => [`![${row.scenario}](${PLOTS}/${plotName(row)})`, '']),
  ].join('\n');
}

function latestRows(runs: readonly Run[]): Row[] {
  const rows = new Map<string, Row>();
  for (const run of runs) for (const row of run.rows) rows.set(`${row.suite}: ${row.scenario}`, row);
  return [...rows.values()];
}

const hasSeries = ({ series }: Row): boolean => series !== undefined;

const plotName = ({ scenario }: Row): string => `${scenario.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`;

/** Memory over time; undefined for a row that has no series. */
export function memoryPlot({ scenario, series }: Row): string | undefined {
  if (series === undefined) return undefined;
  return plotSeries({
    title: `${scenario}: resident memory`,
    x: { label: 'minutes' },
    y: { label: 'MiB' },
    series: [
      {
        name: 'hub',
        points: series.map(({ atSeconds, residentMiB }) => ({ x: atSeconds / 60, y: residentMiB })),
      },
    ],
  });
}

const roundsOf = (runs: readonly Run[]): string =>
  [...new Set(runs.map(({ rounds }) => rounds))].sort((one, other) => one - other).join(' or ');

/** A row of the table for each bar; what was measured stands in the first. */
function linesOf(row: Row): string[][] {
  const { hub, metric, suite, scenario } = row;
  const spread = hub.lowest === hub.highest ? '' : ` (${shown(hub.lowest)} – ${shown(hub.highest)})`;
  const others = Object.entries(row.peers)
    .filter(([, peer]) => hasFigure(peer, metric))
    .map(([name, peer]) => `${shown(hub.value / peer.value)} ${name}`);
  const start = [
    `${suite}: ${scenario}`,
    `${shown(hub.value)} ${METRICS[metric]}${spread}`,
    others.join(', '),
  ];
  if (row.bars.length === 0) return [[...start, '', '']];
  return row.bars.map(({ bar, reached, holds }, index) => [
    ...(index === 0 ? start : ['', '', '']),
    limitText(bar),
    reached === undefined ? 'not measured' : `${shown(reached)}${holds === false ? ', **missed**' : ''}`,
  ]);
}

/** @returns the document with another section under the heading; all else as it was */
export function withSection(document: string, text: string): string {
  const start = document.indexOf(HEADING);
  if (start < 0) throw new Error(`there is no heading ${HEADING.trim()}`);
  const next = document.indexOf('\n## ', start + HEADING.length);
  const end = next < 0 ? document.length : next;
  return `${document.slice(0, start)}${HEADING}\n${text}${document.slice(end)}`;
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { write: { type: 'boolean', default: false } },
  });
  const runs = positionals.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Run); // what `--json` writes
  if (runs.length === 0) {
    process.stderr.write('usage: npx tsx test/bench/measured.ts FILE … [--write]\n');
    process.exitCode = 2;
  } else if (values.write) {
    for (const row of latestRows(runs)) {
      const plot = memoryPlot(row);
      if (plot === undefined) continue;
      mkdirSync(join(import.meta.dirname, PLOTS), { recursive: true });
      writeFileSync(join(import.meta.dirname, PLOTS, plotName(row)), plot);
    }
    writeFileSync(README, withSection(readFileSync(README, 'utf8'), measuredText(runs)));
  } else {
    process.stdout.write(`${HEADING}\n${measuredText(runs)}`);
  }
}
