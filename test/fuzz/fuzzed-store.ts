// A small log with one of everything, its files and index as bytes, and what an opening of changed bytes makes of them.
import { BatchCursor } from '../../storage/batch-cursor.ts';
import type { BatchOptions } from '../../storage/batch-frame.ts';
import { StorageError } from '../../storage/errors.ts';
import { withChecksums } from '../../storage/index-checksums.ts';
import type { IndexRow } from '../../storage/index-database.ts';
import type { LogStore } from '../../storage/log-store.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { LogStoreOptions } from '../../storage/store-options.ts';
import { FaultyFileSystem, type FileSystemImage } from '../helpers/faulty-file-system.ts';
import {
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  type StoreFixture,
  TestClock,
  type TestRecord,
  write,
} from '../helpers/store-fixture.ts';

/** MessagePack: array of 2, "a", bin 1. */
const ATTRIBUTES = Buffer.from([0x92, 0xa1, 0x61, 0xc4, 0x01, 0x78]);
/** Small, so that the index of a small log has something to say. */
const OPTIONS: Partial<LogStoreOptions> = { indexIntervalBytes: 100, tailCacheBytes: 0, checkIntervalMs: 0 };

export interface StoredLog {
  readonly files: FileSystemImage;
  readonly rows: readonly IndexRow[];
}

/** What a reader gets of a log. */
export interface SeenLog {
  readonly start: number;
  readonly end: number;
  /** By offset, each as text that has all of it. */
  readonly records: ReadonlyMap<number, string>;
  /** Answers of lookups by time. */
  readonly times: readonly (number | undefined)[];
  /** What the store said about damage: codes of refusals and of reads that failed, and warnings. */
  readonly told: readonly string[];
}

/** Two segments of two leader epochs and more, compacted in part, with what a log can have. */
export async function storedLog(end: 'stopped' | 'killed'): Promise<StoredLog> {
  const files = new FaultyFileSystem(['/']);
  const index = new MemoryIndex();
  const clock = new TestClock();
  const open = async (
    leaderEpoch: number,
  ): Promise<{ readonly store: LogStore; readonly log: PartitionLog }> => {
    const checked = withChecksums(index, () => {});
    const { store } = await openStore({
      ...OPTIONS,
      directory: '/data',
      fileSystem: files.process(),
      index: checked,
      clock,
    });
    const config = logConfig({
      segmentBytes: 700,
      compacts: true,
      deletes: false,
      minCleanableDirtyRatio: 0,
    });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch, config });
    log.onCommitted = (offset) => log.setHighWatermark(offset);
    return { store, log };
  };
  const first = await open(1);
  await fill(first.log, 0);
  await first.store.maintain();
  await first.store.close();
  const second = await open(2);
  await fill(second.log, 1);
  await second.store.maintain();
  await second.log.deleteRecords(1);
  if (end === 'stopped') await second.store.close();
  else {
    await settled();
    files.kill();
  }
  return { files: files.image(), rows: index.rows() };
}

async function fill(log: PartitionLog, round: number): Promise<void> {
  const at = 1000 * (round + 1);
  const send = async (records: readonly TestRecord[], options: BatchOptions = {}): Promise<void> => {
    await log.append(options, (writer) => {
      for (const each of records) write(writer, each);
    }).flushed;
  };
  const made = (key: string, value: string | null, timestampMs: number): TestRecord => ({
    timestampMs,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: [
      ['h', Buffer.from('v')],
      ['h', null],
    ],
  });
  await send([made('a', `${round}`, at)]);
  const producer = { producerId: 7, producerEpoch: 1, recordCount: 2 };
  const two = [made('a', 'x', at + 9), made('b', null, at + 3)];
  await send(two, { ...producer, baseSequence: 2 * round });
  await log.append({}, (writer) => {
    writer.startRecord(at + 4, Buffer.from('c'), 0, 1, 0);
    writer.endRecord(Buffer.from('with attributes'), 0, 15, ATTRIBUTES);
  }).flushed;
  const transaction = { producerId: 8, producerEpoch: 0, transactional: true };
  await send([made('t', 'y', at + 5)], { ...transaction, baseSequence: round, recordCount: 1 });
  const aborts = round % 2 === 1;
  await log.endTransaction({ producerId: 8, producerEpoch: 0, aborts, coordinatorEpoch: round }).flushed;
  for (let count = 0; count < 3; count++) await send([made('a', `later ${count}`, at + 7 + count)]);
}

/** Opens what is there and looks at all of it. Rejects with what is no coded error. */
export async function look({ files: image, rows }: StoredLog): Promise<SeenLog> {
  const files = FaultyFileSystem.of(image);
  const memory = new MemoryIndex();
  memory.restore(rows);
  const told: string[] = [];
  const index = withChecksums(memory, () => told.push('index'));
  let fixture: StoreFixture | undefined;
  const seen = {
    start: 0,
    end: 0,
    records: new Map<number, string>(),
    times: [] as (number | undefined)[],
    told,
  };
  try {
    fixture = await openStore({ ...OPTIONS, directory: '/data', fileSystem: files.process(), index });
    const { store } = fixture;
    const leaderEpoch = (await store.diskLeaderEpoch('events', PARTITION.topicId, 0)) + 1;
    const log = await store.openPartition({ ...PARTITION, leaderEpoch });
    seen.start = log.logStartOffset;
    seen.end = log.logEndOffset;
    if (log.failed !== undefined) told.push(log.failed.code);
    await readInto(seen.records, log);
    for (const timestampMs of [0, 1001, 1004, 1008, 1010, 2000, 2003, 2009, 3000]) {
      seen.times.push((await log.offsetForTime(timestampMs, log.logEndOffset))?.offset);
    }
    seen.times.push((await log.offsetOfMaxTimestamp(log.logEndOffset))?.offset);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    told.push(error.code);
  }
  const loud = fixture?.log.events.filter(({ level }) => level === 'warn' || level === 'error') ?? [];
  told.push(...loud.map(({ event }) => event));
  files.kill();
  return seen;
}

/** Every record from its own offset on, so that each is looked for. */
async function readInto(records: Map<number, string>, log: PartitionLog): Promise<void> {
  const cursor = new BatchCursor();
  for (let offset = log.logStartOffset; offset < log.logEndOffset; ) {
    const range = await log.read(offset, 1, log.logEndOffset);
    if (range.nextOffset === offset)
      throw new Error(`an empty answer at ${offset}, below ${log.logEndOffset}`);
    cursor.reset(range);
    while (cursor.nextBatch()) {
      const { batchProducerId, batchProducerEpoch, batchBaseSequence, batchLeaderEpoch } = cursor;
      const batch = [batchProducerId, batchProducerEpoch, batchBaseSequence, batchLeaderEpoch];
      const flags = [cursor.batchIsTransactional, cursor.batchIsControl, cursor.batchIsLogAppendTime];
      while (cursor.nextRecord()) {
        const frame = cursor.bytes.toString('latin1', cursor.recordStart, cursor.recordEnd);
        records.set(cursor.offset, `${batch} ${flags} ${frame}`);
      }
    }
    offset = range.nextOffset;
  }
}

/** What was begun in the background has come to its end. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
}
