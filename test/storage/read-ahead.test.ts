// Sequential readers of files: what is read ahead of them, within which bounds, and what becomes of readers whose
// segment leaves the log while they wait for its file.

import { describe, expect, it } from 'vitest';
import type { AbortedTransactions } from '../../storage/aborted-transactions.ts';
import { BufferPool } from '../../storage/buffer-pool.ts';
import type { FileSystem, OpenFile } from '../../storage/file-system.ts';
import { READ_AHEAD_BLOCK_BYTES, READ_AHEAD_BYTES_MAX, READ_AHEADS_MAX } from '../../storage/limits.ts';
import { LogReader } from '../../storage/log-reader.ts';
import { OffsetIndex } from '../../storage/offset-index.ts';
import { OpenFiles } from '../../storage/open-files.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { ReadAheadBudget } from '../../storage/read-ahead.ts';
import { Segment, SegmentList } from '../../storage/segment.ts';
import type { StoreCounters } from '../../storage/store-counters.ts';
import type { StoreParts } from '../../storage/store-parts.ts';
import { PartitionTail, TailCache } from '../../storage/tail-cache.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  recordsOf,
  type StoreFixture,
  TestClock,
  valuesOf,
} from '../helpers/store-fixture.ts';

/** Reads wait at it while it is shut. */
class Turnstile {
  isShut = false;
  waiting: (() => void)[] = [];
  readonly #arrivals: (() => void)[] = [];
  readonly fileSystem: FileSystem;

  constructor(fileSystem: FileSystem) {
    this.fileSystem = {
      ...fileSystem,
      open: async (path, mode) => this.#wrap(await fileSystem.open(path, mode)),
    };
  }

  /** Resolves when so many reads wait. */
  async waitFor(count: number): Promise<void> {
    while (this.waiting.length < count) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
  }

  open(): void {
    this.isShut = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  #wrap(file: OpenFile): OpenFile {
    return {
      read: async (...args) => {
        if (this.isShut) {
          const turn = new Promise<void>((resolve) => this.waiting.push(resolve));
          for (const resolve of this.#arrivals.splice(0)) resolve();
          await turn;
        }
        return file.read(...args);
      },
      write: (...args) => file.write(...args),
      datasync: () => file.datasync(),
      truncate: (size) => file.truncate(size),
      close: () => file.close(),
    };
  }
}

const VALUE_BYTES = 40_000;

interface Opened extends StoreFixture {
  readonly partition: PartitionLog;
  readonly files: FaultyFileSystem;
  readonly turnstile: Turnstile;
  readonly values: readonly string[];
}

/** A log of some megabytes that is in files only, in batches of very different sizes. */
async function opened(batches = 120, segmentBytes = 1 << 24): Promise<Opened> {
  const files = new FaultyFileSystem(['/']);
  const turnstile = new Turnstile(files.process());
  const fixture = await openStore({
    directory: '/data',
    fileSystem: turnstile.fileSystem,
    index: new MemoryIndex(),
    tailCacheBytes: 0,
  });
  const partition = await fixture.store.openPartition({ ...PARTITION, config: logConfig({ segmentBytes }) });
  const random = seededRandom(7);
  const values = Array.from({ length: batches }, (_, index) =>
    String(index).repeat(1 + Math.floor((random() * VALUE_BYTES) / String(index).length)),
  );
  for (const value of values) await append(partition, [record(value)]).flushed;
  return { ...fixture, partition, files, turnstile, values };
}

async function readThrough(log: PartitionLog, from: number, maxBytes: number): Promise<(string | null)[]> {
  const values: (string | null)[] = [];
  for (let offset = from; offset < log.flushedOffset; ) {
    const range = await log.read(offset, maxBytes, log.flushedOffset);
    values.push(...valuesOf(recordsOf(range)));
    offset = range.nextOffset;
    range.release?.();
  }
  return values;
}

describe('a sequential reader', () => {
  it('gets what is in the file, whatever its limits and whoever else reads', async () => {
    const { store, partition, values } = await opened(150, 1 << 21);
    const limits = [1, 50_000, 300_000, 1 << 20, 1 << 30];
    const read = await Promise.all(limits.map((maxBytes, index) => readThrough(partition, index, maxBytes)));
    for (const [index, got] of read.entries()) expect(got).toEqual(values.slice(index));
    expect(store.counters.readAheads).toBeGreaterThan(0);
  });

  it('makes fewer reads of the file than of the log', async () => {
    const { files, store, partition } = await opened();
    const before = files.bytesRead;
    await readThrough(partition, 0, 1);
    expect(store.counters.readAheads).toBeGreaterThan(2);
    // A batch that does not end with its block is read twice.
    expect(files.bytesRead - before).toBeLessThan(1.3 * partition.byteSize);
  });

  it('does not come of reads at random places', async () => {
    const { store, partition } = await opened();
    const random = seededRandom(3);
    for (let turn = 0; turn < 40; turn++) {
      const range = await partition.read(Math.floor(random() * 60) * 2, 1, partition.flushedOffset);
      range.release?.();
    }
    expect(store.counters.readAheads).toBe(0);
  });

  it('meets damage as any other does, and not before it is there', async () => {
    const { files, partition, values } = await opened();
    const [name = ''] = (await files.process().readdir('/data/topics/events/0')).filter((each) =>
      each.endsWith('.log'),
    );
    const file = await files.process().open(`/data/topics/events/0/${name}`, 'write');
    const at = Math.floor(partition.byteSize * 0.7);
    const [good, bad] = [Buffer.alloc(1), Buffer.from([0])];
    await file.read(good, 0, 1, at);
    await file.write(bad, 0, 1, at);
    const read: (string | null)[] = [];
    let offset = 0;
    const reading = async (): Promise<void> => {
      for (; offset < partition.flushedOffset; ) {
        const range = await partition.read(offset, 1 << 20, partition.flushedOffset);
        read.push(...valuesOf(recordsOf(range)));
        offset = range.nextOffset;
      }
    };
    expect(await codeOf(reading())).toBe('corrupt');
    expect(read.length).toBeGreaterThan(60);
    expect(read).toEqual(values.slice(0, read.length));
    // What was read ahead is not believed again.
    await file.write(good, 0, 1, at);
    await reading();
    expect(read).toEqual(values);
  });
});

describe('what is read ahead', () => {
  it('takes two of the threads and no more, and closing waits for it', async () => {
    const { store, partition, turnstile } = await opened(400, 1 << 26);
    const places = [0, 80, 160, 240, 320];
    const nexts = await Promise.all(
      places.map(async (offset) => {
        const range = await partition.read(offset, 1, partition.flushedOffset);
        return range.nextOffset;
      }),
    );
    turnstile.isShut = true;
    const reads = nexts.map((offset) => partition.read(offset, 1, partition.flushedOffset));
    await turnstile.waitFor(reads.length);
    const first = turnstile.waiting.splice(0);
    for (const resolve of first) resolve();
    await Promise.all(reads);
    await turnstile.waitFor(READ_AHEADS_MAX);
    expect(turnstile.waiting.length).toBe(READ_AHEADS_MAX);
    let isClosed = false;
    const closing = store.close().then(() => {
      isClosed = true;
    });
    // Turns of the event loop, for what could be done without the reads.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    turnstile.open();
    await closing;
  });
});

describe('the budget of read-ahead', () => {
  const counters = { readAheads: 0 } as StoreCounters; // the one that it counts

  it('is never passed; blocks that nobody asks for make way in time', () => {
    const clock = new TestClock();
    const pool = new BufferPool(0);
    const files = new OpenFiles(new FaultyFileSystem(['/']).process(), 1);
    let keptBytes = 0;
    const budget = new ReadAheadBudget({
      files,
      pool,
      clock,
      counters,
      onKept: (bytes) => {
        keptBytes += bytes;
      },
    });
    const owner = { drop: (block: object) => budget.remove(block as never) }; // a block's owner drops it
    const kept = Array.from({ length: READ_AHEAD_BYTES_MAX / READ_AHEAD_BLOCK_BYTES }, () => ({
      owner,
      byteLength: READ_AHEAD_BLOCK_BYTES,
      block: {},
      usedUp: false,
      touchedAtMs: clock.monotonic(),
    }));
    for (const block of kept) {
      expect(budget.hasRoom(READ_AHEAD_BLOCK_BYTES)).toBe(true);
      budget.add(block as never); // what the budget looks at
    }
    expect(budget.hasRoom(READ_AHEAD_BLOCK_BYTES)).toBe(false);
    kept[5]!.usedUp = true;
    expect(budget.hasRoom(READ_AHEAD_BLOCK_BYTES)).toBe(true);
    expect(budget.bytes).toBe(READ_AHEAD_BYTES_MAX - READ_AHEAD_BLOCK_BYTES);
    expect(keptBytes).toBe(budget.bytes);
    expect(budget.hasRoom(2 * READ_AHEAD_BLOCK_BYTES)).toBe(false);
    clock.advance(60_000);
    expect(budget.hasRoom(2 * READ_AHEAD_BLOCK_BYTES)).toBe(true);
  });
});

describe('a segment that leaves the log while a reader waits for its file', () => {
  it('was deleted: the offset is out of range, and nothing is called damaged', async () => {
    const { partition, turnstile, log } = await opened(40, 1 << 17);
    await partition.read(3, 1, partition.flushedOffset);
    turnstile.isShut = true;
    const reads = [
      partition.read(0, 1, partition.flushedOffset),
      partition.offsetForTime(1, partition.flushedOffset),
    ];
    await turnstile.waitFor(1);
    partition.setHighWatermark(partition.flushedOffset);
    await partition.deleteRecords(20);
    turnstile.open();
    expect(await codeOf(reads[0]!)).toBe('offset-out-of-range');
    expect(await reads[1]).toMatchObject({ offset: 20 });
    expect(log.named('log.damaged')).toEqual([]);
    expect(partition.failed).toBeUndefined();
  });

  it('was replaced: the read starts over with the new one', async () => {
    const { partition, files, values } = await opened(3);
    const fileSystem = files.process();
    const [name = ''] = (await fileSystem.readdir('/data/topics/events/0')).filter((each) =>
      each.endsWith('.log'),
    );
    const { size } = await fileSystem.stat(`/data/topics/events/0/${name}`);
    const segment = (path = name): Segment => {
      const made = new Segment('/data/topics/events/0', 1, 0, { byteSize: size, endOffset: 3 });
      made.path = `/data/topics/events/0/${path}`;
      return made;
    };
    const turnstile = new Turnstile(fileSystem);
    const openFiles = new OpenFiles(turnstile.fileSystem, 10);
    const pool = new BufferPool(0);
    const segments = new SegmentList([segment()]);
    const damage: unknown[] = [];
    const readAhead = new ReadAheadBudget({
      files: openFiles,
      pool,
      clock: new TestClock(),
      counters: { readAheads: 0 } as StoreCounters, // the one that it counts
      onKept: () => {},
    });
    const reader = new LogReader({ files: openFiles, pool, readAhead } as StoreParts, {
      segments,
      tail: new PartitionTail(new TailCache(0, pool), () => {}),
      index: new OffsetIndex(new MemoryIndex(), 1),
      aborted: {} as AbortedTransactions, // nobody asks
      logStartOffset: () => 0,
      onIndexUnfit: () => {},
      onCorrupt: (error) => damage.push(error),
    });

    turnstile.isShut = true;
    const read = reader.read(0, 1 << 20, 3, 'all');
    await turnstile.waitFor(1);
    // The old bytes are overwritten and the file has another name: whatever comes of it is not looked at.
    const copy = await fileSystem.open('/data/topics/events/0/copy', 'create');
    const old = await fileSystem.open(`/data/topics/events/0/${name}`, 'write');
    const bytes = Buffer.alloc(size);
    await old.read(bytes, 0, size, 0);
    await copy.write(bytes, 0, size, 0);
    await old.write(Buffer.alloc(size), 0, size, 0);
    const next = segment('copy');
    segments.replace(segments.all, [next]);
    turnstile.open();
    expect(valuesOf(recordsOf(await read))).toEqual(values);

    // Renamed while it is opened.
    openFiles.drop(next.path);
    const again = reader.read(0, 1 << 20, 3, 'all');
    await fileSystem.rename('/data/topics/events/0/copy', '/data/topics/events/0/renamed');
    next.path = '/data/topics/events/0/renamed';
    expect(valuesOf(recordsOf(await again))).toEqual(values);
    expect(damage).toEqual([]);
    await partition.close();
  });
});
