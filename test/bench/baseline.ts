// What plain Node does with the same bytes on the same disk: write a group, fdatasync it, take the next; or, at a pace, what
// has come by then. No broker that promises durability can be much faster than this, so the ratio to it says more than a
// number of one machine.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Group, type Result, SECONDS_MAX } from './scenario.ts';
import { percentile } from './statistics.ts';

/** Records per second, and how long a group takes; `records` is how many to write, in whole groups and for three seconds at most. */
export function measureBaseline(directory: string, group: Group, records: number): Result {
  const path = join(directory, 'baseline.log');
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(group.groupBytes, 'x');
  const flushesMs: number[] = [];
  const startMs = performance.now();
  let nowMs = startMs;
  let written = 0;
  try {
    while (written < records && nowMs - startMs < SECONDS_MAX * 1_000) {
      const beforeMs = nowMs;
      writeSync(file, bytes);
      fdatasyncSync(file);
      nowMs = performance.now();
      flushesMs.push(nowMs - beforeMs);
      written += group.groupRecords;
    }
    const perSecond = written / ((nowMs - startMs) / 1_000);
    flushesMs.sort((one, other) => one - other);
    return resultOf(perSecond, flushesMs);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

/**
 * Records that come `perSecond`, each durable with all that have come by then; the latencies are the records'. A disk that
 * stands still for ten milliseconds is one flush among a thousand, and a hundredth of a second's records.
 */
export function measurePacedBaseline(
  directory: string,
  group: Group,
  records: number,
  perSecond: number,
): Result {
  const recordBytes = group.groupBytes / group.groupRecords;
  const count = Math.min(records, Math.round(perSecond * SECONDS_MAX));
  const path = join(directory, 'baseline.log');
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(Math.ceil(count * recordBytes), 'x');
  const latenciesMs = new Float64Array(count);
  const startMs = performance.now();
  const dueMs = (record: number): number => startMs + (record * 1_000) / perSecond;
  try {
    for (let written = 0; written < count; ) {
      const come = Math.min(count, Math.floor(((performance.now() - startMs) * perSecond) / 1_000) + 1);
      if (come <= written) continue;
      writeSync(file, bytes, 0, Math.round((come - written) * recordBytes));
      fdatasyncSync(file);
      const doneMs = performance.now();
      for (; written < come; written++) latenciesMs[written] = doneMs - dueMs(written);
    }
    const achieved = count / ((performance.now() - startMs) / 1_000);
    latenciesMs.sort();
    return resultOf(achieved, latenciesMs);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

const resultOf = (perSecond: number, sortedMs: ArrayLike<number>): Result => ({
  ...{ recordsPerSecond: perSecond, deliveredPerSecond: perSecond },
  ...{ p50Ms: percentile(sortedMs, 0.5), p99Ms: percentile(sortedMs, 0.99) },
});
