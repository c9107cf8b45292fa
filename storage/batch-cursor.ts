// Steps through the batches and records of a range of log bytes by positions alone (see FORMAT.md for the bytes).

/** Whole batches in offset order. The bytes stay as they are for as long as the range is referenced. */
export interface RecordRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Where to read on: one past the last offset that the last batch covers; the offset asked for if empty. */
  readonly nextOffset: number;
}

/** Structurally the port's RecordCursor: −1 stands for null. Constructed once and reset onto ranges. */
export class BatchCursor {
  bytes: Buffer = Buffer.alloc(0);
  batchBaseOffset = -1;
  batchLastOffset = -1;
  batchRecordCount = 0;
  batchMaxTimestampMs = -1;
  batchFirstTimestampMs = -1;
  batchLeaderEpoch = -1;
  batchIsTransactional = false;
  batchIsControl = false;
  batchIsLogAppendTime = false;
  batchProducerId = -1;
  batchProducerEpoch = -1;
  batchBaseSequence = -1;
  batchByteLength = 0;
  offset = -1;
  timestampMs = -1;
  keyStart = -1;
  keyEnd = -1;
  valueStart = -1;
  valueEnd = -1;
  headerCount = 0;
  attributeCount = 0;
  nameStart = -1;
  nameEnd = -1;
  itemStart = -1;
  itemEnd = -1;

  reset(_range: RecordRange): void {}
  nextBatch(): boolean {
    return false;
  }
  nextRecord(): boolean {
    return false;
  }
  nextHeader(): boolean {
    return false;
  }
  rewindHeaders(): void {}
  nextAttribute(): boolean {
    return false;
  }
  rewindAttributes(): void {}
}
