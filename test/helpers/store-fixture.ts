// A store for tests: on a temporary directory or a faulty file system, with a clock that tests move, and small verbs
// to append and to read.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchCursor, type RecordRange } from '../../storage/batch-cursor.ts';
import type { BatchOptions } from '../../storage/batch-frame.ts';
import type { BatchWriter } from '../../storage/batch-writer.ts';
import type { Append } from '../../storage/commit-group.ts';
import type { Clock, Log } from '../../storage/environment.ts';
import type { IndexDatabase, IndexRow } from '../../storage/index-database.ts';
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../storage/log-config.ts';
import { type LogStore, openLogStore } from '../../storage/log-store.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';

export interface TestRecord {
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: readonly (readonly [name: string, value: Buffer | null])[];
}

export interface ReadRecord extends TestRecord {
  readonly offset: number;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

export interface LogEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: object | undefined;
}

/** Keeps what is reported. */
export class TestLog implements Log {
  readonly events: LogEvent[] = [];

  debug(event: string, fields?: object): void {
    this.events.push({ level: 'debug', event, fields });
  }
  info(event: string, fields?: object): void {
    this.events.push({ level: 'info', event, fields });
  }
  warn(event: string, fields?: object): void {
    this.events.push({ level: 'warn', event, fields });
  }
  error(event: string, fields?: object): void {
    this.events.push({ level: 'error', event, fields });
  }

  named(event: string): LogEvent[] {
    return this.events.filter((each) => each.event === event);
  }
}

/** Stands still until it is moved. */
export class TestClock implements Clock {
  #nowMs = 1_764_000_000_000;
  /** What the wall clock is wrong by. */
  skewMs = 0;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#nowMs + this.skewMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((each) => each !== timer);
      },
    };
  }

  advance(byMs: number): void {
    this.#nowMs += byMs;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { callback } of due) callback();
  }
}

/** An index in memory; survives closing, like a database on a disk, and is never flushed, like one. */
export class MemoryIndex implements IndexDatabase {
  /** By key, as a string whose order is that of the bytes. In order of insertion. */
  #values = new Map<string, Buffer>();
  #sorted: string[] | undefined;
  /** What was there when the machine last started, and what was done since. */
  #durable = new Map<string, Buffer>();
  #changes: ((values: Map<string, Buffer>) => void)[] = [];

  async put(rows: readonly IndexRow[]): Promise<void> {
    this.#change((values) => {
      for (const { key, value } of rows) values.set(key.toString('latin1'), value);
    });
  }

  async get(key: Buffer): Promise<Buffer | undefined> {
    return this.#values.get(key.toString('latin1'));
  }

  async getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    return keys.map((key) => this.#values.get(key.toString('latin1')));
  }

  async floor(low: Buffer, high: Buffer): Promise<IndexRow | undefined> {
    const [lowest, highest] = [low.toString('latin1'), high.toString('latin1')];
    this.#sorted ??= [...this.#values.keys()].sort();
    const name = this.#sorted.findLast((each) => each <= highest);
    if (name === undefined || name < lowest) return undefined;
    return { key: Buffer.from(name, 'latin1'), value: this.#values.get(name)! }; // both hold the same keys
  }

  async clear(low: Buffer, high: Buffer): Promise<void> {
    const [lowest, highest] = [low.toString('latin1'), high.toString('latin1')];
    this.#change((values) => {
      for (const name of values.keys()) {
        if (name >= lowest && name <= highest) values.delete(name);
      }
    });
  }

  async close(): Promise<void> {}

  /** Keeps the rows that were put first: a database that is never flushed loses the last ones. */
  forgetAfter(count: number): void {
    this.#restart(new Map([...this.#values].slice(0, count)));
  }

  /** The machine stops: the first changes since it started are kept, the others, removals too, never happened. */
  crash(random: () => number): void {
    const values = new Map(this.#durable);
    const kept = Math.floor(random() * (this.#changes.length + 1));
    for (const change of this.#changes.slice(0, kept)) change(values);
    this.#restart(values);
  }

  get size(): number {
    return this.#values.size;
  }

  /** Copies of all rows, in the order of their keys. */
  rows(): IndexRow[] {
    return [...this.#values]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => ({ key: Buffer.from(name, 'latin1'), value: Buffer.from(value) }));
  }

  /** Has these rows and no others from now on. */
  restore(rows: readonly IndexRow[]): void {
    this.#restart(new Map(rows.map(({ key, value }) => [key.toString('latin1'), Buffer.from(value)])));
  }

  #change(change: (values: Map<string, Buffer>) => void): void {
    change(this.#values);
    this.#sorted = undefined;
    this.#changes.push(change);
  }

  #restart(values: Map<string, Buffer>): void {
    this.#values = values;
    this.#durable = new Map(values);
    this.#changes = [];
    this.#sorted = undefined;
  }
}

/** Tests say what they care about; segments are small. */
export function logConfig(config: Partial<LogConfig>): LogConfig {
  return { ...DEFAULT_LOG_CONFIG, segmentBytes: 1 << 20, ...config };
}

export const PARTITION = {
  topic: 'events',
  topicId: 'incarnation-1',
  partition: 0,
  logId: 1,
  leaderEpoch: 1,
  config: logConfig({}),
};

export interface StoreFixture {
  readonly store: LogStore;
  readonly log: TestLog;
  readonly clock: TestClock;
}

export async function openStore(
  options: Partial<LogStoreOptions> & { readonly directory: string },
): Promise<StoreFixture> {
  const log = new TestLog();
  const clock = new TestClock();
  let uuids = 0;
  const random = { uuid: () => `uuid-${++uuids}` };
  const store = await openLogStore({ nodeId: 1, clock, random, log, ...options });
  return { store, log, clock };
}

/** A directory for one test, removed after it. */
export async function withDirectory<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'polylog-store-'));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export const record = (value: string, timestampMs = 1000): TestRecord => ({
  timestampMs,
  key: null,
  value: Buffer.from(value),
});

export function write(writer: BatchWriter, { timestampMs, key, value, headers = [] }: TestRecord): void {
  const none = Buffer.alloc(0);
  writer.startRecord(timestampMs, key ?? none, key ? 0 : -1, key ? key.length : -1, headers.length);
  for (const [name, item] of headers) {
    const source = Buffer.concat([Buffer.from(name), item ?? none]);
    const nameEnd = Buffer.byteLength(name);
    writer.header(source, 0, nameEnd, item ? nameEnd : -1, item ? source.length : -1);
  }
  writer.endRecord(value ?? none, value ? 0 : -1, value ? value.length : -1, null);
}

export function append(
  log: PartitionLog,
  records: readonly TestRecord[],
  options: BatchOptions = {},
): Append {
  return log.append(options, (writer) => {
    for (const each of records) write(writer, each);
  });
}

/** The records of a range from `fromOffset` on. */
export function recordsOf(range: RecordRange, fromOffset = 0): ReadRecord[] {
  const cursor = new BatchCursor();
  cursor.reset(range);
  const records: ReadRecord[] = [];
  const slice = (start: number, end: number): Buffer | null =>
    end < 0 ? null : Buffer.from(cursor.bytes.subarray(start, end));
  while (cursor.nextBatch()) {
    while (cursor.nextRecord()) {
      const headers: [string, Buffer | null][] = [];
      while (cursor.nextHeader()) {
        const name = cursor.bytes.toString('utf8', cursor.nameStart, cursor.nameEnd);
        headers.push([name, slice(cursor.itemStart, cursor.itemEnd)]);
      }
      if (cursor.offset < fromOffset) continue;
      records.push({
        offset: cursor.offset,
        timestampMs: cursor.timestampMs,
        key: slice(cursor.keyStart, cursor.keyEnd),
        value: slice(cursor.valueStart, cursor.valueEnd),
        headers,
      });
    }
  }
  return records;
}

/** All records from `fromOffset` on, read in ranges of at most `maxBytes`. */
export async function readAll(
  log: PartitionLog,
  fromOffset = log.logStartOffset,
  maxBytes = 1 << 16,
  upTo = log.flushedOffset,
): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  for (let offset = fromOffset; offset < upTo; ) {
    const range = await log.read(offset, maxBytes, upTo);
    if (range.end === range.start) throw new Error(`an empty range at ${offset}, below ${upTo}`);
    records.push(...recordsOf(range, offset));
    offset = range.nextOffset;
  }
  return records;
}

export const valuesOf = (records: readonly TestRecord[]): (string | null)[] =>
  records.map(({ value }) => value?.toString() ?? null);

/** Codes of refusals. */
export async function codeOf(work: Promise<unknown> | (() => unknown)): Promise<string | undefined> {
  try {
    await (typeof work === 'function' ? work() : work);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error); // whatever was thrown, for comparison
  }
}
