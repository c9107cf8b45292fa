// Encodes a batch straight into a partition's open chunk (see FORMAT.md for the bytes).

/** What a batch says about itself besides its records. Structurally a part of the port's BatchOptions. */
export interface BatchOptions {
  /** Leader epoch that the caller believes in; absent = the log's own. */
  readonly leaderEpoch?: number;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly transactional?: boolean;
  readonly control?: boolean;
  readonly logAppendTime?: boolean;
  /** Upper bound of the encoded size in bytes: a hint, to find a chunk with enough room at once. */
  readonly byteLengthHint?: number;
}

/** Structurally the port's RecordWriter. */
export class BatchWriter {
  stage(_bytes: Uint8Array): number {
    throw new Error('not built');
  }
  get staged(): Uint8Array {
    throw new Error('not built');
  }
  get nextOffset(): number {
    throw new Error('not built');
  }
  startRecord(
    _timestampMs: number,
    _source: Uint8Array,
    _keyStart: number,
    _keyEnd: number,
    _headerCount: number,
  ): void {}
  header(
    _source: Uint8Array,
    _nameStart: number,
    _nameEnd: number,
    _valueStart: number,
    _valueEnd: number,
  ): void {}
  endRecord(
    _source: Uint8Array,
    _valueStart: number,
    _valueEnd: number,
    _attributes: Uint8Array | null,
  ): void {}
}
