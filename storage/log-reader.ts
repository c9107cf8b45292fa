// Reads of one partition: from the chunks in memory, else from the files. Whole batches only, the first one however
// large. What comes from a file is checked against its checksums: a fetch gives records a fresh checksum, which would
// hide that the disk had changed them.

import type { RecordRange } from './batch-cursor.ts';
import { BatchScan } from './batch-scan.ts';
import type { BufferPool } from './buffer-pool.ts';
import { StorageError, storageErrorOf } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import {
  BATCH_FRAME_BYTES,
  batchBaseOffsetAt,
  batchByteLengthAt,
  batchLastOffsetAt,
  looksLikeBatch,
  verifyBatch,
  viewOf,
} from './frame.ts';
import { READ_BYTES_MIN, UNINDEXED_BYTES_MAX } from './limits.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { OpenFiles } from './open-files.ts';
import { ReadEnds } from './read-ends.ts';
import type { Segment, SegmentList } from './segment.ts';
import type { IndexEntry } from './segment-index.ts';
import { ChunkRange, type PartitionTail } from './tail-cache.ts';

export interface LogReaderOptions {
  readonly segments: SegmentList;
  readonly tail: PartitionTail;
  readonly files: OpenFiles;
  readonly pool: BufferPool;
  readonly index: OffsetIndex;
  /** An index entry led nowhere (`wrong`), or there is none where there should be. */
  onIndexUnfit(segment: Segment, wrong: boolean): void;
  /** Bytes of a file do not match their checksum. */
  onCorrupt(error: StorageError): void;
}

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #ends = new ReadEnds();

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** What memory holds; undefined when it is not there. `offset` is below `bound`, the end of what may be seen. */
  readCached(offset: number, maxBytes: number, bound: number): RecordRange | undefined {
    const chunk = this.#options.tail.find(offset);
    if (chunk === undefined) return undefined;
    const segment = chunk.segment!; // set with the chunk's first finished batch
    const { view } = chunk;
    let at = 0;
    const known = this.#ends.positionOf(offset, segment);
    if (known >= chunk.filePosition) {
      at = known - chunk.filePosition;
    } else {
      const entry = segment.index?.floor(offset);
      if (typeof entry === 'object') at = Math.max(0, entry.position - chunk.filePosition);
    }
    // The batches of a chunk are contiguous and hold `offset`.
    while (batchLastOffsetAt(view, at) < offset) at += batchByteLengthAt(view, at);

    const start = at;
    let nextOffset = offset;
    if (bound >= chunk.endOffset && chunk.filled - start <= maxBytes) {
      at = chunk.filled;
      nextOffset = chunk.endOffset;
    }
    while (at < chunk.filled) {
      const lastOffset = batchLastOffsetAt(view, at);
      const end = at + batchByteLengthAt(view, at);
      if (lastOffset >= bound || (at > start && end - start > maxBytes)) break;
      at = end;
      nextOffset = lastOffset + 1;
    }
    if (at > start) this.#ends.put(nextOffset, segment, chunk.filePosition + at);
    return new ChunkRange(chunk, start, at, nextOffset);
  }

  /** From the files. @throws StorageError corrupt, io */
  async read(offset: number, maxBytes: number, bound: number): Promise<RecordRange> {
    const { segments } = this.#options;
    for (let index = segments.floorIndex(offset); index < segments.length; index++) {
      const segment = segments.at(index)!; // index is below the length
      if (segment.baseOffset >= bound) break;
      const range = await this.#readSegment(segment, offset, maxBytes, bound);
      if (range !== undefined) return range;
    }
    return emptyRange(offset);
  }

  /** Undefined when all of the segment lies below `offset`. */
  async #readSegment(
    segment: Segment,
    offset: number,
    maxBytes: number,
    bound: number,
  ): Promise<RecordRange | undefined> {
    const { files } = this.#options;
    if (segment.flushedBytes === 0) return undefined;
    try {
      return await files.with(segment.path, async (file) => {
        let position = this.#ends.positionOf(offset, segment);
        if (position < 0) position = await this.#seek(file, segment, offset);
        if (position >= segment.flushedBytes) return undefined;
        // What lies behind the offset where the next segment begins does not count: a cut that a crash undid.
        const end = Math.min(bound, segment.endOffset);
        const range = await this.#load(file, segment, position, offset, maxBytes, end);
        return range.end === 0 && end < bound ? undefined : range;
      });
    } catch (error) {
      throw storageErrorOf(error, `reading ${segment.path}`);
    }
  }

  /** Position of the first batch that ends at or above `offset`; the segment's end when there is none. */
  async #seek(file: OpenFile, segment: Segment, offset: number): Promise<number> {
    const entry = await this.#entryBelow(segment, offset);
    if (entry !== undefined) {
      const found = await this.#scanFor(file, segment, entry.position, offset, entry.offset);
      if (found >= 0) return found;
      this.#options.onIndexUnfit(segment, true);
    }
    return this.#scanFor(file, segment, 0, offset, -1);
  }

  async #entryBelow(segment: Segment, offset: number): Promise<IndexEntry | undefined> {
    const inMemory = segment.index?.floor(offset);
    if (typeof inMemory === 'object') return inMemory;
    if (inMemory === 'start') return undefined;
    const stored = await this.#options.index.floor(segment, offset);
    if (stored === undefined && segment.byteSize > UNINDEXED_BYTES_MAX)
      this.#options.onIndexUnfit(segment, false);
    return stored;
  }

  /** @param expectedOffset of the batch at `start`; when another is there the answer is −1. −1 = whatever is there */
  async #scanFor(
    file: OpenFile,
    segment: Segment,
    start: number,
    offset: number,
    expectedOffset: number,
  ): Promise<number> {
    const fromEntry = expectedOffset >= 0;
    if (start >= segment.flushedBytes && fromEntry) return -1;
    const scan = new BatchScan(start, segment.flushedBytes, READ_BYTES_MIN);
    for (;;) {
      const step = scan.step();
      if (step === 'more') {
        await scan.load(file);
        continue;
      }
      if (step === 'end') return segment.flushedBytes;
      if (step !== 'good') {
        if (fromEntry && scan.position === start) return -1;
        throw this.#corrupt(segment, scan.position, step);
      }
      if (fromEntry && scan.position === start && batchBaseOffsetAt(scan.view, scan.at) !== expectedOffset)
        return -1;
      if (batchLastOffsetAt(scan.view, scan.at) >= offset) return scan.position;
    }
  }

  async #load(
    file: OpenFile,
    segment: Segment,
    position: number,
    offset: number,
    maxBytes: number,
    bound: number,
  ): Promise<RecordRange> {
    const { pool } = this.#options;
    const available = segment.flushedBytes - position;
    let length = Math.min(Math.max(maxBytes, READ_BYTES_MIN), available);
    let bytes = pool.take(length);
    await readBytes(file, bytes, length, position);
    let view = viewOf(bytes);
    if (length >= BATCH_FRAME_BYTES && looksLikeBatch(view, 0) && batchByteLengthAt(view, 0) > length) {
      length = Math.min(batchByteLengthAt(view, 0), available);
      pool.giveBack(bytes);
      bytes = pool.take(length);
      await readBytes(file, bytes, length, position);
      view = viewOf(bytes);
    }
    let end = 0;
    let nextOffset = offset;
    while (end < length) {
      const verdict = verifyBatch(bytes, view, end, length);
      // The read ended within a batch, and not the segment.
      if (verdict === 'short' && length < available) break;
      if (verdict !== 'good') throw this.#corrupt(segment, position + end, verdict);
      const batchEnd = end + batchByteLengthAt(view, end);
      const lastOffset = batchLastOffsetAt(view, end);
      if (lastOffset >= bound || (end > 0 && batchEnd > maxBytes)) break;
      end = batchEnd;
      nextOffset = lastOffset + 1;
    }
    if (end > 0) this.#ends.put(nextOffset, segment, position + end);
    return new FileRange(pool, bytes, end, nextOffset);
  }

  #corrupt(segment: Segment, position: number, verdict: 'short' | 'bad' | 'newer'): StorageError {
    const what = verdict === 'newer' ? 'is in a newer format' : 'does not match its checksum or its length';
    const error = new StorageError('corrupt', `${segment.path}: the batch at byte ${position} ${what}`);
    this.#options.onCorrupt(error);
    return error;
  }
}

export function emptyRange(offset: number): RecordRange {
  return { bytes: NO_BYTES, start: 0, end: 0, nextOffset: offset };
}

const NO_BYTES = Buffer.alloc(0);

/** Bytes of a file, read for one reader. */
class FileRange implements RecordRange {
  readonly bytes: Buffer;
  readonly start = 0;
  readonly end: number;
  readonly nextOffset: number;
  #pool: BufferPool | undefined;

  constructor(pool: BufferPool, bytes: Buffer, end: number, nextOffset: number) {
    this.bytes = bytes;
    this.end = end;
    this.nextOffset = nextOffset;
    this.#pool = pool;
  }

  release(): void {
    this.#pool?.giveBack(this.bytes);
    this.#pool = undefined;
  }
}

async function readBytes(file: OpenFile, into: Buffer, length: number, position: number): Promise<void> {
  const count = await file.read(into, 0, length, position);
  if (count < length) throw new Error(`the file ends at ${position + count}, before ${position + length}`);
}
