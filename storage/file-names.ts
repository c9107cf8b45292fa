// Names of files and directories in the data directory, made and parsed. Nothing depends on the host's name.
import { join } from 'node:path';

export const NODE_FILE = 'node.json';
export const INDEX_DIRECTORY = 'index';
export const TOPICS_DIRECTORY = 'topics';
/** Topics on their way out: renamed here in one step, by topic id, then removed at leisure. */
export const DELETED_DIRECTORY = 'deleted';
/** What lay where a topic belongs but is another: kept, never read. */
export const SET_ASIDE_DIRECTORY = 'set-aside';
export const TOPIC_FILE = 'topic.json';
export const MANIFEST_FILE = 'manifest.json';
export const CHECKPOINT_FILE = 'recovery-checkpoint.json';
export const LEADER_EPOCHS_FILE = 'leader-epochs.json';
export const COMPACTION_CHECKPOINT_FILE = 'compaction-checkpoint.json';
export const PRODUCER_SNAPSHOT_FILE = 'producer-state.snapshot';

const CLEANED_SUFFIX = '.cleaned';
const SEGMENT_NAME = /^([0-9a-f]{8})-([0-9]{20})\.log$/;
const CUT_NAME = /^([0-9a-f]{8}-[0-9]{20}\.log)\.([0-9]{1,16})\.cut$/;

export interface SegmentName {
  readonly leaderEpoch: number;
  readonly baseOffset: number;
}

/** `{leaderEpoch:08x}-{baseOffset:020d}.log`: names sort as the offsets do. */
export function segmentFileName(leaderEpoch: number, baseOffset: number): string {
  return `${leaderEpoch.toString(16).padStart(8, '0')}-${String(baseOffset).padStart(20, '0')}.log`;
}

/** Undefined for every other name, and for offsets above 2^53. */
export function parseSegmentFileName(name: string): SegmentName | undefined {
  const match = SEGMENT_NAME.exec(name);
  if (match === null) return undefined;
  const leaderEpoch = Number.parseInt(match[1]!, 16);
  const baseOffset = Number(match[2]);
  return Number.isSafeInteger(baseOffset) ? { leaderEpoch, baseOffset } : undefined;
}

/** A segment that compaction is writing: not of the log before it takes the place of others under the first one's name. */
export function cleanedFileName(segmentName: string): string {
  return `${segmentName}${CLEANED_SUFFIX}`;
}

/** Whether it is what compaction left when it was interrupted. */
export function isCleanedFileName(name: string): boolean {
  return name.endsWith(`.log${CLEANED_SUFFIX}`);
}

/** Where the bytes are kept that recovery cut from a segment at `position`. */
export function cutFileName(segmentName: string, position: number): string {
  return `${segmentName}.${position}.cut`;
}

/** Undefined for every other name. */
export function parseCutFileName(name: string): (SegmentName & { readonly position: number }) | undefined {
  const match = CUT_NAME.exec(name);
  const segment = match === null ? undefined : parseSegmentFileName(match[1]!);
  return segment === undefined ? undefined : { ...segment, position: Number(match![2]) };
}

export function topicDirectory(dataDirectory: string, topic: string): string {
  return join(dataDirectory, TOPICS_DIRECTORY, topic);
}

export function partitionDirectory(dataDirectory: string, topic: string, partition: number): string {
  return join(topicDirectory(dataDirectory, topic), String(partition));
}
