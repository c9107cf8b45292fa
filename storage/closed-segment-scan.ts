// Steps through a closed segment batch by batch with a cursor, for compaction. What stands there has been flushed and
// checked once: anything but good batches of the segment's epoch is damage.
import { BatchCursor, type RecordRange } from './batch-cursor.ts';
import { BatchScan } from './batch-scan.ts';
import { StorageError } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import { BATCH_LEADER_EPOCH_AT, batchBaseOffsetAt } from './frame.ts';
import type { Segment } from './segment.ts';

/** One range for all batches, not one each. */
type Writable<Range> = { -readonly [Field in keyof Range]: Range[Field] };

const NO_BYTES: Buffer = Buffer.alloc(0);

export class ClosedSegmentScan {
  /** Stands on the batch that `step` found; its positions are in `view`. */
  readonly cursor = new BatchCursor();
  readonly #segment: Segment;
  readonly #scan: BatchScan;
  readonly #range: Writable<RecordRange> = { bytes: NO_BYTES, start: 0, end: 0, nextOffset: 0 };
  #takenTo = 0;

  constructor(segment: Segment) {
    this.#segment = segment;
    this.#scan = new BatchScan(0, segment.flushedBytes);
  }

  get view(): DataView {
    return this.#scan.view;
  }

  /** `more`: call `load` and step again. @throws StorageError corrupt */
  step(): 'batch' | 'more' | 'end' {
    const scan = this.#scan;
    const step = scan.step();
    if (step === 'more' || step === 'end') return step;
    const { view, at, position } = scan;
    // What lies behind the offset where the next segment begins does not count.
    if (step === 'good' && batchBaseOffsetAt(view, at) >= this.#segment.endOffset) return 'end';
    if (step !== 'good' || view.getUint32(at + BATCH_LEADER_EPOCH_AT) !== this.#segment.leaderEpoch) {
      throw new StorageError('corrupt', `${this.#segment.path}: the batch at byte ${position} is damaged`);
    }
    const range = this.#range;
    range.bytes = scan.bytes;
    range.start = at;
    range.end = at + scan.byteLength;
    this.cursor.reset(range);
    this.cursor.nextBatch();
    return 'batch';
  }

  async load(file: OpenFile): Promise<void> {
    await this.#scan.load(file);
  }

  /** Bytes stepped over since the last call. */
  takeBytes(): number {
    const position = this.#scan.position + this.#scan.byteLength;
    const bytes = position - this.#takenTo;
    this.#takenTo = position;
    return bytes;
  }
}
