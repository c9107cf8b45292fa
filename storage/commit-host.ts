// What a committer asks of its log.
import type { StorageError } from './errors.ts';
import type { Flushed } from './flush-dial.ts';
import type { Segment } from './segment.ts';
import type { DirtyRange } from './tail-cache.ts';

export interface CommitHost {
  /** Finishes the shared batch, so that it goes with the group that starts now. */
  sealShared(): void;
  takeDirty(): DirtyRange[];
  /** A segment has a successor from this size on. */
  segmentBytes(): number;
  /** Makes the file of a segment, durably named. */
  createSegment(segment: Segment, synchronous: boolean): Promise<void>;
  /** The segment is whole and on disk, and its successor begins. */
  segmentClosed(segment: Segment): void;
  /** These bytes are on disk. */
  bytesFlushed(ranges: readonly DirtyRange[]): void;
  /** All that was written is on disk. Called after `bytesFlushed`, before the promises that say so resolve. */
  flushed(flushed: Flushed, tookMs: number): void;
  /** All below the offset may be seen. Called before the promises that say so resolve, and after `flushed` if that comes too. */
  committed(endOffset: number): void;
  failed(error: StorageError): void;
  /** Finished bytes of all partitions that are not on disk. */
  unflushedBytes(): number;
  /** What is not on disk cannot leave the memory. */
  memoryIsShort(): boolean;
}
