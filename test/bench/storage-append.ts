// What the store makes of a disk: durable appends by one and by many waiting appenders, throughput against plain
// writes flushed as often, reads from memory and from files, openings of many partitions.
// Run: npx tsx test/bench/storage-append.ts [directory]. Ratios within one run are what counts.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { DEFAULT_LOG_CONFIG, type LogStore, openLogStore, type PartitionLog } from '../../storage/index.ts';

const SECONDS = 2;
const directory = await mkdtemp(join(process.argv[2] ?? tmpdir(), 'polylog-bench-'));
const silent = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error };
const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs: number, callback: () => void) => {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

let uuids = 0;
const openStore = (): Promise<LogStore> =>
  openLogStore({
    directory: join(directory, 'data'),
    nodeId: 1,
    clock,
    random: { uuid: () => `bench-${uuids++}` },
    log: silent,
  });

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

/** Appends for a while from so many appenders, each waiting for its own. */
async function appenders(
  store: LogStore,
  log: PartitionLog,
  count: number,
  records: number,
): Promise<number> {
  const started = performance.now();
  const before = { ...store.counters };
  const until = started + SECONDS * 1000;
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (performance.now() < until) await appendBatch(log, records);
    }),
  );
  const seconds = (performance.now() - started) / 1000;
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

/** What plain sequential writes reach when flushed after so many bytes. */
async function plainWrites(bytesPerFlush: number): Promise<void> {
  const file = await open(join(directory, 'plain'), 'w');
  const bytes = Buffer.alloc(bytesPerFlush, 'x');
  const started = performance.now();
  let position = 0;
  while (performance.now() < started + SECONDS * 1000) {
    await file.write(bytes, 0, bytes.length, position);
    await file.datasync();
    position += bytes.length;
  }
  const seconds = (performance.now() - started) / 1000;
  await file.close();
  console.log(
    `plain writes of ${bytesPerFlush} bytes, flushed: ${(position / seconds / 1e6).toFixed(1)} MB/s`,
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
  await plainWrites(14_000 * 16);
  await plainWrites(14_000 * 256);
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
