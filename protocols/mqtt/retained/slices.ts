// Work that may take long is done in slices: a slice ends after some milliseconds, and one begins in each turn of the event
// loop, whoever's it is. However many clients ask for a million messages, those who ask for nothing wait for one slice.
import type { Clock } from '../../port.ts';

/** A slice is over then … */
const SLICE_MS = 4;
/** … and so many may be waiting for the disk: more would keep writes from it. */
const BEGUN_MAX = 2;

export class Slices {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #startedMs = 0;
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it is one's turn: {@link end} is to be called. */
  begin(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  /** Whether enough has been done: of whoever works in this turn of the event loop. */
  get isOver(): boolean {
    return this.#clock.monotonic() - this.#startedMs >= SLICE_MS;
  }

  end(): void {
    this.#begun--;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0 || this.#begun >= BEGUN_MAX) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begun++;
      this.#startedMs = this.#clock.monotonic();
      next();
      this.#schedule();
    });
  }
}
