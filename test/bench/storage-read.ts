// Reads of a large log from its files: sequential against `cat` and against plain reads of node, at random places by
// offset, with the page cache warm and cold; and what its index takes.
// Run: npx tsx test/bench/storage-read.ts [--gib 1] [--batch 16] [--directory DIR]. Each figure stands beside its bar.
import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import type { LogStore, PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';
import {
  benchOptions,
  benchPartition,
  dropFromCache,
  fill,
  judge,
  logFilesIn,
  percentile,
  sizeOf,
} from './filled-store.ts';

const MIB = 1024 * 1024;
const options = await benchOptions();

function catFiles(paths: readonly string[]): number {
  const started = performance.now();
  execFileSync('sh', ['-c', 'cat "$@" > /dev/null', 'sh', ...paths]);
  return performance.now() - started;
}

async function plainReads(paths: readonly string[]): Promise<number> {
  const bytes = Buffer.alloc(MIB);
  const started = performance.now();
  for (const path of paths) {
    const file = await open(path, 'r');
    for (let position = 0; ; ) {
      const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
      if (bytesRead === 0) break;
      position += bytesRead;
    }
    await file.close();
  }
  return performance.now() - started;
}

async function logReads(log: PartitionLog, maxBytes: number, withRecords: boolean): Promise<number> {
  const cursor = new BatchCursor();
  const end = log.flushedOffset;
  const started = performance.now();
  for (let offset = log.logStartOffset; offset < end; ) {
    const range = log.readCached(offset, maxBytes, end) ?? (await log.read(offset, maxBytes, end));
    if (withRecords) {
      cursor.reset(range);
      while (cursor.nextBatch()) while (cursor.nextRecord());
    }
    range.release?.();
    offset = range.nextOffset;
  }
  return performance.now() - started;
}

async function sequential(log: PartitionLog, paths: readonly string[], cold: boolean): Promise<void> {
  const bytes = log.byteSize;
  const ways: readonly (readonly [string, () => number | Promise<number>])[] = [
    ['cat', () => catFiles(paths)],
    ['node, 1 MiB a read', () => plainReads(paths)],
    ['log, 1 MiB a read', () => logReads(log, MIB, false)],
    ['log, 64 KiB a read', () => logReads(log, 64 * 1024, false)],
    ['log, 1 MiB a read, each record', () => logReads(log, MIB, true)],
  ];
  const best = ways.map(() => Number.POSITIVE_INFINITY);
  // Of a large log each pass is long enough to say something by itself.
  const rounds = options.gib > 4 ? 1 : 3;
  for (let round = 0; round < rounds; round++) {
    for (const [index, [, run]] of ways.entries()) {
      if (cold && !dropFromCache(paths))
        return console.log('the page cache cannot be dropped here: no cold figures');
      best[index] = Math.min(best[index]!, await run()); // as long as `ways`
    }
  }
  const state = cold ? 'cold' : 'warm';
  for (const [index, [name]] of ways.entries()) {
    console.log(`       ${state} page cache, ${name}: ${(bytes / best[index]! / 1e6).toFixed(2)} GB/s`);
  }
  const ratio = best[2]! / best[0]!;
  judge(`sequential, ${state}: time of the log against cat`, `${ratio.toFixed(2)}×`, '≤ 1.5×', ratio <= 1.5);
  const ratioOfNode = best[2]! / best[1]!;
  console.log(`       the same against node's plain reads: ${ratioOfNode.toFixed(2)}×`);
}

async function atRandom(log: PartitionLog, paths: readonly string[], cold: boolean): Promise<void> {
  if (cold && !dropFromCache(paths)) return;
  const times: number[] = [];
  const end = log.flushedOffset;
  for (let turn = 0; turn < (cold ? 2000 : 10_000); turn++) {
    const offset = Math.floor(Math.random() * end);
    const started = performance.now();
    const range = await log.read(offset, 1, end);
    times.push(performance.now() - started);
    if (range.nextOffset <= offset) throw new Error(`nothing at ${offset}`);
    range.release?.();
  }
  times.sort((a, b) => a - b);
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  const barMs = cold ? 5 : 0.3;
  const what = `get by offset at a random place, ${cold ? 'cold' : 'warm'} page cache`;
  judge(what, `p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms`, `p99 < ${barMs} ms`, p99 < barMs);
}

async function reopened(): Promise<{ readonly store: LogStore; readonly log: PartitionLog }> {
  const store = await openBenchStore(options.directory);
  return { store, log: await store.openPartition(benchPartition(0)) };
}

try {
  const first = await reopened();
  await fill(first.log, options);
  await first.store.close();

  const { store, log } = await reopened();
  const paths = logFilesIn(options.directory, 0);
  const share = (100 * sizeOf(join(options.directory, 'data/index'))) / log.byteSize;
  judge(
    `index of ${options.batchRecords} KiB batches`,
    `${share.toFixed(3)} % of the log`,
    '< 0.5 %',
    share < 0.5,
  );
  catFiles(paths);
  await sequential(log, paths, false);
  await atRandom(log, paths, false);
  await sequential(log, paths, true);
  await atRandom(log, paths, true);
  await store.close();
} finally {
  await options.finish();
}
