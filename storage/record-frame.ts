// The frame of a record, as far as it is the same for all: the head of its metadata, and its lengths, which are known when
// the rest is there. FORMAT.md has the bytes; key, headers, attributes and value are batch-writer.ts's.
import {
  FRAME_FIXED_BYTES,
  FRAME_METADATA_AT,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  MSGPACK_INT64,
  RECORD_FLAG_NULL_VALUE,
  RECORD_METADATA_ARRAY,
  writeInt64,
} from './frame.ts';
import { PREFIX_BYTES_MAX } from './message-pack.ts';

/** array(4), flags, int64 and its eight bytes. */
const METADATA_FIXED_BYTES = 1 + 1 + 1 + 8;
const FLAGS_AT = FRAME_METADATA_AT + 1;
const TIMESTAMP_AT = FRAME_METADATA_AT + 2;

/** Without the bytes of key, headers, attributes and value. */
export const RECORD_FIXED_BYTES_MAX = FRAME_FIXED_BYTES + METADATA_FIXED_BYTES + 2 * PREFIX_BYTES_MAX;

/** @returns where the key goes */
export function writeRecordHead(view: DataView, at: number, offset: number, timestampMs: number): number {
  writeInt64(view, at, offset);
  view.setUint8(at + FRAME_METADATA_AT, RECORD_METADATA_ARRAY);
  view.setUint8(at + FLAGS_AT, 0);
  view.setUint8(at + TIMESTAMP_AT, MSGPACK_INT64);
  writeInt64(view, at + TIMESTAMP_AT + 1, timestampMs);
  return at + FRAME_METADATA_AT + METADATA_FIXED_BYTES;
}

/** Over a copy of another record's head. @param headBytes all that stands before the value */
export function writeRecordHeadAgain(
  view: DataView,
  at: number,
  offset: number,
  timestampMs: number,
  headBytes: number,
  valueLength: number,
): void {
  writeInt64(view, at, offset);
  view.setUint32(at + FRAME_TOTAL_LEN_AT, headBytes - FRAME_FIXED_BYTES + valueLength);
  view.setUint8(at + FLAGS_AT, 0);
  writeInt64(view, at + TIMESTAMP_AT + 1, timestampMs);
  view.setUint32(at + headBytes - 4, valueLength);
}

/** @param metadataEnd behind the headers */
export function writeRecordLengths(
  view: DataView,
  at: number,
  metadataEnd: number,
  attributesLength: number,
  valueLength: number,
): void {
  const metadataLength = metadataEnd - at - FRAME_METADATA_AT;
  view.setUint32(at + FRAME_TOTAL_LEN_AT, metadataLength + attributesLength + valueLength);
  view.setUint32(at + FRAME_METADATA_LEN_AT, metadataLength);
  view.setUint32(metadataEnd, attributesLength);
  view.setUint32(metadataEnd + 4 + attributesLength, valueLength);
}

/** Null is told from empty by a flag alone. */
export function markNullValue(view: DataView, at: number): void {
  view.setUint8(at + FLAGS_AT, RECORD_FLAG_NULL_VALUE);
}
