// Turns: a gate that lets few through at a time, so that what each takes (memory, a thread, a descriptor) is bounded.
import { assert } from './errors.ts';

/** Lets a few through at a time, in the order of asking. */
export class Gate {
  readonly #width: number;
  #free: number;
  /** From `#first` on. */
  readonly #waiting: (() => void)[] = [];
  #first = 0;

  constructor(width: number) {
    this.#width = width;
    this.#free = width;
  }

  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Lets nobody through until the returned function is called, once. For a gate that nobody is within. */
  hold(): () => void {
    assert(
      this.#free === this.#width,
      `nobody is within a gate that is to be held: ${this.#width - this.#free} of ${this.#width} are`,
    );
    this.#free = 0;
    let isHeld = true;
    return () => {
      assert(isHeld, 'a gate that is let go of is held');
      isHeld = false;
      for (let each = 0; each < this.#width; each++) this.leave();
    };
  }

  /** Whoever has entered leaves. */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting[this.#first++];
    // Not one by one from the front, where thousands wait: each time all others would move up.
    if (2 * this.#first >= this.#waiting.length) {
      this.#waiting.splice(0, this.#first);
      this.#first = 0;
    }
    if (next === undefined) this.#free++;
    else next();
  }
}

/** Lets whatever else is due have its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
