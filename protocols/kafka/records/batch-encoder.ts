// Encodes uncompressed v2 record batches (layout: record-batch.ts, record-reader.ts) from slices of a source.
//
// The source is staged: copied once behind the output, into the same buffer, so that each key and value is a
// move inside one buffer, which costs a quarter of a copy between two. The arena is kept from response to
// response: what `slice` returned is valid until `reset`.

import { varintByteLength, varlongByteLength, writeVarint, writeVarlong } from '../wire/varint.ts';
import { crc32c } from './crc32c.ts';
import {
  ATTRIBUTES_AT,
  BASE_OFFSET_AT,
  BASE_SEQUENCE_AT,
  BASE_TIMESTAMP_AT,
  BATCH_HEADER_BYTES,
  BATCH_LENGTH_AT,
  CONTROL_BIT,
  CRC_AT,
  LAST_OFFSET_DELTA_AT,
  LEADER_EPOCH_AT,
  LOG_APPEND_TIME_BIT,
  MAGIC,
  MAGIC_AT,
  MAX_TIMESTAMP_AT,
  PRODUCER_EPOCH_AT,
  PRODUCER_ID_AT,
  RECORD_COUNT_AT,
  TRANSACTIONAL_BIT,
} from './record-batch.ts';

const ARENA_BYTES = 256 * 1024;
/** A larger arena is given up at `reset`, so that one large response does not stay in memory. */
const ARENA_BYTES_KEPT = 8 * 1024 * 1024;
/** Below this a loop over bytes is cheaper than the call of copyWithin. */
const LOOP_COPY_BYTES = 32;
const VARINT_BYTES_MAX = 5;
/** Of the key and of the value of a control record. */
const CONTROL_VERSION = 0;
const CONTROL_TYPE_ABORT = 0;
const CONTROL_TYPE_COMMIT = 1;
/** version i16, type i16. */
const CONTROL_KEY_BYTES = 2 + 2;
/** version i16, coordinator epoch i32. */
const CONTROL_VALUE_BYTES = 2 + 4;
/** Attributes, timestamp and offset delta of a byte each, key and value with their lengths, number of headers. */
const CONTROL_RECORD_BYTES = 3 + 1 + CONTROL_KEY_BYTES + 1 + CONTROL_VALUE_BYTES + 1;
const TWO_TO_32 = 4_294_967_296;
/** Timestamp of a batch none of whose records has one. */
const NO_TIMESTAMP = -1;

/** What stands in a batch's fixed part and does not follow from its records. */
export interface BatchAttributes {
  readonly leaderEpoch: number;
  readonly isLogAppendTime: boolean;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  /** −1 = none, with epoch and sequence −1. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

/**
 * A record by positions in what is staged; a start of −1 means null. Read from the cursor that stands on it: a time given
 * as an argument would be an object of its own for each record.
 */
export interface RecordSlices {
  readonly offset: number;
  readonly timestampMs: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export class BatchEncoder {
  #arena: Buffer = Buffer.allocUnsafeSlow(ARENA_BYTES);
  /** Output fills [0, #at), the staged source [#stagedStart, end); between them is room. */
  #at = 0;
  #stagedStart = ARENA_BYTES;
  /** Position in the arena of position 0 of the source. */
  #shift = 0;

  #batchStart = 0;
  #baseOffset = 0;
  #recordCount = 0;
  #baseTimestampMs = NO_TIMESTAMP;
  #maxTimestampMs = NO_TIMESTAMP;

  /** Forgets all output: what `slice` has returned may be overwritten from now on. */
  reset(): void {
    if (this.#arena.length > ARENA_BYTES_KEPT) this.#arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
    this.#at = 0;
    this.#stagedStart = this.#arena.length;
  }

  /** Bytes of output since `reset`. */
  get length(): number {
    return this.#at;
  }

  /** Output from `start` (a `length`) on. */
  slice(start: number): Buffer {
    return this.#arena.subarray(start, this.#at);
  }

  /** Makes `bytes[start, end)` the source; positions given from now on are positions in `bytes`. */
  stage(bytes: Buffer, start: number, end: number): void {
    const byteLength = end - start;
    this.#stagedStart = this.#arena.length;
    // An encoded batch is about as long as its source.
    if (this.#at + 2 * byteLength > this.#arena.length) {
      this.#replaceArena(Math.max(2 * this.#arena.length, this.#at + 3 * byteLength));
    }
    this.#stagedStart = this.#arena.length - byteLength;
    this.#arena.set(bytes.subarray(start, end), this.#stagedStart);
    this.#shift = this.#stagedStart - start;
  }

  startBatch(baseOffset: number): void {
    this.#ensure(BATCH_HEADER_BYTES);
    this.#batchStart = this.#at;
    this.#at += BATCH_HEADER_BYTES;
    this.#baseOffset = baseOffset;
    this.#recordCount = 0;
    this.#baseTimestampMs = NO_TIMESTAMP;
    this.#maxTimestampMs = NO_TIMESTAMP;
  }

  /**
   * One record. `header` must follow `headerCount` times, and the headers must take `headersByteLength` bytes, see
   * {@link headerByteLength}.
   */
  record(slices: RecordSlices, headerCount: number, headersByteLength: number): void {
    const { timestampMs, keyStart, valueStart } = slices;
    if (this.#recordCount++ === 0) this.#baseTimestampMs = timestampMs;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    const timestampDelta = timestampMs - this.#baseTimestampMs;
    const offsetDelta = slices.offset - this.#baseOffset;
    const keyBytes = keyStart < 0 ? 0 : slices.keyEnd - keyStart;
    const valueBytes = valueStart < 0 ? 0 : slices.valueEnd - valueStart;
    const keyLength = keyStart < 0 ? -1 : keyBytes;
    const valueLength = valueStart < 0 ? -1 : valueBytes;
    const byteLength =
      1 +
      varlongByteLength(timestampDelta) +
      varintByteLength(offsetDelta) +
      varintByteLength(keyLength) +
      keyBytes +
      varintByteLength(valueLength) +
      valueBytes +
      varintByteLength(headerCount) +
      headersByteLength;
    this.#ensure(byteLength + VARINT_BYTES_MAX);

    const arena = this.#arena;
    let at = writeVarint(arena, this.#at, byteLength);
    arena[at++] = 0; // record attributes: none are defined
    at = writeVarlong(arena, at, timestampDelta);
    at = writeVarint(arena, at, offsetDelta);
    at = writeVarint(arena, at, keyLength);
    if (keyBytes > 0) at = move(arena, at, keyStart + this.#shift, keyBytes);
    at = writeVarint(arena, at, valueLength);
    if (valueBytes > 0) at = move(arena, at, valueStart + this.#shift, valueBytes);
    this.#at = writeVarint(arena, at, headerCount);
  }

  /** The one record of a control batch, as Kafka's brokers write it (KIP-98). */
  controlRecord(offset: number, timestampMs: number, aborts: boolean, coordinatorEpoch: number): void {
    this.#recordCount++;
    this.#baseTimestampMs = timestampMs;
    this.#maxTimestampMs = timestampMs;
    const offsetDelta = offset - this.#baseOffset;
    const byteLength = CONTROL_RECORD_BYTES - 1 + varintByteLength(offsetDelta);
    this.#ensure(byteLength + VARINT_BYTES_MAX);
    const arena = this.#arena;
    let at = writeVarint(arena, this.#at, byteLength);
    arena[at++] = 0; // record attributes: none are defined
    at = writeVarlong(arena, at, 0);
    at = writeVarint(arena, at, offsetDelta);
    at = writeVarint(arena, at, CONTROL_KEY_BYTES);
    putInt16(arena, at, CONTROL_VERSION);
    putInt16(arena, at + 2, aborts ? CONTROL_TYPE_ABORT : CONTROL_TYPE_COMMIT);
    at = writeVarint(arena, at + CONTROL_KEY_BYTES, CONTROL_VALUE_BYTES);
    putInt16(arena, at, CONTROL_VERSION);
    putInt32(arena, at + 2, coordinatorEpoch);
    this.#at = writeVarint(arena, at + CONTROL_VALUE_BYTES, 0);
  }

  header(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const arena = this.#arena;
    const nameBytes = nameEnd - nameStart;
    let at = writeVarint(arena, this.#at, nameBytes);
    at = move(arena, at, nameStart + this.#shift, nameBytes);
    if (valueStart < 0) {
      this.#at = writeVarint(arena, at, -1);
    } else {
      const valueBytes = valueEnd - valueStart;
      at = writeVarint(arena, at, valueBytes);
      this.#at = move(arena, at, valueStart + this.#shift, valueBytes);
    }
  }

  /** Writes again what was written from `start` on: headers of a record before. */
  repeat(start: number, byteLength: number): void {
    this.#at = move(this.#arena, this.#at, start, byteLength);
  }

  /** @param lastOffset last offset that the batch covers, whether or not a record stands there. */
  endBatch(lastOffset: number, attributes: BatchAttributes): void {
    const arena = this.#arena;
    const start = this.#batchStart;
    putInt64(arena, start + BASE_OFFSET_AT, this.#baseOffset);
    putInt32(arena, start + BATCH_LENGTH_AT, this.#at - start - LEADER_EPOCH_AT);
    putInt32(arena, start + LEADER_EPOCH_AT, attributes.leaderEpoch);
    arena[start + MAGIC_AT] = MAGIC;
    putInt16(arena, start + ATTRIBUTES_AT, attributeBits(attributes));
    putInt32(arena, start + LAST_OFFSET_DELTA_AT, lastOffset - this.#baseOffset);
    putInt64(arena, start + BASE_TIMESTAMP_AT, this.#baseTimestampMs);
    putInt64(arena, start + MAX_TIMESTAMP_AT, this.#maxTimestampMs);
    putInt64(arena, start + PRODUCER_ID_AT, attributes.producerId);
    putInt16(arena, start + PRODUCER_EPOCH_AT, attributes.producerEpoch);
    putInt32(arena, start + BASE_SEQUENCE_AT, attributes.baseSequence);
    putInt32(arena, start + RECORD_COUNT_AT, this.#recordCount);
    putInt32(arena, start + CRC_AT, crc32c(arena, start + ATTRIBUTES_AT, this.#at));
  }

  #ensure(byteLength: number): void {
    if (this.#at + byteLength > this.#stagedStart) {
      this.#replaceArena(2 * this.#arena.length + byteLength);
    }
  }

  /** A new arena; output keeps its positions, the staged source moves to the new end. */
  #replaceArena(byteLength: number): void {
    const old = this.#arena;
    const grown = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, byteLength));
    const stagedStart = grown.length - (old.length - this.#stagedStart);
    grown.set(old.subarray(0, this.#at));
    grown.set(old.subarray(this.#stagedStart), stagedStart);
    this.#shift += stagedStart - this.#stagedStart;
    this.#stagedStart = stagedStart;
    this.#arena = grown;
  }
}

/** Bytes that one header takes; `valueBytes` −1 = null. */
export function headerByteLength(nameBytes: number, valueBytes: number): number {
  return varintByteLength(nameBytes) + nameBytes + varintByteLength(valueBytes) + Math.max(valueBytes, 0);
}

function attributeBits(attributes: BatchAttributes): number {
  return (
    (attributes.isLogAppendTime ? LOG_APPEND_TIME_BIT : 0) |
    (attributes.isTransactional ? TRANSACTIONAL_BIT : 0) |
    (attributes.isControl ? CONTROL_BIT : 0)
  );
}

/** Looked up once: a lookup through a Buffer's prototypes is a quarter of what a move of 100 bytes costs. */
const { copyWithin } = Uint8Array.prototype;

function move(arena: Buffer, at: number, from: number, byteLength: number): number {
  if (byteLength >= LOOP_COPY_BYTES) {
    copyWithin.call(arena, at, from, from + byteLength);
    return at + byteLength;
  }
  for (let index = 0; index < byteLength; index++) arena[at + index] = arena[from + index]!;
  return at + byteLength;
}

function putInt16(arena: Buffer, at: number, value: number): void {
  arena[at] = value >> 8;
  arena[at + 1] = value;
}

function putInt32(arena: Buffer, at: number, value: number): void {
  arena[at] = value >>> 24;
  arena[at + 1] = value >>> 16;
  arena[at + 2] = value >>> 8;
  arena[at + 3] = value;
}

function putInt64(arena: Buffer, at: number, value: number): void {
  const high = Math.floor(value / TWO_TO_32);
  putInt32(arena, at, high);
  putInt32(arena, at + 4, value - high * TWO_TO_32);
}
