// A partition as front ends see it: the store's log, with the high watermark, the wake-ups and the refusals that
// are the hub's to decide. While there is one copy of a log, what its log calls committed is: what is flushed, or, by the
// topic's `flush.messages`, what is written.
import type {
  Acks,
  Appended,
  BatchOptions,
  BatchPosition,
  Clock,
  EpochEnd,
  Log,
  Partition,
  ProducerView,
  Published,
  ReadOptions,
  ReadRefusal,
  ReadRefused,
  ReadResult,
  RecordsDeleted,
  RecordWriter,
  Refusal,
  Refused,
  SegmentView,
  TimestampedOffset,
  TransactionEnd,
  Visibility,
} from '../../protocols/port.ts';
import { type Append, type PartitionLog, StorageError } from '../../storage/index.ts';
import { BATCH_BYTES_MAX } from './limits.ts';
import { readRefusalOf, refusalOf } from './refusals.ts';
import { WakeUps } from './wake-ups.ts';

type Outcome = Promise<StorageError | undefined>;

/** Why there is no log behind the handle, as appends and as reads are answered. */
interface NoLog {
  readonly refused: ReadRefusal & Refusal;
  readonly message: string;
}

const PUBLISHED: Published = {};
const ALREADY_PUBLISHED: Promise<Published> = Promise.resolve(PUBLISHED);
const NO_BYTES = Buffer.alloc(0);

export class HubPartition implements Partition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly #clock: Clock;
  readonly #internal: boolean;
  #log: PartitionLog | undefined;
  /** The same for those who append: the logs of internal topics are written by the hub alone. */
  #writable: PartitionLog | undefined;
  #noLog: NoLog;
  #deleted = false;
  #leaderEpoch: number;

  readonly #wakeUps: WakeUps;
  readonly #writes = new SharedOutcome();
  readonly #commits = new SharedOutcome();
  readonly #reopenListeners = new Set<(log: PartitionLog) => void>();

  constructor(options: {
    readonly topic: string;
    readonly topicId: string;
    readonly partition: number;
    readonly leaderEpoch: number;
    readonly internal: boolean;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.topic = options.topic;
    this.topicId = options.topicId;
    this.partition = options.partition;
    this.#leaderEpoch = options.leaderEpoch;
    this.#internal = options.internal;
    this.#clock = options.clock;
    this.#wakeUps = new WakeUps((error) =>
      options.log.error('listener-failed', { partition: this.name, error }),
    );
    this.#noLog = { refused: 'not-leader', message: `${this.name} is not open` };
  }

  /** For messages: `topic-3`. */
  get name(): string {
    return `${this.topic}-${this.partition}`;
  }

  /** The store's log; undefined before {@link open}, after {@link markDeleted} and when it could not be opened. */
  get log(): PartitionLog | undefined {
    return this.#log;
  }

  get leaderEpoch(): number {
    return this.#leaderEpoch;
  }

  /**
   * Gives the handle its log, or another one when the first has failed. Until then what failed answers: it refuses
   * appends, and once it is closed reads too, as a partition whose leader is being found.
   * @param onFailed called when the log takes no appends any more
   */
  open(log: PartitionLog, onFailed?: () => void): void {
    if (this.#log !== undefined) detach(this.#log);
    this.#log = log;
    this.#leaderEpoch = log.leaderEpoch;
    if (this.#internal) this.#noLog = { refused: 'unknown-topic', message: `${this.topic} is the hub's own` };
    else this.#writable = log;
    log.onCommitted = (offset) => this.#advanceTo(log, offset);
    log.onFailed = onFailed;
    // Who waits below the start waits for nothing.
    log.onStartMoved = () => this.#wakeUps.call();
    for (const listener of this.#reopenListeners) listener(log);
    this.#wakeUps.call();
  }

  /** The log could not be opened: appends and reads say so from now on. */
  failToOpen(error: StorageError): void {
    this.#noLog = { refused: 'storage', message: `${this.name} could not be opened: ${error.message}` };
  }

  markDeleted(): void {
    if (this.#log !== undefined) detach(this.#log);
    this.#log = undefined;
    this.#writable = undefined;
    this.#deleted = true;
    this.#noLog = { refused: 'unknown-topic', message: `topic ${this.topic} was deleted` };
    this.#wakeUps.call();
  }

  get deleted(): boolean {
    return this.#deleted;
  }

  get logStartOffset(): number {
    return this.#log?.logStartOffset ?? 0;
  }

  get logEndOffset(): number {
    return this.#log?.logEndOffset ?? 0;
  }

  get highWatermark(): number {
    return this.#log?.highWatermark ?? 0;
  }

  get lastStableOffset(): number {
    return this.#log === undefined ? 0 : lastStableOffsetOf(this.#log);
  }

  get markedEnd(): number {
    return this.#log?.markedEnd ?? 0;
  }

  get byteSize(): number {
    return this.#log?.byteSize ?? 0;
  }

  get segmentCount(): number {
    return this.#log?.segmentCount ?? 0;
  }

  append(options: BatchOptions, fill: (writer: RecordWriter) => void): Appended | Refused {
    const log = this.#writable;
    if (log === undefined) return this.#noLog;
    if (options.byteLengthHint !== undefined && options.byteLengthHint > BATCH_BYTES_MAX) {
      const message = `a batch has at most ${BATCH_BYTES_MAX} bytes, not ${options.byteLengthHint}`;
      return { refused: 'too-large', message };
    }
    const logAppendTimeMs = options.logAppendTime === true ? this.#clock.now() : -1;
    try {
      const append = log.append(options, fill);
      if (append.repeats === undefined) return this.#appended(log, append, options.acks, logAppendTimeMs);
      const thenMs = options.logAppendTime === true ? append.repeats.maxTimestampMs : -1;
      return { ...this.#appended(log, append, options.acks, thenMs), duplicate: true };
    } catch (error) {
      return refusalOfThrown(error);
    }
  }

  #appended(log: PartitionLog, append: Append, acks: Acks, logAppendTimeMs: number): Appended {
    const { baseOffset } = append;
    const { logStartOffset } = log;
    if (acks === 'none')
      return { baseOffset, logStartOffset, logAppendTimeMs, acknowledged: ALREADY_PUBLISHED };
    if (acks === 'flushed') {
      const acknowledged = this.#commits.of(append.committed);
      return { baseOffset, logStartOffset, logAppendTimeMs, acknowledged };
    }
    const acknowledged = this.#writes.of(append.written);
    return { baseOffset, logStartOffset, logAppendTimeMs, acknowledged, settled: append.committed };
  }

  /** See {@link Hub.publish}: one promise for each group commit. */
  publish(fill: (writer: RecordWriter) => void): Promise<Published | Refused> {
    const log = this.#writable;
    if (log === undefined) return Promise.resolve(this.#noLog);
    try {
      return this.#commits.of(log.join(fill).committed);
    } catch (error) {
      return Promise.resolve(refusalOfThrown(error));
    }
  }

  async endTransaction(end: TransactionEnd): Promise<Published | Refused> {
    const log = this.#writable;
    if (log === undefined) return this.#noLog;
    const { producerId, producerEpoch, outcome, coordinatorEpoch } = end;
    try {
      const aborts = outcome === 'abort';
      const append = log.endTransaction({ producerId, producerEpoch, aborts, coordinatorEpoch });
      // Whoever decided it forgets it then, so it must be on disk even where records need not be.
      const [error, failure] = await Promise.all([append.committed, log.flush()]);
      return publishedOrRefused(error ?? failure);
    } catch (error) {
      return refusalOfThrown(error);
    }
  }

  transactionStart(producerId: number, producerEpoch?: number): number {
    return this.#log?.producers?.transactionStartOf(producerId, producerEpoch) ?? -1;
  }

  async read(options: ReadOptions): Promise<ReadResult> {
    const log = this.#log;
    if (log === undefined) return this.#noLog;
    const { offset, maxBytes } = options;
    const end = endOf(log, options.upTo);
    const isolation = options.upTo === 'lastStable' ? 'committed' : 'all';
    // What is not stable yet is nothing to read, and no fault.
    const bound = options.upTo === 'lastStable' ? log.highWatermark : end;
    if (offset < log.logStartOffset || offset > bound) {
      const message = `offset ${offset} of ${this.name} is not within ${log.logStartOffset} to ${bound}`;
      return { refused: 'offset-out-of-range', message };
    }
    if (offset >= end) return { bytes: NO_BYTES, start: 0, end: 0, nextOffset: offset };
    try {
      return (
        log.readCached(offset, maxBytes, end, isolation) ?? (await log.read(offset, maxBytes, end, isolation))
      );
    } catch (error) {
      if (error instanceof StorageError) return readRefusalOf(error);
      throw error;
    }
  }

  async deleteRecords(beforeOffset: number): Promise<RecordsDeleted | ReadRefused> {
    const log = this.#writable;
    if (log === undefined) return this.#noLog;
    try {
      return { logStartOffset: await log.deleteRecords(beforeOffset) };
    } catch (error) {
      if (error instanceof StorageError) return readRefusalOf(error);
      throw error;
    }
  }

  offsetForTime(timestampMs: number, upTo: Visibility): Promise<TimestampedOffset | undefined> {
    const log = this.#log;
    if (log === undefined) return Promise.reject(new Error(this.#noLog.message));
    return log.offsetForTime(timestampMs, endOf(log, upTo));
  }

  offsetOfMaxTimestamp(upTo: Visibility): Promise<TimestampedOffset | undefined> {
    const log = this.#log;
    if (log === undefined) return Promise.reject(new Error(this.#noLog.message));
    return log.offsetOfMaxTimestamp(endOf(log, upTo));
  }

  async segments(): Promise<readonly SegmentView[]> {
    return (await this.#log?.reads.segments()) ?? [];
  }

  async positionOf(offset: number): Promise<BatchPosition | ReadRefused> {
    const log = this.#log;
    if (log === undefined) return this.#noLog;
    try {
      const found = await log.reads.positionOf(offset, log.highWatermark);
      if (found !== undefined) return found;
      const message = `${this.name} has nothing from offset ${offset} to ${log.highWatermark}`;
      return { refused: 'offset-out-of-range', message };
    } catch (error) {
      if (error instanceof StorageError) return readRefusalOf(error);
      throw error;
    }
  }

  endOfEpoch(leaderEpoch: number): EpochEnd | undefined {
    const log = this.#log;
    const end = log?.endOfEpoch(leaderEpoch);
    // Beyond the high watermark a log may still lose what it has: nobody may count on it.
    return end && log && { ...end, endOffset: Math.min(end.endOffset, log.highWatermark) };
  }

  producers(): readonly ProducerView[] {
    const producers = this.#log?.producers;
    if (producers === undefined) return [];
    return Array.from(producers.all, (state) => ({
      producerId: state.producerId,
      producerEpoch: state.epoch,
      // An epoch that a control batch began has none yet, whatever is to come next.
      lastSequence: state.covered === 0 ? -1 : state.lastSequence,
      lastTimestampMs: state.usedAtMs,
      transactionStartOffset: producers.transactionStartOf(state.producerId),
      coordinatorEpoch: state.coordinatorEpoch,
    }));
  }

  onAdvance(listener: () => void): () => void {
    return this.#wakeUps.add(listener);
  }

  /** `listener` is called when the log behind the handle has become another one. Returns its removal. */
  onReopened(listener: (log: PartitionLog) => void): () => void {
    this.#reopenListeners.add(listener);
    return () => this.#reopenListeners.delete(listener);
  }

  #advanceTo(log: PartitionLog, committedOffset: number): void {
    log.setHighWatermark(committedOffset);
    this.#wakeUps.call();
  }
}

function detach(log: PartitionLog): void {
  log.onCommitted = undefined;
  log.onFailed = undefined;
  log.onStartMoved = undefined;
}

function lastStableOffsetOf(log: PartitionLog): number {
  // Of a transaction that is open the beginning may be deleted.
  return Math.max(log.logStartOffset, Math.min(log.highWatermark, log.firstUnstableOffset));
}

/** What a read may see ends here. */
function endOf(log: PartitionLog, upTo: Visibility): number {
  switch (upTo) {
    case 'logEnd':
      return log.logEndOffset;
    case 'highWatermark':
      return log.highWatermark;
    case 'lastStable':
      return lastStableOffsetOf(log);
    default:
      return upTo satisfies never;
  }
}

/** What those who share a group commit are given: one promise, in the port's words. */
class SharedOutcome {
  #store: Outcome | undefined;
  #shared: Promise<Published | Refused> = ALREADY_PUBLISHED;

  /** @param store what the store gave; the same for all of a group. */
  of(store: Outcome): Promise<Published | Refused> {
    if (store !== this.#store) {
      this.#store = store;
      this.#shared = store.then(publishedOrRefused);
    }
    return this.#shared;
  }
}

function publishedOrRefused(error: StorageError | undefined): Published | Refused {
  return error === undefined ? PUBLISHED : refusalOf(error);
}

/** The store's refusals are answers; what `fill` threw is its caller's. */
function refusalOfThrown(error: unknown): Refused {
  if (error instanceof StorageError) return refusalOf(error);
  throw error;
}
