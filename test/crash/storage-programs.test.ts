// Random programs of appends, rolls, flushes, faults, clean stops and crashes on a file system that forgets what a
// real one may forget. The model is a plain array. After every opening: nothing that was acknowledged is missing,
// nothing that a reader has seen is gone or different, and what else is there is a prefix of what was appended.
//
// Seeds are fixed, so that a failure repeats; POLYLOG_CRASH_RUNS sets how many run, POLYLOG_CRASH_SEED runs one.
import { describe, expect, it } from 'vitest';
import type { Append } from '../../storage/committer.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem, type RandomSource, seededRandom } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  type ReadRecord,
  readAll,
  type StoreFixture,
  type TestRecord,
  write,
} from '../helpers/store-fixture.ts';

const RUNS = Number(process.env['POLYLOG_CRASH_RUNS'] ?? 200);
const ONE_SEED = process.env['POLYLOG_CRASH_SEED'];
const DIRECTORY = '/data';

class Program {
  readonly #seed: number;
  readonly #random: RandomSource;
  readonly #files = new FaultyFileSystem(['/']);
  readonly #index = new MemoryIndex();
  /** What was appended, by offset: after an opening, what is there. */
  #model: TestRecord[] = [];
  /** Offsets below it were acknowledged as flushed, or seen by a reader. */
  #promised = 0;
  #epoch = 0;
  #appended = 0;
  #fixture: StoreFixture | undefined;
  #log: PartitionLog | undefined;
  readonly trace: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  async run(): Promise<void> {
    await this.#open();
    const steps = 5 + this.#below(25);
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#stop();
    await this.#open();
    await this.#fixture!.store.close();
  }

  async #step(): Promise<void> {
    const choice = this.#below(100);
    if (choice < 45) await this.#append(false);
    else if (choice < 60) await this.#append(true);
    else if (choice < 75) await this.#read();
    else if (choice < 80) this.#log!.setConfig(logConfig({ segmentBytes: 200 + this.#below(5000) }));
    else if (choice < 86) await this.#fault();
    else if (choice < 92) await this.#stop().then(() => this.#open());
    else await this.#crash();
  }

  /** Appends a few batches and waits for them, or not. */
  async #append(waits: boolean, ticks = -1): Promise<void> {
    const log = this.#log!;
    const acknowledged: Promise<void>[] = [];
    for (let batches = 1 + this.#below(4); batches > 0 && log.failed === undefined; batches--) {
      const records = Array.from({ length: 1 + this.#below(5) }, () => this.#record());
      const shared = this.#below(3) === 0;
      const appends: Append[] = shared
        ? records.map((each) => log.join((writer) => write(writer, each)))
        : [append(log, records)];
      this.#model.push(...records);
      expect(log.logEndOffset).toBe(this.#model.length);
      const end = this.#model.length;
      const model = this.#model;
      acknowledged.push(
        ...appends.map(({ flushed }) =>
          flushed.then((error) => {
            // An answer that comes after a crash is one that nobody got.
            if (error === undefined && this.#model === model) this.#promised = Math.max(this.#promised, end);
          }),
        ),
      );
    }
    this.trace.push(`append to ${this.#model.length}${waits ? ', wait' : ''}`);
    if (waits) await Promise.all(acknowledged);
    else if (ticks >= 0) await this.#ticks(ticks);
    else if (this.#below(2) === 0) await this.#ticks(1 + this.#below(20));
  }

  #record(): TestRecord {
    const size = this.#below(5) === 0 ? this.#below(3000) : this.#below(60);
    const text = `${this.#appended++}:`;
    return {
      timestampMs: 1000 + this.#below(200),
      key: this.#below(3) === 0 ? null : Buffer.from(`k${this.#below(5)}`),
      value: this.#below(8) === 0 ? null : Buffer.alloc(text.length + size, text),
    };
  }

  /** What readers see below the flushed offset is what was appended, and is promised from then on. */
  async #read(): Promise<void> {
    const log = this.#log!;
    const upTo = log.flushedOffset;
    const from = this.#below(upTo + 1);
    this.#expectRecords(await readAll(log, from, 1 + this.#below(3000), upTo), from, upTo);
    this.#promised = Math.max(this.#promised, upTo);
    const timestampMs = 990 + this.#below(220);
    const expected = this.#model.slice(0, upTo).findIndex((each) => each.timestampMs >= timestampMs);
    const found = await log.offsetForTime(timestampMs, upTo);
    expect(found?.offset ?? -1, this.#why(`offset for time ${timestampMs}`)).toBe(expected);
    let newest = -1;
    for (let offset = 0; offset < upTo; offset++) {
      if (newest < 0 || this.#model[offset]!.timestampMs > this.#model[newest]!.timestampMs) newest = offset;
    }
    const max = await log.offsetOfMaxTimestamp(upTo);
    expect(max?.offset ?? -1, this.#why('offset of the largest timestamp')).toBe(newest);
    this.trace.push(`read ${from} to ${upTo}`);
  }

  /** A write or flush fails or hangs while something is appended; then the log is opened again, or the machine stops. */
  async #fault(): Promise<void> {
    const log = this.#log!;
    const kind = (['write-fails', 'datasync-fails', 'datasync-hangs'] as const)[this.#below(3)]!;
    this.trace.push(kind);
    if (kind === 'write-fails') {
      this.#files.arm({ kind, code: this.#below(2) ? 'EIO' : 'ENOSPC', afterBytes: this.#below(400) });
    } else {
      this.#files.arm({ kind });
    }
    const records = [this.#record(), this.#record()];
    const { flushed } = append(log, records);
    this.#model.push(...records);
    if (kind === 'datasync-hangs') {
      for (let ticks = 0; this.#files.isArmed && ticks < 1000; ticks++) await this.#ticks(1);
      this.#fixture!.clock.advance(60_000);
    }
    expect(await flushed, this.#why('the fault is told')).toBeDefined();
    expect(log.failed?.code).toBe('sticky');
    await this.#read();
    this.#files.releaseHanging();
    await this.#ticks(10);
    if (this.#below(3) === 0) return this.#crash();
    const { store } = this.#fixture!;
    await store.closePartition(log);
    await this.#openLog();
  }

  async #stop(): Promise<void> {
    this.trace.push('stop');
    const wasSound = this.#log!.failed === undefined;
    await this.#fixture!.store.close();
    if (wasSound) this.#promised = this.#model.length;
    // A machine may well stop after that.
    if (this.#below(2) === 0) this.#files.crash('nothing', this.#random);
  }

  async #crash(): Promise<void> {
    if (this.#log!.failed === undefined && this.#below(3) > 0) {
      // Something is under way, at any stage of it.
      await this.#append(false, this.#below(5));
    }
    const keep = (['nothing', 'everything', 'anything', 'anything', 'kill'] as const)[this.#below(5)]!;
    this.trace.push(keep === 'kill' ? keep : `crash, keeping ${keep}`);
    if (keep === 'kill') this.#files.kill();
    else this.#files.crash(keep, this.#random);
    if (this.#below(2) === 0) this.#index.forgetAfter(this.#below(this.#index.size + 1));
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#fixture = await openStore({
      directory: DIRECTORY,
      fileSystem: this.#files.process(),
      index: this.#index,
      indexIntervalBytes: 64 + this.#below(1000),
      tailCacheBytes: this.#below(2) ? 0 : 1 << 20,
      checkpointBytes: 500 + this.#below(5000),
    });
    await this.#openLog();
  }

  async #openLog(): Promise<void> {
    const { store } = this.#fixture!;
    this.#epoch = Math.max(this.#epoch, await store.diskLeaderEpoch('events', PARTITION.topicId, 0)) + 1;
    this.#log = await store.openPartition({
      ...PARTITION,
      leaderEpoch: this.#epoch,
      config: logConfig({ segmentBytes: 200 + this.#below(5000) }),
    });
    const end = this.#log.logEndOffset;
    this.trace.push(`open at ${end}`);
    expect(this.#log.failed, this.#why('it opens for appends')).toBeUndefined();
    expect(end, this.#why('nothing acknowledged is missing')).toBeGreaterThanOrEqual(this.#promised);
    expect(end, this.#why('nothing is there that was not appended')).toBeLessThanOrEqual(this.#model.length);
    this.#model = this.#model.slice(0, end);
    this.#expectRecords(await readAll(this.#log, 0, 1 << 16, end), 0, end);
    this.#promised = end;
  }

  #expectRecords(records: readonly ReadRecord[], from: number, upTo: number): void {
    const expected = this.#model.slice(from, upTo);
    const first = records.findIndex((read, index) => {
      const appended = expected[index];
      return (
        appended === undefined ||
        read.offset !== from + index ||
        read.timestampMs !== appended.timestampMs ||
        !sameBytes(read.key, appended.key) ||
        !sameBytes(read.value, appended.value)
      );
    });
    // Comparing all of it with toEqual costs more than everything else here together.
    if (first >= 0) expect(records[first], this.#why(`record ${from + first}`)).toEqual(expected[first]);
    expect(records.length, this.#why(`records ${from} to ${upTo}`)).toBe(expected.length);
  }

  #why(what: string): string {
    return `${what} (seed ${this.#seed}: ${this.trace.join('; ')})`;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  async #ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
  }
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

describe('random programs on a file system that forgets', () => {
  const seeds =
    ONE_SEED === undefined ? Array.from({ length: RUNS }, (_, index) => index + 1) : [Number(ONE_SEED)];

  it(`keep what they promised (${seeds.length} seeds)`, { timeout: 600_000 }, async () => {
    for (const seed of seeds) {
      const program = new Program(seed);
      await program.run().catch((error: unknown) => {
        throw new Error(`seed ${seed}: ${program.trace.join('; ')}`, { cause: error });
      });
    }
  });
});
