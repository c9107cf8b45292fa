// A data directory with one log of so many GiB, for the benchmarks of reading and opening; and what they share.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type FileSystem, nodeFileSystem, type OpenFile } from '../../storage/file-system.ts';
import { DEFAULT_LOG_CONFIG, type PartitionLog } from '../../storage/index.ts';
import type { PartitionOptions } from '../../storage/log-store.ts';

export const RECORD_BYTES = 1024;
const GIB = 1024 ** 3;

export interface BenchOptions {
  readonly gib: number;
  readonly batchRecords: number;
  readonly partitions: number;
  readonly directory: string;
  readonly finish: () => Promise<void>;
}

/** `--gib N`, `--batch RECORDS`, `--partitions N`, `--directory DIR` (kept, and used again when it is full). */
export async function benchOptions(): Promise<BenchOptions> {
  const { values } = parseArgs({
    options: {
      gib: { type: 'string', default: '1' },
      batch: { type: 'string', default: '16' },
      partitions: { type: 'string', default: '20000' },
      directory: { type: 'string' },
    },
  });
  const directory = values.directory ?? (await mkdtemp(join(tmpdir(), 'polylog-bench-')));
  return {
    gib: Number(values.gib),
    batchRecords: Number(values.batch),
    partitions: Number(values.partitions),
    directory,
    finish: async () => {
      if (values.directory === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The leader epoch is above all earlier ones of this machine: one directory serves many runs. */
export function benchPartition(partition: number): PartitionOptions {
  return {
    topic: 'bench',
    topicId: 'bench',
    partition,
    logId: partition,
    leaderEpoch: Math.floor(Date.now() / 1000),
    config: DEFAULT_LOG_CONFIG,
  };
}

export async function fill(
  log: PartitionLog,
  { gib, batchRecords }: Pick<BenchOptions, 'gib' | 'batchRecords'>,
  report: (text: string) => void = console.log,
): Promise<void> {
  if (log.byteSize >= gib * GIB * 0.99) return;
  const source = Buffer.alloc(RECORD_BYTES);
  for (let at = 0; at < source.length; at++) source[at] = (at * 31) & 255;
  const started = performance.now();
  let timestampMs = 1_764_000_000_000;
  while (log.byteSize < gib * GIB) {
    let last: Promise<unknown> | undefined;
    for (let bytes = 0; bytes < 16 * 1024 * 1024; bytes += batchRecords * RECORD_BYTES) {
      last = log.append({ byteLengthHint: batchRecords * (RECORD_BYTES + 64) }, (writer) => {
        const at = writer.stage(source);
        for (let record = 0; record < batchRecords; record++) {
          writer.startRecord(timestampMs++, writer.staged, -1, -1, 0);
          writer.endRecord(writer.staged, at, at + RECORD_BYTES, null);
        }
      }).flushed;
    }
    const error = await last;
    if (error !== undefined) throw error;
  }
  const seconds = (performance.now() - started) / 1000;
  report(`filled with ${(log.byteSize / GIB).toFixed(2)} GiB in ${seconds.toFixed(1)} s`);
}

export function logFilesIn(directory: string, partition: number): string[] {
  const folder = join(directory, 'data/topics/bench', String(partition));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => join(folder, name));
}

export function sizeOf(directory: string): number {
  if (!existsSync(directory)) return 0;
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

/** Drops the files from the page cache (posix_fadvise by GNU dd). False where that cannot be done. */
export function dropFromCache(paths: readonly string[]): boolean {
  try {
    for (const path of paths) {
      execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none'], { stdio: 'ignore' });
    }
    return true;
  } catch {
    return false;
  }
}

/** Counts what is read through it. */
export class CountingFileSystem {
  readBytes = 0;
  reads = 0;
  /** Time in datasync, of one file at a time. */
  datasyncMs = 0;
  readonly fileSystem: FileSystem;

  constructor() {
    this.fileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => this.#counting(await nodeFileSystem.open(path, mode)),
    };
  }

  #counting(file: OpenFile): OpenFile {
    return {
      read: async (into, at, length, position) => {
        const count = await file.read(into, at, length, position);
        this.reads++;
        this.readBytes += count;
        return count;
      },
      write: (bytes, at, length, position) => file.write(bytes, at, length, position),
      datasync: async () => {
        const started = performance.now();
        await file.datasync();
        this.datasyncMs += performance.now() - started;
      },
      truncate: (size) => file.truncate(size),
      close: () => file.close(),
    };
  }
}

/** A measured figure beside its bar. */
export function judge(what: string, measured: string, bar: string, holds: boolean): void {
  console.log(`${holds ? '  ok  ' : ' MISS '} ${what}: ${measured} (bar: ${bar})`);
}
