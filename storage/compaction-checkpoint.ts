// How far a log is compacted, and since when: compaction-checkpoint.json. When it is lost everything counts as not
// compacted yet, and tombstones are kept for another while.
import { join } from 'node:path';
import { COMPACTION_CHECKPOINT_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { COMPACTION_ROUNDS_MAX } from './limits.ts';
import { asFields, isOffset, readJsonFile, writeJsonFile } from './small-file.ts';

/** A round that has left tombstones: those below `endOffset` were the latest of their keys then. */
export interface CompactionRound {
  readonly endOffset: number;
  /** Wall clock. */
  readonly cleanedAtMs: number;
}

export interface CompactionCheckpoint {
  /** Below it each key has one record. */
  readonly cleanedOffset: number;
  /** Both of their fields rise. */
  readonly rounds: readonly CompactionRound[];
}

export const NOTHING_COMPACTED: CompactionCheckpoint = { cleanedOffset: 0, rounds: [] };

/**
 * Tombstones below it may go: what they removed went in a round that is `deleteRetentionMs` old. (Those between two
 * rounds belong to the later one.)
 */
export function tombstonesExpireBelow(
  rounds: readonly CompactionRound[],
  nowMs: number,
  deleteRetentionMs: number,
): number {
  let below = 0;
  for (const { endOffset, cleanedAtMs } of rounds) {
    if (nowMs - cleanedAtMs < deleteRetentionMs) break;
    below = endOffset;
  }
  return below;
}

/**
 * After a round that went up to `endOffset`: what has expired is gone, and its own tombstones wait from now on.
 * @param expiredBelow what `tombstonesExpireBelow` said when it began
 * @param leftTombstones whether there are any between the last round and `endOffset`
 */
export function afterRound(
  before: CompactionCheckpoint,
  endOffset: number,
  nowMs: number,
  expiredBelow: number,
  leftTombstones: boolean,
): CompactionCheckpoint {
  const rounds = before.rounds.filter((round) => round.endOffset > expiredBelow);
  if (leftTombstones) {
    // A clock that went backwards makes tombstones wait longer, not shorter.
    const cleanedAtMs = Math.max(nowMs, rounds.at(-1)?.cleanedAtMs ?? nowMs);
    if (rounds.length === COMPACTION_ROUNDS_MAX) rounds.shift();
    rounds.push({ endOffset, cleanedAtMs });
  }
  return { cleanedOffset: endOffset, rounds };
}

/** `NOTHING_COMPACTED` when it is missing or unreadable. */
export async function readCompactionCheckpoint(
  fileSystem: FileSystem,
  directory: string,
): Promise<CompactionCheckpoint> {
  const fields = asFields(await readJsonFile(fileSystem, join(directory, COMPACTION_CHECKPOINT_FILE)));
  if (fields === undefined) return NOTHING_COMPACTED;
  const { cleanedOffset, rounds } = fields;
  if (!isOffset(cleanedOffset) || !Array.isArray(rounds)) return NOTHING_COMPACTED;
  const read: CompactionRound[] = [];
  for (const round of rounds.slice(-COMPACTION_ROUNDS_MAX)) {
    const [endOffset, cleanedAtMs]: unknown[] = Array.isArray(round) ? round : [];
    const last = read.at(-1);
    const rises =
      isOffset(endOffset) &&
      isOffset(cleanedAtMs) &&
      endOffset <= cleanedOffset &&
      (last === undefined || (endOffset > last.endOffset && cleanedAtMs >= last.cleanedAtMs));
    if (!rises) return NOTHING_COMPACTED;
    read.push({ endOffset, cleanedAtMs });
  }
  return { cleanedOffset, rounds: read };
}

export function writeCompactionCheckpoint(
  fileSystem: FileSystem,
  directory: string,
  { cleanedOffset, rounds }: CompactionCheckpoint,
): Promise<void> {
  const content = {
    cleanedOffset,
    rounds: rounds.map(({ endOffset, cleanedAtMs }) => [endOffset, cleanedAtMs]),
  };
  return writeJsonFile(fileSystem, join(directory, COMPACTION_CHECKPOINT_FILE), content);
}
