// What `npm run bench -- storage` measures: the store without a hub around it, in this process, against plain Node on the
// same disk and against itself. `--gib 10` is the size that the bars of a large log are about.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { openBenchStore } from './bench-store.ts';
import { compactBeside } from './compaction-load.ts';
import { benchPartition, dropFromCache, fill, logFilesIn, sizeOf } from './filled-store.ts';
import { openThousand, reopenAfterCleanStop, reopenAfterKill } from './openings.ts';
import type { Bench, Probe, Probing } from './probe.ts';
import { say } from './report.ts';
import { PLAIN_NODE, type Result } from './scenario.ts';
import { percentile } from './statistics.ts';
import {
  type Appended,
  appendFor,
  catFiles,
  logReads,
  partitionOf,
  plainReads,
  plainWritesFor,
  randomReads,
} from './storage-loads.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const APPEND_MS = 1_000;
const ONE_APPENDER = 'one appender';
const noEnd = async (): Promise<void> => undefined;

export const storageScenarios: readonly Probe[] = [
  {
    name: 'durable appends of one record by 64 who wait for their own',
    metric: 'recordsPerSecond',
    bars: [
      { against: ONE_APPENDER, metric: 'recordsPerSecond', atLeast: 20 },
      { metric: 'batchesPerFlush', atLeast: 10 },
    ],
    open: (bench) =>
      withStore(bench, (append) => ({
        [ONE_APPENDER]: async () => ofAppends(await append(1, 1), 1),
        hub: async () => ofAppends(await append(64, 1), 1),
      })),
  },
  againstPlainWrites(16),
  againstPlainWrites(256),
  {
    name: 'reopening a large log after a clean stop',
    metric: 'ms',
    bars: [
      { metric: 'ms', atMost: 200 },
      { metric: 'readKiB', atMost: 1024 },
    ],
    async open(bench) {
      const directory = await largeLog(bench);
      return { ways: { hub: async () => ofReopening(directory) }, close: noEnd };
    },
  },
  {
    name: 'reopening a log after SIGKILL: what it scans',
    metric: 'megabytesPerSecond',
    bars: [{ metric: 'megabytesPerSecond', atLeast: 500 }],
    async open({ directory }) {
      const hub = async () => {
        const { megabytesPerSecond, scannedBytes } = await reopenAfterKill(directory);
        return { megabytesPerSecond, readKiB: scannedBytes / 1024 };
      };
      return { ways: { hub }, close: noEnd };
    },
  },
  {
    name: 'opening a thousand partitions at once',
    metric: 'ms',
    bars: [{ metric: 'ms', atMost: 1000 }],
    async open({ directory }) {
      let first = 1000;
      const made = async () => ({ ms: await openThousand(directory, first) });
      return {
        ways: {
          // Another thousand each time; those are then opened again.
          'new ones': async () => {
            first += 1000;
            return made();
          },
          hub: made,
        },
        close: noEnd,
      };
    },
  },
  randomly('warm'),
  randomly('cold'),
  {
    name: 'index of a log of 1 KiB records in batches of 16',
    metric: 'indexPercent',
    bars: [{ metric: 'indexPercent', atMost: 0.5 }],
    isOnce: true,
    async open(bench) {
      const directory = await largeLog(bench);
      const hub = async () => {
        const logBytes = logFilesIn(directory, 0).reduce((sum, path) => sum + statSync(path).size, 0);
        return { indexPercent: (100 * sizeOf(join(directory, 'data/index'))) / logBytes };
      };
      return { ways: { hub }, close: noEnd };
    },
  },
  {
    name: 'a large log read from its files, 1 MiB a read',
    metric: 'megabytesPerSecond',
    // One and a half times as long.
    bars: [{ against: 'cat', metric: 'megabytesPerSecond', atLeast: 1 / 1.5 }],
    open: openSequential,
  },
  {
    name: 'durable appends beside a compaction of 1 KiB records, a tenth of them with a key of their own',
    metric: 'p99Ms',
    bars: [{ against: 'idle', metric: 'p99Ms', atMost: 3 }],
    isOnce: true,
    open: openCompaction,
  },
];

type AppendOnce = (appenders: number, records: number) => Promise<Appended>;

async function withStore(
  { directory, scale }: Bench,
  waysOf: (append: AppendOnce) => Probing['ways'],
): Promise<Probing> {
  const store = await openBenchStore(directory);
  const log = await store.openPartition(partitionOf(0));
  const durationMs = Math.max(50, APPEND_MS * scale);
  const append: AppendOnce = (appenders, records) =>
    appendFor(store, log, { appenders, records, durationMs });
  return { ways: waysOf(append), close: () => store.close() };
}

const ofAppends = ({ batches, bytes, flushes, seconds }: Appended, records: number): Result => ({
  records: batches * records,
  recordsPerSecond: (batches * records) / seconds,
  megabytesPerSecond: bytes / seconds / 1e6,
  batchesPerFlush: batches / flushes,
});

/** Blocks as large as what the store has just flushed at once. */
function againstPlainWrites(appenders: number): Probe {
  return {
    name: `durable appends of 100 records by ${appenders} who wait for their own`,
    metric: 'megabytesPerSecond',
    bars: [{ against: PLAIN_NODE, metric: 'megabytesPerSecond', atLeast: 0.6 }],
    async open(bench) {
      const file = await open(join(bench.directory, 'plain'), 'w');
      let blockBytes = 0;
      const durationMs = Math.max(50, APPEND_MS * bench.scale);
      const { ways, close } = await withStore(bench, (append) => ({
        hub: async () => {
          const appended = await append(appenders, 100);
          blockBytes = Math.round(appended.bytes / appended.flushes);
          return ofAppends(appended, 100);
        },
        [PLAIN_NODE]: async () => {
          const { bytes, seconds } = await plainWritesFor(file, blockBytes, durationMs);
          return { megabytesPerSecond: bytes / seconds / 1e6 };
        },
      }));
      return {
        ways,
        async close() {
          await file.close();
          await close();
        },
      };
    },
  };
}

/** Filled once for all rows of a run. */
async function largeLog({ suiteDirectory, gib, scale }: Bench): Promise<string> {
  const directory = join(suiteDirectory, 'large-log');
  if (existsSync(directory)) return directory;
  mkdirSync(directory);
  const store = await openBenchStore(directory);
  await fill(await store.openPartition(benchPartition(0)), { gib: gib * scale, batchRecords: 16 }, say);
  await store.close();
  return directory;
}

async function ofReopening(directory: string): Promise<Result> {
  const { ms, readKiB } = await reopenAfterCleanStop(directory);
  return { ms, readKiB };
}

function randomly(cache: 'warm' | 'cold'): Probe {
  return {
    name: `one read by offset at a random place of a large log, page cache ${cache}`,
    metric: 'p99Ms',
    bars: [{ metric: 'p99Ms', atMost: cache === 'warm' ? 0.3 : 5 }],
    async open(bench) {
      const directory = await largeLog(bench);
      const paths = logFilesIn(directory, 0);
      const store = await openBenchStore(directory);
      const log = await store.openPartition(benchPartition(0));
      const count = Math.max(100, (cache === 'warm' ? 10_000 : 2_000) * bench.scale);
      if (cache === 'warm') catFiles(paths);
      const hub = async () => {
        if (cache === 'cold' && !dropFromCache(paths))
          throw new Error('the page cache cannot be dropped here');
        const times = await randomReads(log, count);
        return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
      };
      return { ways: { hub }, close: () => store.close() };
    },
  };
}

async function openSequential(bench: Bench): Promise<Probing> {
  const directory = await largeLog(bench);
  const paths = logFilesIn(directory, 0);
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0);
  // Files are what is read here, not the store's memory.
  const store = await openBenchStore(directory, { tailCacheBytes: 0 });
  const log = await store.openPartition(benchPartition(0));
  const rate = (ms: number): Result => ({ megabytesPerSecond: bytes / ms / 1e3 });
  return {
    ways: {
      cat: async () => rate(catFiles(paths)),
      [PLAIN_NODE]: async () => rate(await plainReads(paths)),
      hub: async () => rate(await logReads(log, MIB, false)),
      'each record looked at': async () => rate(await logReads(log, MIB, true)),
    },
    close: () => store.close(),
  };
}

async function openCompaction({ directory, gib, scale }: Bench): Promise<Probing> {
  const result = await compactBeside(directory, {
    logBytes: Math.min(1, gib) * scale * GIB,
    appenders: 8,
    bytesPerSecond: 64 * MIB,
    idleMs: 4_000 * Math.min(1, Math.max(0.1, scale)),
  });
  const p99 = (times: readonly number[]) => percentile(times, 0.99);
  return {
    ways: {
      idle: async () => ({ p99Ms: (p99(result.idleBefore) + p99(result.idleAfter)) / 2 }),
      hub: async () => ({ p50Ms: percentile(result.during, 0.5), p99Ms: p99(result.during) }),
    },
    close: noEnd,
  };
}
