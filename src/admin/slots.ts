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

/** Of a hub, whichever of its listeners is asked. */
export interface HubSlots {
  /** Reads of records at once: each holds up to 8 MiB, and a batch. */
  readonly reads: Slots;
  /** Each holds a batch until it is answered. */
  readonly singleReads: Slots;
  readonly tails: Slots;
  /** Bytes of all bodies that are being received or appended. */
  readonly bodies: Slots;
}

export function hubSlots(): HubSlots {
  return {
    reads: new Slots('reads of records', 16),
    singleReads: new Slots('reads of single records', 16),
    tails: new Slots('tails', 32),
    bodies: new Slots('bytes of records', 64 * 1024 * 1024),
  };
}
