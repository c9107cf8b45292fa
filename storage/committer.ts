// Group commit of one partition: one write and one fdatasync in flight, shared by every batch that is finished when
// it starts; what is finished meanwhile goes with the next. Also the watchdog, and the rule that after a failed or
// hung write or flush nothing is retried: the page cache may have dropped what it failed to write, so a second
// fdatasync that succeeds proves nothing.
//
// A commit is a write and, when the dial says so (flush-dial.ts), a flush; its group is told with the one or the other.
// One that is told with its flush goes through a file whose writes are flushes: half as many turns of the thread pool.
import type { CommitGroup, Outcome } from './commit-group.ts';
import type { Clock, Log, Timer } from './environment.ts';
import { errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import { FlushDial, type Flushed, type FlushPolicy } from './flush-dial.ts';
import { UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { OpenFiles } from './open-files.ts';
import type { Segment } from './segment.ts';
import type { DirtyRange } from './tail-cache.ts';

/** What a committer asks of its partition. */
export interface CommitHost {
  /** Finishes the shared batch, so that it goes with the group that starts now. */
  sealShared(): void;
  dirty(): DirtyRange[];
  /** Makes the file of a segment, durably named. */
  createSegment(segment: Segment, synchronous: boolean): Promise<void>;
  /** The segment is whole and on disk, and its successor begins. */
  segmentClosed(segment: Segment): void;
  /** These bytes are on disk. */
  bytesFlushed(ranges: readonly DirtyRange[]): void;
  /** All that was written is on disk. Called after `bytesFlushed`, before the promises that say so resolve. */
  flushed(flushed: Flushed, tookMs: number): void;
  /** All below the offset may be seen. Called before the promises that say so resolve, and after `flushed` if that comes too. */
  committed(endOffset: number): void;
  failed(error: StorageError): void;
  /** Finished bytes of all partitions that are not on disk. */
  unflushedBytes(): number;
  /** What is not on disk cannot leave the memory. */
  memoryIsShort(): boolean;
}

/** Starts commits of logs at rest at the end of the tick: all appends of a tick, of every connection, share them. */
export class CommitScheduler {
  #waiting: Committer[] = [];

  schedule(committer: Committer): void {
    this.#waiting.push(committer);
    if (this.#waiting.length > 1) return;
    setImmediate(() => {
      const due = this.#waiting;
      this.#waiting = [];
      for (const each of due) each.start();
    });
  }
}

/** What committers share. */
export interface CommitterParts {
  readonly scheduler: CommitScheduler;
  readonly files: OpenFiles;
  readonly clock: Clock;
  readonly flushTimeoutMs: number;
  readonly log: Log;
}

export class Committer {
  readonly #host: CommitHost;
  readonly #parts: CommitterParts;
  readonly #name: string;
  readonly #dial: FlushDial;
  /** The group that batches join now; the group whose bytes are on their way. */
  #open: CommitGroup | undefined;
  #inFlight: CommitGroup | undefined;
  #committing = false;
  /** All below it is committed, as far as this opening knows. */
  #committedOffset = 0;
  /** Of the flush that ends the commit under way. */
  #flush: Outcome | undefined;
  #scheduled = false;
  #failure: StorageError | undefined;
  #startedAtMs = 0;
  #watchdog: Timer | undefined;
  /** The file that the last commit wrote to. */
  #segment: Segment | undefined;
  /** End in that file of what was written; of what somebody was told is committed. */
  #writtenBytes = 0;
  #toldBytes = 0;
  /** Written behind the last flush: at most UNFLUSHED_LOG_BYTES_MAX, or one chunk that is larger. */
  #unsyncedBytes = 0;
  #datasyncFailed = false;
  readonly #idleWaiters: (() => void)[] = [];
  #settled = true;
  #abandoned = false;

  constructor(host: CommitHost, parts: CommitterParts, name: string, policy: FlushPolicy) {
    this.#host = host;
    this.#parts = parts;
    this.#name = name;
    this.#dial = new FlushDial({
      policy,
      clock: parts.clock,
      unflushedBytes: () => host.unflushedBytes(),
      memoryIsShort: () => host.memoryIsShort(),
      onDue: () => this.#schedule(),
    });
  }

  /** The group that a batch finished now belongs to; its commit is on its way. */
  join(): CommitGroup {
    if (this.#open === undefined) {
      this.#open = this.#dial.newGroup();
      this.#schedule();
    }
    return this.#open;
  }

  /** The group that commits what ends at `endOffset`; undefined when it is committed. */
  covering(endOffset: number): CommitGroup | undefined {
    if (endOffset <= this.#committedOffset) return undefined;
    return this.#inFlight !== undefined && endOffset <= this.#inFlight.endOffset
      ? this.#inFlight
      : this.#open;
  }

  setPolicy(policy: FlushPolicy): void {
    this.#dial.setPolicy(policy);
  }

  /** Resolves when all that was appended is on disk, or with why it never will be. */
  flush(): Promise<StorageError | undefined> {
    if (this.#failure !== undefined) return Promise.resolve(this.#failure);
    if (this.#open === undefined) {
      if (this.#flush !== undefined) return this.#flush.promise;
      if (!this.#committing && this.#dial.isEmpty) return Promise.resolve(undefined);
    }
    const flushed = this.#dial.ask();
    this.#schedule();
    return flushed;
  }

  /** Resolves when nothing waits for its commit or is under way. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Begins a commit of what there is: for the scheduler, and when the one before is done. */
  start(): void {
    this.#scheduled = false;
    if (this.#failure !== undefined || this.#committing) return;
    if (this.#open === undefined && (!this.#dial.isAsked || this.#dial.isEmpty)) return;
    try {
      this.#host.sealShared();
    } catch (error) {
      this.#fail(storageErrorOf(error, `finishing a batch of ${this.#name}`));
      return;
    }
    const group = this.#open;
    const ranges = this.#host.dirty();
    this.#open = undefined;
    this.#inFlight = group;
    this.#flush = this.#dial.isDue(group, ranges) ? this.#dial.begin() : undefined;
    this.#committing = true;
    this.#settled = false;
    this.#startedAtMs = this.#parts.clock.monotonic();
    this.#watch(this.#parts.flushTimeoutMs);
    this.#commit(group, ranges).then(
      () => {
        try {
          this.#finish(group);
        } catch (error) {
          // A fault of this program, which is not the other logs' and not the process's.
          this.#fail(storageErrorOf(error, `ending a commit of ${this.#name}`));
        }
        return this.#comeToRest();
      },
      (error: unknown) => {
        this.#fail(storageErrorOf(error, `writing ${this.#name}`));
        return this.#comeToRest();
      },
    );
  }

  /** Whether the file system has nothing more of ours; after a failure it may hang for long. */
  get isSettled(): boolean {
    return this.#settled;
  }

  /** Whether the segment may still be written to or flushed. */
  holds(segment: Segment): boolean {
    return this.#segment === segment;
  }

  /** Lets go of a segment that is on disk and takes no more appends; false when something is under way. */
  leave(segment: Segment): boolean {
    if (this.#failure !== undefined || !this.#isIdle || this.#segment !== segment) return false;
    this.#segment = undefined;
    this.#writtenBytes = 0;
    this.#toldBytes = 0;
    this.#host.segmentClosed(segment);
    this.#parts.files.drop(segment.path);
    return true;
  }

  /** The log's files are deleted: what comes back late must not touch those of its successor, which has their names. */
  abandon(): void {
    this.#abandoned = true;
  }

  /** Stops the timers. Nothing is under way any more, or nobody waits for it. */
  close(): void {
    this.#watchdog?.cancel();
    this.#watchdog = undefined;
    this.#dial.close();
  }

  get #isIdle(): boolean {
    return this.#failure !== undefined || (this.#open === undefined && !this.#committing);
  }

  #schedule(): void {
    if (this.#scheduled || this.#committing) return;
    this.#scheduled = true;
    this.#parts.scheduler.schedule(this);
  }

  async #commit(group: CommitGroup | undefined, ranges: readonly DirtyRange[]): Promise<void> {
    const { files } = this.#parts;
    for (const range of ranges) {
      const { chunk, end } = range;
      const segment = chunk.segment!; // set with the chunk's first finished batch
      if (segment !== this.#segment) await this.#changeTo(segment, group?.durable === true);
      // Given up by the watchdog: what still comes back must not write on.
      if (this.#failure !== undefined) return;
      const start = chunk.written;
      // Recovery writes again what may be in memory alone, and must know how much that is.
      const unsyncedBytes = this.#unsyncedBytes + end - start;
      if (this.#unsyncedBytes > 0 && unsyncedBytes > UNFLUSHED_LOG_BYTES_MAX) await this.#datasync();
      if (this.#failure !== undefined) return;
      const write = (file: OpenFile): Promise<boolean> => this.#write(file, range);
      const isOnDisk = await files.with(segment.path, write, group?.durable);
      chunk.written = end;
      if (!isOnDisk) this.#unsyncedBytes += end - start;
      this.#writtenBytes = chunk.filePosition + end;
      this.#dial.wroteRange(range, end - start);
    }
    if (this.#failure !== undefined) return;
    if (group !== undefined) this.#wrote(group);
    if (this.#flush !== undefined && this.#unsyncedBytes > 0) await this.#datasync();
  }

  /** Whether what was written is on disk as well. */
  async #write(file: OpenFile, { chunk, end }: DirtyRange): Promise<boolean> {
    const start = chunk.written;
    const isSynchronous = file.isSynchronous === true;
    try {
      await file.write(chunk.bytes, start, end - start, chunk.filePosition + start);
    } catch (error) {
      // Which of the two failed is not told.
      if (isSynchronous) this.#datasyncFailed = true;
      throw error;
    }
    return isSynchronous;
  }

  #wrote(group: CommitGroup): void {
    this.#dial.wroteGroup(group, this.#startedAtMs);
    if (!group.durable) {
      this.#toldBytes = this.#writtenBytes;
      this.#tellCommitted(group);
    }
    group.settleWritten(undefined);
  }

  /** The old file is on disk before the new one has a name: so only the newest file can have a torn tail. */
  async #changeTo(segment: Segment, synchronous: boolean): Promise<void> {
    const previous = this.#segment;
    if (previous !== undefined) {
      await this.#datasync();
      if (this.#failure !== undefined) return;
      this.#host.bytesFlushed(this.#dial.takeRanges());
    }
    await this.#host.createSegment(segment, synchronous);
    this.#segment = segment;
    this.#writtenBytes = 0;
    this.#toldBytes = 0;
    if (previous === undefined) return;
    // Not before: without a successor what nobody was told of is cut again, and the index must not speak of it.
    this.#host.segmentClosed(previous);
    this.#parts.files.drop(previous.path);
  }

  async #datasync(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    try {
      await this.#parts.files.with(segment.path, (file) => file.datasync());
      this.#unsyncedBytes = 0;
    } catch (error) {
      this.#datasyncFailed = true;
      throw error;
    }
  }

  #finish(group: CommitGroup | undefined): void {
    // The watchdog may have given up on this commit: what was said to have failed stays failed.
    if (this.#failure !== undefined) return;
    const flush = this.#flush;
    this.#committing = false;
    this.#inFlight = undefined;
    this.#flush = undefined;
    try {
      if (flush === undefined) this.#dial.startTimer();
      else this.#finishFlush(group, flush);
    } catch (error) {
      // Whoever waits for them is told with all others.
      this.#inFlight = group;
      this.#flush = flush;
      throw error;
    }
    // Not at the end of the tick: what joined meanwhile has waited for a whole commit, and the disk would wait for it.
    if (this.#open !== undefined || this.#dial.isAsked) this.start();
    this.#tellIdle();
  }

  #finishFlush(group: CommitGroup | undefined, flush: Outcome): void {
    this.#host.bytesFlushed(this.#dial.takeRanges());
    this.#toldBytes = this.#writtenBytes;
    this.#host.flushed(this.#dial.take(), this.#parts.clock.monotonic() - this.#startedAtMs);
    if (group?.durable) this.#tellCommitted(group);
    flush.settle(undefined);
  }

  #fail(error: StorageError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#watchdog?.cancel();
    for (const group of [this.#inFlight, this.#open]) group?.settleWritten(error);
    for (const flush of [this.#flush, this.#dial.close()]) flush?.settle(error);
    this.#inFlight = undefined;
    this.#open = undefined;
    this.#host.failed(error);
    this.#tellIdle();
  }

  /** A promise only after a failure: commits that go well are many. */
  #comeToRest(): Promise<void> | undefined {
    if (this.#failure === undefined) {
      this.#settled = !this.#committing; // the next one may have begun
      return undefined;
    }
    return this.#takeBack().then(() => {
      this.#settled = true;
    });
  }

  /**
   * Cuts what nobody was told of, and what a failed flush may have left in memory alone: the next process would find it
   * in the file, flush it with success, and lose it with the power. What was told before its flush and did not fail is
   * flushed: a write that finds the disk full takes nothing with it that was written before.
   */
  async #takeBack(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined || this.#abandoned) return;
    const { files, log } = this.#parts;
    const name = this.#name;
    const position = this.#datasyncFailed ? segment.flushedBytes : this.#toldBytes;
    // Before the file ends there, so that no reader looks for what is going.
    segment.flushedBytes = Math.min(segment.flushedBytes, position);
    try {
      await files.with(segment.path, async (file) => {
        await file.truncate(position);
        await file.datasync();
      });
      segment.flushedBytes = position;
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') log.warn('log.not-taken-back', { log: name, position, error });
    }
  }

  #tellCommitted({ endOffset }: CommitGroup): void {
    this.#committedOffset = endOffset;
    this.#host.committed(endOffset);
  }

  #tellIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** One timer for many commits: when it fires it looks how old the commit under way is, and comes back later. */
  #watch(delayMs: number): void {
    this.#watchdog ??= this.#parts.clock.setTimer(delayMs, () => {
      this.#watchdog = undefined;
      if (!this.#committing || this.#failure !== undefined) return;
      const { flushTimeoutMs, clock } = this.#parts;
      const remainingMs = this.#startedAtMs + flushTimeoutMs - clock.monotonic();
      if (remainingMs > 0) this.#watch(remainingMs);
      else this.#fail(new StorageError('io', `${this.#name}: a flush was not done in ${flushTimeoutMs} ms`));
    });
  }
}
