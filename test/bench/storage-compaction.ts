// What a compaction takes from those who append meanwhile: p99 of durable appends to another partition before, during
// and after it, and its own speed.
// Run: npx tsx test/bench/storage-compaction.ts [--mib 256] [--appenders 8] [--rate 64] [--directory DIR]
// (`--mib 1024` is the bar's size; `--rate` in MiB per second, 0 = as fast as it goes.) The ratio is what counts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compactBeside } from './compaction-load.ts';
import { percentile } from './statistics.ts';

const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '256' },
    appenders: { type: 'string', default: '8' },
    rate: { type: 'string', default: '64' },
    directory: { type: 'string', default: tmpdir() },
  },
});
const rate = Number(values.rate);
const directory = await mkdtemp(join(values.directory, 'polylog-bench-'));
try {
  const result = await compactBeside(directory, {
    logBytes: Number(values.mib) * MIB,
    appenders: Number(values.appenders),
    bytesPerSecond: rate === 0 ? Number.POSITIVE_INFINITY : rate * MIB,
    idleMs: 4_000,
  });
  const { idleBefore, during, idleAfter, bytesBefore, bytesAfter, tookMs, cpuMs } = result;
  const idleP99 = (percentile(idleBefore, 0.99) + percentile(idleAfter, 0.99)) / 2;
  const row = (name: string, samples: readonly number[]) =>
    console.log(
      `${name.padEnd(18)} p50 ${percentile(samples, 0.5).toFixed(2)} ms, p99 ${percentile(samples, 0.99).toFixed(2)} ms, ` +
        `max ${percentile(samples, 1).toFixed(2)} ms, ${samples.length} appends`,
    );
  row('idle before', idleBefore);
  row('during compaction', during);
  row('idle after', idleAfter);
  console.log(`p99 during / idle  ${(percentile(during, 0.99) / idleP99).toFixed(2)} (bar: 3)`);
  console.log(
    `compaction         ${(bytesBefore / MIB).toFixed(0)} → ${(bytesAfter / MIB).toFixed(0)} MiB in ${(tookMs / 1000).toFixed(1)} s: ` +
      `${(bytesBefore / MIB / (tookMs / 1000)).toFixed(0)} MB/s of log; CPU of the process meanwhile ${(cpuMs / tookMs).toFixed(2)}`,
  );
} finally {
  await rm(directory, { recursive: true, force: true });
}
