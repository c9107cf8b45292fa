// A partition as front ends see it: the store's log, with the high watermark, the wake-ups and the refusals that
// are the hub's to decide. While there is one copy of a log, what is flushed is committed.
import type {
  Appended,
  BatchOptions,
  Clock,
  Log,
  Partition,
  Published,
  ReadOptions,
  ReadRefusal,
  ReadResult,
  RecordWriter,
  Refused,
  TimestampedOffset,
  Visibility,
} from '../../protocols/port.ts';
import { type PartitionLog, StorageError } from '../../storage/index.ts';
import { BATCH_BYTES_MAX } from './limits.ts';
import { readRefusalOf, refusalOf } from './refusals.ts';

type Flushed = Promise<StorageError | undefined>;

/** Why there is no log behind the handle, as appends and as reads are answered. */
interface NoLog {
  readonly append: Promise<Refused>;
  readonly refused: ReadRefusal;
  readonly message: string;
}

const PUBLISHED: Published = {};
const NO_BYTES = Buffer.alloc(0);

export class HubPartition implements Partition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly #clock: Clock;
  readonly #report: Log;
  readonly #internal: boolean;
  #log: PartitionLog | undefined;
  /** The same for those who append: the logs of internal topics are written by the hub alone. */
  #writable: PartitionLog | undefined;
  #noLog: NoLog;
  #deleted = false;

  /** A removal while they are called leaves a gap, closed afterwards: the calls then need no copy. */
  readonly #listeners: ((() => void) | undefined)[] = [];
  #waking = false;
  #gaps = 0;

  /** What publishers of the open group commit were given, and the flush that it stands for. */
  #publishedFlush: Flushed | undefined;
  #published: Promise<Published | Refused> = Promise.resolve(PUBLISHED);

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
    this.leaderEpoch = options.leaderEpoch;
    this.#internal = options.internal;
    this.#clock = options.clock;
    this.#report = options.log;
    this.#noLog = noLog({ refused: 'not-leader', message: `${this.name} is not open` });
  }

  /** For messages: `topic-3`. */
  get name(): string {
    return `${this.topic}-${this.partition}`;
  }

  /** The store's log; undefined before {@link open}, after {@link markDeleted} and when it could not be opened. */
  get log(): PartitionLog | undefined {
    return this.#log;
  }

  open(log: PartitionLog): void {
    this.#log = log;
    if (this.#internal)
      this.#noLog = noLog({ refused: 'unknown-topic', message: `${this.topic} is the hub's own` });
    else this.#writable = log;
    log.onFlushed = (flushedOffset) => this.#advanceTo(log, flushedOffset);
  }

  /** The log could not be opened: appends and reads say so from now on. */
  failToOpen(error: StorageError): void {
    this.#noLog = noLog({
      refused: 'storage',
      message: `${this.name} could not be opened: ${error.message}`,
    });
  }

  markDeleted(): void {
    if (this.#log !== undefined) this.#log.onFlushed = undefined;
    this.#log = undefined;
    this.#writable = undefined;
    this.#deleted = true;
    this.#noLog = noLog({ refused: 'unknown-topic', message: `topic ${this.topic} was deleted` });
    this.#wake();
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

  /** There are no transactions yet, so nothing is unstable. */
  get lastStableOffset(): number {
    return this.#log?.highWatermark ?? 0;
  }

  get byteSize(): number {
    return this.#log?.byteSize ?? 0;
  }

  get segmentCount(): number {
    return this.#log?.segmentCount ?? 0;
  }

  append(options: BatchOptions, fill: (writer: RecordWriter) => void): Promise<Appended | Refused> {
    const log = this.#writable;
    if (log === undefined) return this.#noLog.append;
    if (options.byteLengthHint !== undefined && options.byteLengthHint > BATCH_BYTES_MAX) {
      const message = `a batch has at most ${BATCH_BYTES_MAX} bytes, not ${options.byteLengthHint}`;
      return Promise.resolve({ refused: 'too-large', message });
    }
    const logAppendTimeMs = options.logAppendTime === true ? this.#clock.now() : -1;
    try {
      const { baseOffset, written, flushed } = log.append(options, fill);
      const appended = { baseOffset, logStartOffset: log.logStartOffset, logAppendTimeMs };
      if (options.acks === 'none') return Promise.resolve(appended);
      if (options.acks === 'written') {
        const early = { ...appended, settled: flushed };
        return written.then((error) => (error === undefined ? early : refusalOf(error)));
      }
      return flushed.then((error) => (error === undefined ? appended : refusalOf(error)));
    } catch (error) {
      return Promise.resolve(refusalOfThrown(error));
    }
  }

  /** See {@link Hub.publish}: one promise for each group commit. */
  publish(fill: (writer: RecordWriter) => void): Promise<Published | Refused> {
    const log = this.#writable;
    if (log === undefined) return this.#noLog.append;
    try {
      const { flushed } = log.join(fill);
      if (flushed !== this.#publishedFlush) {
        this.#publishedFlush = flushed;
        this.#published = flushed.then(publishedOrRefused);
      }
      return this.#published;
    } catch (error) {
      return Promise.resolve(refusalOfThrown(error));
    }
  }

  async read(options: ReadOptions): Promise<ReadResult> {
    const log = this.#log;
    if (log === undefined) return this.#noLog;
    const { offset, maxBytes } = options;
    const end = endOf(log, options.upTo);
    if (offset < log.logStartOffset || offset > end) {
      const message = `offset ${offset} of ${this.name} is not within ${log.logStartOffset} to ${end}`;
      return { refused: 'offset-out-of-range', message };
    }
    if (offset === end) return { bytes: NO_BYTES, start: 0, end: 0, nextOffset: offset };
    try {
      return log.readCached(offset, maxBytes, end) ?? (await log.read(offset, maxBytes, end));
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

  onAdvance(listener: () => void): () => void {
    // Its own entry, so that one function given twice is removed once.
    const entry = () => listener();
    this.#listeners.push(entry);
    return () => this.#removeListener(entry);
  }

  #advanceTo(log: PartitionLog, flushedOffset: number): void {
    log.setHighWatermark(flushedOffset);
    this.#wake();
  }

  #wake(): void {
    // Listeners added by a listener wait for the next advance.
    const count = this.#listeners.length;
    this.#waking = true;
    for (let index = 0; index < count; index++) this.#callListener(index);
    this.#waking = false;
    if (this.#gaps > 0) this.#closeGaps();
  }

  #callListener(index: number): void {
    try {
      this.#listeners[index]?.();
    } catch (error) {
      // One listener's fault must reach neither the others nor the store, which is in the middle of a commit.
      this.#report.error('listener-failed', { partition: this.name, error });
    }
  }

  #removeListener(entry: () => void): void {
    const index = this.#listeners.indexOf(entry);
    if (index < 0) return;
    if (this.#waking) {
      this.#listeners[index] = undefined;
      this.#gaps++;
    } else {
      this.#listeners.splice(index, 1);
    }
  }

  #closeGaps(): void {
    let kept = 0;
    for (const listener of this.#listeners) {
      if (listener !== undefined) this.#listeners[kept++] = listener;
    }
    this.#listeners.length = kept;
    this.#gaps = 0;
  }
}

/** What a read may see ends here. Transactions will tell the last stable offset from the high watermark. */
function endOf(log: PartitionLog, upTo: Visibility): number {
  switch (upTo) {
    case 'logEnd':
      return log.logEndOffset;
    case 'highWatermark':
    case 'lastStable':
      return log.highWatermark;
    default:
      return upTo satisfies never;
  }
}

function noLog(reason: {
  readonly refused: 'not-leader' | 'storage' | 'unknown-topic';
  readonly message: string;
}): NoLog {
  return { append: Promise.resolve(reason), ...reason };
}

function publishedOrRefused(error: StorageError | undefined): Published | Refused {
  return error === undefined ? PUBLISHED : refusalOf(error);
}

/** The store's refusals are answers; what `fill` threw is its caller's. */
function refusalOfThrown(error: unknown): Refused {
  if (error instanceof StorageError) return refusalOf(error);
  throw error;
}
