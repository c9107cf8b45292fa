// A stretch of a segment's file in memory, beginning with a batch. Each batch is checked against its checksum before a
// reader gets it, once for all readers of the block: what was checked lies in this memory and is served from it, so
// nothing that the disk does afterwards can come between.
//
// The memory goes back to the pool when everybody has let go who holds the block: whoever loaded it, read-ahead, and
// each reader that got a range of it. A reader that never lets go leaves it to the garbage collector.
import type { AbortedTransaction } from './aborted-batches.ts';
import type { RecordRange } from './batch-cursor.ts';
import type { BufferPool } from './buffer-pool.ts';
import type { OpenFile } from './file-system.ts';
import {
  BATCH_FRAME_BYTES,
  type BatchVerdict,
  batchBaseOffsetAt,
  batchByteLengthAt,
  batchLastOffsetAt,
  looksLikeBatch,
  verifyBatch,
  viewOf,
} from './frame.ts';
import type { RangePlace, Segment } from './segment.ts';

export class FileBlock {
  readonly segment: Segment;
  /** In the file, of the block's first byte. */
  readonly position: number;
  readonly bytes: Buffer;
  /** What was read of the file; `bytes` may be longer. */
  readonly length: number;
  readonly #view: DataView;
  readonly #pool: BufferPool;
  /** Batches below it are good. */
  #checked = 0;
  #wholeEnd = -1;
  #holders = 1;

  private constructor(
    pool: BufferPool,
    segment: Segment,
    position: number,
    bytes: Buffer,
    view: DataView,
    length: number,
  ) {
    this.#pool = pool;
    this.segment = segment;
    this.position = position;
    this.bytes = bytes;
    this.length = length;
    this.#view = view;
  }

  /**
   * Reads what the segment has on disk from `position` on, which is below its end: up to `byteLength`, more when the
   * first batch is longer and `bytesMax` allows it. The caller holds the block.
   */
  static async load(
    pool: BufferPool,
    file: OpenFile,
    segment: Segment,
    position: number,
    byteLength: number,
    bytesMax: number,
  ): Promise<FileBlock> {
    const available = segment.flushedBytes - position;
    let length = Math.min(byteLength, available);
    let bytes = pool.take(length);
    await readWhole(file, bytes, length, position);
    let view = viewOf(bytes);
    if (length >= BATCH_FRAME_BYTES && looksLikeBatch(view, 0)) {
      const wanted = Math.min(batchByteLengthAt(view, 0), available);
      if (wanted > length && wanted <= bytesMax) {
        pool.giveBack(bytes);
        length = wanted;
        bytes = pool.take(length);
        await readWhole(file, bytes, length, position);
        view = viewOf(bytes);
      }
    }
    return new FileBlock(pool, segment, position, bytes, view, length);
  }

  /** Judges the batch at `at`. `short`: the block ends before it does. */
  check(at: number): BatchVerdict {
    if (at < this.#checked) return 'good';
    const verdict = verifyBatch(this.bytes, this.#view, at, this.length);
    if (verdict === 'good' && at === this.#checked) this.#checked = this.endOf(at);
    return verdict;
  }

  /** Of a good batch at `at`: its end in the block. */
  endOf(at: number): number {
    return at + batchByteLengthAt(this.#view, at);
  }

  baseOffsetAt(at: number): number {
    return batchBaseOffsetAt(this.#view, at);
  }

  lastOffsetAt(at: number): number {
    return batchLastOffsetAt(this.#view, at);
  }

  /** Length of the batch at `at` if that much can be told, else `otherwise`. */
  batchLengthAt(at: number, otherwise: number): number {
    const told = this.length - at >= BATCH_FRAME_BYTES && looksLikeBatch(this.#view, at);
    return told ? batchByteLengthAt(this.#view, at) : otherwise;
  }

  /** Where the batches end that lie whole in the block, as far as their lengths say. */
  get wholeEnd(): number {
    if (this.#wholeEnd >= 0) return this.#wholeEnd;
    let end = 0;
    while (this.length - end >= BATCH_FRAME_BYTES && looksLikeBatch(this.#view, end)) {
      const next = this.endOf(end);
      if (next > this.length) break;
      end = next;
    }
    this.#wholeEnd = end;
    return end;
  }

  /**
   * Good batches from the one at `start`, which is good, on: within `maxBytes`, but for the first, and all below
   * `bound`. Stops before a bad one: whoever reads on meets it first. The range holds the block.
   */
  rangeFrom(start: number, maxBytes: number, bound: number): FileRange {
    const view = this.#view;
    let end = this.endOf(start);
    let nextOffset = batchLastOffsetAt(view, start) + 1;
    while (this.length - end >= BATCH_FRAME_BYTES) {
      // Not judged yet: a frame that is damaged here can end the range early and nothing else.
      const batchEnd = this.endOf(end);
      const lastOffset = batchLastOffsetAt(view, end);
      if (lastOffset >= bound || batchEnd - start > maxBytes || this.check(end) !== 'good') break;
      end = batchEnd;
      nextOffset = lastOffset + 1;
    }
    this.hold();
    return new FileRange(this, start, end, nextOffset);
  }

  hold(): void {
    this.#holders++;
  }

  letGo(): void {
    this.#holders--;
    if (this.#holders === 0) this.#pool.giveBack(this.bytes);
  }
}

/** Part of a block, given to a reader. */
export class FileRange implements RecordRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly nextOffset: number;
  /** Where the range lies. */
  readonly segment: Segment;
  aborted: readonly AbortedTransaction[] | undefined = undefined;
  committedOnly: boolean | undefined = undefined;
  #block: FileBlock | undefined;

  constructor(block: FileBlock, start: number, end: number, nextOffset: number) {
    this.bytes = block.bytes;
    this.start = start;
    this.end = end;
    this.nextOffset = nextOffset;
    this.segment = block.segment;
    this.#block = block;
  }

  /** Until it is released. */
  get place(): RangePlace | undefined {
    return this.#block && { segment: this.segment, position: this.#block.position + this.start };
  }

  release(): void {
    this.#block?.letGo();
    this.#block = undefined;
  }
}

async function readWhole(file: OpenFile, into: Buffer, length: number, position: number): Promise<void> {
  const count = await file.read(into, 0, length, position);
  if (count < length) throw new Error(`the file ends at ${position + count}, before ${position + length}`);
}
