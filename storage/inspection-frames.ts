// Reads frames as FORMAT.md has them, and takes nothing else: for the offline tools, which have to tell a frame that
// this program would not have written even where the hub could read it. Positions in, positions out; one object for
// all frames of a file.
import { StorageError } from './errors.ts';
import {
  BATCH_FRAME_BYTES,
  BATCH_METADATA_BYTES,
  FRAME_FIXED_BYTES,
  FRAME_METADATA_AT,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  MSGPACK_INT64,
  RECORD_FLAG_NULL_VALUE,
  RECORD_METADATA_ARRAY,
} from './frame.ts';
import { Prefix } from './message-pack.ts';

/** array(4), flags, int64, nil, array(0). */
const RECORD_METADATA_BYTES_MIN = 1 + 1 + 9 + 1 + 1;
/** Largest positive fixint. */
const FIXINT_MAX = 0x7f;

/** A name and a value or nil among the headers or attributes of a record: −1 stands for null. */
export type PairListener = (nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void;

/** Positions are in the bytes that were read from. */
export class RecordFrame {
  /** Frame with its fixed part. */
  byteLength = 0;
  totalLength = 0;
  metadataLength = 0;
  protocolDataLength = 0;
  dataLength = 0;
  flags = 0;
  timestampAt = 0;
  /** −1 when the key is null. */
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  attributeCount = 0;
  readonly #prefix = new Prefix();
  #view: DataView = new DataView(new ArrayBuffer(0));
  #headersAt = 0;
  #headersEnd = 0;
  #attributesAt = 0;
  #attributesEnd = 0;

  /**
   * Reads the frame at `at`, of which no byte lies behind `end`, headers and attributes included.
   * @throws StorageError corrupt; `byteLength` is then 0 if it is not even known where the next frame begins
   */
  read(view: DataView, at: number, end: number): void {
    this.#view = view;
    this.byteLength = 0;
    if (end - at < FRAME_FIXED_BYTES) throw corrupt('the batch ends within a frame');
    this.totalLength = view.getUint32(at + FRAME_TOTAL_LEN_AT);
    const frameEnd = at + FRAME_FIXED_BYTES + this.totalLength;
    if (frameEnd > end) throw corrupt(`total_len ${this.totalLength} leads out of the batch`);
    this.byteLength = FRAME_FIXED_BYTES + this.totalLength;
    this.#readLengths(view, at);
    const metadataAt = at + FRAME_METADATA_AT;
    this.#readMetadata(metadataAt, metadataAt + this.metadataLength);
    const attributesAt = metadataAt + this.metadataLength + 4;
    this.#readAttributes(attributesAt, attributesAt + this.protocolDataLength);
    const isNull = (this.flags & RECORD_FLAG_NULL_VALUE) !== 0;
    if (isNull && this.dataLength > 0) throw corrupt('the value is null and has bytes');
    this.valueStart = isNull ? -1 : frameEnd - this.dataLength;
    this.valueEnd = isNull ? -1 : frameEnd;
  }

  /** Reads the frame; what is wrong with it in words, undefined when nothing is. */
  problem(view: DataView, at: number, end: number): string | undefined {
    try {
      this.read(view, at, end);
      return undefined;
    } catch (error) {
      // A length that leads out of all bytes is a RangeError of the view, and no less a fault of the frame.
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Steps through the headers. */
  headers(listener: PairListener): void {
    this.#pairs(this.#headersAt, this.headerCount, this.#headersEnd, 'header', listener);
  }

  /** Steps through the source attributes. */
  attributes(listener: PairListener): void {
    this.#pairs(this.#attributesAt, this.attributeCount, this.#attributesEnd, 'source attribute', listener);
  }

  #readLengths(view: DataView, at: number): void {
    const left = this.totalLength;
    this.metadataLength = view.getUint32(at + FRAME_METADATA_LEN_AT);
    if (this.metadataLength > left)
      throw corrupt(`metadata_len ${this.metadataLength} is above total_len ${left}`);
    const protocolAt = at + FRAME_METADATA_AT + this.metadataLength;
    this.protocolDataLength = view.getUint32(protocolAt);
    if (this.metadataLength + this.protocolDataLength > left)
      throw corrupt(`protocol_data_len ${this.protocolDataLength} leads out of the frame`);
    this.dataLength = view.getUint32(protocolAt + 4 + this.protocolDataLength);
    if (this.metadataLength + this.protocolDataLength + this.dataLength !== left)
      throw corrupt(`total_len ${left} is not the sum of the three lengths`);
  }

  #readMetadata(at: number, end: number): void {
    const view = this.#view;
    if (
      end - at < RECORD_METADATA_BYTES_MIN ||
      view.getUint8(at) !== RECORD_METADATA_ARRAY ||
      view.getUint8(at + 2) !== MSGPACK_INT64
    ) {
      throw corrupt('the metadata is not an array of flags, timestamp, key and headers');
    }
    this.flags = view.getUint8(at + 1);
    if (this.flags > FIXINT_MAX || (this.flags & ~RECORD_FLAG_NULL_VALUE) !== 0)
      throw corrupt(`the flags are ${this.flags}`);
    this.timestampAt = at + 3;
    const { start, length } = this.#binOrNil(at + 11, end, 'key');
    this.keyStart = length < 0 ? -1 : start;
    this.keyEnd = length < 0 ? -1 : start + length;
    const headersAt = length < 0 ? start : start + length;
    this.headerCount = this.#pairCount(headersAt, end, 'headers');
    this.#headersAt = this.#prefix.at;
    this.#headersEnd = end;
    const behind = this.#pairs(this.#headersAt, this.headerCount, end, 'header', undefined);
    if (behind !== end) throw corrupt('bytes follow the headers');
  }

  #readAttributes(at: number, end: number): void {
    this.attributeCount = 0;
    this.#attributesAt = at;
    this.#attributesEnd = end;
    if (at === end) return;
    this.attributeCount = this.#pairCount(at, end, 'source attributes');
    this.#attributesAt = this.#prefix.at;
    const behind = this.#pairs(this.#attributesAt, this.attributeCount, end, 'source attribute', undefined);
    if (behind !== end) throw corrupt('bytes follow the source attributes');
  }

  #pairCount(at: number, end: number, what: string): number {
    if (at >= end) throw corrupt(`the ${what} are missing`);
    this.#prefix.readArray(this.#view, at);
    const { length } = this.#prefix;
    const bytes = length < 16 ? 1 : length < 65536 ? 3 : 5;
    this.#checkPrefix(at, end, bytes, what);
    if (length % 2 !== 0) throw corrupt(`the ${what} are ${length} names and values`);
    return length / 2;
  }

  /** Returns where the last pair ends. */
  #pairs(at: number, count: number, end: number, what: string, listener: PairListener | undefined): number {
    let next = at;
    for (let index = 0; index < count; index++) {
      if (next >= end) throw corrupt(`fewer ${what}s than announced`);
      this.#prefix.readStr(this.#view, next);
      const nameLength = this.#prefix.length;
      const nameStart = this.#prefix.at;
      this.#checkPrefix(next, end, nameLength < 32 ? 1 : sizedPrefixBytes(nameLength), `name of a ${what}`);
      const nameEnd = nameStart + nameLength;
      const { start, length } = this.#binOrNil(nameEnd, end, `value of a ${what}`);
      listener?.(nameStart, nameEnd, length < 0 ? -1 : start, length < 0 ? -1 : start + length);
      next = length < 0 ? start : start + length;
    }
    return next;
  }

  #binOrNil(at: number, end: number, what: string): { readonly start: number; readonly length: number } {
    if (at >= end) throw corrupt(`the ${what} is missing`);
    this.#prefix.readBinOrNil(this.#view, at);
    const { length, at: start } = this.#prefix;
    this.#checkPrefix(at, end, length < 0 ? 1 : sizedPrefixBytes(length), what);
    if (length > 0 && start + length > end) throw corrupt(`the ${what} leads out of its frame`);
    return { start, length };
  }

  /** There is one way to write a length: the shortest. */
  #checkPrefix(at: number, end: number, bytes: number, what: string): void {
    if (this.#prefix.at > end) throw corrupt(`the ${what} leads out of its frame`);
    if (this.#prefix.at - at !== bytes)
      throw corrupt(`the length of the ${what} is not written the short way`);
  }
}

/** What is wrong with the lengths of a batch frame whose checksum is right; undefined when nothing is. */
export function batchFrameProblem(view: DataView, at: number): string | undefined {
  const total = view.getUint32(at + FRAME_TOTAL_LEN_AT);
  const metadata = view.getUint32(at + FRAME_METADATA_LEN_AT);
  if (total !== BATCH_METADATA_BYTES || metadata !== BATCH_METADATA_BYTES) {
    return `a batch frame has total_len ${total} and metadata_len ${metadata}, not ${BATCH_METADATA_BYTES} both`;
  }
  if (view.getUint32(at + BATCH_FRAME_BYTES - 8) !== 0 || view.getUint32(at + BATCH_FRAME_BYTES - 4) !== 0) {
    return 'a batch frame has protocol data or data';
  }
  return undefined;
}

/** bin 8, 16, 32 and str 8, 16, 32. */
function sizedPrefixBytes(length: number): number {
  if (length < 256) return 2;
  return length < 65536 ? 3 : 5;
}

function corrupt(what: string): StorageError {
  return new StorageError('corrupt', what);
}
