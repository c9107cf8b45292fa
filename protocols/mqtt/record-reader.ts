// Steps through the records of a range and turns each into a message and the list of who gets it: what the
// dispatcher and a session that catches up have in common.
import type { Clock, Partition, RecordCursor, RecordRange } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery, Match } from './deliveries.ts';
import type { LogSource, Origin } from './log-source.ts';
import { MessageView } from './message-view.ts';
import type { RecordTopics } from './record-topic.ts';
import type { Session } from './session.ts';

export interface RecordReaderOptions {
  readonly cursor: RecordCursor;
  readonly clock: Clock;
  readonly topics: RecordTopics<Session>;
  readonly counters: MqttCounters;
}

export class RecordReader implements Origin {
  readonly message = new MessageView();
  readonly #cursor: RecordCursor;
  readonly #clock: Clock;
  readonly #topics: RecordTopics<Session>;
  readonly #counters: MqttCounters;
  #nowMs = 0;
  /**
   * Of the record that was matched last: what it goes to, if that hangs on its attributes alone, and where they lie. Many
   * records have those of the one before. Nothing is remembered beyond a range, whose memory is used again.
   */
  #last: Match<Session> | undefined;
  #lastStart = 0;
  #lastEnd = 0;
  /** The record at hand is like it; that one was read. */
  #isLikeLast = false;
  #isLastRead = false;
  #source: LogSource | undefined;

  constructor(options: RecordReaderOptions) {
    this.#cursor = options.cursor;
    this.#clock = options.clock;
    this.#topics = options.topics;
    this.#counters = options.counters;
  }

  get offset(): number {
    return this.#cursor.offset;
  }

  get timestampMs(): number {
    return this.#cursor.timestampMs;
  }

  /** Of the record that was matched last. */
  get source(): Partition {
    return (this.#source as LogSource).partition; // it has been matched
  }

  get logSource(): LogSource | undefined {
    return this.#source;
  }

  get sourceOffset(): number {
    return this.#cursor.offset;
  }

  open(range: RecordRange): void {
    this.#nowMs = this.#clock.now();
    this.#cursor.reset(range);
    this.#last = undefined;
    this.message.beginRange(range.bytes, range.end);
  }

  /** The range is done with. What nothing of it leaves from is used again: fresh memory costs more than the copies. */
  close(range: RecordRange): void {
    if (!this.message.isReferenced) range.release?.();
  }

  /** Next record at or behind `fromOffset` that was written by a client: markers of transactions are not. */
  next(fromOffset: number): boolean {
    const cursor = this.#cursor;
    for (;;) {
      while (cursor.nextRecord()) {
        if (cursor.offset >= fromOffset) return true;
      }
      do {
        if (!cursor.nextBatch()) return false;
      } while (cursor.batchIsControl || cursor.batchLastOffset < fromOffset);
    }
  }

  /** Who is subscribed to the record's topic. */
  match(source: LogSource): Match<Session> {
    this.#source = source;
    const cursor = this.#cursor;
    const last = this.#last;
    this.#isLikeLast = last !== undefined && this.#hasLastAttributes() && this.#topics.isCurrent(last);
    this.#lastStart = cursor.attributesStart;
    this.#lastEnd = cursor.attributesEnd;
    if (last !== undefined && this.#isLikeLast) return last;
    const match = this.#topics.match(cursor, source.name);
    this.#last = cursor.headerCount === 0 && this.#topics.isByAttribute(cursor) ? match : undefined;
    this.#isLastRead = false;
    return match;
  }

  #hasLastAttributes(): boolean {
    const { bytes, attributesStart: start, headerCount } = this.#cursor;
    const length = this.#lastEnd - this.#lastStart;
    if (headerCount > 0 || this.#cursor.attributesEnd - start !== length) return false;
    const lastStart = this.#lastStart;
    for (let at = length - 1; at >= 0; at--) if (bytes[start + at] !== bytes[lastStart + at]) return false;
    return true;
  }

  /** Reads the record as a message. False when it has expired: nobody gets it (section 3.3.2.3.3). */
  read(match: Match<Session>): boolean {
    this.#read(match);
    if (this.message.remainingMs > 0) return true;
    this.#counters.droppedExpired++;
    return false;
  }

  /** @returns false when the session cannot take it now and must not lose it. */
  deliver(session: Session, delivery: Delivery<Session>): boolean {
    const message = this.message;
    let effective: Delivery<Session> | null | undefined = delivery;
    if (delivery.own !== undefined && message.isFrom(session.clientIdBytes)) effective = delivery.own;
    if (effective === null) return true;
    if (session.version === 5) message.buildProperties(this.#cursor);
    return session.deliver(message, effective, this);
  }

  /** Reads the record as a message whose exchange has begun: an expiry does not count any more. */
  readAgain(match: Match<Session>, withProperties: boolean): MessageView {
    this.#read(match);
    if (withProperties) this.message.buildProperties(this.#cursor);
    return this.message;
  }

  #read({ encodedTopic, foreignQos, ignoresRetain }: Match<Session>): void {
    if (this.#isLikeLast && this.#isLastRead && this.message.readLike(this.#cursor)) return;
    this.#isLastRead = true;
    this.message.read(this.#cursor, encodedTopic, this.#nowMs, foreignQos);
    if (ignoresRetain) this.message.retain = false;
  }
}
