// One pass of compaction over one log: reads the keys of as many uncompacted records as the map has room for, then
// writes anew every segment that begins below the last of them, without the records that a later one replaces.
//
// A pass has done its work when every file that it replaced is gone, durably: only then may the checkpoint say so. For a
// tombstone goes because an earlier pass, by the checkpoint, has left nothing that it removes; nothing must bring that
// back.
import { AbortedBatches } from './aborted-batches.ts';
import type { BatchCursor } from './batch-cursor.ts';
import { ClosedSegmentScan } from './closed-segment-scan.ts';
import { CompactedFile } from './compacted-file.ts';
import type { CompactedLog } from './compacted-log.ts';
import { StorageError } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import type { KeyOffsetMap } from './key-offset-map.ts';
import type { Pace } from './pace.ts';
import type { Segment } from './segment.ts';
import { replaceSegments } from './segment-swap.ts';
import type { StoreParts } from './store-parts.ts';

/** Records between two looks at the clock. */
const RECORDS_PER_LOOK = 32;

export interface PassOptions {
  readonly log: CompactedLog;
  /** The oldest segments of the log, as many as may be compacted. */
  readonly segments: readonly Segment[];
  /** Below it each key has one record already. */
  readonly cleanedOffset: number;
  /** Empty. */
  readonly map: KeyOffsetMap;
  readonly pace: Pace;
  /** Tombstones below it go, if nothing has replaced them, and ends of transactions. */
  readonly tombstonesExpireBelow: number;
  /** An earlier pass waits for tombstones below it. */
  readonly tombstonesKnownBelow: number;
  /** Paths of files that were replaced and could not be removed are added. */
  readonly leftovers: string[];
  /** Whether to give up; asked often. */
  stopped(): boolean;
}

export interface PassResult {
  /** The log is compacted up to here. */
  readonly endOffset: number;
  /** Tombstones or ends of transactions are left that no earlier pass waits for. */
  readonly leftTombstones: boolean;
}

/** Between segments and the file made of them. */
interface Differences {
  readonly records: number;
  readonly batches: number;
}

export class CompactionPass {
  readonly #parts: StoreParts;
  readonly #options: PassOptions;
  #endOffset = 0;
  #leftTombstones = false;

  constructor(parts: StoreParts, options: PassOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** @throws StorageError corrupt; closed when it was given up, which is nobody's fault; what the file system throws */
  async run(): Promise<PassResult> {
    this.#endOffset = await this.#mapKeys();
    let segments = this.#options.segments.filter(({ baseOffset }) => baseOffset < this.#endOffset);
    while (segments.length > 0) segments = segments.slice(await this.#compactSome(segments));
    return { endOffset: this.#endOffset, leftTombstones: this.#leftTombstones };
  }

  /** Where the pass ends: at the end of the segments, or where the map was full. */
  async #mapKeys(): Promise<number> {
    const { segments, cleanedOffset } = this.#options;
    let endOffset = cleanedOffset;
    for (const segment of segments) {
      if (segment.endOffset <= cleanedOffset) continue;
      const fullAt = await this.#mapSegment(segment);
      // A segment that did not fit is left to the next pass; the first is compacted as far as it went.
      if (fullAt >= 0) return endOffset > cleanedOffset ? endOffset : fullAt;
      endOffset = segment.endOffset;
    }
    return endOffset;
  }

  /** Offset of the first record that the map had no room for; −1 when it had room for all. */
  async #mapSegment(segment: Segment): Promise<number> {
    const { cleanedOffset, map } = this.#options;
    let fullAt = -1;
    let records = 0;
    await this.#eachBatch(segment, async (batches, isVoid) => {
      const { cursor } = batches;
      if (cursor.batchLastOffset < cleanedOffset || cursor.batchIsControl || isVoid) return true;
      while (cursor.nextRecord()) {
        const { keyStart, offset } = cursor;
        if (keyStart < 0 || offset < cleanedOffset) continue;
        if (!map.put(batches.view, keyStart, cursor.keyEnd, offset)) {
          fullAt = offset;
          return false;
        }
        if (++records % RECORDS_PER_LOOK === 0 && this.#isTimeToRest) await this.#rest(batches);
      }
      return true;
    });
    return fullAt;
  }

  /**
   * Calls `visit` with each batch of a segment, and with whether its transaction was aborted, until it says that it is
   * enough.
   */
  #eachBatch(
    segment: Segment,
    visit: (batches: ClosedSegmentScan, isVoid: boolean) => Promise<boolean>,
  ): Promise<void> {
    return this.#read(segment, async (file) => {
      const batches = new ClosedSegmentScan(segment);
      const { cursor } = batches;
      let aborted: AbortedBatches | undefined;
      for (let step = batches.step(); step !== 'end'; step = batches.step()) {
        if (step === 'more') {
          await batches.load(file);
          continue;
        }
        if (this.#isTimeToRest) await this.#rest(batches);
        let isVoid = false;
        if (cursor.batchIsTransactional && !cursor.batchIsControl) {
          aborted ??= await this.#abortedFrom(segment, cursor.batchBaseOffset);
          isVoid = aborted.has(cursor.batchProducerId, cursor.batchBaseOffset);
        }
        if (!(await visit(batches, isVoid))) break;
      }
      await this.#rest(batches);
    });
  }

  /** All transactions in the segment have ended: it lies below the first that has not. */
  async #abortedFrom(segment: Segment, first: number): Promise<AbortedBatches> {
    const found = await this.#options.log.aborted.find(segment, { first, last: segment.endOffset - 1 });
    if (found === 'gone') throw this.#givenUp();
    return new AbortedBatches(found ?? []);
  }

  /** Whatever comes of a segment that has left the list is nobody's fault. */
  async #read(segment: Segment, use: (file: OpenFile) => Promise<void>): Promise<void> {
    try {
      await this.#parts.files.with(segment.path, use);
    } catch (error) {
      throw segment.gone ? this.#givenUp() : error;
    }
  }

  /** Writes the first of the segments anew, with as many of the next as one file may hold. Returns how many. */
  async #compactSome(segments: readonly Segment[]): Promise<number> {
    const { log, pace, leftovers } = this.#options;
    const { counters } = this.#parts;
    const first = segments[0]!; // there is one
    await this.#refuseWithoutRoom(segments);
    const file = new CompactedFile(this.#parts, pace, log.directory, first);
    try {
      await file.create();
      const taken: Segment[] = [];
      const differences = { records: 0, batches: 0 };
      for (const segment of segments) {
        const fits = file.byteSize + segment.byteSize <= log.config().segmentBytes;
        if (taken.length > 0 && (segment.leaderEpoch !== first.leaderEpoch || !fits)) break;
        const { records, batches } = await this.#compactSegment(segment, file);
        differences.records += records;
        differences.batches += batches;
        taken.push(segment);
      }
      const isSame = taken.length === 1 && differences.records + differences.batches === 0;
      if (!isSame) {
        const next = await file.finish(taken, await this.#appendedAtMs(taken));
        if (!(await replaceSegments(this.#parts, log, taken, next, leftovers))) throw this.#givenUp();
        counters.compactedRecords += differences.records;
        return taken.length;
      }
    } catch (error) {
      await file.discard();
      throw error;
    } finally {
      file.release();
    }
    await file.discard();
    return 1;
  }

  /** What is replaced goes when the new file is whole: until then both take room. */
  async #refuseWithoutRoom(segments: readonly Segment[]): Promise<void> {
    const { log } = this.#options;
    const allBytes = segments.reduce((bytes, { byteSize }) => bytes + byteSize, 0);
    const fileBytes = Math.max(log.config().segmentBytes, segments[0]?.byteSize ?? 0);
    const neededBytes = Math.min(allBytes, fileBytes);
    if (await this.#parts.disk.hasRoomFor(neededBytes)) return;
    throw new StorageError('disk-full', `compacting ${log.name} takes ${neededBytes} bytes for a while`);
  }

  /** Returns in how much the new file differs: records and empty batches left out, batches that left their transactions. */
  async #compactSegment(segment: Segment, into: CompactedFile): Promise<Differences> {
    const differences = { records: 0, batches: 0 };
    let records = 0;
    await this.#eachBatch(segment, async (batches, isVoid) => {
      const { cursor } = batches;
      if (!into.hasRoomFor(cursor)) await into.makeRoom(cursor);
      into.begin(cursor);
      while (cursor.nextRecord()) {
        if (this.#stays(batches, isVoid)) into.keep(cursor);
        else differences.records++;
        if (++records % RECORDS_PER_LOOK === 0 && this.#isTimeToRest) await this.#rest(batches);
      }
      if (this.#leavesTransaction(cursor)) {
        into.leaveTransaction();
        differences.batches++;
      }
      const { batchProducerId, batchBaseOffset } = cursor;
      const isNewest = batchProducerId >= 0 && this.#options.log.isNewestOf(batchProducerId, batchBaseOffset);
      const stays = into.end(cursor, isNewest);
      // The last one comes back when the file is finished.
      const isLast = cursor.batchLastOffset + 1 >= segment.endOffset;
      if (!stays && cursor.batchRecordCount === 0 && !isLast) differences.batches++;
      return true;
    });
    return differences;
  }

  /**
   * What is left of a transaction when the pass is done counts, so it need not say any more that it was one: then the
   * transaction's end may go, and no opening takes the transaction for open.
   */
  #leavesTransaction(cursor: BatchCursor): boolean {
    return cursor.batchIsTransactional && !cursor.batchIsControl && cursor.batchLastOffset < this.#endOffset;
  }

  /** Whether the record that the cursor stands on stays. */
  #stays({ cursor, view }: ClosedSegmentScan, isVoid: boolean): boolean {
    const { map, tombstonesExpireBelow, tombstonesKnownBelow } = this.#options;
    const { offset, keyStart } = cursor;
    if (isVoid) return false;
    if (offset >= this.#endOffset) return true;
    if (cursor.batchIsControl) return this.#endStays(cursor);
    // Without a key it is no key's latest. (The front ends refuse such a record on a compacted topic.)
    if (keyStart < 0) return false;
    if (map.latest(view, keyStart, cursor.keyEnd) > offset) return false;
    if (cursor.valueStart >= 0) return true;
    if (offset < tombstonesExpireBelow) return false;
    if (offset >= tombstonesKnownBelow) this.#leftTombstones = true;
    return true;
  }

  /**
   * Whether the end of a transaction stays: as long as a tombstone, so that whoever has begun to read the transaction
   * comes to its end, and longer where it is what is known last of its producer.
   */
  #endStays({ batchBaseOffset, batchProducerId }: BatchCursor): boolean {
    const { log, tombstonesExpireBelow, tombstonesKnownBelow } = this.#options;
    if (log.isNewestOf(batchProducerId, batchBaseOffset)) return true;
    if (batchBaseOffset < tombstonesExpireBelow) return false;
    if (batchBaseOffset >= tombstonesKnownBelow) this.#leftTombstones = true;
    return true;
  }

  /** Wall clock of the last append to any of them. */
  async #appendedAtMs(segments: readonly Segment[]): Promise<number> {
    const { completion } = this.#options.log;
    let latestMs = 0;
    for (const segment of segments) {
      const times = await completion.knownTimes(segment);
      const atMs = times?.appendedAtMs ?? (await this.#parts.fileSystem.stat(segment.path)).mtimeMs;
      latestMs = Math.max(latestMs, atMs);
    }
    return latestMs;
  }

  get #isTimeToRest(): boolean {
    return this.#options.pace.isSpent();
  }

  async #rest(batches: ClosedSegmentScan): Promise<void> {
    const { pace } = this.#options;
    pace.spend(batches.takeBytes());
    if (this.#options.stopped() || !this.#options.log.isWritable()) throw this.#givenUp();
    await pace.rest();
  }

  #givenUp(): StorageError {
    return new StorageError('closed', `the compaction of ${this.#options.log.name} was given up`);
  }
}
