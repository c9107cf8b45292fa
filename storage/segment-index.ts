// The index entries of one segment in memory: sparse, one per interval of log bytes, at batch starts, in runs of up to
// 128. A run has the bytes of its row in the database (FORMAT.md, "Index").
import type { ControlRecord } from './control-record.ts';
import { readInt64, viewOf, writeInt64 } from './frame.ts';
import { SegmentTransactions, type TransactionSummary } from './segment-transactions.ts';

/** A place to start: the batch at `position` begins at `offset`; all before it in the segment is older or equal. */
export interface IndexEntry {
  readonly offset: number;
  readonly position: number;
  /** Of the next entry; −1 when it is not at hand. */
  readonly nextPosition: number;
  /** Largest timestamp in the segment before `position`. */
  readonly maxTimestampBeforeMs: number;
}

export interface SegmentTimes {
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
  /** Wall clock of the last append. */
  readonly appendedAtMs: number;
  /** Undefined when no control batch stands in the segment. */
  readonly transactions?: TransactionSummary | undefined;
}

/** offset above the run's first u32, position u32, largest timestamp before i64. */
export const ENTRY_BYTES = 4 + 4 + 8;
/** Older than every record that has a time. */
const NO_TIMESTAMP = -1;
const RUN_ENTRIES_MAX = 128;
const RUN_ENTRIES_MIN = 8;
/** Runs of a growing segment that stay in memory after they went to the database: 4 MiB of log at 4 KiB an entry. */
const RUNS_IN_MEMORY_MAX = 8;

/** Up to 128 entries, in the bytes of their row. */
export class IndexRun {
  readonly firstOffset: number;
  bytes: Buffer;
  length: number;
  stored = false;
  #view: DataView;

  constructor(firstOffset: number, bytes: Buffer, length: number) {
    this.firstOffset = firstOffset;
    this.bytes = bytes;
    this.length = length;
    this.#view = viewOf(bytes);
  }

  /** False when the entry does not fit this run. */
  add(offset: number, position: number, maxTimestampBeforeMs: number): boolean {
    if (this.length === RUN_ENTRIES_MAX || offset - this.firstOffset > 0xffffffff) return false;
    const at = this.length * ENTRY_BYTES;
    if (at === this.bytes.length) {
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(this.bytes.length)]);
      this.#view = viewOf(this.bytes);
    }
    this.#view.setUint32(at, offset - this.firstOffset);
    this.#view.setUint32(at + 4, position);
    writeInt64(this.#view, at + 8, maxTimestampBeforeMs);
    this.length++;
    this.stored = false;
    return true;
  }

  offsetAt(index: number): number {
    return this.firstOffset + this.#view.getUint32(index * ENTRY_BYTES);
  }

  maxTimestampBeforeAt(index: number): number {
    return readInt64(this.#view, index * ENTRY_BYTES + 8);
  }

  entryAt(index: number): IndexEntry {
    return {
      offset: this.offsetAt(index),
      position: this.#positionAt(index),
      nextPosition: index + 1 < this.length ? this.#positionAt(index + 1) : -1,
      maxTimestampBeforeMs: this.maxTimestampBeforeAt(index),
    };
  }

  #positionAt(index: number): number {
    return this.#view.getUint32(index * ENTRY_BYTES + 4);
  }

  /** Last entry for which `goesBefore` holds; it holds for a prefix of the run, the first entry included. */
  last(goesBefore: (index: number) => boolean): IndexEntry {
    let low = 0;
    let high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (goesBefore(middle)) low = middle;
      else high = middle - 1;
    }
    return this.entryAt(low);
  }
}

/** Entries of a segment that grows, or is being indexed anew: in memory first, then in the database. */
export class SegmentIndex {
  readonly #intervalBytes: number;
  readonly #runs: IndexRun[] = [];
  /** Whether entries before the first run in memory may exist. */
  #hasEarlier: boolean;
  #lastPosition: number;
  #firstTimestampMs: number | undefined;
  #maxTimestampMs: number | undefined;
  #entries = 0;
  /** Wall clock of the last append; whoever notes batches says it. */
  appendedAtMs: number;
  /** Undefined before the first control batch. */
  transactions: SegmentTransactions | undefined;

  /** @param from the entry to go on behind, when the database has entries already */
  constructor(intervalBytes: number, appendedAtMs: number, from?: IndexEntry) {
    this.#intervalBytes = intervalBytes;
    this.appendedAtMs = appendedAtMs;
    this.#hasEarlier = from !== undefined;
    this.#lastPosition = from?.position ?? 0;
    this.#maxTimestampMs = from?.maxTimestampBeforeMs;
  }

  /** Undefined before the first batch. */
  get times(): SegmentTimes | undefined {
    if (this.#maxTimestampMs === undefined) return undefined;
    return {
      firstTimestampMs: this.#firstTimestampMs ?? NO_TIMESTAMP,
      maxTimestampMs: this.#maxTimestampMs,
      appendedAtMs: this.appendedAtMs,
      transactions: this.transactions?.summary,
    };
  }

  /** What the entries noted here take, in memory and in the database. */
  get byteLength(): number {
    return this.#entries * ENTRY_BYTES + (this.transactions?.byteLength ?? 0);
  }

  setFirstTimestamp(firstTimestampMs: number): void {
    this.#firstTimestampMs = firstTimestampMs;
  }

  /** A batch follows that compaction has left no record. */
  noteEmpty(offset: number, position: number): void {
    this.#noteAny(offset, position, undefined, NO_TIMESTAMP);
  }

  /** A batch follows: the next one behind the last noted. */
  note(offset: number, position: number, firstTimestampMs: number, maxTimestampMs: number): void {
    this.#noteAny(offset, position, firstTimestampMs, maxTimestampMs);
  }

  /** The batch noted last is a control batch. */
  noteEnd(offset: number, producerId: number, aborts: boolean, control: ControlRecord): void {
    this.transactions ??= new SegmentTransactions();
    this.transactions.note(offset, producerId, aborts, control);
  }

  #noteAny(
    offset: number,
    position: number,
    firstTimestampMs: number | undefined,
    maxTimestampMs: number,
  ): void {
    if (position - this.#lastPosition >= this.#intervalBytes && this.#maxTimestampMs !== undefined) {
      this.#lastPosition = position;
      this.#entries++;
      const run = this.#runs.at(-1);
      if (run === undefined || !run.add(offset, position, this.#maxTimestampMs)) {
        const next = new IndexRun(offset, Buffer.alloc(RUN_ENTRIES_MIN * ENTRY_BYTES), 0);
        next.add(offset, position, this.#maxTimestampMs);
        this.#runs.push(next);
      }
    }
    this.#firstTimestampMs ??= firstTimestampMs;
    if (this.#maxTimestampMs === undefined || maxTimestampMs > this.#maxTimestampMs) {
      this.#maxTimestampMs = maxTimestampMs;
    }
  }

  /** The entry at or below `offset`; `start` when there is none; `elsewhere` when only the database knows. */
  floor(offset: number): IndexEntry | 'start' | 'elsewhere' {
    return this.#find((run, index) => run.offsetAt(index) <= offset);
  }

  /** The last entry before which everything is older than `timestampMs`. */
  floorByTime(timestampMs: number): IndexEntry | 'start' | 'elsewhere' {
    return this.#find((run, index) => run.maxTimestampBeforeAt(index) < timestampMs);
  }

  /**
   * Runs that the database has not, of entries below `offset`: what lies above is not on disk yet, and an entry must
   * not outlive its batch. The last run is open, and only of interest when no more follows.
   */
  unstored(offset: number, withOpenRun: boolean): IndexRun[] {
    return this.#runs.filter(
      (run, index) =>
        !run.stored &&
        (withOpenRun || index < this.#runs.length - 1) &&
        run.offsetAt(run.length - 1) < offset,
    );
  }

  /** Whether a run is full and the database has it not. */
  get hasFullRuns(): boolean {
    const full = this.#runs.at(-2);
    return full !== undefined && !full.stored;
  }

  /** Forgets old runs that the database has. */
  shrink(): void {
    while (this.#runs.length > RUNS_IN_MEMORY_MAX && this.#runs[0]!.stored) {
      this.#runs.shift();
      this.#hasEarlier = true;
    }
  }

  #find(goesBefore: (run: IndexRun, index: number) => boolean): IndexEntry | 'start' | 'elsewhere' {
    for (let index = this.#runs.length - 1; index >= 0; index--) {
      const run = this.#runs[index]!; // index is below the length
      if (goesBefore(run, 0)) return run.last((entry) => goesBefore(run, entry));
    }
    return this.#hasEarlier ? 'elsewhere' : 'start';
  }
}
