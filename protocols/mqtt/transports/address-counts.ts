// How many connections each address has: one machine must not take all that there are.

export class AddressCounts {
  readonly #max: () => number;
  readonly #counts = new Map<string, number>();

  /** @param max asked each time; 0 = any number */
  constructor(max: () => number) {
    this.#max = max;
  }

  /** False when the address has as many as it may. */
  add(address: string): boolean {
    const max = this.#max();
    const count = this.#counts.get(address) ?? 0;
    if (max !== 0 && count >= max) return false;
    this.#counts.set(address, count + 1);
    return true;
  }

  /** One that was let in is gone. */
  remove(address: string): void {
    const count = this.#counts.get(address) ?? 0;
    if (count > 1) this.#counts.set(address, count - 1);
    else this.#counts.delete(address);
  }
}
