// Ordered segments of one partition: append, read, roll, close. Three offsets, in this order: the high watermark (set
// by the owner: what readers see), the flushed offset (what is on disk), the log end (what has been appended).
//
// Appends are synchronous: between the checks and the moment when offsets are final there is no await. The newest
// segment is made by the first append of an opening, so that a log which is only read makes no file.
import type { RecordRange } from './batch-cursor.ts';
import { type BatchOptions, BatchWriter, NO_OPTIONS } from './batch-writer.ts';
import { type Append, type CommitGroup, type CommitHost, Committer, GroupedAppend } from './committer.ts';
import { assert, StorageError } from './errors.ts';
import { IndexCompletion } from './index-completion.ts';
import { type EpochEnd, endOfEpoch, epochStarts, writeLeaderEpochs } from './leader-epochs.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ROOM_BYTES,
  SEGMENT_BYTES_MAX,
  SHARED_BATCH_BYTES_MAX,
  SHARED_BATCH_RECORDS_MAX,
  UNFLUSHED_BYTES_MAX,
} from './limits.ts';
import { emptyRange, LogReader } from './log-reader.ts';
import { type RecoveryCheckpoint, writeCheckpoint, writeManifest } from './manifest.ts';
import { OffsetIndex, SegmentIndex } from './offset-index.ts';
import type { LogFailure, RecoveredLog } from './recovery.ts';
import { Segment, SegmentList } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { type DirtyRange, PartitionTail } from './tail-cache.ts';
import { TimeLookup, type TimestampedOffset } from './time-lookup.ts';

export interface PartitionLogOptions {
  readonly topic: string;
  readonly partition: number;
  readonly logId: number;
  readonly leaderEpoch: number;
  readonly segmentBytes: number;
  readonly directory: string;
}

export class PartitionLog {
  readonly topic: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  /** Called once per group commit, before the promises of the group resolve. Set by the owner. */
  onFlushed: ((flushedOffset: number) => void) | undefined = undefined;

  readonly #parts: StoreParts;
  readonly #directory: string;
  readonly #name: string;
  readonly #segments: SegmentList;
  readonly #tail: PartitionTail;
  readonly #reader: LogReader;
  readonly #index: OffsetIndex;
  readonly #completion: IndexCompletion;
  readonly #times: TimeLookup;
  readonly #committer: Committer;

  #logStartOffset: number;
  #logEndOffset: number;
  #flushedOffset: number;
  #highWatermark: number;
  #segmentBytes: number;
  #failed: StorageError | undefined;
  #state: 'open' | 'closed' | 'deleted' = 'open';

  /** The segment that this opening appends to. */
  #active: Segment | undefined;
  /** Lives as long as its chunk is in memory. */
  #writer: BatchWriter | undefined;
  /** The writer has an open shared batch. */
  #sharing = false;
  #filling = false;
  #unflushedBytes = 0;
  #checkpointedBytes = 0;
  #checkpointing = false;
  /** Small files and index rows on their way; closing waits for them. */
  readonly #background = new Set<Promise<void>>();

  constructor(parts: StoreParts, options: PartitionLogOptions, recovered: RecoveredLog) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.leaderEpoch = options.leaderEpoch;
    this.#parts = parts;
    this.#directory = options.directory;
    this.#name = `${options.topic}-${options.partition}`;
    this.#segmentBytes = Math.min(options.segmentBytes, SEGMENT_BYTES_MAX);
    this.#segments = new SegmentList(recovered.segments);
    this.#logStartOffset = recovered.logStartOffset;
    this.#logEndOffset = recovered.logEndOffset;
    this.#flushedOffset = recovered.logEndOffset;
    this.#highWatermark = recovered.logEndOffset;
    this.#failed = recovered.corrupt;
    this.#tail = new PartitionTail(parts.cache, (chunk) => {
      if (this.#writer?.chunk === chunk) this.#writer = undefined;
    });
    this.#index = new OffsetIndex(parts.index, options.logId);
    this.#completion = new IndexCompletion(parts, this.#index);
    this.#reader = new LogReader({
      segments: this.#segments,
      tail: this.#tail,
      files: parts.files,
      index: this.#index,
      onIndexUnfit: (segment, wrong) => this.#mendIndex(segment, wrong),
      onCorrupt: (error) => this.#foundCorrupt(error),
    });
    this.#times = new TimeLookup({
      segments: this.#segments,
      index: this.#index,
      completion: this.#completion,
      logStartOffset: () => this.#logStartOffset,
      read: (offset, maxBytes, upTo) => this.read(offset, maxBytes, upTo),
    });
    this.#committer = new Committer(this.#commitHost(), {
      scheduler: parts.scheduler,
      files: parts.files,
      clock: parts.clock,
      flushTimeoutMs: parts.flushTimeoutMs,
      name: this.#name,
    });
    this.#inBackground('writing the manifest', this.#writeManifest());
  }

  /** First offset that readers may ask for. */
  get logStartOffset(): number {
    return this.#logStartOffset;
  }

  /** Offset of the next record. */
  get logEndOffset(): number {
    return this.#logEndOffset;
  }

  /** All below it is on disk. */
  get flushedOffset(): number {
    return this.#flushedOffset;
  }

  /** Readers see what is below it. After opening it is the flushed offset. */
  get highWatermark(): number {
    return this.#highWatermark;
  }

  /** Set once a write or flush failed or hung, or damage was met: appends are refused from then on, reads go on. */
  get failed(): StorageError | undefined {
    return this.#failed;
  }

  get byteSize(): number {
    return this.#segments.byteSize;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  setHighWatermark(offset: number): void {
    assert(
      offset <= this.#logEndOffset,
      `high watermark ${offset} is at most the log end ${this.#logEndOffset}`,
    );
    this.#highWatermark = offset;
  }

  /** The segment size from the next append on. */
  setSegmentBytes(segmentBytes: number): void {
    this.#segmentBytes = Math.min(segmentBytes, SEGMENT_BYTES_MAX);
  }

  /**
   * Appends one batch. `fill` runs before `append` returns; what it throws is thrown, and nothing is appended.
   * @throws StorageError fenced-epoch, unknown-epoch, sticky, busy, corrupt, closed, deleted (before `fill` is called),
   *   record-too-large
   */
  append(options: BatchOptions, fill: (writer: BatchWriter) => void): Append {
    this.#refuseAppends(options.leaderEpoch);
    if (this.#sharing) this.#sealShared();
    const writer = this.#beginBatch(Math.min(options.byteLengthHint ?? 0, BATCH_BYTES_MAX), options);
    this.#filling = true;
    try {
      fill(writer);
      writer.finish();
    } catch (error) {
      writer.chunk.open = false;
      throw error;
    } finally {
      writer.unstage();
      this.#filling = false;
    }
    const baseOffset = this.#logEndOffset;
    return new GroupedAppend(baseOffset, this.#accept(writer));
  }

  /** Adds exactly one record to the open shared batch, which has no producer identity. @throws as `append` */
  join(fill: (writer: BatchWriter) => void): Append {
    this.#refuseAppends(undefined);
    const writer = this.#sharing && this.#writer ? this.#writer : this.#beginBatch(0, NO_OPTIONS);
    const { recordCount, byteLength, maxTimestampMs } = writer;
    this.#filling = true;
    try {
      fill(writer);
      assert(writer.recordCount === recordCount + 1 && !writer.inRecord, 'join is given exactly one record');
    } catch (error) {
      writer.rewind(recordCount, byteLength, maxTimestampMs);
      if (recordCount === 0) writer.chunk.open = false;
      throw error;
    } finally {
      writer.unstage();
      this.#filling = false;
    }
    this.#sharing = true;
    const append = new GroupedAppend(this.#logEndOffset, this.#committer.join());
    this.#logEndOffset++;
    const full =
      writer.byteLength >= SHARED_BATCH_BYTES_MAX || writer.recordCount >= SHARED_BATCH_RECORDS_MAX;
    if (full) this.#sealShared();
    return append;
  }

  /**
   * Whole batches from the one that holds `offset` on (in a hole: the next one), all below `upTo`. The first comes
   * back however large. May be shorter than what there is: read on at `nextOffset`.
   * @throws StorageError offset-out-of-range, corrupt, io, closed, deleted
   */
  async read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange> {
    this.#refuseUnlessOpen();
    const bound = Math.min(upTo, this.#logEndOffset);
    if (offset < this.#logStartOffset || offset > bound) {
      throw new StorageError(
        'offset-out-of-range',
        `${this.#name}: offset ${offset} is not within ${this.#logStartOffset} and ${bound}`,
      );
    }
    if (offset === bound) return emptyRange(offset);
    return this.#reader.readCached(offset, maxBytes, bound) ?? this.#reader.read(offset, maxBytes, bound);
  }

  /** The same, at once, when memory holds it; else undefined (and then `read` says why). */
  readCached(offset: number, maxBytes: number, upTo: number): RecordRange | undefined {
    const bound = Math.min(upTo, this.#logEndOffset);
    if (this.#state !== 'open' || offset < this.#logStartOffset || offset > bound) return undefined;
    if (offset === bound) return emptyRange(offset);
    return this.#reader.readCached(offset, maxBytes, bound);
  }

  /** First record with timestamp ≥ `timestampMs` below `upTo`. @throws StorageError corrupt, io, closed, deleted */
  async offsetForTime(timestampMs: number, upTo: number): Promise<TimestampedOffset | undefined> {
    this.#refuseUnlessOpen();
    return this.#times.offsetForTime(timestampMs, Math.min(upTo, this.#logEndOffset));
  }

  /** First record among those with the largest timestamp below `upTo`. @throws as `offsetForTime` */
  async offsetOfMaxTimestamp(upTo: number): Promise<TimestampedOffset | undefined> {
    this.#refuseUnlessOpen();
    return this.#times.offsetOfMaxTimestamp(Math.min(upTo, this.#logEndOffset));
  }

  /** Where the newest epoch at or below `leaderEpoch` ends; undefined when the log has newer ones only. */
  endOfEpoch(leaderEpoch: number): EpochEnd | undefined {
    return endOfEpoch(epochStarts(this.#segments), leaderEpoch, this.#logEndOffset);
  }

  /** Flushes, and leaves nothing to scan for the next opening. Idempotent. */
  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closed';
    await this.#committer.idle();
    // Once the log has failed its files tell more than this process can: recovery has to look.
    if (this.#failed === undefined) await this.#writeLast();
    await this.#release();
  }

  /** The topic is going: nothing more is written for its sake. */
  async abandon(): Promise<void> {
    this.#state = 'deleted';
    await this.#committer.idle();
    await this.#release();
    await this.#index.dropAll();
  }

  /** What a reopening in this process has to know; undefined when the log has not failed. */
  get failure(): LogFailure | undefined {
    if (this.#failed === undefined) return undefined;
    const flushedBytes = new Map<number, number>();
    for (const segment of this.#segments) flushedBytes.set(segment.baseOffset, segment.flushedBytes);
    return { flushedBytes, isSettled: () => this.#committer.isSettled };
  }

  #refuseAppends(leaderEpoch: number | undefined): void {
    this.#refuseUnlessOpen();
    assert(!this.#filling, 'an append does not append');
    if (this.#failed !== undefined) throw this.#failed;
    if (leaderEpoch !== undefined && leaderEpoch !== this.leaderEpoch) {
      const code = leaderEpoch < this.leaderEpoch ? 'fenced-epoch' : 'unknown-epoch';
      throw new StorageError(code, `${this.#name} has leader epoch ${this.leaderEpoch}, not ${leaderEpoch}`);
    }
    if (this.#parts.counters.unflushedBytes > UNFLUSHED_BYTES_MAX) {
      throw new StorageError('busy', `${UNFLUSHED_BYTES_MAX} bytes wait for the disk`);
    }
  }

  #refuseUnlessOpen(): void {
    if (this.#state !== 'open') throw new StorageError(this.#state, `${this.#name} is ${this.#state}`);
  }

  #beginBatch(roomBytes: number, options: BatchOptions): BatchWriter {
    const chunk = this.#tail.withRoom(Math.max(roomBytes, BATCH_ROOM_BYTES));
    chunk.open = true;
    this.#writer ??= new BatchWriter(chunk, (bytes) => {
      const left = this.#writer?.chunk;
      const next = this.#tail.next(bytes);
      if (left !== undefined) left.open = false;
      return next;
    });
    this.#writer.begin(chunk, this.#logEndOffset, this.leaderEpoch, options);
    return this.#writer;
  }

  #sealShared(): void {
    const writer = this.#writer;
    this.#sharing = false;
    assert(writer !== undefined, 'an open batch has a writer');
    writer.finish();
    this.#accept(writer);
  }

  /** A finished batch becomes part of the log. */
  #accept(writer: BatchWriter): CommitGroup {
    const { byteLength, baseOffset, recordCount } = writer;
    let segment = this.#active;
    if (
      segment === undefined ||
      (segment.byteSize > 0 && segment.byteSize + byteLength > this.#segmentBytes)
    ) {
      segment = this.#roll(baseOffset);
    }
    if (writer.chunk.filled > 0 && writer.chunk.segment !== segment) writer.moveToNextChunk();
    const { chunk } = writer;
    if (chunk.filled === 0) {
      chunk.segment = segment;
      chunk.filePosition = segment.byteSize;
      chunk.firstOffset = baseOffset;
    }
    segment.index?.note(baseOffset, segment.byteSize, writer.firstTimestampMs, writer.maxTimestampMs);
    segment.byteSize += byteLength;
    segment.endOffset = baseOffset + recordCount;
    chunk.filled += byteLength;
    chunk.endOffset = segment.endOffset;
    chunk.open = false;
    this.#logEndOffset = segment.endOffset;
    this.#unflushedBytes += byteLength;
    const { counters } = this.#parts;
    counters.unflushedBytes += byteLength;
    counters.appendedBytes += byteLength;
    counters.appendedRecords += recordCount;
    const group = this.#committer.join();
    group.batches++;
    group.endOffset = segment.endOffset;
    return group;
  }

  #roll(baseOffset: number): Segment {
    const segment = new Segment(this.#directory, this.leaderEpoch, baseOffset);
    segment.index = new SegmentIndex(this.#parts.indexIntervalBytes);
    this.#segments.push(segment);
    this.#active = segment;
    return segment;
  }

  #commitHost(): CommitHost {
    return {
      sealShared: () => {
        if (this.#sharing) this.#sealShared();
      },
      dirty: () => this.#tail.dirty(),
      createSegment: (segment) => this.#createSegment(segment),
      segmentClosed: (segment) => this.#inBackground('indexing', this.#storeIndex(segment)),
      groupFlushed: (group, ranges) => this.#groupFlushed(group, ranges),
      groupFailed: (error) => this.#groupFailed(error),
    };
  }

  async #createSegment(segment: Segment): Promise<void> {
    const { files, fileSystem } = this.#parts;
    await files.create(segment.path);
    await fileSystem.syncDirectory(this.#directory);
    const starts = epochStarts(this.#segments);
    if (starts.at(-1)?.[1] !== segment.baseOffset) return;
    this.#inBackground('writing leader epochs', writeLeaderEpochs(fileSystem, this.#directory, starts));
  }

  #groupFlushed(group: CommitGroup, ranges: readonly DirtyRange[]): void {
    const { counters, cache, log } = this.#parts;
    let bytes = 0;
    for (const { chunk, end } of ranges) {
      bytes += end - chunk.flushed;
      chunk.flushed = end;
      chunk.segment!.flushedBytes = chunk.filePosition + end; // set with the chunk's first finished batch
    }
    this.#flushedOffset = group.endOffset;
    this.#unflushedBytes -= bytes;
    counters.unflushedBytes -= bytes;
    counters.flushes++;
    counters.flushedBatches += group.batches;
    try {
      this.onFlushed?.(group.endOffset);
    } catch (error) {
      log.error('log.flush-listener-failed', { log: this.#name, error });
    }
    cache.trim();
    const active = this.#active;
    if (active?.index?.hasFullRuns) {
      this.#inBackground('indexing', this.#index.store(active, active.index, this.#flushedOffset, false));
    }
    this.#checkpointedBytes += bytes;
    if (this.#checkpointedBytes >= this.#parts.checkpointBytes) this.#checkpoint();
  }

  #groupFailed(error: StorageError): void {
    this.#parts.counters.unflushedBytes -= this.#unflushedBytes;
    this.#unflushedBytes = 0;
    this.#failed = new StorageError(
      'sticky',
      `${this.#name} takes no appends until it is reopened: ${error.message}`,
      error,
    );
    this.#parts.log.error('log.failed', { log: this.#name, flushedOffset: this.#flushedOffset, error });
  }

  #foundCorrupt(error: StorageError): void {
    this.#parts.log.error('log.damaged', { log: this.#name, error });
    this.#failed ??= error;
  }

  #checkpoint(): void {
    const active = this.#active;
    if (this.#checkpointing || active === undefined) return;
    this.#checkpointing = true;
    this.#checkpointedBytes = 0;
    const writing = writeCheckpoint(this.#parts.fileSystem, this.#directory, this.#checkpointOf(active));
    this.#inBackground(
      'writing a checkpoint',
      writing.finally(() => {
        this.#checkpointing = false;
      }),
    );
  }

  /** The flushed end of a segment, which is a batch's end: groups are flushed whole. */
  #checkpointOf(segment: Segment): RecoveryCheckpoint {
    return {
      segmentBase: segment.baseOffset,
      bytePosition: segment.flushedBytes,
      logEndOffset: this.#flushedOffset,
    };
  }

  #mendIndex(segment: Segment, wrong: boolean): void {
    if (segment.index !== undefined) return;
    if (wrong) this.#parts.log.warn('log.index-wrong', { log: this.#name, segment: segment.path });
    const mending = wrong ? this.#completion.rebuild(segment) : this.#completion.complete(segment);
    this.#inBackground(
      'indexing',
      mending.then(() => {}),
    );
  }

  /** A closed segment's entries go to the database, and then from memory. */
  async #storeIndex(segment: Segment): Promise<void> {
    const { index } = segment;
    if (index === undefined) return;
    await this.#index.store(segment, index, segment.endOffset, true);
    const { times } = index;
    if (times !== undefined) await this.#index.storeTimes(segment, times);
    segment.times = times;
    segment.index = undefined;
  }

  async #writeLast(): Promise<void> {
    const { fileSystem, log } = this.#parts;
    const newest = this.#segments.newest;
    if (this.#active !== undefined) {
      await this.#storeIndex(this.#active).catch((error: unknown) =>
        log.warn('log.index-not-stored', { log: this.#name, error }),
      );
    }
    await this.#settleBackground();
    if (newest !== undefined) await writeCheckpoint(fileSystem, this.#directory, this.#checkpointOf(newest));
    await this.#writeManifest();
  }

  #writeManifest(): Promise<void> {
    return writeManifest(this.#parts.fileSystem, this.#directory, {
      leaderEpoch: this.leaderEpoch,
      highWatermark: this.#highWatermark,
      logStartOffset: this.#logStartOffset,
    });
  }

  async #release(): Promise<void> {
    await this.#settleBackground();
    this.#committer.close();
    this.#tail.release();
    this.#writer = undefined;
    for (const segment of this.#segments) this.#parts.files.drop(segment.path);
  }

  /** Not finishing is no loss: each such file or row is made anew when it is missing. */
  #inBackground(doing: string, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) =>
        this.#parts.log.warn('log.background-failed', { log: this.#name, doing, error }),
      )
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }

  async #settleBackground(): Promise<void> {
    await this.#completion.settled();
    while (this.#background.size > 0) await Promise.all(this.#background);
  }
}
