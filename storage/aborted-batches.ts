// Whether batches are void, for whoever steps through them in offset order: it costs the same however many transactions
// were aborted.

/** The producer's batches from the first offset to the last, which is its control batch's, are void. */
export interface AbortedTransaction {
  readonly producerId: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
}

export class AbortedBatches {
  readonly #transactions: readonly AbortedTransaction[];
  #next = 0;
  /** Last offsets by producer id, of the transactions that began at or below where this stands. */
  readonly #lastOffsets = new Map<number, number>();

  /** @param transactions by first offset */
  constructor(transactions: readonly AbortedTransaction[]) {
    this.#transactions = transactions;
  }

  /** Of a transactional batch. Base offsets must not fall from call to call. */
  has(producerId: number, baseOffset: number): boolean {
    for (;;) {
      const next = this.#transactions[this.#next];
      if (next === undefined || next.firstOffset > baseOffset) break;
      this.#lastOffsets.set(next.producerId, next.lastOffset);
      this.#next++;
    }
    return (this.#lastOffsets.get(producerId) ?? -1) > baseOffset;
  }
}
