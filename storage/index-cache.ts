// Rows of the index that were looked at lately, of all logs, within one bound: a read at a place that others read near
// asks the database nothing.
import { AbortedRunCache } from './aborted-run-cache.ts';
import { ABORTED_CACHE_BYTES_MAX } from './limits.ts';
import type { Segment } from './segment.ts';
import type { IndexRun } from './segment-index.ts';
import { type Linked, UseOrder } from './use-order.ts';

/** What an entry of the cache takes besides the row's bytes. */
const OVERHEAD_BYTES = 256;

interface CachedRun extends Linked<CachedRun> {
  readonly segment: Segment;
  readonly run: IndexRun;
  /** No other row of the segment begins above the run's first offset and at or below this one. */
  knownTo: number;
}

export class IndexCache {
  readonly abortedRuns: AbortedRunCache;
  readonly #bytesMax: number;
  readonly #byUse = new UseOrder<CachedRun>();
  /** In order of offsets. */
  readonly #bySegment = new Map<Segment, CachedRun[]>();
  /** Changes with the database: what was asked before and answered after is not kept. */
  version = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.abortedRuns = new AbortedRunCache(Math.min(bytesMax, ABORTED_CACHE_BYTES_MAX));
  }

  /** The run that has the last entry at or below `offset`, when that can be told. */
  floor(segment: Segment, offset: number): IndexRun | undefined {
    const runs = this.#bySegment.get(segment);
    const cached = runs?.[countBelow(runs, offset) - 1];
    if (cached === undefined || offset > cached.knownTo) return undefined;
    this.#byUse.touch(cached);
    return cached.run;
  }

  /**
   * The database says that `run` has the last entry at or below `offset`.
   * @param version when it was asked
   */
  put(segment: Segment, run: IndexRun, offset: number, version: number): void {
    if (version !== this.version || this.#bytesMax === 0) return;
    const runs = this.#bySegment.get(segment) ?? [];
    const index = countBelow(runs, run.firstOffset);
    const before = runs[index - 1];
    if (before?.run.firstOffset === run.firstOffset && before.run.length === run.length) {
      before.knownTo = Math.max(before.knownTo, offset);
      return;
    }
    if (before?.run.firstOffset === run.firstOffset) this.#remove(before);
    const lastOffset = run.offsetAt(run.length - 1);
    const knownTo = Math.max(lastOffset, offset);
    const cached: CachedRun = { segment, run, knownTo, older: undefined, newer: undefined };
    runs.splice(countBelow(runs, run.firstOffset), 0, cached);
    this.#bySegment.set(segment, runs);
    this.#byUse.add(cached);
    this.#bytes += bytesOf(cached);
    while (this.#bytes > this.#bytesMax && this.#byUse.oldest !== undefined) this.#remove(this.#byUse.oldest);
  }

  /** Rows of the segment were added to the database. */
  grown(segment: Segment): void {
    this.version++;
    for (const cached of this.#bySegment.get(segment) ?? []) {
      cached.knownTo = cached.run.offsetAt(cached.run.length - 1);
    }
  }

  /** Rows of the segment were removed from the database. */
  drop(segment: Segment): void {
    this.version++;
    for (const cached of [...(this.#bySegment.get(segment) ?? [])]) this.#remove(cached);
  }

  #remove(cached: CachedRun): void {
    this.#byUse.remove(cached);
    this.#bytes -= bytesOf(cached);
    const runs = this.#bySegment.get(cached.segment) ?? [];
    runs.splice(runs.indexOf(cached), 1);
    if (runs.length === 0) this.#bySegment.delete(cached.segment);
  }
}

function bytesOf({ run }: CachedRun): number {
  return run.bytes.length + OVERHEAD_BYTES;
}

/** How many begin at or below `offset`. */
function countBelow(runs: readonly CachedRun[], offset: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (runs[middle]!.run.firstOffset <= offset)
      low = middle + 1; // middle is below the length
    else high = middle;
  }
  return low;
}
