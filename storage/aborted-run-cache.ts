// Rows of aborted transactions that were looked at lately, of all logs, within one bound. What a closed segment's row
// says never changes, and a segment that takes its place is another one: so nothing ever has to be dropped.
import type { Segment } from './segment.ts';
import type { AbortedRun } from './segment-transactions.ts';
import { type Linked, UseOrder } from './use-order.ts';

/** What an entry takes besides the row's bytes. */
const OVERHEAD_BYTES = 256;

interface CachedRun extends Linked<CachedRun> {
  readonly segment: Segment;
  readonly number: number;
  readonly run: AbortedRun;
}

export class AbortedRunCache {
  readonly #bytesMax: number;
  readonly #byUse = new UseOrder<CachedRun>();
  readonly #bySegment = new WeakMap<Segment, Map<number, CachedRun>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(segment: Segment, number: number): AbortedRun | undefined {
    const cached = this.#bySegment.get(segment)?.get(number);
    if (cached === undefined) return undefined;
    this.#byUse.touch(cached);
    return cached.run;
  }

  put(segment: Segment, number: number, run: AbortedRun): void {
    const runs = this.#bySegment.get(segment) ?? new Map<number, CachedRun>();
    if (runs.has(number)) return;
    const added: CachedRun = { segment, number, run, older: undefined, newer: undefined };
    runs.set(number, added);
    this.#bySegment.set(segment, runs);
    this.#byUse.add(added);
    this.#bytes += bytesOf(added);
    while (this.#bytes > this.#bytesMax) {
      const { oldest } = this.#byUse;
      if (oldest === undefined) return;
      this.#byUse.remove(oldest);
      this.#bytes -= bytesOf(oldest);
      this.#bySegment.get(oldest.segment)?.delete(oldest.number);
    }
  }
}

function bytesOf({ run }: CachedRun): number {
  return run.bytes.length + OVERHEAD_BYTES;
}
