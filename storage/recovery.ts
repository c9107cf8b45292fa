// Opens what an earlier run left of a partition. The log is the truth. Older segments were on disk before their
// successor had a name, so only the newest can be torn: tail-recovery.ts looks where it ends.
import { join } from 'node:path';
import { StorageError } from './errors.ts';
import { CHECKPOINT_FILE, MANIFEST_FILE, parseSegmentFileName } from './file-names.ts';
import { removeBelowStart, removeCompacting, removeOldCuts } from './leftovers.ts';
import { type Manifest, type RecoveryCheckpoint, readCheckpoint, readManifest } from './manifest.ts';
import { ProducerRecovery, type SegmentFile } from './producer-recovery.ts';
import type { ProducerStates } from './producer-states.ts';
import { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { recoverNewest, startOfScan, type TailVerdict } from './tail-recovery.ts';

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

/** What lies in a partition's directory, as far as an opening looks first. */
export interface LogSurvey {
  readonly names: readonly string[];
  /** Undefined when there is none, or it is damaged. */
  readonly manifest: Manifest | undefined;
}

/** Rejects with ENOENT when the directory is missing. @throws StorageError format */
export async function surveyLog({ fileSystem }: StoreParts, directory: string): Promise<LogSurvey> {
  const names = await fileSystem.readdir(directory);
  const manifest = names.includes(MANIFEST_FILE) ? await readManifest(fileSystem, directory) : undefined;
  return { names, manifest };
}

/** Highest leader epoch in the file names and the manifest; 0 when there is none. */
export function highestEpochOf({ names, manifest }: LogSurvey): number {
  const ofFiles = names.map((name) => parseSegmentFileName(name)?.leaderEpoch ?? 0);
  return Math.max(manifest?.leaderEpoch ?? 0, ...ofFiles);
}

/**
 * @param logId for its index
 * @param leaderEpoch of the opening; below what is on disk it is refused before anything is changed
 * @param failure of the last opening in this process
 * @throws StorageError fenced-epoch, format, corrupt, io
 */
export async function recoverLog(
  parts: StoreParts,
  directory: string,
  logId: number,
  { names, manifest }: LogSurvey,
  leaderEpoch: number,
  failure: LogFailure | undefined,
): Promise<RecoveredLog> {
  const { fileSystem, log } = parts;
  if (manifest === undefined && names.includes(MANIFEST_FILE)) {
    log.warn('log.manifest-damaged', { directory, lost: 'where the log started, if that was moved' });
  }
  const checkpoint = names.includes(CHECKPOINT_FILE)
    ? await readCheckpoint(fileSystem, directory)
    : undefined;
  await removeCompacting(parts, directory, names);
  const { files, empty, contradictory } = await segmentFiles(parts, directory, names);
  const newest = files.at(-1);
  const onDisk = Math.max(
    manifest?.leaderEpoch ?? 0,
    ...[...files, ...empty, ...contradictory].map((file) => file.leaderEpoch),
  );
  if (leaderEpoch < onDisk) {
    throw new StorageError('fenced-epoch', `${directory} has leader epoch ${onDisk}, above ${leaderEpoch}`);
  }
  const [contradiction] = contradictory;
  if (contradiction !== undefined) {
    const known = { directory, files, checkpoint, names, manifest };
    return recoverUpTo(parts, contradiction, known);
  }
  for (const { name } of empty) await fileSystem.unlink(join(directory, name));
  if (empty.length > 0) await fileSystem.syncDirectory(directory);
  const startOffset = manifest?.logStartOffset ?? 0;
  // Of what was deleted a crash may bring back some and not what followed: producers have gone on since.
  const left = files.filter(
    (_, index) => (files[index + 1]?.baseOffset ?? Number.POSITIVE_INFINITY) > startOffset,
  );
  const producers = new ProducerRecovery(parts, { directory, files: left, checkpoint, names });
  let newestEnd: TailVerdict | undefined;
  if (newest === undefined) {
    await producers.begin(startOffset);
  } else {
    await producers.begin(startOfScan(newest, checkpoint).offset);
    const tail = {
      ...{ directory, logId, file: newest, checkpoint },
      flushedBytes: failure?.flushedBytesOf(newest.baseOffset),
      provenOffset: Math.max(manifest?.highWatermark ?? 0, checkpoint?.logEndOffset ?? 0),
    };
    newestEnd = await parts.scans
      .pass(() => recoverNewest(parts, tail, producers))
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
  const logStartOffset = Math.max(startOffset, oldest.baseOffset);
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

interface SegmentFiles {
  /** Those with something in them, in offset order. */
  readonly files: readonly SegmentFile[];
  /**
   * Files without a byte. They say nothing, not even where the log ended: the one before may have been cut since, when
   * the write that began both failed. Their names would be in the way of the next ones.
   */
  readonly empty: readonly SegmentFile[];
  /** From the first on whose name cannot be, behind those before it: nobody knows what they are. Mostly none. */
  readonly contradictory: readonly SegmentFile[];
}

interface KnownLog {
  readonly directory: string;
  readonly files: readonly SegmentFile[];
  readonly checkpoint: RecoveryCheckpoint | undefined;
  readonly names: readonly string[];
  readonly manifest: Manifest | undefined;
}

/** The log ends where a file begins that contradicts those before it. It is read up to there, and no file is touched. */
async function recoverUpTo(
  parts: StoreParts,
  { name, baseOffset }: SegmentFile,
  { directory, files, checkpoint, names, manifest }: KnownLog,
): Promise<RecoveredLog> {
  const path = join(directory, name);
  const message = `${path} contradicts the files before it: the partition can be read up to offset ${baseOffset} only`;
  parts.log.error('log.damaged', { path, offset: baseOffset });
  const segments = files.map(
    (file, index) =>
      new Segment(directory, file.leaderEpoch, file.baseOffset, {
        byteSize: file.byteSize,
        endOffset: files[index + 1]?.baseOffset ?? baseOffset,
      }),
  );
  const logStartOffset = Math.max(manifest?.logStartOffset ?? 0, files[0]?.baseOffset ?? baseOffset);
  const logEndOffset = Math.max(baseOffset, logStartOffset);
  const producers = new ProducerRecovery(parts, { directory, files, checkpoint, names });
  await producers.begin(baseOffset);
  return {
    ...{ segments, logStartOffset, logEndOffset, manifest, checkpointAtEnd: true },
    corrupt: new StorageError('corrupt', message),
    producers: await producers.finish(logEndOffset),
    producersRebuilt: false,
  };
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
  const empty = files.filter(({ byteSize }) => byteSize === 0);
  const wrong = filled.findIndex((file, index) => {
    const before = filled[index - 1];
    return (
      before !== undefined && (file.leaderEpoch < before.leaderEpoch || file.baseOffset === before.baseOffset)
    );
  });
  if (wrong < 0) return { files: filled, empty, contradictory: [] };
  const endOffset = filled[wrong]!.baseOffset; // found above
  const good = filled.findIndex(({ baseOffset }) => baseOffset >= endOffset);
  return { files: filled.slice(0, good), empty, contradictory: filled.slice(good) };
}
