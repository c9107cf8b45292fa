// What a store has done since it was opened, in numbers.
import { Histogram } from './histogram.ts';

const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

export interface StoreCounters {
  flushes: number;
  /** From the start of its write to its end. */
  readonly flushSeconds: Histogram;
  /** Batches that shared a flush. */
  readonly flushBatches: Histogram;
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
  /** Zeros ahead of the batches in the files of logs that are appended to (segment-room.ts), and how many were written. */
  roomBytes: number;
  roomMadeBytes: number;
  /** Producers forgotten because there were too many. */
  evictedProducers: number;
  /** Blocks read before a sequential reader asked. */
  readAheads: number;
}

export function newCounters(): StoreCounters {
  return {
    flushes: 0,
    flushSeconds: new Histogram(),
    flushBatches: new Histogram(BATCHES),
    flushedBatches: 0,
    appendedRecords: 0,
    appendedBytes: 0,
    unflushedBytes: 0,
    recoveredBytes: 0,
    compactions: 0,
    compactedRecords: 0,
    compactedBytes: 0,
    cutBytes: 0,
    roomBytes: 0,
    roomMadeBytes: 0,
    evictedProducers: 0,
    readAheads: 0,
  };
}
