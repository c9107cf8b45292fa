// Draws figures as SVG, for documents: curves over logarithmic axes with the spread of each point, and plain series over
// time. The picture follows the reader's light or dark scheme by itself. Pure: numbers in, text out.
import { scaleLinear, scaleLog } from 'd3-scale';
import { line } from 'd3-shape';

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Of the measurements whose median is `y`. */
  readonly lowest?: number;
  readonly highest?: number;
}

export interface PlotSeries {
  readonly name: string;
  readonly points: readonly PlotPoint[];
}

export interface PlotAxis {
  /** With its unit. */
  readonly label: string;
  /** How a tick is written; with three digits that count unless told. */
  readonly format?: (value: number) => string;
  /** Where ticks are; else where round numbers are. */
  readonly ticks?: readonly number[];
}

export interface Plot {
  readonly title: string;
  readonly x: PlotAxis;
  readonly y: PlotAxis;
  readonly series: readonly PlotSeries[];
}

const WIDTH = 820;
const HEIGHT = 420;
/** On the right stand the names of the lines. */
const MARGIN = { left: 78, right: 248, top: 48, bottom: 56 } as const;
const FRAME = {
  left: MARGIN.left,
  right: WIDTH - MARGIN.right,
  top: MARGIN.top,
  bottom: HEIGHT - MARGIN.bottom,
};
const NAME_SPACING = 17;
/** More points than these are a line alone: markers would cover it. */
const MARKED_POINTS_MAX = 40;

/** Each is told from its neighbours by people who see no red or no green as well. */
const COLOURS = [
  ['#0068a8', '#5cb6f2'],
  ['#c44e00', '#ff9a52'],
  ['#00805c', '#3fd1a3'],
  ['#a8487f', '#e79ac6'],
  ['#8a6d00', '#e3c341'],
  ['#5b5bd6', '#a5a5ff'],
  ['#5f5f5f', '#bdbdbd'],
] as const;

interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly xTicks: readonly number[];
  readonly yTicks: readonly number[];
}

/** Both axes logarithmic. Points at or below zero have no place on them and are left out. */
export function plotCurves(plot: Plot): string {
  const series = plot.series.map(({ name, points }) => ({
    name,
    points: points.filter(({ x, y }) => x > 0 && y > 0),
  }));
  const [xLow, xHigh] = extent(series.flatMap(({ points }) => points.map(({ x }) => x)));
  const [yLow, yHigh] = extent(
    series.flatMap(({ points }) =>
      points.flatMap(({ y, lowest, highest }) => [y, lowest || y, highest ?? y]),
    ),
  );
  const x = scaleLog([xLow, Math.max(xHigh, xLow * 10)], [FRAME.left + 14, FRAME.right - 14]);
  // At least two decades, and one more than is needed: a flat line must look flat.
  const middle = Math.log10(yLow * yHigh) / 2;
  const decades = Math.max(2, Math.log10(yHigh / yLow) + 0.6) / 2;
  const y = scaleLog([10 ** (middle - decades), 10 ** (middle + decades)], [FRAME.bottom, FRAME.top]);
  const powers = (domain: readonly number[]): number[] => {
    const [from = 1, to = 1] = domain;
    const first = Math.ceil(Math.log10(from) - 1e-9);
    return Array.from(
      { length: Math.max(0, Math.floor(Math.log10(to) + 1e-9) - first + 1) },
      (_, index) => 10 ** (first + index),
    );
  };
  return draw(
    { ...plot, series },
    { x, y, xTicks: plot.x.ticks ?? powers(x.domain()), yTicks: plot.y.ticks ?? powers(y.domain()) },
  );
}

/** Both axes linear, from zero: what changes over time. */
export function plotSeries(plot: Plot): string {
  const points = plot.series.flatMap((series) => series.points);
  const [, xHigh] = extent(points.map(({ x }) => x));
  const [, yHigh] = extent(points.map(({ y, highest }) => highest ?? y));
  const x = scaleLinear([0, xHigh], [FRAME.left, FRAME.right]).nice();
  const y = scaleLinear([0, yHigh], [FRAME.bottom, FRAME.top]).nice();
  return draw(plot, { x, y, xTicks: plot.x.ticks ?? x.ticks(8), yTicks: plot.y.ticks ?? y.ticks(6) });
}

function extent(values: readonly number[]): [number, number] {
  if (values.length === 0) return [1, 10];
  return values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
}

function draw({ title, x, y, series }: Plot, scales: Scales): string {
  const middle = (FRAME.top + FRAME.bottom) / 2;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style()}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="${FRAME.left}" y="26">${escaped(title)}</text>`,
    ...scales.yTicks.map((tick) => {
      const at = rounded(scales.y(tick));
      return `<path class="grid" d="M${FRAME.left},${at}H${FRAME.right}"/><text x="${FRAME.left - 8}" y="${at + 4}" text-anchor="end">${escaped(tickText(y, tick))}</text>`;
    }),
    ...scales.xTicks.map((tick) => {
      const at = rounded(scales.x(tick));
      return `<path class="grid" d="M${at},${FRAME.top}V${FRAME.bottom}"/><text x="${at}" y="${FRAME.bottom + 18}" text-anchor="middle">${escaped(tickText(x, tick))}</text>`;
    }),
    `<path class="axis" d="M${FRAME.left},${FRAME.top}V${FRAME.bottom}H${FRAME.right}"/>`,
    `<text x="${(FRAME.left + FRAME.right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(18,${middle}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
    ...series.map(({ points }, index) => drawSeries(points, index, scales)),
    ...drawNames(series, scales),
    '</svg>',
    '',
  ].join('\n');
}

function drawSeries(points: readonly PlotPoint[], index: number, { x, y }: Scales): string {
  const path = line<PlotPoint>(
    (point) => rounded(x(point.x)),
    (point) => rounded(y(point.y)),
  )([...points]);
  const isMarked = points.length <= MARKED_POINTS_MAX;
  const marks = points.map((point) => {
    const at = rounded(x(point.x));
    const { lowest = point.y, highest = point.y } = point;
    // A logarithmic axis has no zero.
    const bar = `M${at},${rounded(y(lowest > 0 ? lowest : point.y))}V${rounded(y(highest))}`;
    return `<path d="${bar}"/><circle cx="${at}" cy="${rounded(y(point.y))}" r="3.2"/>`;
  });
  return `<g class="series c${index % COLOURS.length}"><path d="${path ?? ''}"/>${isMarked ? marks.join('') : ''}</g>`;
}

/** Beside the ends of the lines, moved apart where these are close. */
function drawNames(series: readonly PlotSeries[], { y }: Scales): string[] {
  const names = series
    .map(({ name, points }, index) => ({ name, index, at: y(points.at(-1)?.y ?? 1) }))
    .sort((left, right) => left.at - right.at);
  let free = FRAME.top + 4;
  const placed = names.map((each) => {
    const at = Math.max(each.at + 4, free);
    free = at + NAME_SPACING;
    return { ...each, at };
  });
  const tooLow = Math.max(0, free - NAME_SPACING - FRAME.bottom);
  return placed.map(
    ({ name, index, at }) =>
      `<text class="name n${index % COLOURS.length}" x="${FRAME.right + 10}" y="${rounded(at - tooLow)}">${escaped(name)}</text>`,
  );
}

function style(): string {
  const colours = (scheme: 0 | 1): string =>
    COLOURS.map(
      (pair, index) =>
        `.c${index}{stroke:${pair[scheme]};fill:${pair[scheme]}}.n${index}{fill:${pair[scheme]}}`,
    ).join('');
  return [
    'text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}.name{font-weight:600}',
    '.paper{fill:#fff}.grid{stroke:#e2e2e2}.axis{stroke:#888;fill:none}.series path{fill:none;stroke-width:1.8}.series circle{stroke:none}',
    colours(0),
    `@media(prefers-color-scheme:dark){text{fill:#d5d5d5}.paper{fill:#16181d}.grid{stroke:#31353d}.axis{stroke:#777}${colours(1)}}`,
  ].join('');
}

function tickText({ format }: PlotAxis, value: number): string {
  return format?.(value) ?? value.toLocaleString('en', { maximumSignificantDigits: 3 });
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
