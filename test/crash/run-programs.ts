// Runs random programs (program.ts) in parts, so that two workers share them. Seeds are fixed, so that a failure
// repeats: POLYLOG_CRASH_RUNS sets how many run, POLYLOG_CRASH_SEED runs one.
import { expect } from 'vitest';
import { type Happened, runProgram } from './program.ts';

const RUNS = Number(process.env['POLYLOG_CRASH_RUNS'] ?? 1200);
const FIRST_SEED = Number(process.env['POLYLOG_CRASH_FIRST'] ?? 1);
const ONE_SEED = process.env['POLYLOG_CRASH_SEED'];
const PARTS = 2;

/** Of `count` programs something of each kind must have happened, or they prove nothing. */
const MUST_HAPPEN = [
  'log.tail-cut',
  'log.failed',
  'topic.set-aside',
  'compaction.done',
  'log.background-failed',
];
const PROGRAMS_MIN = 500;

/** @param part from 0 on */
export function seedsOf(part: number): readonly number[] {
  if (ONE_SEED !== undefined) return part === 0 ? [Number(ONE_SEED)] : [];
  const seeds = Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index);
  return seeds.filter((_, index) => index % PARTS === part);
}

export async function runPrograms(seeds: readonly number[]): Promise<void> {
  const happened: Happened = new Map();
  for (const seed of seeds) await runProgram(seed, happened);
  if (seeds.length < PROGRAMS_MIN) return;
  expect(MUST_HAPPEN.filter((event) => !happened.has(event))).toEqual([]);
}
