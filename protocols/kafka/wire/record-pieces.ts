// Record batches in several pieces, one behind the other: what a Fetch answers with. A piece that is lent is written from
// where it lies, without a copy, and shared by all answers that have it.

/** Bytes that stay as they are while somebody holds them. Whoever is given one of these holds it. */
export interface LentBytes {
  readonly bytes: Buffer;
  /** @param mayBeReused false when the system may still read them: a write that failed */
  letGo(mayBeReused: boolean): void;
}

export class RecordPieces {
  readonly pieces: readonly (Buffer | LentBytes)[];
  readonly length: number;

  constructor(pieces: readonly (Buffer | LentBytes)[]) {
    this.pieces = pieces;
    let length = 0;
    for (const piece of pieces) length += (piece instanceof Uint8Array ? piece : piece.bytes).length;
    this.length = length;
  }
}
