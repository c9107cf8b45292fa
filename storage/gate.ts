// Turns: a gate that lets few through at a time, so that what each takes (memory, a thread, a descriptor) is bounded.

/** Lets a few through at a time, in the order of asking. */
export class Gate {
  #free: number;
  /** A set, for it gives up its first as cheaply with thousands in it. */
  readonly #waiting = new Set<() => void>();

  constructor(width: number) {
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

  /** Whoever has entered leaves. */
  async enter(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  leave(): void {
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      next();
      return;
    }
    this.#free++;
  }
}

/** Lets whatever else is due have its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
