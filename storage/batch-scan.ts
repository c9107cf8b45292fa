// Steps through a file batch by batch, judging each: for recovery, for indexing anew, and to find the batch that
// holds an offset. `step` is synchronous and asks for more bytes when it has not enough, so that small batches cost
// no promise each.

import type { OpenFile } from './file-system.ts';
import {
  BATCH_FRAME_BYTES,
  type BatchVerdict,
  batchByteLengthAt,
  looksLikeBatch,
  verifyBatch,
  viewOf,
} from './frame.ts';
import { SCAN_BYTES } from './limits.ts';

/** `end`: nothing is left. `more`: call `load` and step again. Else the verdict on the batch at `position`. */
export type ScanStep = 'end' | 'more' | BatchVerdict;

/** The file has fewer bytes than whoever scans it was told. */
export class FileEndsEarly extends Error {}

export class BatchScan {
  /** The batch that `step` judged: its file position, and where it lies in `bytes`. */
  position: number;
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = viewOf(this.bytes);
  at = 0;
  byteLength = 0;
  readonly #end: number;
  readonly #readBytes: number;
  /** File position of `bytes[0]`, and how many of its bytes count. */
  #bytesPosition: number;
  #loaded = 0;
  #wanted = 0;

  /** @param end file position that counts as the end; @param readBytes how much to read at a time */
  constructor(start: number, end: number, readBytes = SCAN_BYTES) {
    this.position = start;
    this.#bytesPosition = start;
    this.#end = end;
    this.#readBytes = readBytes;
  }

  /** Judges the batch behind the last good one. After anything but `good` and `more` there is no next step. */
  step(): ScanStep {
    const position = this.position + this.byteLength;
    const left = this.#end - position;
    if (left === 0) return 'end';
    const at = position - this.#bytesPosition;
    const loaded = this.#loaded - at;
    if (loaded < Math.min(BATCH_FRAME_BYTES, left)) return this.#want(Math.min(BATCH_FRAME_BYTES, left));
    if (left >= BATCH_FRAME_BYTES && looksLikeBatch(this.view, at)) {
      const whole = Math.min(batchByteLengthAt(this.view, at), left);
      if (loaded < whole) return this.#want(whole);
    }
    const verdict = verifyBatch(this.bytes, this.view, at, this.#loaded);
    this.position = position;
    this.at = at;
    this.byteLength = verdict === 'good' ? batchByteLengthAt(this.view, at) : 0;
    return verdict;
  }

  /** Reads on, from the batch that `step` could not judge. Earlier bytes are gone. */
  async load(file: OpenFile): Promise<void> {
    const position = this.position + this.byteLength;
    const length = Math.min(Math.max(this.#wanted, this.#readBytes), this.#end - position);
    if (length > this.bytes.length) {
      this.bytes = Buffer.allocUnsafeSlow(length);
      this.view = viewOf(this.bytes);
    }
    this.#loaded = await file.read(this.bytes, 0, length, position);
    this.#bytesPosition = position;
    if (this.#loaded < this.#wanted) {
      throw new FileEndsEarly(`the file ends at ${position + this.#loaded}, not at ${this.#end}`);
    }
  }

  #want(bytes: number): 'more' {
    this.#wanted = bytes;
    return 'more';
  }
}
