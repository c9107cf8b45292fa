// Random programs against the store (program.ts). Seeds are fixed, so that a failure repeats: POLYLOG_CRASH_RUNS sets
// how many run, POLYLOG_CRASH_SEED runs one.
import { describe, it } from 'vitest';
import { runProgram } from './program.ts';

const RUNS = Number(process.env['POLYLOG_CRASH_RUNS'] ?? 1000);
const FIRST_SEED = Number(process.env['POLYLOG_CRASH_FIRST'] ?? 1);
const ONE_SEED = process.env['POLYLOG_CRASH_SEED'];

describe('random programs on a file system that forgets', () => {
  const seeds =
    ONE_SEED === undefined
      ? Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index)
      : [Number(ONE_SEED)];

  it(`keep what they promised (${seeds.length} seeds)`, { timeout: 3_600_000 }, async () => {
    for (const seed of seeds) await runProgram(seed);
  });
});
