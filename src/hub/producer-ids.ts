// Producer ids: taken from the MetaStore in blocks, so that none is ever given twice, whatever crashes.
import type { MetaStore } from '../../storage/index.ts';
import { PRODUCER_ID_BLOCK } from './limits.ts';

const COUNTER = 'producer-id';

export class ProducerIds {
  readonly #metaStore: MetaStore;
  #next = 0;
  #end = 0;
  #refilling: Promise<void> | undefined;

  constructor(metaStore: MetaStore) {
    this.#metaStore = metaStore;
  }

  /** Rejects with StorageError when no block can be had. */
  async allocate(): Promise<number> {
    while (this.#next === this.#end) {
      this.#refilling ??= this.#refill().finally(() => {
        this.#refilling = undefined;
      });
      await this.#refilling;
    }
    return this.#next++;
  }

  async #refill(): Promise<void> {
    this.#next = await this.#metaStore.allocate(COUNTER, PRODUCER_ID_BLOCK);
    this.#end = this.#next + PRODUCER_ID_BLOCK;
  }
}
