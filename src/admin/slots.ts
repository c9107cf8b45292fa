// So much of something at once and no more: reads, tails, bytes of bodies. Whoever comes too late is told to come again.
import { AdminError } from './errors.ts';

export class Slots {
  readonly #what: string;
  readonly #max: number;
  #taken = 0;

  /** @param what for the message: "reads of records" */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Returns what gives it back, which may be called more than once. @throws AdminError too_many_requests */
  take(count = 1): () => void {
    if (this.#taken + count > this.#max) {
      throw new AdminError('too_many_requests', `there are too many ${this.#what} at once`, {
        hint: `at most ${this.#max}; try again when one has ended`,
      });
    }
    this.#taken += count;
    let isTaken = true;
    return () => {
      if (isTaken) this.#taken -= count;
      isTaken = false;
    };
  }
}
