// Reads each new record of one partition once and sends it to every live session whose subscriptions match. It waits for
// nobody: a session that cannot keep up leaves the live path here and catches up on its own, see catch-up.ts.
import type { Followed, Hub, Partition, RecordRange } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery } from './deliveries.ts';
import { mergeSubscriptions } from './deliveries.ts';
import type { LogSource } from './log-source.ts';
import type { RecordReader } from './record-reader.ts';
import type { KafkaTopicName } from './record-topic.ts';
import { kafkaTopicName } from './record-topic.ts';
import type { Session, SessionSubscription } from './session.ts';
import { hasBegun } from './session-subscription.ts';
import type { SubscriptionTree } from './subscription-tree.ts';

export interface DispatcherOptions {
  readonly hub: Hub;
  readonly tree: SubscriptionTree<SessionSubscription>;
  readonly reader: RecordReader;
  readonly counters: MqttCounters;
  readonly followBytesMax: number;
}

export class Dispatcher implements LogSource {
  readonly partition: Partition;
  readonly name: KafkaTopicName;
  readonly #hub: Hub;
  readonly #tree: SubscriptionTree<SessionSubscription>;
  readonly #reader: RecordReader;
  readonly #counters: MqttCounters;
  readonly #followed: Followed;
  #position: number;
  /** Below this offset, some subscription does not get what it matches: it began later. */
  #startsEnd = 0;
  #young: SessionSubscription[] = [];
  #closed = false;

  /** @param fromOffset of the first record that is sent. */
  constructor(partition: Partition, fromOffset: number, options: DispatcherOptions) {
    this.partition = partition;
    this.name = kafkaTopicName(partition.topic);
    this.#hub = options.hub;
    this.#tree = options.tree;
    this.#reader = options.reader;
    this.#counters = options.counters;
    this.#position = fromOffset;
    this.#followed = options.hub.follow(partition, {
      fromOffset,
      maxBytes: options.followBytesMax,
      onRange: (range) => this.#dispatch(range),
      onSkip: (from, to) => this.#skip(from, to),
      onError: (refusal, message) => this.#report(refusal, message),
    });
  }

  get position(): number {
    return this.#position;
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.#followed.close();
  }

  /**
   * A subscription begins now: what is committed already and not yet sent is not for it. Called in the turn in which it is
   * made, for one that is new; one that is replaced goes on where it is [MQTT-3.8.4-3].
   */
  begin(subscription: SessionSubscription): void {
    const start = this.partition.lastStableOffset;
    const isBehind = subscription.subscriber.lag?.covers(this) === true;
    if (start <= this.#position && !isBehind) return;
    subscription.starts.set(this, start);
    this.#startsEnd = Math.max(this.#startsEnd, start);
    this.#young.push(subscription);
  }

  #dispatch(range: RecordRange): void {
    if (this.#closed) return;
    const reader = this.#reader;
    reader.open(range);
    const fromOffset = this.#position;
    try {
      while (reader.next(fromOffset)) this.#sendRecord();
    } finally {
      // Also when the rest of a range cannot be read: it could not be read again either.
      this.#position = range.nextOffset;
    }
    if (this.#young.length > 0 && this.#position >= this.#startsEnd) this.#forgetStarts();
  }

  /** One record's fault is that record's: those behind it go on. */
  #sendRecord(): void {
    try {
      this.#send();
    } catch (error) {
      this.#counters.droppedFault++;
      this.#hub.log.error('mqtt-delivery-failed', { ...this.#where(), offset: this.#reader.offset, error });
    }
  }

  #forgetStarts(): void {
    for (const subscription of this.#young) {
      // A session that is behind still needs it; it forgets it itself.
      if (!subscription.subscriber.lag?.covers(this)) subscription.starts.delete(this);
    }
    this.#young = [];
  }

  #send(): void {
    const reader = this.#reader;
    const match = reader.match(this);
    if (match.deliveries.length === 0) return;
    const offset = reader.offset;
    const deliveries = offset < this.#startsEnd ? this.#deliveriesAt(match.topic, offset) : match.deliveries;
    if (deliveries.length === 0 || !reader.read(match)) return;
    reader.message.isShared = deliveries.length > 1;
    for (let index = 0; index < deliveries.length; index++) this.#sendTo(deliveries[index]!, offset);
  }

  #sendTo(delivery: Delivery<Session>, offset: number): void {
    const session = delivery.subscriber;
    if (session.lag?.covers(this) || !session.mayRead(this.partition.topic)) return;
    if (!this.#reader.deliver(session, delivery)) session.lag?.begin(this, offset);
  }

  /** The slow way, while a subscription is younger than the record. */
  #deliveriesAt(topic: string, offset: number): readonly Delivery<Session>[] {
    return mergeSubscriptions(
      this.#tree.match(topic).filter((subscription) => hasBegun(subscription, this, offset)),
    );
  }

  #skip(fromOffset: number, toOffset: number): void {
    this.#counters.droppedRetention += toOffset - fromOffset;
    this.#position = toOffset;
    this.#hub.log.warn('mqtt-dispatcher-overtaken', { ...this.#where(), fromOffset, toOffset });
  }

  #report(refusal: string, message: string): void {
    this.#hub.log.warn('mqtt-dispatcher-cannot-read', { ...this.#where(), refusal, message });
  }

  #where(): object {
    return { topic: this.partition.topic, partition: this.partition.partition };
  }
}
