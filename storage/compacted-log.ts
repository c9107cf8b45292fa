// A log as its compaction sees it.
import type { LogBody } from './log-body.ts';
import type { LogConfig } from './log-config.ts';
import type { Segment } from './segment.ts';

export interface CompactedLog extends LogBody {
  config(): LogConfig;
  /** Whether it is open and whole: nothing is written for the sake of one that is not. */
  isWritable(): boolean;
  /** All below is on disk, seen by readers, and of no transaction that is open. */
  stableOffset(): number;
  /** Whether nothing is appended or written to the segment any more. */
  isClosed(segment: Segment): boolean;
  /** Whether a producer's newest batch, or the end of its last transaction, stands at this offset: what it may do next hangs on them. */
  isNewestOf(producerId: number, baseOffset: number): boolean;
  /** Batches move within the files of these segments: no checkpoint may tell of positions there. Durable when it resolves. */
  batchesMove(segmentBases: readonly number[], newestBase: number): Promise<void>;
  /** Runs what changes the list of segments together with the files under it, alone. */
  exclusively<Result>(change: () => Promise<Result>): Promise<Result>;
}
