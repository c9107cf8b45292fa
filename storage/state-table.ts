// Keyed state over partition logs: decide → record → apply. What a table holds in memory is made by one function,
// `apply`, that runs for each committed record in offset order, whether the partition is being replayed at the
// start or written to live. So memory never shows what is not on disk, and a failed write leaves no trace in it.
//
// A partition of a table is `loading` while it is replayed, then `serving`, and `gone` before and after. Each
// loads and unloads alone, as its log comes to this node and leaves it.
import { BatchCursor, type RecordRange } from './batch-cursor.ts';
import type { BatchOptions } from './batch-frame.ts';
import type { BatchWriter } from './batch-writer.ts';
import type { Append } from './commit-group.ts';
import type { Clock, Log } from './environment.ts';
import { assert, StorageError, storageErrorOf } from './errors.ts';

export type StatePartitionState = 'loading' | 'serving' | 'gone';

export interface StateRecord {
  readonly key: Uint8Array;
  /** null = tombstone. */
  readonly value: Uint8Array | null;
}

/** A record as it was read back: its bytes are the reader's own. */
export interface StoredStateRecord {
  readonly key: Buffer;
  readonly value: Buffer | null;
}

export type OnStateRecord = (key: Buffer, value: Buffer | null, offset: number) => void;

/** What a table needs from the log of a partition. */
export interface StateLog {
  readonly logStartOffset: number;
  readonly highWatermark: number;
  append(options: BatchOptions, fill: (writer: BatchWriter) => void): Append;
  read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange>;
}

export interface StateTableOptions {
  /** For messages. */
  readonly name: string;
  readonly partitions: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Key and value are the callee's to keep. */
  apply(partition: number, key: Buffer, value: Buffer | null, offset: number, timestampMs: number): void;
  onState?(partition: number, state: StatePartitionState): void;
}

const READ_BYTES = 1024 * 1024;
/** The batch of one record comes back whole, however large; those behind it are not wanted. */
const READ_ONE_BYTES = 1;
const EMPTY = new Uint8Array(0);

export class StateTable {
  readonly #partitions: StatePartition[];

  constructor(options: StateTableOptions) {
    this.#partitions = Array.from(
      { length: options.partitions },
      (_, partition) => new StatePartition(options, partition),
    );
  }

  /**
   * Replays the partition from its log; resolves when it serves. A partition that serves from another opening of the
   * same log goes on from where it is: what was applied was committed, and is there. Throws StorageError, and then it
   * is `gone`.
   */
  load(partition: number, log: StateLog): Promise<void> {
    return this.#at(partition).load(log);
  }

  /** Refuses what is being written; the owner drops what `apply` made. */
  unload(partition: number): void {
    this.#at(partition).unload();
  }

  stateOf(partition: number): StatePartitionState {
    return this.#at(partition).state;
  }

  /**
   * Appends the records as one batch. Resolves after they are flushed and applied, or with why they were not
   * taken (`closed` while the partition is not serving). Never rejects.
   */
  write(partition: number, records: readonly StateRecord[]): Promise<StorageError | undefined> {
    return this.#at(partition).write(records);
  }

  /**
   * The record that stands at an offset; undefined when there is none any more. Rejects with StorageError, `closed`
   * while the partition is not serving.
   */
  read(partition: number, offset: number): Promise<StoredStateRecord | undefined> {
    return this.#at(partition).read(offset);
  }

  /**
   * Hands over the records of a stretch of the log, in their order, also those that later ones have taken the place of.
   * @param onRecord must not await; key and value are views of memory that is used again when it has returned
   * @returns where to read on: the high watermark when there is nothing more. Rejects as {@link read} does, and with what
   * `onRecord` throws.
   */
  scan(partition: number, fromOffset: number, maxBytes: number, onRecord: OnStateRecord): Promise<number> {
    return this.#at(partition).scan(fromOffset, maxBytes, onRecord);
  }

  /** To be called when the high watermark of the partition's log moved. */
  advance(partition: number): void {
    this.#at(partition).advance();
  }

  #at(partition: number): StatePartition {
    const found = this.#partitions[partition];
    assert(found !== undefined, `partition ${partition} of ${this.#partitions.length}`);
    return found;
  }
}

/** A write whose records end before `endOffset`. */
interface Waiter {
  readonly endOffset: number;
  readonly resolve: (error: StorageError | undefined) => void;
}

class StatePartition {
  state: StatePartitionState = 'gone';
  readonly #options: StateTableOptions;
  readonly #partition: number;
  readonly #cursor = new BatchCursor();
  #log: StateLog | undefined;
  /** Everything below is applied. */
  #nextOffset = 0;
  #applying = false;
  /** In offset order, for appends are. */
  #waiters: Waiter[] = [];

  constructor(options: StateTableOptions, partition: number) {
    this.#options = options;
    this.#partition = partition;
  }

  async load(log: StateLog): Promise<void> {
    if (this.state === 'loading') this.unload(); // from a log that is closed
    this.#log = log;
    if (this.state === 'serving') {
      this.advance();
      return;
    }
    this.#nextOffset = log.logStartOffset;
    this.#become('loading');
    const error = await this.#applyCommitted(log);
    if (this.#log !== log) throw new StorageError('closed', `${this.#name} was unloaded while loading`);
    if (error !== undefined) {
      this.unload();
      throw error;
    }
    this.#become('serving');
  }

  unload(): void {
    if (this.state === 'gone') return;
    this.#log = undefined;
    this.#become('gone');
    this.#refuseWaiters(Number.POSITIVE_INFINITY, new StorageError('closed', `${this.#name} was unloaded`));
  }

  write(records: readonly StateRecord[]): Promise<StorageError | undefined> {
    const log = this.#log;
    if (log === undefined || this.state !== 'serving') {
      return Promise.resolve(new StorageError('closed', `${this.#name} is ${this.state}`));
    }
    if (records.length === 0) return Promise.resolve(undefined);
    const timestampMs = this.#options.clock.now();
    let append: Append;
    try {
      append = log.append({}, (writer) => writeRecords(writer, records, timestampMs));
    } catch (error) {
      return Promise.resolve(storageErrorOf(error, `append to ${this.#name}`));
    }
    return this.#committedAndApplied(append, records.length);
  }

  async read(offset: number): Promise<StoredStateRecord | undefined> {
    const log = this.#serving;
    if (offset < log.logStartOffset || offset >= log.highWatermark) return undefined;
    const range = await log.read(offset, READ_ONE_BYTES, log.highWatermark);
    const found = recordAt(range, offset);
    range.release?.();
    return found;
  }

  async scan(fromOffset: number, maxBytes: number, onRecord: OnStateRecord): Promise<number> {
    const log = this.#serving;
    const offset = Math.max(fromOffset, log.logStartOffset);
    if (offset >= log.highWatermark) return log.highWatermark;
    const range = await log.read(offset, maxBytes, log.highWatermark);
    try {
      assert(range.nextOffset > offset, `${this.#name} reads on from ${offset}`);
      forEachRecord(range, offset, onRecord);
    } finally {
      range.release?.();
    }
    return range.nextOffset;
  }

  /** @throws StorageError closed */
  get #serving(): StateLog {
    if (this.#log === undefined || this.state !== 'serving') {
      throw new StorageError('closed', `${this.#name} is ${this.state}`);
    }
    return this.#log;
  }

  advance(): void {
    const log = this.#log;
    if (log === undefined || this.#applying || this.state !== 'serving') return;
    this.#applyCommitted(log).then((error) => {
      if (this.#log !== log) this.advance();
      if (error === undefined) return;
      // The records are on disk but memory does not show them yet; the next advance reads them again.
      this.#options.log.error('state-not-applied', { table: this.#name, error });
      this.#refuseWaiters(log.highWatermark, error);
    });
  }

  #committedAndApplied(append: Append, recordCount: number): Promise<StorageError | undefined> {
    const endOffset = append.baseOffset + recordCount;
    return new Promise((resolve) => {
      const waiter: Waiter = { endOffset, resolve };
      this.#waiters.push(waiter);
      append.flushed.then((error) => {
        if (error === undefined) return;
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve(error);
      });
    });
  }

  /** Applies up to the high watermark, wherever that moves meanwhile. One at a time. */
  async #applyCommitted(log: StateLog): Promise<StorageError | undefined> {
    this.#applying = true;
    try {
      while (this.#log === log && this.#nextOffset < log.highWatermark) {
        const range = await log.read(this.#nextOffset, READ_BYTES, log.highWatermark);
        if (this.#log !== log) break;
        assert(range.nextOffset > this.#nextOffset, `${this.#name} reads on from ${this.#nextOffset}`);
        this.#applyRange(range);
        range.release?.();
        this.#nextOffset = range.nextOffset;
        this.#answerWaiters();
      }
      return undefined;
    } catch (error) {
      return storageErrorOf(error, `read ${this.#name}`);
    } finally {
      this.#applying = false;
    }
  }

  #applyRange(range: RecordRange): void {
    const cursor = this.#cursor;
    cursor.reset(range);
    while (cursor.nextBatch()) {
      if (cursor.batchIsControl) continue;
      while (cursor.nextRecord()) this.#applyRecord(cursor);
    }
  }

  #applyRecord(cursor: BatchCursor): void {
    const { offset, timestampMs } = cursor;
    if (cursor.keyStart < 0) {
      this.#options.log.warn('state-record-without-key', { table: this.#name, offset });
      return;
    }
    const { key, value } = copyRecord(cursor);
    try {
      this.#options.apply(this.#partition, key, value, offset, timestampMs);
    } catch (error) {
      // One record that its reader does not understand must not keep all others from being served.
      this.#options.log.error('state-record-refused', { table: this.#name, offset, error });
    }
  }

  #answerWaiters(): void {
    while (this.#waiters.length > 0 && this.#waiters[0]!.endOffset <= this.#nextOffset) {
      this.#waiters.shift()!.resolve(undefined);
    }
  }

  /** Those whose records are below `offset`: the others still wait for the disk. */
  #refuseWaiters(offset: number, error: StorageError): void {
    const refused = this.#waiters.filter((waiter) => waiter.endOffset <= offset);
    this.#waiters = this.#waiters.filter((waiter) => waiter.endOffset > offset);
    for (const waiter of refused) waiter.resolve(error);
  }

  #become(state: StatePartitionState): void {
    this.state = state;
    this.#options.onState?.(this.#partition, state);
  }

  get #name(): string {
    return `${this.#options.name}-${this.#partition}`;
  }
}

/** Its own cursor: a read may come while the partition applies what it was given. */
function recordAt(range: RecordRange, offset: number): StoredStateRecord | undefined {
  const cursor = new BatchCursor();
  cursor.reset(range);
  while (cursor.nextBatch()) {
    if (cursor.batchIsControl || cursor.batchLastOffset < offset) continue;
    while (cursor.nextRecord()) {
      if (cursor.offset === offset && cursor.keyStart >= 0) return copyRecord(cursor);
    }
  }
  return undefined;
}

function forEachRecord(range: RecordRange, fromOffset: number, onRecord: OnStateRecord): void {
  const cursor = new BatchCursor();
  cursor.reset(range);
  while (cursor.nextBatch()) {
    if (cursor.batchIsControl) continue;
    while (cursor.nextRecord()) {
      const { bytes, keyStart, keyEnd, valueStart, valueEnd, offset } = cursor;
      if (offset < fromOffset || keyStart < 0) continue;
      const value = valueStart < 0 ? null : bytes.subarray(valueStart, valueEnd);
      onRecord(bytes.subarray(keyStart, keyEnd), value, offset);
    }
  }
}

/** Copies: the range's bytes are reused by the log's caches, and whoever gets a record keeps it. */
function copyRecord(cursor: BatchCursor): StoredStateRecord {
  const { bytes, keyStart, keyEnd, valueStart, valueEnd } = cursor;
  return {
    key: Buffer.from(bytes.subarray(keyStart, keyEnd)),
    value: valueStart < 0 ? null : Buffer.from(bytes.subarray(valueStart, valueEnd)),
  };
}

function writeRecords(writer: BatchWriter, records: readonly StateRecord[], timestampMs: number): void {
  for (const { key, value } of records) {
    writer.startRecord(timestampMs, key, 0, key.length, 0);
    if (value === null) writer.endRecord(EMPTY, -1, -1, null);
    else writer.endRecord(value, 0, value.length, null);
  }
}
