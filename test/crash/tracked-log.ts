// One log of a random program, and what is known of it. The model is a plain array: everything that was appended, by
// offset; beside it what was promised of it, which nothing may take back, and what may be gone by now.
import type { Append } from '../../storage/commit-group.ts';
import type { LogConfig } from '../../storage/log-config.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { append, type ReadRecord, recordsOf, type TestRecord, write } from '../helpers/store-fixture.ts';

/** Throws when the condition does not hold. The words cost something: they are made when they are needed. */
export function check(condition: boolean, what: () => string): asserts condition {
  if (!condition) throw new Error(what());
}

export class TrackedLog {
  readonly topic: string;
  readonly topicId: string;
  readonly logId: number;
  config: LogConfig;
  /** Leader epoch of the last opening; the owner remembers it durably. */
  epoch = 0;
  /** By offset. */
  records: TestRecord[] = [];
  /** Offsets below it were acknowledged as flushed, or seen by a reader. */
  promised = 0;
  /** The log start was acknowledged to be here, or seen here after an opening … */
  startPromised = 0;
  /** … and may have moved up to here. */
  startAllowed = 0;
  log: PartitionLog | undefined;

  constructor(topic: string, topicId: string, logId: number, config: LogConfig) {
    this.topic = topic;
    this.topicId = topicId;
    this.logId = logId;
    this.config = config;
  }

  /** Appends one batch, or its records one by one into the shared one. Resolves when it is known what became of it. */
  async append(records: readonly TestRecord[], shared: boolean): Promise<void> {
    const log = this.log!; // programs append to open logs only
    const model = this.records;
    const appends: Append[] = [];
    if (shared) {
      for (const each of records) {
        appends.push(log.join((writer) => write(writer, each)));
        model.push(each);
      }
    } else {
      appends.push(append(log, records));
      model.push(...records);
    }
    check(log.logEndOffset === model.length, () => `${this.topic} ends at ${log.logEndOffset}`);
    const first = appends[0]!; // there is a record at least
    check(first.baseOffset === model.length - records.length, () => `an append at ${first.baseOffset}`);
    const end = model.length;
    const outcomes = await Promise.all(appends.map(({ flushed }) => flushed));
    // An answer that comes after a crash is one that nobody got.
    if (this.records !== model || this.log !== log) return;
    if (outcomes.every((error) => error === undefined)) this.promise(end);
  }

  promise(end: number): void {
    this.promised = Math.max(this.promised, end);
  }

  /** What an opening found is what there is from now on. */
  async opened(log: PartitionLog): Promise<void> {
    const { logStartOffset: start, logEndOffset: end } = log;
    const where = (what: string) => () => `${this.topic} opens from ${start} to ${end}: ${what}`;
    check(log.failed === undefined, where(`it takes no appends: ${log.failed?.message}`));
    check(end >= this.promised, where(`acknowledged to ${this.promised}`));
    check(end <= this.records.length, where(`only ${this.records.length} were appended`));
    check(start >= this.startPromised, where(`the start had been moved to ${this.startPromised}`));
    check(start <= this.startAllowed, where(`the start was moved to ${this.startAllowed} at most`));
    this.log = log;
    this.records = this.records.slice(0, end);
    this.startPromised = start;
    this.startAllowed = start;
    this.compare(await readTo(log, start, end, 1 << 16), start, end);
    this.promised = end;
  }

  /** What was read is what was appended. */
  compare(read: readonly ReadRecord[], from: number, upTo: number): void {
    let next = 0;
    for (let offset = from; offset < upTo; offset++) {
      const found = read[next];
      const appended = this.records[offset];
      const where = (what: string) => () =>
        `${this.topic} from ${from} to ${upTo}, offset ${offset}: ${what}`;
      check(found !== undefined && found.offset === offset, where(`missing; ${found?.offset} is next`));
      check(appended !== undefined && isSame(found, appended), where(`${show(found)} for ${show(appended)}`));
      next++;
    }
    check(next === read.length, () => `${this.topic} from ${from} to ${upTo}: ${read[next]?.offset} as well`);
  }

  /** First offset below `upTo` with a timestamp at or above; −1 when there is none. */
  firstFrom(timestampMs: number, upTo: number): number {
    return this.records.findIndex(
      (each, at) => at < upTo && at >= this.startPromised && each.timestampMs >= timestampMs,
    );
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
    check(range.end > range.start, () => `an empty range at ${offset}, below ${upTo}`);
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
