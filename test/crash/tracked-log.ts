// One log of a random program, and what is known of it. The model is a plain array: everything that was appended, by
// offset; beside it what was promised of it, which nothing may take back, and what may be gone by now.
import type { Append, Commit } from '../../storage/commit-group.ts';
import type { LogConfig } from '../../storage/log-config.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import type { RandomSource } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  type ReadRecord,
  recordsOf,
  type TestRecord,
  write,
} from '../helpers/store-fixture.ts';
import {
  type AppendedBatch,
  anySending,
  firstUnstableOffset,
  outcomesOf,
  producersOf,
  REMEMBERED,
} from './producers-model.ts';

/** Throws when the condition does not hold. The words cost something: they are made when they are needed. */
export function check(condition: boolean, what: () => string): asserts condition {
  if (!condition) throw new Error(what());
}

interface AppendedRecord extends TestRecord {
  readonly appendedAtMs: number;
  /** Base offset of its batch, when that is of a transaction. */
  readonly transaction?: number;
  readonly control?: boolean;
}

export class TrackedLog {
  readonly topic: string;
  readonly topicId: string;
  readonly logId: number;
  config: LogConfig;
  /** Leader epoch of the last opening; the owner remembers it durably. */
  epoch = 0;
  /** By offset. */
  records: AppendedRecord[] = [];
  /** Leader epochs that have appended, and where they began. */
  epochStarts: { readonly leaderEpoch: number; readonly offset: number }[] = [];
  /** Offsets below it were acknowledged as flushed, or seen by a reader below the flushed offset. */
  promised = 0;
  /** Offsets below it were acknowledged; only what stops the machine, or a flush that fails, may take them back. */
  committed = 0;
  /** The log start was acknowledged to be here, or seen here after an opening … */
  startPromised = 0;
  /** … and may have moved up to here. */
  startAllowed = 0;
  /** Somebody asked for the records below it to be deleted. */
  deletedBefore = 0;
  /** Batches with a producer that lie in the log, or did. */
  batches: AppendedBatch[] = [];
  /** Whether it was ever compacted, and the shortest time for which tombstones were kept. */
  isCompacted = false;
  tombstonesKeptMs = Number.POSITIVE_INFINITY;
  log: PartitionLog | undefined;

  readonly #now: () => number;

  constructor(topic: string, topicId: string, logId: number, config: LogConfig, now: () => number) {
    this.#now = now;
    this.topic = topic;
    this.topicId = topicId;
    this.logId = logId;
    this.config = config;
  }

  /** Appends one batch, or its records one by one into the shared one. Resolves when it is known what became of it. */
  async append(records: readonly TestRecord[], shared: boolean): Promise<void> {
    const log = this.log!; // programs append to open logs only
    const model = this.records;
    const appends: Commit[] = [];
    const { logEndOffset } = log;
    for (const each of shared ? records.map((record) => [record]) : [records]) {
      appends.push(shared ? log.join((writer) => write(writer, each[0]!)) : append(log, each)); // one each, when shared
      this.#noteEpoch();
      for (const record of each) model.push({ ...record, appendedAtMs: this.#now() });
    }
    check(log.logEndOffset === model.length, () => `${this.topic} ends at ${log.logEndOffset}`);
    check(logEndOffset === model.length - records.length, () => `an append at ${logEndOffset}`);
    await this.#follow(appends, model.length);
  }

  /** Sends a producer's batch, or one that must be refused or be found in the log. */
  async produce(makeRecord: () => TestRecord, random: RandomSource): Promise<void> {
    const log = this.log!; // programs append to open logs only
    const model = this.records;
    const certain = log.logStartOffset === 0 && !this.isCompacted;
    const { producer, expected } = anySending(producersOf(this.batches), certain, random);
    const { recordCount, control, aborts, ...options } = producer;
    const records = Array.from({ length: recordCount }, makeRecord);
    const send = (): Append =>
      control
        ? log.endTransaction({ ...options, aborts, coordinatorEpoch: 0 })
        : append(log, records, { ...options, recordCount });
    const told = () => `${this.topic} ${JSON.stringify(producer)}, expected ${JSON.stringify(expected)}`;
    if (expected === 'sequence-gap' || expected === 'fenced-producer') {
      const code = await codeOf(send);
      return check(code === expected, () => `${told()}: ${code}`);
    }
    const sent = send();
    if (typeof expected === 'object') {
      const repeated = sent.repeats?.baseOffset;
      check(repeated === expected.baseOffset, () => `${told()}: repeats ${repeated}`);
      check(log.logEndOffset === model.length, () => `${told()}: appended at ${sent.baseOffset}`);
      return this.#follow([sent], expected.baseOffset + recordCount);
    }
    check(sent.repeats === undefined, () => `${told()}: repeats ${sent.repeats?.baseOffset}`);
    check(sent.baseOffset === model.length, () => `${told()}: appended at ${sent.baseOffset}`);
    this.#noteEpoch();
    this.batches.push({ baseOffset: sent.baseOffset, producer });
    for (const record of records) {
      const nowMs = this.#now();
      // A control batch is stamped by the log.
      const timestampMs = control ? nowMs : record.timestampMs;
      model.push({
        ...{ ...record, timestampMs, appendedAtMs: nowMs, control },
        ...(producer.transactional ? { transaction: sent.baseOffset } : {}),
      });
    }
    await this.#follow([sent], model.length);
  }

  #noteEpoch(): void {
    if (this.epochStarts.at(-1)?.leaderEpoch === this.epoch) return;
    this.epochStarts.push({ leaderEpoch: this.epoch, offset: this.records.length });
  }

  /** @param end of what was appended */
  async #follow(appends: readonly Commit[], end: number): Promise<void> {
    const { log, records } = this;
    const all = async (promises: readonly Promise<unknown>[]): Promise<boolean> =>
      (await Promise.all(promises)).every((error) => error === undefined);
    // An answer that comes after a crash is one that nobody got.
    const isCurrent = (): boolean => this.records === records && this.log === log;
    const committed = all(appends.map((each) => each.committed)).then((good) => {
      if (good && isCurrent()) this.committed = Math.max(this.committed, end);
    });
    // Nobody waits for a flush that comes in its time.
    void all(appends.map((each) => each.flushed)).then((good) => {
      if (good && isCurrent()) this.promise(end);
    });
    await committed;
    if (this.config.flushMessages === 1 && isCurrent()) await all(appends.map((each) => each.flushed));
  }

  promise(end: number): void {
    this.promised = Math.max(this.promised, end);
  }

  /** What an opening found is what there is from now on. `after`: whether it may have lost what was not flushed. */
  async opened(log: PartitionLog, after: 'kill' | 'crash'): Promise<void> {
    const { logStartOffset: start, logEndOffset: end } = log;
    const where = (what: string) => () => `${this.topic} opens from ${start} to ${end}: ${what}`;
    check(log.failed === undefined, where(`it takes no appends: ${log.failed?.message}`));
    check(end >= this.promised, where(`acknowledged to ${this.promised}`));
    check(after === 'crash' || end >= this.committed, where(`committed to ${this.committed}`));
    check(end <= this.records.length, where(`only ${this.records.length} were appended`));
    check(start >= this.startPromised, where(`the start had been moved to ${this.startPromised}`));
    check(start <= this.startAllowed, where(`the start was moved to ${this.startAllowed} at most`));
    this.log = log;
    this.records = this.records.slice(0, end);
    this.epochStarts = this.epochStarts.filter(({ offset }) => offset < end);
    this.batches = this.batches.filter(({ baseOffset }) => baseOffset < end);
    this.startPromised = start;
    this.startAllowed = start;
    this.compare(await readTo(log, start, end, 1 << 16), start, end);
    this.promised = end;
    this.committed = end;
    this.compareEpochs();
    this.compareProducers();
    this.compareTransactions();
  }

  /** What an opening knows of producers is what their batches say. */
  compareProducers(): void {
    const log = this.log!; // of an open log only
    if (log.logStartOffset > 0 || this.isCompacted) return;
    const known = new Map([...(log.producers?.all ?? [])].map((state) => [state.producerId, state]));
    for (const [producerId, { epoch, batches }] of producersOf(this.batches)) {
      const state = known.get(producerId);
      const found = [state?.epoch, ...(state?.batches ?? []).map(({ baseOffset }) => baseOffset)];
      const expected = [epoch, ...batches.slice(-REMEMBERED).map(({ baseOffset }) => baseOffset)];
      const isSame = `${found}` === `${expected}`;
      check(isSame, () => `${this.topic}: producer ${producerId} has ${found}, and not ${expected}`);
    }
  }

  /** Where the oldest open transaction begins. */
  compareTransactions(): void {
    const log = this.log!; // of an open log only
    // The end of one counts when it is seen.
    if (log.logStartOffset > 0 || this.isCompacted || log.highWatermark < this.records.length) return;
    const expected = firstUnstableOffset(producersOf(this.batches));
    const found = log.firstUnstableOffset;
    check(found === expected, () => `${this.topic} is unstable from ${found} on, and not from ${expected}`);
  }

  /** Where epochs end, of those that are in the log whole. */
  compareEpochs(): void {
    const log = this.log!; // of an open log only
    const ends = this.epochStarts.slice(1).map(({ offset }) => offset);
    for (const [index, { leaderEpoch, offset }] of this.epochStarts.entries()) {
      // What is in the open shared batch is in no segment yet.
      if (offset < log.logStartOffset || offset >= log.flushedOffset) continue;
      const found = log.endOfEpoch(leaderEpoch);
      // The newest ends where the log does, but for what is in the open shared batch.
      const end = ends[index] ?? Math.max(log.flushedOffset, found?.endOffset ?? 0);
      const isRight = found?.leaderEpoch === leaderEpoch && found.endOffset === end;
      check(isRight, () => `epoch ${leaderEpoch} ends at ${JSON.stringify(found)}, and not at ${end}`);
    }
  }

  /** Maintenance will look at the log now: what it may take, and nobody knows it better than this. */
  maintained(): void {
    const nowMs = this.#now();
    const { retentionMs, retentionBytes, deletes, compacts, deleteRetentionMs } = this.config;
    if (compacts) {
      this.isCompacted = true;
      this.tombstonesKeptMs = Math.min(this.tombstonesKeptMs, deleteRetentionMs);
    }
    const log = this.log!; // of an open log only
    if (!deletes || (retentionMs === Number.POSITIVE_INFINITY && retentionBytes === Number.POSITIVE_INFINITY))
      return;
    const isYoung = ({ timestampMs, appendedAtMs }: AppendedRecord): boolean =>
      nowMs - appendedAtMs <= retentionMs && (timestampMs < 0 || nowMs - timestampMs <= retentionMs);
    const young = this.records.findIndex((each, offset) => offset >= log.logStartOffset && isYoung(each));
    const bound = retentionBytes === Number.POSITIVE_INFINITY && young >= 0 ? young : log.highWatermark;
    this.startAllowed = Math.max(this.startAllowed, Math.min(bound, log.highWatermark));
  }

  /** The start was moved, durably. */
  startMoved(offset: number): void {
    this.startPromised = Math.max(this.startPromised, offset);
    this.startAllowed = Math.max(this.startAllowed, offset);
    this.promise(offset);
  }

  /** What was read is what was appended; compaction may have taken out what it may. */
  compare(read: readonly ReadRecord[], from: number, upTo: number): void {
    const outcomes = this.isCompacted ? outcomesOf(this.batches) : new Map();
    let next = 0;
    for (let offset = from; offset < upTo; offset++) {
      const found = read[next];
      const appended = this.records[offset];
      const where = (what: string) => () =>
        `${this.topic} from ${from} to ${upTo}, offset ${offset}: ${what}`;
      if (found?.offset !== offset && this.#mayBeCompacted(offset, outcomes)) continue;
      check(found !== undefined && found.offset === offset, where(`missing; ${found?.offset} is next`));
      check(
        appended !== undefined && (appended.control || isSame(found, appended)),
        where(`${show(found)} for ${show(appended)}`),
      );
      next++;
    }
    check(next === read.length, () => `${this.topic} from ${from} to ${upTo}: ${read[next]?.offset} as well`);
  }

  #mayBeCompacted(offset: number, outcomes: ReadonlyMap<number, 'commit' | 'abort'>): boolean {
    const record = this.records[offset];
    if (!this.isCompacted || record === undefined) return false;
    const { key, value, appendedAtMs, control, transaction } = record;
    const isOld = this.#now() - appendedAtMs >= this.tombstonesKeptMs;
    if (control === true) return isOld;
    if (transaction !== undefined && outcomes.get(transaction) === 'abort') return true;
    if (key === null || (value === null && isOld)) return true;
    const replaces = (each: AppendedRecord): boolean =>
      each.control !== true &&
      (each.transaction === undefined || outcomes.get(each.transaction) === 'commit') &&
      each.key?.equals(key) === true;
    return this.records.slice(offset + 1).some(replaces);
  }

  /** What lookups by time choose from: records by offset, some of which are gone. */
  async present(upTo: number): Promise<(TestRecord | undefined)[]> {
    const log = this.log!; // of an open log only
    const start = log.logStartOffset;
    const present: (TestRecord | undefined)[] = this.records
      .slice(0, upTo)
      .fill(undefined as never, 0, start);
    if (!this.isCompacted) return present;
    present.fill(undefined);
    for (const each of await readTo(log, start, upTo, 1 << 16)) present[each.offset] = each;
    return present;
  }
}

/** All records of a range, read in ranges of at most `maxBytes`, memory given back. */
export async function readTo(
  log: PartitionLog,
  from: number,
  upTo: number,
  maxBytes: number,
): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  for (let offset = from; offset < upTo; ) {
    const range = await log.read(offset, maxBytes, upTo);
    // Compaction may have left nothing up to there.
    if (range.end === range.start && range.nextOffset === offset) return records;
    records.push(...recordsOf(range, offset));
    range.release?.();
    offset = range.nextOffset;
  }
  return records;
}

function isSame(read: ReadRecord, appended: TestRecord): boolean {
  return (
    read.timestampMs === appended.timestampMs &&
    sameBytes(read.key, appended.key) &&
    sameBytes(read.value, appended.value)
  );
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function show(record: TestRecord | undefined): string {
  if (record === undefined) return 'nothing';
  return `${record.timestampMs} ${record.key} ${record.value?.subarray(0, 20)}`;
}
