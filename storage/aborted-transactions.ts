// Finds the aborted transactions that a range of a log overlaps. All that began in the range have ended, since nobody
// reads beyond the last stable offset; but how they ended stands in the range or anywhere behind it. So the segments are
// gone through from the range's own on, until one says that all transactions that began in the range were over by then.
//
// A range without a transactional batch overlaps none that matters: nothing is looked up for it.
import type { AbortedTransaction } from './aborted-batches.ts';
import type { RecordRange } from './batch-cursor.ts';
import { StorageError } from './errors.ts';
import {
  ATTRIBUTE_CONTROL,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  batchBaseOffsetAt,
  batchByteLengthAt,
  viewOf,
} from './frame.ts';
import type { IndexCompletion } from './index-completion.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { Segment, SegmentList } from './segment.ts';
import {
  ABORTED_RUN_LENGTH,
  type AbortedRun,
  runLength,
  type TransactionSummary,
} from './segment-transactions.ts';

/** Base offsets of transactional batches with records. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** Of the range's first and last transactional batch; undefined when it has none. */
export function transactionalSpan({ bytes, start, end }: RecordRange): Span | undefined {
  const view = viewOf(bytes);
  let first = -1;
  let last = -1;
  for (let at = start; at < end; at += batchByteLengthAt(view, at)) {
    const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
    if ((attributes & (ATTRIBUTE_TRANSACTIONAL | ATTRIBUTE_CONTROL)) !== ATTRIBUTE_TRANSACTIONAL) continue;
    last = batchBaseOffsetAt(view, at);
    if (first < 0) first = last;
  }
  return first < 0 ? undefined : { first, last };
}

/** What has been found so far of a span. */
class Search {
  readonly #span: Span;
  readonly #found: AbortedTransaction[] = [];

  constructor(span: Span) {
    this.#span = span;
  }

  /** Undefined when there are none: most ranges. */
  get result(): readonly AbortedTransaction[] | undefined {
    if (this.#found.length === 0) return undefined;
    return this.#found.sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Whether everything that began in the span had ended by then. */
  isOverBy(stableOffset: number): boolean {
    return stableOffset > this.#span.last;
  }

  mayBeIn({ abortedCount, firstOffsetMin }: TransactionSummary): boolean {
    return abortedCount > 0 && firstOffsetMin <= this.#span.last;
  }

  /** Of all runs of a segment. */
  takeAll(runs: readonly AbortedRun[]): void {
    let low = 0;
    let high = runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.isBefore(runs[middle]!))
        low = middle + 1; // below the length
      else high = middle;
    }
    for (let number = low; number < runs.length; number++) {
      if (!this.take(runs[number]!)) return; // below the length
    }
  }

  /** Whether all of a run lies before the span. */
  isBefore(run: AbortedRun): boolean {
    return run.lastOffsetAt(run.length - 1) < this.#span.first;
  }

  /** False when nothing behind the run can be of interest. */
  take(run: AbortedRun): boolean {
    for (let index = run.countBelow(this.#span.first); index < run.length; index++) {
      if (run.firstOffsetAt(index) <= this.#span.last) this.#found.push(run.transactionAt(index));
      if (this.isOverBy(run.stableOffsetAt(index))) return false;
    }
    return true;
  }
}

export class AbortedTransactions {
  readonly #segments: SegmentList;
  readonly #index: OffsetIndex;
  readonly #completion: IndexCompletion;

  constructor(segments: SegmentList, index: OffsetIndex, completion: IndexCompletion) {
    this.#segments = segments;
    this.#index = index;
    this.#completion = completion;
  }

  /**
   * Those that overlap a span of one segment, by first offset; undefined when there are none. `elsewhere`: memory does
   * not tell. @param segment where the span lies
   */
  inMemory(segment: Segment, span: Span): readonly AbortedTransaction[] | undefined | 'elsewhere' {
    const search = new Search(span);
    for (const each of this.#from(segment)) {
      const transactions = each.index?.transactions;
      if (transactions !== undefined) search.takeAll(transactions.runs);
      if (each.index === undefined && each.times === undefined) return 'elsewhere';
      const summary = transactions?.summary ?? each.times?.transactions;
      if (summary === undefined) continue;
      if (transactions === undefined && search.mayBeIn(summary)) return 'elsewhere';
      if (search.isOverBy(summary.stableOffset)) break;
    }
    return search.result;
  }

  /**
   * The same from wherever it is known. `gone`: a segment has left the list meanwhile, and what was read of it may be
   * older than what is told here. @throws StorageError corrupt, io
   */
  async find(segment: Segment, span: Span): Promise<readonly AbortedTransaction[] | undefined | 'gone'> {
    const search = new Search(span);
    for (const each of this.#from(segment)) {
      const inMemory = each.index?.transactions;
      const summary = inMemory?.summary ?? (await this.#completion.timesOf(each))?.transactions;
      if (segment.gone || each.gone) return 'gone';
      if (summary === undefined) continue;
      if (inMemory !== undefined) search.takeAll(inMemory.runs);
      else if (search.mayBeIn(summary)) {
        await this.#takeStored(each, summary.abortedCount, search);
        if (segment.gone || each.gone) return 'gone';
      }
      if (search.isOverBy(summary.stableOffset)) break;
    }
    return segment.gone ? 'gone' : search.result;
  }

  *#from(segment: Segment): Generator<Segment, void, undefined> {
    const { all } = this.#segments;
    for (let index = this.#segments.floorIndex(segment.baseOffset); index < all.length; index++) {
      yield all[index]!; // index is below the length
    }
  }

  /** Of a closed segment. */
  async #takeStored(segment: Segment, abortedCount: number, search: Search): Promise<void> {
    const runs = Math.ceil(abortedCount / ABORTED_RUN_LENGTH);
    let low = 0;
    let high = runs;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const run = await this.#run(segment, middle, abortedCount);
      if (run === undefined) return;
      if (search.isBefore(run)) low = middle + 1;
      else high = middle;
    }
    for (let number = low; number < runs; number++) {
      const run = await this.#run(segment, number, abortedCount);
      if (run === undefined || !search.take(run)) return;
    }
  }

  /** A row that is lost is made anew, with all of its segment. Undefined when the segment is gone. */
  async #run(segment: Segment, number: number, abortedCount: number): Promise<AbortedRun | undefined> {
    const length = runLength(number, abortedCount);
    const run = await this.#index.abortedRun(segment, number, length);
    if (run !== undefined) return run;
    if (!segment.gone) await this.#completion.mend(segment, true);
    const again = await this.#index.abortedRun(segment, number, length);
    if (again !== undefined || segment.gone) return again;
    throw new StorageError('io', `${segment.path}: what it says of aborted transactions could not be kept`);
  }
}
