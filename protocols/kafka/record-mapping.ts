// Between Kafka's record batches and the hub's records: the two hot paths of this front end.
//
// Produce: validateBatch → decompressBatch (may go to the thread pool) → writeRecords inside `Partition.append`.
// Fetch: encodeBatches, from a range of stored batches to uncompressed v2 batches.

import type { Acks, BatchOptions, RecordCursor, RecordRange, RecordWriter } from '../port.ts';
import { encodeEmptyStretch } from './empty-stretch.ts';
import { encodeRecordWithHeaders, HeadersBefore } from './record-headers.ts';
import type { BatchEncoder } from './records/batch-encoder.ts';
import { COMPRESSION, decompress } from './records/compression.ts';
import { invalidRecord, type RecordFault, RecordsError, tooLarge } from './records/errors.ts';
import {
  BATCH_HEADER_BYTES,
  checkBatchCrc,
  type RecordBatch,
  readRecordBatch,
} from './records/record-batch.ts';
import { RecordReader } from './records/record-reader.ts';

/** More than the store adds to a record, and to a batch: for the size hint. */
const STORED_RECORD_BYTES = 48;
const STORED_BATCH_BYTES = 256;
/** Faulty records that are told one by one; a batch may have more. */
const FAULTS_MAX = 100;

/**
 * The one batch of a partition in a Produce request, checked as Kafka checks what clients send: bounds, size,
 * checksum, and a header that makes sense. Its records are checked when they are written.
 * Throws RecordsError.
 */
export function validateBatch(
  records: Buffer | null,
  limits: { readonly batchBytesMax: number },
): RecordBatch {
  if (records === null || records.length === 0) throw invalidRecord('no record batch');
  const batch = readRecordBatch(records, 0, records.length);
  if (batch.end - batch.start > limits.batchBytesMax) {
    throw tooLarge(`a batch of ${batch.end - batch.start} bytes, ${limits.batchBytesMax} are allowed`);
  }
  checkBatchCrc(batch);
  if (batch.end !== records.length) throw invalidRecord('more than one batch for a partition');
  if (batch.baseOffset !== 0) throw invalidRecord(`a batch that begins at offset ${batch.baseOffset}`);
  if (batch.recordCount <= 0) throw invalidRecord(`a batch of ${batch.recordCount} records`);
  if (batch.lastOffsetDelta !== batch.recordCount - 1) {
    throw invalidRecord(`a batch of ${batch.recordCount} records over ${batch.lastOffsetDelta + 1} offsets`);
  }
  if (batch.isControl) throw invalidRecord('clients may not write control records');
  const hasIdentity = batch.producerId >= 0;
  if (hasIdentity && (batch.producerEpoch < 0 || batch.baseSequence < 0)) {
    throw invalidRecord(`producer epoch ${batch.producerEpoch}, sequence ${batch.baseSequence}`);
  }
  if (batch.isTransactional && !hasIdentity)
    throw invalidRecord('a transactional batch without a producer id');
  return batch;
}

/**
 * The batch's record section, ready for {@link writeRecords}: at once when it is not compressed or small, else
 * from the thread pool. What is not compressed is the batch's own bytes, the whole of them: a view less to make.
 * Throws, or rejects with, RecordsError.
 */
export function decompressBatch(batch: RecordBatch, outputBytesMax: number): Buffer | Promise<Buffer> {
  if (batch.compression === COMPRESSION.none) return batch.bytes;
  const section = batch.bytes.subarray(batch.start + BATCH_HEADER_BYTES, batch.end);
  return decompress(batch.compression, section, outputBytesMax);
}

/** The options of the batch's append. */
export function batchOptionsOf(
  batch: RecordBatch,
  section: Buffer,
  acks: Acks,
  logAppendTime: boolean,
): BatchOptions {
  // A record takes a byte at least: a count beyond that is a lie, found when the records are read.
  const recordCount = Math.min(batch.recordCount, section.length);
  const byteLengthHint = STORED_BATCH_BYTES + section.length + recordCount * STORED_RECORD_BYTES;
  if (batch.producerId < 0) return { acks, logAppendTime, byteLengthHint };
  return {
    ...{ acks, logAppendTime, byteLengthHint },
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    recordCount: batch.recordCount,
    transactional: batch.isTransactional,
  };
}

/** One for all: a fill is not interrupted. */
const recordReader = new RecordReader();
const NO_FAULTS: readonly RecordFault[] = [];

export interface WriteOptions {
  /** The hub's time for all records, when the topic's timestamp type is LogAppendTime; absent = the client's. */
  readonly logAppendTimeMs?: number;
  /** Client's times before it are refused (KIP-937); absent = none are. Records without a time have none to refuse. */
  readonly earliestTimestampMs?: number;
  /** Client's times beyond it are refused; absent = none are. */
  readonly latestTimestampMs?: number;
  /** The topic is compacted, so a record without a key is refused. */
  readonly requireKeys?: boolean;
}

/**
 * Writes the batch's records: the fill of `Partition.append`. Throws RecordsError ('invalid-record' or
 * 'invalid-timestamp'), and then the append appends nothing.
 */
export function writeRecords(
  writer: RecordWriter,
  batch: RecordBatch,
  section: Buffer,
  options: WriteOptions = {},
): void {
  const { baseTimestampMs } = batch;
  const logAppendTimeMs = options.logAppendTimeMs ?? -1;
  const earliestTimestampMs = options.earliestTimestampMs ?? Number.NEGATIVE_INFINITY;
  const latestTimestampMs = options.latestTimestampMs ?? Number.MAX_SAFE_INTEGER;
  const requireKeys = options.requireKeys ?? false;
  // The timestamp type is the topic's to choose; where it says the same, Kafka takes it for a client's mistake.
  const presumesAppendTime = batch.isLogAppendTime && logAppendTimeMs >= 0;
  const isWholeBatch = section === batch.bytes;
  const reader = recordReader;
  if (isWholeBatch) reader.reset(section, batch.start + BATCH_HEADER_BYTES, batch.end, batch.recordCount);
  else reader.reset(section, 0, section.length, batch.recordCount);
  const shift = writer.stage(section);
  const source = writer.staged;
  let faults: readonly RecordFault[] = NO_FAULTS;
  let timestampFaults: readonly RecordFault[] = NO_FAULTS;
  for (let index = 0; reader.next(); index++) {
    if (reader.offsetDelta !== index)
      throw invalidRecord(`record ${index} has offset delta ${reader.offsetDelta}`);
    const timestampMs = logAppendTimeMs >= 0 ? logAppendTimeMs : baseTimestampMs + reader.timestampDelta;
    if (timestampMs < -1 || timestampMs > Number.MAX_SAFE_INTEGER) {
      throw new RecordsError('invalid-timestamp', `record ${index} has timestamp ${timestampMs}`);
    }
    const isWrongTime =
      logAppendTimeMs >= 0
        ? presumesAppendTime
        : timestampMs > latestTimestampMs || (timestampMs < earliestTimestampMs && timestampMs >= 0);
    if (isWrongTime && timestampFaults.length < FAULTS_MAX) {
      const side = timestampMs > latestTimestampMs ? 'in the future' : 'in the past';
      const message = presumesAppendTime
        ? 'a client cannot say when a record was appended'
        : `timestamp ${timestampMs} is too far ${side}`;
      timestampFaults = [...timestampFaults, { recordIndex: index, message }];
    }
    if (requireKeys && reader.keyStart < 0 && faults.length < FAULTS_MAX) {
      faults = [...faults, { recordIndex: index, message: 'a compacted topic needs a key' }];
    }
    const { keyStart, valueStart, headerCount } = reader;
    if (keyStart < 0) writer.startRecord(timestampMs, source, -1, -1, headerCount);
    else writer.startRecord(timestampMs, source, keyStart + shift, reader.keyEnd + shift, headerCount);
    while (reader.nextHeader()) {
      const { nameStart, nameEnd, headerValueStart } = reader;
      if (headerValueStart < 0) writer.header(source, nameStart + shift, nameEnd + shift, -1, -1);
      else {
        writer.header(
          source,
          nameStart + shift,
          nameEnd + shift,
          headerValueStart + shift,
          reader.headerValueEnd + shift,
        );
      }
    }
    if (valueStart < 0) writer.endRecord(source, -1, -1, null);
    else writer.endRecord(source, valueStart + shift, reader.valueEnd + shift, null);
  }
  if (timestampFaults.length > 0)
    throw new RecordsError('invalid-timestamp', 'timestamps are wrong', { faults: timestampFaults });
  if (faults.length > 0) throw new RecordsError('invalid-record', 'a compacted topic needs keys', { faults });
}

/** Batches without a producer's identity are merged up to this size of the result. */
const MERGED_BYTES_MAX = 256 * 1024;
const OFFSET_DELTA_MAX = 0x7fff_ffff;

export interface EncodeOptions {
  /** Records below it are left out, except from batches with a producer's identity, which stay whole. */
  readonly fromOffset: number;
  /** Stored batches that would take the result beyond this are left for the next fetch. */
  readonly bytesMax: number;
  /** Whether the first batch comes whole even above `bytesMax`. */
  readonly atLeastOne: boolean;
}

export interface EncodedBatches {
  /** A view of the encoder's arena, valid until its `reset`. */
  readonly bytes: Buffer;
  /** Where the next fetch goes on. */
  readonly nextOffset: number;
  /** Of the batches that were encoded, but for control batches. */
  readonly records: number;
}

/**
 * Encodes a range of stored batches as uncompressed v2 batches, appended to the encoder's output. Offsets and
 * holes stay as they are. One batch comes out for each stored one with a producer's identity, so that sequences
 * stay right; others are merged. Source attributes are shown as headers behind the record's own.
 */
export function encodeBatches(
  encoder: BatchEncoder,
  cursor: RecordCursor,
  range: RecordRange,
  options: EncodeOptions,
): EncodedBatches {
  const { fromOffset, bytesMax } = options;
  const outputStart = encoder.length;
  let nextOffset = fromOffset;
  let emptyFrom = -1;
  let records = 0;
  const open = new OpenBatch(encoder);
  const before = new HeadersBefore();
  cursor.reset(range);
  encoder.stage(range.bytes, range.start, range.end);
  while (cursor.nextBatch()) {
    if (cursor.batchLastOffset < fromOffset) continue;
    if (cursor.batchRecordCount === 0) {
      // Compaction keeps it for the store's sake. Readers see a hole.
      if (emptyFrom < 0) emptyFrom = Math.max(fromOffset, cursor.batchBaseOffset);
      open.extend(cursor.batchLastOffset);
      nextOffset = cursor.batchLastOffset + 1;
      continue;
    }
    const byteLength = encoder.length - outputStart;
    const fits = byteLength + cursor.batchByteLength <= bytesMax;
    if (!fits && (byteLength > 0 || !options.atLeastOne)) break;
    open.take(cursor, fromOffset);
    if (cursor.batchIsControl) {
      encodeControl(encoder, cursor);
    } else {
      encodeRecords(encoder, cursor, open.isAlone ? 0 : fromOffset, before);
      records += cursor.batchRecordCount;
    }
    nextOffset = cursor.batchLastOffset + 1;
  }
  open.close();
  if (emptyFrom >= 0 && encoder.length === outputStart) encodeEmptyStretch(encoder, emptyFrom, nextOffset);
  return { bytes: encoder.slice(outputStart), nextOffset, records };
}

/** The v2 batch that stored batches are being encoded into. */
class OpenBatch {
  readonly #encoder: BatchEncoder;
  #isOpen = false;
  #start = 0;
  #baseOffset = 0;
  #lastOffset = 0;
  #logAppendTimeMs = -1;

  isAlone = false;
  leaderEpoch = -1;
  isLogAppendTime = false;
  isTransactional = false;
  isControl = false;
  producerId = -1;
  producerEpoch = -1;
  baseSequence = -1;

  constructor(encoder: BatchEncoder) {
    this.#encoder = encoder;
  }

  /** Makes room for the stored batch that the cursor stands on: in the open batch if it may join, else in a new one. */
  take(cursor: RecordCursor, fromOffset: number): void {
    const isAlone = cursor.batchProducerId >= 0 || cursor.batchIsTransactional || cursor.batchIsControl;
    if (!this.#isOpen || isAlone || !this.#admits(cursor)) {
      this.close();
      this.#isOpen = true;
      this.#start = this.#encoder.length;
      this.#baseOffset = isAlone ? cursor.batchBaseOffset : Math.max(cursor.batchBaseOffset, fromOffset);
      this.#logAppendTimeMs = cursor.batchMaxTimestampMs;
      this.isAlone = isAlone;
      this.leaderEpoch = cursor.batchLeaderEpoch;
      this.isLogAppendTime = cursor.batchIsLogAppendTime;
      this.isTransactional = cursor.batchIsTransactional;
      this.isControl = cursor.batchIsControl;
      this.producerId = cursor.batchProducerId;
      this.producerEpoch = cursor.batchProducerEpoch;
      this.baseSequence = cursor.batchBaseSequence;
      this.#encoder.startBatch(this.#baseOffset);
    }
    this.#lastOffset = cursor.batchLastOffset;
  }

  /** Takes offsets without records along, where that changes nothing else. */
  extend(lastOffset: number): void {
    if (this.#isOpen && !this.isAlone && lastOffset - this.#baseOffset <= OFFSET_DELTA_MAX) {
      this.#lastOffset = lastOffset;
    }
  }

  close(): void {
    if (this.#isOpen) this.#encoder.endBatch(this.#lastOffset, this);
    this.#isOpen = false;
  }

  #admits(cursor: RecordCursor): boolean {
    return (
      !this.isAlone &&
      this.leaderEpoch === cursor.batchLeaderEpoch &&
      this.isLogAppendTime === cursor.batchIsLogAppendTime &&
      // Readers take the maximum for the time of every record of a batch with log append time.
      (!this.isLogAppendTime || this.#logAppendTimeMs === cursor.batchMaxTimestampMs) &&
      cursor.batchLastOffset - this.#baseOffset <= OFFSET_DELTA_MAX &&
      this.#encoder.length - this.#start < MERGED_BYTES_MAX
    );
  }
}

/** How a transaction ended is stored in the hub's own form. */
function encodeControl(encoder: BatchEncoder, cursor: RecordCursor): void {
  const { batchAborts, controlCoordinatorEpoch } = cursor;
  while (cursor.nextRecord())
    encoder.controlRecord(cursor.offset, cursor.timestampMs, batchAborts, controlCoordinatorEpoch);
}

function encodeRecords(
  encoder: BatchEncoder,
  cursor: RecordCursor,
  fromOffset: number,
  before: HeadersBefore,
): void {
  while (cursor.nextRecord()) {
    if (cursor.offset < fromOffset) continue;
    if (cursor.headerCount === 0 && cursor.attributeCount === 0) {
      encoder.record(cursor, 0, 0);
    } else encodeRecordWithHeaders(encoder, cursor, before);
  }
}
