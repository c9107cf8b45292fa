// What those who append are given to wait for: batches that share one write, and one flush, share their promises.
import type { StorageError } from './errors.ts';
import type { StoredBatch } from './producer-state.ts';
import type { DirtyRange } from './tail-cache.ts';

/** The promises never reject. */
export interface Commit {
  readonly written: Promise<StorageError | undefined>;
  readonly flushed: Promise<StorageError | undefined>;
  /** The batch is as safe as the log's configuration asks, and seen: `flushed` if `flushMessages` is 1, else `written`. */
  readonly committed: Promise<StorageError | undefined>;
}

/** Appends of one group commit get the same promise objects. */
export interface Append extends Commit {
  readonly baseOffset: number;
  /** Set when nothing was appended, because the batch lies in the log already: this one. */
  readonly repeats?: StoredBatch;
}

/** Batches that one write covers. One flush covers them too, and those of other groups unless it is `durable`. */
export class CommitGroup implements Commit {
  batches = 0;
  records = 0;
  /** Of its finished batches. */
  byteLength = 0;
  /** One past the last offset in it. */
  endOffset = 0;
  /** It is committed with its flush, not with its write. */
  readonly durable: boolean;
  readonly #written = new Outcome();
  readonly #flushed: Outcome;

  constructor(durable: boolean, flushed: Outcome) {
    this.durable = durable;
    this.#flushed = flushed;
  }

  get written(): Promise<StorageError | undefined> {
    return this.#written.promise;
  }

  get flushed(): Promise<StorageError | undefined> {
    return this.#flushed.promise;
  }

  /** See {@link Commit}. */
  get committed(): Promise<StorageError | undefined> {
    return this.durable ? this.flushed : this.written;
  }

  settleWritten(error: StorageError | undefined): void {
    this.#written.settle(error);
  }
}

/** A commit under way: what it writes, and who is told. */
export interface RunningCommit {
  readonly group: CommitGroup | undefined;
  readonly ranges: readonly DirtyRange[];
  readonly byteLength: number;
  /** Of the flush that ends it. */
  readonly flush: Outcome | undefined;
  readonly startedAtMs: number;
  /** It has the file open by itself: the one that it runs beside has it open the usual way. */
  readonly isBeside: boolean;
  /** Resolves when the one before has ended, or failed. */
  before: Promise<void> | undefined;
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

  get committed(): Promise<StorageError | undefined> {
    return this.#group.committed;
  }
}

const DONE: Promise<undefined> = Promise.resolve(undefined);

/** Of a batch that lies in the log already: it is as safe as it was made then. */
export class RepeatedAppend implements Append {
  readonly repeats: StoredBatch;
  readonly #group: CommitGroup | undefined;
  readonly #flush: () => Promise<StorageError | undefined>;

  /** @param group undefined = committed long ago; @param flush resolves when all is on disk that was committed */
  constructor(
    batch: StoredBatch,
    group: CommitGroup | undefined,
    flush: () => Promise<StorageError | undefined>,
  ) {
    this.repeats = batch;
    this.#group = group;
    this.#flush = flush;
  }

  get baseOffset(): number {
    return this.repeats.baseOffset;
  }

  get written(): Promise<StorageError | undefined> {
    return this.#group?.written ?? DONE;
  }

  get flushed(): Promise<StorageError | undefined> {
    return this.#group?.flushed ?? this.#flush();
  }

  get committed(): Promise<StorageError | undefined> {
    return this.#group?.committed ?? DONE;
  }
}

/** A promise made when somebody asks for it: most groups have waiters for one of their two. */
export class Outcome {
  #promise: Promise<StorageError | undefined> | undefined;
  #resolve: ((error: StorageError | undefined) => void) | undefined;
  #settled = false;
  #error: StorageError | undefined;

  get promise(): Promise<StorageError | undefined> {
    return this.#promise ?? this.#make();
  }

  /** Apart from the getter, in which the closure would be prepared for each record that asks. */
  #make(): Promise<StorageError | undefined> {
    this.#promise = this.#settled
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
