// What an opening makes of the newest file of a log, the only one that can be torn: it is checked batch by batch from the
// checkpoint on, or from its start. The first torn batch ends the log; what follows is kept aside and cut before
// anything is appended; what is kept is written again and flushed before the log counts as open, since a killed process
// leaves bytes that are in memory only, even behind a flush.
import { join } from 'node:path';
import { BatchScan } from './batch-scan.ts';
import { errorCodeOf, StorageError } from './errors.ts';
import { cutFileName, segmentFileName } from './file-names.ts';
import type { OpenFile } from './file-system.ts';
import { BATCH_LEADER_EPOCH_AT, batchBaseOffsetAt, batchLastOffsetAt, verifyBatch, viewOf } from './frame.ts';
import { CUT_ZEROS_MAX, DAMAGE_SEARCH_BYTES_MAX, SCAN_BYTES, UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { RecoveryCheckpoint } from './manifest.ts';
import { OffsetIndex } from './offset-index.ts';
import type { ProducerRecovery, SegmentFile } from './producer-recovery.ts';
import { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { endOfBytes } from './zero-tail.ts';

export interface TailVerdict {
  readonly byteSize: number;
  readonly endOffset: number;
  readonly corrupt: StorageError | undefined;
}

/** A place in a file: what begins at `position` begins at `offset`. */
interface Place {
  readonly position: number;
  readonly offset: number;
}

export interface NewestFile {
  readonly directory: string;
  readonly logId: number;
  readonly file: SegmentFile;
  readonly checkpoint: RecoveryCheckpoint | undefined;
  /** What an opening of this process that failed flushed of the file: what lies behind is cut. */
  readonly flushedBytes: number | undefined;
  /** Bytes below this offset were on disk once; a bad batch there is damage and not a torn write. */
  readonly provenOffset: number;
}

export async function recoverNewest(
  parts: StoreParts,
  newest: NewestFile,
  producers: ProducerRecovery,
): Promise<TailVerdict> {
  const { directory, file, checkpoint, flushedBytes, provenOffset } = newest;
  const path = join(directory, file.name);
  const claimed = startOfScan(file, checkpoint);
  const end = Math.min(flushedBytes ?? file.byteSize, file.byteSize);
  if (claimed.position === file.byteSize) {
    return { byteSize: file.byteSize, endOffset: claimed.offset, corrupt: undefined };
  }
  const handle = await parts.fileSystem.open(path, 'write');
  try {
    let start = claimed;
    let scan = new BatchScan(Math.min(start.position, end), end);
    let offset = await scanBatches(handle, scan, file, start.offset, producers);
    const isTold = offset > claimed.offset || (await isProven(parts, newest, handle, end));
    if (!isTold) {
      scan = new BatchScan(0, end);
      offset = await scanBatches(handle, scan, file, file.baseOffset, producers);
      if (offset !== claimed.offset || scan.position + scan.byteLength !== claimed.position) {
        start = startOf(file);
        producers.distrust();
      }
    }
    const byteSize = scan.position + scan.byteLength;
    parts.counters.recoveredBytes += byteSize - start.position;
    if (
      byteSize < end &&
      offset < provenOffset &&
      (await goodBatchFollows(handle, byteSize, file, offset, provenOffset))
    ) {
      const message = `${path} is damaged at byte ${byteSize}, offset ${offset}: the partition can be read up to there only`;
      parts.log.error('log.damaged', { path, position: byteSize, offset });
      return { byteSize, endOffset: offset, corrupt: new StorageError('corrupt', message) };
    }
    if (byteSize < file.byteSize) await cutTail(parts, newest, handle, { position: byteSize, offset });
    // No more than that was written behind the last flush that went well, or one batch that is larger.
    const doubtful = Math.min(scan.position, byteSize - UNFLUSHED_LOG_BYTES_MAX);
    await writeAgain(parts, path, handle, Math.max(start.position, doubtful), byteSize);
    await handle.datasync();
    return { byteSize, endOffset: offset, corrupt: undefined };
  } finally {
    await handle.close();
  }
}

/** The checkpoint counts when it names the newest segment and lies within it. */
export function startOfScan(file: SegmentFile, checkpoint: RecoveryCheckpoint | undefined): Place {
  if (
    checkpoint !== undefined &&
    checkpoint.segmentBase === file.baseOffset &&
    checkpoint.bytePosition <= file.byteSize &&
    checkpoint.logEndOffset >= file.baseOffset
  ) {
    return { position: checkpoint.bytePosition, offset: checkpoint.logEndOffset };
  }
  return startOf(file);
}

function startOf({ baseOffset }: SegmentFile): Place {
  return { position: 0, offset: baseOffset };
}

/**
 * No good batch lies where the checkpoint says that one may. Either what was written first behind it is torn, or the
 * checkpoint is wrong: of the file as it was before somebody replaced it, or of a version that wrote no checksum.
 * Believed, a wrong one would cost the records behind it. It is right when batches end exactly there, and it takes few
 * to see that: those from the last index entry before it on. False when that shows nothing, or no entry helps: a scan of
 * the whole file tells then.
 */
async function isProven(
  parts: StoreParts,
  { directory, logId, file, checkpoint }: NewestFile,
  handle: OpenFile,
  end: number,
): Promise<boolean> {
  const { position, offset } = startOfScan(file, checkpoint);
  if (position === 0) return offset === file.baseOffset;
  if (position > end) return false;
  const segment = new Segment(directory, file.leaderEpoch, file.baseOffset);
  const entry = await new OffsetIndex(parts.index, logId)
    .floor(segment, offset - 1)
    .catch((error: unknown) => {
      parts.log.warn('log.index-not-read', { directory, error });
      return undefined;
    });
  if (entry === undefined || entry.position >= position) return false;
  const scan = new BatchScan(entry.position, position);
  const reached = await scanBatches(handle, scan, file, entry.offset, undefined);
  return reached === offset && scan.position + scan.byteLength === position;
}

/**
 * Scans good batches of the file's epoch, each where the last one ended or, after compaction, above; returns the offset
 * behind them. `scan` stands on the last.
 */
async function scanBatches(
  handle: OpenFile,
  scan: BatchScan,
  file: SegmentFile,
  startOffset: number,
  producers: ProducerRecovery | undefined,
): Promise<number> {
  let offset = startOffset;
  for (;;) {
    const step = scan.step();
    if (step === 'more') {
      await scan.load(handle);
      continue;
    }
    if (step === 'newer') {
      throw new StorageError('format', `${file.name} was written in a newer format than this version reads`);
    }
    if (step !== 'good') return offset;
    const { view, at } = scan;
    const fits =
      batchBaseOffsetAt(view, at) >= offset &&
      view.getUint32(at + BATCH_LEADER_EPOCH_AT) === file.leaderEpoch;
    if (!fits) {
      scan.byteLength = 0;
      return offset;
    }
    producers?.note(view, at);
    offset = batchLastOffsetAt(view, at) + 1;
  }
}

/** Whether a good batch below `provenOffset` lies behind the bad one: then it is not the end that was torn. */
async function goodBatchFollows(
  handle: OpenFile,
  position: number,
  file: SegmentFile,
  offset: number,
  provenOffset: number,
): Promise<boolean> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(file.byteSize - position, DAMAGE_SEARCH_BYTES_MAX));
  const loaded = await handle.read(bytes, 0, bytes.length, position);
  const view = viewOf(bytes);
  for (let at = 1; at < loaded; at++) {
    if (verifyBatch(bytes, view, at, loaded) !== 'good') continue;
    const base = batchBaseOffsetAt(view, at);
    return base > offset && base < provenOffset;
  }
  return false;
}

/**
 * Copies what is cut beside the segment, then cuts. A copy that fails (a full disk) does not keep the log shut. Zeros at
 * the end of it are nothing: room that was made ahead.
 */
async function cutTail(
  parts: StoreParts,
  { directory, file, provenOffset }: NewestFile,
  handle: OpenFile,
  { position, offset }: Place,
): Promise<void> {
  const bytesEnd = await endOfBytes(handle, position, file.byteSize);
  const isRoom = bytesEnd === position && offset >= provenOffset;
  const cutBytes = isRoom ? 0 : Math.min(bytesEnd + CUT_ZEROS_MAX, file.byteSize) - position;
  const name = cutFileName(segmentFileName(file.leaderEpoch, file.baseOffset), position);
  let keptAs: string | undefined = name;
  try {
    if (!isRoom) await keepAside(parts, join(directory, name), handle, position, cutBytes);
  } catch (error) {
    keptAs = undefined;
    parts.log.error('log.cut-not-kept', { path: join(directory, name), error });
  }
  await handle.truncate(position);
  await handle.datasync();
  if (isRoom) return;
  await parts.fileSystem.syncDirectory(directory);
  parts.counters.cutBytes += cutBytes;
  parts.log.warn('log.tail-cut', {
    directory,
    segment: file.name,
    position,
    cutBytes,
    logEndOffset: offset,
    keptAs,
  });
}

/**
 * When a flush failed, and the process ended before it had taken back what it wrote, the bytes are in memory alone and
 * no later flush writes them: the system believes that it has. What is written anew is flushed anew.
 */
async function writeAgain(
  parts: StoreParts,
  path: string,
  handle: OpenFile,
  from: number,
  end: number,
): Promise<void> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(end - from, SCAN_BYTES));
  try {
    for (let position = from; position < end; ) {
      const count = await handle.read(bytes, 0, Math.min(bytes.length, end - position), position);
      if (count === 0) return;
      await handle.write(bytes, 0, count, position);
      position += count;
    }
  } catch (error) {
    // A file system that never overwrites in place may have no room for it; a full disk must not keep a log shut.
    if (errorCodeOf(error) !== 'ENOSPC') throw error;
    parts.log.warn('log.not-written-again', { path, position: from, error });
  }
}

/** Copies `length` bytes from `position` on into a new file, durably but for its name. */
export async function keepAside(
  parts: Pick<StoreParts, 'fileSystem'>,
  path: string,
  handle: OpenFile,
  position: number,
  length: number,
): Promise<void> {
  // A crash between the copy and the cut leaves the same bytes here.
  await parts.fileSystem.unlink(path).catch(() => {});
  const copy = await parts.fileSystem.open(path, 'create');
  try {
    const bytes = Buffer.allocUnsafeSlow(Math.min(length, SCAN_BYTES));
    for (let done = 0; done < length; ) {
      const count = await handle.read(bytes, 0, Math.min(bytes.length, length - done), position + done);
      if (count === 0) break;
      await copy.write(bytes, 0, count, done);
      done += count;
    }
    await copy.datasync();
  } finally {
    await copy.close();
  }
}
