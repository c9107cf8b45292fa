// The bytes of a log file: one frame shape, of which a batch frame is a special case. FORMAT.md is normative;
// this file has its numbers and the reading of a batch frame. All integers are big-endian.
//
//   frame        offset u64 | total_len u32 | metadata_len u32 | metadata
//                | protocol_data_len u32 | protocol_data | data_len u32 | data
//   batch frame  metadata = 0xC1, format version, checksum, …; protocol_data and data are empty
import { crc32c } from './crc32c.ts';
import { BATCH_BYTES_MAX } from './limits.ts';

/** offset, total_len, metadata_len, protocol_data_len, data_len. */
export const FRAME_FIXED_BYTES = 8 + 4 + 4 + 4 + 4;

export const FRAME_TOTAL_LEN_AT = 8;
export const FRAME_METADATA_LEN_AT = 12;
export const FRAME_METADATA_AT = 16;

/** Never used by MessagePack, so no record's metadata begins with it. */
export const BATCH_MARK = 0xc1;
export const FORMAT_VERSION = 1;

/** Positions in a batch frame, from the frame's first byte. */
export const BATCH_MARK_AT = FRAME_METADATA_AT;
export const BATCH_VERSION_AT = BATCH_MARK_AT + 1;
export const BATCH_CHECKSUM_AT = BATCH_VERSION_AT + 1;
export const BATCH_ATTRIBUTES_AT = BATCH_CHECKSUM_AT + 4;
export const BATCH_RECORD_COUNT_AT = BATCH_ATTRIBUTES_AT + 2;
export const BATCH_BYTE_LENGTH_AT = BATCH_RECORD_COUNT_AT + 4;
export const BATCH_LAST_OFFSET_DELTA_AT = BATCH_BYTE_LENGTH_AT + 4;
export const BATCH_FIRST_TIMESTAMP_AT = BATCH_LAST_OFFSET_DELTA_AT + 4;
export const BATCH_MAX_TIMESTAMP_AT = BATCH_FIRST_TIMESTAMP_AT + 8;
export const BATCH_LEADER_EPOCH_AT = BATCH_MAX_TIMESTAMP_AT + 8;
export const BATCH_PRODUCER_ID_AT = BATCH_LEADER_EPOCH_AT + 4;
export const BATCH_PRODUCER_EPOCH_AT = BATCH_PRODUCER_ID_AT + 8;
export const BATCH_BASE_SEQUENCE_AT = BATCH_PRODUCER_EPOCH_AT + 2;
const BATCH_PROTOCOL_DATA_LEN_AT = BATCH_BASE_SEQUENCE_AT + 4;
/** A batch frame with its two empty parts: where the first record frame starts. */
export const BATCH_FRAME_BYTES = BATCH_PROTOCOL_DATA_LEN_AT + 4 + 4;
export const BATCH_METADATA_BYTES = BATCH_PROTOCOL_DATA_LEN_AT - FRAME_METADATA_AT;

export const ATTRIBUTE_TRANSACTIONAL = 1;
export const ATTRIBUTE_CONTROL = 2;
export const ATTRIBUTE_LOG_APPEND_TIME = 4;
/** Of a control batch: the transaction that it ends is void. */
export const ATTRIBUTE_ABORTS = 8;

/** Metadata of a record: an array of flags, timestamp, key, headers. */
export const RECORD_METADATA_ARRAY = 0x94;
export const RECORD_FLAG_NULL_VALUE = 1;
export const MSGPACK_NIL = 0xc0;
export const MSGPACK_INT64 = 0xd3;

/** A view on all of `bytes`, for reading integers by position. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Offsets, producer ids and timestamps are i64 or u64 on disk and safe integers (to 2^53) in memory. */
export function readInt64(view: DataView, at: number): number {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}

export function writeInt64(view: DataView, at: number, value: number): void {
  view.setInt32(at, Math.floor(value / 4294967296));
  view.setUint32(at + 4, value >>> 0);
}

export function batchBaseOffsetAt(view: DataView, at: number): number {
  return readInt64(view, at);
}

/** Last offset that the batch covers, whether or not a record stands there. */
export function batchLastOffsetAt(view: DataView, at: number): number {
  return readInt64(view, at) + view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT);
}

export function batchByteLengthAt(view: DataView, at: number): number {
  return view.getUint32(at + BATCH_BYTE_LENGTH_AT);
}

/** 0: compaction has left no record of it. */
export function batchRecordCountAt(view: DataView, at: number): number {
  return view.getUint32(at + BATCH_RECORD_COUNT_AT);
}

export function batchMaxTimestampAt(view: DataView, at: number): number {
  return readInt64(view, at + BATCH_MAX_TIMESTAMP_AT);
}

/**
 * Whether a batch frame may begin at `at`: what can be said without its checksum. At least BATCH_FRAME_BYTES
 * must remain..
 */
export function looksLikeBatch(view: DataView, at: number): boolean {
  if (view.getUint8(at + BATCH_MARK_AT) !== BATCH_MARK) return false;
  const byteLength = batchByteLengthAt(view, at);
  return byteLength >= BATCH_FRAME_BYTES && byteLength <= BATCH_BYTES_MAX;
}

/** CRC32C over all bytes of the batch but the four of the checksum itself. */
export function batchChecksum(bytes: Buffer, view: DataView, at: number, byteLength: number): number {
  const before = crc32c(bytes, view, at, at + BATCH_CHECKSUM_AT, 0);
  return crc32c(bytes, view, at + BATCH_ATTRIBUTES_AT, at + byteLength, before);
}

/** What stands at a position of a log, judged by itself alone. */
export type BatchVerdict =
  /** Whole, and its checksum is right. */
  | 'good'
  /** The bytes end before the batch does, or before it can be told how long it is. */
  | 'short'
  /** No batch, or one whose bytes have changed. */
  | 'bad'
  /** A good checksum, but a format version that this program does not know. */
  | 'newer';

/** Judges the batch at `at` in `bytes`, of which those below `end` count. */
export function verifyBatch(bytes: Buffer, view: DataView, at: number, end: number): BatchVerdict {
  if (end - at < BATCH_FRAME_BYTES) return 'short';
  if (!looksLikeBatch(view, at)) return 'bad';
  const byteLength = batchByteLengthAt(view, at);
  if (byteLength > end - at) return 'short';
  if (view.getUint32(at + BATCH_CHECKSUM_AT) !== batchChecksum(bytes, view, at, byteLength)) return 'bad';
  if (view.getUint8(at + BATCH_VERSION_AT) > FORMAT_VERSION) return 'newer';
  return 'good';
}
