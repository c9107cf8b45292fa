// All producers that the logs of a store remember, in the order of their last use, so that memory has a bound and old
// ones are forgotten. A producer with an open transaction is not in the line: it is neither evicted nor does it expire.
import { StorageError } from './errors.ts';
import type { ProducerState } from './producer-state.ts';
import type { StoreCounters } from './store-counters.ts';

export interface ProducerBudgetOptions {
  readonly producersMax: number;
  /** A producer that wrote nothing for so long is forgotten (Kafka's producer.id.expiration.ms). */
  readonly expirationMs: number;
  readonly counters: StoreCounters;
}

export class ProducerBudget {
  readonly expirationMs: number;
  readonly #producersMax: number;
  readonly #counters: StoreCounters;
  /** Ends of the line; the links are in the producers. */
  #oldest: ProducerState | undefined;
  #newest: ProducerState | undefined;
  #count = 0;
  /** Producers came in from snapshots: each log's in order, but not among each other. */
  #isMixed = false;

  constructor(options: ProducerBudgetOptions) {
    this.expirationMs = options.expirationMs;
    this.#producersMax = options.producersMax;
    this.#counters = options.counters;
  }

  /** Producers remembered, with those in a transaction. */
  get count(): number {
    return this.#count;
  }

  /** Before a new producer writes. @throws StorageError busy when there is no room and none can be made */
  refuseUnlessRoom(): void {
    if (this.#count < this.#producersMax || this.#oldest !== undefined) return;
    throw new StorageError('busy', `${this.#count} producers have open transactions`);
  }

  /** One more; the longest unused one may go for it. */
  add(state: ProducerState): void {
    this.#count++;
    this.#link(state);
    if (this.#count > this.#producersMax) this.#evict();
  }

  /** The same for what was in use in an earlier run. */
  addKnown(state: ProducerState): void {
    this.#isMixed = true;
    this.add(state);
  }

  /** It has just been used. */
  touch(state: ProducerState): void {
    if (state.newer === undefined) return;
    this.#unlink(state);
    this.#link(state);
  }

  /** Its transaction has begun: it stays until that has ended. */
  hold(state: ProducerState): void {
    this.#unlink(state);
  }

  /** Its transaction has ended. */
  letGo(state: ProducerState): void {
    this.#link(state);
  }

  /** Its log has forgotten it. @param isHeld whether its transaction is open */
  remove(state: ProducerState, isHeld: boolean): void {
    this.#count--;
    if (!isHeld) this.#unlink(state);
  }

  /** Forgets who wrote nothing for too long. Part of the store's maintenance. */
  expire(nowMs: number): void {
    this.#sort();
    for (let state = this.#oldest; state !== undefined; state = this.#oldest) {
      if (!this.isExpired(state, nowMs)) return;
      state.owner.forget(state);
    }
  }

  /** A wall clock that went back makes nobody old. */
  isExpired({ usedAtMs }: { readonly usedAtMs: number }, nowMs: number): boolean {
    return nowMs - usedAtMs >= this.expirationMs;
  }

  /** While the line is mixed it may be another's turn than that of the very oldest. */
  #evict(): void {
    const state = this.#oldest;
    // The one that has just come in is not told to leave: then all others are in transactions.
    if (state === undefined || state === this.#newest) return;
    state.owner.forget(state);
    this.#counters.evictedProducers++;
  }

  #link(state: ProducerState): void {
    state.older = this.#newest;
    state.newer = undefined;
    if (this.#newest === undefined) this.#oldest = state;
    else this.#newest.newer = state;
    this.#newest = state;
  }

  #unlink(state: ProducerState): void {
    const { older, newer } = state;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    state.older = undefined;
    state.newer = undefined;
  }

  #sort(): void {
    if (!this.#isMixed) return;
    this.#isMixed = false;
    const states: ProducerState[] = [];
    for (let state = this.#oldest; state !== undefined; state = state.newer) states.push(state);
    states.sort((a, b) => a.usedAtMs - b.usedAtMs);
    this.#oldest = undefined;
    this.#newest = undefined;
    for (const state of states) this.#link(state);
  }
}
