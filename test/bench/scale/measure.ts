// Measures a curve: at each point a hub with so much of what grows, and beside it one with as little as there can be; both
// are warmed up alike and then measured in turns, so that what the machine does meanwhile hits both. The first point is
// measured against a second hub of its own kind: how far its ratio is from 1 is what ratios are worth on this machine.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { endOthers, runningChildren } from '../../helpers/child.ts';
import { median } from '../statistics.ts';
import type { Curve, Figure, Sample, World } from './curve.ts';

const WARM_UPS = 2;

export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export interface MeasuredPoint {
  readonly point: number;
  /** Microseconds a unit. */
  readonly cpu: Spread;
  readonly wall: Spread;
  /** To the smallest, measured in turns with it: the medians of the pairs. */
  readonly cpuRatio: number;
  readonly wallRatio: number;
}

export interface MeasuredFigure {
  readonly name: string;
  readonly unit: string;
  readonly expectation: string;
  readonly points: readonly MeasuredPoint[];
}

export interface MeasuredCurve {
  readonly name: string;
  readonly figures: readonly MeasuredFigure[];
  readonly failed: readonly { readonly point: number; readonly message: string }[];
}

export interface CurveOptions {
  readonly rounds: number;
  /** Larger points are left out. */
  readonly pointMax: number;
  /** For the data of the hubs; empty again afterwards. */
  readonly directory: string;
  readonly say: (line: string) => void;
}

export async function measureCurve(curve: Curve, options: CurveOptions): Promise<MeasuredCurve> {
  const measured = curve.figures.map((figure) => ({ figure, points: [] as MeasuredPoint[] }));
  const failed: { point: number; message: string }[] = [];
  for (const point of curve.points) {
    if (point > options.pointMax) continue;
    const startMs = performance.now();
    try {
      await measurePoint(curve, point, options, (index, result) => measured[index]?.points.push(result));
      const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
      options.say(`  ${curve.axis.format(point)}: measured in ${seconds} s`);
    } catch (error) {
      // The other points are worth having.
      const message = error instanceof Error ? error.message : String(error);
      failed.push({ point, message });
      options.say(`  ${curve.axis.format(point)}: FAILED: ${message}`);
    }
  }
  return {
    name: curve.name,
    figures: measured.map(({ figure: { name, unit, expectation }, points }) => ({
      name,
      unit,
      expectation,
      points,
    })),
    failed,
  };
}

async function measurePoint(
  curve: Curve,
  point: number,
  { rounds, directory }: CurveOptions,
  onMeasured: (figure: number, result: MeasuredPoint) => void,
): Promise<void> {
  const [smallest = point] = curve.points;
  const worlds: World[] = [];
  const before = runningChildren();
  try {
    for (const [name, size] of [
      ['smallest', smallest],
      ['measured', point],
    ] as const)
      worlds.push(await curve.open(size, join(directory, name)));
    for (const [index, figure] of curve.figures.entries())
      onMeasured(index, await measureFigure(figure, worlds, point, rounds));
  } finally {
    for (const world of worlds) await world.close();
    // A world that could not be made whole has left its hub behind.
    await endOthers(before);
    for (const name of ['smallest', 'measured'])
      rmSync(join(directory, name), { recursive: true, force: true });
  }
}

async function measureFigure(
  figure: Figure,
  [smallest, measured]: readonly World[],
  point: number,
  rounds: number,
): Promise<MeasuredPoint> {
  if (smallest === undefined || measured === undefined) throw new Error('two hubs are needed');
  // A single round is a trial whether it works.
  const warmUps = figure.isCold === true ? 0 : Math.min(WARM_UPS, rounds - 1);
  for (let round = 0; round < warmUps; round++)
    for (const world of [smallest, measured]) await figure.measure(world);
  const pairs: { readonly base: Sample; readonly sample: Sample }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Each of both is the first as often as the other.
    const isBaseFirst = round % 2 === 0;
    const first = await figure.measure(isBaseFirst ? smallest : measured);
    const second = await figure.measure(isBaseFirst ? measured : smallest);
    pairs.push(isBaseFirst ? { base: first, sample: second } : { base: second, sample: first });
  }
  const ratio = (costOf: (sample: Sample) => number): number =>
    median(pairs.map(({ base, sample }) => costOf(sample) / costOf(base)));
  const samples = pairs.map(({ sample }) => sample);
  return {
    point,
    cpu: spreadOf(samples.map(cpuCost)),
    wall: spreadOf(samples.map(wallCost)),
    cpuRatio: significant(ratio(cpuCost)),
    wallRatio: significant(ratio(wallCost)),
  };
}

const cpuCost = ({ cpuMicroseconds, units }: Sample): number => cpuMicroseconds / units;
const wallCost = ({ wallMicroseconds, units }: Sample): number => wallMicroseconds / units;

function spreadOf(values: readonly number[]): Spread {
  return {
    median: significant(median(values)),
    lowest: significant(Math.min(...values)),
    highest: significant(Math.max(...values)),
  };
}

function significant(value: number): number {
  return Number(value.toPrecision(3));
}
