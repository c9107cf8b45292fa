// How old a segment is and whether a log has to let go of it. Pure: segments and times in, decisions out.
//
// A segment is as old as its largest record timestamp says, but what lies in the future of its last append counts as
// that append: a device with a wrong clock must not keep a segment for ever. In numbers, the older of two ages counts.
// Where timestamps are the producer's (CreateTime), records that are back-dated are old from the start; where they are
// the append time, both ages are the same.
//
// The wall clock may jump. What this process has appended is aged by the monotonic clock. For what an earlier process
// has appended there is only the wall clock's word: a time in the future is one of a clock that was wrong, and is
// replaced by the present, from which on the segment ages.
import type { Clock } from './environment.ts';
import type { LogConfig } from './log-config.ts';

export interface AgedSegment {
  /** −1, and anything below, when none of its records has a timestamp. */
  readonly maxTimestampMs: number;
  /** Wall clock of its last append. */
  readonly appendedAtMs: number;
  /** Monotonic clock of its last append; undefined when an earlier process has made it. */
  readonly appendedAtMonotonicMs: number | undefined;
}

export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
}

/** Negative when only the future knows it. */
export function ageMsOf(segment: AgedSegment, now: Moment): number {
  const sinceAppendMs =
    segment.appendedAtMonotonicMs === undefined
      ? now.wallMs - segment.appendedAtMs
      : now.monotonicMs - segment.appendedAtMonotonicMs;
  return segment.maxTimestampMs < 0
    ? sinceAppendMs
    : Math.max(sinceAppendMs, now.wallMs - segment.maxTimestampMs);
}

/** Whether the clock that stamped the last append was ahead of the present one. */
export function isAppendedInFuture(segment: AgedSegment, now: Moment): boolean {
  return segment.appendedAtMonotonicMs === undefined && segment.appendedAtMs > now.wallMs;
}

export function isExpired(segment: AgedSegment, now: Moment, config: LogConfig): boolean {
  return ageMsOf(segment, now) > config.retentionMs;
}

/**
 * How many of the oldest segments go for the log's size: as many as leave `retentionBytes` or more, so that a log
 * never falls below what it may keep.
 * @param sizes of closed segments, oldest first
 * @param logBytes of all segments, the one that is appended to included
 */
export function surplusCount(sizes: Iterable<number>, logBytes: number, config: LogConfig): number {
  let surplusBytes = logBytes - config.retentionBytes;
  let count = 0;
  for (const bytes of sizes) {
    surplusBytes -= bytes;
    if (!(surplusBytes >= 0)) break;
    count++;
  }
  return count;
}

/** A segment takes appends for so long: until its age, or until compaction may wait no longer for it. */
export function rollAfterMs(config: LogConfig): number {
  return config.compacts ? Math.min(config.segmentMs, config.maxCompactionLagMs) : config.segmentMs;
}
