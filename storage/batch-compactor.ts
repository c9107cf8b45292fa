// Takes records out of a batch. What stays keeps its bytes, offsets and order; the batch keeps its base offset, last
// offset delta, leader epoch, producer identity and attributes, but that it may leave its transaction. Its record count,
// byte length, timestamps and checksum are those of what stays. Bytes in, bytes out: what may go is decided by whoever calls.
import type { BatchCursor } from './batch-cursor.ts';
import {
  ATTRIBUTE_ABORTS,
  ATTRIBUTE_CONTROL,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  BATCH_BYTE_LENGTH_AT,
  BATCH_CHECKSUM_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_FRAME_BYTES,
  BATCH_MAX_TIMESTAMP_AT,
  BATCH_RECORD_COUNT_AT,
  batchChecksum,
  viewOf,
  writeInt64,
} from './frame.ts';

const NO_TIMESTAMP_MS = -1;

/** Copies one batch at a time into `bytes`, of which those below `length` count. */
export class BatchCompactor {
  bytes: Buffer;
  length = 0;
  /** Of the batch that `end` finished. */
  firstTimestampMs = NO_TIMESTAMP_MS;
  maxTimestampMs = NO_TIMESTAMP_MS;
  recordCount = 0;
  #isChanged = false;
  #view: DataView;
  #batchAt = 0;
  #at = 0;
  /** Neighbouring records that stay are copied together: from here … */
  #runStart = 0;
  /** … to here, in the source. */
  #runEnd = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** Goes on in another buffer; what is in the old one counts no more. */
  reset(bytes: Buffer): void {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.#view = viewOf(bytes);
    }
    this.length = 0;
  }

  /** Whether a batch of so many bytes has room. */
  hasRoomFor(byteLength: number): boolean {
    return this.length + byteLength <= this.bytes.length;
  }

  /** Begins with the batch that the cursor stands on, for which there must be room. */
  begin(cursor: BatchCursor): void {
    this.#batchAt = this.length;
    this.#at = this.length + BATCH_FRAME_BYTES;
    this.#runStart = 0;
    this.#runEnd = 0;
    this.recordCount = 0;
    this.#isChanged = false;
    this.firstTimestampMs = NO_TIMESTAMP_MS;
    this.maxTimestampMs = NO_TIMESTAMP_MS;
    cursor.bytes.copy(this.bytes, this.#batchAt, cursor.batchStart, cursor.batchStart + BATCH_FRAME_BYTES);
  }

  /** The record that the cursor stands on stays. */
  keep(cursor: BatchCursor): void {
    const { timestampMs } = cursor;
    if (this.recordCount === 0) {
      this.firstTimestampMs = timestampMs;
      this.maxTimestampMs = timestampMs;
    } else if (timestampMs > this.maxTimestampMs) {
      this.maxTimestampMs = timestampMs;
    }
    this.recordCount++;
    if (cursor.recordStart === this.#runEnd) {
      this.#runEnd = cursor.recordEnd;
      return;
    }
    this.#copyRun(cursor);
    this.#runStart = cursor.recordStart;
    this.#runEnd = cursor.recordEnd;
  }

  /** The batch is of no transaction any more: called between `begin` and `end`. */
  leaveTransaction(): void {
    this.#clear(ATTRIBUTE_TRANSACTIONAL);
    this.#isChanged = true;
  }

  /**
   * Ends the batch; returns its bytes. One without records is dropped, and takes 0, unless it has to stay as an empty
   * batch.
   */
  end(cursor: BatchCursor, staysWhenEmpty: boolean): number {
    this.#copyRun(cursor);
    if (this.recordCount === 0 && !staysWhenEmpty) return 0;
    const byteLength = this.#at - this.#batchAt;
    // A batch that nothing was taken out of is the same batch, its checksum included.
    if (this.#isChanged || this.recordCount < cursor.batchRecordCount) this.#seal(byteLength);
    if (this.recordCount === cursor.batchRecordCount) {
      this.firstTimestampMs = cursor.batchFirstTimestampMs;
      this.maxTimestampMs = cursor.batchMaxTimestampMs;
    }
    this.length = this.#at;
    return byteLength;
  }

  /** The batch that `frame` began, without records; there must be room for the frame. */
  addEmpty(frame: Buffer): void {
    this.#batchAt = this.length;
    this.recordCount = 0;
    this.firstTimestampMs = NO_TIMESTAMP_MS;
    this.maxTimestampMs = NO_TIMESTAMP_MS;
    frame.copy(this.bytes, this.#batchAt, 0, BATCH_FRAME_BYTES);
    this.#clear(ATTRIBUTE_TRANSACTIONAL | ATTRIBUTE_CONTROL | ATTRIBUTE_ABORTS);
    this.#seal(BATCH_FRAME_BYTES);
    this.length += BATCH_FRAME_BYTES;
  }

  #clear(attributes: number): void {
    const at = this.#batchAt + BATCH_ATTRIBUTES_AT;
    this.#view.setUint16(at, this.#view.getUint16(at) & ~attributes);
  }

  /** Makes the frame one of what the batch holds now. */
  #seal(byteLength: number): void {
    const at = this.#batchAt;
    const view = this.#view;
    view.setUint32(at + BATCH_RECORD_COUNT_AT, this.recordCount);
    view.setUint32(at + BATCH_BYTE_LENGTH_AT, byteLength);
    writeInt64(view, at + BATCH_FIRST_TIMESTAMP_AT, this.firstTimestampMs);
    writeInt64(view, at + BATCH_MAX_TIMESTAMP_AT, this.maxTimestampMs);
    view.setUint32(at + BATCH_CHECKSUM_AT, batchChecksum(this.bytes, view, at, byteLength));
  }

  #copyRun(cursor: BatchCursor): void {
    if (this.#runEnd === this.#runStart) return;
    cursor.bytes.copy(this.bytes, this.#at, this.#runStart, this.#runEnd);
    this.#at += this.#runEnd - this.#runStart;
    this.#runStart = this.#runEnd;
  }
}
