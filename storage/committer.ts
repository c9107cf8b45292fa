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
import { CommitFile } from './commit-file.ts';
import type { CommitGroup, Outcome, RunningCommit } from './commit-group.ts';
import type { CommitHost } from './commit-host.ts';
import type { CommitScheduler } from './commit-scheduler.ts';
import { CommitWatchdog } from './commit-watchdog.ts';
import type { Clock } from './environment.ts';
import { StorageError, storageErrorOf } from './errors.ts';
import { FlushDial, type FlushPolicy } from './flush-dial.ts';
import { SHARED_BATCH_BYTES_MAX, UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { Segment } from './segment.ts';
import type { RoomParts } from './segment-room.ts';

/** What committers share. */
export interface CommitterParts extends RoomParts {
  readonly scheduler: CommitScheduler;
  readonly clock: Clock;
  readonly flushTimeoutMs: number;
  /** What a second commit has at least. */
  readonly commitBesideBytes: number;
}

export class Committer {
  readonly #host: CommitHost;
  readonly #parts: CommitterParts;
  readonly #name: string;
  readonly #dial: FlushDial;
  readonly #file: CommitFile;
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
  /** Since when the room ahead in the file is being cut off, and commits wait. */
  #roomEndsSinceMs: number | undefined;
  #roomEnded: (() => void) | undefined;
  readonly #idleWaiters: (() => void)[] = [];
  #abandoned = false;

  constructor(host: CommitHost, parts: CommitterParts, name: string, policy: FlushPolicy) {
    this.#host = host;
    this.#parts = parts;
    this.#name = name;
    this.#file = new CommitFile(parts, name);
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

  /** Whether the file may be longer than its batches. */
  get hasRoom(): boolean {
    return this.#file.isRoomHeld;
  }

  /** Lets the file end where its batches do, if nothing is under way: commits wait meanwhile. Resolves with a failure, too. */
  endRoom(): Promise<void> {
    if (!this.#file.isRoomHeld || this.#failure !== undefined || !this.#isIdle) return Promise.resolve();
    this.#roomEndsSinceMs = this.#parts.clock.monotonic();
    this.#watch();
    void this.#endRoom();
    return new Promise((resolve) => {
      this.#roomEnded = resolve;
    });
  }

  async #endRoom(): Promise<void> {
    try {
      await this.#file.stopRoom();
      if (this.#failure === undefined) await this.#file.end();
    } catch (error) {
      this.#fail(storageErrorOf(error, `cutting ${this.#name}`));
    }
    if (this.#failure !== undefined) await this.#takeBack();
    this.#roomEndsSinceMs = undefined;
    this.#roomEnded?.();
    this.start();
    this.#tellIdle();
  }

  /** Begins a commit of what there is: for the scheduler, and when the one before is done. */
  start(): void {
    this.#scheduled = false;
    if (this.#failure !== undefined || this.#second !== undefined || this.#roomEndsSinceMs !== undefined)
      return;
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
    this.#watch();
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
    return this.#unsettled === 0 && this.#roomEndsSinceMs === undefined && !this.#file.isFilling;
  }

  /** Whether the segment may still be written to or flushed. */
  holds(segment: Segment): boolean {
    return this.#file.segment === segment;
  }

  /** Lets go of a segment that is on disk and takes no more appends; false when something is under way, or lies ahead. */
  leave(segment: Segment): boolean {
    if (this.#failure !== undefined || !this.#isIdle || this.#file.segment !== segment) return false;
    if (this.#file.isRoomHeld) return false;
    this.#file.leave();
    this.#host.segmentClosed(segment);
    this.#parts.files.drop(segment.path);
    return true;
  }

  /** The log's files are deleted: what comes back late must not touch those of its successor, which has their names. */
  abandon(): void {
    this.#abandoned = true;
    void this.#file.stopRoom();
  }

  /** Stops the timers. Nothing is under way any more, or nobody waits for it. */
  close(): void {
    this.#watchdog?.cancel();
    this.#dial.close();
    this.#file.releaseRoom();
  }

  get #isIdle(): boolean {
    if (this.#failure !== undefined) return true;
    return this.#open === undefined && this.#first === undefined && this.#roomEndsSinceMs === undefined;
  }

  #schedule(): void {
    if (this.#scheduled || this.#second !== undefined) return;
    // It goes with the next commit.
    if (this.#first !== undefined && !this.#file.isSynchronous) return;
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
    if (open?.durable !== true || group?.durable !== true || !this.#file.isSynchronous) return false;
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
    const file = this.#file;
    for (const range of ranges) {
      const segment = range.chunk.segment!; // set with the chunk's first finished batch
      // A file begins when all before it is on disk.
      if (segment !== file.segment && commit.before !== undefined) await commit.before;
      // Given up by the watchdog, or the one before has failed: nothing more is written.
      if (this.#failure !== undefined) return;
      if (segment !== file.segment) await this.#changeTo(segment, group?.durable === true);
      if (this.#failure !== undefined) return;
      if (file.isDueBefore(range)) await file.datasync();
      const zeros = file.busyBelow(range);
      if (zeros !== undefined) await zeros;
      // Asked right before the file is: behind a failure its name may be another's.
      if (this.#failure !== undefined) return;
      const isOnDisk = await file.write(range, group?.durable, commit.isBeside);
      if (commit.before !== undefined) await commit.before;
      commit.before = undefined;
      if (this.#failure !== undefined) return;
      file.wrote(range, isOnDisk);
      this.#dial.wroteRange(range);
    }
    if (this.#failure !== undefined) return;
    if (group !== undefined) this.#wrote(group, commit.startedAtMs);
    if (commit.flush !== undefined && file.hasUnsynced) await file.datasync();
  }

  #wrote(group: CommitGroup, startedAtMs: number): void {
    this.#dial.wroteGroup(group, startedAtMs);
    if (!group.durable) {
      this.#file.told();
      this.#tellCommitted(group);
    }
    group.settleWritten(undefined);
  }

  /** The old file is on disk before the new one has a name: so only the newest file can have a torn tail. */
  async #changeTo(segment: Segment, synchronous: boolean): Promise<void> {
    const file = this.#file;
    const previous = file.segment;
    if (previous !== undefined) {
      await file.stopRoom();
      // A failure meanwhile: the file's name may be another's.
      if (this.#failure !== undefined) return;
      await file.end();
      if (this.#failure !== undefined) return;
      this.#host.bytesFlushed(this.#dial.takeRanges());
    }
    await this.#host.createSegment(segment, synchronous);
    file.begin(segment, this.#host.segmentBytes());
    if (previous === undefined) return;
    // Not before: without a successor what nobody was told of is cut again, and the index must not speak of it.
    this.#host.segmentClosed(previous);
    this.#parts.files.drop(previous.path);
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
    this.#file.told();
    this.#host.flushed(this.#dial.take(), this.#parts.clock.monotonic() - startedAtMs);
    if (group?.durable) this.#tellCommitted(group);
    flush.settle(undefined);
  }

  #watch(): void {
    this.#watchdog ??= this.#newWatchdog();
    this.#watchdog.watch();
  }

  #newWatchdog(): CommitWatchdog {
    const { clock, flushTimeoutMs } = this.#parts;
    const late = `${this.#name}: a flush was not done in ${flushTimeoutMs} ms`;
    return new CommitWatchdog({
      clock,
      timeoutMs: flushTimeoutMs,
      startedAtMs: () => this.#first?.startedAtMs ?? this.#roomEndsSinceMs,
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
    void this.#file.stopRoom();
    this.#roomEnded?.();
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
    return this.#takeBack().finally(() => {
      this.#unsettled--;
    });
  }

  async #takeBack(): Promise<void> {
    // What is still under way would come behind the cut.
    await this.#file.stopRoom();
    if (!this.#abandoned) await this.#file.takeBack();
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
