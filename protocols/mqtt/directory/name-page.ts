// A page of names out of very many that are in no order: one look at each, and no more kept than the page takes.
import type { NamePage, NameQuery } from '../../port.ts';

export function pageOfNames(names: Iterable<string>, query: NameQuery): NamePage {
  const page = new Smallest(query.limit + 1);
  const isWanted = namesWanted(query);
  for (const name of names) if (isWanted(name)) page.add(name);
  const sorted = page.sorted();
  return { names: sorted.slice(0, query.limit), hasMore: sorted.length > query.limit };
}

/** Whether a name is behind the page before, and has what is searched for. */
export function namesWanted({ after, search }: NameQuery): (name: string) => boolean {
  const part = search?.toLowerCase();
  return (name) =>
    (after === undefined || name > after) && (part === undefined || name.toLowerCase().includes(part));
}

/** The smallest so many of the names that it is given, each once. */
export class Smallest {
  readonly #count: number;
  readonly #names = new Set<string>();
  /** None above it is one of the smallest. */
  #bound: string | undefined;

  constructor(count: number) {
    this.#count = count;
  }

  add(name: string): void {
    if (this.#bound !== undefined && name > this.#bound) return;
    this.#names.add(name);
    // Twice as many as are wanted before they are sorted: each name is sorted a few times, however many there are.
    if (this.#names.size >= this.#count * 2) this.#cut();
  }

  sorted(): string[] {
    this.#cut();
    return [...this.#names];
  }

  #cut(): void {
    const sorted = [...this.#names].sort(byCodeUnits);
    this.#names.clear();
    for (const name of sorted.slice(0, this.#count)) this.#names.add(name);
    if (sorted.length >= this.#count) this.#bound = sorted[this.#count - 1];
  }
}

export function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
