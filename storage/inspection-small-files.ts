// Checks the small files of a log and of the directories above it against the log. None of them is the truth, so a
// file that is missing is no finding; one that says what cannot be is.
import { join } from 'node:path';
import { NOTHING_COMPACTED, readCompactionCheckpoint } from './compaction-checkpoint.ts';
import { StorageError } from './errors.ts';
import {
  CHECKPOINT_FILE,
  COMPACTION_CHECKPOINT_FILE,
  LEADER_EPOCHS_FILE,
  MANIFEST_FILE,
  NODE_FILE,
  TOPIC_FILE,
} from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import type { Findings } from './inspection-findings.ts';
import type { CheckedSegment } from './inspection-segment.ts';
import { type EpochStart, epochStarts } from './leader-epochs.ts';
import {
  type Manifest,
  type RecoveryCheckpoint,
  readCheckpoint,
  readManifest,
  refuseNewer,
} from './manifest.ts';
import { Segment, SegmentList } from './segment.ts';
import { asFields, isOffset, readJsonFile } from './small-file.ts';

export interface LogBounds {
  /** In order. */
  readonly segments: readonly CheckedSegment[];
  /** Where the log's good batches end; undefined when it has none. */
  readonly endOffset: number | undefined;
  /** The offset that comes where the checkpoint says; undefined when no batch ends there. */
  readonly checkpointOffset: number | undefined;
  readonly newestIsDamaged: boolean;
  readonly isDamaged: boolean;
}

export interface Promises {
  readonly manifest: Manifest | undefined;
  readonly checkpoint: RecoveryCheckpoint | undefined;
}

/** The manifest and the checkpoint, for what they promise; what is wrong in themselves is told. */
export async function readPromises(
  fileSystem: FileSystem,
  directory: string,
  names: readonly string[],
  findings: Findings,
): Promise<Promises> {
  const manifest = names.includes(MANIFEST_FILE)
    ? await parsed(join(directory, MANIFEST_FILE), findings, () => readManifest(fileSystem, directory))
    : undefined;
  const checkpoint = names.includes(CHECKPOINT_FILE)
    ? await parsed(join(directory, CHECKPOINT_FILE), findings, () => readCheckpoint(fileSystem, directory))
    : undefined;
  return { manifest, checkpoint };
}

export function checkManifest(
  directory: string,
  { highWatermark, logStartOffset }: Manifest,
  { segments, endOffset }: LogBounds,
  findings: Findings,
): void {
  const path = join(directory, MANIFEST_FILE);
  const end = Math.max(endOffset ?? 0, logStartOffset);
  if (highWatermark > end) {
    const lost = `the manifest says that all below ${highWatermark} was on disk, and the log ends at ${end}`;
    findings.error('records-missing', { path, offset: end }, lost);
  }
  if (endOffset !== undefined && logStartOffset > endOffset) {
    // Records that were deleted before they were on disk. All that is left goes with the next opening.
    const beyond = `the log starts at ${logStartOffset}, and its last batch ends at ${endOffset}`;
    findings.warning('small-file', { path, offset: logStartOffset }, beyond);
  }
  const first = segments[0];
  if (first !== undefined && first.baseOffset > logStartOffset) {
    const starts = `the log starts at ${logStartOffset}, and its first file at ${first.baseOffset}`;
    findings.error('records-missing', { path, offset: logStartOffset }, starts);
  }
}

export function checkCheckpoint(
  directory: string,
  { segmentBase, bytePosition, logEndOffset }: RecoveryCheckpoint,
  { segments, endOffset, checkpointOffset, newestIsDamaged }: LogBounds,
  logStartOffset: number,
  findings: Findings,
): void {
  const path = join(directory, CHECKPOINT_FILE);
  const newest = segments.at(-1);
  if (newest === undefined || endOffset === undefined) return;
  if (logEndOffset > Math.max(endOffset, logStartOffset)) {
    const lost = `the checkpoint says that all below ${logEndOffset} was on disk, and the log ends at ${endOffset}`;
    findings.error('records-missing', { path, offset: endOffset }, lost);
    return;
  }
  // Of an older segment nothing can be said: it may have been compacted since. One that was beginning had nothing yet.
  const isOfNewest = segmentBase === newest.baseOffset && logEndOffset >= segmentBase;
  if (isOfNewest && checkpointOffset !== logEndOffset && !newestIsDamaged) {
    const says = `offset ${logEndOffset} comes at byte ${bytePosition} of segment ${segmentBase}`;
    findings.error(
      'small-file',
      { path, offset: logEndOffset },
      `the checkpoint says that ${says}, it does not`,
    );
  }
}

/** How far the log is compacted; 0 without a checkpoint of it. One that is lost costs another compaction. */
export async function readCleanedOffset(
  fileSystem: FileSystem,
  directory: string,
  names: readonly string[],
  findings: Findings,
): Promise<number> {
  if (!names.includes(COMPACTION_CHECKPOINT_FILE)) return 0;
  const checkpoint = await readCompactionCheckpoint(fileSystem, directory);
  if (checkpoint === NOTHING_COMPACTED) {
    const path = join(directory, COMPACTION_CHECKPOINT_FILE);
    findings.error('small-file', { path }, 'it cannot be read; everything will be compacted again');
  }
  return checkpoint.cleanedOffset;
}

/** @param endOffset of the log */
export function checkCleanedOffset(
  directory: string,
  cleanedOffset: number,
  endOffset: number,
  findings: Findings,
): void {
  if (cleanedOffset <= endOffset) return;
  const place = { path: join(directory, COMPACTION_CHECKPOINT_FILE), offset: cleanedOffset };
  findings.warning('small-file', place, `the log ends at ${endOffset}, below; it is ignored`);
}

/** The names of the files say it, and win; the file beside them is checked as far as files are left. */
export async function checkLeaderEpochs(
  fileSystem: FileSystem,
  directory: string,
  names: readonly string[],
  { segments, endOffset }: LogBounds,
  findings: Findings,
): Promise<void> {
  if (!names.includes(LEADER_EPOCHS_FILE)) return;
  const path = join(directory, LEADER_EPOCHS_FILE);
  const stored = await readJsonFile(fileSystem, path);
  if (!isEpochStarts(stored)) {
    findings.error('small-file', { path }, 'it is not a rising list of epochs and their first offsets');
    return;
  }
  const first = segments[0];
  if (first === undefined) return;
  const list = segments.map(({ leaderEpoch, baseOffset }) => new Segment(directory, leaderEpoch, baseOffset));
  const starts = new Map(epochStarts(new SegmentList(list)));
  for (const [epoch, offset] of stored) {
    const start = starts.get(epoch);
    const isRight =
      start === offset ||
      // Of what retention took, and of a file that was left without a batch, it may still tell.
      (offset < first.baseOffset && (start === undefined || start === first.baseOffset)) ||
      (start === undefined && offset >= (endOffset ?? first.baseOffset));
    if (isRight) continue;
    const says = start === undefined ? 'no file has it' : `its first file begins at ${start}`;
    // Written behind everybody's back, and read by nobody: a write of it that failed is made up for by the next.
    findings.warning('small-file', { path, offset }, `epoch ${epoch} began at ${offset}, and ${says}`);
  }
}

/** `node.json` of a data directory. */
export async function checkNodeFile(
  fileSystem: FileSystem,
  dataDirectory: string,
  findings: Findings,
): Promise<void> {
  const path = join(dataDirectory, NODE_FILE);
  await checkVersioned(fileSystem, path, findings, (fields) =>
    typeof fields['clusterId'] === 'string' &&
    typeof fields['diskId'] === 'string' &&
    typeof fields['nodeId'] === 'number' &&
    typeof fields['cleanStop'] === 'boolean'
      ? undefined
      : 'it does not say whose data this is',
  );
}

/** @param expectedId of the topic of this name, where it is known */
export async function checkTopicFile(
  fileSystem: FileSystem,
  topicDirectory: string,
  expectedId: string | undefined,
  findings: Findings,
): Promise<void> {
  const path = join(topicDirectory, TOPIC_FILE);
  await checkVersioned(fileSystem, path, findings, ({ topicId }) => {
    if (typeof topicId !== 'string') return 'it does not say which incarnation of the topic this is';
    if (expectedId === undefined || topicId === expectedId) return undefined;
    return `this is incarnation ${topicId} of the topic, and the one that is known is ${expectedId}`;
  });
}

async function checkVersioned(
  fileSystem: FileSystem,
  path: string,
  findings: Findings,
  problemOf: (fields: Readonly<Record<string, unknown>>) => string | undefined,
): Promise<void> {
  const content = await readJsonFile(fileSystem, path);
  if (content === undefined) return;
  await parsed(path, findings, async () => {
    const fields = asFields(content);
    refuseNewer(fields?.['formatVersion'], path);
    if (fields === undefined) return undefined;
    const problem = problemOf(fields);
    if (problem !== undefined) findings.error('small-file', { path }, problem);
    return fields;
  });
}

/** Undefined, and told, when the file says nothing or is of a newer format. */
export async function parsed<Content>(
  path: string,
  findings: Findings,
  read: () => Promise<Content | undefined>,
): Promise<Content | undefined> {
  try {
    const content = await read();
    // A power failure right behind a stop may leave an empty checkpoint, and the next opening ignores it.
    if (content === undefined) {
      const isHelpful = path.endsWith(CHECKPOINT_FILE);
      if (isHelpful) findings.warning('small-file', { path }, 'it cannot be read, and is ignored');
      else findings.error('small-file', { path }, 'it cannot be read');
    }
    return content;
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'format') throw error;
    findings.error('format', { path }, error.message);
    return undefined;
  }
}

function isEpochStarts(value: unknown): value is readonly EpochStart[] {
  if (!Array.isArray(value)) return false;
  let before: EpochStart = [-1, -1];
  for (const entry of value as unknown[]) {
    if (!Array.isArray(entry) || entry.length !== 2 || !isOffset(entry[0]) || !isOffset(entry[1]))
      return false;
    if (entry[0] <= before[0] || entry[1] < before[1]) return false;
    before = [entry[0], entry[1]];
  }
  return true;
}
