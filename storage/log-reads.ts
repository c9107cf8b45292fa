// The reading end of a log as a whole, made for its first reader: most logs have none at most times, and what is not
// there takes no memory.
import { basename } from 'node:path';
import { BatchCursor, type RecordRange } from './batch-cursor.ts';
import type { StorageError } from './errors.ts';
import { FileRange } from './file-block.ts';
import type { LogBody } from './log-body.ts';
import { LogReader } from './log-reader.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { ChunkRange } from './tail-cache.ts';
import { TimeLookup } from './time-lookup.ts';

export interface ReadLog extends LogBody {
  logStartOffset(): number;
  foundCorrupt(error: StorageError, segment: Segment): void;
  read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange>;
}

/** A file of the log, as it is now. */
export interface SegmentView {
  readonly file: string;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  /** One past the last offset that its batches cover. */
  readonly endOffset: number;
  /** All batches, and those that are on disk. */
  readonly byteSize: number;
  readonly flushedBytes: number;
  /** Undefined while its index does not tell. */
  readonly firstTimestampMs: number | undefined;
  readonly maxTimestampMs: number | undefined;
  /** The next append goes to it. */
  readonly active: boolean;
}

/** A batch and where it lies. */
export interface BatchPosition {
  readonly segmentBaseOffset: number;
  readonly file: string;
  readonly position: number;
  readonly byteLength: number;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly recordCount: number;
}

export class LogReads {
  readonly byOffset: LogReader;
  readonly #log: ReadLog;
  #byTime: TimeLookup | undefined;

  constructor(parts: StoreParts, log: ReadLog) {
    const { segments, tail, index, aborted, completion, background } = log;
    this.#log = log;
    this.byOffset = new LogReader(parts, {
      segments,
      tail,
      index,
      aborted,
      logStartOffset: () => log.logStartOffset(),
      onIndexUnfit: (segment, wrong) => background.add('indexing', completion.mend(segment, wrong)),
      onCorrupt: (error, segment) => log.foundCorrupt(error, segment),
    });
  }

  /** Its files in order, with what the index knows of their times. @throws StorageError io */
  async segments(): Promise<readonly SegmentView[]> {
    const { segments, completion } = this.#log;
    const { all } = segments;
    await completion.loadTimes(all);
    return all.map((segment) => viewOf(segment, segment === segments.newest && segment.index !== undefined));
  }

  /**
   * Where the batch lies that covers `offset`, in a hole the next one below `upTo`; undefined when there is none.
   * @throws as PartitionLog.read
   */
  async positionOf(offset: number, upTo: number): Promise<BatchPosition | undefined> {
    const range = await this.#log.read(offset, 1, upTo);
    const isPlaced = range instanceof ChunkRange || range instanceof FileRange;
    const place = isPlaced && range.end > range.start ? range.place : undefined;
    if (place === undefined) return undefined;
    const cursor = new BatchCursor();
    cursor.reset(range);
    cursor.nextBatch();
    const { segment, position } = place;
    const found = {
      ...{ segmentBaseOffset: segment.baseOffset, file: basename(segment.path), position },
      ...{ byteLength: cursor.batchByteLength, leaderEpoch: cursor.batchLeaderEpoch },
      ...{ baseOffset: cursor.batchBaseOffset, lastOffset: cursor.batchLastOffset },
      recordCount: cursor.batchRecordCount,
    };
    range.release?.();
    return found;
  }

  get byTime(): TimeLookup {
    this.#byTime ??= new TimeLookup(this.#log);
    return this.#byTime;
  }
}

function viewOf(segment: Segment, active: boolean): SegmentView {
  const { path, leaderEpoch, baseOffset, endOffset, byteSize, flushedBytes } = segment;
  const times = segment.times ?? segment.index?.times;
  return {
    ...{ file: basename(path), leaderEpoch, baseOffset, endOffset, byteSize, flushedBytes, active },
    ...{ firstTimestampMs: times?.firstTimestampMs, maxTimestampMs: times?.maxTimestampMs },
  };
}
