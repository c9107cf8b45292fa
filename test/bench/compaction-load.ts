// A compaction beside those who append: how long durable appends to another partition take before, during and after it.
// The log has 1 KiB records, of which a tenth have a key of their own.
import { DEFAULT_LOG_CONFIG, type LogStore, type PartitionLog } from '../../storage/index.ts';
import { clock, openBenchStore } from './bench-store.ts';

const MIB = 1024 * 1024;
const RECORD_BYTES = 1024;
const BATCH_RECORDS = 16;

export interface CompactionLoad {
  readonly logBytes: number;
  readonly appenders: number;
  /** Read and written together. */
  readonly bytesPerSecond: number;
  /** Of each measurement without a compaction. */
  readonly idleMs: number;
}

export interface CompactionResult {
  /** Of one append each, sorted; milliseconds. */
  readonly idleBefore: readonly number[];
  readonly during: readonly number[];
  readonly idleAfter: readonly number[];
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly tookMs: number;
  readonly cpuMs: number;
}

export async function compactBeside(directory: string, load: CompactionLoad): Promise<CompactionResult> {
  const { logBytes, bytesPerSecond, appenders, idleMs } = load;
  const store = await openBenchStore(directory, {
    checkIntervalMs: 0,
    compactionBytesPerSecond: bytesPerSecond,
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
    const bytesBefore = compacted.byteSize;

    await latencies(live, appenders, forMs(idleMs / 4));
    const idleBefore = await latencies(live, appenders, forMs(idleMs));
    const cpuBefore = process.cpuUsage();
    const startedAtMs = clock.monotonic();
    let isOver = false;
    const compacting = store.maintain().then(() => {
      isOver = true;
      return clock.monotonic() - startedAtMs;
    });
    const during = await latencies(live, appenders, () => !isOver);
    const tookMs = await compacting;
    const cpu = process.cpuUsage(cpuBefore);
    const idleAfter = await latencies(live, appenders, forMs(idleMs));
    const cpuMs = (cpu.user + cpu.system) / 1_000;
    return { idleBefore, during, idleAfter, bytesBefore, bytesAfter: compacted.byteSize, tookMs, cpuMs };
  } finally {
    await store.close();
  }
}

async function openLog(
  store: LogStore,
  partition: number,
  config: Partial<typeof DEFAULT_LOG_CONFIG>,
): Promise<PartitionLog> {
  const log = await store.openPartition({
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
async function latencies(log: PartitionLog, appenders: number, goesOn: () => boolean): Promise<number[]> {
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
  await Promise.all(Array.from({ length: appenders }, appender));
  return samples.sort((a, b) => a - b);
}
