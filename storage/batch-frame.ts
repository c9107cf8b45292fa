// The frame that opens a batch, as it is written when the records are there. FORMAT.md has the bytes.
import {
  ATTRIBUTE_LOG_APPEND_TIME,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  BATCH_BASE_SEQUENCE_AT,
  BATCH_BYTE_LENGTH_AT,
  BATCH_CHECKSUM_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_FRAME_BYTES,
  BATCH_LAST_OFFSET_DELTA_AT,
  BATCH_LEADER_EPOCH_AT,
  BATCH_MARK,
  BATCH_MARK_AT,
  BATCH_MAX_TIMESTAMP_AT,
  BATCH_METADATA_BYTES,
  BATCH_PRODUCER_EPOCH_AT,
  BATCH_PRODUCER_ID_AT,
  BATCH_RECORD_COUNT_AT,
  BATCH_VERSION_AT,
  batchChecksum,
  FORMAT_VERSION,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  writeInt64,
} from './frame.ts';

/** What a batch says about itself besides its records. Structurally a part of the port's BatchOptions. */
export interface BatchOptions {
  /** Leader epoch that the caller believes in; absent = the log's own. */
  readonly leaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  /** How many records `fill` writes: a producer's batch is judged before it is encoded. Only with a producer id. */
  readonly recordCount?: number;
  readonly transactional?: boolean;
  readonly logAppendTime?: boolean;
  /** Upper bound of the encoded size in bytes: a hint, to find a chunk with enough room at once. */
  readonly byteLengthHint?: number;
}

export const NO_OPTIONS: BatchOptions = {};

/** What the frame says of its batch. */
export interface BatchFrame {
  readonly options: BatchOptions;
  /** Of a batch that ends a transaction, else 0. */
  readonly controlAttributes: number;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly recordCount: number;
  /** Of the whole batch, its frame included. */
  readonly byteLength: number;
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
}

/** The records lie behind it already: its checksum is over them too. */
export function writeBatchFrame(bytes: Buffer, view: DataView, at: number, frame: BatchFrame): void {
  const { options, baseOffset, recordCount, byteLength } = frame;
  const producerId = options.producerId ?? -1;
  writeInt64(view, at, baseOffset);
  view.setUint32(at + FRAME_TOTAL_LEN_AT, BATCH_METADATA_BYTES);
  view.setUint32(at + FRAME_METADATA_LEN_AT, BATCH_METADATA_BYTES);
  view.setUint8(at + BATCH_MARK_AT, BATCH_MARK);
  view.setUint8(at + BATCH_VERSION_AT, FORMAT_VERSION);
  view.setUint16(at + BATCH_ATTRIBUTES_AT, attributesOf(options) | frame.controlAttributes);
  view.setUint32(at + BATCH_RECORD_COUNT_AT, recordCount);
  view.setUint32(at + BATCH_BYTE_LENGTH_AT, byteLength);
  view.setUint32(at + BATCH_LAST_OFFSET_DELTA_AT, recordCount - 1);
  writeInt64(view, at + BATCH_FIRST_TIMESTAMP_AT, frame.firstTimestampMs);
  writeInt64(view, at + BATCH_MAX_TIMESTAMP_AT, frame.maxTimestampMs);
  view.setUint32(at + BATCH_LEADER_EPOCH_AT, frame.leaderEpoch);
  writeInt64(view, at + BATCH_PRODUCER_ID_AT, producerId);
  view.setInt16(at + BATCH_PRODUCER_EPOCH_AT, producerId < 0 ? -1 : (options.producerEpoch ?? -1));
  view.setInt32(at + BATCH_BASE_SEQUENCE_AT, producerId < 0 ? -1 : (options.baseSequence ?? -1));
  // protocol_data and data are empty: the two lengths at the frame's end are zero.
  writeInt64(view, at + BATCH_FRAME_BYTES - 8, 0);
  view.setUint32(at + BATCH_CHECKSUM_AT, batchChecksum(bytes, view, at, byteLength));
}

function attributesOf(options: BatchOptions): number {
  return (
    (options.transactional ? ATTRIBUTE_TRANSACTIONAL : 0) |
    (options.logAppendTime ? ATTRIBUTE_LOG_APPEND_TIME : 0)
  );
}
