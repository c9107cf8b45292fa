// What the store makes of a disk: durable appends by one and by many waiting appenders, throughput against plain
// writes flushed as often, reads from memory and from files, openings of many partitions.
// Run: npx tsx test/bench/storage-append.ts [directory]. Ratios within one run are what counts.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { DEFAULT_LOG_CONFIG, type LogStore, type PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';

const SECONDS = 2;
const TURNS = 10;
const directory = await mkdtemp(join(process.argv[2] ?? tmpdir(), 'polylog-bench-'));
const openStore = (): Promise<LogStore> => openBenchStore(directory);

const partitionOf = (partition: number, leaderEpoch = 1) => ({
  topic: 'bench',
  topicId: 'bench',
  partition,
  logId: partition,
  leaderEpoch,
  config: DEFAULT_LOG_CONFIG,
});

const source = Buffer.alloc(100 * 100, 'x');

function appendBatch(log: PartitionLog, records: number): Promise<unknown> {
  return log.append({ byteLengthHint: 100 + records * 160 }, (writer) => {
    const delta = records > 4 ? writer.stage(source) : 0;
    const from = records > 4 ? writer.staged : source;
    for (let at = delta; at < delta + records * 100; at += 100) {
      writer.startRecord(1_764_000_000_000, from, -1, -1, 0);
      writer.endRecord(from, at, at + 100, null);
    }
  }).flushed;
}

/** Appends for a while from so many appenders, each waiting for its own. Returns the seconds. */
async function appendFor(
  log: PartitionLog,
  count: number,
  records: number,
  seconds: number,
): Promise<number> {
  const started = performance.now();
  const until = started + seconds * 1000;
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (performance.now() < until) await appendBatch(log, records);
    }),
  );
  return (performance.now() - started) / 1000;
}

async function appenders(
  store: LogStore,
  log: PartitionLog,
  count: number,
  records: number,
): Promise<number> {
  const before = { ...store.counters };
  const seconds = await appendFor(log, count, records, SECONDS);
  const batches = store.counters.flushedBatches - before.flushedBatches;
  const flushes = store.counters.flushes - before.flushes;
  const bytes = store.counters.appendedBytes - before.appendedBytes;
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
  for (let turn = 0; turn < TURNS; turn++) {
    const before = { ...store.counters };
    ofAppends.seconds += await appendFor(log, count, 100, SECONDS / TURNS);
    const bytes = store.counters.appendedBytes - before.appendedBytes;
    ofAppends.bytes += bytes;
    const block = Buffer.alloc(Math.round(bytes / (store.counters.flushes - before.flushes)), 'x');
    const started = performance.now();
    while (performance.now() < started + (SECONDS * 1000) / TURNS) {
      await file.write(block, 0, block.length, ofWrites.bytes);
      await file.datasync();
      ofWrites.bytes += block.length;
    }
    ofWrites.seconds += (performance.now() - started) / 1000;
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

async function plainReads(): Promise<void> {
  const file = await open(join(directory, 'plain'), 'r');
  const started = performance.now();
  let position = 0;
  for (;;) {
    const bytes = Buffer.allocUnsafeSlow(1 << 20);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
  }
  await file.close();
  const seconds = (performance.now() - started) / 1000;
  console.log(`plain reads of 1 MiB: ${(position / seconds / 1e6).toFixed(0)} MB/s`);
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
  await plainReads();
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
