// Makes the cut of recovery by hand: a log loses everything from an offset on, back to the start of a batch. What is cut
// stays beside the log. Nobody else has the log open.
//
// First everything goes that leads to what is going to be cut or promises it, then the files, newest first: so a crash at
// any point leaves a log that opens.
import { basename, join } from 'node:path';
import { readCompactionCheckpoint } from './compaction-checkpoint.ts';
import { StorageError, storageErrorOf } from './errors.ts';
import {
  CHECKPOINT_FILE,
  COMPACTION_CHECKPOINT_FILE,
  cutFileName,
  PRODUCER_SNAPSHOT_FILE,
  parseSegmentFileName,
} from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { batchBaseOffsetAt, batchLastOffsetAt } from './frame.ts';
import type { IndexDatabase } from './index-database.ts';
import { endWithoutRoom, inspectBatches } from './inspection-batches.ts';
import type { CheckedSegment } from './inspection-segment.ts';
import { epochStarts, writeLeaderEpochs } from './leader-epochs.ts';
import { readCheckpoint, readManifest, writeCheckpoint, writeManifest } from './manifest.ts';
import { OffsetIndex } from './offset-index.ts';
import { readProducerSnapshot } from './producer-snapshot.ts';
import { Segment, SegmentList } from './segment.ts';
import { removeIfThere } from './small-file.ts';
import { keepAside } from './tail-recovery.ts';

export interface CutPlan {
  readonly directory: string;
  /** Of the log after the cut: at or below the offset asked for. */
  readonly endOffset: number;
  /** The segment that is shortened; undefined when the cut lies between two. */
  readonly shortened: { readonly segment: CheckedSegment; readonly position: number } | undefined;
  /** Segments that go whole, in order. */
  readonly removed: readonly CheckedSegment[];
  readonly cutBytes: number;
  /** Segments that stay whole, in order. */
  readonly kept: readonly CheckedSegment[];
}

/**
 * What a cut at `offset` would do.
 * @throws StorageError offset-out-of-range when the log does not reach there, corrupt when damage lies below, format, io
 */
export async function planCut(fileSystem: FileSystem, directory: string, offset: number): Promise<CutPlan> {
  try {
    const segments = await segmentsIn(fileSystem, directory);
    const manifest = await readManifest(fileSystem, directory);
    const first = segments[0];
    if (first === undefined) throw new StorageError('offset-out-of-range', `${directory} has no records`);
    const start = Math.max(first.baseOffset, manifest?.logStartOffset ?? 0);
    if (offset < start) {
      throw new StorageError(
        'offset-out-of-range',
        `${directory} starts at offset ${start}, above ${offset}`,
      );
    }
    // Of a segment that begins at the offset nothing is below. What ends there is looked into all the same: an interrupted
    // compaction may have left a file that reaches further than the next one's name says.
    const place = segments.findLastIndex(({ baseOffset }) => baseOffset < offset);
    const segment = segments[place];
    if (segment === undefined) return wholeCut(directory, offset, segments);
    const cut = await cutPlaceIn(fileSystem, segment, offset, segments[place + 1] === undefined);
    // Nothing is left that readers may see, if the cut falls below the log start.
    if (cut.endOffset < start) return wholeCut(directory, start, segments);
    const removed = segments.slice(cut.position === 0 ? place : place + 1);
    const isShortened = cut.position > 0 && cut.position < segment.byteSize;
    const shortenedBytes = isShortened ? segment.byteSize - cut.position : 0;
    return {
      directory,
      endOffset: cut.endOffset,
      shortened: isShortened ? { segment, position: cut.position } : undefined,
      removed,
      cutBytes: removed.reduce((sum, { byteSize }) => sum + byteSize, shortenedBytes),
      kept: segments.slice(0, cut.position < segment.byteSize ? place : place + 1),
    };
  } catch (error) {
    throw storageErrorOf(error, `reading ${directory}`);
  }
}

/**
 * Does it.
 * @param index the log's rows in it; undefined when there is no index
 * @throws StorageError io, disk-full; the log opens all the same, and the cut can be made again
 */
export async function cutLog(
  fileSystem: FileSystem,
  plan: CutPlan,
  index: { readonly database: IndexDatabase; readonly logId: number } | undefined,
): Promise<void> {
  const { directory, shortened, removed } = plan;
  try {
    if (index !== undefined) await dropRows(plan, new OffsetIndex(index.database, index.logId));
    await takeBackPromises(fileSystem, plan);
    for (const { path } of [...removed].reverse()) {
      await fileSystem.rename(path, join(directory, cutFileName(basename(path), 0)));
      await fileSystem.syncDirectory(directory);
    }
    if (shortened !== undefined) await shorten(fileSystem, directory, shortened);
    await writeLeaderEpochs(fileSystem, directory, epochStarts(segmentListOf(plan)));
  } catch (error) {
    throw storageErrorOf(error, `cutting ${directory}`);
  }
}

function wholeCut(directory: string, endOffset: number, removed: readonly CheckedSegment[]): CutPlan {
  const cutBytes = removed.reduce((sum, { byteSize }) => sum + byteSize, 0);
  return { directory, endOffset, shortened: undefined, removed, cutBytes, kept: [] };
}

async function segmentsIn(fileSystem: FileSystem, directory: string): Promise<CheckedSegment[]> {
  const segments: CheckedSegment[] = [];
  for (const name of await fileSystem.readdir(directory)) {
    const parsed = parseSegmentFileName(name);
    if (parsed === undefined) continue;
    const path = join(directory, name);
    const { size } = await fileSystem.stat(path);
    segments.push({ path, ...parsed, byteSize: size });
  }
  segments.sort((a, b) => a.baseOffset - b.baseOffset || a.leaderEpoch - b.leaderEpoch);
  const newest = segments.pop();
  if (newest === undefined) return segments;
  const byteSize = await endWithoutRoom(fileSystem, newest.path, newest.byteSize);
  return [...segments, { ...newest, byteSize }];
}

/** Where the first batch begins that covers `offset` or lies above, and where the log ends without it. */
async function cutPlaceIn(
  fileSystem: FileSystem,
  segment: CheckedSegment,
  offset: number,
  isNewest: boolean,
): Promise<{ readonly position: number; readonly endOffset: number }> {
  let endOffset = segment.baseOffset;
  for await (const part of inspectBatches(fileSystem, segment.path, segment.byteSize)) {
    if (part.kind === 'damage') {
      if (endOffset === offset) return { position: part.position, endOffset };
      const damage = `${segment.path} is damaged at byte ${part.position}, offset ${endOffset}`;
      throw new StorageError('corrupt', `${damage}: it can be cut there (--at ${endOffset}) or below`);
    }
    const { view, at, position } = part;
    if (batchLastOffsetAt(view, at) >= offset) {
      // Behind a hole the log ends where the hole begins.
      return { position, endOffset: Math.min(endOffset, batchBaseOffsetAt(view, at)) };
    }
    endOffset = batchLastOffsetAt(view, at) + 1;
  }
  if (offset > endOffset && isNewest) {
    throw new StorageError(
      'offset-out-of-range',
      `${segment.path} ends at offset ${endOffset}, below ${offset}`,
    );
  }
  return { position: segment.byteSize, endOffset };
}

/**
 * Manifest and checkpoint no longer say that what is going to be cut is on disk; snapshots of it go. The manifest is
 * written in any case: without a file left, it alone says where the log ends and which epochs there were.
 */
async function takeBackPromises(fileSystem: FileSystem, plan: CutPlan): Promise<void> {
  const { directory, endOffset, kept, removed, shortened } = plan;
  const files = [...kept, ...(shortened === undefined ? [] : [shortened.segment])];
  const manifest = await readManifest(fileSystem, directory);
  const newest = removed.at(-1) ?? files.at(-1);
  const logStartOffset = manifest?.logStartOffset ?? files[0]?.baseOffset ?? endOffset;
  const after = {
    leaderEpoch: Math.max(manifest?.leaderEpoch ?? 0, newest?.leaderEpoch ?? 0),
    highWatermark: Math.min(manifest?.highWatermark ?? endOffset, endOffset),
    logStartOffset: files.length === 0 ? endOffset : logStartOffset,
  };
  await writeManifest(fileSystem, directory, after, 'durable');
  const checkpoint = await readCheckpoint(fileSystem, directory);
  if (checkpoint === undefined || checkpoint.logEndOffset > endOffset) {
    await removeIfThere(fileSystem, join(directory, CHECKPOINT_FILE));
  } else {
    // What ended transactions may be cut: the next opening has to look for those that are open again.
    const { stableOffset: _gone, ...left } = checkpoint;
    await writeCheckpoint(fileSystem, directory, left, 'durable');
  }
  const snapshot = await readProducerSnapshot(fileSystem, directory);
  if (snapshot === undefined || snapshot.logEndOffset > endOffset) {
    await removeIfThere(fileSystem, join(directory, PRODUCER_SNAPSHOT_FILE));
  }
  const { cleanedOffset } = await readCompactionCheckpoint(fileSystem, directory);
  if (cleanedOffset > endOffset) {
    await removeIfThere(fileSystem, join(directory, COMPACTION_CHECKPOINT_FILE));
  }
  await fileSystem.syncDirectory(directory);
}

async function shorten(
  fileSystem: FileSystem,
  directory: string,
  { segment, position }: NonNullable<CutPlan['shortened']>,
): Promise<void> {
  const file = await fileSystem.open(segment.path, 'write');
  try {
    const aside = join(directory, cutFileName(basename(segment.path), position));
    await keepAside({ fileSystem }, aside, file, position, segment.byteSize - position);
    await fileSystem.syncDirectory(directory);
    await file.truncate(position);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** The cut segment's rows too: its last entries lead behind its end, and its name may stay the newest. */
async function dropRows(plan: CutPlan, index: OffsetIndex): Promise<void> {
  const segments = [...plan.removed, ...(plan.shortened === undefined ? [] : [plan.shortened.segment])];
  for (const { leaderEpoch, baseOffset } of segments) {
    await index.dropSegment(new Segment(plan.directory, leaderEpoch, baseOffset));
  }
}

function segmentListOf({ directory, kept, shortened }: CutPlan): SegmentList {
  const segments = shortened === undefined ? kept : [...kept, shortened.segment];
  return new SegmentList(
    segments.map(({ leaderEpoch, baseOffset }) => new Segment(directory, leaderEpoch, baseOffset)),
  );
}
