// What one record costs in the store without a disk: encoding into a chunk with its checksum, and a cursor's scan.
// Run: npx tsx test/bench/storage-encode.ts. Prints ns per record and million records a second, of the best round.
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { NO_OPTIONS } from '../../storage/batch-frame.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { BufferPool } from '../../storage/buffer-pool.ts';
import { CHUNK_BYTES_MAX } from '../../storage/limits.ts';
import { Chunk } from '../../storage/tail-cache.ts';

const VALUE_BYTES = 100;
const KEY_BYTES = 10;
const owner = { forget: () => {} };
const pool = new BufferPool(8 * CHUNK_BYTES_MAX);

interface Shape {
  readonly records: number;
  readonly headers: number;
  readonly staged: boolean;
}

function encode({ records, headers, staged }: Shape, batches: number): { ns: number; last: Chunk } {
  let chunk = new Chunk(pool.take(CHUNK_BYTES_MAX), owner);
  const next = (room: number): Chunk => {
    // As in a store whose cache is full and whose readers are done: the memory of an old chunk is used again.
    pool.giveBack(chunk.bytes);
    chunk = new Chunk(pool.take(Math.max(room, CHUNK_BYTES_MAX)), owner);
    return chunk;
  };
  const writer = new BatchWriter(chunk, next);
  const stride = VALUE_BYTES + KEY_BYTES + 7;
  const source = Buffer.alloc(records * stride, 'x');
  const byteLengthHint = records * (stride + 60);
  let offset = 0;
  const started = process.hrtime.bigint();
  for (let batch = 0; batch < batches; batch++) {
    writer.begin(chunk, offset, 1, records === 1 ? NO_OPTIONS : { byteLengthHint });
    const delta = staged ? writer.stage(source) : 0;
    const from = staged ? writer.staged : source;
    for (let record = 0; record < records; record++) {
      const at = delta + record * stride;
      writer.startRecord(1_764_000_000_000 + record, from, at, at + KEY_BYTES, headers);
      for (let header = 0; header < headers; header++) writer.header(from, at, at + 4, at + 4, at + 12);
      writer.endRecord(from, at + KEY_BYTES, at + KEY_BYTES + VALUE_BYTES, null);
    }
    writer.finish();
    writer.unstage();
    chunk.filled = writer.batchAt + writer.byteLength;
    offset += records;
  }
  return { ns: Number(process.hrtime.bigint() - started) / (batches * records), last: chunk };
}

function scan(chunk: Chunk, rounds: number): number {
  const cursor = new BatchCursor();
  const range = { bytes: chunk.bytes, start: 0, end: chunk.filled, nextOffset: 0 };
  let records = 0;
  let sum = 0;
  const started = process.hrtime.bigint();
  for (let round = 0; round < rounds; round++) {
    cursor.reset(range);
    while (cursor.nextBatch()) {
      while (cursor.nextRecord()) {
        records++;
        sum += cursor.valueEnd - cursor.keyStart + cursor.timestampMs;
        while (cursor.nextHeader()) sum += cursor.itemEnd;
      }
    }
  }
  if (sum === 0) throw new Error('nothing was scanned');
  return Number(process.hrtime.bigint() - started) / records;
}

const show = (what: string, ns: number): void => {
  console.log(
    `${what.padEnd(58)} ${ns.toFixed(0).padStart(6)} ns  ${(1000 / ns).toFixed(2).padStart(6)} M/s`,
  );
};

/** The best of some rounds: what else runs on the machine only makes it slower. */
function best(round: () => number): number {
  return Math.min(...Array.from({ length: 15 }, round));
}

for (const shape of [
  { records: 100, headers: 0, staged: true },
  { records: 100, headers: 0, staged: false },
  { records: 100, headers: 2, staged: true },
  { records: 1, headers: 0, staged: true },
  { records: 1, headers: 0, staged: false },
]) {
  const name = `${shape.records} a batch, ${shape.headers} headers, ${shape.staged ? 'staged' : 'not staged'}`;
  const batches = Math.ceil(50_000 / shape.records);
  const { last } = encode(shape, 4 * batches);
  show(
    `encode ${name}`,
    best(() => encode(shape, batches).ns),
  );
  show(
    `scan   ${name}`,
    best(() => scan(last, 5)),
  );
}
