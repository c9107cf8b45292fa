// Openings: of a large log after a clean stop and after SIGKILL, of a thousand partitions, and what twenty thousand
// idle ones take of memory and of open files.
// Run: npx tsx test/bench/storage-open.ts [--gib 1] [--directory DIR]. Each figure stands beside its bar.
import { openBenchStore } from './bench-store.ts';
import { type BenchOptions, benchOptions, benchPartition, fill, judge } from './filled-store.ts';
import {
  measureIdlePartitions,
  openThousand,
  reopenAfterCleanStop,
  reopenAfterKill,
  VICTIM,
} from './openings.ts';

const GIB = 1024 ** 3;
const MIB = 1024 * 1024;
const options = await benchOptions();

async function afterCleanStop({ directory, gib }: BenchOptions): Promise<void> {
  const { logBytes, segments, readKiB, ms, logMs } = await reopenAfterCleanStop(directory);
  judge(
    `reopening ${(logBytes / GIB).toFixed(1)} GiB in ${segments} segments after a clean stop`,
    `read ${readKiB.toFixed(1)} KiB in ${ms.toFixed(0)} ms, ${logMs.toFixed(0)} of them without the index`,
    'less than 1 MiB in less than 200 ms',
    readKiB < 1024 && ms < 200,
  );
  if (gib < 10) console.log('       (the bar is of 10 GiB: --gib 10)');
}

/** Appends a gigabyte at most and dies of SIGKILL in between. */
async function victim({ directory }: BenchOptions): Promise<void> {
  const store = await openBenchStore(directory);
  const log = await store.openPartition(benchPartition(1));
  await fill(log, { gib: log.byteSize / GIB + 0.3, batchRecords: 16 });
  process.kill(process.pid, 'SIGKILL');
}

async function afterKill({ directory }: BenchOptions): Promise<void> {
  const { logBytes, scannedBytes, megabytesPerSecond, flushMs } = await reopenAfterKill(directory);
  judge(
    `reopening ${(logBytes / MIB).toFixed(0)} MiB after SIGKILL`,
    `scanned ${(scannedBytes / MIB).toFixed(0)} MiB at ${(megabytesPerSecond / 1_000).toFixed(2)} GB/s, flushed it in ${flushMs.toFixed(0)} ms`,
    'past the checkpoint only (64 MiB and what was in flight), ≥ 0.5 GB/s',
    scannedBytes < 128 * MIB && (megabytesPerSecond >= 500 || scannedBytes < MIB),
  );
}

async function thousandPartitions({ directory }: BenchOptions): Promise<void> {
  for (const what of ['new', 'closed']) {
    const ms = await openThousand(directory, 1_000);
    judge(`opening 1,000 ${what} partitions on this disk`, `${ms.toFixed(0)} ms`, '< 1 s', ms < 1000);
  }
}

function idlePartitions(count: number): void {
  const { bytesEach, openFilesMax, openFiles, msPerThousand } = measureIdlePartitions(count);
  judge(
    `${count.toLocaleString('en')} idle partitions, each with a segment`,
    `${(bytesEach / 1024).toFixed(2)} KiB of memory each; ${openFilesMax} files open while all were appended to, ${openFiles} now`,
    'less than 4 KiB each, 1,000 files',
    bytesEach < 4096 && openFilesMax < 1000,
  );
  judge('opening a thousand of them', `${msPerThousand.toFixed(0)} ms`, '< 1 s', msPerThousand < 1000);
}

if (process.env[VICTIM] !== undefined) {
  await victim(options);
} else {
  try {
    const store = await openBenchStore(options.directory);
    await fill(await store.openPartition(benchPartition(0)), options);
    await store.close();
    await afterCleanStop(options);
    await afterKill(options);
    await thousandPartitions(options);
    idlePartitions(options.partitions);
  } finally {
    await options.finish();
  }
}
