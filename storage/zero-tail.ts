// Zeros at the end of a file: room that was made ahead of batches (segment-room.ts), or what a file system that has lost
// power leaves where nothing was written.
import type { OpenFile } from './file-system.ts';
import { SCAN_BYTES } from './limits.ts';

/** Behind the last byte between `from` and `end` that is not zero; `from` when there is none. */
export async function endOfBytes(file: OpenFile, from: number, end: number): Promise<number> {
  const block = Buffer.allocUnsafeSlow(Math.min(SCAN_BYTES, Math.max(0, end - from)));
  const zeros = Buffer.alloc(block.length);
  for (let blockEnd = end; blockEnd > from; ) {
    const start = Math.max(from, blockEnd - block.length);
    const count = await file.read(block, 0, blockEnd - start, start);
    let at = count;
    if (block.compare(zeros, 0, count, 0, count) !== 0) while (block[at - 1] === 0) at--;
    else at = 0;
    if (at > 0) return start + at;
    blockEnd = start;
  }
  return from;
}
