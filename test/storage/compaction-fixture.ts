// Logs for tests of compaction: small segments, verbs for records by key, and what is left afterwards.
import { BatchCursor } from '../../storage/batch-cursor.ts';
import type { BatchOptions } from '../../storage/batch-frame.ts';
import type { FileSystem } from '../../storage/file-system.ts';
import type { LogConfig } from '../../storage/log-config.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  type StoreFixture,
  type TestRecord,
} from '../helpers/store-fixture.ts';

export const LOG_DIRECTORY = `/data/topics/${PARTITION.topic}/${PARTITION.partition}`;

/** All that is closed is compacted in each round, tombstones are kept for an hour. */
export const COMPACTS: Partial<LogConfig> = {
  deletes: false,
  compacts: true,
  segmentBytes: 400,
  minCleanableDirtyRatio: 0,
  deleteRetentionMs: 3_600_000,
};

/** A disk on which one log is opened again and again. */
export class CompactedDisk {
  readonly files: FaultyFileSystem;
  readonly index: MemoryIndex;
  readonly #options: Partial<LogStoreOptions>;
  #epoch: number;
  /** How transactions ended, by the offsets of their control batches. */
  readonly #outcomes = new Map<number, string>();
  /** What the store works on now. */
  process!: FileSystem;
  fixture!: StoreFixture;
  log!: PartitionLog;

  /** @param disk one that a store with other options wrote to */
  constructor(options: Partial<LogStoreOptions> = {}, disk?: CompactedDisk) {
    this.#options = options;
    this.files = disk?.files ?? new FaultyFileSystem(['/']);
    this.index = disk?.index ?? new MemoryIndex();
    this.#epoch = disk?.log.leaderEpoch ?? 0;
  }

  async open(config: Partial<LogConfig> = {}): Promise<PartitionLog> {
    this.process = this.files.process();
    this.fixture = await openStore({
      directory: '/data',
      fileSystem: this.process,
      index: this.index,
      checkIntervalMs: 0,
      compactionBytesPerSecond: Number.POSITIVE_INFINITY,
      ...this.#options,
    });
    this.log = await this.fixture.store.openPartition({
      ...PARTITION,
      leaderEpoch: ++this.#epoch,
      config: logConfig({ ...COMPACTS, ...config }),
    });
    this.log.onCommitted = (offset) => this.log.setHighWatermark(offset);
    return this.log;
  }

  async reopen(config: Partial<LogConfig> = {}): Promise<PartitionLog> {
    await this.fixture.store.close();
    return this.open(config);
  }

  /** One batch. `key=value`, `key` alone for a tombstone, `=value` for a record without key. */
  async write(records: string, options: BatchOptions = {}): Promise<void> {
    const timestampMs = this.fixture.clock.now();
    const batch = records.split(' ').map((text) => recordOf(text, timestampMs));
    await append(this.log, batch, options).flushed;
  }

  async endTransaction(producerId: number, outcome: 'commit' | 'abort', producerEpoch = 0): Promise<void> {
    const end = { producerId, producerEpoch, aborts: outcome === 'abort', coordinatorEpoch: 0 };
    const { baseOffset, flushed } = this.log.endTransaction(end);
    this.#outcomes.set(baseOffset, outcome);
    await flushed;
  }

  /** Resolves when the small files are written that nobody waits for. */
  async settle(): Promise<void> {
    await this.log.compacted.background.settled();
  }

  async compact(): Promise<void> {
    await this.fixture.store.maintain();
  }

  /** Records as `offset:key=value`, joined. */
  async left(fromOffset = this.log.logStartOffset): Promise<string> {
    const records = await readAll(this.log, fromOffset);
    return records
      .map((each) => `${each.offset}:${this.#outcomes.get(each.offset) ?? textOf(each)}`)
      .join(' ');
  }

  /** Batches of all segments as `base-last×records`. */
  async batches(): Promise<string> {
    const found: string[] = [];
    const cursor = new BatchCursor();
    for (let offset = 0; offset < this.log.flushedOffset; ) {
      const range = await this.log.read(offset, 1 << 20, this.log.flushedOffset);
      cursor.reset(range);
      while (cursor.nextBatch()) {
        found.push(`${cursor.batchBaseOffset}-${cursor.batchLastOffset}×${cursor.batchRecordCount}`);
      }
      offset = range.nextOffset;
    }
    return found.join(' ');
  }

  /** What recovery would begin with. */
  checkpoint(): unknown {
    return JSON.parse(this.files.bytesOf(`${LOG_DIRECTORY}/recovery-checkpoint.json`).toString());
  }

  /** Names in the log's directory that end so. */
  names(suffix = '.log'): string[] {
    return this.files
      .paths()
      .filter((path) => path.startsWith(`${LOG_DIRECTORY}/`) && path.endsWith(suffix))
      .map((path) => path.slice(LOG_DIRECTORY.length + 1));
  }
}

export function recordOf(text: string, timestampMs: number): TestRecord {
  const at = text.indexOf('=');
  const key = at < 0 ? text : text.slice(0, at);
  return {
    timestampMs,
    key: key === '' ? null : Buffer.from(key),
    value: at < 0 ? null : Buffer.from(text.slice(at + 1)),
  };
}

export function textOf({ key, value }: TestRecord): string {
  return `${key ?? ''}${value === null ? '' : `=${value}`}`;
}
