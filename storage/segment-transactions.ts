// What one segment's control batches say: the transactions that were aborted by them, in the order of the control
// batches, in runs that have the bytes of their rows in the database (FORMAT.md, "Index"); and which transactions were
// over by the end of the segment. In memory while the segment is appended to or indexed anew, and not there at all
// without a control batch.
import type { AbortedTransaction } from './aborted-batches.ts';
import type { ControlRecord } from './control-record.ts';
import { readInt64, viewOf, writeInt64 } from './frame.ts';

/** What is to be known of a closed segment to find out whether its rows are worth looking at. */
export interface TransactionSummary {
  readonly abortedCount: number;
  /** Of the aborted ones; `Infinity` without any. */
  readonly firstOffsetMin: number;
  /** Every transaction that began below it had ended by the segment's last control batch. */
  readonly stableOffset: number;
}

/** producer id, first offset, last offset (the control batch's), last stable offset behind that; i64 each. */
export const ABORTED_BYTES = 4 * 8;
const FIRST_OFFSET_AT = 8;
const LAST_OFFSET_AT = FIRST_OFFSET_AT + 8;
const STABLE_OFFSET_AT = LAST_OFFSET_AT + 8;
export const ABORTED_RUN_LENGTH = 128;
const RUN_LENGTH_MIN = 4;

/** Up to 128 aborted transactions, in the bytes of their row. */
export class AbortedRun {
  bytes: Buffer;
  length: number;
  /** How many of them the database has. */
  stored = 0;
  #view: DataView;

  constructor(bytes: Buffer = Buffer.alloc(RUN_LENGTH_MIN * ABORTED_BYTES), length = 0) {
    this.bytes = bytes;
    this.length = length;
    this.#view = viewOf(bytes);
  }

  add(producerId: number, firstOffset: number, lastOffset: number, stableOffset: number): void {
    const at = this.length * ABORTED_BYTES;
    if (at === this.bytes.length) {
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(this.bytes.length)]);
      this.#view = viewOf(this.bytes);
    }
    writeInt64(this.#view, at, producerId);
    writeInt64(this.#view, at + FIRST_OFFSET_AT, firstOffset);
    writeInt64(this.#view, at + LAST_OFFSET_AT, lastOffset);
    writeInt64(this.#view, at + STABLE_OFFSET_AT, stableOffset);
    this.length++;
  }

  /** Drops those from `length` on. */
  cut(length: number): void {
    this.length = length;
    this.stored = Math.min(this.stored, length);
  }

  transactionAt(index: number): AbortedTransaction {
    return {
      producerId: readInt64(this.#view, index * ABORTED_BYTES),
      firstOffset: this.firstOffsetAt(index),
      lastOffset: this.lastOffsetAt(index),
    };
  }

  firstOffsetAt(index: number): number {
    return readInt64(this.#view, index * ABORTED_BYTES + FIRST_OFFSET_AT);
  }

  lastOffsetAt(index: number): number {
    return readInt64(this.#view, index * ABORTED_BYTES + LAST_OFFSET_AT);
  }

  stableOffsetAt(index: number): number {
    return readInt64(this.#view, index * ABORTED_BYTES + STABLE_OFFSET_AT);
  }

  /** How many have their control batch below `offset`. */
  countBelow(offset: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.lastOffsetAt(middle) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Undefined when the row is none of so many aborted transactions. */
export function abortedRunOf(row: Buffer | undefined, length: number): AbortedRun | undefined {
  if (row === undefined || row.length < length * ABORTED_BYTES || row.length % ABORTED_BYTES !== 0)
    return undefined;
  return new AbortedRun(row, length);
}

/** How many of the aborted transactions the run with this number has. */
export function runLength(number: number, abortedCount: number): number {
  return Math.min(ABORTED_RUN_LENGTH, abortedCount - number * ABORTED_RUN_LENGTH);
}

export class SegmentTransactions {
  readonly #runs: AbortedRun[];
  #firstOffsetMin = Number.POSITIVE_INFINITY;
  #stableOffset = -1;

  /** @param runs of the segment's first control batches, all of them full but the last */
  constructor(runs: AbortedRun[] = []) {
    this.#runs = runs;
    for (const run of runs) {
      for (let index = 0; index < run.length; index++) {
        this.#firstOffsetMin = Math.min(this.#firstOffsetMin, run.firstOffsetAt(index));
        this.#stableOffset = Math.max(this.#stableOffset, run.stableOffsetAt(index));
      }
    }
  }

  get runs(): readonly AbortedRun[] {
    return this.#runs;
  }

  get summary(): TransactionSummary {
    return {
      abortedCount: this.#abortedCount,
      firstOffsetMin: this.#firstOffsetMin,
      stableOffset: this.#stableOffset,
    };
  }

  get byteLength(): number {
    return this.#abortedCount * ABORTED_BYTES;
  }

  /** A control batch at `offset` follows. */
  note(offset: number, producerId: number, aborts: boolean, control: ControlRecord): void {
    const { firstOffset, stableOffset } = control;
    this.#stableOffset = Math.max(this.#stableOffset, stableOffset);
    if (!aborts || firstOffset < 0) return;
    this.#firstOffsetMin = Math.min(this.#firstOffsetMin, firstOffset);
    let run = this.#runs.at(-1);
    if (run === undefined || run.length === ABORTED_RUN_LENGTH) {
      run = new AbortedRun();
      this.#runs.push(run);
    }
    run.add(producerId, firstOffset, offset, stableOffset);
  }

  /** Runs that have what the database has not, of control batches below `offset`: it must not outlive its batch. */
  unstored(offset: number): { readonly number: number; readonly run: AbortedRun; readonly length: number }[] {
    return this.#runs.flatMap((run, number) => {
      if (run.stored === run.length) return [];
      const length = run.countBelow(offset);
      return length > run.stored ? [{ number, run, length }] : [];
    });
  }

  get #abortedCount(): number {
    const last = this.#runs.at(-1);
    return last === undefined ? 0 : (this.#runs.length - 1) * ABORTED_RUN_LENGTH + last.length;
  }
}
