// Random programs of transactions over one log: who reads committed records sees what the model says, whatever happens
// to the process, the index and the disk. In half of the programs the log is compacted, too.
//
// Seeds are fixed, so that a failure repeats; POLYLOG_TRANSACTION_RUNS sets how many run, POLYLOG_TRANSACTION_SEED runs
// one.
import { describe, expect, it } from 'vitest';
import { BatchCursor, type RecordRange } from '../../storage/batch-cursor.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, type RandomSource, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  type StoreFixture,
  TestClock,
} from '../helpers/store-fixture.ts';

const RUNS = Number(process.env['POLYLOG_TRANSACTION_RUNS'] ?? 60);
const ONE_SEED = process.env['POLYLOG_TRANSACTION_SEED'];
const PRODUCERS = 5;
const KEYS = 6;

interface Batch {
  readonly offset: number;
  readonly records: readonly { readonly key: string; readonly value: string }[];
  /** −1: of nobody. */
  readonly producerId: number;
  readonly epoch: number;
  readonly ends?: 'commit' | 'abort';
}

type Outcome = 'open' | 'commit' | 'abort';

class Program {
  readonly #random: RandomSource;
  readonly #files = new FaultyFileSystem(['/']);
  readonly #clock = new TestClock();
  readonly #index = new MemoryIndex();
  readonly #compacts: boolean;
  readonly #segmentBytes: number;
  readonly trace: string[] = [];
  #fixture!: StoreFixture;
  #log!: PartitionLog;
  #epoch = 0;
  #batches: Batch[] = [];
  #end = 0;
  #values = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#compacts = seed % 2 === 0;
    this.#segmentBytes = 400 + this.#below(4000);
    this.#files.now = () => this.#clock.now();
  }

  async run(): Promise<void> {
    await this.#open();
    for (let step = 30 + this.#below(80); step > 0; step--) await this.#step();
    await this.#check();
    await this.#fixture.store.close();
  }

  async #open(): Promise<void> {
    this.#fixture = await openStore({
      directory: '/data',
      fileSystem: this.#files.process(),
      index: this.#index,
      clock: this.#clock,
      indexIntervalBytes: 200,
      checkpointBytes: 300 + this.#below(3000),
      checkIntervalMs: 0,
      compactionBytesPerSecond: Number.POSITIVE_INFINITY,
    });
    this.#log = await this.#fixture.store.openPartition({
      ...PARTITION,
      leaderEpoch: ++this.#epoch,
      config: logConfig({
        segmentBytes: this.#segmentBytes,
        deletes: false,
        compacts: this.#compacts,
        minCleanableDirtyRatio: 0,
        deleteRetentionMs: 3_600_000,
      }),
    });
    const log = this.#log;
    log.onCommitted = (offset) => log.setHighWatermark(offset);
  }

  async #step(): Promise<void> {
    const choice = this.#below(100);
    if (choice < 55) await this.#send();
    else if (choice < 77) await this.#endTransaction();
    else if (choice < 83) await this.#restart();
    else if (choice < 86) this.#spoilIndex();
    else if (choice < 90) await this.#maintain();
    else if (choice < 91) await this.#deleteRecords();
    else await this.#check();
  }

  async #send(): Promise<void> {
    const producerId = this.#below(PRODUCERS + 1) - 1;
    const records = Array.from({ length: 1 + this.#below(3) }, () => ({
      key: `k${this.#below(KEYS)}`,
      value: `v${++this.#values}`,
    }));
    const own = this.#batches.filter((each) => each.producerId === producerId);
    const epoch = own.at(-1)?.epoch ?? 0;
    const sent = own.filter((each) => each.epoch === epoch && each.ends === undefined);
    // Known from a control batch alone, or not at all: any number may follow, and so may this.
    const baseSequence = sent.reduce((sum, each) => sum + each.records.length, 0);
    const options =
      producerId < 0
        ? {}
        : {
            ...{ producerId, producerEpoch: epoch, baseSequence },
            ...{ recordCount: records.length, transactional: true },
          };
    const timestampMs = this.#clock.now();
    const { baseOffset, flushed } = append(
      this.#log,
      records.map(({ key, value }) => ({ timestampMs, key: Buffer.from(key), value: Buffer.from(value) })),
      options,
    );
    expect(baseOffset).toBe(this.#end);
    this.trace.push(`${producerId} e${epoch} s${baseSequence} at ${baseOffset} +${records.length}`);
    this.#batches.push({ offset: baseOffset, records, producerId, epoch });
    this.#end += records.length;
    if (this.#below(4) > 0) await flushed;
  }

  async #endTransaction(): Promise<void> {
    const producerId = this.#below(PRODUCERS);
    const last = this.#batches.findLast((each) => each.producerId === producerId);
    if (last === undefined) return;
    const epoch = last.epoch + (this.#below(3) === 0 ? 1 : 0);
    const ends = this.#below(2) === 0 ? 'commit' : 'abort';
    const aborts = ends === 'abort';
    const { baseOffset, flushed } = this.#log.endTransaction({
      ...{ producerId, producerEpoch: epoch, aborts, coordinatorEpoch: 3 },
    });
    this.trace.push(`${producerId} e${epoch} ${ends} at ${baseOffset}`);
    this.#batches.push({ offset: baseOffset, records: [], producerId, epoch, ends });
    this.#end++;
    if (this.#below(4) > 0) await flushed;
  }

  async #restart(): Promise<void> {
    const how = this.#below(3);
    if (how === 0) await this.#fixture.store.close();
    else if (how === 1) this.#files.kill();
    else {
      this.#files.crash(this.#below(2) === 0 ? 'nothing' : 'anything', this.#random);
      if (this.#below(2) === 0) this.#index.forgetAfter(this.#below(40));
    }
    await this.#open();
    const { logEndOffset } = this.#log;
    this.#batches = this.#batches.filter(({ offset }) => offset < logEndOffset);
    this.#end = logEndOffset;
    this.trace.push(`${['stop', 'kill', 'crash'][how]}, end ${logEndOffset}`);
    await this.#check();
  }

  #spoilIndex(): void {
    this.trace.push('index spoilt');
    this.#index.forgetAfter(this.#below(40));
  }

  async #maintain(): Promise<void> {
    await this.#log.flush();
    if (this.#below(2) === 0) this.#clock.advance(3_600_000);
    await this.#fixture.store.maintain();
    this.trace.push('maintained');
  }

  async #deleteRecords(): Promise<void> {
    const { logStartOffset, highWatermark } = this.#log;
    const offset = logStartOffset + this.#below((highWatermark - logStartOffset) / 4 + 1);
    await this.#log.deleteRecords(offset);
    this.trace.push(`deleted before ${offset}`);
  }

  /** How the transactions of the batches ended, in their order. */
  #outcomes(): Map<Batch, Outcome> {
    const outcomes = new Map<Batch, Outcome>();
    const open = new Map<number, Batch[]>();
    for (const batch of this.#batches) {
      if (batch.ends !== undefined) {
        for (const each of open.get(batch.producerId) ?? []) outcomes.set(each, batch.ends);
        open.delete(batch.producerId);
      } else if (batch.producerId < 0) {
        outcomes.set(batch, 'commit');
      } else {
        outcomes.set(batch, 'open');
        open.set(batch.producerId, [...(open.get(batch.producerId) ?? []), batch]);
      }
    }
    return outcomes;
  }

  async #check(): Promise<void> {
    const log = this.#log;
    await log.flush();
    log.setHighWatermark(log.flushedOffset);
    const outcomes = this.#outcomes();
    const firstOpen = [...outcomes].find(([, outcome]) => outcome === 'open')?.[0].offset;
    const unstable = firstOpen ?? Number.POSITIVE_INFINITY;
    expect(log.firstUnstableOffset).toBe(unstable);
    const stable = Math.max(log.logStartOffset, Math.min(log.highWatermark, unstable));
    const from = log.logStartOffset + this.#below(stable - log.logStartOffset + 1);
    const expected: string[] = [];
    for (const [{ offset, records }, outcome] of outcomes) {
      if (outcome !== 'commit') continue;
      for (const [index, { key, value }] of records.entries()) {
        if (offset + index >= from && offset + index < stable)
          expected.push(`${offset + index}:${key}=${value}`);
      }
    }
    const read = await this.#read(from, stable);
    this.trace.push(`checked ${from} to ${stable}`);
    if (!this.#compacts) {
      expect(read).toEqual(expected);
      return;
    }
    const wanted = new Set(expected);
    expect(read.filter((each) => !wanted.has(each))).toEqual([]);
    const latest = new Map(
      expected.map((each) => [each.slice(each.indexOf(':') + 1, each.indexOf('=')), each]),
    );
    const found = new Set(read);
    expect([...latest.values()].filter((each) => !found.has(each))).toEqual([]);
  }

  async #read(from: number, stable: number): Promise<string[]> {
    const cursor = new BatchCursor();
    const read: string[] = [];
    const maxBytes = 1 + this.#below(2000);
    for (let offset = from; offset < stable; ) {
      const range = await this.#log.read(offset, maxBytes, stable, 'committed');
      this.#checkAborted(range);
      cursor.reset({ ...range, bytes: range.bytes, committedOnly: true, aborted: range.aborted });
      while (cursor.nextBatch()) {
        while (cursor.nextRecord()) {
          const text = (start: number, end: number): string => cursor.bytes.toString('latin1', start, end);
          const { keyStart, keyEnd, valueStart, valueEnd } = cursor;
          if (cursor.offset < offset) continue;
          read.push(`${cursor.offset}:${text(keyStart, keyEnd)}=${text(valueStart, valueEnd)}`);
        }
      }
      if (range.nextOffset === offset) break;
      offset = range.nextOffset;
    }
    return read;
  }

  /** What is said to be aborted was aborted, is in order, and reaches into the range. */
  #checkAborted({ aborted = [], start, end, bytes, nextOffset }: RecordRange): void {
    const cursor = new BatchCursor();
    cursor.reset({ bytes, start, end, nextOffset });
    const firstOffset = cursor.nextBatch() ? cursor.batchBaseOffset : nextOffset;
    expect([...aborted].sort((a, b) => a.firstOffset - b.firstOffset)).toEqual(aborted);
    for (const { producerId, firstOffset: began, lastOffset } of aborted) {
      expect(began).toBeLessThan(nextOffset);
      expect(lastOffset).toBeGreaterThanOrEqual(firstOffset);
      const ended = this.#batches.find(({ offset }) => offset === lastOffset);
      expect(ended).toMatchObject({ producerId, ends: 'abort' });
    }
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }
}

describe('random programs of transactions', () => {
  const seeds =
    ONE_SEED === undefined ? Array.from({ length: RUNS }, (_, index) => index + 1) : [Number(ONE_SEED)];
  it(`${seeds.length} of them: committed records are read, aborted ones never`, async () => {
    for (const seed of seeds) {
      const program = new Program(seed);
      await program.run().catch((error: unknown) => {
        const said = error instanceof Error ? error.message : String(error);
        throw new Error(`seed ${seed}: ${said}\n${program.trace.join('\n')}`, { cause: error });
      });
    }
  }, 120_000);
});
