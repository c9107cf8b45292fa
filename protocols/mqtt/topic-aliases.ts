// Aliases that stand for topic names on their way to one client (section 3.3.2.3.4): the first topics that it gets have
// one each, for as long as the connection lasts.

/** What a client may make us remember, whatever larger number it allows. */
const ALIASES_MAX = 256;

export class TopicAliases {
  readonly #aliases = new Map<string, number>();
  readonly #aliasesMax: number;

  /** @param allowed the client's Topic Alias Maximum. */
  constructor(allowed: number) {
    this.#aliasesMax = Math.min(allowed, ALIASES_MAX);
  }

  /** The topic's alias; 0 when it has none. */
  known(topic: string): number {
    return this.#aliases.get(topic) ?? 0;
  }

  /** An alias that a topic may be given; 0 when there is none left. */
  get next(): number {
    return this.#aliases.size < this.#aliasesMax ? this.#aliases.size + 1 : 0;
  }

  /** The client is told: the packet with both goes out. */
  give(topic: string): void {
    this.#aliases.set(topic, this.next);
  }
}
