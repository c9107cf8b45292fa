// Group commit of one partition: one write and one fdatasync in flight, shared by every batch that is finished when
// it starts; what is finished meanwhile goes with the next. Also the watchdog, and the rule that after a failed or
// hung write or flush nothing is retried: the page cache may have dropped what it failed to write, so a second
// fdatasync that succeeds proves nothing.
import type { Clock, Log, Timer } from './environment.ts';
import { StorageError, storageErrorOf } from './errors.ts';
import type { OpenFiles } from './open-files.ts';
import type { Segment } from './segment.ts';
import type { DirtyRange } from './tail-cache.ts';

/** The promises never reject; appends of one group commit get the same promise objects. */
export interface Append {
  readonly baseOffset: number;
  readonly written: Promise<StorageError | undefined>;
  readonly flushed: Promise<StorageError | undefined>;
}

/** Batches that one flush covers. */
export class CommitGroup {
  batches = 0;
  /** One past the last offset in it. */
  endOffset = 0;
  readonly #written = new Outcome();
  readonly #flushed = new Outcome();

  get written(): Promise<StorageError | undefined> {
    return this.#written.promise;
  }

  get flushed(): Promise<StorageError | undefined> {
    return this.#flushed.promise;
  }

  settleWritten(error: StorageError | undefined): void {
    this.#written.settle(error);
  }

  settleFlushed(error: StorageError | undefined): void {
    this.#flushed.settle(error);
  }
}

export class GroupedAppend implements Append {
  readonly baseOffset: number;
  readonly #group: CommitGroup;

  constructor(baseOffset: number, group: CommitGroup) {
    this.baseOffset = baseOffset;
    this.#group = group;
  }

  get written(): Promise<StorageError | undefined> {
    return this.#group.written;
  }

  get flushed(): Promise<StorageError | undefined> {
    return this.#group.flushed;
  }
}

/** A promise made when somebody asks for it: most groups have waiters for one of their two. */
class Outcome {
  #promise: Promise<StorageError | undefined> | undefined;
  #resolve: ((error: StorageError | undefined) => void) | undefined;
  #settled = false;
  #error: StorageError | undefined;

  get promise(): Promise<StorageError | undefined> {
    this.#promise ??= this.#settled
      ? Promise.resolve(this.#error)
      : new Promise((resolve) => {
          this.#resolve = resolve;
        });
    return this.#promise;
  }

  settle(error: StorageError | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#error = error;
    this.#resolve?.(error);
  }
}

/** What a committer asks of its partition. */
export interface CommitHost {
  /** Finishes the shared batch, so that it goes with the group that starts now. */
  sealShared(): void;
  dirty(): DirtyRange[];
  /** Makes the file of a segment, durably named. */
  createSegment(segment: Segment): Promise<void>;
  /** The segment is whole and on disk, and its successor begins. */
  segmentClosed(segment: Segment): void;
  /** All of these bytes are on disk. Called before the group's promises resolve. */
  groupFlushed(group: CommitGroup, ranges: readonly DirtyRange[]): void;
  groupFailed(error: StorageError): void;
}

/** Starts commits at the end of the tick, so that all appends of a tick, of every connection, share them. */
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

export interface CommitterOptions {
  readonly scheduler: CommitScheduler;
  readonly files: OpenFiles;
  readonly clock: Clock;
  readonly flushTimeoutMs: number;
  readonly log: Log;
  readonly name: string;
}

export class Committer {
  readonly #host: CommitHost;
  readonly #options: CommitterOptions;
  /** The group that batches join now; the group whose bytes are on their way. */
  #open: CommitGroup | undefined;
  #inFlight: CommitGroup | undefined;
  #scheduled = false;
  #failed = false;
  #startedAtMs = 0;
  #watchdog: Timer | undefined;
  /** The file that the last commit wrote to. */
  #segment: Segment | undefined;
  readonly #idleWaiters: (() => void)[] = [];
  #writing = false;

  constructor(host: CommitHost, options: CommitterOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** The group that a batch finished now belongs to; its commit is on its way. */
  join(): CommitGroup {
    if (this.#open === undefined) {
      this.#open = new CommitGroup();
      this.#schedule();
    }
    return this.#open;
  }

  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** For the scheduler alone. */
  start(): void {
    this.#scheduled = false;
    if (this.#failed || this.#inFlight !== undefined || this.#open === undefined) return;
    try {
      this.#host.sealShared();
    } catch (error) {
      this.#fail(storageErrorOf(error, `finishing a batch of ${this.#options.name}`));
      return;
    }
    const group = this.#open;
    this.#open = undefined;
    this.#inFlight = group;
    this.#startedAtMs = this.#options.clock.monotonic();
    this.#watch(this.#options.flushTimeoutMs);
    const ranges = this.#host.dirty();
    this.#writing = true;
    this.#commit(group, ranges).then(
      () => {
        this.#writing = false;
        this.#finish(group, ranges);
      },
      async (error: unknown) => {
        this.#fail(storageErrorOf(error, `writing ${this.#options.name}`));
        await this.#takeBack();
        this.#writing = false;
      },
    );
  }

  /** Whether the file system has nothing more of ours; after a failure it may hang for long. */
  get isSettled(): boolean {
    return !this.#writing;
  }

  /** Stops the watchdog. Nothing is under way any more, or nobody waits for it. */
  close(): void {
    this.#watchdog?.cancel();
    this.#watchdog = undefined;
  }

  get #isIdle(): boolean {
    return this.#failed || (this.#open === undefined && this.#inFlight === undefined);
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight !== undefined) return;
    this.#scheduled = true;
    this.#options.scheduler.schedule(this);
  }

  async #commit(group: CommitGroup, ranges: readonly DirtyRange[]): Promise<void> {
    const { files } = this.#options;
    for (const { chunk, end } of ranges) {
      const segment = chunk.segment!; // set with the chunk's first finished batch
      if (segment !== this.#segment) await this.#changeTo(segment);
      // Given up by the watchdog: what still comes back must not write on.
      if (this.#failed) return;
      const start = chunk.written;
      await files.with(segment.path, (file) =>
        file.write(chunk.bytes, start, end - start, chunk.filePosition + start),
      );
      chunk.written = end;
    }
    group.settleWritten(undefined);
    await this.#datasync();
  }

  /** The old file is on disk before the new one has a name: so only the newest file can have a torn tail. */
  async #changeTo(segment: Segment): Promise<void> {
    const previous = this.#segment;
    if (previous !== undefined) {
      await this.#datasync();
      if (this.#failed) return;
      this.#host.segmentClosed(previous);
      this.#options.files.drop(previous.path);
    }
    await this.#host.createSegment(segment);
    this.#segment = segment;
  }

  async #datasync(): Promise<void> {
    const segment = this.#segment;
    if (segment !== undefined) await this.#options.files.with(segment.path, (file) => file.datasync());
  }

  #finish(group: CommitGroup, ranges: readonly DirtyRange[]): void {
    // The watchdog may have given up on this commit: what was said to have failed stays failed.
    if (this.#failed) return;
    this.#inFlight = undefined;
    this.#host.groupFlushed(group, ranges);
    group.settleFlushed(undefined);
    if (this.#open !== undefined) this.#schedule();
    this.#tellIdle();
  }

  #fail(error: StorageError): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#watchdog?.cancel();
    for (const group of [this.#inFlight, this.#open]) {
      group?.settleWritten(error);
      group?.settleFlushed(error);
    }
    this.#inFlight = undefined;
    this.#open = undefined;
    this.#host.groupFailed(error);
    this.#tellIdle();
  }

  /**
   * Cuts what the failed flush may have left in memory alone: the next process would find it in the file, flush it
   * with success, and lose it with the power. Nobody was told that it is on disk.
   */
  async #takeBack(): Promise<void> {
    const segment = this.#segment;
    if (segment === undefined) return;
    const { files, log, name } = this.#options;
    try {
      await files.with(segment.path, async (file) => {
        await file.truncate(segment.flushedBytes);
        await file.datasync();
      });
    } catch (error) {
      log.warn('log.not-taken-back', { log: name, position: segment.flushedBytes, error });
    }
  }

  #tellIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** One timer for many commits: when it fires it looks how old the commit under way is, and comes back later. */
  #watch(delayMs: number): void {
    this.#watchdog ??= this.#options.clock.setTimer(delayMs, () => {
      this.#watchdog = undefined;
      if (this.#inFlight === undefined) return;
      const { flushTimeoutMs, clock, name } = this.#options;
      const remainingMs = this.#startedAtMs + flushTimeoutMs - clock.monotonic();
      if (remainingMs > 0) this.#watch(remainingMs);
      else this.#fail(new StorageError('io', `${name}: a flush was not done in ${flushTimeoutMs} ms`));
    });
  }
}
