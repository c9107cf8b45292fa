// What a store is opened with, and what holds where nothing is said.
import type { Clock, Log, Random } from './environment.ts';
import type { FileSystem } from './file-system.ts';
import type { IndexDatabase } from './index-database.ts';

export interface LogStoreOptions {
  /** `data/`; made when missing, its parent not. */
  readonly directory: string;
  readonly nodeId: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when the directory is locked and known to be this node's: what else lies in it can be opened beside. */
  readonly onOwned?: () => void;
  /** Node's own unless a test gives another. */
  readonly fileSystem?: FileSystem;
  /** LevelDB in `index/`, which also locks the directory, unless a test gives another. */
  readonly index?: IndexDatabase;
  /** Log bytes per index entry. Default 4 KiB. */
  readonly indexIntervalBytes?: number;
  /** Memory for batches that are likely to be read, all partitions together, {@link LogStore.keepElsewhere} included. Default 64 MiB. */
  readonly tailCacheBytes?: number;
  /** Log bytes between recovery checkpoints of a partition. Default 64 MiB. */
  readonly checkpointBytes?: number;
  /** A flush not done by then fails the partition. Default 30 s. */
  readonly flushTimeoutMs?: number;
  /** What a log commits while another commit of it is under way has so many bytes at least. Default 32 KiB. */
  readonly commitBesideBytes?: number;
  /**
   * A segment of this size or more has zeros on the disk ahead of its batches (segment-room.ts), where the file system
   * overwrites in place. Default 256 KiB; `Infinity` = none has.
   */
  readonly roomAfterBytes?: number;
  /** Below it appends are refused before the disk is full. Default 0: there is no reserve. */
  readonly diskReserveBytes?: number;
  /** Producers that the logs remember, all together; the longest unused goes first. Default 100,000. */
  readonly producersMax?: number;
  /** A producer that wrote nothing for so long is forgotten. Default 1 day. */
  readonly producerExpirationMs?: number;
  /** From one round of maintenance to the next. Default 5 min; 0 = never by itself. */
  readonly checkIntervalMs?: number;
  /** Memory for the keys of the log that is being compacted, taken while it is: 24 bytes × 4/3 a key. Default 32 MiB. */
  readonly compactionMapBytes?: number;
  /** What compaction reads and writes together, at most; `Infinity` = as fast as it goes. Default 64 MiB. */
  readonly compactionBytesPerSecond?: number;
}

export const STORE_DEFAULTS = {
  indexIntervalBytes: 4 * 1024,
  tailCacheBytes: 64 * 1024 * 1024,
  checkpointBytes: 64 * 1024 * 1024,
  flushTimeoutMs: 30_000,
  commitBesideBytes: 32 * 1024,
  roomAfterBytes: 256 * 1024,
  diskReserveBytes: 0,
  producersMax: 100_000,
  producerExpirationMs: 24 * 3_600_000,
  checkIntervalMs: 300_000,
  compactionMapBytes: 32 * 1024 * 1024,
  compactionBytesPerSecond: 64 * 1024 * 1024,
} as const;
