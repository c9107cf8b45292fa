// A place in the log of the table for those who are sent much of what lies there: they read it from one end to the other,
// which costs a fraction of finding the messages one by one, where most of the log is current and memory does not have it
// all (scan-choice.ts).

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

  /** All below it in this partition has been read. A log that leads no further has lost its end, and is done with. */
  moveTo(offset: number): void {
    this.#offset = offset > this.#offset ? offset : Number.POSITIVE_INFINITY;
    this.#skipEnded();
  }

  #skipEnded(): void {
    while (!this.ended && this.#offset >= this.#ends[this.#partition]!) {
      this.#partition++;
      this.#offset = 0;
    }
  }
}
