// Openings: of a large log after a clean stop and after SIGKILL, of a thousand partitions, and what twenty thousand
// idle ones take of memory and of open files.
// Run: npx tsx test/bench/storage-open.ts [--gib 1] [--directory DIR]. Each figure stands beside its bar.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type BenchOptions,
  benchOptions,
  benchPartition,
  CountingFileSystem,
  dropFromCache,
  fill,
  judge,
  logFilesIn,
  openBenchStore,
} from './filled-store.ts';

const GIB = 1024 ** 3;
const MIB = 1024 * 1024;
const VICTIM = 'POLYLOG_BENCH_VICTIM';
const options = await benchOptions();

async function afterCleanStop({ directory, gib }: BenchOptions): Promise<void> {
  dropFromCache(logFilesIn(directory, 0));
  const counting = new CountingFileSystem();
  const started = performance.now();
  const store = await openBenchStore(directory, counting.fileSystem);
  const opened = performance.now();
  const log = await store.openPartition(benchPartition(0));
  const ended = performance.now();
  judge(
    `reopening ${(log.byteSize / GIB).toFixed(1)} GiB in ${log.segmentCount} segments after a clean stop`,
    `read ${(counting.readBytes / 1024).toFixed(1)} KiB in ${(ended - started).toFixed(0)} ms, ` +
      `${(ended - opened).toFixed(0)} of them without the index`,
    'less than 1 MiB in less than 200 ms',
    counting.readBytes < MIB && ended - started < 200,
  );
  await store.close();
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
  const script = fileURLToPath(import.meta.url);
  const child = spawnSync(process.execPath, [...process.execArgv, script, '--directory', directory], {
    env: { ...process.env, [VICTIM]: '1' },
    stdio: 'inherit',
  });
  if (child.signal !== 'SIGKILL') throw new Error(`the child ended with ${child.status}`);
  const counting = new CountingFileSystem();
  const store = await openBenchStore(directory, counting.fileSystem);
  const started = performance.now();
  const log = await store.openPartition({ ...benchPartition(1), leaderEpoch: 2 ** 31 });
  // What the killed process left in memory goes to the disk first: that is the disk's time.
  const seconds = (performance.now() - started - counting.datasyncMs) / 1000;
  const { recoveredBytes } = store.counters;
  const rate = recoveredBytes / seconds / 1e9;
  judge(
    `reopening ${(log.byteSize / MIB).toFixed(0)} MiB after SIGKILL`,
    `scanned ${(recoveredBytes / MIB).toFixed(0)} MiB at ${rate.toFixed(2)} GB/s, flushed it in ${counting.datasyncMs.toFixed(0)} ms`,
    'past the checkpoint only (64 MiB and what was in flight), ≥ 0.5 GB/s',
    recoveredBytes < 128 * MIB && (rate >= 0.5 || recoveredBytes < MIB),
  );
  await store.close();
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // the flag puts it there
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A function of its own, so that nothing of it is left when memory is measured. */
async function makeEach(directory: string, partitions: readonly number[]): Promise<void> {
  const store = await openBenchStore(directory);
  for (const each of partitions) {
    const log = await store.openPartition({ ...benchPartition(each), leaderEpoch: 1 });
    log.join((writer) => {
      writer.startRecord(1, Buffer.alloc(0), -1, -1, 0);
      writer.endRecord(Buffer.alloc(100), 0, 100, null);
    });
  }
  await store.close();
}

/** Each with a segment, as partitions have; on tmpfs when there is one, for it is not the disk that is measured. */
async function idlePartitions(count: number): Promise<void> {
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'polylog-bench-'));
  const partitions = Array.from({ length: count }, (_, index) => index);
  const openAll = async (leaderEpoch: number): Promise<Awaited<ReturnType<typeof openBenchStore>>> => {
    const store = await openBenchStore(directory);
    await Promise.all(
      partitions.map((each) => store.openPartition({ ...benchPartition(each), leaderEpoch })),
    );
    return store;
  };
  try {
    await makeEach(directory, partitions);
    const before = heapBytes();
    const started = performance.now();
    const store = await openAll(2);
    const ms = performance.now() - started;
    const each = (heapBytes() - before) / count;
    const openFiles = existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0;
    judge(
      `${count.toLocaleString('en')} idle partitions`,
      `${(each / 1024).toFixed(2)} KiB of memory each, ${openFiles} open files in the process`,
      'less than 4 KiB each, 1,000 files',
      each < 4096 && openFiles < 1000 + 50,
    );
    const perThousand = (1000 * ms) / count;
    judge('opening a thousand of them', `${perThousand.toFixed(0)} ms`, '< 1 s', perThousand < 1000);
    await store.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function thousandPartitions({ directory }: BenchOptions): Promise<void> {
  const partitions = Array.from({ length: 1000 }, (_, index) => index + 1000);
  for (const what of ['new', 'closed']) {
    const store = await openBenchStore(directory);
    const started = performance.now();
    await Promise.all(partitions.map((each) => store.openPartition(benchPartition(each))));
    const ms = performance.now() - started;
    judge(`opening 1,000 ${what} partitions on this disk`, `${ms.toFixed(0)} ms`, '< 1 s', ms < 1000);
    await store.close();
  }
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
    await idlePartitions(options.partitions);
  } finally {
    await options.finish();
  }
}
