// One partition's part of a read: from an offset up to an end that was settled when the read began, range by range. It
// may let go of what it has read and read it again: then only the place of its next record stays in memory.
import type { Partition, RecordCursor, RecordRange, Visibility } from '../../protocols/port.ts';
import type { AdminError } from './errors.ts';
import type { RecordFilter } from './record-filter.ts';
import { refusalError } from './topic-errors.ts';

export interface ReadBudget {
  /** Stored bytes that may still be read. */
  bytesLeft: number;
  /** In memory now, for all sources. */
  heldBytes: number;
  /** Whoever asked is gone. */
  isGone: boolean;
}

const READS_PER_TURN = 8;

export class RecordSource {
  readonly partition: Partition;
  /** Where the next record is looked for. */
  offset: number;
  readonly end: number;
  readonly cursor: RecordCursor;
  /** Of the record that it stands on: its cursor too, while it holds a range. */
  timestampMs = 0;
  state: 'between' | 'record' | 'ended' = 'between';
  readonly #upTo: Visibility;
  readonly #filter: RecordFilter;
  readonly #readBytes: number;
  readonly #budget: ReadBudget;
  #range: RecordRange | undefined;
  #isInBatch = false;

  constructor(
    partition: Partition,
    span: { readonly from: number; readonly to: number },
    options: {
      readonly cursor: RecordCursor;
      readonly upTo: Visibility;
      readonly filter: RecordFilter;
      readonly readBytes: number;
      readonly budget: ReadBudget;
    },
  ) {
    this.partition = partition;
    this.offset = span.from;
    this.end = span.to;
    this.cursor = options.cursor;
    this.#upTo = options.upTo;
    this.#filter = options.filter;
    this.#readBytes = options.readBytes;
    this.#budget = options.budget;
    if (span.from >= span.to) this.state = 'ended';
  }

  get hasEnded(): boolean {
    return this.state === 'ended';
  }

  /** Whether the record that it stands on can be looked at. */
  get isLoaded(): boolean {
    return this.#range !== undefined;
  }

  /** The record that it stands on is done with: on to the next one in memory. False when there is none: `load`. */
  next(): boolean {
    this.pass();
    return !this.hasEnded && this.#nextInRange();
  }

  /** The record that it stands on is done with. */
  pass(): void {
    this.offset = this.cursor.offset + 1;
    this.state = 'between';
    if (this.offset >= this.end) this.#end();
  }

  /**
   * Reads until it stands on a record, has ended, or the budget is used up: then its state is still `between`.
   * @throws AdminError when the log cannot be read
   */
  async load(): Promise<void> {
    const budget = this.#budget;
    const wasOn = this.state === 'record';
    this.state = 'between';
    for (let reads = 1; this.offset < this.end; reads++) {
      // Reads from memory would never let others have their turn.
      if (reads % READS_PER_TURN === 0) await nextTurn();
      // A record that was found once is read again whatever it costs: it has been paid for.
      if (!wasOn && (budget.bytesLeft <= 0 || budget.isGone)) return;
      const range = await this.#read();
      if (range === undefined) break;
      const { bytes, start, end, nextOffset } = range;
      if (!wasOn) budget.bytesLeft -= end - start;
      if (start === end) break;
      if (this.#filter.mayMatch(bytes, start, end)) {
        // The range was made for this reader alone.
        (range as { committedOnly?: boolean }).committedOnly = true;
        this.#range = range;
        budget.heldBytes += end - start;
        this.cursor.reset(range);
        this.#isInBatch = false;
        if (this.#nextInRange() || this.hasEnded) return;
      } else {
        range.release?.();
        this.offset = nextOffset;
      }
    }
    this.#end();
  }

  /** Keeps the place and nothing else; `load` brings the record back. */
  letGo(): void {
    const range = this.#range;
    if (range === undefined) return;
    this.#budget.heldBytes -= range.end - range.start;
    this.#range = undefined;
    range.release?.();
  }

  #nextInRange(): boolean {
    const { cursor } = this;
    while (this.#isInBatch || cursor.nextBatch()) {
      this.#isInBatch = true;
      while (cursor.nextRecord()) {
        const { offset } = cursor;
        if (offset < this.offset) continue;
        if (offset >= this.end) {
          this.#end();
          return false;
        }
        if (!this.#filter.matches(cursor)) continue;
        this.offset = offset;
        this.timestampMs = cursor.timestampMs;
        this.state = 'record';
        return true;
      }
      this.#isInBatch = false;
    }
    // What follows is behind the range, whatever of it was left out.
    if (this.#range !== undefined) this.offset = Math.max(this.offset, this.#range.nextOffset);
    this.letGo();
    return false;
  }

  #end(): void {
    this.letGo();
    this.offset = this.end;
    this.state = 'ended';
  }

  /** Undefined when nothing is left that could be read. */
  async #read(): Promise<RecordRange | undefined> {
    for (;;) {
      const { partition, offset } = this;
      const result = await partition.read({ offset, maxBytes: this.#readBytes, upTo: this.#upTo });
      if (result.refused === undefined) return result;
      if (result.refused !== 'offset-out-of-range') throw this.#failure(result);
      // Retention has overtaken the reader, or a crash has taken the end back.
      if (offset >= partition.logStartOffset) return undefined;
      this.offset = partition.logStartOffset;
      if (this.offset >= this.end) return undefined;
    }
  }

  #failure(result: Parameters<typeof refusalError>[0]): AdminError {
    return refusalError(result, { field: 'partition', hint: 'ask for the others with partition=' });
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
