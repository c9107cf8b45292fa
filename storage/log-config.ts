// What a topic's settings say about its logs, in the store's words. The owner makes it from whatever its users write,
// and may change it while a log is open: it counts from the next append or the next round of maintenance on.
import { SEGMENT_BYTES_MAX } from './limits.ts';

/** Bytes, milliseconds and counts; `Infinity` where there is no limit. */
export interface LogConfig {
  /** A batch that would make a segment larger begins the next one. */
  readonly segmentBytes: number;
  /** A segment takes appends for so long after its first one. */
  readonly segmentMs: number;
  /** A segment whose index entries take this much is closed. */
  readonly indexBytesMax: number;
  /** Flush when so many records wait for it. 1: a batch is acknowledged, and seen, when it is on disk. */
  readonly flushMessages: number;
  /** Flush at the latest so long after the first record that waits for it. */
  readonly flushMs: number;
  /** Whether `retentionMs` and `retentionBytes` count. */
  readonly deletes: boolean;
  readonly retentionMs: number;
  readonly retentionBytes: number;
  /** Whether only the latest record of each key is kept. */
  readonly compacts: boolean;
  /** Share of uncompacted bytes, 0 to 1, from which on compaction is worth its work. */
  readonly minCleanableDirtyRatio: number;
  /** A record is not compacted away before it is so old. */
  readonly minCompactionLagMs: number;
  /** A record waits for compaction no longer than this. */
  readonly maxCompactionLagMs: number;
  /** How long a tombstone is kept after the records that it removes are gone. */
  readonly deleteRetentionMs: number;
}

const HOUR_MS = 3_600_000;

/** Kafka's defaults, but for durability: every acknowledged batch is on disk. */
export const DEFAULT_LOG_CONFIG: LogConfig = {
  segmentBytes: 1024 * 1024 * 1024,
  segmentMs: 7 * 24 * HOUR_MS,
  indexBytesMax: 10 * 1024 * 1024,
  flushMessages: 1,
  flushMs: 1000,
  deletes: true,
  retentionMs: Number.POSITIVE_INFINITY,
  retentionBytes: Number.POSITIVE_INFINITY,
  compacts: false,
  minCleanableDirtyRatio: 0.5,
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.POSITIVE_INFINITY,
  deleteRetentionMs: 24 * HOUR_MS,
};

/** The same with what the format bounds. */
export function withinBounds(config: LogConfig): LogConfig {
  if (config.segmentBytes <= SEGMENT_BYTES_MAX) return config;
  return { ...config, segmentBytes: SEGMENT_BYTES_MAX };
}
