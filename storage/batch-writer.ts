// Encodes a batch straight into a partition's open chunk. FORMAT.md has the bytes, record-frame.ts and batch-frame.ts what
// is the same in every frame; here is how they get there without an object per record: integers through the chunk's
// DataView, slices by copyWithin inside one buffer.
//
// The open batch is invisible until `finish`, so whatever goes wrong before that is undone by forgetting it. When
// the chunk is too small the open batch moves to a larger one; what was finished stays where it is.
import { type BatchOptions, NO_OPTIONS, writeBatchFrame } from './batch-frame.ts';
import { assert, StorageError } from './errors.ts';
import { BATCH_FRAME_BYTES, MSGPACK_NIL } from './frame.ts';
import { BATCH_BYTES_MAX } from './limits.ts';
import { PREFIX_BYTES_MAX, writeArrayPrefix, writeBinPrefix, writeStrPrefix } from './message-pack.ts';
import {
  markNullValue,
  RECORD_FIXED_BYTES_MAX,
  writeRecordHead,
  writeRecordHeadAgain,
  writeRecordLengths,
} from './record-frame.ts';
import { SourceWindow, WINDOW_BYTES_MIN } from './source-window.ts';
import type { Chunk } from './tail-cache.ts';

/** Below this a loop is faster than the object that a slice for `set` costs. */
const LOOP_BYTES_MAX = 48;
/** Room for the batch when stage() has no hint to go by: frames may be this many times the source. */
const UNHINTED_GROWTH = 3;

/** Gives a chunk with at least `roomBytes` free after what it has finished; the old one gets no more batches. */
export type ChunkSource = (roomBytes: number) => Chunk;

/** Structurally the port's RecordWriter; what follows `endRecord` is for PartitionLog. */
export class BatchWriter {
  readonly #nextChunk: ChunkSource;
  #chunk: Chunk;
  #bytes: Buffer;
  #view: DataView;
  /** Where the batch frame begins, where the next byte goes, what it must not pass. */
  #batchAt = 0;
  #at = 0;
  #limit = 0;
  #staged: Uint8Array;
  #isStaging = false;
  readonly #window = new SourceWindow();
  lastingSource: Uint8Array | undefined;
  /** A record of the batch has headers, or is one that somebody looks for. */
  isMarked = false;
  #recordAt = -1;
  #headersLeft = 0;
  /** Of the record before, if it has no headers: see {@link repeatRecord}. Where its frame begins, from the batch's on. */
  #lastKey: Uint8Array | undefined;
  #lastAttributes: Uint8Array | null = null;
  #lastDelta = 0;
  #lastHeadBytes = 0;

  #baseOffset = 0;
  #recordCount = 0;
  #firstTimestampMs = -1;
  #maxTimestampMs = -1;
  #leaderEpoch = 0;
  #options: BatchOptions = NO_OPTIONS;
  #controlAttributes = 0;

  constructor(chunk: Chunk, nextChunk: ChunkSource) {
    this.#nextChunk = nextChunk;
    this.#chunk = chunk;
    this.#bytes = chunk.bytes;
    this.#view = chunk.view;
    this.#staged = chunk.bytes;
  }

  get nextOffset(): number {
    return this.#baseOffset + this.#recordCount;
  }

  /** What `stage` returned positions for. */
  get staged(): Uint8Array {
    return this.#staged;
  }

  /**
   * Copies `bytes` once to the far end of the chunk, so that each slice of them is then a move inside one buffer.
   * Returns what to add to positions in `bytes`. A later call replaces the former.
   */
  stage(bytes: Uint8Array): number {
    assert(this.#recordAt < 0, 'stage is called between records');
    const open = this.#at - this.#batchAt;
    const hint = this.#options.byteLengthHint ?? open + UNHINTED_GROWTH * bytes.length;
    const room = Math.max(hint, open) + RECORD_FIXED_BYTES_MAX;
    if (this.#batchAt + room + bytes.length > this.#bytes.length) this.#moveToRoomOf(room + bytes.length);
    const stagedAt = this.#bytes.length - bytes.length;
    this.#bytes.set(bytes, stagedAt);
    this.#staged = this.#bytes;
    this.#isStaging = true;
    this.#window.forget();
    this.#limit = stagedAt;
    return stagedAt;
  }

  startRecord(
    timestampMs: number,
    source: Uint8Array,
    keyStart: number,
    keyEnd: number,
    headerCount: number,
  ): void {
    assert(this.#recordAt < 0, 'endRecord comes before the next startRecord');
    const keyLength = keyEnd < 0 ? 0 : keyEnd - keyStart;
    if (this.#at + RECORD_FIXED_BYTES_MAX + keyLength > this.#limit) {
      this.#makeRoom(RECORD_FIXED_BYTES_MAX + keyLength);
    }
    const view = this.#view;
    const bytes = this.#bytes;
    const recordAt = this.#at;
    let at = writeRecordHead(view, recordAt, this.#baseOffset + this.#recordCount, timestampMs);
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
    if (headerCount > 0) this.isMarked = true;
    this.#lastKey = headerCount === 0 && keyStart === 0 && keyEnd === source.length ? source : undefined;
    if (this.#recordCount === 0) {
      this.#firstTimestampMs = timestampMs;
      this.#maxTimestampMs = timestampMs;
    } else if (timestampMs > this.#maxTimestampMs) {
      this.#maxTimestampMs = timestampMs;
    }
  }

  /** A whole record like the one before but for its value and its time. @returns false when that is another: nothing is written */
  repeatRecord(
    timestampMs: number,
    key: Uint8Array,
    source: Uint8Array,
    valueStart: number,
    valueEnd: number,
    attributes: Uint8Array | null,
  ): boolean {
    if (key !== this.#lastKey || attributes !== this.#lastAttributes) return false;
    assert(this.#recordAt < 0 && valueStart >= 0, 'a record that is repeated is whole, and has a value');
    const headBytes = this.#lastHeadBytes; // all that stands before the value
    const valueLength = valueEnd - valueStart;
    const need = headBytes + valueLength;
    if (this.#at + need > this.#limit) this.#makeRoom(need);
    const recordAt = this.#at;
    const lastAt = this.#batchAt + this.#lastDelta;
    copyWithin.call(this.#bytes, recordAt, lastAt, lastAt + headBytes);
    const offset = this.#baseOffset + this.#recordCount;
    writeRecordHeadAgain(this.#view, recordAt, offset, timestampMs, headBytes, valueLength);
    this.#copyValue(source, valueStart, valueEnd, recordAt + headBytes);
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    this.#at = recordAt + need;
    this.#lastDelta = recordAt - this.#batchAt;
    this.#recordCount++;
    return true;
  }

  header(source: Uint8Array, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
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

  endRecord(source: Uint8Array, valueStart: number, valueEnd: number, attributes: Uint8Array | null): void {
    assert(
      this.#recordAt >= 0 && this.#headersLeft === 0,
      'endRecord follows startRecord and all its headers',
    );
    const valueLength = valueEnd < 0 ? 0 : valueEnd - valueStart;
    const attributesLength = attributes === null ? 0 : attributes.length;
    const need = 8 + attributesLength + valueLength;
    if (this.#at + need > this.#limit) this.#makeRoom(need);
    const recordAt = this.#recordAt;
    const valueAt = this.#at + 8 + attributesLength;
    writeRecordLengths(this.#view, recordAt, this.#at, attributesLength, valueLength);
    if (attributes !== null) this.#copy(attributes, 0, attributesLength, this.#at + 4);
    if (valueEnd < 0) markNullValue(this.#view, recordAt);
    else this.#copyValue(source, valueStart, valueEnd, valueAt);
    this.#lastAttributes = attributes;
    this.#lastDelta = recordAt - this.#batchAt;
    this.#lastHeadBytes = valueAt - recordAt;
    this.#at = valueAt + valueLength;
    this.#recordAt = -1;
    this.#recordCount++;
  }

  get chunk(): Chunk {
    return this.#chunk;
  }

  get baseOffset(): number {
    return this.#baseOffset;
  }

  get recordCount(): number {
    return this.#recordCount;
  }

  get firstTimestampMs(): number {
    return this.#firstTimestampMs;
  }

  get maxTimestampMs(): number {
    return this.#maxTimestampMs;
  }

  get batchAt(): number {
    return this.#batchAt;
  }

  /** Bytes of the batch so far, its frame included. */
  get byteLength(): number {
    return this.#at - this.#batchAt;
  }

  /** Whether a record was started and not ended. */
  get inRecord(): boolean {
    return this.#recordAt >= 0;
  }

  /** Opens a batch behind what `chunk` has finished. @param controlAttributes of one that ends a transaction */
  begin(
    chunk: Chunk,
    baseOffset: number,
    leaderEpoch: number,
    options: BatchOptions,
    controlAttributes = 0,
  ): void {
    this.#use(chunk);
    this.#batchAt = chunk.filled;
    this.#at = chunk.filled + BATCH_FRAME_BYTES;
    this.#baseOffset = baseOffset;
    this.#leaderEpoch = leaderEpoch;
    this.#options = options;
    this.#controlAttributes = controlAttributes;
    this.#recordCount = 0;
    this.#recordAt = -1;
    this.isMarked = false;
    this.#forgetSources();
    if (this.#at > this.#limit) this.#makeRoom(0);
  }

  /** Takes back the record that is being written and those after the first `recordCount`, which end at `byteLength`. */
  rewind(recordCount: number, byteLength: number, maxTimestampMs: number): void {
    this.#recordAt = -1;
    this.#recordCount = recordCount;
    this.#maxTimestampMs = maxTimestampMs;
    this.#at = this.#batchAt + byteLength;
    this.#forgetSources();
  }

  /** Ends what `stage` began: the far end of the chunk is free again. */
  unstage(): void {
    if (!this.#isStaging) return;
    this.#isStaging = false;
    this.#limit = this.#bytes.length;
  }

  /** Moves the open batch into a chunk of its own, for a new segment. */
  moveToNextChunk(): void {
    this.#moveToRoomOf(this.byteLength);
  }

  /** Completes the batch frame. The batch is then whole, from `batchAt` on; no more records. */
  finish(): void {
    assert(this.#recordAt < 0 && this.#recordCount > 0, 'a batch has at least one record, and all are ended');
    this.#forgetSources();
    writeBatchFrame(this.#bytes, this.#view, this.#batchAt, {
      options: this.#options,
      controlAttributes: this.#controlAttributes,
      leaderEpoch: this.#leaderEpoch,
      baseOffset: this.#baseOffset,
      recordCount: this.#recordCount,
      byteLength: this.byteLength,
      firstTimestampMs: this.#firstTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
    });
  }

  #use(chunk: Chunk): void {
    this.#chunk = chunk;
    this.#bytes = chunk.bytes;
    this.#view = chunk.view;
    this.#limit = chunk.bytes.length;
    this.#staged = chunk.bytes;
    this.#isStaging = false;
    this.#window.forget();
  }

  /** What the batch was made of is let go of. */
  #forgetSources(): void {
    this.lastingSource = undefined;
    this.#lastKey = undefined;
    this.#lastAttributes = null;
    this.#window.forget();
    if (!this.#isStaging) this.#limit = this.#bytes.length;
  }

  /** Moves on to a chunk where `needBytes` more fit; at least doubles, so that a batch moves few times. */
  #makeRoom(needBytes: number): void {
    if (!this.#isStaging) {
      this.#window.forget();
      this.#limit = this.#bytes.length;
      if (this.#at + needBytes <= this.#limit) return;
    }
    const staged = this.#staged;
    this.#moveToRoomOf(2 * this.byteLength + needBytes);
    // Positions given out by stage() stay valid: they are in the old buffer, only slower to copy from.
    this.#staged = staged;
  }

  #moveToRoomOf(roomBytes: number): void {
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

  /** Behind a value, which comes last in its record, a window of its source may lie. */
  #copyValue(source: Uint8Array, start: number, end: number, to: number): void {
    const length = end - start;
    const isFit =
      length >= LOOP_BYTES_MAX && length <= WINDOW_BYTES_MIN && start >= 0 && end <= source.length;
    const isWindowed = isFit && source === this.lastingSource && !this.#isStaging;
    const at = isWindowed ? this.#window.find(source, start, end, this.#bytes, to + length) : -1;
    if (isWindowed) this.#limit = this.#window.begin(this.#bytes);
    if (at < 0) this.#copy(source, start, end, to);
    else copyWithin.call(this.#bytes, to, at, at + length);
  }

  #copy(source: Uint8Array, start: number, end: number, to: number): void {
    assert(start >= 0 && start <= end && end <= source.length, 'a slice lies within its source');
    const bytes = this.#bytes;
    const length = end - start;
    if (length < LOOP_BYTES_MAX) {
      // The slice was checked above, so every index is inside.
      for (let index = 0; index < length; index++) bytes[to + index] = source[start + index]!;
    } else if (source === bytes) {
      copyWithin.call(bytes, to, start, end);
    } else {
      bytes.set(source.subarray(start, end), to);
    }
  }
}

/** Looked up once. */
const { copyWithin } = Uint8Array.prototype;
