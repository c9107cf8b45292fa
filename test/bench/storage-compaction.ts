// What a compaction takes from those who append meanwhile: p99 of durable appends to another partition before, during
// and after it, and its own speed. The log has 1 KiB records, of which a tenth have a key of their own.
// Run: npx tsx test/bench/storage-compaction.ts [--mib 256] [--appenders 8] [--rate 64] [--directory DIR]
// (`--mib 1024` is the bar's size; `--rate` in MiB per second, 0 = as fast as it goes.) The ratio is what counts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_LOG_CONFIG, type LogStore, type PartitionLog } from '../../storage/index.ts';
import { clock, openBenchStore } from './bench-store.ts';

const MIB = 1024 * 1024;
const RECORD_BYTES = 1024;
const BATCH_RECORDS = 16;
const IDLE_MS = 4000;

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '256' },
    appenders: { type: 'string', default: '8' },
    rate: { type: 'string', default: '64' },
    directory: { type: 'string', default: tmpdir() },
  },
});
const logBytes = Number(values.mib) * MIB;
const rate = Number(values.rate);
const directory = await mkdtemp(join(values.directory, 'polylog-bench-'));
const store = await openBenchStore(directory, {
  checkIntervalMs: 0,
  compactionBytesPerSecond: rate === 0 ? Number.POSITIVE_INFINITY : rate * MIB,
});
try {
  const compacted = await openLog(store, 0, {
    compacts: true,
    deletes: false,
    segmentBytes: Math.min(128 * MIB, logBytes / 8),
  });
  const records = Math.floor(logBytes / (RECORD_BYTES + 80));
  await fill(compacted, records, Math.floor(records / 10));
  const live = await openLog(store, 1, {});
  const before = compacted.byteSize;

  await latencies(live, forMs(1000));
  const idleBefore = await latencies(live, forMs(IDLE_MS));
  const cpuBefore = process.cpuUsage();
  const compactionStartedAtMs = clock.monotonic();
  let isOver = false;
  const compacting = store.maintain().then(() => {
    isOver = true;
    return clock.monotonic() - compactionStartedAtMs;
  });
  const during = await latencies(live, () => !isOver);
  const tookMs = await compacting;
  const cpu = process.cpuUsage(cpuBefore);
  const idleAfter = await latencies(live, forMs(IDLE_MS));

  const idleP99 = (percentile(idleBefore, 0.99) + percentile(idleAfter, 0.99)) / 2;
  const row = (name: string, samples: number[]) =>
    console.log(
      `${name.padEnd(18)} p50 ${percentile(samples, 0.5).toFixed(2)} ms, p99 ${percentile(samples, 0.99).toFixed(2)} ms, ` +
        `max ${percentile(samples, 1).toFixed(2)} ms, ${samples.length} appends`,
    );
  row('idle before', idleBefore);
  row('during compaction', during);
  row('idle after', idleAfter);
  console.log(`p99 during / idle  ${(percentile(during, 0.99) / idleP99).toFixed(2)} (bar: 3)`);
  console.log(
    `compaction         ${(before / MIB).toFixed(0)} → ${(compacted.byteSize / MIB).toFixed(0)} MiB in ${(tookMs / 1000).toFixed(1)} s: ` +
      `${(before / MIB / (tookMs / 1000)).toFixed(0)} MB/s of log; CPU of the process meanwhile ${((cpu.user + cpu.system) / 1000 / tookMs).toFixed(2)}`,
  );
} finally {
  await store.close();
  await rm(directory, { recursive: true, force: true });
}

async function openLog(
  from: LogStore,
  partition: number,
  config: Partial<typeof DEFAULT_LOG_CONFIG>,
): Promise<PartitionLog> {
  const log = await from.openPartition({
    ...{ topic: 'bench', topicId: 'bench', partition, logId: partition, leaderEpoch: 1 },
    config: { ...DEFAULT_LOG_CONFIG, ...config },
  });
  log.onCommitted = (offset) => log.setHighWatermark(offset);
  return log;
}

async function fill(log: PartitionLog, records: number, keys: number): Promise<void> {
  const value = Buffer.alloc(RECORD_BYTES, 'x');
  const key = Buffer.alloc(16);
  for (let at = 0; at < records; at += BATCH_RECORDS) {
    const { flushed } = log.append({ byteLengthHint: BATCH_RECORDS * (RECORD_BYTES + 100) }, (writer) => {
      for (let index = at; index < at + BATCH_RECORDS; index++) {
        // Keys come again in another order each time.
        key.write(String((index * 7919) % keys).padStart(16, '0'), 'latin1');
        writer.startRecord(1_764_000_000_000, key, 0, key.length, 0);
        writer.endRecord(value, 0, value.length, null);
      }
    });
    if (at % 4096 === 0) await flushed;
  }
}

function forMs(durationMs: number): () => boolean {
  const endMs = clock.monotonic() + durationMs;
  return () => clock.monotonic() < endMs;
}

/** Durable appends of one record each, by appenders that wait for their own; milliseconds each. */
async function latencies(log: PartitionLog, goesOn: () => boolean): Promise<number[]> {
  const samples: number[] = [];
  const value = Buffer.alloc(100, 'y');
  const appender = async (): Promise<void> => {
    while (goesOn()) {
      const startedAtMs = clock.monotonic();
      const { flushed } = log.append({}, (writer) => {
        writer.startRecord(1_764_000_000_000, value, -1, -1, 0);
        writer.endRecord(value, 0, value.length, null);
      });
      await flushed;
      samples.push(clock.monotonic() - startedAtMs);
    }
  };
  await Promise.all(Array.from({ length: Number(values.appenders) }, appender));
  return samples.sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
