// Records of several partitions as one sequence: by timestamp, then partition, then offset; within a partition always in
// the order of the log. Memory is bounded however many partitions there are: what lies furthest ahead is let go of, and
// read again when its turn comes.
import { mapConcurrently } from '../hub/concurrently.ts';
import type { ReadBudget, RecordSource } from './record-source.ts';

/** Partitions whose first records are looked for at once. */
const LOADS_AT_ONCE = 16;

export class RecordMerge {
  /** Those that stand on a record, as a binary heap: the first is the next. */
  readonly #heap: RecordSource[] = [];
  readonly #sources: readonly RecordSource[];
  readonly #budget: ReadBudget;
  readonly #heldBytesMax: number;
  /** Could not be looked at to its end: it may have what comes next. */
  #stoppedAt: RecordSource | undefined;

  constructor(sources: readonly RecordSource[], budget: ReadBudget, heldBytesMax: number) {
    this.#sources = sources;
    this.#budget = budget;
    this.#heldBytesMax = heldBytesMax;
  }

  /** Stands on the first record. @throws AdminError when a log cannot be read */
  async open(): Promise<void> {
    const begun = this.#sources.filter(({ state }) => state === 'between');
    await mapConcurrently(begun, LOADS_AT_ONCE, (source) => this.#load(source));
    for (const source of begun) {
      if (source.state !== 'record') continue;
      this.#heap.push(source);
      this.#rise(this.#heap.length - 1);
    }
    await this.#bringBack();
  }

  /** Whose record is next; it is in memory. Undefined at the end, and when the budget is used up. */
  get current(): RecordSource | undefined {
    return this.#stoppedAt === undefined ? this.#heap[0] : undefined;
  }

  /** Whether all has been given out. */
  get isDone(): boolean {
    return this.#sources.every(({ hasEnded }) => hasEnded);
  }

  /** Where each partition goes on that is not done. */
  get places(): { readonly partition: number; readonly from: number; readonly to: number }[] {
    return this.#sources
      .filter(({ hasEnded }) => !hasEnded)
      .map(({ partition, offset, end }) => ({ partition: partition.partition, from: offset, to: end }));
  }

  /** On to the next record. A promise when something has to be read for it. @throws AdminError, or rejects with it */
  next(): Promise<void> | undefined {
    const source = this.#heap[0];
    if (source === undefined) return undefined;
    if (!source.next()) return this.#readOn(source);
    this.#sink(0);
    return this.#heap[0]?.isLoaded === false ? this.#bringBack() : undefined;
  }

  /** The record is done with, and no other is looked for. */
  stop(): void {
    const source = this.#heap[0];
    source?.pass();
    this.#stoppedAt ??= source;
  }

  close(): void {
    for (const source of this.#sources) source.letGo();
    this.#heap.length = 0;
  }

  async #readOn(source: RecordSource): Promise<void> {
    await this.#load(source);
    if (source.state === 'record') this.#sink(0);
    else this.#removeFirst();
    await this.#bringBack();
  }

  /** The next record is read again, if it was let go of. */
  async #bringBack(): Promise<void> {
    for (let first = this.#heap[0]; first !== undefined && !first.isLoaded; first = this.#heap[0]) {
      await this.#load(first);
      // Retention may have taken it meanwhile: then another record stands there, or none.
      if (first.state === 'record') this.#sink(0);
      else this.#removeFirst();
    }
  }

  async #load(source: RecordSource): Promise<void> {
    await source.load();
    if (source.state === 'between') this.#stoppedAt ??= source;
    this.#trim(source);
  }

  /** Lets go of others, from the end of the heap on: those are late. Before there is an order, of any. */
  #trim(kept: RecordSource): void {
    const sources = this.#heap.length > 0 ? this.#heap : this.#sources;
    for (let index = sources.length - 1; index >= 0; index--) {
      if (this.#budget.heldBytes <= this.#heldBytesMax) return;
      const source = sources[index]!; // index is within
      if (source !== kept) source.letGo();
    }
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!isBefore(this.#heap[index]!, this.#heap[parent]!)) return; // both are within
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let first = index;
      if (left < this.#heap.length && isBefore(this.#heap[left]!, this.#heap[first]!)) first = left;
      if (right < this.#heap.length && isBefore(this.#heap[right]!, this.#heap[first]!)) first = right;
      if (first === index) return;
      this.#swap(index, first);
      index = first;
    }
  }

  #swap(one: number, other: number): void {
    const source = this.#heap[one]!; // both are within
    this.#heap[one] = this.#heap[other]!;
    this.#heap[other] = source;
  }
}

function isBefore(one: RecordSource, other: RecordSource): boolean {
  if (one.timestampMs !== other.timestampMs) return one.timestampMs < other.timestampMs;
  return one.partition.partition < other.partition.partition;
}
