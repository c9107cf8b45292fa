// The two small files beside a partition's segments. Neither is the truth, the log is: a manifest that is missing is
// made anew, a checkpoint that does not fit is ignored.
import { join } from 'node:path';
import { StorageError } from './errors.ts';
import { CHECKPOINT_FILE, MANIFEST_FILE } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { FORMAT_VERSION } from './frame.ts';
import { asFields, type Durability, isOffset, readJsonFile, writeJsonFile } from './small-file.ts';

/** Written on open and close, and durably when the log start moves, before files go. */
export interface Manifest {
  readonly leaderEpoch: number;
  readonly highWatermark: number;
  readonly logStartOffset: number;
}

/** All before `bytePosition` of the segment, and every older segment, is on disk and was whole. */
export interface RecoveryCheckpoint {
  readonly segmentBase: number;
  readonly bytePosition: number;
  readonly logEndOffset: number;
  /** Whether the log knew of producers; then there is a snapshot of them. Undefined: an earlier version wrote it. */
  readonly producers?: boolean;
  /** Every transaction that began below it had ended. Undefined: it is not known, or there are no producers. */
  readonly stableOffset?: number;
}

/** Undefined when missing or unreadable. @throws StorageError format when a newer version wrote it */
export async function readManifest(fileSystem: FileSystem, directory: string): Promise<Manifest | undefined> {
  const path = join(directory, MANIFEST_FILE);
  const fields = asFields(await readJsonFile(fileSystem, path));
  if (fields === undefined) return undefined;
  const { formatVersion, leaderEpoch, highWatermark, logStartOffset } = fields;
  refuseNewer(formatVersion, path);
  if (!isOffset(leaderEpoch) || !isOffset(highWatermark) || !isOffset(logStartOffset)) return undefined;
  return { leaderEpoch, highWatermark, logStartOffset };
}

export function writeManifest(
  fileSystem: FileSystem,
  directory: string,
  manifest: Manifest,
  durability: Durability,
): Promise<void> {
  const content = {
    formatVersion: FORMAT_VERSION,
    leaderEpoch: manifest.leaderEpoch,
    highWatermark: manifest.highWatermark,
    logStartOffset: manifest.logStartOffset,
  };
  return writeJsonFile(fileSystem, join(directory, MANIFEST_FILE), content, durability);
}

/** Undefined when missing, unreadable or not a checkpoint. */
export async function readCheckpoint(
  fileSystem: FileSystem,
  directory: string,
): Promise<RecoveryCheckpoint | undefined> {
  const fields = asFields(await readJsonFile(fileSystem, join(directory, CHECKPOINT_FILE)));
  if (fields === undefined) return undefined;
  const { segmentBase, bytePosition, logEndOffset, producers, stableOffset } = fields;
  if (!isOffset(segmentBase) || !isOffset(bytePosition) || !isOffset(logEndOffset)) return undefined;
  return {
    ...{ segmentBase, bytePosition, logEndOffset },
    ...(typeof producers === 'boolean' ? { producers } : {}),
    ...(isOffset(stableOffset) ? { stableOffset } : {}),
  };
}

export function writeCheckpoint(
  fileSystem: FileSystem,
  directory: string,
  checkpoint: RecoveryCheckpoint,
  durability: Durability,
): Promise<void> {
  return writeJsonFile(fileSystem, join(directory, CHECKPOINT_FILE), checkpoint, durability);
}

/** @throws StorageError format */
export function refuseNewer(formatVersion: unknown, path: string): void {
  if (typeof formatVersion !== 'number' || formatVersion <= FORMAT_VERSION) return;
  throw new StorageError(
    'format',
    `${path} was written in format ${formatVersion}; this version reads up to ${FORMAT_VERSION}: use a newer one`,
  );
}
