// Brings the index of closed segments up to the segment: after a crash, after the index was lost, after a wrong entry.
// Goes on behind the last entry that leads somewhere, else from the segment's start.
import { BatchScan } from './batch-scan.ts';
import { controlRecordOf } from './control-record.ts';
import { StorageError, storageErrorOf } from './errors.ts';
import type { OpenFile } from './file-system.ts';
import {
  ATTRIBUTE_ABORTS,
  ATTRIBUTE_CONTROL,
  BATCH_ATTRIBUTES_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_PRODUCER_ID_AT,
  batchBaseOffsetAt,
  batchMaxTimestampAt,
  batchRecordCountAt,
  readInt64,
} from './frame.ts';
import type { OffsetIndex } from './offset-index.ts';
import type { Segment } from './segment.ts';
import { type IndexEntry, SegmentIndex, type SegmentTimes } from './segment-index.ts';
import type { StoreParts } from './store-parts.ts';

/** Runs go to the database at this many bytes of log, so that memory stays small. */
const STORE_BYTES = 64 * 1024 * 1024;

const NO_TIMES = { firstTimestampMs: -1, maxTimestampMs: -1 };

export class IndexCompletion {
  readonly #parts: StoreParts;
  readonly #index: OffsetIndex;
  /** Only while there is any: thousands of logs have none. */
  #running: Map<Segment, Promise<SegmentTimes | undefined>> | undefined;

  constructor(parts: StoreParts, index: OffsetIndex) {
    this.#parts = parts;
    this.#index = index;
  }

  /** Times of a segment, from wherever they are to be had. @throws StorageError corrupt, io */
  async timesOf(segment: Segment): Promise<SegmentTimes | undefined> {
    return (await this.knownTimes(segment)) ?? this.complete(segment);
  }

  /** The same without looking into the segment: undefined when its index is not complete. */
  async knownTimes(segment: Segment): Promise<SegmentTimes | undefined> {
    if (segment.index !== undefined) return segment.index.times;
    segment.times ??= await this.#index.times(segment);
    return segment.times;
  }

  /** Asks the database about all of them at once; what it knows is in the segments then. */
  async loadTimes(segments: readonly Segment[]): Promise<void> {
    const unknown = segments.filter((segment) => segment.index === undefined && segment.times === undefined);
    if (unknown.length === 0) return;
    const times = await this.#index.timesOfMany(unknown);
    for (const [index, segment] of unknown.entries()) segment.times ??= times[index];
  }

  /** Of a closed segment. */
  async changeTimes(segment: Segment, times: SegmentTimes): Promise<void> {
    segment.times = times;
    await this.#running?.get(segment)?.catch(() => {});
    if (!segment.gone) await this.#index.storeTimes(segment, times);
  }

  /** The entries of a segment that was appended to and is closed now go to the database, and then from memory. */
  closeSegment(segment: Segment): Promise<void> {
    const { index } = segment;
    const times = index?.times;
    if (index === undefined || times === undefined) return Promise.resolve();
    const storing = this.#store(segment, index, times).finally(() => this.#ended(segment));
    this.#begun(segment, storing);
    return storing.then(() => {});
  }

  /** The segments are gone, as is all below `baseOffset`: drops the entries. */
  async forgetBelow(segments: readonly Segment[], baseOffset: number): Promise<void> {
    for (const segment of segments) await this.#running?.get(segment)?.catch(() => {});
    await this.#index.dropBelow(segments, baseOffset);
  }

  /** The segment is gone: drops its entries. */
  async forget(segment: Segment): Promise<void> {
    await this.#running?.get(segment)?.catch(() => {});
    await this.#index.dropSegment(segment);
  }

  /** Undefined when the segment has gone meanwhile. @throws StorageError corrupt, io */
  complete(segment: Segment): Promise<SegmentTimes | undefined> {
    let running = this.#running?.get(segment);
    if (running === undefined) {
      running = this.#parts.scans
        .pass(() => this.#completeFile(segment))
        .catch((error: unknown) => {
          throw storageErrorOf(error, `indexing ${segment.path}`);
        })
        .finally(() => this.#ended(segment));
      this.#begun(segment, running);
    }
    return running;
  }

  /** A reader found an entry that is wrong, or none where there should be. */
  async mend(segment: Segment, wrong: boolean): Promise<void> {
    if (segment.index !== undefined || segment.gone) return;
    if (wrong) this.#parts.log.warn('log.index-wrong', { segment: segment.path });
    await (wrong ? this.rebuild(segment) : this.complete(segment));
  }

  /** Drops the segment's entries first: one of them is wrong. */
  async rebuild(segment: Segment): Promise<SegmentTimes | undefined> {
    segment.times = undefined;
    await this.#index.dropSegment(segment);
    return this.complete(segment);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running?.values() ?? []);
  }

  #begun(segment: Segment, work: Promise<SegmentTimes | undefined>): void {
    this.#running ??= new Map();
    this.#running.set(segment, work);
  }

  #ended(segment: Segment): void {
    this.#running?.delete(segment);
    if (this.#running?.size === 0) this.#running = undefined;
  }

  async #store(segment: Segment, index: SegmentIndex, times: SegmentTimes): Promise<SegmentTimes> {
    await this.#index.store(segment, index, segment.endOffset, true);
    await this.#index.storeTimes(segment, times);
    segment.times = times;
    segment.index = undefined;
    return times;
  }

  async #completeFile(segment: Segment): Promise<SegmentTimes | undefined> {
    for (;;) {
      const { path } = segment;
      try {
        return await this.#parts.files.with(path, (file) => this.#complete(segment, file));
      } catch (error) {
        if (segment.gone) return undefined;
        // A compacted file is renamed while it is indexed.
        if (segment.path === path) throw error;
      }
    }
  }

  async #complete(segment: Segment, file: OpenFile): Promise<SegmentTimes | undefined> {
    const stored = await this.#index.times(segment);
    if (stored !== undefined) return stored;
    const last = await this.#index.last(segment);
    const transactions = last && (await this.#index.transactionsBelow(segment, last.offset));
    const leadsOn =
      last !== undefined && transactions !== 'lost' && (await leadsToBatch(segment, file, last));
    const from = leadsOn ? last : undefined;
    if (last !== undefined && from === undefined) await this.#index.dropSegment(segment);
    const { mtimeMs } = await this.#parts.fileSystem.stat(segment.path);
    const index = new SegmentIndex(this.#parts.indexIntervalBytes, mtimeMs, from);
    if (leadsOn) index.transactions = transactions;
    if (from !== undefined) await this.#scan(segment, file, new BatchScan(0, from.position), index, true);
    await this.#scan(segment, file, new BatchScan(from?.position ?? 0, segment.flushedBytes), index, false);
    if (segment.gone) return undefined;
    await this.#index.store(segment, index, segment.endOffset, true);
    // An interrupted compaction may have left all batches to the next file: below where that begins there is none.
    const times = index.times ?? { ...NO_TIMES, appendedAtMs: mtimeMs };
    await this.#index.storeTimes(segment, times);
    segment.times = times;
    return times;
  }

  /** @param firstOnly for the segment's first timestamp alone */
  async #scan(
    segment: Segment,
    file: OpenFile,
    scan: BatchScan,
    index: SegmentIndex,
    firstOnly: boolean,
  ): Promise<void> {
    let storedAt = scan.position;
    for (;;) {
      const step = scan.step();
      if (step === 'more') {
        await scan.load(file);
        if (segment.gone) return;
        if (scan.position - storedAt < STORE_BYTES) continue;
        storedAt = scan.position;
        await this.#index.store(segment, index, segment.endOffset, false);
        continue;
      }
      if (step === 'end') return;
      if (step !== 'good') {
        throw new StorageError('corrupt', `${segment.path}: the batch at byte ${scan.position} is damaged`);
      }
      const { view, at, byteLength } = scan;
      const baseOffset = batchBaseOffsetAt(view, at);
      if (baseOffset >= segment.endOffset) return;
      if (batchRecordCountAt(view, at) === 0) {
        if (!firstOnly) index.noteEmpty(baseOffset, scan.position);
        continue;
      }
      const firstTimestampMs = readInt64(view, at + BATCH_FIRST_TIMESTAMP_AT);
      if (firstOnly) return index.setFirstTimestamp(firstTimestampMs);
      index.note(baseOffset, scan.position, firstTimestampMs, batchMaxTimestampAt(view, at));
      const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
      if ((attributes & ATTRIBUTE_CONTROL) === 0) continue;
      const control = controlRecordOf(view, at, byteLength);
      if (control === undefined) continue;
      const producerId = readInt64(view, at + BATCH_PRODUCER_ID_AT);
      index.noteEnd(baseOffset, producerId, (attributes & ATTRIBUTE_ABORTS) !== 0, control);
    }
  }
}

async function leadsToBatch(segment: Segment, file: OpenFile, entry: IndexEntry): Promise<boolean> {
  if (entry.position >= segment.flushedBytes) return false;
  const scan = new BatchScan(entry.position, segment.flushedBytes, 1);
  for (;;) {
    const step = scan.step();
    if (step === 'more') await scan.load(file);
    else return step === 'good' && batchBaseOffsetAt(scan.view, scan.at) === entry.offset;
  }
}
