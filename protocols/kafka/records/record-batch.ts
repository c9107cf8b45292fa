// The fixed part of a record batch, format v2 (magic 2), big-endian. Positions from the start of the batch:
//
//    0 base offset i64            27 base timestamp i64       53 base sequence i32
//    8 batch length i32           35 max timestamp i64        57 record count i32
//   12 partition leader epoch i32 43 producer id i64          61 records, as one section,
//   16 magic i8                   51 producer epoch i16          compressed as a whole
//   17 CRC-32C u32, over 21 to the end
//   21 attributes i16: 0–2 compression, 3 timestamp type, 4 transactional, 5 control
//   23 last offset delta i32
//
// The batch length counts what follows it.

import { crc32c } from './crc32c.ts';
import { corruptBatch, invalidRecord, RecordsError } from './errors.ts';

export const BASE_OFFSET_AT = 0;
export const BATCH_LENGTH_AT = BASE_OFFSET_AT + 8;
export const LEADER_EPOCH_AT = BATCH_LENGTH_AT + 4;
export const MAGIC_AT = LEADER_EPOCH_AT + 4;
export const CRC_AT = MAGIC_AT + 1;
export const ATTRIBUTES_AT = CRC_AT + 4;
export const LAST_OFFSET_DELTA_AT = ATTRIBUTES_AT + 2;
export const BASE_TIMESTAMP_AT = LAST_OFFSET_DELTA_AT + 4;
export const MAX_TIMESTAMP_AT = BASE_TIMESTAMP_AT + 8;
export const PRODUCER_ID_AT = MAX_TIMESTAMP_AT + 8;
export const PRODUCER_EPOCH_AT = PRODUCER_ID_AT + 8;
export const BASE_SEQUENCE_AT = PRODUCER_EPOCH_AT + 2;
export const RECORD_COUNT_AT = BASE_SEQUENCE_AT + 4;
export const BATCH_HEADER_BYTES = RECORD_COUNT_AT + 4;

export const MAGIC = 2;
const COMPRESSION_MASK = 0x07;
export const LOG_APPEND_TIME_BIT = 0x08;
export const TRANSACTIONAL_BIT = 0x10;
export const CONTROL_BIT = 0x20;

const TWO_TO_32 = 4_294_967_296;

/** What a batch says about itself. `start` and `end` are positions in `bytes`; the record section ends at `end`. */
export interface RecordBatch {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly baseOffset: number;
  readonly leaderEpoch: number;
  /** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5–7 are unassigned. */
  readonly compression: number;
  readonly isLogAppendTime: boolean;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly lastOffsetDelta: number;
  readonly baseTimestampMs: number;
  readonly maxTimestampMs: number;
  /** −1 = none; then epoch and sequence mean nothing. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
}

/** The least that a message of any format takes behind its length. */
const BATCH_LENGTH_MIN = 14;

/**
 * Reads the batch at `start`, which must end by `limit`. Bounds and format are checked, the checksum is not
 * ({@link checkBatchCrc}). Throws RecordsError.
 */
export function readRecordBatch(bytes: Buffer, start: number, limit: number): RecordBatch {
  if (limit - start < CRC_AT) throw invalidRecord(`a batch of ${limit - start} bytes`);
  const batchLength = readInt32(bytes, start + BATCH_LENGTH_AT);
  if (batchLength < BATCH_LENGTH_MIN) throw corruptBatch(`a batch length of ${batchLength}`);
  const magic = bytes[start + MAGIC_AT]!;
  // Formats 0 and 1 have their magic at the same place, and so are told from damage.
  if (magic < MAGIC) throw new RecordsError('legacy-format', `message format ${magic}`);
  if (magic !== MAGIC) throw corruptBatch(`message format ${magic}`);
  const end = start + LEADER_EPOCH_AT + batchLength;
  if (end - start < BATCH_HEADER_BYTES) throw corruptBatch(`a batch length of ${batchLength}`);
  if (end > limit) throw invalidRecord(`a batch of ${end - start} bytes, ${limit - start} remain`);
  const attributes = readInt16(bytes, start + ATTRIBUTES_AT);
  return {
    bytes,
    start,
    end,
    baseOffset: readInt64(bytes, start + BASE_OFFSET_AT),
    leaderEpoch: readInt32(bytes, start + LEADER_EPOCH_AT),
    compression: attributes & COMPRESSION_MASK,
    isLogAppendTime: (attributes & LOG_APPEND_TIME_BIT) !== 0,
    isTransactional: (attributes & TRANSACTIONAL_BIT) !== 0,
    isControl: (attributes & CONTROL_BIT) !== 0,
    lastOffsetDelta: readInt32(bytes, start + LAST_OFFSET_DELTA_AT),
    baseTimestampMs: readInt64(bytes, start + BASE_TIMESTAMP_AT),
    maxTimestampMs: readInt64(bytes, start + MAX_TIMESTAMP_AT),
    producerId: readInt64(bytes, start + PRODUCER_ID_AT),
    producerEpoch: readInt16(bytes, start + PRODUCER_EPOCH_AT),
    baseSequence: readInt32(bytes, start + BASE_SEQUENCE_AT),
    recordCount: readInt32(bytes, start + RECORD_COUNT_AT),
  };
}

/** Throws RecordsError 'corrupt-batch' when the checksum does not match. */
export function checkBatchCrc(batch: RecordBatch): void {
  const expected = readInt32(batch.bytes, batch.start + CRC_AT) >>> 0;
  const actual = crc32c(batch.bytes, batch.start + ATTRIBUTES_AT, batch.end);
  if (actual !== expected) throw corruptBatch(`checksum ${actual}, the batch says ${expected}`);
}

// The fixed part lies within the buffer, which is checked once: the buffer's own readers would check each field.

function readInt16(bytes: Buffer, at: number): number {
  return ((bytes[at]! << 24) >> 16) | bytes[at + 1]!;
}

function readInt32(bytes: Buffer, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}

function readInt64(bytes: Buffer, at: number): number {
  return readInt32(bytes, at) * TWO_TO_32 + (readInt32(bytes, at + 4) >>> 0);
}
