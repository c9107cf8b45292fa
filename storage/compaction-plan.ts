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

/**
 * The oldest segments of a log that may be compacted: closed, on disk, and below what readers and transactions make
 * stable. Never the newest file: recovery scans that from a checkpoint which knows its positions, so its bytes must not
 * move. (That it has been compacted earlier does not matter: a segment becomes older than the newest once, and stays it.)
 */
export function compactableSegments(log: CompactedLog): readonly Segment[] {
  const all = log.segments.all;
  let newest = all.length - 1;
  while (newest >= 0 && all[newest]!.flushedBytes === 0) newest--; // above −1, below the length
  let count = 0;
  while (count < newest) {
    const segment = all[count]!; // below the length
    const isWhole = log.isClosed(segment) && segment.flushedBytes === segment.byteSize;
    if (!isWhole || segment.endOffset > log.stableOffset()) break;
    count++;
  }
  return all.slice(0, count);
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
