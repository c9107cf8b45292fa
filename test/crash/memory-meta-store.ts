// A MetaStore in memory: what is applied stays, whatever is crashed. Each process has a view of its own, which does nothing
// once the process is dead.
import type { MetaStore, MetaTransaction, TransactResult } from '../../storage/index.ts';

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly revision: number;
}

export class MemoryMetaStore {
  readonly #entries = new Map<string, Entry>();
  readonly #counters = new Map<string, number>();
  #revision = 0;

  process(isAlive: () => boolean): MetaStore {
    const alive = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (!isAlive()) await new Promise(() => {});
    };
    return {
      revision: () => alive().then(() => this.#revision),
      get: (key) => alive().then(() => this.#entries.get(key)),
      list: (prefix) =>
        alive().then(() =>
          [...this.#entries.values()]
            .filter(({ key }) => key.startsWith(prefix))
            .sort((a, b) => (a.key < b.key ? -1 : 1)),
        ),
      transact: (transaction) => alive().then(() => this.#transact(transaction)),
      watch: () => ({ close: () => {} }),
      allocate: (counter, count) =>
        alive().then(() => {
          const first = this.#counters.get(counter) ?? 0;
          this.#counters.set(counter, first + count);
          return first;
        }),
      close: async () => {},
    };
  }

  #transact({ if: conditions = [], put = [], delete: deleted = [] }: MetaTransaction): TransactResult {
    for (const condition of conditions) {
      const revision = this.#entries.get(condition.key)?.revision;
      const holds = 'absent' in condition ? revision === undefined : revision === condition.revision;
      if (!holds) return { outcome: 'refused', key: condition.key };
    }
    const revision = ++this.#revision;
    for (const { key, value } of put)
      this.#entries.set(key, { key, value: JSON.parse(JSON.stringify(value)), revision });
    for (const key of deleted) this.#entries.delete(key);
    return { outcome: 'applied', revision };
  }
}
