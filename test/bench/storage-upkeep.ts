// What looking after many logs costs those who append meanwhile: a round of maintenance over idle partitions, and the
// deletion of thousands of topics, as append latency and as delay of the event loop.
// Run: npx tsx test/bench/storage-upkeep.ts [--topics N] [--partitions N] [directory]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { DEFAULT_LOG_CONFIG, type PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';

const { values, positionals } = parseArgs({
  options: { topics: { type: 'string', default: '5000' }, partitions: { type: 'string', default: '4' } },
  allowPositionals: true,
});
const TOPICS = Number(values.topics);
const PARTITIONS = Number(values.partitions);
const OPENING_AT_ONCE = 32;

const directory = await mkdtemp(join(positionals[0] ?? tmpdir(), 'polylog-bench-'));
const store = await openBenchStore(directory, { checkIntervalMs: 0 });
const config = { ...DEFAULT_LOG_CONFIG, retentionMs: 7 * 86_400_000 };
const source = Buffer.alloc(100, 'x');

async function open(topic: number, partition: number): Promise<PartitionLog> {
  const logId = topic * PARTITIONS + partition;
  const names = { topic: `topic-${topic}`, topicId: `id-${topic}` };
  const log = await store.openPartition({ ...names, partition, logId, leaderEpoch: 1, config });
  log.onCommitted = (offset) => log.setHighWatermark(offset);
  return log;
}

function append(log: PartitionLog): Promise<unknown> {
  return log.append({}, (writer) => {
    writer.startRecord(Date.now(), source, -1, -1, 0);
    writer.endRecord(source, 0, source.length, null);
  }).flushed;
}

async function eachOf(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, worker));
}

/** Appends one by one to a partition of its own until `work` is done. */
async function appendingDuring(
  what: string,
  busy: PartitionLog,
  work: () => Promise<unknown>,
): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const latenciesMs: number[] = [];
  let isDone = false;
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  delay.enable();
  const working = work().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const beforeMs = performance.now();
    await append(busy);
    latenciesMs.push(performance.now() - beforeMs);
  }
  await working;
  delay.disable();
  const { user, system } = process.cpuUsage(cpuBefore);
  latenciesMs.sort((a, b) => a - b);
  const quantile = (share: number): string =>
    (latenciesMs[Math.floor(share * (latenciesMs.length - 1))] ?? Number.NaN).toFixed(2);
  console.log(
    `${what}: ${((performance.now() - startMs) / 1000).toFixed(2)} s, CPU ${((user + system) / 1e6).toFixed(2)} s; ` +
      `append p50 ${quantile(0.5)} p99 ${quantile(0.99)} max ${quantile(1)} ms of ${latenciesMs.length}; ` +
      `event loop delay p99 ${(delay.percentile(99) / 1e6).toFixed(1)} max ${(delay.max / 1e6).toFixed(1)} ms`,
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

try {
  const busy = await open(TOPICS, 0);
  const openedMs = performance.now();
  await eachOf(TOPICS * PARTITIONS, async (index) => {
    const log = await open(Math.floor(index / PARTITIONS), index % PARTITIONS);
    if (index % PARTITIONS === 0) await append(log);
  });
  console.log(
    `${TOPICS} topics of ${PARTITIONS} partitions made in ${((performance.now() - openedMs) / 1000).toFixed(1)} s`,
  );
  await appendingDuring('idle', busy, () => pause(2000));
  for (let round = 1; round <= 3; round++) {
    const before = process.cpuUsage();
    const startMs = performance.now();
    await store.maintain();
    const { user, system } = process.cpuUsage(before);
    const tookMs = performance.now() - startMs;
    console.log(
      `a round of maintenance: ${tookMs.toFixed(0)} ms, CPU ${((user + system) / 1000).toFixed(0)} ms`,
    );
  }
  await appendingDuring('a round of maintenance', busy, () => store.maintain());
  const deleteTopic = (topic: number): Promise<void> => store.deleteTopic(`topic-${topic}`, `id-${topic}`);
  await appendingDuring('deletion, all asked for at once', busy, () =>
    Promise.all(Array.from({ length: TOPICS }, (_, topic) => deleteTopic(topic))),
  );
  await appendingDuring('the files go behind it', busy, () => pause(3000));
} finally {
  await store.close();
  await rm(directory, { recursive: true, force: true });
}
