// What compaction leaves for a Fetch: offsets whose records are gone, and batches without any. A reader must get on over
// them, however many they are, and an answer that has nothing but them is not worth waking it for: kafkajs does not move
// on such an answer, and would ask again at once.
import type { RecordCursor, RecordRange } from '../port.ts';
import type { BatchEncoder } from './records/batch-encoder.ts';

/** Stored bytes to read at a time while looking for the next record. */
export const SKIP_BYTES = 256 * 1024;
const OFFSET_DELTA_MAX = 0x7fff_ffff;

const NO_IDENTITY = {
  leaderEpoch: -1,
  isLogAppendTime: false,
  isTransactional: false,
  isControl: false,
  producerId: -1,
  producerEpoch: -1,
  baseSequence: -1,
};

/** Whether the range has a record at or above `fromOffset`. Nearly always the first batch says so. */
export function hasRecordFrom(cursor: RecordCursor, range: RecordRange, fromOffset: number): boolean {
  cursor.reset(range);
  while (cursor.nextBatch()) {
    if (cursor.batchLastOffset < fromOffset || cursor.batchRecordCount === 0) continue;
    if (cursor.batchBaseOffset >= fromOffset) return true;
    while (cursor.nextRecord()) {
      if (cursor.offset >= fromOffset) return true;
    }
  }
  return false;
}

/** A batch without records over the offsets from `fromOffset` to below `toOffset`: whoever reads it goes on behind it. */
export function encodeEmptyStretch(encoder: BatchEncoder, fromOffset: number, toOffset: number): void {
  encoder.startBatch(fromOffset);
  encoder.endBatch(Math.min(toOffset - 1, fromOffset + OFFSET_DELTA_MAX), NO_IDENTITY);
}
