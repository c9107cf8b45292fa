// Opens what an earlier run left of a partition. The log is the truth. Older segments were on disk before their
// successor had a name, so only the newest can be torn: it is checked batch by batch from the checkpoint on, or from
// its start. The first torn batch ends the log; what follows is kept aside and cut before anything is appended; what
// is kept is written again and flushed before the log counts as open, since a killed process leaves bytes that are in
// memory only, even behind a flush.
import { join } from 'node:path';
import { BatchScan } from './batch-scan.ts';
import { errorCodeOf, StorageError } from './errors.ts';
import {
  CHECKPOINT_FILE,
  cutFileName,
  MANIFEST_FILE,
  parseSegmentFileName,
  segmentFileName,
} from './file-names.ts';
import type { OpenFile } from './file-system.ts';
import { BATCH_LEADER_EPOCH_AT, batchBaseOffsetAt, batchLastOffsetAt, verifyBatch, viewOf } from './frame.ts';
import { removeBelowStart, removeCompacting, removeOldCuts } from './leftovers.ts';
import { DAMAGE_SEARCH_BYTES_MAX, SCAN_BYTES } from './limits.ts';
import { type Manifest, type RecoveryCheckpoint, readCheckpoint, readManifest } from './manifest.ts';
import { ProducerRecovery, type SegmentFile } from './producer-recovery.ts';
import type { ProducerStates } from './producer-states.ts';
import { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';

export interface RecoveredLog {
  readonly segments: readonly Segment[];
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly manifest: Manifest | undefined;
  /** Whether the next opening would have nothing to scan as it is. */
  readonly checkpointAtEnd: boolean;
  /** Set when bytes that were on disk have changed: the log ends before them and takes no appends. */
  readonly corrupt: StorageError | undefined;
  /** Of the log's producers; undefined when it has none. */
  readonly producers: ProducerStates | undefined;
  /** The log had to be read for them: a checkpoint soon spares the next opening that. */
  readonly producersRebuilt: boolean;
}

/** How an earlier opening of the log in this process ended, when a write or a flush of it failed. */
export interface LogFailure {
  /**
   * Bytes that were flushed of the segment with a base offset, once all is settled. What lies behind may be in memory only, whatever a later
   * flush says, and was never acknowledged: it is cut.
   */
  readonly flushedBytesOf: (baseOffset: number) => number | undefined;
  /** Whether the file system has answered everything: what still hangs may yet write. */
  readonly isSettled: () => boolean;
  /** The log's files are deleted: whatever still comes back leaves alone what has their names by then. */
  readonly abandon: () => void;
}

/**
 * @param names in the partition's directory
 * @param leaderEpoch of the opening; below what is on disk it is refused before anything is changed
 * @param failure of the last opening in this process
 * @throws StorageError fenced-epoch, format, corrupt, io
 */
export async function recoverLog(
  parts: StoreParts,
  directory: string,
  names: readonly string[],
  leaderEpoch: number,
  failure: LogFailure | undefined,
): Promise<RecoveredLog> {
  const { fileSystem, log } = parts;
  const manifest = names.includes(MANIFEST_FILE) ? await readManifest(fileSystem, directory) : undefined;
  if (manifest === undefined && names.includes(MANIFEST_FILE)) {
    log.warn('log.manifest-damaged', { directory, lost: 'where the log started, if that was moved' });
  }
  const checkpoint = names.includes(CHECKPOINT_FILE)
    ? await readCheckpoint(fileSystem, directory)
    : undefined;
  await removeCompacting(parts, directory, names);
  const { files, empty } = await segmentFiles(parts, directory, names);
  const newest = files.at(-1);
  const onDisk = Math.max(
    manifest?.leaderEpoch ?? 0,
    ...[...files, ...empty].map((file) => file.leaderEpoch),
  );
  if (leaderEpoch < onDisk) {
    throw new StorageError('fenced-epoch', `${directory} has leader epoch ${onDisk}, above ${leaderEpoch}`);
  }
  for (const { name } of empty) await fileSystem.unlink(join(directory, name));
  if (empty.length > 0) await fileSystem.syncDirectory(directory);
  const producers = new ProducerRecovery(parts, { directory, files, checkpoint, names });
  let newestEnd: TailVerdict | undefined;
  if (newest === undefined) {
    await producers.begin(manifest?.logStartOffset ?? 0);
  } else {
    await producers.begin(startOfScan(newest, checkpoint).offset);
    // Bytes below this offset were on disk once; a bad batch there is damage and not a torn write.
    const provenOffset = Math.max(manifest?.highWatermark ?? 0, checkpoint?.logEndOffset ?? 0);
    newestEnd = await parts.scans
      .pass(() => recoverNewest(parts, directory, newest, checkpoint, failure, provenOffset, producers))
      .catch((error: unknown) => {
        producers.release();
        throw error;
      });
  }
  const segments = files.map(({ leaderEpoch, baseOffset, byteSize }, index) => {
    const next = files[index + 1];
    const end = newestEnd !== undefined && next === undefined ? newestEnd : undefined;
    return new Segment(directory, leaderEpoch, baseOffset, {
      byteSize: end?.byteSize ?? byteSize,
      endOffset: end?.endOffset ?? next?.baseOffset ?? baseOffset,
    });
  });
  if (newestEnd !== undefined && newestEnd.byteSize === 0 && newestEnd.corrupt === undefined) {
    const torn = segments.pop()!; // newestEnd is that of the last of them
    await fileSystem.unlink(torn.path);
    await fileSystem.syncDirectory(directory);
  }
  if (newestEnd?.corrupt === undefined) await removeBelowStart(parts, directory, segments, manifest);
  const oldest =
    segments[0] ?? [...files, ...empty].toSorted((a, b) => a.baseOffset - b.baseOffset)[0] ?? NO_FILE;
  const logStartOffset = Math.max(manifest?.logStartOffset ?? 0, oldest.baseOffset);
  if (logStartOffset > oldest.baseOffset) {
    // Only the manifest says so, and a process that was killed may not have got to flush its name.
    await fileSystem.syncDirectory(directory);
  }
  const scannedEnd = newestEnd?.endOffset ?? 0;
  const logEndOffset = Math.max(scannedEnd, logStartOffset);
  const promised = manifest?.highWatermark ?? 0;
  if (logEndOffset < promised) {
    log.error('log.records-missing', { directory, logEndOffset, highWatermark: promised });
  }
  await removeOldCuts(parts, directory, names, segments[0]?.baseOffset ?? logStartOffset);
  const last = segments.at(-1);
  const checkpointAtEnd =
    last === undefined ||
    (checkpoint?.segmentBase === last.baseOffset &&
      checkpoint.bytePosition === last.byteSize &&
      checkpoint.producers !== undefined);
  return {
    ...{ segments, logStartOffset, logEndOffset, manifest, checkpointAtEnd, corrupt: newestEnd?.corrupt },
    producers: await producers.finish(logEndOffset),
    producersRebuilt: producers.isRebuilt,
  };
}

const NO_FILE = { baseOffset: 0 };

/** Highest leader epoch in the file names and the manifest; 0 when the partition is not there. */
export async function highestEpochOnDisk(parts: StoreParts, directory: string): Promise<number> {
  const manifest = await readManifest(parts.fileSystem, directory);
  let highest = manifest?.leaderEpoch ?? 0;
  for (const name of await parts.fileSystem.readdir(directory)) {
    highest = Math.max(highest, parseSegmentFileName(name)?.leaderEpoch ?? 0);
  }
  return highest;
}

interface SegmentFiles {
  /** Those with something in them, in offset order. */
  readonly files: readonly SegmentFile[];
  /**
   * Files without a byte. They say nothing, not even where the log ended: the one before may have been cut since, when
   * the write that began both failed. Their names would be in the way of the next ones.
   */
  readonly empty: readonly SegmentFile[];
}

async function segmentFiles(
  parts: StoreParts,
  directory: string,
  names: readonly string[],
): Promise<SegmentFiles> {
  const files: SegmentFile[] = [];
  for (const name of names) {
    const parsed = parseSegmentFileName(name);
    if (parsed === undefined) continue;
    const { size, mtimeMs } = await parts.fileSystem.stat(join(directory, name));
    files.push({ name, ...parsed, byteSize: size, mtimeMs });
  }
  files.sort((a, b) => a.baseOffset - b.baseOffset || a.leaderEpoch - b.leaderEpoch);
  const filled = files.filter(({ byteSize }) => byteSize > 0);
  for (const [index, file] of filled.entries()) {
    const before = filled[index - 1];
    if (before === undefined) continue;
    if (file.leaderEpoch < before.leaderEpoch || file.baseOffset === before.baseOffset) {
      throw new StorageError(
        'corrupt',
        `${directory}: ${before.name} and ${file.name} contradict each other`,
      );
    }
  }
  return { files: filled, empty: files.filter(({ byteSize }) => byteSize === 0) };
}

interface TailVerdict {
  readonly byteSize: number;
  readonly endOffset: number;
  readonly corrupt: StorageError | undefined;
}

async function recoverNewest(
  parts: StoreParts,
  directory: string,
  file: SegmentFile,
  checkpoint: RecoveryCheckpoint | undefined,
  failure: LogFailure | undefined,
  provenOffset: number,
  producers: ProducerRecovery,
): Promise<TailVerdict> {
  const path = join(directory, file.name);
  let start = startOfScan(file, checkpoint);
  const end = Math.min(failure?.flushedBytesOf(file.baseOffset) ?? file.byteSize, file.byteSize);
  if (start.position === file.byteSize) {
    return { byteSize: file.byteSize, endOffset: start.offset, corrupt: undefined };
  }
  const handle = await parts.fileSystem.open(path, 'write');
  try {
    let scan = new BatchScan(Math.min(start.position, end), end);
    let offset = await scanBatches(handle, scan, file, start.offset, producers);
    if (offset === start.offset && start.position > 0) {
      // Either what was written first after the checkpoint is torn, or the checkpoint is wrong. A wrong one costs this
      // scan; believed, it would cost the records behind it.
      start = { position: 0, offset: file.baseOffset };
      scan = new BatchScan(0, end);
      const claimed = offset;
      offset = await scanBatches(handle, scan, file, start.offset, producers);
      if (offset !== claimed) producers.distrust();
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
    if (byteSize < file.byteSize) await cutTail(parts, directory, file, handle, byteSize, offset);
    await writeAgain(parts, path, handle, start.position, byteSize);
    await handle.datasync();
    return { byteSize, endOffset: offset, corrupt: undefined };
  } finally {
    await handle.close();
  }
}

/** The checkpoint counts when it names the newest segment and lies within it. */
function startOfScan(
  file: SegmentFile,
  checkpoint: RecoveryCheckpoint | undefined,
): { readonly position: number; readonly offset: number } {
  if (
    checkpoint !== undefined &&
    checkpoint.segmentBase === file.baseOffset &&
    checkpoint.bytePosition <= file.byteSize &&
    checkpoint.logEndOffset >= file.baseOffset
  ) {
    return { position: checkpoint.bytePosition, offset: checkpoint.logEndOffset };
  }
  return { position: 0, offset: file.baseOffset };
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
  producers: ProducerRecovery,
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
    producers.note(view, at);
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

/** Copies what is cut beside the segment, then cuts. A copy that fails (a full disk) does not keep the log shut. */
async function cutTail(
  parts: StoreParts,
  directory: string,
  file: SegmentFile,
  handle: OpenFile,
  position: number,
  logEndOffset: number,
): Promise<void> {
  const cutBytes = file.byteSize - position;
  const name = cutFileName(segmentFileName(file.leaderEpoch, file.baseOffset), position);
  let keptAs: string | undefined = name;
  try {
    await keepAside(parts, join(directory, name), handle, position, cutBytes);
  } catch (error) {
    keptAs = undefined;
    parts.log.error('log.cut-not-kept', { path: join(directory, name), error });
  }
  await handle.truncate(position);
  await handle.datasync();
  await parts.fileSystem.syncDirectory(directory);
  parts.counters.cutBytes += cutBytes;
  parts.log.warn('log.tail-cut', { directory, segment: file.name, position, cutBytes, logEndOffset, keptAs });
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
