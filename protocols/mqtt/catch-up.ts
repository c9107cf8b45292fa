// A session that is behind: where it has left the live stream of each partition, it reads on from the log at the pace of
// its client, one partition at a time, and goes live again where the dispatcher stands. It holds offsets and nothing
// else while it waits, so a client that has stopped reading costs no memory and delays nobody.
import type { Followed, Hub, RecordRange } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery, Match } from './deliveries.ts';
import { deliveryOf, mergeSubscriptions } from './deliveries.ts';
import type { Lag, LogSource } from './log-source.ts';
import type { Mappings } from './mapping/mappings.ts';
import type { RecordReader } from './record-reader.ts';
import type { Session } from './session.ts';
import { hasBegun, matchesFilter } from './session-subscription.ts';

/** What may wait for a client; see sessions/queue-limits.ts. */
export interface LagLimits {
  /** Whether it is time to look at a session that goes on. */
  isDue(session: Session): boolean;
  /** Skips what is beyond. Rejects when the log cannot be read. */
  apply(session: Session): Promise<void>;
}

export interface CatchUpOptions {
  readonly hub: Hub;
  readonly reader: RecordReader;
  readonly counters: MqttCounters;
  readonly mappings: Mappings;
  readonly followBytesMax: number;
  readonly limits?: LagLimits;
}

export class CatchUp implements Lag {
  readonly #session: Session;
  readonly #hub: Hub;
  readonly #reader: RecordReader;
  readonly #counters: MqttCounters;
  readonly #mappings: Mappings;
  readonly #followBytesMax: number;
  readonly #limits: LagLimits | undefined;
  /** Next offset to send, per partition that is behind; the first is the one being read. */
  readonly #offsets = new Map<LogSource, number>();
  /** Up to where records came while the client was away. */
  readonly #missedEnds = new Map<LogSource, number>();
  /** History that was asked for: it is no queue, however old it is. */
  readonly #replayed = new Set<LogSource>();
  /** Until what was on its way earlier has been sent again, or what is too much has been found. */
  #isHeld = false;
  #followed: Followed | undefined;
  /** Partitions that could not be read, one after another. */
  #failures = 0;
  #closed = false;

  constructor(session: Session, options: CatchUpOptions) {
    this.#session = session;
    this.#hub = options.hub;
    this.#reader = options.reader;
    this.#counters = options.counters;
    this.#mappings = options.mappings;
    this.#followBytesMax = options.followBytesMax;
    this.#limits = options.limits;
  }

  covers(source: LogSource): boolean {
    return this.#offsets.size > 0 && this.#offsets.has(source);
  }

  offsetOf(source: LogSource): number | undefined {
    return this.#offsets.get(source);
  }

  /** The record at `offset` could not be sent: from here on this partition is read from the log. */
  begin(source: LogSource, offset: number): void {
    if (this.#closed) return;
    this.#offsets.set(source, offset);
  }

  rewind(source: LogSource, offset: number): void {
    if (this.#closed) return;
    // It may be reading this very partition, from further on.
    this.#stopFollowing();
    this.#offsets.set(source, offset);
    this.#missedEnds.delete(source);
    this.#replayed.add(source);
  }

  beginMissed(source: LogSource, offset: number): void {
    this.#isHeld = true;
    this.#offsets.set(source, offset);
    if (offset < source.position) this.#missedEnds.set(source, source.position);
  }

  behind(): [LogSource, number][] {
    return [...this.#offsets].filter(([source]) => !this.#replayed.has(source));
  }

  skipTo(source: LogSource, offset: number): boolean {
    // It may have gone live, or back, since it was looked at.
    if (this.#closed || this.#replayed.has(source) || offset <= (this.#offsets.get(source) ?? offset))
      return false;
    this.#offsets.set(source, offset);
    this.#session.passedOver(source);
    return true;
  }

  start(): void {
    this.#isHeld = false;
    this.resume();
  }

  resume(): void {
    if (this.#followed !== undefined || this.#closed || this.#isHeld || this.#offsets.size === 0) return;
    if (this.#limits?.isDue(this.#session)) void this.#limit(this.#limits);
    else this.#followFirst();
  }

  /** Never rejects. */
  async #limit(limits: LagLimits): Promise<void> {
    this.#isHeld = true;
    try {
      await limits.apply(this.#session);
    } catch (error) {
      this.#hub.log.error('mqtt-queue-not-read', { clientId: this.#session.clientId, error });
    }
    this.#isHeld = false;
    // History may have been asked for meanwhile, and then it is being read.
    if (this.#followed === undefined && !this.#closed) this.#followFirst();
  }

  close(): void {
    this.#closed = true;
    this.#stopFollowing();
    this.#offsets.clear();
    this.#missedEnds.clear();
    this.#replayed.clear();
  }

  #followFirst(): void {
    for (const [source, fromOffset] of this.#offsets) {
      if (source.closed || fromOffset >= source.position) {
        this.#goLive(source);
        continue;
      }
      this.#followed = this.#hub.follow(source.partition, {
        fromOffset,
        maxBytes: this.#followBytesMax,
        visibility: this.#mappings.visibilityOf(source.partition.topic),
        onRange: (range) => {
          this.#send(source, range);
          this.#reader.close(range);
        },
        onSkip: (from, to) => this.#skip(source, from, to),
        onError: (refusal) => this.#fail(source, refusal),
      });
      return;
    }
  }

  #stopFollowing(): void {
    this.#followed?.close();
    this.#followed = undefined;
  }

  /** Sends what lies before the dispatcher, as far as the client can take it. */
  #send(source: LogSource, range: RecordRange): void {
    const fromOffset = this.#offsets.get(source);
    if (fromOffset === undefined) return;
    this.#failures = 0;
    const reader = this.#reader;
    const end = source.position;
    reader.open(range);
    while (reader.next(fromOffset) && reader.offset < end) {
      if (this.#sendRecord(source)) continue;
      // Its client is full: go on when it says that it is not.
      this.#offsets.set(source, reader.offset);
      this.#stopFollowing();
      return;
    }
    this.#offsets.set(source, Math.min(range.nextOffset, end));
    if (range.nextOffset >= end) this.#goLive(source);
    else if (this.#offsets.size > 1) this.#rotate(source);
    else return;
    this.#stopFollowing();
    this.#followFirst();
  }

  /** Another partition's turn. */
  #rotate(source: LogSource): void {
    const offset = this.#offsets.get(source) as number; // set just before
    this.#offsets.delete(source);
    this.#offsets.set(source, offset);
  }

  #goLive(source: LogSource): void {
    this.#offsets.delete(source);
    this.#missedEnds.delete(source);
    this.#replayed.delete(source);
    for (const subscription of this.#session.subscriptions.values()) {
      const start = subscription.starts.get(source);
      if (start !== undefined && start <= source.position) subscription.starts.delete(source);
    }
  }

  /** One record's fault is that record's: those behind it go on. */
  #sendRecord(source: LogSource): boolean {
    const reader = this.#reader;
    try {
      const match = reader.match(source);
      const delivery = this.#deliveryOf(match, source, reader.offset);
      if (!delivery || !this.#session.mayRead(source.partition.topic) || !reader.read(match)) return true;
      // Who is not there gets nothing at QoS 0.
      if (Math.min(reader.message.qos, delivery.qos) === 0 && this.#isMissed(source, reader.offset)) {
        this.#counters.droppedOffline++;
        return true;
      }
      // History is sent at its client's pace at QoS 0 too: what is in the log need not be dropped.
      if (Math.min(reader.message.qos, delivery.qos) === 0 && !this.#session.hasRoom) return false;
      return reader.deliver(this.#session, delivery);
    } catch (error) {
      this.#counters.droppedFault++;
      const { topic, partition } = source.partition;
      this.#hub.log.error('mqtt-delivery-failed', { topic, partition, offset: reader.offset, error });
      return true;
    }
  }

  #isMissed(source: LogSource, offset: number): boolean {
    return this.#missedEnds.size > 0 && offset < (this.#missedEnds.get(source) ?? 0);
  }

  #deliveryOf(match: Match<Session>, source: LogSource, offset: number): Delivery<Session> | undefined {
    const merged = deliveryOf(match, this.#session);
    if (!merged) return undefined;
    return this.#isYoung(source, offset) ? this.#deliveryAt(match, source, offset) : merged;
  }

  /** Whether some subscription is younger than the record. */
  #isYoung(source: LogSource, offset: number): boolean {
    for (const subscription of this.#session.subscriptions.values()) {
      if (!hasBegun(subscription, source, offset)) return true;
    }
    return false;
  }

  /** The slow way: from those of the session's own subscriptions that had begun. */
  #deliveryAt(match: Match<Session>, source: LogSource, offset: number): Delivery<Session> | undefined {
    const begun = [...this.#session.subscriptions.values()].filter(
      (subscription) =>
        hasBegun(subscription, source, offset) && matchesFilter(subscription.filter, match.topic),
    );
    return mergeSubscriptions(begun)[0];
  }

  #skip(source: LogSource, fromOffset: number, toOffset: number): void {
    this.#counters.droppedRetention += toOffset - fromOffset;
    this.#session.own.skipped += toOffset - fromOffset;
    const { clientId } = this.#session;
    const { topic, partition } = source.partition;
    this.#hub.log.warn('mqtt-client-overtaken', { clientId, topic, partition, fromOffset, toOffset });
    this.#offsets.set(source, Math.max(toOffset, this.#offsets.get(source) ?? 0));
    this.#session.passedOver(source);
    if (toOffset < source.position) return;
    // Nothing is left to catch up with, and perhaps nothing comes: the other partitions must not wait for it.
    this.#goLive(source);
    this.#stopFollowing();
    this.#followFirst();
  }

  /** One that cannot be read does not keep the others waiting; when all cannot, the follower tries again in a while. */
  #fail(source: LogSource, refusal: string): void {
    if (refusal === 'unknown-topic') this.#offsets.delete(source);
    else if (++this.#failures < this.#offsets.size) this.#rotate(source);
    else {
      this.#failures = 0;
      return;
    }
    this.#stopFollowing();
    this.#followFirst();
  }
}
