// What the parts of one log have in common. Each part is given this and what it needs besides.
import type { BackgroundWork } from './background-work.ts';
import type { IndexCompletion } from './index-completion.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { SegmentList } from './segment.ts';
import type { PartitionTail } from './tail-cache.ts';

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
  readonly background: BackgroundWork;
}
