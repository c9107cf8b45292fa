// test/bench/zz-one.ts
// protocols/kafka/records/batch-encoder.ts
import { crc32c as crc32c2, crc32c as crc32c4 } from '@node-rs/crc32';

// protocols/kafka/wire/varint.ts
function varintByteLength(value) {
  const zigzag2 = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag2 < 128) return 1;
  if (zigzag2 < 16384) return 2;
  if (zigzag2 < 2097152) return 3;
  return zigzag2 < 268435456 ? 4 : 5;
}
function writeVarint(bytes, at, value) {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  while (rest > 127) {
    bytes[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}
function isInt32(value) {
  return (value | 0) === value;
}
function varlongByteLength(value) {
  if (isInt32(value)) return varintByteLength(value);
  let rest = zigzagBigInt(value);
  let byteLength = 1;
  while (rest > 0x7fn) {
    byteLength++;
    rest >>= 7n;
  }
  return byteLength;
}
function writeVarlong(bytes, at, value) {
  if (isInt32(value)) return writeVarint(bytes, at, value);
  let rest = zigzagBigInt(value);
  while (rest > 0x7fn) {
    bytes[at++] = Number(rest & 0x7fn) | 128;
    rest >>= 7n;
  }
  bytes[at++] = Number(rest);
  return at;
}
function zigzagBigInt(value) {
  const wide = BigInt(value);
  return BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
}

// protocols/kafka/records/record-batch.ts
import { crc32c } from '@node-rs/crc32';

// protocols/kafka/records/errors.ts
var RecordsError = class extends Error {
  code;
  faults;
  constructor(code, message, options = {}) {
    super(message, options.cause === void 0 ? void 0 : { cause: options.cause });
    this.name = 'RecordsError';
    this.code = code;
    this.faults = options.faults ?? [];
  }
};
function corruptBatch(message) {
  return new RecordsError('corrupt-batch', message);
}
function invalidRecord(message, cause) {
  return new RecordsError('invalid-record', message, { cause });
}
function tooLarge(message) {
  return new RecordsError('too-large', message);
}

// protocols/kafka/records/record-batch.ts
var BASE_OFFSET_AT = 0;
var BATCH_LENGTH_AT = BASE_OFFSET_AT + 8;
var LEADER_EPOCH_AT = BATCH_LENGTH_AT + 4;
var MAGIC_AT = LEADER_EPOCH_AT + 4;
var CRC_AT = MAGIC_AT + 1;
var ATTRIBUTES_AT = CRC_AT + 4;
var LAST_OFFSET_DELTA_AT = ATTRIBUTES_AT + 2;
var BASE_TIMESTAMP_AT = LAST_OFFSET_DELTA_AT + 4;
var MAX_TIMESTAMP_AT = BASE_TIMESTAMP_AT + 8;
var PRODUCER_ID_AT = MAX_TIMESTAMP_AT + 8;
var PRODUCER_EPOCH_AT = PRODUCER_ID_AT + 8;
var BASE_SEQUENCE_AT = PRODUCER_EPOCH_AT + 2;
var RECORD_COUNT_AT = BASE_SEQUENCE_AT + 4;
var BATCH_HEADER_BYTES = RECORD_COUNT_AT + 4;
var MAGIC = 2;
var COMPRESSION_MASK = 7;
var LOG_APPEND_TIME_BIT = 8;
var TRANSACTIONAL_BIT = 16;
var CONTROL_BIT = 32;
var TWO_TO_32 = 4294967296;
function readRecordBatch(bytes, start, limit) {
  if (limit - start < CRC_AT) throw corruptBatch(`a batch of ${limit - start} bytes`);
  const magic = bytes[start + MAGIC_AT];
  if (magic < MAGIC) throw new RecordsError('legacy-format', `message format ${magic}`);
  if (magic !== MAGIC) throw corruptBatch(`message format ${magic}`);
  const batchLength = bytes.readInt32BE(start + BATCH_LENGTH_AT);
  const end = start + LEADER_EPOCH_AT + batchLength;
  if (end - start < BATCH_HEADER_BYTES) throw corruptBatch(`a batch length of ${batchLength}`);
  if (end > limit) throw corruptBatch(`a batch of ${end - start} bytes, ${limit - start} remain`);
  const attributes = bytes.readInt16BE(start + ATTRIBUTES_AT);
  return {
    bytes,
    start,
    end,
    baseOffset: readInt64(bytes, start + BASE_OFFSET_AT),
    leaderEpoch: bytes.readInt32BE(start + LEADER_EPOCH_AT),
    compression: attributes & COMPRESSION_MASK,
    isLogAppendTime: (attributes & LOG_APPEND_TIME_BIT) !== 0,
    isTransactional: (attributes & TRANSACTIONAL_BIT) !== 0,
    isControl: (attributes & CONTROL_BIT) !== 0,
    lastOffsetDelta: bytes.readInt32BE(start + LAST_OFFSET_DELTA_AT),
    baseTimestampMs: readInt64(bytes, start + BASE_TIMESTAMP_AT),
    maxTimestampMs: readInt64(bytes, start + MAX_TIMESTAMP_AT),
    producerId: readInt64(bytes, start + PRODUCER_ID_AT),
    producerEpoch: bytes.readInt16BE(start + PRODUCER_EPOCH_AT),
    baseSequence: bytes.readInt32BE(start + BASE_SEQUENCE_AT),
    recordCount: bytes.readInt32BE(start + RECORD_COUNT_AT),
  };
}
function checkBatchCrc(batch) {
  const expected = batch.bytes.readUInt32BE(batch.start + CRC_AT);
  const actual = crc32c(batch.bytes.subarray(batch.start + ATTRIBUTES_AT, batch.end));
  if (actual !== expected) throw corruptBatch(`checksum ${actual}, the batch says ${expected}`);
}
function readInt64(bytes, at) {
  return bytes.readInt32BE(at) * TWO_TO_32 + bytes.readUInt32BE(at + 4);
}

// protocols/kafka/records/batch-encoder.ts
var ARENA_BYTES = 256 * 1024;
var ARENA_BYTES_KEPT = 8 * 1024 * 1024;
var LOOP_COPY_BYTES = 32;
var VARINT_BYTES_MAX = 5;
var TWO_TO_322 = 4294967296;
var NO_TIMESTAMP = -1;
var BatchEncoder = class {
  #arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
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
  reset() {
    if (this.#arena.length > ARENA_BYTES_KEPT) this.#arena = Buffer.allocUnsafeSlow(ARENA_BYTES);
    this.#at = 0;
    this.#stagedStart = this.#arena.length;
  }
  /** Bytes of output since `reset`. */
  get length() {
    return this.#at;
  }
  /** Output from `start` (a `length`) on. */
  slice(start) {
    return this.#arena.subarray(start, this.#at);
  }
  /** Makes `bytes[start, end)` the source; positions given from now on are positions in `bytes`. */
  stage(bytes, start, end) {
    const byteLength = end - start;
    this.#stagedStart = this.#arena.length;
    if (this.#at + 2 * byteLength > this.#arena.length) this.#replaceArena(this.#at + 3 * byteLength);
    this.#stagedStart = this.#arena.length - byteLength;
    this.#arena.set(bytes.subarray(start, end), this.#stagedStart);
    this.#shift = this.#stagedStart - start;
  }
  startBatch(baseOffset) {
    this.#ensure(BATCH_HEADER_BYTES);
    this.#batchStart = this.#at;
    this.#at += BATCH_HEADER_BYTES;
    this.#baseOffset = baseOffset;
    this.#recordCount = 0;
    this.#baseTimestampMs = NO_TIMESTAMP;
    this.#maxTimestampMs = NO_TIMESTAMP;
  }
  /**
   * One record; a start of −1 means null. `header` must follow `headerCount` times, and the headers must take
   * `headersByteLength` bytes, see {@link headerByteLength}.
   */
  record(offset, timestampMs, keyStart, keyEnd, valueStart, valueEnd, headerCount, headersByteLength) {
    if (this.#recordCount++ === 0) this.#baseTimestampMs = timestampMs;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    const timestampDelta = timestampMs - this.#baseTimestampMs;
    const offsetDelta = offset - this.#baseOffset;
    const keyBytes = keyStart < 0 ? 0 : keyEnd - keyStart;
    const valueBytes = valueStart < 0 ? 0 : valueEnd - valueStart;
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
    arena[at++] = 0;
    at = writeVarlong(arena, at, timestampDelta);
    at = writeVarint(arena, at, offsetDelta);
    at = writeVarint(arena, at, keyLength);
    if (keyBytes > 0) at = move(arena, at, keyStart + this.#shift, keyBytes);
    at = writeVarint(arena, at, valueLength);
    if (valueBytes > 0) at = move(arena, at, valueStart + this.#shift, valueBytes);
    this.#at = writeVarint(arena, at, headerCount);
  }
  header(nameStart, nameEnd, valueStart, valueEnd) {
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
  /** @param lastOffset last offset that the batch covers, whether or not a record stands there. */
  endBatch(lastOffset, attributes) {
    const arena = this.#arena;
    const start = this.#batchStart;
    putInt64(arena, start + BASE_OFFSET_AT, this.#baseOffset);
    arena.writeInt32BE(this.#at - start - LEADER_EPOCH_AT, start + BATCH_LENGTH_AT);
    arena.writeInt32BE(attributes.leaderEpoch, start + LEADER_EPOCH_AT);
    arena[start + MAGIC_AT] = MAGIC;
    arena.writeInt16BE(attributeBits(attributes), start + ATTRIBUTES_AT);
    arena.writeInt32BE(lastOffset - this.#baseOffset, start + LAST_OFFSET_DELTA_AT);
    putInt64(arena, start + BASE_TIMESTAMP_AT, this.#baseTimestampMs);
    putInt64(arena, start + MAX_TIMESTAMP_AT, this.#maxTimestampMs);
    putInt64(arena, start + PRODUCER_ID_AT, attributes.producerId);
    arena.writeInt16BE(attributes.producerEpoch, start + PRODUCER_EPOCH_AT);
    arena.writeInt32BE(attributes.baseSequence, start + BASE_SEQUENCE_AT);
    arena.writeInt32BE(this.#recordCount, start + RECORD_COUNT_AT);
    arena.writeUInt32BE(crc32c2(arena.subarray(start + ATTRIBUTES_AT, this.#at)), start + CRC_AT);
  }
  #ensure(byteLength) {
    if (this.#at + byteLength > this.#stagedStart) {
      this.#replaceArena(2 * this.#arena.length + byteLength);
    }
  }
  /** A new arena; output keeps its positions, the staged source moves to the new end. */
  #replaceArena(byteLength) {
    const old = this.#arena;
    const grown = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, byteLength));
    const stagedStart = grown.length - (old.length - this.#stagedStart);
    grown.set(old.subarray(0, this.#at));
    grown.set(old.subarray(this.#stagedStart), stagedStart);
    this.#shift += stagedStart - this.#stagedStart;
    this.#stagedStart = stagedStart;
    this.#arena = grown;
  }
};
function headerByteLength(nameBytes, valueBytes) {
  return varintByteLength(nameBytes) + nameBytes + varintByteLength(valueBytes) + Math.max(valueBytes, 0);
}
function attributeBits(attributes) {
  return (
    (attributes.isLogAppendTime ? LOG_APPEND_TIME_BIT : 0) |
    (attributes.isTransactional ? TRANSACTIONAL_BIT : 0) |
    (attributes.isControl ? CONTROL_BIT : 0)
  );
}
function move(arena, at, from, byteLength) {
  if (byteLength >= LOOP_COPY_BYTES) {
    arena.copyWithin(at, from, from + byteLength);
    return at + byteLength;
  }
  for (let index = 0; index < byteLength; index++) arena[at + index] = arena[from + index];
  return at + byteLength;
}
function putInt64(arena, at, value) {
  const high = Math.floor(value / TWO_TO_322);
  arena.writeInt32BE(high, at);
  arena.writeUInt32BE(value - high * TWO_TO_322, at + 4);
}

// protocols/kafka/records/gzip.ts
import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';

// protocols/kafka/records/decompression-limits.ts
var SYNC_OUTPUT_BYTES_MAX = 128 * 1024;

// protocols/kafka/records/gzip.ts
var gunzipAsync = promisify(gunzip);

// protocols/kafka/records/lz4.ts
import { decompressFrame, decompressFrameSync } from 'lz4-napi';

// protocols/kafka/records/snappy.ts
import { uncompress, uncompressSync } from 'snappy';

var XERIAL_MAGIC = Buffer.from([130, 83, 78, 65, 80, 80, 89, 0]);
var XERIAL_HEADER_BYTES = XERIAL_MAGIC.length + 4 + 4;
var EXPANSION_MAX = 64 / 3;

// protocols/kafka/records/zstd.ts
import { Decoder } from '@toondepauw/node-zstd';

var BLOCK_BYTES_MAX = 128 * 1024;
var WINDOW_BYTES_MAX = 2 ** 27;
var decoder = new Decoder();

// protocols/kafka/records/record-reader.ts
var RECORD_BYTES_MIN = 7;
var HEADER_BYTES_MIN = 2;
var RecordReader = class {
  #bytes = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #recordEnd = 0;
  #recordsLeft = 0;
  #headersLeft = 0;
  /** Of the current record, relative to the batch. */
  timestampDelta = 0;
  offsetDelta = 0;
  /** Positions in the section's buffer; −1 = null. */
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  /** Of the current header. */
  nameStart = 0;
  nameEnd = 0;
  headerValueStart = -1;
  headerValueEnd = -1;
  /** Starts on a section that must hold exactly `recordCount` records. */
  reset(bytes, start, end, recordCount) {
    if (recordCount < 0 || recordCount * RECORD_BYTES_MIN > end - start) {
      throw invalidRecord(`${recordCount} records in ${end - start} bytes`);
    }
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#recordEnd = start;
    this.#recordsLeft = recordCount;
    this.#headersLeft = 0;
  }
  /** The next record, or false behind the last one, once nothing is left over. */
  next() {
    while (this.#headersLeft > 0) this.nextHeader();
    if (this.#at !== this.#recordEnd) {
      throw invalidRecord(`${this.#recordEnd - this.#at} bytes left over in a record`);
    }
    if (this.#recordsLeft === 0) {
      if (this.#at !== this.#end) throw invalidRecord(`${this.#end - this.#at} bytes behind the last record`);
      return false;
    }
    this.#recordsLeft--;
    this.#recordEnd = this.#end;
    const length = this.#varint();
    const recordEnd = this.#at + length;
    if (length < RECORD_BYTES_MIN - 1 || recordEnd > this.#end)
      throw invalidRecord(`a record of ${length} bytes`);
    this.#recordEnd = recordEnd;
    this.#at++;
    this.timestampDelta = this.#varlong();
    this.offsetDelta = this.#varint();
    const keyLength = this.#varint();
    if (keyLength < 0) {
      this.keyStart = this.#null(keyLength);
      this.keyEnd = -1;
    } else {
      this.keyStart = this.#at;
      this.keyEnd = this.#skip(keyLength);
    }
    const valueLength = this.#varint();
    if (valueLength < 0) {
      this.valueStart = this.#null(valueLength);
      this.valueEnd = -1;
    } else {
      this.valueStart = this.#at;
      this.valueEnd = this.#skip(valueLength);
    }
    const headerCount = this.#varint();
    if (headerCount < 0 || headerCount * HEADER_BYTES_MIN > recordEnd - this.#at) {
      throw invalidRecord(`${headerCount} headers in ${recordEnd - this.#at} bytes`);
    }
    this.headerCount = headerCount;
    this.#headersLeft = headerCount;
    return true;
  }
  /** The next header of the current record; `next` skips those that were not asked for. */
  nextHeader() {
    if (this.#headersLeft === 0) return false;
    this.#headersLeft--;
    const nameLength = this.#varint();
    if (nameLength < 0) throw invalidRecord('a header without a name');
    this.nameStart = this.#at;
    this.nameEnd = this.#skip(nameLength);
    const valueLength = this.#varint();
    if (valueLength < 0) {
      this.headerValueStart = this.#null(valueLength);
      this.headerValueEnd = -1;
    } else {
      this.headerValueStart = this.#at;
      this.headerValueEnd = this.#skip(valueLength);
    }
    return true;
  }
  #null(length) {
    if (length !== -1) throw invalidRecord(`a length of ${length}`);
    return -1;
  }
  #skip(length) {
    const end = this.#at + length;
    if (end > this.#recordEnd)
      throw invalidRecord(`${length} bytes, ${this.#recordEnd - this.#at} remain in the record`);
    this.#at = end;
    return end;
  }
  #varint() {
    const at = this.#at;
    if (at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
    const first = this.#bytes[at];
    if (first < 128) {
      this.#at = at + 1;
      return (first >>> 1) ^ -(first & 1);
    }
    return this.#longVarint();
  }
  #longVarint() {
    const bytes = this.#bytes;
    let zigzag2 = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.#at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
      const byte = bytes[this.#at++];
      if (shift === 28 && byte > 15) throw invalidRecord('a varint has more than 32 bits');
      zigzag2 |= (byte & 127) << shift;
      if (byte < 128) return (zigzag2 >>> 1) ^ -(zigzag2 & 1);
    }
    throw invalidRecord('a varint has more than 5 bytes');
  }
  #varlong() {
    const at = this.#at;
    if (at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
    const first = this.#bytes[at];
    if (first < 128) {
      this.#at = at + 1;
      return (first >>> 1) ^ -(first & 1);
    }
    if (at + 1 < this.#recordEnd) {
      const second = this.#bytes[at + 1];
      if (second < 128) {
        this.#at = at + 2;
        const zigzag2 = (first & 127) | (second << 7);
        return (zigzag2 >>> 1) ^ -(zigzag2 & 1);
      }
    }
    return this.#longVarlong();
  }
  #longVarlong() {
    let zigzag2 = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.#at >= this.#recordEnd) throw invalidRecord('a number passes the end of its record');
      const byte = this.#bytes[this.#at++];
      zigzag2 |= BigInt(byte & 127) << shift;
      if (byte < 128) {
        if (zigzag2 >> 64n !== 0n) throw invalidRecord('a varlong has more than 64 bits');
        return Number(BigInt.asIntN(64, (zigzag2 >> 1n) ^ -(zigzag2 & 1n)));
      }
    }
    throw invalidRecord('a varlong has more than 10 bytes');
  }
};

// protocols/kafka/record-mapping.ts
var FAULTS_MAX = 100;
function validateBatch(records, limits) {
  if (records === null || records.length === 0) throw invalidRecord('no record batch');
  const batch = readRecordBatch(records, 0, records.length);
  if (batch.end - batch.start > limits.batchBytesMax) {
    throw tooLarge(`a batch of ${batch.end - batch.start} bytes, ${limits.batchBytesMax} are allowed`);
  }
  checkBatchCrc(batch);
  if (batch.end !== records.length) {
    if (records.length - batch.end < BATCH_HEADER_BYTES) throw corruptBatch('bytes behind the batch');
    throw invalidRecord('more than one batch for a partition');
  }
  if (batch.recordCount <= 0) throw invalidRecord(`a batch of ${batch.recordCount} records`);
  if (batch.lastOffsetDelta !== batch.recordCount - 1) {
    throw invalidRecord(`a batch of ${batch.recordCount} records over ${batch.lastOffsetDelta + 1} offsets`);
  }
  if (batch.isControl) throw invalidRecord('clients may not write control records');
  if (batch.isLogAppendTime) {
    throw new RecordsError('invalid-timestamp', 'the timestamp type is the topic\u2019s to choose');
  }
  const hasIdentity = batch.producerId >= 0;
  if (hasIdentity && (batch.producerEpoch < 0 || batch.baseSequence < 0)) {
    throw invalidRecord(`producer epoch ${batch.producerEpoch}, sequence ${batch.baseSequence}`);
  }
  if (batch.isTransactional && !hasIdentity)
    throw invalidRecord('a transactional batch without a producer id');
  return batch;
}
function writeRecords(writer2, batch, section, options = {}) {
  const { baseTimestampMs } = batch;
  const logAppendTimeMs = options.logAppendTimeMs ?? -1;
  const requireKeys = options.requireKeys ?? false;
  const reader = new RecordReader();
  reader.reset(section, 0, section.length, batch.recordCount);
  const shift = writer2.stage(section);
  const source = writer2.staged;
  const faults = [];
  for (let index = 0; reader.next(); index++) {
    if (reader.offsetDelta !== index)
      throw invalidRecord(`record ${index} has offset delta ${reader.offsetDelta}`);
    const timestampMs = logAppendTimeMs >= 0 ? logAppendTimeMs : baseTimestampMs + reader.timestampDelta;
    if (timestampMs < -1 || timestampMs > Number.MAX_SAFE_INTEGER) {
      throw new RecordsError('invalid-timestamp', `record ${index} has timestamp ${timestampMs}`);
    }
    if (requireKeys && reader.keyStart < 0 && faults.length < FAULTS_MAX) {
      faults.push({ recordIndex: index, message: 'a compacted topic needs a key' });
    }
    const { keyStart, valueStart, headerCount } = reader;
    if (keyStart < 0) writer2.startRecord(timestampMs, source, -1, -1, headerCount);
    else writer2.startRecord(timestampMs, source, keyStart + shift, reader.keyEnd + shift, headerCount);
    while (reader.nextHeader()) {
      const { nameStart, nameEnd, headerValueStart } = reader;
      if (headerValueStart < 0) writer2.header(source, nameStart + shift, nameEnd + shift, -1, -1);
      else {
        writer2.header(
          source,
          nameStart + shift,
          nameEnd + shift,
          headerValueStart + shift,
          reader.headerValueEnd + shift,
        );
      }
    }
    if (valueStart < 0) writer2.endRecord(source, -1, -1, null);
    else writer2.endRecord(source, valueStart + shift, reader.valueEnd + shift, null);
  }
  if (faults.length > 0) throw new RecordsError('invalid-record', 'a compacted topic needs keys', { faults });
}
var MERGED_BYTES_MAX = 256 * 1024;
var OFFSET_DELTA_MAX = 2147483647;
var PRIVATE_NAME_PREFIX = 95;
function encodeBatches(encoder2, cursor2, range, options) {
  const { fromOffset, bytesMax } = options;
  const outputStart = encoder2.length;
  let nextOffset = fromOffset;
  const open = new OpenBatch(encoder2);
  cursor2.reset(range);
  encoder2.stage(range.bytes, range.start, range.end);
  while (cursor2.nextBatch()) {
    if (cursor2.batchLastOffset < fromOffset) continue;
    const byteLength = encoder2.length - outputStart;
    const fits = byteLength + cursor2.batchByteLength <= bytesMax;
    if (!fits && (byteLength > 0 || !options.atLeastOne)) break;
    open.take(cursor2, fromOffset);
    encodeRecords(encoder2, cursor2, open.isAlone ? 0 : fromOffset);
    nextOffset = cursor2.batchLastOffset + 1;
  }
  open.close();
  return { bytes: encoder2.slice(outputStart), nextOffset };
}
var OpenBatch = class {
  #encoder;
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
  constructor(encoder2) {
    this.#encoder = encoder2;
  }
  /** Makes room for the stored batch that the cursor stands on: in the open batch if it may join, else in a new one. */
  take(cursor2, fromOffset) {
    const isAlone = cursor2.batchProducerId >= 0 || cursor2.batchIsTransactional || cursor2.batchIsControl;
    if (!this.#isOpen || isAlone || !this.#admits(cursor2)) {
      this.close();
      this.#isOpen = true;
      this.#start = this.#encoder.length;
      this.#baseOffset = isAlone ? cursor2.batchBaseOffset : Math.max(cursor2.batchBaseOffset, fromOffset);
      this.#logAppendTimeMs = cursor2.batchMaxTimestampMs;
      this.isAlone = isAlone;
      this.leaderEpoch = cursor2.batchLeaderEpoch;
      this.isLogAppendTime = cursor2.batchIsLogAppendTime;
      this.isTransactional = cursor2.batchIsTransactional;
      this.isControl = cursor2.batchIsControl;
      this.producerId = cursor2.batchProducerId;
      this.producerEpoch = cursor2.batchProducerEpoch;
      this.baseSequence = cursor2.batchBaseSequence;
      this.#encoder.startBatch(this.#baseOffset);
    }
    this.#lastOffset = cursor2.batchLastOffset;
  }
  close() {
    if (this.#isOpen) this.#encoder.endBatch(this.#lastOffset, this);
    this.#isOpen = false;
  }
  #admits(cursor2) {
    return (
      !this.isAlone &&
      this.leaderEpoch === cursor2.batchLeaderEpoch &&
      this.isLogAppendTime === cursor2.batchIsLogAppendTime && // Readers take the maximum for the time of every record of a batch with log append time.
      (!this.isLogAppendTime || this.#logAppendTimeMs === cursor2.batchMaxTimestampMs) &&
      cursor2.batchLastOffset - this.#baseOffset <= OFFSET_DELTA_MAX &&
      this.#encoder.length - this.#start < MERGED_BYTES_MAX
    );
  }
};
function encodeRecords(encoder2, cursor2, fromOffset) {
  while (cursor2.nextRecord()) {
    if (cursor2.offset < fromOffset) continue;
    if (cursor2.headerCount === 0 && cursor2.attributeCount === 0) {
      encoder2.record(
        cursor2.offset,
        cursor2.timestampMs,
        cursor2.keyStart,
        cursor2.keyEnd,
        cursor2.valueStart,
        cursor2.valueEnd,
        0,
        0,
      );
    } else encodeRecordWithHeaders(encoder2, cursor2);
  }
}
function encodeRecordWithHeaders(encoder2, cursor2) {
  let headerCount = cursor2.headerCount;
  let headersByteLength = 0;
  while (cursor2.nextHeader()) headersByteLength += itemByteLength(cursor2);
  while (cursor2.nextAttribute()) {
    if (isPrivate(cursor2)) continue;
    headerCount++;
    headersByteLength += itemByteLength(cursor2);
  }
  encoder2.record(
    cursor2.offset,
    cursor2.timestampMs,
    cursor2.keyStart,
    cursor2.keyEnd,
    cursor2.valueStart,
    cursor2.valueEnd,
    headerCount,
    headersByteLength,
  );
  cursor2.rewindHeaders();
  while (cursor2.nextHeader()) encodeItem(encoder2, cursor2);
  cursor2.rewindAttributes();
  while (cursor2.nextAttribute()) {
    if (!isPrivate(cursor2)) encodeItem(encoder2, cursor2);
  }
}
function itemByteLength(cursor2) {
  const valueBytes = cursor2.itemStart < 0 ? -1 : cursor2.itemEnd - cursor2.itemStart;
  return headerByteLength(cursor2.nameEnd - cursor2.nameStart, valueBytes);
}
function encodeItem(encoder2, cursor2) {
  encoder2.header(cursor2.nameStart, cursor2.nameEnd, cursor2.itemStart, cursor2.itemEnd);
}
function isPrivate(cursor2) {
  return cursor2.nameEnd > cursor2.nameStart && cursor2.bytes[cursor2.nameStart] === PRIVATE_NAME_PREFIX;
}

// storage/errors.ts
var StorageError = class extends Error {
  code;
  constructor(code, message, cause) {
    super(message, cause === void 0 ? void 0 : { cause });
    this.name = 'StorageError';
    this.code = code;
  }
};
function assert(condition, fact) {
  if (!condition) throw new Error(`assertion failed: ${fact}`);
}

// storage/crc32c.ts
import { crc32c as nativeCrc32c } from '@node-rs/crc32';

var POLYNOMIAL_REFLECTED = 2197175160;
var NATIVE_BYTES_MIN = 320;
var TABLES = makeTables();
function crc32c3(bytes, view, start, end, seed) {
  if (end - start >= NATIVE_BYTES_MIN) return nativeCrc32c(bytes.subarray(start, end), seed);
  let crc = ~seed;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc =
      TABLES[1792 + (low & 255)] ^
      TABLES[1536 + ((low >>> 8) & 255)] ^
      TABLES[1280 + ((low >>> 16) & 255)] ^
      TABLES[1024 + (low >>> 24)] ^
      TABLES[768 + (high & 255)] ^
      TABLES[512 + ((high >>> 8) & 255)] ^
      TABLES[256 + ((high >>> 16) & 255)] ^
      TABLES[high >>> 24];
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ TABLES[(crc ^ view.getUint8(at)) & 255];
  return ~crc >>> 0;
}
function makeTables() {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL_REFLECTED : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const crc = tables[index - 256];
    tables[index] = (crc >>> 8) ^ tables[crc & 255];
  }
  return tables;
}

// storage/limits.ts
var BATCH_BYTES_MAX = 1024 * 1024 * 1024;
var SEGMENT_BYTES_MAX = 2 ** 31 - 1;
var CHUNK_BYTES_MIN = 16 * 1024;
var CHUNK_BYTES_MAX = 1024 * 1024;
var SHARED_BATCH_BYTES_MAX = 64 * 1024;
var UNFLUSHED_BYTES_MAX = 512 * 1024 * 1024;
var READ_BYTES_MIN = 16 * 1024;
var SCAN_BYTES = 1024 * 1024;
var DAMAGE_SEARCH_BYTES_MAX = 64 * 1024 * 1024;
var UNINDEXED_BYTES_MAX = 1024 * 1024;

// storage/frame.ts
var FRAME_FIXED_BYTES = 8 + 4 + 4 + 4 + 4;
var FRAME_TOTAL_LEN_AT = 8;
var FRAME_METADATA_LEN_AT = 12;
var FRAME_METADATA_AT = 16;
var BATCH_MARK = 193;
var FORMAT_VERSION = 1;
var BATCH_MARK_AT = FRAME_METADATA_AT;
var BATCH_VERSION_AT = BATCH_MARK_AT + 1;
var BATCH_CHECKSUM_AT = BATCH_VERSION_AT + 1;
var BATCH_ATTRIBUTES_AT = BATCH_CHECKSUM_AT + 4;
var BATCH_RECORD_COUNT_AT = BATCH_ATTRIBUTES_AT + 2;
var BATCH_BYTE_LENGTH_AT = BATCH_RECORD_COUNT_AT + 4;
var BATCH_LAST_OFFSET_DELTA_AT = BATCH_BYTE_LENGTH_AT + 4;
var BATCH_FIRST_TIMESTAMP_AT = BATCH_LAST_OFFSET_DELTA_AT + 4;
var BATCH_MAX_TIMESTAMP_AT = BATCH_FIRST_TIMESTAMP_AT + 8;
var BATCH_LEADER_EPOCH_AT = BATCH_MAX_TIMESTAMP_AT + 8;
var BATCH_PRODUCER_ID_AT = BATCH_LEADER_EPOCH_AT + 4;
var BATCH_PRODUCER_EPOCH_AT = BATCH_PRODUCER_ID_AT + 8;
var BATCH_BASE_SEQUENCE_AT = BATCH_PRODUCER_EPOCH_AT + 2;
var BATCH_PROTOCOL_DATA_LEN_AT = BATCH_BASE_SEQUENCE_AT + 4;
var BATCH_FRAME_BYTES = BATCH_PROTOCOL_DATA_LEN_AT + 4 + 4;
var BATCH_METADATA_BYTES = BATCH_PROTOCOL_DATA_LEN_AT - FRAME_METADATA_AT;
var ATTRIBUTE_TRANSACTIONAL = 1;
var ATTRIBUTE_CONTROL = 2;
var ATTRIBUTE_LOG_APPEND_TIME = 4;
var RECORD_METADATA_ARRAY = 148;
var RECORD_FLAG_NULL_VALUE = 1;
var MSGPACK_NIL = 192;
var MSGPACK_INT64 = 211;
function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
function readInt642(view, at) {
  return view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
}
function writeInt64(view, at, value) {
  view.setInt32(at, Math.floor(value / 4294967296));
  view.setUint32(at + 4, value >>> 0);
}
function batchByteLengthAt(view, at) {
  return view.getUint32(at + BATCH_BYTE_LENGTH_AT);
}
function batchMaxTimestampAt(view, at) {
  return readInt642(view, at + BATCH_MAX_TIMESTAMP_AT);
}
function looksLikeBatch(view, at) {
  if (view.getUint8(at + BATCH_MARK_AT) !== BATCH_MARK) return false;
  const byteLength = batchByteLengthAt(view, at);
  return byteLength >= BATCH_FRAME_BYTES && byteLength <= BATCH_BYTES_MAX;
}
function batchChecksum(bytes, view, at, byteLength) {
  const before = crc32c3(bytes, view, at, at + BATCH_CHECKSUM_AT, 0);
  return crc32c3(bytes, view, at + BATCH_ATTRIBUTES_AT, at + byteLength, before);
}

// storage/message-pack.ts
var PREFIX_BYTES_MAX = 5;
function writeStrPrefix(bytes, view, at, length) {
  if (length < 32) {
    bytes[at] = 160 | length;
    return at + 1;
  }
  return writeSizedPrefix(bytes, view, at, length, 217);
}
function writeBinPrefix(bytes, view, at, length) {
  return writeSizedPrefix(bytes, view, at, length, 196);
}
function writeArrayPrefix(bytes, view, at, count) {
  if (count < 16) {
    bytes[at] = 144 | count;
    return at + 1;
  }
  if (count < 65536) {
    bytes[at] = 220;
    view.setUint16(at + 1, count);
    return at + 3;
  }
  bytes[at] = 221;
  view.setUint32(at + 1, count);
  return at + 5;
}
function writeSizedPrefix(bytes, view, at, length, first) {
  if (length < 256) {
    bytes[at] = first;
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length < 65536) {
    bytes[at] = first + 1;
    view.setUint16(at + 1, length);
    return at + 3;
  }
  bytes[at] = first + 2;
  view.setUint32(at + 1, length);
  return at + 5;
}
var Prefix = class {
  /** Bytes of a str or bin, elements of an array; −1 for nil. */
  length = 0;
  /** Where what the prefix announces begins. */
  at = 0;
  /** Reads nil or a bin. */
  readBinOrNil(view, at) {
    const type = view.getUint8(at);
    if (type === MSGPACK_NIL) {
      this.length = -1;
      this.at = at + 1;
    } else {
      this.#readSized(view, at, type, 196, 'bin or nil');
    }
  }
  readStr(view, at) {
    const type = view.getUint8(at);
    if ((type & 224) === 160) {
      this.length = type & 31;
      this.at = at + 1;
    } else {
      this.#readSized(view, at, type, 217, 'str');
    }
  }
  readArray(view, at) {
    const type = view.getUint8(at);
    if ((type & 240) === 144) {
      this.length = type & 15;
      this.at = at + 1;
    } else if (type === 220) {
      this.length = view.getUint16(at + 1);
      this.at = at + 3;
    } else if (type === 221) {
      this.length = view.getUint32(at + 1);
      this.at = at + 5;
    } else {
      throw unexpected(at, type, 'array');
    }
  }
  #readSized(view, at, type, first, expected) {
    if (type === first) {
      this.length = view.getUint8(at + 1);
      this.at = at + 2;
    } else if (type === first + 1) {
      this.length = view.getUint16(at + 1);
      this.at = at + 3;
    } else if (type === first + 2) {
      this.length = view.getUint32(at + 1);
      this.at = at + 5;
    } else {
      throw unexpected(at, type, expected);
    }
  }
};
function unexpected(at, type, expected) {
  return new StorageError('corrupt', `expected ${expected} at byte ${at}, found type 0x${type.toString(16)}`);
}

// storage/batch-cursor.ts
var NO_BYTES = Buffer.alloc(0);
var NO_VIEW = viewOf(NO_BYTES);
var BatchCursor = class {
  bytes = NO_BYTES;
  batchBaseOffset = -1;
  /** Last offset that the batch covers, whether or not a record stands there. */
  batchLastOffset = -1;
  batchRecordCount = 0;
  batchMaxTimestampMs = -1;
  batchFirstTimestampMs = -1;
  batchLeaderEpoch = -1;
  batchIsTransactional = false;
  batchIsControl = false;
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
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  attributeCount = 0;
  /** Of the header or attribute that the cursor stands on. */
  nameStart = -1;
  nameEnd = -1;
  itemStart = -1;
  itemEnd = -1;
  #prefix = new Prefix();
  #view = NO_VIEW;
  #end = 0;
  #batchEnd = 0;
  #recordsLeft = 0;
  #nextRecordAt = 0;
  #headersAt = 0;
  #headersEnd = 0;
  #headersLeft = 0;
  #nextHeaderAt = 0;
  #attributesAt = 0;
  #attributesEnd = 0;
  #attributesLeft = 0;
  #nextAttributeAt = 0;
  reset(range) {
    if (range.bytes !== this.bytes) {
      this.bytes = range.bytes;
      this.#view = viewOf(range.bytes);
    }
    this.#end = range.end;
    this.#batchEnd = range.start;
    this.#recordsLeft = 0;
  }
  nextBatch() {
    const at = this.#batchEnd;
    if (at >= this.#end) return false;
    const view = this.#view;
    if (at + BATCH_FRAME_BYTES > this.#end || !looksLikeBatch(view, at)) throw corruptAt(at, 'a batch frame');
    const byteLength = batchByteLengthAt(view, at);
    if (at + byteLength > this.#end) throw corruptAt(at, 'a whole batch');
    const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
    this.batchStart = at;
    this.batchByteLength = byteLength;
    this.batchBaseOffset = readInt642(view, at);
    this.batchLastOffset = this.batchBaseOffset + view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT);
    this.batchRecordCount = view.getUint32(at + BATCH_RECORD_COUNT_AT);
    this.batchFirstTimestampMs = readInt642(view, at + BATCH_FIRST_TIMESTAMP_AT);
    this.batchMaxTimestampMs = batchMaxTimestampAt(view, at);
    this.batchLeaderEpoch = view.getUint32(at + BATCH_LEADER_EPOCH_AT);
    this.batchProducerId = readInt642(view, at + BATCH_PRODUCER_ID_AT);
    this.batchProducerEpoch = view.getInt16(at + BATCH_PRODUCER_EPOCH_AT);
    this.batchBaseSequence = view.getInt32(at + BATCH_BASE_SEQUENCE_AT);
    this.batchIsTransactional = (attributes & ATTRIBUTE_TRANSACTIONAL) !== 0;
    this.batchIsControl = (attributes & ATTRIBUTE_CONTROL) !== 0;
    this.batchIsLogAppendTime = (attributes & ATTRIBUTE_LOG_APPEND_TIME) !== 0;
    this.#batchEnd = at + byteLength;
    this.#nextRecordAt = at + BATCH_FRAME_BYTES;
    this.#recordsLeft = this.batchRecordCount;
    return true;
  }
  nextRecord() {
    if (this.#recordsLeft === 0) return false;
    const view = this.#view;
    const at = this.#nextRecordAt;
    if (at + FRAME_FIXED_BYTES > this.#batchEnd) throw corruptAt(at, 'a record frame');
    const frameEnd = at + FRAME_FIXED_BYTES + view.getUint32(at + FRAME_TOTAL_LEN_AT);
    const metadataAt = at + FRAME_METADATA_AT;
    const metadataEnd = metadataAt + view.getUint32(at + FRAME_METADATA_LEN_AT);
    if (frameEnd > this.#batchEnd || metadataEnd + 8 > frameEnd) throw corruptAt(at, 'a whole record frame');
    this.offset = readInt642(view, at);
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
    this.#attributesAt = attributesAt;
    this.#attributesEnd = attributesEnd;
    if (attributesEnd > attributesAt) this.#readAttributeCount(attributesAt);
    this.#attributesLeft = this.attributeCount;
    this.#nextAttributeAt = this.#attributesAt;
    this.#nextRecordAt = frameEnd;
    this.#recordsLeft--;
    return true;
  }
  /** Next header of the current record. */
  nextHeader() {
    if (this.#headersLeft === 0) return false;
    this.#headersLeft--;
    this.#nextHeaderAt = this.#readItem(this.#nextHeaderAt, this.#headersEnd);
    return true;
  }
  rewindHeaders() {
    this.#headersLeft = this.headerCount;
    this.#nextHeaderAt = this.#headersAt;
  }
  /** Next source attribute of the current record, private ones included. */
  nextAttribute() {
    if (this.#attributesLeft === 0) return false;
    this.#attributesLeft--;
    this.#nextAttributeAt = this.#readItem(this.#nextAttributeAt, this.#attributesEnd);
    return true;
  }
  rewindAttributes() {
    this.#attributesLeft = this.attributeCount;
    this.#nextAttributeAt = this.#attributesAt;
  }
  #readMetadata(at, end) {
    const view = this.#view;
    if (view.getUint8(at) !== RECORD_METADATA_ARRAY || view.getUint8(at + 2) !== MSGPACK_INT64) {
      throw corruptAt(at, 'record metadata');
    }
    this.timestampMs = readInt642(view, at + 3);
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
  #readAttributeCount(at) {
    this.#prefix.readArray(this.#view, at);
    this.attributeCount = this.#prefix.length >>> 1;
    this.#attributesAt = this.#prefix.at;
  }
  /** Reads a name and its value or nil; returns where the next pair begins. */
  #readItem(at, end) {
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
};
function corruptAt(at, expected) {
  return new StorageError('corrupt', `expected ${expected} at byte ${at} of the range`);
}

// storage/batch-writer.ts
var METADATA_FIXED_BYTES = 1 + 1 + 1 + 8;
var FLAGS_AT = FRAME_METADATA_AT + 1;
var TIMESTAMP_AT = FRAME_METADATA_AT + 2;
var RECORD_FIXED_BYTES_MAX = FRAME_FIXED_BYTES + METADATA_FIXED_BYTES + 2 * PREFIX_BYTES_MAX;
var LOOP_BYTES_MAX = 48;
var UNHINTED_GROWTH = 3;
var BatchWriter = class {
  #nextChunk;
  #chunk;
  #bytes;
  #view;
  /** Where the batch frame begins, where the next byte goes, what it must not pass. */
  #batchAt = 0;
  #at = 0;
  #limit = 0;
  #staged;
  #recordAt = -1;
  #headersLeft = 0;
  #baseOffset = 0;
  #recordCount = 0;
  #firstTimestampMs = -1;
  #maxTimestampMs = -1;
  #leaderEpoch = 0;
  #options = NO_OPTIONS;
  constructor(chunk2, nextChunk) {
    this.#nextChunk = nextChunk;
    this.#chunk = chunk2;
    this.#bytes = chunk2.bytes;
    this.#view = chunk2.view;
    this.#staged = chunk2.bytes;
  }
  get nextOffset() {
    return this.#baseOffset + this.#recordCount;
  }
  /** What `stage` returned positions for. */
  get staged() {
    return this.#staged;
  }
  /**
   * Copies `bytes` once to the far end of the chunk, so that each slice of them is then a move inside one buffer.
   * Returns what to add to positions in `bytes`. A later call replaces the former.
   */
  stage(bytes) {
    assert(this.#recordAt < 0, 'stage is called between records');
    const open = this.#at - this.#batchAt;
    const hint = this.#options.byteLengthHint ?? open + UNHINTED_GROWTH * bytes.length;
    const room = Math.max(hint, open) + RECORD_FIXED_BYTES_MAX;
    if (this.#batchAt + room + bytes.length > this.#bytes.length) this.#moveToRoomOf(room + bytes.length);
    const stagedAt = this.#bytes.length - bytes.length;
    this.#bytes.set(bytes, stagedAt);
    this.#staged = this.#bytes;
    this.#limit = stagedAt;
    return stagedAt;
  }
  startRecord(timestampMs, source, keyStart, keyEnd, headerCount) {
    assert(this.#recordAt < 0, 'endRecord comes before the next startRecord');
    const keyLength = keyEnd < 0 ? 0 : keyEnd - keyStart;
    if (this.#at + RECORD_FIXED_BYTES_MAX + keyLength > this.#limit) {
      this.#makeRoom(RECORD_FIXED_BYTES_MAX + keyLength);
    }
    const view = this.#view;
    const bytes = this.#bytes;
    const recordAt = this.#at;
    writeInt64(view, recordAt, this.#baseOffset + this.#recordCount);
    bytes[recordAt + FRAME_METADATA_AT] = RECORD_METADATA_ARRAY;
    bytes[recordAt + FLAGS_AT] = 0;
    bytes[recordAt + TIMESTAMP_AT] = MSGPACK_INT64;
    writeInt64(view, recordAt + TIMESTAMP_AT + 1, timestampMs);
    let at = recordAt + FRAME_METADATA_AT + METADATA_FIXED_BYTES;
    if (keyEnd < 0) {
      bytes[at++] = MSGPACK_NIL;
    } else {
      at = writeBinPrefix(bytes, view, at, keyLength);
      this.#copy(source, keyStart, keyEnd, at);
      at += keyLength;
    }
    this.#at = writeArrayPrefix(bytes, view, at, 2 * headerCount);
    this.#recordAt = recordAt;
    this.#headersLeft = headerCount;
    if (this.#recordCount === 0) {
      this.#firstTimestampMs = timestampMs;
      this.#maxTimestampMs = timestampMs;
    } else if (timestampMs > this.#maxTimestampMs) {
      this.#maxTimestampMs = timestampMs;
    }
  }
  header(source, nameStart, nameEnd, valueStart, valueEnd) {
    assert(this.#recordAt >= 0 && this.#headersLeft > 0, 'as many headers as startRecord announced');
    const nameLength = nameEnd - nameStart;
    const valueLength = valueEnd < 0 ? 0 : valueEnd - valueStart;
    const need = 2 * PREFIX_BYTES_MAX + nameLength + valueLength;
    if (this.#at + need > this.#limit) this.#makeRoom(need);
    const view = this.#view;
    const bytes = this.#bytes;
    let at = writeStrPrefix(bytes, view, this.#at, nameLength);
    this.#copy(source, nameStart, nameEnd, at);
    at += nameLength;
    if (valueEnd < 0) {
      bytes[at++] = MSGPACK_NIL;
    } else {
      at = writeBinPrefix(bytes, view, at, valueLength);
      this.#copy(source, valueStart, valueEnd, at);
      at += valueLength;
    }
    this.#at = at;
    this.#headersLeft--;
  }
  endRecord(source, valueStart, valueEnd, attributes) {
    assert(
      this.#recordAt >= 0 && this.#headersLeft === 0,
      'endRecord follows startRecord and all its headers',
    );
    const valueLength = valueEnd < 0 ? 0 : valueEnd - valueStart;
    const attributesLength = attributes === null ? 0 : attributes.length;
    const need = 8 + attributesLength + valueLength;
    if (this.#at + need > this.#limit) this.#makeRoom(need);
    const view = this.#view;
    const recordAt = this.#recordAt;
    const metadataLength = this.#at - recordAt - FRAME_METADATA_AT;
    let at = this.#at;
    view.setUint32(recordAt + FRAME_TOTAL_LEN_AT, metadataLength + attributesLength + valueLength);
    view.setUint32(recordAt + FRAME_METADATA_LEN_AT, metadataLength);
    view.setUint32(at, attributesLength);
    at += 4;
    if (attributes !== null) {
      this.#copy(attributes, 0, attributesLength, at);
      at += attributesLength;
    }
    view.setUint32(at, valueLength);
    at += 4;
    if (valueEnd < 0) this.#bytes[recordAt + FLAGS_AT] = RECORD_FLAG_NULL_VALUE;
    else this.#copy(source, valueStart, valueEnd, at);
    this.#at = at + valueLength;
    this.#recordAt = -1;
    this.#recordCount++;
  }
  get chunk() {
    return this.#chunk;
  }
  get baseOffset() {
    return this.#baseOffset;
  }
  get recordCount() {
    return this.#recordCount;
  }
  get firstTimestampMs() {
    return this.#firstTimestampMs;
  }
  get maxTimestampMs() {
    return this.#maxTimestampMs;
  }
  get batchAt() {
    return this.#batchAt;
  }
  /** Bytes of the batch so far, its frame included. */
  get byteLength() {
    return this.#at - this.#batchAt;
  }
  /** Whether a record was started and not ended. */
  get inRecord() {
    return this.#recordAt >= 0;
  }
  /** Opens a batch behind what `chunk` has finished. */
  begin(chunk2, baseOffset, leaderEpoch, options) {
    this.#use(chunk2);
    this.#batchAt = chunk2.filled;
    this.#at = chunk2.filled + BATCH_FRAME_BYTES;
    this.#baseOffset = baseOffset;
    this.#leaderEpoch = leaderEpoch;
    this.#options = options;
    this.#recordCount = 0;
    this.#recordAt = -1;
    if (this.#at > this.#limit) this.#makeRoom(0);
  }
  /** Takes back the record that is being written and those after the first `recordCount`, which end at `byteLength`. */
  rewind(recordCount, byteLength, maxTimestampMs) {
    this.#recordAt = -1;
    this.#recordCount = recordCount;
    this.#maxTimestampMs = maxTimestampMs;
    this.#at = this.#batchAt + byteLength;
    this.#limit = this.#bytes.length;
  }
  /** Ends what `stage` began: the far end of the chunk is free again. */
  unstage() {
    this.#limit = this.#bytes.length;
  }
  /** Moves the open batch into a chunk of its own, for a new segment. */
  moveToNextChunk() {
    this.#moveToRoomOf(this.byteLength);
  }
  /** Completes the batch frame. The batch is then whole, from `batchAt` on; no more records. */
  finish() {
    assert(this.#recordAt < 0 && this.#recordCount > 0, 'a batch has at least one record, and all are ended');
    const view = this.#view;
    const at = this.#batchAt;
    const options = this.#options;
    const producerId = options.producerId ?? -1;
    writeInt64(view, at, this.#baseOffset);
    view.setUint32(at + FRAME_TOTAL_LEN_AT, BATCH_METADATA_BYTES);
    view.setUint32(at + FRAME_METADATA_LEN_AT, BATCH_METADATA_BYTES);
    view.setUint8(at + BATCH_MARK_AT, BATCH_MARK);
    view.setUint8(at + BATCH_VERSION_AT, FORMAT_VERSION);
    view.setUint16(at + BATCH_ATTRIBUTES_AT, attributesOf(options));
    view.setUint32(at + BATCH_RECORD_COUNT_AT, this.#recordCount);
    view.setUint32(at + BATCH_BYTE_LENGTH_AT, this.byteLength);
    view.setUint32(at + BATCH_LAST_OFFSET_DELTA_AT, this.#recordCount - 1);
    writeInt64(view, at + BATCH_FIRST_TIMESTAMP_AT, this.#firstTimestampMs);
    writeInt64(view, at + BATCH_MAX_TIMESTAMP_AT, this.#maxTimestampMs);
    view.setUint32(at + BATCH_LEADER_EPOCH_AT, this.#leaderEpoch);
    writeInt64(view, at + BATCH_PRODUCER_ID_AT, producerId);
    view.setInt16(at + BATCH_PRODUCER_EPOCH_AT, producerId < 0 ? -1 : (options.producerEpoch ?? -1));
    view.setInt32(at + BATCH_BASE_SEQUENCE_AT, producerId < 0 ? -1 : (options.baseSequence ?? -1));
    writeInt64(view, at + BATCH_FRAME_BYTES - 8, 0);
    view.setUint32(at + BATCH_CHECKSUM_AT, batchChecksum(this.#bytes, view, at, this.byteLength));
  }
  #use(chunk2) {
    this.#chunk = chunk2;
    this.#bytes = chunk2.bytes;
    this.#view = chunk2.view;
    this.#limit = chunk2.bytes.length;
    this.#staged = chunk2.bytes;
  }
  /** Moves on to a chunk where `needBytes` more fit; at least doubles, so that a batch moves few times. */
  #makeRoom(needBytes) {
    const staged = this.#staged;
    this.#moveToRoomOf(2 * this.byteLength + needBytes);
    this.#staged = staged;
  }
  #moveToRoomOf(roomBytes) {
    const length = this.byteLength;
    if (length > BATCH_BYTES_MAX || roomBytes > 2 * BATCH_BYTES_MAX) {
      throw new StorageError('record-too-large', `a batch would pass ${BATCH_BYTES_MAX} bytes`);
    }
    const from = this.#bytes;
    const fromAt = this.#batchAt;
    const recordDelta = this.#recordAt - fromAt;
    this.#use(this.#nextChunk(roomBytes));
    this.#batchAt = this.#chunk.filled;
    this.#at = this.#batchAt + length;
    if (this.#recordAt >= 0) this.#recordAt = this.#batchAt + recordDelta;
    this.#bytes.set(from.subarray(fromAt, fromAt + length), this.#batchAt);
  }
  #copy(source, start, end, to) {
    assert(start >= 0 && start <= end && end <= source.length, 'a slice lies within its source');
    const bytes = this.#bytes;
    const length = end - start;
    if (length < LOOP_BYTES_MAX) {
      for (let index = 0; index < length; index++) bytes[to + index] = source[start + index];
    } else if (source === bytes) {
      bytes.copyWithin(to, start, end);
    } else {
      bytes.set(source.subarray(start, end), to);
    }
  }
};
var NO_OPTIONS = {};
function attributesOf(options) {
  return (
    (options.transactional ? ATTRIBUTE_TRANSACTIONAL : 0) |
    (options.control ? ATTRIBUTE_CONTROL : 0) |
    (options.logAppendTime ? ATTRIBUTE_LOG_APPEND_TIME : 0)
  );
}

// storage/tail-cache.ts
var Chunk = class {
  bytes;
  view;
  /** Set with the first finished batch, as are the next two. */
  segment = void 0;
  /** Position in the segment's file that byte 0 mirrors. */
  filePosition = 0;
  firstOffset = 0;
  /** One past the last offset of the finished batches. */
  endOffset = 0;
  /** End of the finished batches. */
  filled = 0;
  /** End of what the file system has taken. */
  written = 0;
  /** End of what is on disk. */
  flushed = 0;
  /** Whether a batch is being encoded in it. */
  open = false;
  #owner;
  constructor(capacityBytes, owner) {
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes);
    this.view = viewOf(this.bytes);
    this.#owner = owner;
  }
  /** What is not on disk has no other place to be read from. */
  get evictable() {
    return !this.open && this.flushed === this.filled;
  }
  evict() {
    this.#owner.forget(this);
  }
};

// test/bench/zz-one.ts
var CHUNK_BYTES = 4 * 1024 * 1024;
var RECORDS_PER_ROUND = 2e5;
var ROUNDS = 25;
var LIMITS = { batchBytesMax: 1 << 20 };
var newChunk = () => new Chunk(CHUNK_BYTES, { forget() {} });
var chunk = newChunk();
var writer = new BatchWriter(chunk, newChunk);
var encoder = new BatchEncoder();
var cursor = new BatchCursor();
var CASES = [
  [100, 0, 100],
  [100, 16, 100],
  [1e3, 16, 100],
  [100, 16, 1e3],
  [1, 0, 100],
];
for (const [recordCount, keyBytes, valueBytes] of [CASES[Number(process.argv[2])]]) {
  const produced = batchOf(recordCount, keyBytes, valueBytes);
  const stored = storedRange(produced, recordCount);
  report(`produce ${recordCount} \xD7 (${keyBytes} + ${valueBytes}) B`, recordCount, () => produce(produced));
  report(`fetch   ${recordCount} \xD7 (${keyBytes} + ${valueBytes}) B`, stored.recordCount, () =>
    fetch(stored.range),
  );
}
function produce(bytes) {
  const batch = validateBatch(bytes, LIMITS);
  const section = bytes.subarray(BATCH_HEADER_BYTES, batch.end);
  if (chunk.filled > CHUNK_BYTES / 2) chunk.filled = 0;
  writer.begin(chunk, 1e3, 1, { byteLengthHint: section.length + batch.recordCount * 48 + 256 });
  writeRecords(writer, batch, section);
  writer.finish();
  writer.unstage();
  chunk.filled += writer.byteLength;
}
function fetch(range) {
  encoder.reset();
  encodeBatches(encoder, cursor, range, { fromOffset: 0, bytesMax: CHUNK_BYTES, atLeastOne: true });
}
function storedRange(produced, recordCount) {
  const target = newChunk();
  const filler = new BatchWriter(target, newChunk);
  const section = produced.subarray(BATCH_HEADER_BYTES);
  let offset = 0;
  while (target.filled < 64 * 1024) {
    filler.begin(target, offset, 1, {});
    writeRecords(filler, validateBatch(produced, LIMITS), section);
    filler.finish();
    target.filled += filler.byteLength;
    offset += recordCount;
  }
  return {
    range: { bytes: target.bytes, start: 0, end: target.filled, nextOffset: offset },
    recordCount: offset,
  };
}
function report(title, recordsPerCall, run) {
  const calls = Math.ceil(RECORDS_PER_ROUND / recordsPerCall);
  const nanoseconds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begin = process.hrtime.bigint();
    for (let call = 0; call < calls; call++) run();
    nanoseconds.push(Number(process.hrtime.bigint() - begin) / (calls * recordsPerCall));
  }
  nanoseconds.sort((a, b) => a - b);
  const best = nanoseconds[0];
  const median = nanoseconds[ROUNDS >> 1];
  const rate = (1e3 / best).toFixed(2);
  process.stdout.write(
    `${title.padEnd(34)} best ${best.toFixed(0).padStart(5)} ns, median ${median.toFixed(0).padStart(5)} ns a record, best ${rate} M/s
`,
  );
}
function batchOf(recordCount, keyBytes, valueBytes) {
  const parts = [Buffer.alloc(BATCH_HEADER_BYTES)];
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
  batch.writeBigInt64BE(1764000000000n, 27);
  batch.writeBigInt64BE(1764000000050n, 35);
  batch.writeBigInt64BE(-1n, 43);
  batch.writeInt16BE(-1, 51);
  batch.writeInt32BE(-1, 53);
  batch.writeInt32BE(recordCount, 57);
  batch.writeUInt32BE(crc32c4(batch.subarray(21)), 17);
  return batch;
}
function zigzag(value) {
  const bytes = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}
