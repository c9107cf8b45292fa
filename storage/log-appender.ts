// The writing end of a partition's log: encodes batches into the newest chunk, gives them their offsets and their
// place in a segment, and hands them to the committer. All of it is synchronous: between the start of an append and
// the moment when its offsets are final there is no await.
//
// The newest segment is made by the first append of an opening, so that a log which is only read makes no file.
import { type BatchOptions, NO_OPTIONS } from './batch-frame.ts';
import { BatchWriter } from './batch-writer.ts';
import { type Append, type CommitGroup, GroupedAppend, RepeatedAppend } from './commit-group.ts';
import type { Committer } from './committer.ts';
import { controlValue } from './control-record.ts';
import { assert } from './errors.ts';
import { ATTRIBUTE_ABORTS, ATTRIBUTE_CONTROL } from './frame.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ROOM_BYTES,
  ROOM_IDLE_MS,
  SHARED_BATCH_BYTES_MAX,
  SHARED_BATCH_RECORDS_MAX,
} from './limits.ts';
import type { LogConfig } from './log-config.ts';
import { type ProducerImage, producerImage } from './producer-snapshot.ts';
import { type ProducerBatch, ProducerStates } from './producer-states.ts';
import { rollAfterMs } from './retention.ts';
import { Segment, type SegmentList } from './segment.ts';
import { SegmentIndex } from './segment-index.ts';
import type { StoreParts } from './store-parts.ts';
import type { Chunk, DirtyRange, PartitionTail } from './tail-cache.ts';

/** How a producer's transaction ends. */
export interface TransactionEnd {
  readonly producerId: number;
  /** What the producer has from now on: an epoch that is new begins its sequence at 0. */
  readonly producerEpoch: number;
  readonly aborts: boolean;
  readonly coordinatorEpoch: number;
}

/** What a control batch says of its producer besides what every batch does. */
type ControlFields = Pick<ProducerBatch, 'isControl' | 'coordinatorEpoch'>;
const NO_CONTROL: ControlFields = { isControl: false, coordinatorEpoch: -1 };

export interface LogAppenderOptions {
  /** For messages. */
  readonly name: string;
  readonly directory: string;
  readonly leaderEpoch: number;
  readonly segments: SegmentList;
  readonly tail: PartitionTail;
  readonly committer: Committer;
  readonly logEndOffset: number;
  readonly config: LogConfig;
  /** Those that recovery found. */
  readonly producers: ProducerStates | undefined;
}

export class LogAppender {
  readonly #parts: StoreParts;
  readonly #options: LogAppenderOptions;
  config: LogConfig;
  /** Made with the log's first producer. */
  #producers: ProducerStates | undefined;
  #logEndOffset: number;
  #markedEnd: number;
  #unflushedBytes = 0;
  /** The segment that this opening appends to. */
  #active: Segment | undefined;
  /** Lives as long as its chunk is in memory. */
  #writer: BatchWriter | undefined;
  /** The writer has an open shared batch. */
  #sharing = false;
  #filling = false;
  /** When the group began that is open now. */
  #nowMs = 0;
  #monotonicMs = 0;

  constructor(parts: StoreParts, options: LogAppenderOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#logEndOffset = options.logEndOffset;
    this.#markedEnd = options.logEndOffset;
    this.config = options.config;
    this.#producers = options.producers;
  }

  /** Offset of the next record. */
  get logEndOffset(): number {
    return this.#logEndOffset;
  }

  /** Behind the last batch that is marked (BatchWriter.isMarked); what was there before this opening may all be. */
  get markedEnd(): number {
    return this.#markedEnd;
  }

  get producers(): ProducerStates | undefined {
    return this.#producers;
  }

  /** What a snapshot would say now; undefined when there are no producers. */
  get producerImage(): ProducerImage | undefined {
    const producers = this.#producers;
    if (producers === undefined || producers.size === 0) return undefined;
    return producerImage(producers, this.#options.leaderEpoch, this.#logEndOffset);
  }

  get active(): Segment | undefined {
    return this.#active;
  }

  /** Nothing is appended or written to the segment any more. */
  isClosed(segment: Segment): boolean {
    return segment !== this.#active && !this.#options.committer.holds(segment);
  }

  /** Whether room ahead is kept for a log that nobody has appended to for a while. */
  hasIdleRoom(monotonicMs: number): boolean {
    const atMs = this.#active?.appendedAtMonotonicMs;
    return atMs !== undefined && monotonicMs - atMs >= ROOM_IDLE_MS && this.#options.committer.hasRoom;
  }

  async endIdleRoom(monotonicMs: number): Promise<void> {
    if (this.hasIdleRoom(monotonicMs)) await this.#options.committer.endRoom();
  }

  /** Whether the active segment has taken appends for as long as it may. */
  isAged(monotonicMs: number): boolean {
    const startMs = this.#active?.firstAppendMonotonicMs;
    return startMs !== undefined && monotonicMs - startMs >= rollAfterMs(this.config);
  }

  /**
   * Closes the active segment if all of it is on disk, so that the next append makes a new file. Otherwise an append is
   * under way, and the next one looks for itself whether it should roll.
   */
  async sealActive(): Promise<boolean> {
    const segment = this.#active;
    if (segment === undefined) return true;
    const { committer } = this.#options;
    await committer.endRoom();
    if (this.#active !== segment || this.#sharing || this.#filling) return false;
    if (segment.flushedBytes < segment.byteSize || !committer.leave(segment)) return false;
    this.#active = undefined;
    return true;
  }

  /**
   * Appends one batch, unless its producer has appended it before. What `fill` throws is thrown, and nothing is appended.
   * @throws StorageError fenced-producer, sequence-gap, old-duplicate, invalid-transaction, busy
   */
  append(options: BatchOptions, fill: (writer: BatchWriter) => void): Append {
    assert(!this.#filling, 'an append does not append');
    const { producerId = -1 } = options;
    if (producerId < 0) return this.#append(options, fill, 0);
    const repeated = this.#producersMade.judge(options);
    if (repeated === undefined) {
      const append = this.#append(options, fill, 0);
      this.#noteProducer(options, NO_CONTROL);
      return append;
    }
    const { committer } = this.#options;
    const group = committer.covering(repeated.baseOffset + repeated.recordCount);
    return new RepeatedAppend(repeated, group, () => committer.flush());
  }

  /**
   * Appends the control batch that ends a producer's transaction, or raises its epoch.
   * @throws StorageError fenced-producer, fenced-coordinator, busy
   */
  endTransaction(end: TransactionEnd): Append {
    assert(!this.#filling, 'an append does not append');
    const { producerId, producerEpoch, aborts, coordinatorEpoch } = end;
    const producers = this.#producersMade;
    const firstOffset = producers.judgeEnd(end);
    const stableOffset = producers.firstOpenBeside(producerId) ?? this.#logEndOffset + 1;
    const record = { coordinatorEpoch, firstOffset, stableOffset };
    const value = controlValue(record);
    const options = { producerId, producerEpoch, transactional: true };
    const attributes = ATTRIBUTE_CONTROL | (aborts ? ATTRIBUTE_ABORTS : 0);
    const nowMs = this.#parts.clock.now();
    const fill = (writer: BatchWriter): void => {
      writer.startRecord(nowMs, value, -1, -1, 0);
      writer.endRecord(value, 0, value.length, null);
    };
    const append = this.#append(options, fill, attributes);
    this.#noteProducer(options, { isControl: true, coordinatorEpoch });
    // Of the batch just accepted.
    this.#active!.index!.noteEnd(append.baseOffset, producerId, aborts, record);
    return append;
  }

  get #producersMade(): ProducerStates {
    this.#producers ??= new ProducerStates(this.#options.name, this.#parts.producers);
    return this.#producers;
  }

  #append(
    options: BatchOptions,
    fill: (writer: BatchWriter) => void,
    controlAttributes: number,
  ): GroupedAppend {
    this.sealShared();
    const roomBytes = Math.min(options.byteLengthHint ?? 0, BATCH_BYTES_MAX);
    const writer = this.#beginBatch(roomBytes, options, controlAttributes);
    this.#filling = true;
    try {
      fill(writer);
      writer.finish();
      assert(
        writer.recordCount === (options.recordCount ?? writer.recordCount),
        'a batch has as many records as its options said',
      );
    } catch (error) {
      writer.chunk.open = false;
      throw error;
    } finally {
      writer.unstage();
      this.#filling = false;
    }
    const baseOffset = this.#logEndOffset;
    return new GroupedAppend(baseOffset, this.#accept(writer));
  }

  /** The producer's batch is the one just accepted. */
  #noteProducer(options: BatchOptions, control: ControlFields): void {
    const writer = this.#writer!; // of that batch
    // Judged before: they are there, and in range.
    const batch = {
      producerId: options.producerId!,
      epoch: options.producerEpoch!,
      baseSequence: options.baseSequence ?? -1,
      recordCount: writer.recordCount,
      baseOffset: writer.baseOffset,
      maxTimestampMs: writer.maxTimestampMs,
      isTransactional: options.transactional === true,
      isControl: control.isControl,
      coordinatorEpoch: control.coordinatorEpoch,
    };
    const segment = this.#active!; // with the batch just accepted
    if (batch.isTransactional) segment.hasTransactions = true;
    this.#producers!.appended(batch, segment.index!.appendedAtMs);
  }

  /** Adds exactly one record to the open shared batch. Its offset is where the log ended. */
  join(fill: (writer: BatchWriter) => void): CommitGroup {
    assert(!this.#filling, 'an append does not append');
    const writer = this.#sharing && this.#writer ? this.#writer : this.#beginBatch(0, NO_OPTIONS, 0);
    const { recordCount, byteLength, maxTimestampMs } = writer;
    this.#filling = true;
    try {
      fill(writer);
      assert(writer.recordCount === recordCount + 1 && !writer.inRecord, 'join is given exactly one record');
    } catch (error) {
      writer.rewind(recordCount, byteLength, maxTimestampMs);
      if (recordCount === 0) writer.chunk.open = false;
      throw error;
    } finally {
      writer.unstage();
      this.#filling = false;
    }
    this.#sharing = true;
    const group = this.#options.committer.join();
    this.#logEndOffset++;
    if (writer.byteLength >= SHARED_BATCH_BYTES_MAX || writer.recordCount >= SHARED_BATCH_RECORDS_MAX) {
      this.sealShared();
    }
    return group;
  }

  /** Finishes the open shared batch, if there is one. */
  sealShared(): void {
    if (!this.#sharing) return;
    this.#sharing = false;
    const writer = this.#writer;
    assert(writer !== undefined, 'an open batch has a writer');
    writer.finish();
    this.#accept(writer);
  }

  /** These bytes are on disk. */
  flushed(ranges: readonly DirtyRange[]): void {
    let bytes = 0;
    for (const { chunk, end } of ranges) {
      bytes += end - chunk.flushed;
      chunk.flushed = end;
      chunk.segment!.flushedBytes = chunk.filePosition + end; // set with the chunk's first finished batch
    }
    this.#unflushedBytes -= bytes;
    this.#parts.counters.unflushedBytes -= bytes;
  }

  /** Nothing of what waits for the disk will get there. */
  failed(): void {
    this.#parts.counters.unflushedBytes -= this.#unflushedBytes;
    this.#unflushedBytes = 0;
  }

  /** The cache has forgotten a chunk: the writer must not keep its memory. */
  forget(chunk: Chunk): void {
    if (this.#writer?.chunk === chunk) this.#writer = undefined;
  }

  #beginBatch(roomBytes: number, options: BatchOptions, controlAttributes: number): BatchWriter {
    const { tail, leaderEpoch } = this.#options;
    const chunk = tail.withRoom(Math.max(roomBytes, BATCH_ROOM_BYTES));
    chunk.open = true;
    this.#writer ??= this.#newWriter(chunk);
    this.#writer.begin(chunk, this.#logEndOffset, leaderEpoch, options, controlAttributes);
    return this.#writer;
  }

  #newWriter(chunk: Chunk): BatchWriter {
    const writer: BatchWriter = new BatchWriter(chunk, (roomBytes) => {
      const left = writer.chunk;
      const next = this.#options.tail.next(roomBytes);
      // Only now may it be evicted: the open batch is still being moved out of it.
      left.open = false;
      return next;
    });
    return writer;
  }

  /** A finished batch becomes part of the log. */
  #accept(writer: BatchWriter): CommitGroup {
    const { byteLength, baseOffset, recordCount } = writer;
    const { clock } = this.#parts;
    const group = this.#options.committer.join();
    if (group.batches === 0) {
      // Looked at once for a group: its batches come in one tick, or while one flush is under way.
      this.#nowMs = clock.now();
      this.#monotonicMs = clock.monotonic();
    }
    const monotonicMs = this.#monotonicMs;
    let segment = this.#active;
    if (segment === undefined || this.#isFull(segment, byteLength, monotonicMs)) {
      segment = this.#roll(baseOffset);
    }
    segment.firstAppendMonotonicMs ??= monotonicMs;
    segment.appendedAtMonotonicMs = monotonicMs;
    // A chunk mirrors one file.
    if (writer.chunk.filled > 0 && writer.chunk.segment !== segment) writer.moveToNextChunk();
    const { chunk } = writer;
    if (chunk.filled === 0) {
      chunk.segment = segment;
      chunk.filePosition = segment.byteSize;
      chunk.firstOffset = baseOffset;
    }
    const index = segment.index!; // an active segment has its entries in memory
    index.note(baseOffset, segment.byteSize, writer.firstTimestampMs, writer.maxTimestampMs);
    index.appendedAtMs = this.#nowMs;
    segment.byteSize += byteLength;
    segment.endOffset = baseOffset + recordCount;
    chunk.filled += byteLength;
    chunk.endOffset = segment.endOffset;
    chunk.open = false;
    this.#logEndOffset = segment.endOffset;
    if (writer.isMarked) this.#markedEnd = segment.endOffset;
    this.#unflushedBytes += byteLength;
    const { counters } = this.#parts;
    counters.unflushedBytes += byteLength;
    counters.appendedBytes += byteLength;
    this.#parts.disk.appended(byteLength);
    counters.appendedRecords += recordCount;
    group.batches++;
    group.records += recordCount;
    group.byteLength += byteLength;
    group.endOffset = segment.endOffset;
    return group;
  }

  #isFull(segment: Segment, byteLength: number, monotonicMs: number): boolean {
    const { segmentBytes, indexBytesMax } = this.config;
    return (
      segment.byteSize + byteLength > segmentBytes ||
      segment.index!.byteLength >= indexBytesMax || // as above
      this.isAged(monotonicMs)
    );
  }

  #roll(baseOffset: number): Segment {
    const { directory, leaderEpoch, segments } = this.#options;
    const segment = new Segment(directory, leaderEpoch, baseOffset);
    segment.index = new SegmentIndex(this.#parts.indexIntervalBytes, 0);
    segments.push(segment);
    this.#active = segment;
    return segment;
  }
}
