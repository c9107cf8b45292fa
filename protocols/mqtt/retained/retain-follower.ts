// Reads what one partition takes and finds the records that are to be retained, whoever wrote them: MQTT's own and those
// with the header `mqtt.retain: 1`. Where there are none the partition knows it, and nothing is read. It is the one way into
// the table, so the order of the log decides what is retained, and what a crash has left undone is done at the next start.
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

/** Topics that are remembered as cleared; with more the reading ahead waits for the transaction. */
const CLEARED_AHEAD_MAX = 10_000;

/** Stands in every record that is to be retained, as the name of an attribute or a header. */
const NEEDLE = Buffer.from(ATTRIBUTE.RETAIN);

export interface RetainFollowerOptions {
  readonly hub: Hub;
  readonly cursor: RecordCursor;
  nameOf(kafkaTopic: string): KafkaTopicName;
  /** How far a topic is read: as far as its subscribers see. */
  visibilityOf(kafkaTopic: string): 'lastStable' | 'highWatermark';
  /** The record that a topic's message came by; undefined = it has none. */
  retainedFrom(topic: string): { readonly source: Source; readonly sourceOffset: number } | undefined;
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

/** What is being written to the table. */
interface UnderWay {
  readonly nextOffset: number;
  readonly isAhead: boolean;
  readonly topics: ReadonlySet<string>;
}

export class RetainFollower {
  readonly partition: Partition;
  readonly source: Source;
  /** Below it the log was there before the hub started: the table may know of what is found there. */
  readonly repairEnd: number;
  readonly #options: RetainFollowerOptions;
  readonly #visibility: 'lastStable' | 'highWatermark';
  readonly #stopListening: () => void;
  #position: number;
  /** Of the partition, when something was passed over last. */
  #byteSize: number;
  #followed: Followed | undefined;
  #waiters: Waiter[] = [];
  /** The look that is under way: the next one sees what it has changed. */
  #looking: Promise<void> | undefined;
  /** Reads on to the high watermark while a transaction is open. */
  #ahead: Followed | undefined;
  /** Below it all has been looked at that is in no transaction. */
  #aheadPosition = 0;
  /** Topics that have lost their message there, and at which offset. */
  readonly #clearedAhead = new Map<string, number>();
  #underWay: UnderWay | undefined;
  #waitingForLook: (() => void)[] = [];
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
    this.#visibility = options.visibilityOf(partition.topic);
    this.#position = fromOffset;
    this.#byteSize = partition.byteSize;
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
    return !this.#closed && !this.partition.deleted && this.#reached < this.#end;
  }

  /**
   * Whether subscribers may have seen something of a topic that is newer than what the table shows; undefined when that
   * is not known before {@link looked}.
   */
  isNewer(topic: string): boolean | undefined {
    if (!this.isBehind) return false;
    const underWay = this.#underWay;
    if (underWay?.topics.has(topic) === true) return true;
    // Nothing is looked at while the table cannot be written.
    return this.#refused !== undefined || this.#reachedWith(underWay) >= this.#end ? false : undefined;
  }

  /** Resolves when more has been looked at, or never will be. */
  looked(): Promise<void> {
    if (!this.isBehind) return Promise.resolve();
    return new Promise((resolve) => this.#waitingForLook.push(resolve));
  }

  /** Resolves when the record at `offset` has been dealt with, or with why it was not. Never rejects. */
  reached(offset: number): Promise<Published | Refused> {
    if (offset < this.#reached) return Promise.resolve(DONE);
    if (this.#refused !== undefined) return Promise.resolve(this.#refused);
    if (this.#closed) return Promise.resolve(CLOSED);
    return new Promise((resolve) => this.#waiters.push({ offset, resolve }));
  }

  /** Resolves when all that is committed now has been dealt with, or cannot be. */
  settled(): Promise<unknown> {
    return this.reached(this.#end - 1);
  }

  /** Where what is to be looked at ends now. */
  get #end(): number {
    const { lastStableOffset, highWatermark } = this.partition;
    return this.#goesAhead || this.#visibility === 'highWatermark' ? highWatermark : lastStableOffset;
  }

  get #goesAhead(): boolean {
    return this.#visibility === 'lastStable' && this.#clearedAhead.size < CLEARED_AHEAD_MAX;
  }

  /** Below it all has been looked at that may be. */
  get #reached(): number {
    return this.#reachedWith(undefined);
  }

  /** The same once what is under way is done. */
  #reachedWith(underWay: UnderWay | undefined): number {
    const position = underWay?.isAhead === false ? underWay.nextOffset : this.#position;
    const ahead = underWay?.isAhead === true ? underWay.nextOffset : this.#aheadPosition;
    return position < this.partition.lastStableOffset ? position : Math.max(position, ahead);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    this.#followed?.close();
    this.#ahead?.close();
    this.#wakeUp?.();
    this.#refuse(Number.POSITIVE_INFINITY, CLOSED);
  }

  /** A partition that nothing is written to costs no more than its listener. */
  #advance(): void {
    if (this.#closed || this.partition.deleted || this.#position >= this.partition.highWatermark) return;
    if (this.#passesOver()) return;
    this.#options.onBehind(this);
    this.#followed ??= this.#follow(this.#visibility, this.#position);
    const { lastStableOffset, highWatermark } = this.partition;
    if (lastStableOffset < highWatermark && this.#goesAhead)
      this.#ahead ??= this.#follow(
        'highWatermark',
        Math.max(lastStableOffset, this.#position, this.#aheadPosition),
      );
  }

  /** Moves on without a look at records none of which can be retained: that is nearly all that nearly all partitions take. */
  #passesOver(): boolean {
    const { markedEnd, lastStableOffset, highWatermark, byteSize } = this.partition;
    if (markedEnd > this.#position || this.#looking !== undefined) return false;
    this.#followed?.close();
    this.#followed = undefined;
    this.#stopAhead();
    const bytes = Math.max(0, byteSize - this.#byteSize);
    this.#byteSize = byteSize;
    const end = this.#visibility === 'highWatermark' ? highWatermark : lastStableOffset;
    if (this.#goesAhead && end < highWatermark) this.#moveAheadTo(highWatermark);
    if (this.#position < end) this.#moveTo(end, bytes);
    return true;
  }

  #follow(visibility: 'lastStable' | 'highWatermark', fromOffset: number): Followed {
    const isAhead = visibility !== this.#visibility;
    return this.#options.hub.follow(this.partition, {
      ...{ fromOffset, maxBytes: FOLLOW_BYTES, visibility },
      onRange: (range) => this.#inTurn(() => this.#look(range, isAhead)),
      onSkip: (_from, to) => (isAhead ? undefined : this.#moveTo(to, 0)),
      onError: (_refusal, message) => this.#refuse(Number.POSITIVE_INFINITY, { refused: 'storage', message }),
    });
  }

  /** One look after the other. */
  #inTurn(look: () => undefined | Promise<void>): undefined | Promise<void> {
    const looked = this.#looking === undefined ? look() : this.#looking.then(look, look);
    if (looked === undefined) return undefined;
    const looking = looked.finally(() => {
      if (this.#looking === looking) this.#looking = undefined;
    });
    this.#looking = looking;
    return looking;
  }

  #look(range: RecordRange, isAhead: boolean): undefined | Promise<void> {
    if (this.#closed) return undefined;
    const changes = this.#changesIn(range, isAhead);
    if (changes.length === 0) {
      this.#finish(range, isAhead);
      return undefined;
    }
    const topics = new Set(changes.map(({ topic }) => topic));
    this.#underWay = { nextOffset: range.nextOffset, isAhead, topics };
    this.#tellLooked();
    return this.#write(changes, range, isAhead);
  }

  #tellLooked(): void {
    if (this.#waitingForLook.length === 0) return;
    const waiting = this.#waitingForLook;
    this.#waitingForLook = [];
    for (const resolve of waiting) resolve();
  }

  #finish(range: RecordRange, isAhead: boolean): void {
    const { start, end, nextOffset } = range;
    range.release?.();
    this.#underWay = undefined;
    if (isAhead) this.#moveAheadTo(nextOffset);
    else this.#moveTo(nextOffset, end - start);
  }

  /** The last change of each topic. */
  #changesIn(range: RecordRange, isAhead: boolean): readonly Change[] {
    const { bytes, start, end } = range;
    // What most ranges hold is found out without looking at their records.
    if (bytes.subarray(start, end).indexOf(NEEDLE) < 0) return NONE;
    const { cursor } = this.#options;
    const changes = new Map<string, Change>();
    cursor.reset(range);
    while (cursor.nextBatch()) {
      if (cursor.batchIsControl || cursor.batchLastOffset < this.#position) continue;
      const isTaken = cursor.batchLastOffset < this.#aheadPosition;
      if (cursor.batchIsTransactional ? isAhead : isTaken) continue;
      while (cursor.nextRecord()) {
        if (cursor.offset < this.#position) continue;
        const change = this.#options.changeOf(cursor, this);
        if (change === undefined || this.#isOvertaken(change.topic, cursor.offset)) continue;
        changes.set(change.topic, change);
        if (isAhead && change.value === null) this.#clearedAhead.set(change.topic, cursor.offset);
      }
    }
    return [...changes.values()];
  }

  /** Whether something later has been taken while its transaction was open. */
  #isOvertaken(topic: string, offset: number): boolean {
    if (offset >= this.#aheadPosition) return false;
    const entry = this.#options.retainedFrom(topic);
    const isLater = entry?.source === this.source && entry.sourceOffset > offset;
    return isLater || (this.#clearedAhead.get(topic) ?? -1) > offset;
  }

  /** Tries until it succeeds; the range is held meanwhile, and no other is read. */
  async #write(changes: readonly Change[], range: RecordRange, isAhead: boolean): Promise<void> {
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
    this.#finish(range, isAhead);
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
    for (const [topic, offset] of this.#clearedAhead) if (offset < position) this.#clearedAhead.delete(topic);
    if (position >= this.#aheadPosition && position >= this.partition.highWatermark) this.#stopAhead();
    this.#options.onMoved(this, bytes);
    this.#answerWaiters();
  }

  #moveAheadTo(position: number): void {
    this.#aheadPosition = position;
    if (!this.#goesAhead) this.#stopAhead();
    this.#options.onMoved(this, 0);
    this.#answerWaiters();
  }

  /** The next advance that finds a transaction open goes ahead again. */
  #stopAhead(): void {
    this.#ahead?.close();
    this.#ahead = undefined;
  }

  #answerWaiters(): void {
    this.#tellLooked();
    if (this.#waiters.length === 0) return;
    const end = this.#reached;
    const reached = this.#waiters.filter(({ offset }) => offset < end);
    this.#waiters = this.#waiters.filter(({ offset }) => offset >= end);
    for (const { resolve } of reached) resolve(DONE);
  }

  #refuse(below: number, refused: Refused): void {
    this.#tellLooked();
    const waiters = this.#waiters.filter(({ offset }) => offset < below);
    this.#waiters = this.#waiters.filter(({ offset }) => offset >= below);
    for (const { resolve } of waiters) resolve(refused);
  }
}

const DONE: Published = {};
const CLOSED: Refused = { refused: 'unknown-topic', message: 'the partition is gone' };
const NONE: readonly Change[] = [];
