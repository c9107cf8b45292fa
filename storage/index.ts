// What the store gives to the rest of the program: import from here and from no other file of this folder.
export { BatchCursor, type RecordRange } from './batch-cursor.ts';
export type { BatchOptions } from './batch-frame.ts';
export type { BatchWriter } from './batch-writer.ts';
export type { Append, Commit } from './commit-group.ts';
export type { NodeIdentity } from './data-directory.ts';
export type { Clock, Log, Random, Timer } from './environment.ts';
export { StorageError, type StorageErrorCode } from './errors.ts';
export { type FileSystem, nodeFileSystem, type OpenFile } from './file-system.ts';
export { Histogram } from './histogram.ts';
export type { IndexDatabase } from './index-database.ts';
export { type CutPlan, cutLog, planCut } from './inspection-cut.ts';
export {
  type DumpedBatch,
  type DumpedFrame,
  type DumpedPair,
  type DumpedRecord,
  dumpFrames,
  segmentFilesIn,
} from './inspection-dump.ts';
export { type Finding, Findings, type InspectionTotals, noTotals } from './inspection-findings.ts';
export { openInspectedIndex } from './inspection-index.ts';
export { checkNodeFile, checkTopicFile } from './inspection-small-files.ts';
export {
  findInspectionTarget,
  type InspectedLog,
  type InspectionTarget,
  parseLogSelection,
} from './inspection-targets.ts';
export { findTopicsOnDisk, type TopicOnDisk } from './inspection-topics.ts';
export { verifyLog } from './inspection-verify.ts';
export { DEFAULT_LOG_CONFIG, type LogConfig } from './log-config.ts';
export type { BatchPosition, SegmentView } from './log-reads.ts';
export {
  type BufferUse,
  type LogStore,
  openLogStore,
  type PartitionOptions,
} from './log-store.ts';
export {
  counterKeyOf,
  type MetaChange,
  type MetaCondition,
  type MetaEntry,
  type MetaStore,
  type MetaTransaction,
  type MetaWatch,
  openMetaStore,
  type TransactResult,
} from './meta-store.ts';
export type { PartitionLog } from './partition-log.ts';
export {
  type StateLog,
  type StatePartitionState,
  type StateRecord,
  StateTable,
  type StateTableOptions,
} from './state-table.ts';
export type { StoreCounters } from './store-counters.ts';
export type { LogStoreOptions } from './store-options.ts';
export type { TimestampedOffset } from './time-lookup.ts';
