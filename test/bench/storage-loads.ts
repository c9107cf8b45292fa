// Appends to a log and reads of it as loads that several measurements put to a store, and the same bytes in plain Node.
import { execFileSync } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { DEFAULT_LOG_CONFIG, type LogStore, type PartitionLog } from '../../storage/index.ts';
import type { PartitionOptions } from '../../storage/log-store.ts';

const MIB = 1024 * 1024;
const RECORD_BYTES = 100;
const RECORDS_MAX = 100;
const source = Buffer.alloc(RECORD_BYTES * RECORDS_MAX, 'x');

export const partitionOf = (partition: number, leaderEpoch = 1): PartitionOptions => ({
  ...{ topic: 'bench', topicId: 'bench', partition, logId: partition, leaderEpoch },
  config: DEFAULT_LOG_CONFIG,
});

function appendBatch(log: PartitionLog, records: number): Promise<unknown> {
  return log.append({ byteLengthHint: 100 + records * 160 }, (writer) => {
    const delta = records > 4 ? writer.stage(source) : 0;
    const from = records > 4 ? writer.staged : source;
    for (let at = delta; at < delta + records * RECORD_BYTES; at += RECORD_BYTES) {
      writer.startRecord(1_764_000_000_000, from, -1, -1, 0);
      writer.endRecord(from, at, at + RECORD_BYTES, null);
    }
  }).flushed;
}

export interface Appends {
  /** Each waits for its own. */
  readonly appenders: number;
  /** Of 100 bytes, in a batch. */
  readonly records: number;
  readonly durationMs: number;
}

export interface Appended {
  readonly seconds: number;
  readonly batches: number;
  readonly bytes: number;
  readonly flushes: number;
}

export async function appendFor(store: LogStore, log: PartitionLog, appends: Appends): Promise<Appended> {
  const { appenders, records, durationMs } = appends;
  const before = { ...store.counters };
  const startedMs = performance.now();
  const untilMs = startedMs + durationMs;
  await Promise.all(
    Array.from({ length: appenders }, async () => {
      while (performance.now() < untilMs) await appendBatch(log, records);
    }),
  );
  return {
    seconds: (performance.now() - startedMs) / 1_000,
    batches: store.counters.flushedBatches - before.flushedBatches,
    bytes: store.counters.appendedBytes - before.appendedBytes,
    flushes: store.counters.flushes - before.flushes,
  };
}

/** Writes a block, flushes it, writes the next behind it. @returns what was written and in which time */
export async function plainWritesFor(
  file: FileHandle,
  blockBytes: number,
  durationMs: number,
): Promise<Pick<Appended, 'seconds' | 'bytes'>> {
  const block = Buffer.alloc(blockBytes, 'x');
  const startedMs = performance.now();
  let bytes = (await file.stat()).size;
  const first = bytes;
  while (performance.now() < startedMs + durationMs) {
    await file.write(block, 0, block.length, bytes);
    await file.datasync();
    bytes += block.length;
  }
  return { seconds: (performance.now() - startedMs) / 1_000, bytes: bytes - first };
}

// Reads of all of it, once; milliseconds.

export function catFiles(paths: readonly string[]): number {
  const startedMs = performance.now();
  execFileSync('sh', ['-c', 'cat "$@" > /dev/null', 'sh', ...paths]);
  return performance.now() - startedMs;
}

export async function plainReads(paths: readonly string[]): Promise<number> {
  const bytes = Buffer.alloc(MIB);
  const startedMs = performance.now();
  for (const path of paths) {
    const file = await open(path, 'r');
    for (let position = 0; ; ) {
      const { bytesRead } = await file.read(bytes, 0, bytes.length, position);
      if (bytesRead === 0) break;
      position += bytesRead;
    }
    await file.close();
  }
  return performance.now() - startedMs;
}

/** @param withRecords each of them is stepped to */
export async function logReads(log: PartitionLog, maxBytes: number, withRecords: boolean): Promise<number> {
  const cursor = new BatchCursor();
  const end = log.flushedOffset;
  const startedMs = performance.now();
  for (let offset = log.logStartOffset; offset < end; ) {
    const range = log.readCached(offset, maxBytes, end) ?? (await log.read(offset, maxBytes, end));
    if (withRecords) {
      cursor.reset(range);
      while (cursor.nextBatch()) while (cursor.nextRecord());
    }
    range.release?.();
    offset = range.nextOffset;
  }
  return performance.now() - startedMs;
}

/** Milliseconds of so many reads by offset at random places, one after the other, sorted. */
export async function randomReads(log: PartitionLog, count: number): Promise<number[]> {
  const end = log.flushedOffset;
  const timesMs: number[] = [];
  for (let read = 0; read < count; read++) {
    const offset = Math.floor(Math.random() * end);
    const startedMs = performance.now();
    const range = await log.read(offset, 1, end);
    timesMs.push(performance.now() - startedMs);
    if (range.nextOffset <= offset) throw new Error(`nothing at ${offset}`);
    range.release?.();
  }
  return timesMs.sort((one, other) => one - other);
}
