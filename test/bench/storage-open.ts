// Openings: of a large log after a clean stop and after SIGKILL, of a thousand partitions, and what twenty thousand
// idle ones take of memory and of open files.
// Run: npx tsx test/bench/storage-open.ts [--gib 1] [--directory DIR]. Each figure stands beside its bar.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBenchStore } from './bench-store.ts';
import {
  type BenchOptions,
  benchOptions,
  benchPartition,
  CountingFileSystem,
  dropFromCache,
  fill,
  judge,
  logFilesIn,
} from './filled-store.ts';

const GIB = 1024 ** 3;
const MIB = 1024 * 1024;
const VICTIM = 'POLYLOG_BENCH_VICTIM';
const options = await benchOptions();

async function afterCleanStop({ directory, gib }: BenchOptions): Promise<void> {
  dropFromCache(logFilesIn(directory, 0));
  const counting = new CountingFileSystem();
  const started = performance.now();
  const store = await openBenchStore(directory, { fileSystem: counting.fileSystem });
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
  const store = await openBenchStore(directory, { fileSystem: counting.fileSystem });
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

/** Compiled as what is shipped is. */
function idlePartitions(count: number): void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const output = mkdtempSync(join(tmpdir(), 'polylog-bench-'));
  try {
    const compilerOptions = {
      noEmit: false,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: root,
      outDir: output,
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const include = [join(root, 'storage'), join(root, 'test/bench/idle-partitions.ts')];
    const project = join(output, 'tsconfig.json');
    writeFileSync(
      project,
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include }),
    );
    writeFileSync(join(output, 'package.json'), JSON.stringify({ type: 'module' }));
    symlinkSync(join(root, 'node_modules'), join(output, 'node_modules'));
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { stdio: 'inherit' });
    const script = join(output, 'test/bench/idle-partitions.js');
    execFileSync(process.execPath, [script, String(count)], { stdio: 'inherit' });
  } finally {
    rmSync(output, { recursive: true, force: true });
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
    idlePartitions(options.partitions);
  } finally {
    await options.finish();
  }
}
