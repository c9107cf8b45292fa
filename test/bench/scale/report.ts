// What was measured, for people: tables and plots, and the part of a document that has them.
import { type Plot, plotCurves } from '../plot.ts';
import type { Curve } from './curve.ts';
import type { MeasuredCurve, MeasuredFigure, MeasuredPoint } from './measure.ts';

/** A cost that is so many times that of the smallest is not flat any more. */
export const FLAT_RATIO_MAX = 1.3;

export function isFlat({ points }: MeasuredFigure): boolean {
  return points.every(({ cpuRatio }) => cpuRatio <= FLAT_RATIO_MAX);
}

/** In a word; {@link reasonsOf} has the rest. */
function verdictOf(figure: MeasuredFigure): string {
  if (figure.points.length === 0) return 'not measured';
  if (isFlat(figure)) return 'flat';
  return figure.expectation === 'flat' ? '**not flat**' : 'explained';
}

/** Why what is not flat is not, as a list. */
export function reasonsOf({ figures }: MeasuredCurve): string {
  return figures
    .filter((figure) => !isFlat(figure) && figure.expectation !== 'flat')
    .map(({ name, expectation }) => `- _${name}_: ${expectation}.`)
    .join('\n');
}

export interface CurvePlot {
  /** In plots/. */
  readonly file: string;
  readonly svg: string;
}

export function plotsOf(curve: Curve, measured: MeasuredCurve): CurvePlot[] {
  const plots = [{ file: `${curve.name}.svg`, svg: plotCurves(plotOf(curve, measured, () => 1, undefined)) }];
  const { alsoPer } = curve;
  if (alsoPer !== undefined) {
    const svg = plotCurves(plotOf(curve, measured, alsoPer.perUnit, alsoPer.unit));
    plots.push({ file: `${curve.name}-per-${alsoPer.unit.toLowerCase()}.svg`, svg });
  }
  return plots;
}

function plotOf(
  curve: Curve,
  measured: MeasuredCurve,
  divisorOf: (point: number) => number,
  unit: string | undefined,
): Plot {
  const units = new Set(measured.figures.map((figure) => figure.unit));
  const each = unit ?? (units.size === 1 ? [...units][0] : 'unit');
  return {
    title: `${curve.title}: CPU time of the hub a ${each}`,
    x: { label: curve.axis.label, format: curve.axis.format, ticks: curve.points },
    y: { label: `CPU time a ${each}`, format: shortTime },
    series: measured.figures.map((figure) => ({
      name: figure.name.length > 34 ? `${figure.name.slice(0, 33)}…` : figure.name,
      points: figure.points.map(({ point, cpu }) => {
        const divisor = divisorOf(point);
        return {
          x: point,
          y: cpu.median / divisor,
          lowest: cpu.lowest / divisor,
          highest: cpu.highest / divisor,
        };
      }),
    })),
  };
}

/** A Markdown table: a row for each figure, a column for each point. */
export function tableOf(curve: Curve, measured: MeasuredCurve): string {
  const points = curve.points.filter((point) =>
    measured.figures.some((figure) => figure.points.some((each) => each.point === point)),
  );
  const rows = [
    ['CPU time', ...points.map(curve.axis.format), 'wall time, first to last', ''],
    ...measured.figures.map((figure) => [
      `${figure.name}, a ${figure.unit}`,
      ...points.map((point) => cellOf(figure.points.find((each) => each.point === point))),
      wallOf(figure.points),
      verdictOf(figure),
    ]),
  ];
  return markdown(rows);
}

function cellOf(point: MeasuredPoint | undefined): string {
  return point === undefined ? '' : `${shortTime(point.cpu.median)} (${point.cpuRatio.toFixed(2)})`;
}

function wallOf(points: readonly MeasuredPoint[]): string {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return '';
  return `${shortTime(first.wall.median)} – ${shortTime(last.wall.median)}`;
}

/** Columns as wide as their widest cell, as a formatter would have them. */
function markdown(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [lineOf(head), lineOf(widths.map((width) => '-'.repeat(width))), ...body.map(lineOf)].join('\n');
}

export function shortTime(microseconds: number): string {
  const [value, unit] =
    microseconds < 1
      ? [microseconds * 1000, 'ns']
      : microseconds < 1000
        ? [microseconds, 'µs']
        : microseconds < 1e6
          ? [microseconds / 1000, 'ms']
          : [microseconds / 1e6, 's'];
  return `${Number(value.toPrecision(3))} ${unit}`;
}

const MARKED = /<!-- scale -->\n[\s\S]*?<!-- \/scale -->/;

/** `document` with the tables and the plots between its marks made anew. */
export function withScale(
  document: string,
  curves: readonly Curve[],
  measured: readonly MeasuredCurve[],
  machine: string,
): string {
  if (!MARKED.test(document))
    throw new Error('the document has no marks: <!-- scale --> and <!-- /scale -->');
  const parts = curves.flatMap((curve) => {
    const found = measured.find(({ name }) => name === curve.name);
    if (found === undefined) return [];
    const plots = plotsOf(curve, found).map(({ file }) => `![${curve.title}](scale/plots/${file})`);
    return [`### ${curve.title}`, tableOf(curve, found), reasonsOf(found), ...plots].filter(
      (part) => part !== '',
    );
  });
  const text = ['<!-- scale -->', machine, ...parts, '<!-- /scale -->'].join('\n\n');
  // As a function: what a text has of `$` is not a pattern's.
  return document.replace(MARKED, () => text);
}
