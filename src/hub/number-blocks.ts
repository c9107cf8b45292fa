// Numbers that are never given twice, whatever crashes: producer ids, the log ids of partitions. They are taken
// from a counter of the MetaStore in blocks, so that most of them cost nothing; a restart loses what is left of one.
import type { MetaStore } from '../../storage/index.ts';

export class NumberBlocks {
  readonly #metaStore: MetaStore;
  readonly #counter: string;
  readonly #blockSize: number;
  #next = 0;
  #end = 0;
  #refilling: Promise<void> | undefined;

  constructor(metaStore: MetaStore, counter: string, blockSize: number) {
    this.#metaStore = metaStore;
    this.#counter = counter;
    this.#blockSize = blockSize;
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

  /** As many numbers, in no order that means anything. */
  async allocateMany(count: number): Promise<readonly number[]> {
    const numbers: number[] = [];
    while (numbers.length < count) numbers.push(await this.allocate());
    return numbers;
  }

  async #refill(): Promise<void> {
    this.#next = await this.#metaStore.allocate(this.#counter, this.#blockSize);
    this.#end = this.#next + this.#blockSize;
  }
}
