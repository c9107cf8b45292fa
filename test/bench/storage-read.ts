// Reads of a large log from its files: sequential against `cat` and against plain reads of node, at random places by
// offset, with the page cache warm and cold; and what its index takes.
// Run: npx tsx test/bench/storage-read.ts [--gib 1] [--batch 16] [--directory DIR]. Each figure stands beside its bar.
import { join } from 'node:path';
import type { LogStore, PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';
import {
  benchOptions,
  benchPartition,
  dropFromCache,
  fill,
  judge,
  logFilesIn,
  sizeOf,
} from './filled-store.ts';
import { percentile } from './statistics.ts';
import { catFiles, logReads, plainReads, randomReads } from './storage-loads.ts';

const MIB = 1024 * 1024;
const options = await benchOptions();

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
  const times = await randomReads(log, cold ? 2000 : 10_000);
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
