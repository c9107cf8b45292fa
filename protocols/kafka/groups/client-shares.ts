// How many groups the clients of each address have made since the start, so that one of them cannot make all that
// there can be. Groups from before the start are nobody's.

import type { GroupEntry } from './group-store.ts';

export class ClientShares {
  readonly #groupsMax: number;
  readonly #groups = new Map<string, number>();

  constructor(groupsMax: number) {
    this.#groupsMax = groupsMax;
  }

  hasRoom(client: string): boolean {
    return (this.#groups.get(client) ?? 0) < this.#groupsMax;
  }

  add(entry: GroupEntry, client: string): void {
    entry.madeBy = client;
    this.#groups.set(client, (this.#groups.get(client) ?? 0) + 1);
  }

  remove(entry: GroupEntry): void {
    if (entry.madeBy === undefined) return;
    const left = (this.#groups.get(entry.madeBy) ?? 0) - 1;
    if (left > 0) this.#groups.set(entry.madeBy, left);
    else this.#groups.delete(entry.madeBy);
    entry.madeBy = undefined;
  }
}
