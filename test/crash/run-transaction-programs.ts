// Runs random programs (transaction-program.ts) in parts, so that two workers share them. Seeds are fixed, so that a failure
// repeats: POLYLOG_TRANSACTION_RUNS sets how many run, POLYLOG_TRANSACTION_SEED runs one, POLYLOG_TRANSACTION_STEPS sets how
// long they are.
import { expect } from 'vitest';
import { type Happened, runTransactionProgram } from './transaction-program.ts';

const RUNS = Number(process.env['POLYLOG_TRANSACTION_RUNS'] ?? 400);
const FIRST_SEED = Number(process.env['POLYLOG_TRANSACTION_FIRST'] ?? 1);
const ONE_SEED = process.env['POLYLOG_TRANSACTION_SEED'];
const PARTS = 2;

/** Of `PROGRAMS_MIN` programs each of these must have happened, or they prove nothing. */
const MUST_HAPPEN = [
  ...['commit', 'abort', 'aborted by init', 'timed out', 'fenced'],
  ...['crash', 'crash in the middle', 'asked again'],
  ...['disk faults', 'retention', 'topic deleted', 'lost', 'forgotten', 'epochs run out'],
];
const PROGRAMS_MIN = 200;

/** @param part from 0 on */
export function transactionSeedsOf(part: number): readonly number[] {
  if (ONE_SEED !== undefined) return part === 0 ? [Number(ONE_SEED)] : [];
  const seeds = Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index);
  return seeds.filter((_, index) => index % PARTS === part);
}

export async function runTransactionPrograms(seeds: readonly number[]): Promise<void> {
  const happened: Happened = new Map();
  for (const seed of seeds) await runTransactionProgram(seed, happened);
  if (seeds.length < PROGRAMS_MIN) return;
  expect(MUST_HAPPEN.filter((event) => !happened.has(event))).toEqual([]);
}
