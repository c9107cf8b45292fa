// What of a log may be compacted, and whether that is worth it. Pure but for `times`, which asks for what is known of a
// segment.
import type { CompactedLog } from './compacted-log.ts';
import { type CompactionCheckpoint, tombstonesExpireBelow } from './compaction-checkpoint.ts';
import { ageMsOf, type Moment } from './retention.ts';
import type { Segment } from './segment.ts';
import type { SegmentTimes } from './segment-index.ts';

export interface CompactionPlan {
  /** The oldest segments of the log. */
  readonly segments: readonly Segment[];
  /** Share of their bytes that has not been compacted, 0 to 1. */
  readonly dirtyRatio: number;
  /** A record has waited for as long as the topic lets it. */
  readonly isOverdue: boolean;
  readonly dirtyOffsets: number;
}

/** The oldest segments of a log that may be compacted: closed, on disk, and below what readers and transactions make stable. */
function compactableSegments(log: CompactedLog): readonly Segment[] {
  const all = log.segments.all;
  const isCompactable = (segment: Segment): boolean =>
    log.isClosed(segment) &&
    segment.flushedBytes > 0 &&
    segment.flushedBytes === segment.byteSize &&
    segment.endOffset <= log.stableOffset();
  const first = all.findIndex((segment) => !isCompactable(segment));
  return first < 0 ? all : all.slice(0, first);
}

/** Undefined when there is nothing to be done. @param times of a segment, wherever they are to be had */
export async function planCompaction(
  log: CompactedLog,
  checkpoint: CompactionCheckpoint,
  now: Moment,
  times: (segment: Segment) => Promise<SegmentTimes | undefined>,
): Promise<CompactionPlan | undefined> {
  const config = log.config();
  let segments = compactableSegments(log);
  let isOverdue = false;
  const needsTimes = config.minCompactionLagMs > 0 || Number.isFinite(config.maxCompactionLagMs);
  for (const [index, segment] of segments.entries()) {
    if (!needsTimes) break;
    if (segment.endOffset <= checkpoint.cleanedOffset) continue;
    const { firstMs, lastMs } = agesOf(segment, await times(segment), now);
    if (lastMs < config.minCompactionLagMs) {
      segments = segments.slice(0, index);
      break;
    }
    if (firstMs > config.maxCompactionLagMs) isOverdue = true;
  }
  let cleanBytes = 0;
  let dirtyBytes = 0;
  let dirtyOffsets = 0;
  for (const { byteSize, baseOffset, endOffset } of segments) {
    if (endOffset <= checkpoint.cleanedOffset) cleanBytes += byteSize;
    else {
      dirtyBytes += byteSize;
      dirtyOffsets += endOffset - Math.max(baseOffset, checkpoint.cleanedOffset);
    }
  }
  const dirtyRatio = dirtyBytes === 0 ? 0 : dirtyBytes / (cleanBytes + dirtyBytes);
  const isWorthIt = dirtyBytes > 0 && (isOverdue || dirtyRatio >= config.minCleanableDirtyRatio);
  const expired = tombstonesExpireBelow(checkpoint.rounds, now.wallMs, config.deleteRetentionMs);
  const first = segments[0];
  const hasExpired = first !== undefined && expired > first.baseOffset;
  if (!isWorthIt && !hasExpired) return undefined;
  return { segments, dirtyRatio, isOverdue, dirtyOffsets };
}

/** How long ago the first record of a segment was, and the last. */
function agesOf(
  segment: Segment,
  times: SegmentTimes | undefined,
  now: Moment,
): { readonly firstMs: number; readonly lastMs: number } {
  if (times === undefined) return { firstMs: 0, lastMs: 0 };
  const { firstTimestampMs, maxTimestampMs, appendedAtMs } = times;
  const { appendedAtMonotonicMs } = segment;
  return {
    firstMs: ageMsOf({ maxTimestampMs: firstTimestampMs, appendedAtMs, appendedAtMonotonicMs }, now),
    lastMs: ageMsOf({ maxTimestampMs, appendedAtMs, appendedAtMonotonicMs }, now),
  };
}
