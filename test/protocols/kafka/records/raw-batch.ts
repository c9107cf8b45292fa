// Builds record batches byte by byte, right or wrong at will: an encoder of its own, independent of ours.

import { crc32c } from '@node-rs/crc32';

export interface RawBatch {
  readonly baseOffset?: bigint;
  readonly leaderEpoch?: number;
  readonly magic?: number;
  readonly attributes?: number;
  readonly lastOffsetDelta?: number;
  readonly baseTimestamp?: bigint;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly recordCount?: number;
  readonly crc?: number;
  readonly batchLength?: number;
}

export function zigzag(value: bigint | number): Buffer {
  const wide = BigInt(value);
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export function lengthAnd(bytes: Buffer | null): Buffer {
  return bytes === null ? zigzag(-1) : Buffer.concat([zigzag(bytes.length), bytes]);
}

/** A record from its parts behind the length; `length` overrules the right one. */
export function rawRecord(parts: readonly Buffer[], length?: number): Buffer {
  const body = Buffer.concat([Buffer.from([0]), ...parts]);
  return Buffer.concat([zigzag(length ?? body.length), body]);
}

export function simpleRecord(
  offsetDelta: number,
  key: Buffer | null,
  value: Buffer | null,
  timestampDelta: bigint | number = 0,
): Buffer {
  return rawRecord([
    zigzag(timestampDelta),
    zigzag(offsetDelta),
    lengthAnd(key),
    lengthAnd(value),
    zigzag(0),
  ]);
}

export function rawBatch(records: readonly Buffer[], fields: RawBatch = {}): Buffer {
  const section = Buffer.concat(records);
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(fields.baseOffset ?? 0n, 0);
  header.writeInt32BE(fields.batchLength ?? section.length + 49, 8);
  header.writeInt32BE(fields.leaderEpoch ?? -1, 12);
  header.writeInt8(fields.magic ?? 2, 16);
  header.writeInt16BE(fields.attributes ?? 0, 21);
  header.writeInt32BE(fields.lastOffsetDelta ?? records.length - 1, 23);
  header.writeBigInt64BE(fields.baseTimestamp ?? 1000n, 27);
  header.writeBigInt64BE(fields.baseTimestamp ?? 1000n, 35);
  header.writeBigInt64BE(fields.producerId ?? -1n, 43);
  header.writeInt16BE(fields.producerEpoch ?? -1, 51);
  header.writeInt32BE(fields.baseSequence ?? -1, 53);
  header.writeInt32BE(fields.recordCount ?? records.length, 57);
  const batch = Buffer.concat([header, section]);
  batch.writeUInt32BE(fields.crc ?? crc32c(batch.subarray(21)), 17);
  return batch;
}
