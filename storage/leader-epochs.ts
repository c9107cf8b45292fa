// Which leader epoch began at which offset, and so where an epoch ends. One segment holds one epoch, so the names of
// the files say it all; leader-epochs.json beside them is for people and other tools, and is never trusted over them.
import { join } from 'node:path';
import { LEADER_EPOCHS_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import type { SegmentList } from './segment.ts';
import { writeJsonFile } from './small-file.ts';

export type EpochStart = readonly [epoch: number, startOffset: number];

export interface EpochEnd {
  readonly leaderEpoch: number;
  readonly endOffset: number;
}

/** In order of epochs and of offsets. */
export function epochStarts(segments: SegmentList): EpochStart[] {
  const starts: EpochStart[] = [];
  for (const { leaderEpoch, baseOffset } of segments) {
    if (starts.at(-1)?.[0] !== leaderEpoch) starts.push([leaderEpoch, baseOffset]);
  }
  return starts;
}

/**
 * Where the newest epoch at or below `leaderEpoch` ends: the start of the next one, or the log's end for the newest
 * (KIP-101, KIP-279). Undefined when all epochs of the log are newer.
 * @param present what a log without a file is in, and where it ends
 */
export function endOfEpoch(
  segments: SegmentList,
  leaderEpoch: number,
  present: EpochEnd,
): EpochEnd | undefined {
  const { all } = segments;
  if (all.length === 0) return present.leaderEpoch <= leaderEpoch ? present : undefined;
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (all[middle]!.leaderEpoch <= leaderEpoch)
      low = middle + 1; // middle is below the length
    else high = middle;
  }
  const last = all[low - 1];
  if (last === undefined) return undefined;
  return { leaderEpoch: last.leaderEpoch, endOffset: all[low]?.baseOffset ?? last.endOffset };
}

export function writeLeaderEpochs(
  fileSystem: FileSystem,
  directory: string,
  starts: readonly EpochStart[],
): Promise<void> {
  return writeJsonFile(fileSystem, join(directory, LEADER_EPOCHS_FILE), starts);
}
