// Ordered segments of one partition: append, read, roll.
import type { RecordRange } from './batch-cursor.ts';
import type { BatchOptions, BatchWriter } from './batch-writer.ts';
import type { StorageError } from './errors.ts';

/** The promises never reject; appends of one group commit get the same promise objects. */
export interface Append {
  readonly baseOffset: number;
  readonly written: Promise<StorageError | undefined>;
  readonly flushed: Promise<StorageError | undefined>;
}

export interface TimestampedOffset {
  readonly offset: number;
  readonly timestampMs: number;
  readonly leaderEpoch: number;
}

export class PartitionLog {
  readonly topic: string = '';
  readonly partition: number = 0;
  readonly leaderEpoch: number = 0;
  /** First offset that readers may ask for. */
  logStartOffset = 0;
  /** Offset of the next record. */
  logEndOffset = 0;
  /** All below it is on disk. */
  flushedOffset = 0;
  /** Readers see what is below it; set by the owner. After opening it is the flushed offset. */
  highWatermark = 0;
  /** Set once a write or flush failed or hung, or corruption was met: appends are refused from then on, reads go on. */
  readonly failed: StorageError | undefined = undefined;
  /** Set by the owner; called once per group commit, before the promises of the group resolve. */
  onFlushed: ((flushedOffset: number) => void) | undefined = undefined;
  readonly byteSize: number = 0;
  readonly segmentCount: number = 0;

  /**
   * Appends one batch. `fill` runs before `append` returns; what it throws is thrown, and nothing is appended.
   * @throws StorageError fenced-epoch, unknown-epoch, sticky, busy, disk-full, corrupt, closed, deleted (before
   *   `fill` is called), record-too-large.
   */
  append(_options: BatchOptions, _fill: (writer: BatchWriter) => void): Append {
    throw new Error('not built');
  }

  /** Adds exactly one record to the open shared batch, which has no producer identity. Throws as `append`. */
  join(_fill: (writer: BatchWriter) => void): Append {
    throw new Error('not built');
  }

  setHighWatermark(_offset: number): void {}

  /**
   * Whole batches from the one that holds `offset` on (in a hole: the next one), all below `upTo`. The first comes
   * back however large. May be shorter than what there is: read on at `nextOffset`.
   * @throws StorageError offset-out-of-range, corrupt, io, closed, deleted
   */
  read(_offset: number, _maxBytes: number, _upTo: number): Promise<RecordRange> {
    throw new Error('not built');
  }

  /** The same, at once, when memory holds it; else undefined (and then `read` says why). */
  readCached(_offset: number, _maxBytes: number, _upTo: number): RecordRange | undefined {
    throw new Error('not built');
  }

  /** First record with timestamp ≥ `timestampMs` below `upTo`. @throws StorageError corrupt, io, closed, deleted */
  offsetForTime(_timestampMs: number, _upTo: number): Promise<TimestampedOffset | undefined> {
    throw new Error('not built');
  }

  /** First record among those with the largest timestamp below `upTo`. @throws as `offsetForTime` */
  offsetOfMaxTimestamp(_upTo: number): Promise<TimestampedOffset | undefined> {
    throw new Error('not built');
  }

  /** The segment size from the next append on. */
  setSegmentBytes(_segmentBytes: number): void {}

  close(): Promise<void> {
    throw new Error('not built');
  }
}
