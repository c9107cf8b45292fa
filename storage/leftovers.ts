// What earlier openings have left in a partition's directory and nobody needs: segments that lie wholly below the log's
// start, whose removal a crash has undone or prevented, what compaction was writing, and old bytes that recovery had cut off.
import { join } from 'node:path';
import { errorCodeOf } from './errors.ts';
import { isCleanedFileName, parseCutFileName } from './file-names.ts';
import { CUT_FILES_MAX } from './limits.ts';
import type { Manifest } from './manifest.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';

/**
 * Takes the segments that lie wholly below the manifest's log start off the list, and removes their files. What fails
 * is reported, and tried again at the next opening: it takes room and does no harm.
 */
export async function removeBelowStart(
  { fileSystem, log }: StoreParts,
  directory: string,
  segments: Segment[],
  manifest: Manifest | undefined,
): Promise<void> {
  const startOffset = manifest?.logStartOffset ?? 0;
  const kept = segments.findIndex(({ endOffset }) => endOffset > startOffset);
  const below = segments.splice(0, kept < 0 ? segments.length : kept);
  if (below.length === 0) return;
  // Of a process that was killed the manifest may be in memory only, and without it an emptied log forgets its end.
  await fileSystem.syncDirectory(directory);
  for (const { path } of below) {
    try {
      await fileSystem.unlink(path);
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOENT') log.warn('log.segment-not-removed', { path, error });
    }
  }
}

/** Files that compaction was writing are not of the log. What fails is reported: the next compaction removes them too. */
export async function removeCompacting(
  { fileSystem, log }: StoreParts,
  directory: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    if (!isCleanedFileName(name)) continue;
    try {
      await fileSystem.unlink(join(directory, name));
    } catch (error) {
      log.warn('log.compacting-not-removed', { directory, name, error });
    }
  }
}

/**
 * Keeps the newest few `.cut` files, for whoever wants to know what a crash took, as long as the log reaches back to
 * where they were cut.
 * @param baseOffset of the oldest segment
 */
export async function removeOldCuts(
  { fileSystem, log }: StoreParts,
  directory: string,
  names: readonly string[],
  baseOffset: number,
): Promise<void> {
  const cuts = names.flatMap((name) => {
    const cut = parseCutFileName(name);
    return cut === undefined ? [] : { name, ...cut };
  });
  // A log's later cuts are of later epochs, segments and positions.
  cuts.sort(
    (a, b) => b.leaderEpoch - a.leaderEpoch || b.baseOffset - a.baseOffset || b.position - a.position,
  );
  for (const [index, cut] of cuts.entries()) {
    if (index < CUT_FILES_MAX && cut.baseOffset >= baseOffset) continue;
    const { name } = cut;
    try {
      await fileSystem.unlink(join(directory, name));
    } catch (error) {
      log.warn('log.cut-not-removed', { directory, name, error });
    }
  }
}
