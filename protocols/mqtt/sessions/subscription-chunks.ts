// Which of a session's subscriptions share a record: a few dozen each, so that a client with ten thousand of them which makes
// another writes some kilobytes, and not all of them again.
import { SUBSCRIPTION_RECORDS_MAX } from './subscription-record.ts';

/** A record takes another subscription below both of these. */
const FILTERS_MAX = 64;
const FILTER_CHARACTERS_MAX = 8192;

interface Chunk {
  readonly filters: Set<string>;
  characters: number;
}

export class SubscriptionChunks {
  readonly #chunks = new Map<number, Chunk>();
  readonly #chunkOf = new Map<string, number>();
  /** Those that take another, and others. */
  readonly #open = new Set<number>();
  readonly #changed = new Set<number>();
  #next = 0;

  /** @param stored filters and the records that they are in */
  constructor(stored: ReadonlyMap<string, number>) {
    for (const [filter, number] of stored) this.#put(filter, number);
  }

  /** There from now on, or with other options. */
  set(filter: string): void {
    let number = this.#chunkOf.get(filter);
    if (number === undefined) {
      number = this.#firstOpen();
      this.#put(filter, number);
    }
    this.#changed.add(number);
  }

  delete(filter: string): void {
    const number = this.#chunkOf.get(filter);
    if (number === undefined) return;
    this.#chunkOf.delete(filter);
    this.#changed.add(number);
    const chunk = this.#chunks.get(number) as Chunk; // it has the filter
    chunk.filters.delete(filter);
    chunk.characters -= filter.length;
    this.#open.add(number);
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** The filters of each record that has changed since it was asked for last; none = the record goes. */
  takeChanged(): Map<number, readonly string[]> {
    const changed = new Map<number, readonly string[]>();
    for (const number of this.#changed) changed.set(number, [...(this.#chunks.get(number)?.filters ?? [])]);
    this.#changed.clear();
    return changed;
  }

  #put(filter: string, number: number): void {
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) {
      chunk = { filters: new Set(), characters: 0 };
      this.#chunks.set(number, chunk);
      this.#next = Math.max(this.#next, number + 1);
    }
    chunk.filters.add(filter);
    chunk.characters += filter.length;
    this.#chunkOf.set(filter, number);
    const isFull = chunk.filters.size >= FILTERS_MAX || chunk.characters >= FILTER_CHARACTERS_MAX;
    if (isFull) this.#open.delete(number);
    else this.#open.add(number);
  }

  #firstOpen(): number {
    for (const number of this.#open) return number;
    // As many as a client has subscriptions at most, and fewer.
    return Math.min(this.#next, SUBSCRIPTION_RECORDS_MAX - 1);
  }
}
