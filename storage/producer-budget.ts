// All producers that the logs of a store remember, in the order of their last use, so that memory has a bound and old
// ones are forgotten. A producer with an open transaction is not in the line: it is neither evicted nor does it expire.
import { StorageError } from './errors.ts';
import type { ProducerState } from './producer-state.ts';
import type { StoreCounters } from './store-counters.ts';
import { UseOrder } from './use-order.ts';

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
  readonly #line = new UseOrder<ProducerState>();
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
    if (this.#count < this.#producersMax || this.#line.oldest !== undefined) return;
    throw new StorageError('busy', `${this.#count} producers have open transactions`);
  }

  /** One more; the longest unused one may go for it. */
  add(state: ProducerState): void {
    this.#count++;
    this.#line.add(state);
    if (this.#count > this.#producersMax) this.#evict();
  }

  /** The same for what was in use in an earlier run. */
  addKnown(state: ProducerState): void {
    this.#isMixed = true;
    this.add(state);
  }

  /** It has just been used. */
  touch(state: ProducerState): void {
    // Of one in a transaction too it is undefined: that is not in the line.
    if (state.newer !== undefined) this.#line.touch(state);
  }

  /** Its transaction has begun: it stays until that has ended. */
  hold(state: ProducerState): void {
    this.#line.remove(state);
  }

  /** Its transaction has ended. */
  letGo(state: ProducerState): void {
    this.#line.add(state);
  }

  /** Its log has forgotten it. @param isHeld whether its transaction is open */
  remove(state: ProducerState, isHeld: boolean): void {
    this.#count--;
    if (!isHeld) this.#line.remove(state);
  }

  /** Forgets who wrote nothing for too long. Part of the store's maintenance. */
  expire(nowMs: number): void {
    this.#sort();
    for (const state of this.#line) {
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
    const state = this.#line.oldest;
    // The one that has just come in is not told to leave: then all others are in transactions.
    if (state === undefined || state === this.#line.newest) return;
    state.owner.forget(state);
    this.#counters.evictedProducers++;
  }

  #sort(): void {
    if (!this.#isMixed) return;
    this.#isMixed = false;
    const states = [...this.#line];
    states.sort((a, b) => a.usedAtMs - b.usedAtMs);
    this.#line.clear();
    for (const state of states) this.#line.add(state);
  }
}
