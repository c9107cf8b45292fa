// Group commit of one partition: a write and a flush, shared by every batch that is finished when they start; what is
// finished meanwhile goes with the next. Also the rule that after a failed or hung write or flush nothing is retried: the
// page cache may have dropped what it failed to write, so a second fdatasync that succeeds proves nothing.
//
// A commit is a write and, when the dial says so (flush-dial.ts), a flush; its group is told with the one or the other.
// One that is told with its flush goes through a file whose writes are flushes: half as many turns of the thread pool.
//
// Beside such a commit a second one may be under way, if enough waits for it: then the disk need not wait until this
// process comes to hear that the first is done. Whatever they tell and count is in their order: the second one has not
// happened before the first one has.
import type { CommitGroup, Outcome, RunningCommit } from './commit-group.ts';
import type { CommitHost } from './commit-host.ts';
import type { CommitScheduler } from './commit-scheduler.ts';
import { CommitWatchdog } from './commit-watchdog.ts';
import type { Clock, Log } from './environment.ts';
import { errorCodeOf, StorageError, storageErrorOf } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import { FlushDial, type FlushPolicy } from './flush-dial.ts';
import { SHARED_BATCH_BYTES_MAX, UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { OpenFiles } from './open-files.ts';
import type { Segment } from './segment.ts';
import type { DirtyRange } from './tail-cache.ts';

/** What committers share. */
export interface CommitterParts {
  readonly scheduler: CommitScheduler;
  readonly files: OpenFiles;
  readonly clock: Clock;
  readonly flushTimeoutMs: number;
  readonly log: Log;
  /** What a second commit has at least. */
  readonly commitBesideBytes: number;
}

export class Committer {
  readonly #host: CommitHost;
  readonly #parts: CommitterParts;
  readonly #name: string;
  readonly #dial: FlushDial;
  /** The group that batches join now. */
  #open: CommitGroup | undefined;
  /** The commit under way, and the one beside it. */
  #first: RunningCommit | undefined;
  #second: RunningCommit | undefined;
  /** Resolves when the last commit that began has ended. */
  #ended: Promise<void> | undefined;
  /** Commits that the file system may still have something of. */
  #unsettled = 0;
  /** All below it is committed, as far as this opening knows. */
  #committedOffset = 0;
  #scheduled = false;
  #failure: StorageError | undefined;
  /** Made for the first commit: most logs are quiet. */
  #watchdog: CommitWatchdog | undefined;
  /** The file that the last commit wrote to. */
  #segment: Segment | undefined;
  /** End in that file of what was written; of what somebody was told is committed. */
  #writtenBytes = 0;
  #toldBytes = 0;
  /** Written behind the last flush: at most UNFLUSHED_LOG_BYTES_MAX, or one chunk that is larger. */
  #unsyncedBytes = 0;
  #datasyncFailed = false;
  /** Whether the last write was its own flush. */
  #isSynchronous = false;
  readonly #idleWaiters: (() => void)[] = [];
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
    } else if (this.#first !== undefined) {
      this.#schedule();
    }
    return this.#open;
  }

  /** The group that commits what ends at `endOffset`; undefined when it is committed. */
  covering(endOffset: number): CommitGroup | undefined {
    if (endOffset <= this.#committedOffset) return undefined;
    const running = [this.#first?.group, this.#second?.group];
    return running.find((group) => group !== undefined && endOffset <= group.endOffset) ?? this.#open;
  }

  setPolicy(policy: FlushPolicy): void {
    this.#dial.setPolicy(policy);
  }

  /** Resolves when all that was appended is on disk, or with why it never will be. */
  flush(): Promise<StorageError | undefined> {
    if (this.#failure !== undefined) return Promise.resolve(this.#failure);
    if (this.#open === undefined) {
      const last = this.#second ?? this.#first;
      if (last?.flush !== undefined) return last.flush.promise;
      if (last === undefined && this.#dial.isEmpty) return Promise.resolve(undefined);
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
    if (this.#failure !== undefined || this.#second !== undefined) return;
    if (this.#open === undefined && (!this.#dial.isAsked || this.#dial.isEmpty)) return;
    if (this.#first !== undefined && !this.#mayRunBeside(this.#first)) return;
    try {
      this.#host.sealShared();
    } catch (error) {
      this.#fail(storageErrorOf(error, `finishing a batch of ${this.#name}`));
      return;
    }
    const commit = this.#begin();
    if (this.#first === undefined) this.#first = commit;
    else this.#second = commit;
    this.#unsettled++;
    this.#watchdog ??= this.#newWatchdog();
    this.#watchdog.watch();
    this.#ended = this.#commit(commit).then(
      () => {
        try {
          this.#finish(commit);
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
    return this.#unsettled === 0;
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
    this.#dial.close();
  }

  get #isIdle(): boolean {
    return this.#failure !== undefined || (this.#open === undefined && this.#first === undefined);
  }

  #schedule(): void {
    if (this.#scheduled || this.#second !== undefined) return;
    // It goes with the next commit.
    if (this.#first !== undefined && !this.#isSynchronous) return;
    this.#scheduled = true;
    this.#parts.scheduler.schedule(this);
  }

  /**
   * Whether the open group may be written while that commit is under way: both end with their flush, there is enough of it
   * to be worth one, and no more is on its way than recovery writes again. Where a write is not its flush, a flush would
   * be of both.
   */
  #mayRunBeside({ group, byteLength }: RunningCommit): boolean {
    const open = this.#open;
    if (open?.durable !== true || group?.durable !== true || !this.#isSynchronous) return false;
    if (open.byteLength < this.#parts.commitBesideBytes) return false;
    // The shared batch is not in it yet.
    return byteLength + open.byteLength + SHARED_BATCH_BYTES_MAX <= UNFLUSHED_LOG_BYTES_MAX;
  }

  #begin(): RunningCommit {
    const group = this.#open;
    const ranges = this.#host.takeDirty();
    this.#open = undefined;
    const flush = this.#dial.isDue(group, ranges) ? this.#dial.begin() : undefined;
    const byteLength = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
    const first = this.#first;
    const before = first === undefined ? undefined : this.#ended;
    const isBeside = first !== undefined && !first.isBeside;
    const startedAtMs = this.#parts.clock.monotonic();
    return { group, ranges, byteLength, flush, startedAtMs, isBeside, before };
  }

  async #commit(commit: RunningCommit): Promise<void> {
    const { group, ranges } = commit;
    const { files } = this.#parts;
    for (const range of ranges) {
      const { chunk, start, end } = range;
      const segment = chunk.segment!; // set with the chunk's first finished batch
      // A file begins when all before it is on disk.
      if (segment !== this.#segment && commit.before !== undefined) await commit.before;
      // Given up by the watchdog, or the one before has failed: nothing more is written.
      if (this.#failure !== undefined) return;
      if (segment !== this.#segment) await this.#changeTo(segment, group?.durable === true);
      if (this.#failure !== undefined) return;
      // Recovery writes again what may be in memory alone, and must know how much that is.
      const unsyncedBytes = this.#unsyncedBytes + end - start;
      if (this.#unsyncedBytes > 0 && unsyncedBytes > UNFLUSHED_LOG_BYTES_MAX) await this.#datasync();
      if (this.#failure !== undefined) return;
      const write = (file: OpenFile): Promise<boolean> => this.#write(file, range);
      const isOnDisk = await files.with(segment.path, write, group?.durable, commit.isBeside);
      if (commit.before !== undefined) await commit.before;
      commit.before = undefined;
      if (this.#failure !== undefined) return;
      this.#isSynchronous = isOnDisk;
      if (!isOnDisk) this.#unsyncedBytes += end - start;
      this.#writtenBytes = chunk.filePosition + end;
      this.#dial.wroteRange(range);
    }
    if (this.#failure !== undefined) return;
    if (group !== undefined) this.#wrote(group, commit.startedAtMs);
    if (commit.flush !== undefined && this.#unsyncedBytes > 0) await this.#datasync();
  }

  /** Whether what was written is on disk as well. */
  async #write(file: OpenFile, { chunk, start, end }: DirtyRange): Promise<boolean> {
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

  #wrote(group: CommitGroup, startedAtMs: number): void {
    this.#dial.wroteGroup(group, startedAtMs);
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

  #finish(commit: RunningCommit): void {
    // The watchdog may have given up on this commit: what was said to have failed stays failed.
    if (this.#failure !== undefined) return;
    if (commit.flush === undefined) this.#dial.startTimer();
    else this.#finishFlush(commit, commit.flush);
    // Only now: until here whoever waits for it is told of a failure with all others.
    this.#first = this.#second;
    this.#second = undefined;
    // Not at the end of the tick: what joined meanwhile has waited for a whole commit, and the disk would wait for it.
    if (this.#open !== undefined || this.#dial.isAsked) this.start();
    this.#tellIdle();
  }

  #finishFlush({ group, startedAtMs }: RunningCommit, flush: Outcome): void {
    this.#host.bytesFlushed(this.#dial.takeRanges());
    this.#toldBytes = this.#writtenBytes;
    this.#host.flushed(this.#dial.take(), this.#parts.clock.monotonic() - startedAtMs);
    if (group?.durable) this.#tellCommitted(group);
    flush.settle(undefined);
  }

  #newWatchdog(): CommitWatchdog {
    const { clock, flushTimeoutMs } = this.#parts;
    const late = `${this.#name}: a flush was not done in ${flushTimeoutMs} ms`;
    return new CommitWatchdog({
      ...{ clock, timeoutMs: flushTimeoutMs },
      startedAtMs: () => this.#first?.startedAtMs,
      onTimeout: () => this.#fail(new StorageError('io', late)),
    });
  }

  #fail(error: StorageError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#watchdog?.cancel();
    const running = [this.#first, this.#second];
    for (const group of [...running.map((each) => each?.group), this.#open]) group?.settleWritten(error);
    for (const flush of [...running.map((each) => each?.flush), this.#dial.close()]) flush?.settle(error);
    this.#first = undefined;
    this.#second = undefined;
    this.#open = undefined;
    this.#host.failed(error);
    this.#tellIdle();
  }

  /** A promise only after a failure: commits that go well are many. */
  #comeToRest(): Promise<void> | undefined {
    // What is still to come back would be written behind the cut.
    if (this.#failure === undefined || this.#unsettled > 1) {
      this.#unsettled--;
      return undefined;
    }
    return this.#takeBack().then(() => {
      this.#unsettled--;
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
}
