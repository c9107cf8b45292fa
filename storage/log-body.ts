// What a log is opened with, and what its parts have in common: each is given that and what it needs besides.
import type { AbortedTransactions } from './aborted-transactions.ts';
import type { BackgroundWork } from './background-work.ts';
import type { IndexCompletion } from './index-completion.ts';
import type { LogConfig } from './log-config.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { SegmentList } from './segment.ts';
import type { PartitionTail } from './tail-cache.ts';

export interface PartitionLogOptions {
  readonly topic: string;
  readonly partition: number;
  readonly logId: number;
  readonly leaderEpoch: number;
  readonly config: LogConfig;
  readonly internal?: boolean;
  readonly directory: string;
}

export interface LogBody {
  /** For messages: `topic-3`. */
  readonly name: string;
  readonly directory: string;
  /** Of this opening. */
  readonly leaderEpoch: number;
  readonly segments: SegmentList;
  readonly tail: PartitionTail;
  readonly index: OffsetIndex;
  readonly completion: IndexCompletion;
  readonly aborted: AbortedTransactions;
  readonly background: BackgroundWork;
}
