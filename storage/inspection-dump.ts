// Every frame of a file as plain values, the ones that cannot be read included: for `polylog log dump`. Integers of 64
// bits are bigint, so that whatever stands in a file comes out as it is.
import { join } from 'node:path';
import { storageErrorOf } from './errors.ts';
import { parseSegmentFileName } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import {
  BATCH_ATTRIBUTES_AT,
  BATCH_BASE_SEQUENCE_AT,
  BATCH_CHECKSUM_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_FRAME_BYTES,
  BATCH_LAST_OFFSET_DELTA_AT,
  BATCH_LEADER_EPOCH_AT,
  BATCH_MAX_TIMESTAMP_AT,
  BATCH_PRODUCER_EPOCH_AT,
  BATCH_PRODUCER_ID_AT,
  BATCH_RECORD_COUNT_AT,
  BATCH_VERSION_AT,
  batchBaseOffsetAt,
  batchLastOffsetAt,
  FRAME_METADATA_LEN_AT,
  FRAME_TOTAL_LEN_AT,
  readInt64,
} from './frame.ts';
import { type InspectedBatch, inspectBatches } from './inspection-batches.ts';
import { batchFrameProblem, type PairListener, RecordFrame } from './inspection-frames.ts';

export interface DumpedBatch {
  readonly kind: 'batch';
  /** Of the frame in its file. */
  readonly position: number;
  readonly offset: bigint;
  readonly totalLength: number;
  readonly metadataLength: number;
  readonly formatVersion: number;
  readonly checksum: number;
  readonly attributes: number;
  readonly recordCount: number;
  /** Of the whole batch. */
  readonly byteLength: number;
  readonly lastOffsetDelta: number;
  readonly firstTimestampMs: bigint;
  readonly maxTimestampMs: bigint;
  readonly leaderEpoch: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

/** Buffers are views that are valid until the next frame is asked for. */
export interface DumpedRecord {
  readonly kind: 'record';
  readonly position: number;
  readonly offset: bigint;
  readonly totalLength: number;
  readonly metadataLength: number;
  readonly protocolDataLength: number;
  readonly dataLength: number;
  readonly flags: number;
  readonly timestampMs: bigint;
  readonly key: Buffer | null;
  readonly headers: readonly DumpedPair[];
  readonly sourceAttributes: readonly DumpedPair[];
  readonly value: Buffer | null;
}

export type DumpedPair = readonly [name: Buffer, value: Buffer | null];

/** Bytes that are no frame, or one that breaks the grammar. */
export interface DumpedDamage {
  readonly kind: 'damage';
  readonly position: number;
  readonly byteLength: number;
  readonly reason: string;
  /** Whether the file ends with it. */
  readonly endsFile: boolean;
}

export type DumpedFrame = DumpedBatch | DumpedRecord | DumpedDamage;

export interface DumpRange {
  /** Records below it, and batches that end below it, are left out. */
  readonly fromOffset: number;
  /** The first batch that begins here or above ends the file. */
  readonly toOffset: number;
}

/** Segment files of a partition's directory in the order of their names' offsets. @throws StorageError io */
export async function segmentFilesIn(
  fileSystem: FileSystem,
  directory: string,
): Promise<readonly { readonly path: string; readonly baseOffset: number }[]> {
  try {
    const files = (await fileSystem.readdir(directory)).flatMap((name) => {
      const parsed = parseSegmentFileName(name);
      return parsed === undefined ? [] : { path: join(directory, name), ...parsed };
    });
    return files.sort((a, b) => a.baseOffset - b.baseOffset || a.leaderEpoch - b.leaderEpoch);
  } catch (error) {
    throw storageErrorOf(error, `reading ${directory}`);
  }
}

/** @throws StorageError io */
export async function* dumpFrames(
  fileSystem: FileSystem,
  path: string,
  { fromOffset, toOffset }: DumpRange,
): AsyncGenerator<DumpedFrame, void, undefined> {
  const record = new RecordFrame();
  try {
    const { size } = await fileSystem.stat(path);
    for await (const part of inspectBatches(fileSystem, path, size)) {
      if (part.kind === 'damage') {
        const { position, byteLength, verdict, endsFile } = part;
        yield { kind: 'damage', position, byteLength, endsFile, reason: DAMAGE[verdict] };
        continue;
      }
      const { view, at } = part;
      if (batchLastOffsetAt(view, at) < fromOffset) continue;
      if (batchBaseOffsetAt(view, at) >= toOffset) return;
      const problem = batchFrameProblem(view, at);
      if (problem !== undefined) yield damage(part, at, BATCH_FRAME_BYTES, problem);
      yield batchOf(part);
      yield* recordsOf(part, record, fromOffset, toOffset);
    }
  } catch (error) {
    throw storageErrorOf(error, `reading ${path}`);
  }
}

/** What the verdicts on a batch mean, in words. */
export const DAMAGE = {
  bad: 'no batch begins here, or its bytes have changed',
  short: 'the file ends within a batch',
  room: 'zeros to the end of the file: room for batches to come, of a hub that runs or was killed',
  newer: 'a batch in a newer format than this version reads',
} as const;

function* recordsOf(
  batch: InspectedBatch,
  record: RecordFrame,
  fromOffset: number,
  toOffset: number,
): Generator<DumpedFrame, void, undefined> {
  const { view } = batch;
  const end = batch.at + batch.byteLength;
  for (let at = batch.at + BATCH_FRAME_BYTES; at < end; at += record.byteLength) {
    const problem = record.problem(view, at, end);
    if (problem !== undefined) {
      yield damage(batch, at, record.byteLength === 0 ? end - at : record.byteLength, problem);
      if (record.byteLength === 0) return;
      continue;
    }
    const offset = readInt64(view, at);
    if (offset >= fromOffset && offset < toOffset) yield dumpedRecord(batch, at, record);
  }
}

function batchOf({ view, at, position, byteLength }: InspectedBatch): DumpedBatch {
  return {
    kind: 'batch',
    position,
    offset: view.getBigUint64(at),
    totalLength: view.getUint32(at + FRAME_TOTAL_LEN_AT),
    metadataLength: view.getUint32(at + FRAME_METADATA_LEN_AT),
    formatVersion: view.getUint8(at + BATCH_VERSION_AT),
    checksum: view.getUint32(at + BATCH_CHECKSUM_AT),
    attributes: view.getUint16(at + BATCH_ATTRIBUTES_AT),
    recordCount: view.getUint32(at + BATCH_RECORD_COUNT_AT),
    byteLength,
    lastOffsetDelta: view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT),
    firstTimestampMs: view.getBigInt64(at + BATCH_FIRST_TIMESTAMP_AT),
    maxTimestampMs: view.getBigInt64(at + BATCH_MAX_TIMESTAMP_AT),
    leaderEpoch: view.getUint32(at + BATCH_LEADER_EPOCH_AT),
    producerId: view.getBigInt64(at + BATCH_PRODUCER_ID_AT),
    producerEpoch: view.getInt16(at + BATCH_PRODUCER_EPOCH_AT),
    baseSequence: view.getInt32(at + BATCH_BASE_SEQUENCE_AT),
  };
}

function dumpedRecord(batch: InspectedBatch, at: number, record: RecordFrame): DumpedRecord {
  const { bytes, view } = batch;
  const slice = (start: number, end: number): Buffer => bytes.subarray(start, end);
  const sliceOrNull = (start: number, end: number): Buffer | null => (start < 0 ? null : slice(start, end));
  const pairsInto =
    (pairs: DumpedPair[]): PairListener =>
    (nameStart, nameEnd, valueStart, valueEnd) => {
      pairs.push([slice(nameStart, nameEnd), sliceOrNull(valueStart, valueEnd)]);
    };
  const headers: DumpedPair[] = [];
  record.headers(pairsInto(headers));
  const sourceAttributes: DumpedPair[] = [];
  record.attributes(pairsInto(sourceAttributes));
  return {
    kind: 'record',
    position: batch.position + at - batch.at,
    offset: view.getBigUint64(at),
    totalLength: record.totalLength,
    metadataLength: record.metadataLength,
    protocolDataLength: record.protocolDataLength,
    dataLength: record.dataLength,
    flags: record.flags,
    timestampMs: view.getBigInt64(record.timestampAt),
    key: sliceOrNull(record.keyStart, record.keyEnd),
    headers,
    sourceAttributes,
    value: sliceOrNull(record.valueStart, record.valueEnd),
  };
}

function damage(batch: InspectedBatch, at: number, byteLength: number, reason: string): DumpedDamage {
  return { kind: 'damage', position: batch.position + at - batch.at, byteLength, reason, endsFile: false };
}
