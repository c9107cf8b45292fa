// How many groups, or transactional ids, the clients of each address have made since the start, so that one of them
// cannot make all that there can be. What is from before the start is nobody's.

export interface Made {
  /** The address of the client that made it; undefined = nobody's. */
  madeBy: string | undefined;
}

export class ClientShares {
  readonly #entriesMax: () => number;
  readonly #entries = new Map<string, number>();

  /** @param entriesMax asked each time: it may change */
  constructor(entriesMax: () => number) {
    this.#entriesMax = entriesMax;
  }

  hasRoom(client: string): boolean {
    return (this.#entries.get(client) ?? 0) < this.#entriesMax();
  }

  add(entry: Made, client: string): void {
    entry.madeBy = client;
    this.#entries.set(client, (this.#entries.get(client) ?? 0) + 1);
  }

  remove(entry: Made): void {
    if (entry.madeBy === undefined) return;
    const left = (this.#entries.get(entry.madeBy) ?? 0) - 1;
    if (left > 0) this.#entries.set(entry.madeBy, left);
    else this.#entries.delete(entry.madeBy);
    entry.madeBy = undefined;
  }
}
