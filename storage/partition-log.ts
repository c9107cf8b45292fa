// Ordered segments of one partition: append, read, roll, close. Three offsets, in this order: the high watermark (set
// by the owner: what readers see), the flushed offset (what is on disk), the log end (what has been appended).
import { AbortedTransactions } from './aborted-transactions.ts';
import { BackgroundWork } from './background-work.ts';
import type { RecordRange } from './batch-cursor.ts';
import type { BatchOptions } from './batch-frame.ts';
import type { BatchWriter } from './batch-writer.ts';
import type { Append, Commit } from './commit-group.ts';
import { Committer } from './committer.ts';
import type { CompactedLog } from './compacted-log.ts';
import { assert, StorageError } from './errors.ts';
import { IndexCompletion } from './index-completion.ts';
import { type EpochEnd, endOfEpoch } from './leader-epochs.ts';
import { LogAppender, type TransactionEnd } from './log-appender.ts';
import type { LogBody, PartitionLogOptions } from './log-body.ts';
import { abandonLog, type ClosingLog, closeLog } from './log-closing.ts';
import { type CommittedLog, LogCommits } from './log-commits.ts';
import { type LogConfig, withinBounds } from './log-config.ts';
import { LogFiles } from './log-files.ts';
import { emptyRange, type Isolation } from './log-reader.ts';
import { LogReads } from './log-reads.ts';
import { LogState } from './log-state.ts';
import { LogTrimmer, type TrimmedLog } from './log-trimmer.ts';
import type { Manifest } from './manifest.ts';
import { OffsetIndex } from './offset-index.ts';
import type { ProducerStates } from './producer-states.ts';
import type { LogFailure, RecoveredLog } from './recovery.ts';
import { SegmentList } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { PartitionTail } from './tail-cache.ts';
import type { TimestampedOffset } from './time-lookup.ts';

export class PartitionLog {
  readonly topic: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  /** For messages: `topic-3`. */
  readonly name: string;
  /** Called when the log's start has moved. Set by the owner. */
  onStartMoved: (() => void) | undefined = undefined;
  /**
   * Called once per group commit, before the promises that say so resolve: all below the offset may be seen. It is on
   * disk if `flushMessages` is 1, else written. Set by the owner.
   */
  onCommitted: ((offset: number) => void) | undefined = undefined;
  /** The log takes no appends from now on: `failed` is set. Set by the owner. */
  onFailed: (() => void) | undefined = undefined;

  readonly #parts: StoreParts;
  readonly #body: LogBody;
  readonly #state: LogState;
  /** Made for the first reader. */
  #readsMade: LogReads | undefined;
  readonly #commits: LogCommits;
  readonly #committer: Committer;
  readonly #appender: LogAppender;
  readonly #files: LogFiles;
  readonly #trimmer: LogTrimmer;
  /** Made for the first compaction. */
  #compacted: CompactedLog | undefined;
  #highWatermark: number;
  #closing: Promise<void> | undefined;

  constructor(parts: StoreParts, options: PartitionLogOptions, recovered: RecoveredLog) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.leaderEpoch = options.leaderEpoch;
    this.#parts = parts;
    this.name = `${options.topic}-${options.partition}`;
    this.#state = new LogState(parts, this.name, options, recovered.corrupt);
    const segments = new SegmentList(recovered.segments);
    this.#highWatermark = recovered.logEndOffset;
    const tail = new PartitionTail(parts.cache, (chunk) => this.#appender.forget(chunk));
    const index = new OffsetIndex(parts.index, options.logId, parts.indexCache);
    const completion = new IndexCompletion(parts, index);
    this.#body = {
      name: this.name,
      directory: options.directory,
      leaderEpoch: options.leaderEpoch,
      segments,
      tail,
      index,
      completion,
      aborted: new AbortedTransactions(segments, index, completion),
      background: new BackgroundWork(this.name, parts.log),
    };
    this.#commits = new LogCommits(parts, this.#committedLog(), recovered.logEndOffset);
    this.#committer = new Committer(this.#commits, parts, this.name, options.config);
    this.#appender = new LogAppender(parts, {
      directory: options.directory,
      leaderEpoch: options.leaderEpoch,
      segments,
      tail,
      committer: this.#committer,
      logEndOffset: recovered.logEndOffset,
      config: withinBounds(options.config),
      name: this.name,
      producers: recovered.producers,
    });
    this.#files = new LogFiles(parts, options.directory, this.#body.background, recovered, {
      manifest: () => this.#manifest,
      producers: () => this.#appender.producerImage,
      flush: () => this.#committer.flush(),
    });
    this.#trimmer = new LogTrimmer(parts, this.#trimmedLog(), recovered.logStartOffset);
    // What a damaged log had once is in its manifest: it stays as it is.
    if (recovered.corrupt === undefined) this.#files.opened();
  }

  /** First offset that readers may ask for. */
  get logStartOffset(): number {
    return this.#trimmer.startOffset;
  }

  /** Offset of the next record. */
  get logEndOffset(): number {
    return this.#appender.logEndOffset;
  }

  /** See {@link LogAppender.markedEnd}. */
  get markedEnd(): number {
    return this.#appender.markedEnd;
  }

  /** All below it is on disk. */
  get flushedOffset(): number {
    return this.#commits.flushedOffset;
  }

  /** Readers see what is below it. After opening it is the flushed offset. */
  get highWatermark(): number {
    return this.#highWatermark;
  }

  /** A write or flush failed or hung, or there is damage: appends are refused, reads go on. Damage may go (LogState). */
  get failed(): StorageError | undefined {
    return this.#state.failed;
  }

  /** Those that wrote to the log; undefined when there are none. */
  get producers(): ProducerStates | undefined {
    return this.#appender.producers;
  }

  /** First offset of what is in a transaction that has not ended, or whose end is not seen; `Infinity` when nothing is. */
  get firstUnstableOffset(): number {
    return this.#appender.producers?.firstUnstableOffset ?? Number.POSITIVE_INFINITY;
  }

  get byteSize(): number {
    return this.#body.segments.byteSize;
  }

  get segmentCount(): number {
    return this.#body.segments.length;
  }

  setHighWatermark(offset: number): void {
    assert(
      offset <= this.logEndOffset,
      `high watermark ${offset} is at most the log end ${this.logEndOffset}`,
    );
    this.#highWatermark = offset;
    this.#appender.producers?.seenUpTo(offset);
  }

  /** In effect from the next append, or the next round of maintenance, on. */
  setConfig(config: LogConfig): void {
    this.#appender.config = withinBounds(config);
    this.#committer.setPolicy(config);
  }

  get config(): LogConfig {
    return this.#appender.config;
  }

  /**
   * Appends one batch. `fill` runs before `append` returns; what it throws is thrown, and nothing is appended.
   * @throws StorageError fenced-epoch, unknown-epoch, sticky, busy, disk-full, corrupt, closed, deleted, fenced-producer,
   *   sequence-gap, old-duplicate, invalid-transaction (before `fill` is called), record-too-large
   */
  append(options: BatchOptions, fill: (writer: BatchWriter) => void): Append {
    this.#state.refuseAppends(options.leaderEpoch);
    return this.#appender.append(options, fill);
  }

  /**
   * Ends a producer's transaction with a control batch; without one that is open it is written all the same.
   * @throws StorageError as `append`; fenced-coordinator
   */
  endTransaction(end: TransactionEnd): Append {
    this.#state.refuseAppends(undefined);
    return this.#appender.endTransaction(end);
  }

  /** Resolves when all that was appended is on disk, or with why it never will be. */
  flush(): Promise<StorageError | undefined> {
    return this.#committer.flush();
  }

  /** Adds exactly one record to the open shared batch, which has no producer identity. @throws as `append` */
  join(fill: (writer: BatchWriter) => void): Commit {
    this.#state.refuseAppends(undefined);
    return this.#appender.join(fill);
  }

  /**
   * Whole batches from the one that holds `offset` on (in a hole: the next one), all below `upTo`. The first comes
   * back however large. May be shorter than what there is: read on at `nextOffset`.
   * @param isolation `committed` where `upTo` is no more than the last stable offset
   * @throws StorageError offset-out-of-range, corrupt, io, closed, deleted
   */
  async read(
    offset: number,
    maxBytes: number,
    upTo: number,
    isolation: Isolation = 'all',
  ): Promise<RecordRange> {
    this.#state.refuseUnlessOpen();
    const bound = Math.min(upTo, this.logEndOffset);
    if (offset < this.logStartOffset || offset > bound) {
      const within = `within ${this.logStartOffset} and ${bound}`;
      throw new StorageError('offset-out-of-range', `${this.name}: offset ${offset} is not ${within}`);
    }
    const cached = this.readCached(offset, maxBytes, bound, isolation);
    return cached ?? this.reads.byOffset.read(offset, maxBytes, bound, isolation);
  }

  /** The same, at once, when memory holds it; else undefined (and then `read` says why). */
  readCached(
    offset: number,
    maxBytes: number,
    upTo: number,
    isolation: Isolation = 'all',
  ): RecordRange | undefined {
    const bound = Math.min(upTo, this.logEndOffset);
    if (!this.#state.isOpen || offset < this.logStartOffset || offset > bound) return undefined;
    if (offset === bound) return emptyRange(offset);
    return this.reads.byOffset.readCached(offset, maxBytes, bound, isolation);
  }

  /** First record with timestamp ≥ `timestampMs` below `upTo`. @throws StorageError corrupt, io, closed, deleted */
  async offsetForTime(timestampMs: number, upTo: number): Promise<TimestampedOffset | undefined> {
    this.#state.refuseUnlessOpen();
    return this.reads.byTime.offsetForTime(timestampMs, Math.min(upTo, this.logEndOffset));
  }

  /** First record among those with the largest timestamp below `upTo`. @throws as `offsetForTime` */
  async offsetOfMaxTimestamp(upTo: number): Promise<TimestampedOffset | undefined> {
    this.#state.refuseUnlessOpen();
    return this.reads.byTime.offsetOfMaxTimestamp(Math.min(upTo, this.logEndOffset));
  }

  /** Where the newest epoch at or below `leaderEpoch` ends; undefined when the log has newer ones only. */
  endOfEpoch(leaderEpoch: number): EpochEnd | undefined {
    const present = { leaderEpoch: this.leaderEpoch, endOffset: this.logEndOffset };
    return endOfEpoch(this.#body.segments, leaderEpoch, present);
  }

  /**
   * Records below `beforeOffset` are gone: the log starts there, durably when it resolves, with the offset that it
   * starts at. Files that lie wholly below it are removed.
   * @throws StorageError offset-out-of-range above the high watermark; sticky, corrupt, io, disk-full, closed, deleted
   */
  async deleteRecords(beforeOffset: number): Promise<number> {
    this.#state.refuseUnlessTrimmable();
    return this.#trimmer.deleteRecords(beforeOffset);
  }

  /** Whether {@link maintain} has anything to do: cheap, for thousands of logs that have not. */
  maintenanceDue(): boolean {
    return this.#state.isTrimmable && this.#trimmer.isDue();
  }

  /** Rolls by age, and removes what retention and the log's start leave behind. @throws StorageError io, disk-full */
  async maintain(): Promise<void> {
    if (this.#state.isTrimmable) await this.#trimmer.maintain();
  }

  /** Flushes, and leaves nothing to scan for the next opening. Idempotent. @throws StorageError io */
  close(): Promise<void> {
    this.#closing ??= closeLog(this.#ending);
    return this.#closing;
  }

  /** The topic is going: nothing more is written for its sake. */
  markDeleted(): void {
    this.#state.deleted();
    this.#committer.abandon();
    this.#files.abandon();
  }

  /** Lets go of everything; it has been marked as deleted. */
  abandon(): Promise<void> {
    return abandonLog(this.#ending);
  }

  /** What a reopening in this process has to know; undefined when the log has not failed. */
  get failure(): LogFailure | undefined {
    if (this.failed === undefined) return undefined;
    const segments = this.#body.segments.all;
    return {
      isSettled: () => this.#committer.isSettled,
      abandon: () => this.#committer.abandon(),
      flushedBytesOf: (base) => segments.find(({ baseOffset }) => baseOffset === base)?.flushedBytes,
    };
  }

  /** The log as its compaction sees it. */
  get compacted(): CompactedLog {
    this.#compacted ??= {
      config: () => this.config,
      isWritable: () => this.#state.isWritable,
      stableOffset: () => Math.min(this.#highWatermark, this.flushedOffset, this.firstUnstableOffset),
      isClosed: (segment) => this.#appender.isClosed(segment),
      isNewestOf: (producerId, offset) => this.producers?.isNewestOf(producerId, offset) === true,
      batchesMove: (segmentBases, newestBase) => this.#files.batchesMove(segmentBases, newestBase),
      exclusively: (change) => this.#trimmer.exclusively(change),
      ...this.#body,
    };
    return this.#compacted;
  }

  get reads(): LogReads {
    this.#readsMade ??= new LogReads(this.#parts, {
      logStartOffset: () => this.logStartOffset,
      foundCorrupt: (error, segment) => this.#state.foundCorrupt(error, segment, this.onFailed),
      read: (offset, maxBytes, upTo) => this.read(offset, maxBytes, upTo),
      ...this.#body,
    });
    return this.#readsMade;
  }

  // Functions first: behind a spread each object would get a hidden class of its own, half a KiB of it.

  #committedLog(): CommittedLog {
    return {
      appender: () => this.#appender,
      smallFiles: () => this.#files,
      committed: (offset) => this.onCommitted?.(offset),
      failed: (error) => {
        this.#appender.failed();
        this.#state.commitFailed(error, this.flushedOffset);
        this.onFailed?.();
      },
      ...this.#body,
    };
  }

  #trimmedLog(): TrimmedLog {
    return {
      appender: this.#appender,
      smallFiles: this.#files,
      highWatermark: () => this.#highWatermark,
      flushedOffset: () => this.flushedOffset,
      isWritable: () => this.#state.isTrimmable,
      startMoved: () => this.onStartMoved?.(),
      ...this.#body,
    };
  }

  get #manifest(): Manifest {
    return {
      leaderEpoch: this.leaderEpoch,
      // Only what a crash leaves: it is what recovery holds the files to.
      highWatermark: Math.min(this.#highWatermark, this.flushedOffset),
      logStartOffset: this.logStartOffset,
    };
  }

  /** The log as its end sees it. */
  get #ending(): ClosingLog {
    return {
      ...this.#body,
      state: this.#state,
      committer: this.#committer,
      commits: this.#commits,
      appender: this.#appender,
      trimmer: this.#trimmer,
      smallFiles: this.#files,
      reads: () => this.#readsMade,
      openFiles: this.#parts.files,
    };
  }
}
