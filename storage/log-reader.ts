// Reads of one partition: from the chunks in memory, else from the files. Whole batches only, the first one however
// large. What comes from a file is checked against its checksums: a fetch gives records a fresh checksum, which would
// hide that the disk had changed them.
//
// Segments may leave the list while their files are read (SegmentList): whatever came is forgotten then, bytes and
// errors alike, and the read starts over from the list.
import { type AbortedTransactions, transactionalSpan } from './aborted-transactions.ts';
import type { RecordRange } from './batch-cursor.ts';
import { assert, StorageError, storageErrorOf } from './errors.ts';
import { FileBlock, FileRange } from './file-block.ts';
import { batchByteLengthAt, batchLastOffsetAt } from './frame.ts';
import {
  BATCH_BYTES_MAX,
  FILE_READ_BYTES_MAX,
  READ_AHEAD_BLOCK_BYTES,
  READ_BYTES_MIN,
  SCAN_BYTES,
  UNINDEXED_BYTES_MAX,
} from './limits.ts';
import type { OffsetIndex } from './offset-index.ts';
import { ReadAhead } from './read-ahead.ts';
import { ReadEnds } from './read-ends.ts';
import type { Segment, SegmentList } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { ChunkRange, type PartitionTail } from './tail-cache.ts';

export interface LogReaderOptions {
  readonly segments: SegmentList;
  readonly tail: PartitionTail;
  readonly index: OffsetIndex;
  readonly aborted: AbortedTransactions;
  logStartOffset(): number;
  /** An index entry led nowhere (`wrong`), or there is none where there should be. */
  onIndexUnfit(segment: Segment, wrong: boolean): void;
  /** Bytes of a file do not match their checksum. */
  onCorrupt(error: StorageError, segment: Segment): void;
}

/** `committed`: the range says which transactions in it were aborted. Its bound is no more than the last stable offset. */
export type Isolation = 'all' | 'committed';

/** What a reader asks for. */
interface Wanted {
  readonly offset: number;
  readonly maxBytes: number;
  readonly bound: number;
}

/** Where in a segment's file to start. */
interface Place {
  readonly position: number;
  /** Of the batch there; −1 = whatever is there. */
  readonly expectedOffset: number;
  /** What is worth reading from there; 0 = not known. */
  readonly byteLength: number;
  /** Reads from files, one going on where the other ended, that led here. */
  readonly run: number;
}

const START: Place = { position: 0, expectedOffset: -1, byteLength: 0, run: 0 };

export class LogReader {
  readonly #parts: StoreParts;
  readonly #options: LogReaderOptions;
  /** Made for the first reader. */
  #ends: ReadEnds | undefined;
  #ahead: ReadAhead | undefined;

  constructor(parts: StoreParts, options: LogReaderOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** What memory holds; undefined when it is not there. `offset` is below `bound`, the end of what may be seen. */
  readCached(offset: number, maxBytes: number, bound: number, isolation: Isolation): RecordRange | undefined {
    const chunk = this.#options.tail.find(offset);
    if (chunk === undefined) return undefined;
    const segment = chunk.segment!; // set with the chunk's first finished batch
    const { view } = chunk;
    let at = 0;
    this.#ends ??= new ReadEnds();
    const end = this.#ends.find(offset, segment);
    const known = end < 0 ? -1 : this.#ends.positionAt(end);
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
    if (at > start) this.#ends.put(nextOffset, segment, chunk.filePosition + at, 0);
    const range = new ChunkRange(chunk, start, at, nextOffset);
    if (isolation === 'committed' && segment.hasTransactions) return this.#withAborted(range, segment);
    return range;
  }

  /** Undefined when memory does not tell what was aborted. */
  #withAborted(range: ChunkRange, segment: Segment): ChunkRange | undefined {
    const span = transactionalSpan(range);
    if (span === undefined) return range;
    const aborted = this.#options.aborted.inMemory(segment, span);
    if (aborted === 'elsewhere') {
      range.release();
      return undefined;
    }
    range.aborted = aborted;
    return range;
  }

  /** From the files. @throws StorageError offset-out-of-range, corrupt, io */
  async read(offset: number, maxBytes: number, bound: number, isolation: Isolation): Promise<RecordRange> {
    const wanted = { offset, maxBytes: Math.min(maxBytes, FILE_READ_BYTES_MAX), bound };
    for (;;) {
      const range = await this.#readList(wanted);
      const isTold = range !== 'gone' && (isolation === 'all' || (await this.#findAborted(range)));
      if (isTold) return range;
      const logStartOffset = this.#options.logStartOffset();
      if (offset < logStartOffset) {
        throw new StorageError(
          'offset-out-of-range',
          `offset ${offset} was deleted while it was read: the log starts at ${logStartOffset}`,
        );
      }
    }
  }

  /** False when the range is of a segment that has gone meanwhile, and let go of. */
  async #findAborted(range: RecordRange): Promise<boolean> {
    if (!(range instanceof FileRange)) return true;
    const span = transactionalSpan(range);
    if (span === undefined) return true;
    try {
      const aborted = await this.#options.aborted.find(range.segment, span);
      if (aborted !== 'gone') {
        range.aborted = aborted;
        return true;
      }
    } catch (error) {
      range.release();
      throw storageErrorOf(error, `looking for what was aborted in ${range.segment.path}`);
    }
    range.release();
    return false;
  }

  /** Resolves when nothing is being read that no reader waits for. */
  async close(): Promise<void> {
    await this.#ahead?.close();
  }

  /** In the segment that covers the offset, or a later one when a hole ends it. */
  async #readList(wanted: Wanted): Promise<RecordRange | 'gone'> {
    const { segments } = this.#options;
    const { all } = segments;
    let run = 0;
    for (let index = segments.floorIndex(wanted.offset); index < all.length; index++) {
      const segment = all[index]!; // index is below the length
      if (segment.gone) return 'gone';
      if (segment.baseOffset >= wanted.bound) break;
      const known = this.#knownPlace(segment, wanted.offset, run);
      run = known?.run ?? 0;
      const { path, flushedBytes } = segment;
      try {
        const range = await this.#readSegment(segment, known, wanted);
        if (range !== undefined) return range;
      } catch (error) {
        // A compacted file is renamed while it is read from: under its new name it is there.
        if (segment.gone || segment.path !== path) return 'gone';
        // What a failed write left is taken back while it is read: what was on disk before is there.
        if (segment.flushedBytes < flushedBytes) return 'gone';
        throw storageErrorOf(error, `reading ${path}`);
      }
    }
    return emptyRange(wanted.offset);
  }

  /** Where to start, when that needs no index. @param run of the reader that comes from the segment before */
  #knownPlace(segment: Segment, offset: number, run: number): Place | undefined {
    if (offset <= segment.baseOffset) return { ...START, run };
    const end = this.#ends?.find(offset, segment) ?? -1;
    if (this.#ends === undefined || end < 0) return undefined;
    return { ...START, position: this.#ends.positionAt(end), run: this.#ends.runAt(end) };
  }

  /** Undefined when all of the segment lies below the offset. */
  async #readSegment(
    segment: Segment,
    known: Place | undefined,
    wanted: Wanted,
  ): Promise<RecordRange | 'gone' | undefined> {
    if (known !== undefined) {
      if (known.position >= segment.flushedBytes) return undefined;
      const block = await this.#ahead?.take(segment, known.position);
      if (block !== undefined) {
        if (segment.gone) return dropped(block, 'gone');
        // Begun before the block is checked, so that the two go on at once.
        this.#ahead?.readOn(segment, block.position + block.wholeEnd);
        return this.#rangeOf(block, known.position - block.position, wanted, known.run);
      }
    }
    const place = known ?? (await this.#entryBelow(segment, wanted.offset));
    if (segment.gone) return 'gone';
    let found = await this.#search(segment, place, wanted);
    if (found === 'unfit') {
      this.#options.onIndexUnfit(segment, true);
      found = await this.#search(segment, START, wanted);
    }
    assert(found !== 'unfit', 'a search from the start expects nothing');
    return found;
  }

  async #entryBelow(segment: Segment, offset: number): Promise<Place> {
    const inMemory = segment.index?.floor(offset) ?? 'elsewhere';
    if (inMemory === 'start') return START;
    const entry = inMemory === 'elsewhere' ? await this.#options.index.floor(segment, offset) : inMemory;
    if (entry === undefined) {
      if (segment.byteSize > UNINDEXED_BYTES_MAX && !segment.gone) this.#options.onIndexUnfit(segment, false);
      return START;
    }
    const byteLength = entry.nextPosition - entry.position;
    return { position: entry.position, expectedOffset: entry.offset, byteLength, run: 0 };
  }

  /**
   * Reads from `place` on until the batch is there that covers the offset, or the first one behind it. `unfit`: it is
   * not there which was expected at `place`.
   */
  async #search(
    segment: Segment,
    place: Place,
    wanted: Wanted,
  ): Promise<RecordRange | 'gone' | 'unfit' | undefined> {
    const isSequential = place.run > 0 && this.#hasRoomAhead();
    const byteLengthMin = isSequential ? READ_AHEAD_BLOCK_BYTES : READ_BYTES_MIN;
    let byteLength = Math.max(wanted.maxBytes, Math.min(place.byteLength, SCAN_BYTES), byteLengthMin);
    let { position, expectedOffset } = place;
    if (position >= segment.flushedBytes) return expectedOffset >= 0 ? 'unfit' : undefined;
    for (;;) {
      const block = await this.#load(segment, position, byteLength);
      if (segment.gone) return dropped(block, 'gone');
      let at = 0;
      let verdict = block.check(at);
      if (expectedOffset >= 0 && (verdict !== 'good' || block.baseOffsetAt(at) !== expectedOffset)) {
        return dropped(block, 'unfit');
      }
      while (verdict === 'good' && block.lastOffsetAt(at) < wanted.offset) {
        at = block.endOf(at);
        verdict = block.check(at);
      }
      if (verdict === 'good') {
        if (isSequential) this.#ahead?.keep(block);
        return this.#rangeOf(block, at, wanted, place.run);
      }
      const isAtEnd = position + block.length === segment.flushedBytes;
      if (isAtEnd && at === block.length) return dropped(block, undefined);
      if (isAtEnd || verdict !== 'short')
        throw this.#corrupt(dropped(block, segment), position + at, verdict);
      block.letGo();
      position += at;
      expectedOffset = -1;
      byteLength = Math.max(byteLength, Math.min(4 * byteLength, SCAN_BYTES));
    }
  }

  #load(segment: Segment, position: number, byteLength: number): Promise<FileBlock> {
    const { files, pool } = this.#parts;
    return files.with(segment.path, (file) =>
      FileBlock.load(pool, file, segment, position, byteLength, BATCH_BYTES_MAX),
    );
  }

  /** The batch at `at` and what follows it. The block is let go of. Undefined when the segment ends before it. */
  #rangeOf(block: FileBlock, at: number, wanted: Wanted, run: number): RecordRange | undefined {
    const { segment } = block;
    const verdict = block.check(at);
    if (verdict !== 'good') {
      this.#ahead?.forget(block);
      throw this.#corrupt(dropped(block, segment), block.position + at, verdict);
    }
    // What lies behind the offset where the next segment begins does not count: a cut that a crash undid.
    const bound = Math.min(wanted.bound, segment.endOffset);
    if (block.lastOffsetAt(at) >= bound) {
      return dropped(block, bound < wanted.bound ? undefined : emptyRange(wanted.offset));
    }
    const range = block.rangeFrom(at, wanted.maxBytes, bound);
    const end = block.position + range.end;
    this.#ends ??= new ReadEnds();
    this.#ends.put(range.nextOffset, segment, end, run + 1);
    this.#ahead?.used(block, end);
    return dropped(block, range);
  }

  #hasRoomAhead(): boolean {
    this.#ahead ??= new ReadAhead(this.#parts.readAhead);
    return this.#ahead.hasRoom();
  }

  #corrupt(segment: Segment, position: number, verdict: 'short' | 'bad' | 'newer'): StorageError {
    const what = verdict === 'newer' ? 'is in a newer format' : 'does not match its checksum or its length';
    const error = new StorageError('corrupt', `${segment.path}: the batch at byte ${position} ${what}`);
    this.#options.onCorrupt(error, segment);
    return error;
  }
}

export function emptyRange(offset: number): RecordRange {
  return { bytes: NO_BYTES, start: 0, end: 0, nextOffset: offset };
}

const NO_BYTES = Buffer.alloc(0);

/** The block is let go of, and `result` is what became of it. */
function dropped<Result>(block: FileBlock, result: Result): Result {
  block.letGo();
  return result;
}
