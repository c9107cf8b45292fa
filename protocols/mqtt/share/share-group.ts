// The members of a shared subscription that are connected (section 4.8.2). To the dispatchers it is one more session: it is
// live, or behind, and has one cursor per partition. What it is given to deliver, it gives to one member after another, as
// they have room; what a member has not acknowledged when it goes, goes to another.
import type { Hub } from '../../port.ts';
import type { Delivery } from '../deliveries.ts';
import type { Dispatchers } from '../dispatchers.ts';
import type { LogSource, Origin } from '../log-source.ts';
import type { MessageView } from '../message-view.ts';
import type { QoS } from '../packets/publish.ts';
import type { RecordReader } from '../record-reader.ts';
import type { SessionSubscription } from '../session.ts';
import { Session } from '../session.ts';
import type { SessionOptions } from '../session-options.ts';
import type { CursorChanges } from '../sessions/cursor-changes.ts';
import type { Place } from '../sessions/places.ts';
import type { LendingGroup, SharedMembership } from './share-membership.ts';

/** A record is read again by its offset: its batch comes whole, and those behind it are not wanted. */
const READ_BYTES = 1;
/** Messages that members have left, above which the group waits for those to be taken. */
const OWED_MAX = 10_000;

export interface SharedGroupOptions {
  readonly session: SessionOptions;
  readonly hub: Hub;
  readonly dispatchers: Dispatchers;
  readonly reader: RecordReader;
  /** By members of before. */
  readonly owed: readonly Place[];
  /** Its place in the log has changed. */
  onTouched(group: SharedGroup): void;
}

interface Member {
  readonly session: Session;
  readonly membership: SharedMembership;
  readonly delivery: Delivery<Session>;
}

export class SharedGroup extends Session implements LendingGroup {
  readonly #options: SharedGroupOptions;
  /** What is to be written of its cursors. */
  changes: CursorChanges | undefined;
  #members: Member[] = [];
  /** Whose turn it is. */
  #next = 0;
  /** Messages of members that are gone. */
  readonly #again: Place[];
  #isSendingAgain = false;
  #kafkaTopic = '';

  constructor(options: SharedGroupOptions) {
    super(options.session);
    this.#options = options;
    this.#again = [...options.owed];
  }

  get memberCount(): number {
    return this.#members.length;
  }

  members(): Session[] {
    return this.#members.map(({ session }) => session);
  }

  /** A member that is one already is one with other options. */
  join(session: Session, membership: SharedMembership, subscription: SessionSubscription): void {
    const { qos, retainAsPublished, identifier } = subscription;
    const identifiers = identifier > 0 ? [identifier] : [];
    const delivery = { subscriber: session, qos, retainAsPublished, identifiers, own: undefined };
    const others = this.#members.filter((member) => member.session !== session);
    this.#members = [...others, { session, membership, delivery }];
    this.memberHasRoom();
  }

  /** What it has not acknowledged goes to the others, or waits for them. */
  leave(session: Session): void {
    const member = this.#members.find((each) => each.session === session);
    if (member === undefined) return;
    this.#members = this.#members.filter((each) => each !== member);
    this.#again.push(...member.membership.takeBack(this));
    this.#options.onTouched(this);
    void this.#sendAgain(); // never rejects
  }

  /** Next offset of each partition: what is before it and not {@link owed} is settled, or some member's own. */
  cursors(): Place[] {
    return this.#options.dispatchers.cursorsOf(this);
  }

  /** Messages that were lent to a member and that nobody has acknowledged. */
  owed(): Place[] {
    const places = [...this.#again];
    for (const { membership } of this.#members) {
      for (const { group, place } of membership.leases.values()) if (group === this) places.push(place);
    }
    return places;
  }

  memberHasRoom(): void {
    if (this.#again.length === 0) this.lag?.resume();
    else void this.#sendAgain(); // never rejects
  }

  acknowledged(): void {
    this.#options.onTouched(this);
  }

  // ------------------------------------------------------------------------------- what dispatchers see of it

  override get hasRoom(): boolean {
    return this.#members.some(({ session }) => session.hasRoom);
  }

  override passedOver(source: LogSource): void {
    this.changes?.moved(source);
    this.#options.onTouched(this);
  }

  /** Each member is asked when it is its turn. */
  override mayRead(kafkaTopic: string): boolean {
    this.#kafkaTopic = kafkaTopic;
    return true;
  }

  /** @returns false when no member can take it now. */
  override deliver(message: MessageView, _delivery: Delivery<Session>, origin?: Origin): boolean {
    // Members that come and go without acknowledging must not make it owe the whole log.
    if (this.#again.length > OWED_MAX && !this.#isSendingAgain) return false;
    const members = this.#members;
    for (let step = 0; step < members.length; step++) {
      const turn = (this.#next + step) % members.length;
      if (!this.#give(members[turn]!, message, origin)) continue;
      this.#next = turn + 1;
      if (origin?.logSource !== undefined) this.changes?.moved(origin.logSource);
      this.#options.onTouched(this);
      return true;
    }
    return false;
  }

  #give(
    { session, membership, delivery }: Member,
    message: MessageView,
    origin: Origin | undefined,
  ): boolean {
    const qos = Math.min(message.qos, delivery.qos) as QoS; // one of the two
    // Those that can take more come first; a QoS 0 message that nobody can take waits in the log.
    if (session.closed || !session.mayRead(this.#kafkaTopic) || (qos === 0 && !session.hasRoom)) return false;
    const before = session.exchanges.lastPacketId;
    // At QoS 2 the exchange is this client's, for as long as its session lasts [MQTT-4.8.2-5].
    if (!session.deliver(message, delivery, qos === 2 ? origin : undefined)) return false;
    const packetId = session.exchanges.lastPacketId;
    if (qos === 1 && packetId !== before && origin !== undefined) {
      const { topicId, partition } = origin.source;
      membership.leases.set(packetId, {
        group: this,
        place: { topicId, partition, offset: origin.sourceOffset },
      });
    }
    return true;
  }

  // --------------------------------------------------------------------------------- what members have left

  async #sendAgain(): Promise<void> {
    if (this.#isSendingAgain) return;
    this.#isSendingAgain = true;
    try {
      while (this.#again.length > 0 && this.hasRoom && !this.closed) {
        if (!(await this.#sendPlace(this.#again[0]!))) break;
        this.#again.shift();
      }
    } catch (error) {
      // Tried again when a member makes room, or joins.
      this.#options.hub.log.error('mqtt-shared-not-read', { group: this.clientId, error });
    } finally {
      this.#isSendingAgain = false;
    }
    if (this.#again.length === 0 && !this.closed && this.hasRoom) this.lag?.resume();
  }

  /** @returns false when nobody can take it now. */
  async #sendPlace(place: Place): Promise<boolean> {
    const { hub, dispatchers, reader } = this.#options;
    const source = dispatchers.sourceOf(place);
    const range = await source?.partition.read({
      offset: place.offset,
      maxBytes: READ_BYTES,
      upTo: 'highWatermark',
    });
    if (this.closed) return false;
    if (source === undefined || range === undefined || range.refused !== undefined) {
      // Retention, or the topic's end, came first.
      hub.log.warn('mqtt-exchange-lost', { clientId: this.clientId, ...place });
      return true;
    }
    reader.open(range);
    if (!reader.next(place.offset) || reader.offset !== place.offset) return true;
    const match = reader.match(source);
    this.mayRead(source.partition.topic);
    return !reader.read(match) || reader.deliver(this, { ...EVERY_QOS, subscriber: this });
  }
}

const EVERY_QOS: Omit<Delivery<Session>, 'subscriber'> = {
  qos: 2,
  retainAsPublished: false,
  identifiers: [],
  own: undefined,
};
