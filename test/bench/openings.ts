// Openings of a store that several measurements look at: of a large log after a clean stop and after SIGKILL, of a thousand
// partitions, and of many that nobody uses.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openBenchStore } from './bench-store.ts';
import { benchPartition, CountingFileSystem, dropFromCache, logFilesIn } from './filled-store.ts';
import type { IdlePartitions } from './idle-partitions.ts';

/** Set in the environment of the program that is to die. */
export const VICTIM = 'POLYLOG_BENCH_VICTIM';
const KIB = 1024;

export interface Reopening {
  readonly logBytes: number;
  readonly segments: number;
  readonly readKiB: number;
  readonly ms: number;
  /** Without the index, which all logs share. */
  readonly logMs: number;
}

/** Of the log that {@link benchPartition} 0 names; nothing of it is in the page cache. */
export async function reopenAfterCleanStop(directory: string): Promise<Reopening> {
  dropFromCache(logFilesIn(directory, 0));
  const counting = new CountingFileSystem();
  const startedMs = performance.now();
  const store = await openBenchStore(directory, { fileSystem: counting.fileSystem });
  const openedMs = performance.now();
  const log = await store.openPartition(benchPartition(0));
  const endedMs = performance.now();
  const reopening = {
    logBytes: log.byteSize,
    segments: log.segmentCount,
    readKiB: counting.readBytes / KIB,
    ms: endedMs - startedMs,
    logMs: endedMs - openedMs,
  };
  await store.close();
  return reopening;
}

export interface Recovery {
  readonly logBytes: number;
  readonly scannedBytes: number;
  readonly megabytesPerSecond: number;
  readonly flushMs: number;
}

/** Of a log that a process appended to until it was killed in the middle of it. */
export async function reopenAfterKill(directory: string): Promise<Recovery> {
  const script = join(import.meta.dirname, 'storage-open.ts');
  const child = spawnSync(process.execPath, [...process.execArgv, script, '--directory', directory], {
    env: { ...process.env, [VICTIM]: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (child.signal !== 'SIGKILL') throw new Error(`the child ended with ${child.status}`);
  // Epochs are seconds: that of this opening is to be above that of the process which died.
  await setTimeout(1_000);
  const counting = new CountingFileSystem();
  const store = await openBenchStore(directory, { fileSystem: counting.fileSystem });
  const startedMs = performance.now();
  const log = await store.openPartition(benchPartition(1));
  // What the killed process left in memory goes to the disk first: that is the disk's time.
  const seconds = (performance.now() - startedMs - counting.datasyncMs) / 1_000;
  const { recoveredBytes } = store.counters;
  const recovery = {
    logBytes: log.byteSize,
    scannedBytes: recoveredBytes,
    megabytesPerSecond: recoveredBytes / seconds / 1e6,
    flushMs: counting.datasyncMs,
  };
  await store.close();
  return recovery;
}

/** Milliseconds for a thousand at once, of numbers from `first` on: new ones, or those of an earlier call. */
export async function openThousand(directory: string, first: number): Promise<number> {
  const partitions = Array.from({ length: 1_000 }, (_, index) => index + first);
  const store = await openBenchStore(directory);
  const startedMs = performance.now();
  await Promise.all(partitions.map((each) => store.openPartition(benchPartition(each))));
  const ms = performance.now() - startedMs;
  await store.close();
  return ms;
}

/** Measured by idle-partitions.ts, compiled as what is shipped is. */
export function measureIdlePartitions(count: number): IdlePartitions {
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
    const said = execFileSync(process.execPath, [script, String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(said.toString()) as IdlePartitions; // what it prints
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}
