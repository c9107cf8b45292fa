// Reads each new record of one partition once and sends it to every live session whose subscriptions match. It waits for
// nobody: a session that cannot keep up leaves the live path here and catches up on its own, see catch-up.ts.
import type { Followed, Hub, Partition, RecordRange } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import type { Delivery, Match } from './deliveries.ts';
import { mergeSubscriptions } from './deliveries.ts';
import type { LogSource } from './log-source.ts';
import type { Mappings } from './mapping/mappings.ts';
import type { KafkaTopicName } from './mapping/way-back.ts';
import type { RecordReader } from './record-reader.ts';
import type { Session, SessionSubscription } from './session.ts';
import { hasBegun, matchesFilter } from './session-subscription.ts';
import type { SubscriptionTree } from './subscription-tree.ts';

/** After so many deliveries and steps of matching, connections that wait to be read or written get their turn. */
const STEPS_PER_TURN = 10_000;

export interface DispatcherOptions {
  readonly hub: Hub;
  readonly tree: SubscriptionTree<SessionSubscription>;
  readonly reader: RecordReader;
  readonly counters: MqttCounters;
  readonly mappings: Mappings;
  readonly followBytesMax: number;
  /** The last subscription that had ended has got what was for it. */
  onSettled(): void;
}

export class Dispatcher implements LogSource {
  readonly partition: Partition;
  readonly name: KafkaTopicName;
  readonly #hub: Hub;
  readonly #tree: SubscriptionTree<SessionSubscription>;
  readonly #reader: RecordReader;
  readonly #counters: MqttCounters;
  readonly #onSettled: () => void;
  readonly #options: DispatcherOptions;
  #visibility: 'lastStable' | 'highWatermark';
  #followed: Followed;
  /** Who follows now; a range of an earlier one is left where it is. */
  #follower = {};
  #position: number;
  /** Below this offset the tree does not tell who gets a record: a subscription began later, or has ended since. */
  #unsettledEnd = 0;
  /** Who has starts to forget then; the starts stay when a subscription is replaced. */
  readonly #begun = new Map<SessionSubscription['starts'], Session>();
  #ended: { readonly subscription: SessionSubscription; readonly end: number }[] = [];
  #closed = false;
  /** Something of the range at hand leaves from where it lies. */
  #isReferenced = false;

  /** @param fromOffset of the first record that is sent. */
  constructor(partition: Partition, fromOffset: number, options: DispatcherOptions) {
    this.partition = partition;
    this.name = options.mappings.nameOf(partition.topic);
    this.#hub = options.hub;
    this.#tree = options.tree;
    this.#reader = options.reader;
    this.#counters = options.counters;
    this.#onSettled = options.onSettled;
    this.#position = fromOffset;
    this.#options = options;
    this.#visibility = options.mappings.visibilityOf(partition.topic);
    this.#followed = this.#follow();
  }

  /** There are other mapping rules: how far is read may be another. It goes on where it is. */
  rulesReplaced(): void {
    const visibility = this.#options.mappings.visibilityOf(this.partition.topic);
    if (this.#closed || visibility === this.#visibility) return;
    this.#visibility = visibility;
    this.#followed.close();
    this.#followed = this.#follow();
  }

  #follow(): Followed {
    const follower = {};
    this.#follower = follower;
    return this.#hub.follow(this.partition, {
      fromOffset: this.#position,
      maxBytes: this.#options.followBytesMax,
      visibility: this.#visibility,
      onRange: (range) => this.#dispatch(range, follower),
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
    // Subscriptions outlive the topic.
    for (const starts of this.#begun.keys()) starts.delete(this);
    this.#begun.clear();
  }

  /** Up to here it may be read now: records of a transaction that is open are news when it commits. */
  get readableEnd(): number {
    return this.#visibility === 'lastStable' ? this.partition.lastStableOffset : this.partition.highWatermark;
  }

  /**
   * Subscriptions of one client begin now: what could be read already and is not yet sent is not for them. Called in the turn
   * in which they are made, for new ones; one that is replaced goes on where it is [MQTT-3.8.4-3].
   */
  begin(subscriptions: readonly SessionSubscription[]): void {
    const start = this.readableEnd;
    for (const { subscriber, starts } of subscriptions) {
      const isUnsettled = start > this.#position;
      // A session that is behind forgets its starts itself.
      if (!isUnsettled && subscriber.lag?.covers(this) !== true) return;
      starts.set(this, start);
      if (!isUnsettled) continue;
      this.#begun.set(starts, subscriber);
      this.#unsettledEnd = Math.max(this.#unsettledEnd, start);
    }
  }

  /**
   * Subscriptions have ended: what was published until now is still for them, so that a client that publishes and then
   * unsubscribes sees its packets take effect in their order.
   */
  end(subscriptions: readonly SessionSubscription[]): void {
    const end = this.partition.logEndOffset;
    if (end <= this.#position) return;
    for (const subscription of subscriptions) {
      this.#begun.delete(subscription.starts);
      // Nothing has been published since it began.
      if ((subscription.starts.get(this) ?? 0) >= end) continue;
      this.#ended.push({ subscription, end });
      this.#unsettledEnd = Math.max(this.#unsettledEnd, end);
    }
  }

  /** A session is gone; while the log cannot be read, nothing else would let go of it. */
  forget(session: Session): void {
    for (const [starts, subscriber] of this.#begun) if (subscriber === session) this.#begun.delete(starts);
    if (this.#ended.length === 0) return;
    this.#ended = this.#ended.filter(({ subscription }) => subscription.subscriber !== session);
  }

  /** Whether a subscription that is no longer in the tree still waits for something. */
  get hasEnding(): boolean {
    return this.#ended.length > 0;
  }

  /** A promise when it took long enough for others to have a turn: the rest of the range comes after that. */
  #dispatch(range: RecordRange, follower: object): undefined | Promise<void> {
    if (this.#closed || follower !== this.#follower) return undefined;
    const reader = this.#reader;
    reader.open(range);
    const tree = this.#tree;
    const matched = tree.steps;
    let sent = 0;
    try {
      while (reader.next(this.#position)) {
        sent += this.#sendRecord();
        this.#position = reader.offset + 1;
        if (sent + tree.steps - matched < STEPS_PER_TURN) continue;
        this.#isReferenced ||= reader.message.isReferenced;
        return nextTurn().then(() => this.#dispatch(range, follower));
      }
    } catch (error) {
      // What cannot be read now could not be read again either.
      this.#position = range.nextOffset;
      throw error;
    }
    this.#position = range.nextOffset;
    if (!this.#isReferenced) reader.close(range);
    this.#isReferenced = false;
    if (this.#unsettledEnd > 0 && this.#position >= this.#unsettledEnd) this.#settle();
    return undefined;
  }

  /** One record's fault is that record's: those behind it go on. @returns how many clients it was for. */
  #sendRecord(): number {
    try {
      return this.#send();
    } catch (error) {
      this.#counters.droppedFault++;
      this.#hub.log.error('mqtt-delivery-failed', { ...this.#where(), offset: this.#reader.offset, error });
      return 1;
    }
  }

  /** From here on the tree tells everything. */
  #settle(): void {
    for (const [starts, subscriber] of this.#begun) {
      // A session that is behind still needs it; it forgets it itself.
      if (!subscriber.lag?.covers(this)) starts.delete(this);
    }
    this.#begun.clear();
    this.#unsettledEnd = 0;
    if (this.#ended.length === 0) return;
    this.#ended = [];
    this.#onSettled();
  }

  #send(): number {
    const reader = this.#reader;
    const match = reader.match(this);
    const offset = reader.offset;
    const deliveries = offset < this.#unsettledEnd ? this.#deliveriesAt(match, offset) : match.deliveries;
    if (deliveries.length === 0 || !reader.read(match)) return 0;
    reader.message.isShared = deliveries.length > 1;
    for (let index = 0; index < deliveries.length; index++) this.#sendTo(deliveries[index]!, offset);
    return deliveries.length;
  }

  #sendTo(delivery: Delivery<Session>, offset: number): void {
    const session = delivery.subscriber;
    if (session.lag?.covers(this) || !session.mayRead(this.partition.topic)) return;
    if (!this.#reader.deliver(session, delivery)) session.lag?.begin(this, offset);
  }

  /** The slow way, while a subscription is younger than the record, or has ended since. */
  #deliveriesAt({ topic, delivers }: Match<Session>, offset: number): readonly Delivery<Session>[] {
    if (!delivers) return [];
    const begun = this.#tree.match(topic).filter((subscription) => hasBegun(subscription, this, offset));
    const ended = this.#ended
      .filter(
        ({ subscription, end }) =>
          offset < end && hasBegun(subscription, this, offset) && matchesFilter(subscription.filter, topic),
      )
      .map(({ subscription }) => subscription);
    return mergeSubscriptions([...begun, ...ended]);
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
