// The batches of one file for the offline tools: past damage too, which the hub never reads. Behind a damaged batch
// the next good one is looked for byte by byte.
import { BatchScan, FileEndsEarly } from './batch-scan.ts';
import type { FileSystem, OpenFile } from './file-system.ts';
import {
  BATCH_FRAME_BYTES,
  BATCH_MARK,
  BATCH_MARK_AT,
  BATCH_METADATA_BYTES,
  batchByteLengthAt,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  looksLikeBatch,
  viewOf,
} from './frame.ts';
import { SCAN_BYTES } from './limits.ts';
import { endOfBytes } from './zero-tail.ts';

/** A batch with a right checksum. The bytes are valid until the next one is asked for. */
export interface InspectedBatch {
  readonly kind: 'batch';
  /** In the file. */
  readonly position: number;
  readonly byteLength: number;
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Where it begins in `bytes`. */
  readonly at: number;
}

/** Bytes that are no batch that this program reads. */
export interface InspectedDamage {
  readonly kind: 'damage';
  readonly position: number;
  readonly byteLength: number;
  /** `newer`: whole, and of a later format; `room`: zeros to the end of the file, made ahead of batches to come. */
  readonly verdict: 'bad' | 'short' | 'newer' | 'room';
  /** Whether no good batch follows in the file. */
  readonly endsFile: boolean;
}

/**
 * All of a file's bytes in order, each in exactly one of what is yielded. A hub that runs may append to the file
 * meanwhile, where room was made ahead, and cut off such room: then it ends with the last batch that was whole.
 * @param size how many of its bytes count
 */
export async function* inspectBatches(
  fileSystem: FileSystem,
  path: string,
  size: number,
): AsyncGenerator<InspectedBatch | InspectedDamage, void, undefined> {
  const file = await fileSystem.open(path, 'read');
  try {
    let end = size;
    for (let position = 0; position < end; ) {
      const scan = new BatchScan(position, end);
      let verdict = await nextVerdict(scan, file);
      while (verdict === 'good') {
        const { bytes, view, at, byteLength } = scan;
        yield { kind: 'batch', position: scan.position, byteLength, bytes, view, at };
        verdict = await nextVerdict(scan, file);
      }
      if (verdict === 'end') return;
      if (verdict === 'shrunk') {
        end = await shrunkSize(fileSystem, path, end);
        position = scan.position + scan.byteLength;
        continue;
      }
      const damagedAt = scan.position;
      if ((await endOfBytes(file, damagedAt, end)) === damagedAt) {
        const byteLength = end - damagedAt;
        yield { kind: 'damage', position: damagedAt, byteLength, verdict: 'room', endsFile: true };
        return;
      }
      const again = await nextVerdict(new BatchScan(damagedAt, end), file);
      if (again === 'good' || again === 'shrunk') {
        position = damagedAt;
        continue;
      }
      // A batch that goes on behind what was the end of the file.
      if (again === 'short' && (await fileSystem.stat(path)).size > end) return;
      position = await nextBatchPosition(file, damagedAt + 1, end);
      const byteLength = position - damagedAt;
      yield { kind: 'damage', position: damagedAt, byteLength, verdict, endsFile: position === end };
    }
  } finally {
    await file.close();
  }
}

/** Where the batches of a file end that may have room behind them; `size` when it has none. */
export async function endWithoutRoom(fileSystem: FileSystem, path: string, size: number): Promise<number> {
  const file = await fileSystem.open(path, 'read');
  try {
    // A batch may end in zeros, too.
    if ((await endOfBytes(file, 0, size)) === size) return size;
  } finally {
    await file.close();
  }
  for await (const part of inspectBatches(fileSystem, path, size)) {
    if (part.kind === 'damage' && part.verdict === 'room') return part.position;
  }
  return size;
}

async function nextVerdict(
  scan: BatchScan,
  file: OpenFile,
): Promise<'end' | 'good' | 'bad' | 'short' | 'newer' | 'shrunk'> {
  for (;;) {
    const step = scan.step();
    if (step !== 'more') return step;
    try {
      await scan.load(file);
    } catch (error) {
      if (error instanceof FileEndsEarly) return 'shrunk';
      throw error;
    }
  }
}

/** @throws Error when it has not become smaller: then somebody has put another file in its place. */
async function shrunkSize(fileSystem: FileSystem, path: string, end: number): Promise<number> {
  const { size } = await fileSystem.stat(path);
  if (size < end) return size;
  throw new Error(`the file ended below ${end}, and is another one now`);
}

/** Where the next batch with a right checksum begins, of whatever format; `end` when there is none. */
async function nextBatchPosition(file: OpenFile, from: number, end: number): Promise<number> {
  const window = Buffer.allocUnsafeSlow(Math.min(SCAN_BYTES, end - from));
  const view = viewOf(window);
  for (let position = from; position + BATCH_FRAME_BYTES <= end; ) {
    const loaded = await file.read(window, 0, Math.min(window.length, end - position), position);
    const last = loaded - BATCH_FRAME_BYTES;
    if (last < 0) return end;
    for (let at = 0; at <= last; at++) {
      if (window[at + BATCH_MARK_AT] !== BATCH_MARK || !isBatchFrame(view, at, end - position - at)) continue;
      if (await hasGoodChecksum(file, position + at, end)) return position + at;
    }
    position += last + 1;
  }
  return end;
}

/** More than `looksLikeBatch`: what every version keeps, so that a search does not read gigabytes for chance bytes. */
function isBatchFrame(view: DataView, at: number, left: number): boolean {
  const metadataLength = view.getUint32(at + FRAME_METADATA_LEN_AT);
  return (
    looksLikeBatch(view, at) &&
    batchByteLengthAt(view, at) <= left &&
    metadataLength >= BATCH_METADATA_BYTES &&
    metadataLength === view.getUint32(at + FRAME_TOTAL_LEN_AT)
  );
}

async function hasGoodChecksum(file: OpenFile, position: number, end: number): Promise<boolean> {
  const verdict = await nextVerdict(new BatchScan(position, end, BATCH_FRAME_BYTES), file);
  return verdict === 'good' || verdict === 'newer';
}
