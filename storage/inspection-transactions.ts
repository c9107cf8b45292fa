// Checks what the control batches of a log say of the transactions that they end against the batches before them: where
// each began, and up to where all others were over. Readers are told of aborted transactions by these numbers alone.
import type { Findings } from './inspection-findings.ts';
import type { CheckedBatch } from './inspection-segment.ts';

/** Of a log with more faults than that the first ones are told. */
const SUSPICIONS_MAX = 1000;

interface Suspicion {
  readonly path: string;
  readonly position: number;
  readonly offset: number;
  readonly message: string;
}

export class TransactionCheck {
  readonly #findings: Findings;
  /** First offsets of open transactions by producer, in offset order. */
  readonly #open = new Map<number, number>();
  readonly #suspicions: Suspicion[] = [];
  /** Below it nothing is left of the log: a transaction may have begun there. */
  #startOffset = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** The log's first batch is still to come. */
  startAt(offset: number): void {
    this.#startOffset = offset;
  }

  /** A good batch of the log. */
  note(path: string, batch: CheckedBatch): void {
    const { producerId, baseOffset, isControl, isTransactional } = batch;
    if (isControl) {
      this.#checkEnd(path, batch);
      this.#open.delete(producerId);
    } else if (isTransactional && !this.#open.has(producerId)) this.#open.set(producerId, baseOffset);
  }

  #checkEnd(path: string, { producerId, baseOffset, position, control }: CheckedBatch): void {
    if (control === undefined) return;
    const began = this.#open.get(producerId) ?? -1;
    const { firstOffset, stableOffset } = control;
    if (firstOffset !== began && !this.#isBelowStart(firstOffset)) {
      const says = firstOffset < 0 ? 'that none was open' : `that it began at ${firstOffset}`;
      const is = began < 0 ? 'none was open' : `it began at ${began}`;
      const message = `it ends a transaction of producer ${producerId} and says ${says}: ${is}`;
      this.#suspect({ path, position, offset: baseOffset, message });
    }
    const stable = this.#stableBeside(producerId) ?? baseOffset + 1;
    if (stableOffset !== stable && !this.#isBelowStart(stableOffset)) {
      const message = `the last stable offset behind it is said to be ${stableOffset}: it is ${stable}`;
      this.#suspect({ path, position, offset: baseOffset, message });
    }
  }

  #isBelowStart(offset: number): boolean {
    return offset >= 0 && offset < this.#startOffset;
  }

  #stableBeside(producerId: number): number | undefined {
    for (const [otherId, firstOffset] of this.#open) if (otherId !== producerId) return firstOffset;
    return undefined;
  }

  #suspect(suspicion: Suspicion): void {
    if (this.#suspicions.length < SUSPICIONS_MAX) this.#suspicions.push(suspicion);
  }

  /**
   * All batches have come.
   * @param hasAllBatches whether every batch from the start on was there: what compaction or damage has taken away cannot
   *   be told from what never was
   */
  finish(hasAllBatches: boolean): void {
    if (!hasAllBatches) return;
    for (const { message, ...place } of this.#suspicions) this.#findings.error('batch', place, message);
  }
}
