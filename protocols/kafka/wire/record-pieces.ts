// Record batches in several pieces, one behind the other: what a Fetch answers with.

export class RecordPieces {
  /** Bytes that never change again: written from where they lie, without a copy, and shared by all answers that have them. */
  readonly lasting: readonly Buffer[];
  /** Behind them; copied when it is written. */
  readonly passing: Buffer;
  readonly length: number;

  constructor(lasting: readonly Buffer[], passing: Buffer) {
    this.lasting = lasting;
    this.passing = passing;
    this.length = lasting.reduce((sum, { length }) => sum + length, passing.length);
  }
}
