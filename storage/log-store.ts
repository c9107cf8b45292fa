// Partitions by name: open, create, delete, close.
import type { Clock, Log, Random } from './environment.ts';
import type { FileSystem } from './file-system.ts';
import type { PartitionLog } from './partition-log.ts';

export interface LogStoreOptions {
  /** `data/`; made when missing. */
  readonly directory: string;
  readonly nodeId: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Node's own unless a test gives another. */
  readonly fileSystem?: FileSystem;
  /** Log bytes per index entry. Default 4 KiB. */
  readonly indexIntervalBytes?: number;
  /** Memory for recent batches, all partitions together. Default 64 MiB. */
  readonly tailCacheBytes?: number;
  /** Log bytes between recovery checkpoints of a partition. Default 64 MiB. */
  readonly checkpointBytes?: number;
  /** A flush not done by then fails the partition. Default 30 s. */
  readonly flushTimeoutMs?: number;
}

export interface PartitionOptions {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Unique in the store for this incarnation of the partition, u32, never used again: its key in the index. */
  readonly logId: number;
  /** At least one above what `diskLeaderEpoch` says when the log was opened before. */
  readonly leaderEpoch: number;
  readonly segmentBytes: number;
}

export interface NodeIdentity {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly diskId: string;
  /** False when the previous run of this directory did not close its store. */
  readonly previousStopWasClean: boolean;
}

export interface StoreCounters {
  flushes: number;
  flushedBatches: number;
  appendedRecords: number;
  appendedBytes: number;
  recoveredBytes: number;
  cutBytes: number;
}

/** @throws StorageError locked, data-directory, format, io */
export function openLogStore(_options: LogStoreOptions): Promise<LogStore> {
  throw new Error('not built');
}

export class LogStore {
  /** From `node.json`: made at the first start. */
  readonly identity: NodeIdentity = { clusterId: '', nodeId: 0, diskId: '', previousStopWasClean: true };
  readonly counters: StoreCounters = {
    flushes: 0,
    flushedBatches: 0,
    appendedRecords: 0,
    appendedBytes: 0,
    recoveredBytes: 0,
    cutBytes: 0,
  };

  /** Creates what is missing, recovers what is there. @throws StorageError fenced-epoch, format, io, closed */
  openPartition(_options: PartitionOptions): Promise<PartitionLog> {
    throw new Error('not built');
  }

  /** Highest leader epoch that the partition has on disk; 0 when there is none. */
  diskLeaderEpoch(_topic: string, _topicId: string, _partition: number): Promise<number> {
    throw new Error('not built');
  }

  /** Its open partitions are `deleted` from now on. Resolves when the name is free again, on disk too. */
  deleteTopic(_topic: string, _topicId: string): Promise<void> {
    throw new Error('not built');
  }

  /** Flushes, writes checkpoints and manifests, releases the directory. Idempotent. */
  close(): Promise<void> {
    throw new Error('not built');
  }
}
