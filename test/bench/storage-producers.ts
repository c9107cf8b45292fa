// What it costs a batch that its producer is looked after: appends with and without an identity, in turn, in one run.
// Run: npx tsx test/bench/storage-producers.ts [directory]. The ratio counts. Only the synchronous part of an append is
// timed: the flush is the same.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LOG_CONFIG, type PartitionLog } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';

const ROUNDS = 120;
const BYTES_PER_ROUND = 512 * 1024;
const directory = await mkdtemp(join(process.argv[2] ?? tmpdir(), 'polylog-bench-'));
const store = await openBenchStore(directory);
const source = Buffer.alloc(100 * 100, 'x');

/** Appends batches for a round. Returns nanoseconds per batch. */
async function round(
  partition: PartitionLog,
  records: number,
  producers: number,
  sequences: number[],
): Promise<number> {
  const batches = Math.min(10_000, Math.ceil(BYTES_PER_ROUND / (records * 160)));
  let flushed: Promise<unknown> = Promise.resolve();
  const startMs = performance.now();
  for (let batch = 0; batch < batches; batch++) {
    const producerId = producers === 0 ? -1 : batch % producers;
    const identity = {
      ...{ byteLengthHint: 100 + records * 160, producerId, producerEpoch: 0 },
      ...{ baseSequence: sequences[producerId] ?? 0, recordCount: records },
    };
    if (producers > 0) sequences[producerId] = identity.baseSequence + records;
    flushed = partition.append(identity, (writer) => {
      const delta = records > 4 ? writer.stage(source) : 0;
      const from = records > 4 ? writer.staged : source;
      for (let at = delta; at < delta + records * 100; at += 100) {
        writer.startRecord(1_764_000_000_000, from, -1, -1, 0);
        writer.endRecord(from, at, at + 100, null);
      }
    }).flushed;
  }
  const tookMs = performance.now() - startMs;
  await flushed;
  return (tookMs * 1e6) / batches;
}

/** The fastest round: what else runs on the machine only ever adds. */
const fastest = (values: readonly number[]): number => Math.min(...values);

let logId = 0;
for (const records of [1, 16, 100]) {
  const kinds = [0, 1, 1000];
  const logs: PartitionLog[] = [];
  for (const _ of kinds) {
    const partition = logId++;
    const options = { topic: 'bench', topicId: 'bench', partition, logId: partition, leaderEpoch: 1 };
    logs.push(await store.openPartition({ ...options, config: DEFAULT_LOG_CONFIG }));
  }
  const took = kinds.map((): number[] => []);
  const sequences = kinds.map((): number[] => []);
  for (let turn = 0; turn < ROUNDS; turn++) {
    for (const [kind, producers] of kinds.entries()) {
      const own = sequences[kind] ?? [];
      took[kind]?.push(await round(logs[kind] as PartitionLog, records, producers, own)); // opened above
    }
  }
  const [plain = 0, one = 0, many = 0] = took.map((each) => fastest(each.slice(10)));
  const percent = (value: number): string => `${(100 * (value / plain - 1)).toFixed(1)} %`;
  console.log(
    `${records} records: ${plain.toFixed(0)} ns a batch; one producer ${(one - plain).toFixed(0)} ns (${percent(one)}), 1,000 producers ${(many - plain).toFixed(0)} ns (${percent(many)})`,
  );
}
await store.close();
await rm(directory, { recursive: true, force: true });
