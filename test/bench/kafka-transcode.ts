// How fast records go through the Kafka front end, without sockets and disk: from a produced v2 batch into a
// store's write buffer, and from stored bytes to v2 batches. `npx tsx test/bench/kafka-transcode.ts`

import { encodeBatches, validateBatch, writeRecords } from '../../protocols/kafka/record-mapping.ts';
import { BatchEncoder } from '../../protocols/kafka/records/batch-encoder.ts';
import { BATCH_HEADER_BYTES } from '../../protocols/kafka/records/record-batch.ts';
import type { RecordRange } from '../../protocols/port.ts';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { Chunk } from '../../storage/tail-cache.ts';
import { batchOf } from './kafka-batches.ts';

const CHUNK_BYTES = 4 * 1024 * 1024;
const RECORDS_PER_ROUND = 200_000;
const ROUNDS = 7;
const LIMITS = { batchBytesMax: 1 << 20 };

const newChunk = () => new Chunk(Buffer.allocUnsafeSlow(CHUNK_BYTES), { forget() {} });
const chunk = newChunk();
const writer = new BatchWriter(chunk, newChunk);
const encoder = new BatchEncoder();
const cursor = new BatchCursor();

for (const [recordCount, keyBytes, valueBytes] of [
  [100, 0, 100],
  [100, 16, 100],
  [1000, 16, 100],
  [100, 16, 1000],
  [1, 0, 100],
] as const) {
  const produced = batchOf(recordCount, keyBytes, valueBytes);
  const stored = storedRange(produced, recordCount);
  report(`produce ${recordCount} × (${keyBytes} + ${valueBytes}) B`, recordCount, () => produce(produced));
  report(`fetch   ${recordCount} × (${keyBytes} + ${valueBytes}) B`, stored.recordCount, () =>
    fetch(stored.range),
  );
}

function produce(bytes: Buffer): void {
  const batch = validateBatch(bytes, LIMITS);
  const section = bytes.subarray(BATCH_HEADER_BYTES, batch.end);
  if (chunk.filled > CHUNK_BYTES / 2) chunk.filled = 0;
  writer.begin(chunk, 1000, 1, { byteLengthHint: section.length + batch.recordCount * 48 + 256 });
  writeRecords(writer, batch, section);
  writer.finish();
  writer.unstage();
  chunk.filled += writer.byteLength;
}

function fetch(range: RecordRange): void {
  encoder.reset();
  encodeBatches(encoder, cursor, range, { fromOffset: 0, bytesMax: CHUNK_BYTES, atLeastOne: true });
}

/** About 64 KiB of stored batches, as one read returns them. */
function storedRange(produced: Buffer, recordCount: number): { range: RecordRange; recordCount: number } {
  const target = newChunk();
  const filler = new BatchWriter(target, newChunk);
  const section = produced.subarray(BATCH_HEADER_BYTES);
  let offset = 0;
  while (target.filled < 64 * 1024) {
    filler.begin(target, offset, 1, {});
    writeRecords(filler, validateBatch(produced, LIMITS), section);
    filler.finish();
    target.filled += filler.byteLength;
    offset += recordCount;
  }
  return {
    range: { bytes: target.bytes, start: 0, end: target.filled, nextOffset: offset },
    recordCount: offset,
  };
}

function report(title: string, recordsPerCall: number, run: () => void): void {
  const calls = Math.ceil(RECORDS_PER_ROUND / recordsPerCall);
  const nanoseconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begin = process.hrtime.bigint();
    for (let call = 0; call < calls; call++) run();
    nanoseconds.push(Number(process.hrtime.bigint() - begin) / (calls * recordsPerCall));
  }
  nanoseconds.sort((a, b) => a - b);
  const best = nanoseconds[0]!;
  const median = nanoseconds[ROUNDS >> 1]!;
  const rate = (1000 / best).toFixed(2);
  process.stdout.write(
    `${title.padEnd(34)} best ${best.toFixed(0).padStart(5)} ns, median ${median.toFixed(0).padStart(5)} ns a record, best ${rate} M/s\n`,
  );
}
