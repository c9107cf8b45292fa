// Checks one segment file by itself: every checksum, every frame, every number of a batch frame against the records,
// and the order of offsets. Which holes are explained, and whether the end is torn, depends on what lies beside it.
import { type ControlRecord, controlRecordOf } from './control-record.ts';
import type { FileSystem } from './file-system.ts';
import {
  ATTRIBUTE_ABORTS,
  ATTRIBUTE_CONTROL,
  ATTRIBUTE_LOG_APPEND_TIME,
  ATTRIBUTE_TRANSACTIONAL,
  BATCH_ATTRIBUTES_AT,
  BATCH_BASE_SEQUENCE_AT,
  BATCH_FIRST_TIMESTAMP_AT,
  BATCH_FRAME_BYTES,
  BATCH_LAST_OFFSET_DELTA_AT,
  BATCH_LEADER_EPOCH_AT,
  BATCH_PRODUCER_EPOCH_AT,
  BATCH_PRODUCER_ID_AT,
  BATCH_RECORD_COUNT_AT,
  batchBaseOffsetAt,
  batchLastOffsetAt,
  batchMaxTimestampAt,
  readInt64,
} from './frame.ts';
import { type InspectedBatch, type InspectedDamage, inspectBatches } from './inspection-batches.ts';
import { DAMAGE } from './inspection-dump.ts';
import type { Findings, InspectionTotals, Place } from './inspection-findings.ts';
import { batchFrameProblem, RecordFrame } from './inspection-frames.ts';

export interface CheckedSegment {
  readonly path: string;
  readonly leaderEpoch: number;
  readonly baseOffset: number;
  readonly byteSize: number;
}

export interface SegmentSurroundings {
  /** Only the newest can end in a torn batch. */
  readonly isNewest: boolean;
  /** What lies below it was on disk once. */
  readonly provenOffset: number;
  /** Called with each good batch, in order. */
  readonly onBatch: (batch: CheckedBatch) => void;
}

export interface CheckedBatch {
  readonly baseOffset: number;
  readonly position: number;
  readonly endOffset: number;
  readonly endPosition: number;
  /** −1 = none. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly aborts: boolean;
  /** Of a control batch that says how a transaction ended. */
  readonly control: ControlRecord | undefined;
  /** Of the batches before it in the segment; undefined for the first. */
  readonly maxTimestampBeforeMs: number | undefined;
}

/** Offsets from `fromOffset` to before `toOffset` that no batch of the segment covers. */
export interface Hole {
  readonly position: number;
  readonly fromOffset: number;
  readonly toOffset: number;
}

export interface SegmentFindings {
  /** One past the last offset that a good batch covers; the base offset when there is none. */
  readonly endOffset: number;
  /** Where the last good batch ends. */
  readonly endPosition: number;
  /** Undefined without a batch. */
  readonly firstTimestampMs: number | undefined;
  readonly maxTimestampMs: number | undefined;
  readonly isDamaged: boolean;
  readonly holes: readonly Hole[];
  /** Whether some batch covers more offsets than it has records: compaction was here. */
  readonly hasThinnedBatches: boolean;
}

const KNOWN_ATTRIBUTES =
  ATTRIBUTE_TRANSACTIONAL | ATTRIBUTE_CONTROL | ATTRIBUTE_LOG_APPEND_TIME | ATTRIBUTE_ABORTS;

/** Throws errors of the file system. */
export function checkSegment(
  fileSystem: FileSystem,
  segment: CheckedSegment,
  surroundings: SegmentSurroundings,
  findings: Findings,
  totals: InspectionTotals,
): Promise<SegmentFindings> {
  return new SegmentCheck(segment, surroundings, findings, totals).run(fileSystem);
}

class SegmentCheck {
  readonly #segment: CheckedSegment;
  readonly #surroundings: SegmentSurroundings;
  readonly #findings: Findings;
  readonly #totals: InspectionTotals;
  readonly #record = new RecordFrame();
  readonly #holes: Hole[] = [];
  #endOffset: number;
  #endPosition = 0;
  #firstTimestampMs: number | undefined;
  #maxTimestampMs: number | undefined;
  #isDamaged = false;
  #hasThinnedBatches = false;
  /** The log ends here, whatever follows. */
  #isTorn = false;
  /** Right behind damage nobody knows which offset comes next. */
  #isBehindDamage = false;

  constructor(
    segment: CheckedSegment,
    surroundings: SegmentSurroundings,
    findings: Findings,
    totals: InspectionTotals,
  ) {
    this.#segment = segment;
    this.#surroundings = surroundings;
    this.#findings = findings;
    this.#totals = totals;
    this.#endOffset = segment.baseOffset;
  }

  async run(fileSystem: FileSystem): Promise<SegmentFindings> {
    const { path, byteSize } = this.#segment;
    for await (const part of inspectBatches(fileSystem, path, byteSize)) {
      if (this.#isTorn) break;
      if (part.kind === 'damage') this.#damage(part);
      else this.#batch(part);
    }
    this.#totals.segments++;
    this.#totals.bytes += byteSize;
    return {
      endOffset: this.#endOffset,
      endPosition: this.#endPosition,
      firstTimestampMs: this.#firstTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
      isDamaged: this.#isDamaged,
      holes: this.#holes,
      hasThinnedBatches: this.#hasThinnedBatches,
    };
  }

  #damage({ position, byteLength, verdict, endsFile }: InspectedDamage): void {
    const { isNewest, provenOffset } = this.#surroundings;
    const place = { path: this.#segment.path, position, offset: this.#endOffset };
    if (verdict === 'newer') {
      this.#findings.error('format', place, DAMAGE.newer);
    } else if (isNewest && this.#endOffset >= provenOffset) {
      // A disk may have written what follows before: then all of it goes, and nobody was promised it.
      this.#isTorn = true;
      if (verdict === 'room') return;
      const torn = 'a batch that was not written to its end: the next opening cuts from here on';
      this.#findings.warning('torn-end', place, `${torn}, ${this.#segment.byteSize - position} bytes`);
      return;
    } else {
      const behind = endsFile ? 'nothing behind can be read' : 'then a good batch follows';
      this.#findings.error(
        'damaged',
        place,
        `${DAMAGE[verdict === 'room' ? 'bad' : verdict]}: ${byteLength} bytes, ${behind}`,
      );
    }
    this.#isDamaged = true;
    this.#isBehindDamage = true;
  }

  #batch(batch: InspectedBatch): void {
    const { view, at, position, byteLength } = batch;
    const base = batchBaseOffsetAt(view, at);
    const place: Place = { path: this.#segment.path, position, offset: base };
    const last = batchLastOffsetAt(view, at);
    this.#checkPlace(base, place);
    const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
    const isControl = (attributes & ATTRIBUTE_CONTROL) !== 0;
    const control = isControl ? controlRecordOf(view, at, byteLength) : undefined;
    this.#checkFrame(view, at, control, place);
    this.#checkRecords(batch, place);
    this.#surroundings.onBatch({
      baseOffset: base,
      position,
      endOffset: last + 1,
      endPosition: position + byteLength,
      producerId: readInt64(view, at + BATCH_PRODUCER_ID_AT),
      producerEpoch: view.getInt16(at + BATCH_PRODUCER_EPOCH_AT),
      baseSequence: view.getInt32(at + BATCH_BASE_SEQUENCE_AT),
      isTransactional: (attributes & ATTRIBUTE_TRANSACTIONAL) !== 0,
      isControl,
      aborts: (attributes & ATTRIBUTE_ABORTS) !== 0,
      control,
      maxTimestampBeforeMs: this.#maxTimestampMs,
    });
    this.#firstTimestampMs ??= readInt64(view, at + BATCH_FIRST_TIMESTAMP_AT);
    const maxTimestampMs = batchMaxTimestampAt(view, at);
    this.#maxTimestampMs = Math.max(this.#maxTimestampMs ?? maxTimestampMs, maxTimestampMs);
    this.#endOffset = Math.max(this.#endOffset, last + 1);
    this.#endPosition = position + byteLength;
    this.#isBehindDamage = false;
    this.#totals.batches++;
  }

  #checkPlace(base: number, place: Place): void {
    const expected = this.#endOffset;
    if (!Number.isSafeInteger(base) || base < 0) {
      this.#findings.error('batch', place, 'the base offset is not below 2^53');
    } else if (base < expected) {
      this.#findings.error('order', place, `the batch begins below ${expected}, where the last one ended`);
    } else if (base > expected && !this.#isBehindDamage) {
      this.#holes.push({ position: place.position ?? 0, fromOffset: expected, toOffset: base });
    }
  }

  #checkFrame(view: DataView, at: number, control: ControlRecord | undefined, place: Place): void {
    const wrong = (message: string): void => this.#findings.error('batch', place, message);
    const problem = batchFrameProblem(view, at);
    if (problem !== undefined) this.#findings.error('frame', place, problem);
    const leaderEpoch = view.getUint32(at + BATCH_LEADER_EPOCH_AT);
    if (leaderEpoch !== this.#segment.leaderEpoch) {
      const epochs = `the batch has leader epoch ${leaderEpoch}, its file ${this.#segment.leaderEpoch}`;
      this.#findings.error('leader-epoch', place, epochs);
    }
    const attributes = view.getUint16(at + BATCH_ATTRIBUTES_AT);
    if ((attributes & ~KNOWN_ATTRIBUTES) !== 0) wrong(`the attributes are ${attributes}`);
    this.#checkControl(attributes, control, place);
    const producerId = readInt64(view, at + BATCH_PRODUCER_ID_AT);
    const producerEpoch = view.getInt16(at + BATCH_PRODUCER_EPOCH_AT);
    const baseSequence = view.getInt32(at + BATCH_BASE_SEQUENCE_AT);
    const isNobody = producerId === -1 && producerEpoch === -1 && baseSequence === -1;
    const isSomebody = producerId >= 0 && producerEpoch >= 0 && baseSequence >= -1;
    if (!isNobody && !isSomebody) {
      wrong(`the producer is ${producerId}, epoch ${producerEpoch}, at sequence ${baseSequence}`);
    }
  }

  #checkControl(attributes: number, control: ControlRecord | undefined, place: Place): void {
    const wrong = (message: string): void => this.#findings.error('batch', place, message);
    const aborts = (attributes & ATTRIBUTE_ABORTS) !== 0;
    if (control === undefined) {
      // One that aborts nothing may be of the time before transactions had an end, when any value was taken.
      if (aborts) wrong('the batch aborts a transaction, and does not say which');
      return;
    }
    const { firstOffset, stableOffset } = control;
    const offset = place.offset ?? 0;
    if (firstOffset < -1 || firstOffset >= offset)
      wrong(`it ends a transaction that began at ${firstOffset}`);
    if (stableOffset < 0 || stableOffset > offset + 1) wrong(`the last stable offset is ${stableOffset}`);
  }

  #checkRecords(batch: InspectedBatch, place: Place): void {
    const { view, at } = batch;
    const count = view.getUint32(at + BATCH_RECORD_COUNT_AT);
    const span = view.getUint32(at + BATCH_LAST_OFFSET_DELTA_AT) + 1;
    const wrong = (message: string): void => this.#findings.error('batch', place, message);
    if (count > span) wrong(`${count} records in a batch that covers ${span} offsets`);
    const isThinned = count < span;
    if (isThinned) this.#hasThinnedBatches = true;
    const found = this.#readRecords(batch, isThinned);
    if (found === undefined) return;
    this.#totals.records += found.count;
    if (found.count !== count) wrong(`${found.count} record frames, and the batch says ${count}`);
    const maxTimestampMs = batchMaxTimestampAt(view, at);
    if (maxTimestampMs !== found.maxTimestampMs) {
      wrong(`the max timestamp is ${maxTimestampMs}, that of the records ${found.maxTimestampMs}`);
    }
    const firstTimestampMs = readInt64(view, at + BATCH_FIRST_TIMESTAMP_AT);
    if (firstTimestampMs !== found.firstTimestampMs) {
      wrong(`the first timestamp is ${firstTimestampMs}, that of the first record ${found.firstTimestampMs}`);
    }
  }

  /** Undefined when a frame is such that those behind it cannot be found. */
  #readRecords(batch: InspectedBatch, isThinned: boolean): RecordsFound | undefined {
    const { view, position } = batch;
    const record = this.#record;
    const end = batch.at + batch.byteLength;
    const last = batchLastOffsetAt(view, batch.at);
    let expected = batchBaseOffsetAt(view, batch.at);
    let count = 0;
    let firstTimestampMs = -1;
    let maxTimestampMs = -1;
    for (let at = batch.at + BATCH_FRAME_BYTES; at < end; at += record.byteLength) {
      const problem = record.problem(view, at, end);
      const offset = end - at >= 8 ? readInt64(view, at) : expected;
      const place = { path: this.#segment.path, position: position + at - batch.at, offset };
      if (problem !== undefined) this.#findings.error('frame', place, problem);
      if (record.byteLength === 0) return undefined;
      if (isThinned ? offset < expected || offset > last : offset !== expected) {
        this.#findings.error('order', place, `a record with offset ${offset}, where ${expected} comes next`);
      }
      expected = offset + 1;
      count++;
      if (problem !== undefined) continue;
      const timestampMs = readInt64(view, record.timestampAt);
      if (count === 1) firstTimestampMs = timestampMs;
      if (count === 1 || timestampMs > maxTimestampMs) maxTimestampMs = timestampMs;
    }
    return { count, firstTimestampMs, maxTimestampMs };
  }
}

/** Without a record both times are −1. */
interface RecordsFound {
  readonly count: number;
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
}
