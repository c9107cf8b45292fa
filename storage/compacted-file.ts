// The file that compaction writes in the place of a segment, or of several neighbours: beside the segments, under a name
// that is not one of theirs, with its index entries as it grows. It is whole and on disk when `finish` resolves; before
// that it may be thrown away at any time.
import { join } from 'node:path';
import { BatchCompactor } from './batch-compactor.ts';
import type { BatchCursor } from './batch-cursor.ts';
import { errorCodeOf } from './errors.ts';
import { cleanedFileName, segmentFileName } from './file-names.ts';
import { BATCH_FRAME_BYTES, batchBaseOffsetAt, viewOf } from './frame.ts';
import { COMPACTION_BUFFER_BYTES, COMPACTION_FLUSH_BYTES } from './limits.ts';
import type { Pace } from './pace.ts';
import { Segment } from './segment.ts';
import { SegmentIndex } from './segment-index.ts';
import type { StoreParts } from './store-parts.ts';

const NO_TIMESTAMP_MS = -1;

export class CompactedFile {
  readonly path: string;
  readonly #parts: StoreParts;
  readonly #pace: Pace;
  readonly #directory: string;
  readonly #first: Segment;
  readonly #index: SegmentIndex;
  readonly #batches: BatchCompactor;
  /** Where in the file the compactor's buffer begins, and what of the file is on disk. */
  #position = 0;
  #flushedBytes = 0;
  /** The frame of the last batch that was left out, when none followed: the last of all stays, without records. */
  readonly #lastFrame = Buffer.alloc(BATCH_FRAME_BYTES);
  #lastIsLeftOut = false;

  /** @param first the segment whose name it gets */
  constructor(parts: StoreParts, pace: Pace, directory: string, first: Segment) {
    this.#parts = parts;
    this.#pace = pace;
    this.#directory = directory;
    this.#first = first;
    this.path = join(directory, cleanedFileName(segmentFileName(first.leaderEpoch, first.baseOffset)));
    this.#index = new SegmentIndex(parts.indexIntervalBytes, 0);
    this.#batches = new BatchCompactor(parts.pool.take(COMPACTION_BUFFER_BYTES));
  }

  /** Bytes so far. */
  get byteSize(): number {
    return this.#position + this.#batches.length;
  }

  /** Makes the file; what an earlier attempt has left goes. */
  async create(): Promise<void> {
    await this.#unlink();
    await this.#parts.files.create(this.path);
  }

  /** Whether `begin` may be called for the batch that the cursor stands on; else `makeRoom` comes first. */
  hasRoomFor(cursor: BatchCursor): boolean {
    return this.#batches.hasRoomFor(cursor.batchByteLength);
  }

  async makeRoom(cursor: BatchCursor): Promise<void> {
    await this.#write();
    const { pool } = this.#parts;
    const { bytes } = this.#batches;
    if (cursor.batchByteLength <= bytes.length) return;
    pool.giveBack(bytes);
    this.#batches.reset(pool.take(cursor.batchByteLength));
  }

  begin(cursor: BatchCursor): void {
    this.#batches.begin(cursor);
  }

  keep(cursor: BatchCursor): void {
    this.#batches.keep(cursor);
  }

  leaveTransaction(): void {
    this.#batches.leaveTransaction();
  }

  /** Whether the batch stays. @param staysWhenEmpty though all of its records are gone */
  end(cursor: BatchCursor, staysWhenEmpty: boolean): boolean {
    const batches = this.#batches;
    const position = this.byteSize;
    const byteLength = batches.end(cursor, staysWhenEmpty);
    this.#lastIsLeftOut = byteLength === 0;
    if (byteLength > 0) {
      this.#index.note(cursor.batchBaseOffset, position, batches.firstTimestampMs, batches.maxTimestampMs);
      const { batchBaseOffset, batchProducerId, batchAborts, controlRecord } = cursor;
      if (controlRecord !== undefined) {
        this.#index.noteEnd(batchBaseOffset, batchProducerId, batchAborts, controlRecord);
      }
    } else {
      cursor.bytes.copy(this.#lastFrame, 0, cursor.batchStart, cursor.batchStart + BATCH_FRAME_BYTES);
    }
    return byteLength > 0;
  }

  /**
   * Writes and flushes the rest. It is a segment from now on, under the path that the file has, with its index in memory.
   * @param replaced whose place it takes, oldest first; @param appendedAtMs wall clock of the last append to them
   */
  async finish(replaced: readonly Segment[], appendedAtMs: number): Promise<Segment> {
    if (this.#lastIsLeftOut) await this.#addLastFrame();
    await this.#write();
    await this.#flush();
    const { leaderEpoch, baseOffset, firstAppendMonotonicMs } = this.#first;
    const { endOffset, appendedAtMonotonicMs } = replaced.at(-1) ?? this.#first;
    const byteSize = this.#position;
    const segment = new Segment(this.#directory, leaderEpoch, baseOffset, { byteSize, endOffset });
    segment.path = this.path;
    segment.index = this.#index;
    segment.firstAppendMonotonicMs = firstAppendMonotonicMs;
    segment.appendedAtMonotonicMs = appendedAtMonotonicMs;
    this.#index.appendedAtMs = appendedAtMs;
    return segment;
  }

  /** The file goes, if it can. */
  async discard(): Promise<void> {
    this.#parts.files.drop(this.path);
    try {
      await this.#unlink();
    } catch (error) {
      // The next attempt, or the next opening, removes it.
      this.#parts.log.warn('compaction.file-not-removed', { path: this.path, error });
    }
  }

  /** The buffer is not used any more. */
  release(): void {
    this.#parts.pool.giveBack(this.#batches.bytes);
  }

  /** So that the segment's file alone tells where it ends, and an epoch does not vanish. */
  async #addLastFrame(): Promise<void> {
    if (!this.#batches.hasRoomFor(BATCH_FRAME_BYTES)) await this.#write();
    const position = this.byteSize;
    this.#batches.addEmpty(this.#lastFrame);
    this.#index.note(
      batchBaseOffsetAt(viewOf(this.#lastFrame), 0),
      position,
      NO_TIMESTAMP_MS,
      NO_TIMESTAMP_MS,
    );
  }

  async #write(): Promise<void> {
    const { bytes, length } = this.#batches;
    if (length === 0) return;
    this.#parts.disk.appended(length);
    await this.#parts.files.with(this.path, (file) => file.write(bytes, 0, length, this.#position));
    this.#batches.reset(bytes);
    this.#position += length;
    this.#parts.counters.compactedBytes += length;
    this.#pace.spend(length);
    if (this.#position - this.#flushedBytes >= COMPACTION_FLUSH_BYTES) await this.#flush();
    if (this.#pace.isSpent()) await this.#pace.rest();
  }

  async #flush(): Promise<void> {
    await this.#parts.files.with(this.path, (file) => file.datasync());
    this.#flushedBytes = this.#position;
  }

  async #unlink(): Promise<void> {
    try {
      await this.#parts.fileSystem.unlink(this.path);
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
    }
  }
}
