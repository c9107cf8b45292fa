// Checks what the index says of one log against the log. An index that is missing or behind is right: it is made anew
// when somebody looks for it. One that leads astray is not.
import { join } from 'node:path';
import { assert, errorCodeOf, storageErrorOf } from './errors.ts';
import { INDEX_DIRECTORY } from './file-names.ts';
import type { FileSystem } from './file-system.ts';
import { readInt64, viewOf } from './frame.ts';
import { withChecksums } from './index-checksums.ts';
import { type IndexDatabase, type IndexRow, openExistingLevelIndex } from './index-database.ts';
import type { Findings, InspectionTotals } from './inspection-findings.ts';
import type { CheckedBatch, CheckedSegment, SegmentFindings } from './inspection-segment.ts';
import { indexKey, OffsetIndex, runOf, SPACE_OFFSETS, SPACE_TIMES, SPACES } from './offset-index.ts';
import { Segment } from './segment.ts';
import type { IndexRun } from './segment-index.ts';
import { ABORTED_BYTES, SegmentTransactions, type TransactionSummary } from './segment-transactions.ts';

/** Of one log: the database and the log's key in it. */
export interface InspectedIndex {
  readonly database: IndexDatabase;
  readonly logId: number;
}

const HIGHEST = 0xffffffff;
const NO_TRANSACTIONS: TransactionSummary = new SegmentTransactions().summary;

/** The entries of one segment, held against its batches in the order of both. */
export class SegmentIndexCheck {
  readonly #index: InspectedIndex;
  readonly #segment: CheckedSegment;
  readonly #findings: Findings;
  readonly #totals: InspectionTotals;
  readonly #runs: IndexRun[] = [];
  /** By control batch. */
  readonly #transactions = new SegmentTransactions();
  #run = 0;
  #entry = 0;

  constructor(index: InspectedIndex, segment: CheckedSegment, findings: Findings, totals: InspectionTotals) {
    this.#index = index;
    this.#segment = segment;
    this.#findings = findings;
    this.#totals = totals;
  }

  /** Reads the segment's rows: some megabytes at most. */
  async load(): Promise<void> {
    for await (const row of this.#rowsOf(SPACE_OFFSETS)) {
      const run = runOf(row);
      if (run === undefined) this.#wrong(readInt64(viewOf(row.key), 13), 'a row is no run of entries');
      else this.#runs.push(run);
    }
    this.#runs.reverse();
    this.#checkOrder();
  }

  /** A good batch of the segment. */
  note({ baseOffset, position, maxTimestampBeforeMs, producerId, aborts, control }: CheckedBatch): void {
    if (control !== undefined) this.#transactions.note(baseOffset, producerId, aborts, control);
    for (;;) {
      const run = this.#runs[this.#run];
      if (run === undefined) return;
      const entry = run.entryAt(this.#entry);
      if (entry.position > position) return;
      if (entry.position < position) {
        this.#wrong(entry.offset, `the entry leads to byte ${entry.position}, where no batch begins`);
      } else if (entry.offset !== baseOffset) {
        const found = `the batch of ${baseOffset} begins`;
        this.#wrong(entry.offset, `the entry leads to byte ${position}, where ${found}`);
      } else if (entry.maxTimestampBeforeMs !== maxTimestampBeforeMs) {
        const says = `largest timestamp before ${entry.maxTimestampBeforeMs}`;
        this.#wrong(entry.offset, `the entry says ${says}, and it is ${maxTimestampBeforeMs ?? 'none'}`);
      }
      this.#next(run);
    }
  }

  /** The segment has been read. */
  async finish(found: SegmentFindings): Promise<void> {
    for (let run = this.#runs[this.#run]; run !== undefined; run = this.#runs[this.#run]) {
      const { offset, position } = run.entryAt(this.#entry);
      this.#wrong(offset, `the entry leads to byte ${position}, behind the last batch`);
      this.#next(run);
    }
    await this.#checkTimes();
    await this.#checkSummary(found);
  }

  #next(run: IndexRun): void {
    this.#totals.indexEntries++;
    this.#entry++;
    if (this.#entry < run.length) return;
    this.#run++;
    this.#entry = 0;
  }

  #checkOrder(): void {
    let offset = -1;
    let position = 0;
    for (const run of this.#runs) {
      if (run.offsetAt(0) !== run.firstOffset) this.#wrong(run.firstOffset, 'a run begins above its key');
      for (let index = 0; index < run.length; index++) {
        const entry = run.entryAt(index);
        if (entry.offset <= offset || entry.position <= position) {
          this.#wrong(entry.offset, 'the entries do not rise with offset and position');
        }
        offset = entry.offset;
        position = entry.position;
      }
    }
  }

  /** Each row of times names the run whose first entry has that largest timestamp before it. */
  async #checkTimes(): Promise<void> {
    const firstTimes = new Map(this.#runs.map((run) => [run.firstOffset, run.maxTimestampBeforeAt(0)]));
    for await (const { key, value } of this.#rowsOf(SPACE_TIMES)) {
      const view = viewOf(key);
      const timestampMs = ((view.getUint32(13) ^ 0x80000000) | 0) * 4294967296 + view.getUint32(17);
      const offset = value.length === 8 ? readInt64(viewOf(value), 0) : -1;
      const first = firstTimes.get(offset);
      if (first === undefined) this.#wrong(offset, `the row of time ${timestampMs} names no run`);
      else if (first !== timestampMs) {
        this.#wrong(offset, `the row of time ${timestampMs} names a run that begins with time ${first}`);
      }
    }
  }

  async #checkSummary({ endOffset, endPosition, firstTimestampMs, maxTimestampMs }: SegmentFindings) {
    const { path, leaderEpoch, baseOffset } = this.#segment;
    const segment = new Segment(path, leaderEpoch, baseOffset, { byteSize: endPosition, endOffset });
    const { database, logId } = this.#index;
    const times = await new OffsetIndex(database, logId).times(segment);
    if (times === undefined) return;
    if (times.firstTimestampMs !== firstTimestampMs || times.maxTimestampMs !== maxTimestampMs) {
      const says = `first timestamp ${times.firstTimestampMs} and max timestamp ${times.maxTimestampMs}`;
      this.#wrong(baseOffset, `the summary says ${says}, not ${firstTimestampMs} and ${maxTimestampMs}`);
    }
    await this.#checkAborted(segment, times.transactions ?? NO_TRANSACTIONS);
  }

  /** A segment whose summary is right has a row for each run of aborted transactions. */
  async #checkAborted(segment: Segment, told: TransactionSummary): Promise<void> {
    const { baseOffset } = this.#segment;
    const { summary, runs } = this.#transactions;
    const { abortedCount, firstOffsetMin, stableOffset } = summary;
    const isSame =
      told.abortedCount === abortedCount &&
      told.firstOffsetMin === firstOffsetMin &&
      told.stableOffset === stableOffset;
    if (!isSame) {
      const aborted = `${told.abortedCount} aborted transactions, and that ${told.stableOffset} was stable`;
      this.#wrong(baseOffset, `the summary says ${aborted}, and it is ${abortedCount} and ${stableOffset}`);
      return;
    }
    const { database, logId } = this.#index;
    const index = new OffsetIndex(database, logId);
    for (const [number, run] of runs.entries()) {
      const length = run.length * ABORTED_BYTES;
      const row = await index.abortedRun(segment, number, run.length);
      const offset = run.lastOffsetAt(0);
      if (row === undefined) this.#wrong(offset, 'a row of aborted transactions is lost');
      else if (row.bytes.compare(run.bytes, 0, length, 0, length) !== 0) {
        this.#wrong(offset, 'a row of aborted transactions says something else than the control batches');
      }
    }
  }

  /** From the highest key to the lowest. */
  #rowsOf(space: number): AsyncGenerator<IndexRow, void, undefined> {
    const { database, logId } = this.#index;
    const { baseOffset } = this.#segment;
    return rowsBetween(
      database,
      indexKey(space, logId, baseOffset, 0, 0),
      indexKey(space, logId, baseOffset, HIGHEST, HIGHEST),
    );
  }

  #wrong(offset: number, message: string): void {
    this.#findings.error('index', { path: this.#segment.path, offset }, `index: ${message}`);
  }
}

/** Rows of segments that are not there: an unlink came between, and a crash. They are in nobody's way. */
export async function checkLeftOverRows(
  { database, logId }: InspectedIndex,
  directory: string,
  segmentBases: ReadonlySet<number>,
  findings: Findings,
): Promise<void> {
  for (const space of SPACES) {
    const low = indexKey(space, logId, 0, 0, 0);
    let high = indexKey(space, logId, Number.MAX_SAFE_INTEGER, HIGHEST, HIGHEST);
    for (
      let row = await database.floor(low, high);
      row !== undefined;
      row = await database.floor(low, high)
    ) {
      const base = readInt64(viewOf(row.key), 5);
      if (!segmentBases.has(base)) {
        const what = `index: rows of a segment ${base} that is not there`;
        findings.warning('left-over', { path: directory, offset: base }, what);
      }
      if (base === 0) break;
      high = indexKey(space, logId, base - 1, HIGHEST, HIGHEST);
    }
  }
}

/** From the highest key to the lowest. The interface under the index has no other way to step. */
async function* rowsBetween(
  database: IndexDatabase,
  low: Buffer,
  high: Buffer,
): AsyncGenerator<IndexRow, void, undefined> {
  let below = high;
  for (;;) {
    const row = await database.floor(low, below);
    if (row === undefined) return;
    yield row;
    if (row.key.equals(low)) return;
    below = keyBefore(row.key);
  }
}

/** The key right below another of the same length. */
function keyBefore(key: Buffer): Buffer {
  const before = Buffer.from(key);
  for (let at = before.length - 1; at >= 0; at--) {
    if (before[at] !== 0) {
      before[at]!--; // at is within the key
      return before;
    }
    before[at] = 0xff;
  }
  assert(false, 'a key is above the lowest');
}

/**
 * Opens the index of a data directory, and with it takes the directory's lock; undefined when there is none: then no
 * hub is running either. @throws StorageError locked, corrupt, io
 */
export async function openInspectedIndex(
  fileSystem: FileSystem,
  dataDirectory: string,
): Promise<IndexDatabase | undefined> {
  const directory = join(dataDirectory, INDEX_DIRECTORY);
  try {
    if ((await fileSystem.readdir(directory)).length === 0) return undefined;
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw storageErrorOf(error, `reading ${directory}`);
  }
  // Rows that are damaged read as empty ones, which are no entries: that is told by whoever checks them.
  return withChecksums(await openExistingLevelIndex(directory), () => {});
}
