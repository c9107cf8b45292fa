// What every partition of a store shares, and the gate that keeps scans from taking all memory at once.
import type { BufferPool } from './buffer-pool.ts';
import type { CommitScheduler } from './committer.ts';
import type { DiskSpace } from './disk-space.ts';
import type { Clock, Log } from './environment.ts';
import type { FileSystem } from './file-system.ts';
import type { IndexCache } from './index-cache.ts';
import type { IndexDatabase } from './index-database.ts';
import type { OpenFiles } from './open-files.ts';
import type { ProducerBudget } from './producer-budget.ts';
import type { ReadAheadBudget } from './read-ahead.ts';
import type { TailCache } from './tail-cache.ts';

export interface StoreParts {
  readonly fileSystem: FileSystem;
  readonly disk: DiskSpace;
  readonly files: OpenFiles;
  readonly cache: TailCache;
  readonly pool: BufferPool;
  readonly scheduler: CommitScheduler;
  readonly index: IndexDatabase;
  readonly indexCache: IndexCache;
  readonly readAhead: ReadAheadBudget;
  /** Producers that the logs remember, all together. */
  readonly producers: ProducerBudget;
  /** Recovery and indexing pass it, few at a time: each holds a large buffer. */
  readonly scans: Gate;
  /** Small files that nobody waits for pass it. */
  readonly smallWrites: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: StoreCounters;
  readonly indexIntervalBytes: number;
  readonly checkpointBytes: number;
  readonly flushTimeoutMs: number;
}

export interface StoreCounters {
  flushes: number;
  flushedBatches: number;
  appendedRecords: number;
  appendedBytes: number;
  /** Finished bytes that are not on disk yet, of all partitions. */
  unflushedBytes: number;
  recoveredBytes: number;
  /** Logs compacted, records left out, and what was written of those that stay. */
  compactions: number;
  compactedRecords: number;
  compactedBytes: number;
  cutBytes: number;
  /** Producers forgotten because there were too many. */
  evictedProducers: number;
  /** Blocks read before a sequential reader asked. */
  readAheads: number;
}

export function newCounters(): StoreCounters {
  return {
    flushes: 0,
    flushedBatches: 0,
    appendedRecords: 0,
    appendedBytes: 0,
    unflushedBytes: 0,
    recoveredBytes: 0,
    compactions: 0,
    compactedRecords: 0,
    compactedBytes: 0,
    cutBytes: 0,
    evictedProducers: 0,
    readAheads: 0,
  };
}

/** Lets a few through at a time, in the order of asking. */
export class Gate {
  #free: number;
  /** A set, for it gives up its first as cheaply with thousands in it. */
  readonly #waiting = new Set<() => void>();

  constructor(width: number) {
    this.#free = width;
  }

  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Whoever has entered leaves. */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  leave(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free++;
  }
}

/** Lets whatever else is due have its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
