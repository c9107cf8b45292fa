// How many connections each address has, so that one of them cannot have all that a listener takes.

export class AddressCounts {
  readonly #connectionsMax: () => number;
  readonly #connections = new Map<string, number>();

  /** @param connectionsMax of one address, asked each time; 0 = any number */
  constructor(connectionsMax: () => number) {
    this.#connectionsMax = connectionsMax;
  }

  /** False when the address has as many as it may. */
  add(address: string): boolean {
    const connectionsMax = this.#connectionsMax();
    const connections = this.#connections.get(address) ?? 0;
    if (connectionsMax !== 0 && connections >= connectionsMax) return false;
    this.#connections.set(address, connections + 1);
    return true;
  }

  /** One that was let in is gone. */
  remove(address: string): void {
    const left = (this.#connections.get(address) ?? 0) - 1;
    if (left > 0) this.#connections.set(address, left);
    else this.#connections.delete(address);
  }
}
