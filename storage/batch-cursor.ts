// Steps through the batches and records of a range of log bytes by positions alone (FORMAT.md has the bytes). No
// object is made per batch or record. Ranges come checked from PartitionLog.read; lengths are checked against the
// batch's end nevertheless, so that a fault elsewhere is an error here and not a read of other bytes.
import { AbortedBatches, type AbortedTransaction } from './aborted-batches.ts';
import { type ControlRecord, controlRecordOf } from './control-record.ts';
import { StorageError } from './errors.ts';
import {
  ATTRIBUTE_ABORTS,
  ATTRIBUTE_CONTROL,
  ATTRIBUTE_LOG_APPEND_TIME,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  BATCH_BASE_SEQUENCE_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_FRAME_BYTES,
  BATCH_LAST_OFFSET_DELTA_AT,
  BATCH_LEADER_EPOCH_AT,
  BATCH_PRODUCER_EPOCH_AT,
  BATCH_PRODUCER_ID_AT,
  BATCH_RECORD_COUNT_AT,
  batchByteLengthAt,
  batchMaxTimestampAt,
  FRAME_FIXED_BYTES,
  FRAME_METADATA_AT,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  looksLikeBatch,
  MSGPACK_INT64,
  RECORD_FLAG_NULL_VALUE,
  RECORD_METADATA_ARRAY,
  readInt64,
  viewOf,
} from './frame.ts';
import { Prefix } from './message-pack.ts';

/** Whole batches in offset order. The bytes stay as they are until `release` is called, which nobody has to. */
export interface RecordRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Where to read on: one past the last offset that the last batch covers; the offset asked for if empty. */
  readonly nextOffset: number;
  /** Transactions that were aborted and overlap the range, by first offset; set where whoever reads wants to know. */
  readonly aborted?: readonly AbortedTransaction[] | undefined;
  /** A cursor passes over control batches, and over those of the aborted transactions. */
  readonly committedOnly?: boolean | undefined;
  /** Says that neither `bytes` nor any view of it is looked at any more, so that the memory can be used again. */
  release?(): void;
}

/** array(4), flags, int64, nil, array(0). */
const METADATA_BYTES_MIN = 1 + 1 + 9 + 1 + 1;

const NO_BYTES = Buffer.alloc(0);
const NO_VIEW = viewOf(NO_BYTES);

/** Structurally the port's RecordCursor: −1 stands for null. Constructed once and reset onto ranges. */
export class BatchCursor {
  bytes: Buffer = NO_BYTES;
  batchBaseOffset = -1;
  /** Last offset that the batch covers, whether or not a record stands there. */
  batchLastOffset = -1;
  batchRecordCount = 0;
  batchMaxTimestampMs = -1;
  batchFirstTimestampMs = -1;
  batchLeaderEpoch = -1;
  batchIsTransactional = false;
  batchIsControl = false;
  /** Of a control batch: the transaction that it ends is void. */
  batchAborts = false;
  /** Of a control batch; −1 for any other. */
  controlCoordinatorEpoch = -1;
  /** Of a control batch that says how a transaction ended. */
  controlRecord: ControlRecord | undefined = undefined;
  batchIsLogAppendTime = false;
  batchProducerId = -1;
  batchProducerEpoch = -1;
  batchBaseSequence = -1;
  /** The batch's own frame included. */
  batchByteLength = 0;
  /** Where the batch's frame begins in `bytes`. */
  batchStart = 0;

  offset = -1;
  timestampMs = -1;
  /** Where the record's frame lies in `bytes`. */
  recordStart = -1;
  recordEnd = -1;
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  attributeCount = 0;
  attributesStart = 0;
  attributesEnd = 0;

  /** Of the header or attribute that the cursor stands on. */
  nameStart = -1;
  nameEnd = -1;
  itemStart = -1;
  itemEnd = -1;

  readonly #prefix = new Prefix();
  #view: DataView = NO_VIEW;
  #end = 0;
  #batchEnd = 0;
  #committedOnly = false;
  #aborted: AbortedBatches | undefined;
  #recordsLeft = 0;
  #nextRecordAt = 0;
  #headersAt = 0;
  #headersEnd = 0;
  #headersLeft = 0;
  #nextHeaderAt = 0;
  #attributesAt = 0;
  #attributesLeft = 0;
  #nextAttributeAt = 0;

  reset(range: RecordRange): void {
    if (range.bytes !== this.bytes) {
      this.bytes = range.bytes;
      this.#view = viewOf(range.bytes);
    }
    this.#end = range.end;
    this.#batchEnd = range.start;
    this.#recordsLeft = 0;
    this.#committedOnly = range.committedOnly === true;
    this.#aborted =
      this.#committedOnly && range.aborted !== undefined ? new AbortedBatches(range.aborted) : undefined;
  }

  /** Next batch; of a range that is `committedOnly` the next one that counts. */
  nextBatch(): boolean {
    if (!this.#committedOnly) return this.#stepBatch();
    while (this.#stepBatch()) {
      if (this.batchIsControl) continue;
      const isVoid =
        this.batchIsTransactional && this.#aborted?.has(this.batchProducerId, this.batchBaseOffset) === true;
      if (!isVoid) return true;
    }
    return false;
  }

  #stepBatch(): boolean {
    const at = this.#batchEnd;
    if (at >= this.#end) return false;
    const view = this.#view;
    if (at + BATCH_FRAME_BYTES > this.#end || !looksLikeBatch(view, at)) throw corruptAt(at, 'a batch frame');
    const byteLength = batchByteLengthAt(view, at);
    if (at + byteLength > this.#end) throw corruptAt(at, 'a whole batch');
    const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
    this.batchStart = at;
    this.batchByteLength = byteLength;
    this.batchBaseOffset = readInt64(view, at);
    this.batchLastOffset = this.batchBaseOffset + view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT);
    this.batchRecordCount = view.getUint32(at + BATCH_RECORD_COUNT_AT);
    this.batchFirstTimestampMs = readInt64(view, at + BATCH_FIRST_TIMESTAMP_AT);
    this.batchMaxTimestampMs = batchMaxTimestampAt(view, at);
    this.batchLeaderEpoch = view.getUint32(at + BATCH_LEADER_EPOCH_AT);
    this.batchProducerId = readInt64(view, at + BATCH_PRODUCER_ID_AT);
    this.batchProducerEpoch = view.getInt16(at + BATCH_PRODUCER_EPOCH_AT);
    this.batchBaseSequence = view.getInt32(at + BATCH_BASE_SEQUENCE_AT);
    this.batchIsTransactional = (attributes & ATTRIBUTE_TRANSACTIONAL) !== 0;
    this.batchIsControl = (attributes & ATTRIBUTE_CONTROL) !== 0;
    this.batchIsLogAppendTime = (attributes & ATTRIBUTE_LOG_APPEND_TIME) !== 0;
    this.batchAborts = (attributes & ATTRIBUTE_ABORTS) !== 0;
    this.controlRecord = this.batchIsControl ? controlRecordOf(view, at, byteLength) : undefined;
    this.controlCoordinatorEpoch = this.controlRecord?.coordinatorEpoch ?? -1;
    this.#batchEnd = at + byteLength;
    this.#nextRecordAt = at + BATCH_FRAME_BYTES;
    this.#recordsLeft = this.batchRecordCount;
    return true;
  }

  nextRecord(): boolean {
    if (this.#recordsLeft === 0) return false;
    const view = this.#view;
    const at = this.#nextRecordAt;
    if (at + FRAME_FIXED_BYTES > this.#batchEnd) throw corruptAt(at, 'a record frame');
    const frameEnd = at + FRAME_FIXED_BYTES + view.getUint32(at + FRAME_TOTAL_LEN_AT);
    const metadataAt = at + FRAME_METADATA_AT;
    const metadataEnd = metadataAt + view.getUint32(at + FRAME_METADATA_LEN_AT);
    if (frameEnd > this.#batchEnd || metadataEnd + 8 > frameEnd) throw corruptAt(at, 'a whole record frame');
    this.offset = readInt64(view, at);
    this.recordStart = at;
    this.recordEnd = frameEnd;
    const attributesAt = metadataEnd + 4;
    const attributesEnd = attributesAt + view.getUint32(metadataEnd);
    if (attributesEnd + 4 > frameEnd) throw corruptAt(metadataEnd, 'protocol data within its frame');
    const valueStart = attributesEnd + 4;
    if (valueStart + view.getUint32(attributesEnd) !== frameEnd)
      throw corruptAt(attributesEnd, 'data that ends its frame');

    this.#readMetadata(metadataAt, metadataEnd);
    const isNull = (view.getUint8(metadataAt + 1) & RECORD_FLAG_NULL_VALUE) !== 0;
    this.valueStart = isNull ? -1 : valueStart;
    this.valueEnd = isNull ? -1 : frameEnd;
    this.attributeCount = 0;
    this.attributesStart = attributesAt;
    this.#attributesAt = attributesAt;
    this.attributesEnd = attributesEnd;
    if (attributesEnd > attributesAt) this.#readAttributeCount(attributesAt);
    this.#attributesLeft = this.attributeCount;
    this.#nextAttributeAt = this.#attributesAt;
    this.#nextRecordAt = frameEnd;
    this.#recordsLeft--;
    return true;
  }

  /** Next header of the current record. */
  nextHeader(): boolean {
    if (this.#headersLeft === 0) return false;
    this.#headersLeft--;
    this.#nextHeaderAt = this.#readItem(this.#nextHeaderAt, this.#headersEnd);
    return true;
  }

  rewindHeaders(): void {
    this.#headersLeft = this.headerCount;
    this.#nextHeaderAt = this.#headersAt;
  }

  /** Next source attribute of the current record, private ones included. */
  nextAttribute(): boolean {
    if (this.#attributesLeft === 0) return false;
    this.#attributesLeft--;
    this.#nextAttributeAt = this.#readItem(this.#nextAttributeAt, this.attributesEnd);
    return true;
  }

  rewindAttributes(): void {
    this.#attributesLeft = this.attributeCount;
    this.#nextAttributeAt = this.#attributesAt;
  }

  #readMetadata(at: number, end: number): void {
    const view = this.#view;
    // A prefix takes up to five bytes; behind the metadata and behind the attributes the frame has four more at least.
    const whole = end - at >= METADATA_BYTES_MIN;
    if (!whole || view.getUint8(at) !== RECORD_METADATA_ARRAY || view.getUint8(at + 2) !== MSGPACK_INT64) {
      throw corruptAt(at, 'record metadata');
    }
    this.timestampMs = readInt64(view, at + 3);
    const prefix = this.#prefix;
    prefix.readBinOrNil(view, at + 11);
    let next = prefix.at;
    if (prefix.length < 0) {
      this.keyStart = -1;
      this.keyEnd = -1;
    } else {
      this.keyStart = next;
      next += prefix.length;
      this.keyEnd = next;
    }
    if (next >= end) throw corruptAt(at, 'a key within its metadata');
    prefix.readArray(view, next);
    this.headerCount = prefix.length >>> 1;
    this.#headersAt = prefix.at;
    this.#headersEnd = end;
    this.#headersLeft = this.headerCount;
    this.#nextHeaderAt = prefix.at;
  }

  #readAttributeCount(at: number): void {
    this.#prefix.readArray(this.#view, at);
    this.attributeCount = this.#prefix.length >>> 1;
    this.#attributesAt = this.#prefix.at;
  }

  /** Reads a name and its value or nil; returns where the next pair begins. */
  #readItem(at: number, end: number): number {
    if (at >= end) throw corruptAt(at, 'as many names and values as announced');
    const prefix = this.#prefix;
    prefix.readStr(this.#view, at);
    this.nameStart = prefix.at;
    this.nameEnd = prefix.at + prefix.length;
    if (this.nameEnd >= end) throw corruptAt(at, 'a name within its frame');
    prefix.readBinOrNil(this.#view, this.nameEnd);
    if (prefix.length < 0) {
      this.itemStart = -1;
      this.itemEnd = -1;
      return prefix.at;
    }
    this.itemStart = prefix.at;
    this.itemEnd = prefix.at + prefix.length;
    if (this.itemEnd > end) throw corruptAt(at, 'a value within its frame');
    return this.itemEnd;
  }
}

function corruptAt(at: number, expected: string): StorageError {
  return new StorageError('corrupt', `expected ${expected} at byte ${at} of the range`);
}
