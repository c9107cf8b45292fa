// What every partition of a store shares.
import type { BufferPool } from './buffer-pool.ts';
import type { CommitScheduler } from './commit-scheduler.ts';
import type { DiskSpace } from './disk-space.ts';
import type { Clock, Log } from './environment.ts';
import type { FileSystem } from './file-system.ts';
import type { Gate } from './gate.ts';
import type { IndexCache } from './index-cache.ts';
import type { IndexDatabase } from './index-database.ts';
import type { OpenFiles } from './open-files.ts';
import type { ProducerBudget } from './producer-budget.ts';
import type { ReadAheadBudget } from './read-ahead.ts';
import type { StoreCounters } from './store-counters.ts';
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
  readonly commitBesideBytes: number;
  readonly roomAfterBytes: number;
  /** Zeros ahead of logs that are on their way to the disk. */
  readonly fills: { underWay: number };
}
