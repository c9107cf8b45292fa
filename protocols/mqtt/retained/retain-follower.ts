// Reads what one partition takes and finds the records that are to be retained, whoever wrote them: MQTT's own and those
// with the header `mqtt.retain: 1`. It is the one way into the table, so the order of the log decides what is retained,
// and what a crash has left undone is done at the next start.
import type { Followed, Hub, Partition, Published, RecordCursor, RecordRange, Refused } from '../../port.ts';
import type { KafkaTopicName } from '../mapping/way-back.ts';
import { ATTRIBUTE } from '../record-mapping.ts';
import type { Change } from './retained-table.ts';
import type { Source } from './topic-index.ts';

/** Bytes of a range that is looked at at a time. */
const FOLLOW_BYTES = 256 * 1024;
/** The table could not be written: tried again after this … */
const RETRY_DELAY_MIN_MS = 100;
/** … doubled up to this. */
const RETRY_DELAY_MAX_MS = 10_000;

/** Stands in every record that is to be retained, as the name of an attribute or a header. */
const NEEDLE = Buffer.from(ATTRIBUTE.RETAIN);

export interface RetainFollowerOptions {
  readonly hub: Hub;
  readonly cursor: RecordCursor;
  nameOf(kafkaTopic: string): KafkaTopicName;
  /** What the record that the cursor stands on changes; undefined = nothing. */
  changeOf(cursor: RecordCursor, follower: RetainFollower): Change | undefined;
  write(changes: readonly Change[]): Promise<undefined | Refused>;
  /** There is something new to look at. */
  onBehind(follower: RetainFollower): void;
  /** The position has moved, over so many bytes. */
  onMoved(follower: RetainFollower, bytes: number): void;
}

interface Waiter {
  readonly offset: number;
  resolve(result: Published | Refused): void;
}

export class RetainFollower {
  readonly partition: Partition;
  readonly source: Source;
  /** Below it the log was there before the hub started: the table may know of what is found there. */
  readonly repairEnd: number;
  readonly #options: RetainFollowerOptions;
  readonly #stopListening: () => void;
  #position: number;
  #followed: Followed | undefined;
  #waiters: Waiter[] = [];
  /** Why the table cannot be written. */
  #refused: Refused | undefined;
  #wakeUp: (() => void) | undefined;
  #name: KafkaTopicName | undefined;
  #closed = false;

  /** @param fromOffset everything below it has been looked at. */
  constructor(partition: Partition, source: Source, fromOffset: number, options: RetainFollowerOptions) {
    this.partition = partition;
    this.source = source;
    this.repairEnd = partition.highWatermark;
    this.#options = options;
    this.#position = fromOffset;
    this.#stopListening = partition.onAdvance(() => this.#advance());
    this.#advance();
  }

  /** Made when first asked for: most partitions hold nothing that is retained. */
  get name(): KafkaTopicName {
    this.#name ??= this.#options.nameOf(this.partition.topic);
    return this.#name;
  }

  /** Everything below it has been looked at, and what was to be retained is. */
  get position(): number {
    return this.#position;
  }

  /** Whether there is something that subscribers may have seen and the table may not. */
  get isBehind(): boolean {
    return !this.#closed && !this.partition.deleted && this.#position < this.partition.lastStableOffset;
  }

  /** Resolves when the record at `offset` has been dealt with, or with why it was not. Never rejects. */
  reached(offset: number): Promise<Published | Refused> {
    if (offset < this.#position) return Promise.resolve(DONE);
    if (this.#refused !== undefined) return Promise.resolve(this.#refused);
    if (this.#closed) return Promise.resolve(CLOSED);
    return new Promise((resolve) => this.#waiters.push({ offset, resolve }));
  }

  /** Resolves when all that is committed now has been dealt with, or cannot be. */
  settled(): Promise<unknown> {
    return this.reached(this.partition.lastStableOffset - 1);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    this.#followed?.close();
    this.#wakeUp?.();
    this.#refuse(Number.POSITIVE_INFINITY, CLOSED);
  }

  /** A partition that nothing is written to costs no more than its listener. */
  #advance(): void {
    if (this.#closed || this.partition.deleted || this.#position >= this.partition.highWatermark) return;
    this.#options.onBehind(this);
    if (this.#followed !== undefined) return;
    this.#followed = this.#options.hub.follow(this.partition, {
      fromOffset: this.#position,
      maxBytes: FOLLOW_BYTES,
      onRange: (range) => this.#look(range),
      onSkip: (_from, to) => this.#moveTo(to, 0),
      onError: (_refusal, message) => this.#refuse(Number.POSITIVE_INFINITY, { refused: 'storage', message }),
    });
  }

  #look(range: RecordRange): undefined | Promise<void> {
    const changes = this.#changesIn(range);
    if (changes.length > 0) return this.#write(changes, range);
    this.#finish(range);
    return undefined;
  }

  #finish(range: RecordRange): void {
    const { start, end, nextOffset } = range;
    range.release?.();
    this.#moveTo(nextOffset, end - start);
  }

  /** The last change of each topic. */
  #changesIn(range: RecordRange): readonly Change[] {
    const { bytes, start, end } = range;
    // What most ranges hold is found out without looking at their records.
    if (bytes.subarray(start, end).indexOf(NEEDLE) < 0) return NONE;
    const { cursor } = this.#options;
    const changes = new Map<string, Change>();
    cursor.reset(range);
    while (cursor.nextBatch()) {
      if (cursor.batchIsControl || cursor.batchLastOffset < this.#position) continue;
      while (cursor.nextRecord()) {
        if (cursor.offset < this.#position) continue;
        const change = this.#options.changeOf(cursor, this);
        if (change !== undefined) changes.set(change.topic, change);
      }
    }
    return [...changes.values()];
  }

  /** Tries until it succeeds; the range is held meanwhile, and no other is read. */
  async #write(changes: readonly Change[], range: RecordRange): Promise<void> {
    for (let delayMs = RETRY_DELAY_MIN_MS; ; delayMs = Math.min(delayMs * 2, RETRY_DELAY_MAX_MS)) {
      const refused = await this.#options.write(changes);
      if (refused === undefined) break;
      if (this.#closed) return;
      if (this.#refused === undefined) {
        const { topic, partition } = this.partition;
        this.#options.hub.log.error('mqtt-retained-not-written', { topic, partition, ...refused });
      }
      this.#refused = refused;
      this.#refuse(Number.POSITIVE_INFINITY, refused);
      await this.#delay(delayMs);
      if (this.#closed) return;
    }
    this.#refused = undefined;
    this.#finish(range);
  }

  #delay(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.hub.clock.setTimer(delayMs, resolve);
      this.#wakeUp = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #moveTo(position: number, bytes: number): void {
    this.#position = position;
    this.#options.onMoved(this, bytes);
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter(({ offset }) => offset < position);
    this.#waiters = this.#waiters.filter(({ offset }) => offset >= position);
    for (const { resolve } of reached) resolve(DONE);
  }

  #refuse(below: number, refused: Refused): void {
    const waiters = this.#waiters.filter(({ offset }) => offset < below);
    this.#waiters = this.#waiters.filter(({ offset }) => offset >= below);
    for (const { resolve } of waiters) resolve(refused);
  }
}

const DONE: Published = {};
const CLOSED: Refused = { refused: 'unknown-topic', message: 'the partition is gone' };
const NONE: readonly Change[] = [];
