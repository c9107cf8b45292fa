// A place in the log of the table for those who are sent most of what it holds: they read it from one end to the other,
// which costs a fraction of finding the messages one by one.

export class TableScan {
  readonly #ends: readonly number[];
  #partition = 0;
  #offset = 0;

  /** @param ends of the table's partitions when it begins: what comes later is for nobody who asked before */
  constructor(ends: readonly number[]) {
    this.#ends = ends;
    this.#skipEnded();
  }

  get ended(): boolean {
    return this.#partition >= this.#ends.length;
  }

  /** Of the table, where it reads on. */
  get partition(): number {
    return this.#partition;
  }

  get offset(): number {
    return this.#offset;
  }

  /** All below it in this partition has been read. */
  moveTo(offset: number): void {
    this.#offset = offset;
    this.#skipEnded();
  }

  #skipEnded(): void {
    while (!this.ended && this.#offset >= this.#ends[this.#partition]!) {
      this.#partition++;
      this.#offset = 0;
    }
  }
}
