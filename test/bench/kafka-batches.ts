// Kafka record batches to measure with, made by their layout (protocols/kafka/records/record-batch.ts).
import { crc32c } from '@node-rs/crc32';
import { BATCH_HEADER_BYTES } from '../../protocols/kafka/records/record-batch.ts';

/** One uncompressed v2 batch, as producers send it. */
export function batchOf(recordCount: number, keyBytes: number, valueBytes: number): Buffer {
  const parts: Buffer[] = [Buffer.alloc(BATCH_HEADER_BYTES)];
  for (let index = 0; index < recordCount; index++) {
    const body = Buffer.concat([
      Buffer.from([0]),
      zigzag(index % 50),
      zigzag(index),
      keyBytes === 0 ? zigzag(-1) : Buffer.concat([zigzag(keyBytes), Buffer.alloc(keyBytes, 'k')]),
      zigzag(valueBytes),
      Buffer.alloc(valueBytes, index),
      zigzag(0),
    ]);
    parts.push(zigzag(body.length), body);
  }
  const batch = Buffer.concat(parts);
  batch.writeInt32BE(batch.length - 12, 8);
  batch[16] = 2;
  batch.writeInt32BE(recordCount - 1, 23);
  batch.writeBigInt64BE(1_764_000_000_000n, 27);
  batch.writeBigInt64BE(1_764_000_000_050n, 35);
  batch.writeBigInt64BE(-1n, 43);
  batch.writeInt16BE(-1, 51);
  batch.writeInt32BE(-1, 53);
  batch.writeInt32BE(recordCount, 57);
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  return batch;
}

function zigzag(value: number): Buffer {
  const bytes: number[] = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
