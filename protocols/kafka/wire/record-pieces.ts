// Record batches in several pieces, one behind the other: what a Fetch answers with.
import type { LastingBytes } from './lasting-bytes.ts';

export class RecordPieces {
  /** Written from where they lie, without a copy, and shared by all answers that have them. Whoever writes them lets go of them. */
  readonly lasting: readonly LastingBytes[];
  /** Behind them; copied when it is written. */
  readonly passing: Buffer;
  readonly length: number;

  constructor(lasting: readonly LastingBytes[], passing: Buffer) {
    this.lasting = lasting;
    this.passing = passing;
    this.length = lasting.reduce((sum, { bytes }) => sum + bytes.length, passing.length);
  }
}
