// One pass of compaction over one log: reads the keys of as many uncompacted records as the map has room for, then
// writes anew every segment that begins below the last of them, without the records that a later one replaces.
//
// A pass has done its work when every file that it replaced is gone, durably: only then may the checkpoint say so. For a
// tombstone goes because an earlier pass, by the checkpoint, has left nothing that it removes; nothing must bring that
// back.
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
  /** Tombstones below it go, if nothing has replaced them. */
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
  /** Tombstones are left that no earlier pass waits for. */
  readonly leftTombstones: boolean;
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
  #mapSegment(segment: Segment): Promise<number> {
    const { cleanedOffset, map } = this.#options;
    return this.#read(segment, async (file) => {
      const batches = new ClosedSegmentScan(segment);
      const { cursor } = batches;
      let records = 0;
      for (let step = batches.step(); step !== 'end'; step = batches.step()) {
        if (step === 'more') {
          await batches.load(file);
          continue;
        }
        if (this.#isTimeToRest) await this.#rest(batches);
        // Whether a transaction was committed is not looked up: its records replace nothing.
        if (cursor.batchLastOffset < cleanedOffset || cursor.batchIsControl || cursor.batchIsTransactional) {
          continue;
        }
        while (cursor.nextRecord()) {
          const { keyStart, offset } = cursor;
          if (keyStart < 0 || offset < cleanedOffset) continue;
          if (!map.put(batches.view, keyStart, cursor.keyEnd, offset)) return offset;
          if (++records % RECORDS_PER_LOOK === 0 && this.#isTimeToRest) await this.#rest(batches);
        }
      }
      await this.#rest(batches);
      return -1;
    });
  }

  /** Whatever comes of a segment that has left the list is nobody's fault. */
  async #read(segment: Segment, use: (file: OpenFile) => Promise<number>): Promise<number> {
    try {
      return await this.#parts.files.with(segment.path, use);
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
      let leftOut = 0;
      for (const segment of segments) {
        const fits = file.byteSize + segment.byteSize <= log.config().segmentBytes;
        if (taken.length > 0 && (segment.leaderEpoch !== first.leaderEpoch || !fits)) break;
        leftOut += await this.#compactSegment(segment, file);
        taken.push(segment);
      }
      const isSame = taken.length === 1 && leftOut === 0;
      if (!isSame) {
        const next = await file.finish(taken, await this.#appendedAtMs(taken));
        if (!(await replaceSegments(this.#parts, log, taken, next, leftovers))) throw this.#givenUp();
        counters.compactedRecords += leftOut;
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

  /** Returns how many records were left out, and empty batches with them. */
  #compactSegment(segment: Segment, into: CompactedFile): Promise<number> {
    const { log } = this.#options;
    return this.#read(segment, async (file) => {
      const batches = new ClosedSegmentScan(segment);
      const { cursor } = batches;
      let leftOut = 0;
      let records = 0;
      for (let step = batches.step(); step !== 'end'; step = batches.step()) {
        if (step === 'more') {
          await batches.load(file);
          continue;
        }
        if (this.#isTimeToRest) await this.#rest(batches);
        if (!into.hasRoomFor(cursor)) await into.makeRoom(cursor);
        into.begin(cursor);
        while (cursor.nextRecord()) {
          if (this.#stays(batches)) into.keep(cursor);
          else leftOut++;
          if (++records % RECORDS_PER_LOOK === 0 && this.#isTimeToRest) await this.#rest(batches);
        }
        const { batchProducerId, batchBaseOffset } = cursor;
        const isNewest = batchProducerId >= 0 && log.newestBaseOffsetOf(batchProducerId) === batchBaseOffset;
        const stays = into.end(cursor, cursor.batchIsControl || isNewest);
        // The last one comes back when the file is finished.
        const isLast = cursor.batchLastOffset + 1 >= segment.endOffset;
        if (!stays && cursor.batchRecordCount === 0 && !isLast) leftOut++;
      }
      await this.#rest(batches);
      return leftOut;
    });
  }

  /** Whether the record that the cursor stands on stays. */
  #stays({ cursor, view }: ClosedSegmentScan): boolean {
    const { map, tombstonesExpireBelow, tombstonesKnownBelow } = this.#options;
    const { offset, keyStart } = cursor;
    if (cursor.batchIsControl || offset >= this.#endOffset) return true;
    // Without a key it is no key's latest. (The front ends refuse such a record on a compacted topic.)
    if (keyStart < 0) return false;
    if (map.latest(view, keyStart, cursor.keyEnd) > offset) return false;
    if (cursor.valueStart >= 0) return true;
    // A tombstone of a transaction has replaced nothing, so that what it would replace may be there still.
    if (offset < tombstonesExpireBelow && !cursor.batchIsTransactional) return false;
    if (offset >= tombstonesKnownBelow) this.#leftTombstones = true;
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
