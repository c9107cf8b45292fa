// Puts a compacted segment in the place of others, so that a crash between any two steps leaves files that read right by
// the rules for all files: a segment ends where the name of the next one says that it begins.
//
//   1  <first>.log.cleaned is whole and on disk         an opening removes it
//   …  a checkpoint that tells of positions in one of the others is replaced, durably
//   2  it is in the list, the others are `gone`         who reads one of them starts over
//   3  renamed over the first of the others, durably    it counts up to where the second begins, which is still there
//   4  the others removed, one after the other          … up to where the next one left begins
//
// The others go oldest first, each durably before the next: were the third gone and the second not, what the third held
// would lie behind the end of the first.
import { join } from 'node:path';
import type { CompactedLog } from './compacted-log.ts';
import { errorCodeOf } from './errors.ts';
import { segmentFileName } from './file-names.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';

/**
 * False when the log has changed meanwhile, and nothing was done.
 * @param replaced neighbours, of which `next` has the first one's name; its path is that of the `.cleaned` file
 * @param leftovers paths that could not be removed are added; they must go before the log is compacted again
 * @throws what the file system throws
 */
export async function replaceSegments(
  parts: StoreParts,
  log: CompactedLog,
  replaced: readonly Segment[],
  next: Segment,
  leftovers: string[],
): Promise<boolean> {
  const isDone = await log.exclusively(async () => {
    if (!log.isWritable() || replaced.some((segment) => segment.gone)) return false;
    await forgetPositions(log, replaced);
    await renameOverFirst(parts, log, replaced, next);
    return true;
  });
  if (!isDone) return false;
  const others = replaced.slice(1).map(({ path }) => path);
  leftovers.push(...others);
  for (const path of others) parts.files.drop(path);
  log.background.add('indexing', moveIndex(log, replaced, next));
  await parts.fileSystem.syncDirectory(log.directory);
  await removeLeftovers(parts, log.directory, leftovers);
  return true;
}

/** Removes them in order, each durably before the next, and takes them off the list. @throws what the file system throws */
export async function removeLeftovers(
  { fileSystem, files }: Pick<StoreParts, 'fileSystem' | 'files'>,
  directory: string,
  leftovers: string[],
): Promise<void> {
  for (let path = leftovers[0]; path !== undefined; path = leftovers[0]) {
    try {
      await fileSystem.unlink(path);
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') throw error;
    }
    // Whoever still looked for it may have opened it meanwhile, and what is open takes room.
    files.drop(path);
    await fileSystem.syncDirectory(directory);
    leftovers.shift();
  }
}

/** Recovery scans the newest file from where a checkpoint says, and looks into others for producers. */
async function forgetPositions(log: CompactedLog, replaced: readonly Segment[]): Promise<void> {
  const bases = replaced.map(({ baseOffset }) => baseOffset);
  const newest = log.segments.all.findLast(({ flushedBytes }) => flushedBytes > 0);
  await log.batchesMove(bases, newest?.baseOffset ?? bases[0] ?? 0);
}

async function renameOverFirst(
  { files, fileSystem }: StoreParts,
  log: CompactedLog,
  replaced: readonly Segment[],
  next: Segment,
): Promise<void> {
  const cleanedPath = next.path;
  const path = join(log.directory, segmentFileName(next.leaderEpoch, next.baseOffset));
  // The file is kept open meanwhile: who looks for it under the old name finds it whichever name it has.
  await files.with(cleanedPath, async () => {
    log.segments.replace(replaced, [next]);
    try {
      await fileSystem.rename(cleanedPath, path);
    } catch (error) {
      log.segments.replace([next], replaced);
      throw error;
    }
    next.path = path;
    files.drop(cleanedPath);
    // What is open under this name is the file that was there before.
    files.drop(path);
  });
  log.tail.forgetGone();
}

/** The entries of what is gone make way for those that were made as the new file was written. */
async function moveIndex(log: CompactedLog, replaced: readonly Segment[], next: Segment): Promise<void> {
  for (const segment of replaced) await log.completion.forget(segment);
  if (!next.gone) await log.completion.closeSegment(next);
}
