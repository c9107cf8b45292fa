// How many connections each address has: one machine must not take all that there are.

/** Beyond the limit, connections of an address that may wait to be told so; more are closed unread. */
const TOLD_MAX = 8;

/** `told`: it is one too many, and may say CONNECT to hear that. */
export type AddressVerdict = 'let-in' | 'told' | 'closed';

export class AddressCounts {
  readonly #max: () => number;
  readonly #counts = new Map<string, number>();

  /** @param max asked each time; 0 = any number */
  constructor(max: () => number) {
    this.#max = max;
  }

  /** Unless it is closed, it counts until {@link remove}. */
  add(address: string): AddressVerdict {
    const max = this.#max();
    const count = this.#counts.get(address) ?? 0;
    if (max !== 0 && count >= max + TOLD_MAX) return 'closed';
    this.#counts.set(address, count + 1);
    return max === 0 || count < max ? 'let-in' : 'told';
  }

  /** One that was not closed is gone. */
  remove(address: string): void {
    const count = this.#counts.get(address) ?? 0;
    if (count > 1) this.#counts.set(address, count - 1);
    else this.#counts.delete(address);
  }
}
