// What the store makes of a disk: durable appends by one and by many waiting appenders, throughput against plain
// writes flushed as often, reads from memory and from files, openings of many partitions.
// Run: npx tsx test/bench/storage-append.ts [directory]. Ratios within one run are what counts.
import { statSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import type { LogStore, PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';
import { appendFor, partitionOf, plainReads, plainWritesFor } from './storage-loads.ts';

const SECONDS = 2;
const TURNS = 10;
const directory = await mkdtemp(join(process.argv[2] ?? tmpdir(), 'polylog-bench-'));
const openStore = (): Promise<LogStore> => openBenchStore(directory);

async function appenders(
  store: LogStore,
  log: PartitionLog,
  count: number,
  records: number,
): Promise<number> {
  const appends = { appenders: count, records, durationMs: SECONDS * 1_000 };
  const { seconds, batches, flushes, bytes } = await appendFor(store, log, appends);
  console.log(
    `${String(count).padStart(4)} appenders × ${String(records).padStart(3)} records: ` +
      `${Math.round((batches * records) / seconds).toLocaleString('en')} records/s, ` +
      `${Math.round(batches / seconds).toLocaleString('en')} batches/s, ${(batches / flushes).toFixed(1)} batches a flush, ` +
      `${(bytes / seconds / 1e6).toFixed(1)} MB/s, ${Math.round(bytes / flushes).toLocaleString('en')} bytes a flush`,
  );
  return batches / seconds;
}

/**
 * Appends of batches of 100 records against plain sequential writes that are flushed after as many bytes. They take
 * turns of a fraction of a second: a disk is not the same from one second to the next.
 */
async function againstPlainWrites(store: LogStore, log: PartitionLog, count: number): Promise<void> {
  const file = await open(join(directory, 'plain'), 'w');
  const ofAppends = { bytes: 0, seconds: 0 };
  const ofWrites = { bytes: 0, seconds: 0 };
  const durationMs = (SECONDS * 1_000) / TURNS;
  for (let turn = 0; turn < TURNS; turn++) {
    const appended = await appendFor(store, log, { appenders: count, records: 100, durationMs });
    ofAppends.bytes += appended.bytes;
    ofAppends.seconds += appended.seconds;
    const blockBytes = Math.round(appended.bytes / appended.flushes);
    const written = await plainWritesFor(file, blockBytes, durationMs);
    ofWrites.bytes += written.bytes;
    ofWrites.seconds += written.seconds;
  }
  await file.close();
  const appended = ofAppends.bytes / ofAppends.seconds / 1e6;
  const written = ofWrites.bytes / ofWrites.seconds / 1e6;
  console.log(
    `${String(count).padStart(4)} appenders × 100 records in turns with plain writes, flushed as often: ` +
      `${appended.toFixed(1)} MB/s and ${written.toFixed(1)} MB/s, ${((100 * appended) / written).toFixed(0)} %`,
  );
}

async function scan(log: PartitionLog, from: number, what: string): Promise<void> {
  const cursor = new BatchCursor();
  const started = performance.now();
  let bytes = 0;
  let records = 0;
  for (let offset = from; offset < log.flushedOffset; ) {
    const range = await log.read(offset, 1 << 20, log.flushedOffset);
    cursor.reset(range);
    while (cursor.nextBatch()) while (cursor.nextRecord()) records++;
    range.release?.();
    bytes += range.end - range.start;
    offset = range.nextOffset;
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(
    `${what}: ${(bytes / seconds / 1e6).toFixed(0)} MB/s, ${(records / seconds / 1e6).toFixed(1)} M records/s`,
  );
}

try {
  let store = await openStore();
  const log = await store.openPartition(partitionOf(0));
  const one = await appenders(store, log, 1, 1);
  const many = await appenders(store, log, 64, 1);
  console.log(`64 appenders reach ${(many / one).toFixed(1)} times what one does`);
  await appenders(store, log, 16, 100);
  await appenders(store, log, 256, 100);
  await againstPlainWrites(store, log, 16);
  await againstPlainWrites(store, log, 256);
  const { size } = statSync(join(directory, 'plain'));
  const readMs = await plainReads([join(directory, 'plain')]);
  console.log(`plain reads of 1 MiB: ${(size / readMs / 1e3).toFixed(0)} MB/s`);
  await scan(log, 0, 'read from files');
  await scan(log, Math.max(0, log.flushedOffset - 100_000), 'read the last 100,000 records from memory');

  const partitions = Array.from({ length: 1000 }, (_, index) => index + 1);
  let started = performance.now();
  await Promise.all(partitions.map((each) => store.openPartition(partitionOf(each))));
  console.log(`1,000 new partitions: ${(performance.now() - started).toFixed(0)} ms`);
  started = performance.now();
  await store.close();
  console.log(`closing them: ${(performance.now() - started).toFixed(0)} ms`);
  started = performance.now();
  store = await openStore();
  await Promise.all(partitions.map((each) => store.openPartition(partitionOf(each, 2))));
  console.log(`opening them again: ${(performance.now() - started).toFixed(0)} ms`);
  await store.close();
} finally {
  await rm(directory, { recursive: true, force: true });
}
