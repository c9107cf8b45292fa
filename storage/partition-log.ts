// Ordered segments of one partition: append, read, roll, close. Three offsets, in this order: the high watermark (set
// by the owner: what readers see), the flushed offset (what is on disk), the log end (what has been appended).

import { BackgroundWork } from './background-work.ts';
import type { RecordRange } from './batch-cursor.ts';
import type { BatchOptions, BatchWriter } from './batch-writer.ts';
import { type Append, type CommitGroup, type CommitHost, Committer } from './committer.ts';
import { assert, StorageError, storageErrorOf } from './errors.ts';
import { IndexCompletion } from './index-completion.ts';
import { type EpochEnd, endOfEpoch, epochStarts } from './leader-epochs.ts';
import { UNFLUSHED_BYTES_MAX } from './limits.ts';
import { LogAppender } from './log-appender.ts';
import { type LogConfig, withinBounds } from './log-config.ts';
import { LogFiles } from './log-files.ts';
import { emptyRange, LogReader } from './log-reader.ts';
import type { Manifest, RecoveryCheckpoint } from './manifest.ts';
import { OffsetIndex } from './offset-index.ts';
import type { LogFailure, RecoveredLog } from './recovery.ts';
import { type Segment, SegmentList } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { type DirtyRange, PartitionTail } from './tail-cache.ts';
import { TimeLookup, type TimestampedOffset } from './time-lookup.ts';

export interface PartitionLogOptions {
  readonly topic: string;
  readonly partition: number;
  readonly logId: number;
  readonly leaderEpoch: number;
  readonly config: LogConfig;
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

  readonly #appender: LogAppender;
  readonly #background: BackgroundWork;
  readonly #files: LogFiles;

  #logStartOffset: number;
  #flushedOffset: number;
  #highWatermark: number;
  #failed: StorageError | undefined;
  #state: 'open' | 'closed' | 'deleted' = 'open';
  #closing: Promise<void> | undefined;

  constructor(parts: StoreParts, options: PartitionLogOptions, recovered: RecoveredLog) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.leaderEpoch = options.leaderEpoch;
    this.#parts = parts;
    this.#directory = options.directory;
    this.#name = `${options.topic}-${options.partition}`;
    this.#segments = new SegmentList(recovered.segments);
    this.#logStartOffset = recovered.logStartOffset;
    this.#flushedOffset = recovered.logEndOffset;
    this.#highWatermark = recovered.logEndOffset;
    this.#failed = recovered.corrupt;
    this.#background = new BackgroundWork(this.#name, parts.log);
    this.#tail = new PartitionTail(parts.cache, (chunk) => this.#appender.forget(chunk));
    this.#index = new OffsetIndex(parts.index, options.logId);
    this.#completion = new IndexCompletion(parts, this.#index);
    this.#reader = new LogReader({
      segments: this.#segments,
      tail: this.#tail,
      files: parts.files,
      pool: parts.pool,
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
      log: parts.log,
      name: this.#name,
    });
    this.#appender = new LogAppender(parts, {
      directory: options.directory,
      leaderEpoch: options.leaderEpoch,
      segments: this.#segments,
      tail: this.#tail,
      committer: this.#committer,
      logEndOffset: recovered.logEndOffset,
      config: withinBounds(options.config),
    });
    this.#files = new LogFiles(parts, options.directory, this.#background, recovered);
    // What a damaged log had once is in its manifest: it stays as it is.
    if (recovered.corrupt === undefined) this.#files.opened(this.#manifest);
  }

  /** First offset that readers may ask for. */
  get logStartOffset(): number {
    return this.#logStartOffset;
  }

  /** Offset of the next record. */
  get logEndOffset(): number {
    return this.#appender.logEndOffset;
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
      offset <= this.logEndOffset,
      `high watermark ${offset} is at most the log end ${this.logEndOffset}`,
    );
    this.#highWatermark = offset;
  }

  /** In effect from the next append, or the next round of maintenance, on. */
  setConfig(config: LogConfig): void {
    this.#appender.config = withinBounds(config);
  }

  get config(): LogConfig {
    return this.#appender.config;
  }

  /**
   * Appends one batch. `fill` runs before `append` returns; what it throws is thrown, and nothing is appended.
   * @throws StorageError fenced-epoch, unknown-epoch, sticky, busy, corrupt, closed, deleted (before `fill` is called),
   *   record-too-large
   */
  append(options: BatchOptions, fill: (writer: BatchWriter) => void): Append {
    this.#refuseAppends(options.leaderEpoch);
    return this.#appender.append(options, fill);
  }

  /** Adds exactly one record to the open shared batch, which has no producer identity. @throws as `append` */
  join(fill: (writer: BatchWriter) => void): Append {
    this.#refuseAppends(undefined);
    return this.#appender.join(fill);
  }

  /**
   * Whole batches from the one that holds `offset` on (in a hole: the next one), all below `upTo`. The first comes
   * back however large. May be shorter than what there is: read on at `nextOffset`.
   * @throws StorageError offset-out-of-range, corrupt, io, closed, deleted
   */
  async read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange> {
    this.#refuseUnlessOpen();
    const bound = Math.min(upTo, this.logEndOffset);
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
    const bound = Math.min(upTo, this.logEndOffset);
    if (this.#state !== 'open' || offset < this.#logStartOffset || offset > bound) return undefined;
    if (offset === bound) return emptyRange(offset);
    return this.#reader.readCached(offset, maxBytes, bound);
  }

  /** First record with timestamp ≥ `timestampMs` below `upTo`. @throws StorageError corrupt, io, closed, deleted */
  async offsetForTime(timestampMs: number, upTo: number): Promise<TimestampedOffset | undefined> {
    this.#refuseUnlessOpen();
    return this.#times.offsetForTime(timestampMs, Math.min(upTo, this.logEndOffset));
  }

  /** First record among those with the largest timestamp below `upTo`. @throws as `offsetForTime` */
  async offsetOfMaxTimestamp(upTo: number): Promise<TimestampedOffset | undefined> {
    this.#refuseUnlessOpen();
    return this.#times.offsetOfMaxTimestamp(Math.min(upTo, this.logEndOffset));
  }

  /** Where the newest epoch at or below `leaderEpoch` ends; undefined when the log has newer ones only. */
  endOfEpoch(leaderEpoch: number): EpochEnd | undefined {
    return endOfEpoch(epochStarts(this.#segments), leaderEpoch, this.logEndOffset);
  }

  /** Flushes, and leaves nothing to scan for the next opening. Idempotent. @throws StorageError io */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
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

  #commitHost(): CommitHost {
    return {
      sealShared: () => this.#appender.sealShared(),
      dirty: () => this.#tail.dirty(),
      createSegment: (segment) => this.#createSegment(segment),
      segmentClosed: (segment) => this.#background.add('indexing', this.#storeIndex(segment)),
      groupFlushed: (group, ranges) => this.#groupFlushed(group, ranges),
      groupFailed: (error) => this.#groupFailed(error),
    };
  }

  async #createSegment(segment: Segment): Promise<void> {
    const { files, fileSystem } = this.#parts;
    await files.create(segment.path);
    await fileSystem.syncDirectory(this.#directory);
    this.#files.segmentCreated(this.#segments);
  }

  #groupFlushed(group: CommitGroup, ranges: readonly DirtyRange[]): void {
    const { counters, cache, log } = this.#parts;
    const bytes = this.#appender.flushed(ranges);
    this.#flushedOffset = group.endOffset;
    counters.flushes++;
    counters.flushedBatches += group.batches;
    try {
      this.onFlushed?.(group.endOffset);
    } catch (error) {
      log.error('log.flush-listener-failed', { log: this.#name, error });
    }
    cache.trim();
    const { active } = this.#appender;
    if (active?.index?.hasFullRuns) {
      this.#background.add('indexing', this.#index.store(active, active.index, this.#flushedOffset, false));
    }
    if (active !== undefined) this.#files.flushed(bytes, this.#checkpointOf(active));
  }

  #groupFailed(error: StorageError): void {
    this.#appender.failed();
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
    this.#background.add(
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

  get #manifest(): Manifest {
    return {
      leaderEpoch: this.leaderEpoch,
      highWatermark: this.#highWatermark,
      logStartOffset: this.#logStartOffset,
    };
  }

  async #close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closed';
    await this.#committer.idle();
    try {
      // Once the log has failed its files tell more than this process can: recovery has to look.
      if (this.#failed === undefined) await this.#closeFiles();
    } catch (error) {
      throw storageErrorOf(error, `closing ${this.#name}`);
    } finally {
      await this.#release();
    }
  }

  async #closeFiles(): Promise<void> {
    const { active } = this.#appender;
    const { newest } = this.#segments;
    if (active !== undefined) this.#background.add('indexing', this.#storeIndex(active));
    await this.#completion.settled();
    await this.#files.close(this.#manifest, newest && this.#checkpointOf(newest));
  }

  async #release(): Promise<void> {
    await this.#completion.settled();
    await this.#background.settled();
    this.#committer.close();
    this.#tail.release();
    for (const segment of this.#segments) this.#parts.files.drop(segment.path);
  }
}
