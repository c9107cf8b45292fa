// An aedes persistence over the hub's store: what a client must find again is on disk before aedes goes on. Its methods are
// those of aedes-persistence's own, the asynchronous one.
import { Readable } from 'node:stream';
import type { Hub, StateRecord } from '../../protocols/port.ts';
import { AedesState, AedesStoreError, type QueuedSubscription, type Stored } from './aedes-state.ts';
import { Deliveries } from './deliveries.ts';
import { FilterTree } from './filter-tree.ts';
import type { OutgoingQueue } from './outgoing-queue.ts';
import { type AedesPacket, encodePacket, queuedPacket, withMessageId } from './packets.ts';
import {
  type AedesSubscription,
  KIND,
  messageKey,
  retainedKey,
  subscriptionKey,
  subscriptionText,
  willKey,
} from './state-records.ts';

export interface AedesClient {
  readonly id: string;
}

/** What of a broker is needed here. */
export interface AedesBroker {
  readonly id: string;
  publish(packet: AedesPacket, done: (error?: Error | null) => void): void;
}

export interface PersistenceOptions {
  /** Of the emitter that the same broker has. */
  readonly deliveries?: Deliveries;
  readonly onSetup?: (broker: AedesBroker) => void;
}

type Decided = AedesSubscription | null;

const EMPTY_QUEUE: Pick<OutgoingQueue, 'entries'> = { entries: () => [] };

export class LogPersistence {
  readonly #state: AedesState;
  readonly #onSetup: (broker: AedesBroker) => void;
  readonly #deliveries: Deliveries;
  #broker: AedesBroker | undefined;
  /** Subscriptions that are being written, by client and filter; null = one that goes. */
  readonly #decided = new Map<string, Map<string, Decided>>();
  #destroyed = false;

  private constructor(state: AedesState, { deliveries, onSetup }: PersistenceOptions) {
    this.#state = state;
    this.#deliveries = deliveries ?? new Deliveries();
    this.#onSetup = onSetup ?? (() => undefined);
  }

  /** @param topic the internal topic that has its state. */
  static async open(hub: Hub, topic: string, options: PersistenceOptions = {}): Promise<LogPersistence> {
    return new LogPersistence(await AedesState.open(hub, topic), options);
  }

  get broker(): AedesBroker | undefined {
    return this.#broker;
  }

  async setup(broker: AedesBroker): Promise<void> {
    this.#broker = broker;
    this.#onSetup(broker);
  }

  /** What is on disk stays: another process, or the next start, finds it. */
  async destroy(): Promise<void> {
    if (this.#destroyed) throw new Error('destroyed called twice!');
    this.#destroyed = true;
  }

  // ---------------------------------------------------------------------------------------------------- retained

  async storeRetained(packet: AedesPacket): Promise<void> {
    const { topic = '', payload } = packet;
    const value = payload === undefined || payload.length === 0 ? null : encodePacket(packet);
    await this.#state.write(topic, [{ key: retainedKey(topic), value }]);
  }

  createRetainedStream(pattern: string): Readable {
    return this.createRetainedStreamCombi([pattern]);
  }

  /** Each message once, however many patterns match it. */
  createRetainedStreamCombi(patterns: readonly string[]): Readable {
    const tree = new FilterTree<string>();
    for (const pattern of patterns) tree.add(pattern, pattern);
    return Readable.from(this.#packetsOf(retainedMatching(this.#state.retained, tree)));
  }

  // ----------------------------------------------------------------------------------------------- subscriptions

  /** What the client has already, just so, is not written again. */
  async addSubscriptions({ id }: AedesClient, added: readonly AedesSubscription[]): Promise<void> {
    const changes = new Map<string, Decided>();
    for (const { topic, qos, rh, rap, nl, subscriptionIdentifier } of added) {
      const subscription = { topic, qos, rh, rap, nl, subscriptionIdentifier };
      if (this.#isStored(id, subscription)) changes.delete(topic);
      else changes.set(topic, subscription);
    }
    await this.#writeSubscriptions(id, changes);
  }

  async removeSubscriptions({ id }: AedesClient, topics: readonly string[]): Promise<void> {
    const known = this.#filtersOf(id);
    const removed = topics.filter((topic) => known.has(topic));
    await this.#writeSubscriptions(id, new Map(removed.map((topic) => [topic, null])));
  }

  async cleanSubscriptions({ id }: AedesClient): Promise<void> {
    await this.#writeSubscriptions(id, new Map([...this.#filtersOf(id)].map((topic) => [topic, null])));
  }

  async subscriptionsByClient({ id }: AedesClient): Promise<AedesSubscription[]> {
    return [...(this.#state.subscriptions.get(id)?.values() ?? [])].map((each) => ({ ...each }));
  }

  /** Those for which messages wait. */
  async subscriptionsByTopic(topic: string): Promise<QueuedSubscription[]> {
    return this.#state.queued.match(topic).map((each) => ({ ...each }));
  }

  async countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }> {
    return { subsCount: this.#state.queuedCount, clientsCount: this.#state.subscriptions.size };
  }

  getClientList(topic: string): Readable {
    const { subscriptions } = this.#state;
    return Readable.from([...subscriptions].flatMap(([id, own]) => (own.has(topic) ? [id] : [])));
  }

  /** What the client has, and what it is about to have or to lose: two packets of it may be dealt with at once. */
  #filtersOf(id: string): ReadonlySet<string> {
    return new Set([
      ...(this.#state.subscriptions.get(id)?.keys() ?? []),
      ...(this.#decided.get(id)?.keys() ?? []),
    ]);
  }

  #isStored(id: string, subscription: AedesSubscription): boolean {
    const { topic } = subscription;
    if (this.#decided.get(id)?.has(topic) === true) return false;
    const stored = this.#state.subscriptions.get(id)?.get(topic);
    return stored !== undefined && subscriptionText(stored) === subscriptionText(subscription);
  }

  /** All of them or none. What is being written to one client keeps its order. */
  async #writeSubscriptions(id: string, changes: ReadonlyMap<string, Decided>): Promise<void> {
    if (changes.size === 0) return;
    const decided = this.#decided.get(id) ?? new Map<string, Decided>();
    this.#decided.set(id, decided);
    for (const [topic, change] of changes) decided.set(topic, change);
    const records = [...changes].map(([topic, change]) => ({
      key: subscriptionKey(id, topic),
      value: change && Buffer.from(subscriptionText(change)),
    }));
    try {
      await this.#state.write(id, records);
    } finally {
      for (const [topic, change] of changes) if (decided.get(topic) === change) decided.delete(topic);
      if (decided.size === 0 && this.#decided.get(id) === decided) this.#decided.delete(id);
    }
  }

  // ---------------------------------------------------------------------------------------------------- outgoing

  async outgoingEnqueue(subscription: { readonly clientId: string }, packet: AedesPacket): Promise<void> {
    await this.outgoingEnqueueCombi([subscription], packet);
  }

  /** Once for each client, however many of its subscriptions match; what waits for one client keeps its order. */
  async outgoingEnqueueCombi(
    subscriptions: readonly { readonly clientId: string }[],
    packet: AedesPacket,
  ): Promise<void> {
    const value = encodePacket(queuedPacket(packet));
    const clientIds = new Set(subscriptions.map(({ clientId }) => clientId));
    await Promise.all(
      [...clientIds].map(async (clientId) => {
        const queue = this.#state.queueOf(clientId);
        const key = messageKey(KIND.OUTGOING, clientId, queue.takeNumber());
        try {
          await this.#state.write(clientId, [{ key, value }]);
        } finally {
          queue.settled();
          this.#state.releaseQueue(clientId);
        }
      }),
    );
  }

  /** A message has got its identifier, or PUBREL has taken its place. */
  async outgoingUpdate({ id }: AedesClient, packet: AedesPacket): Promise<void> {
    const origin = this.#deliveries.originOf(packet);
    const entry = this.#state.outgoing.get(id)?.findUpdated(origin, packet.messageId);
    if (entry === undefined) throw new AedesStoreError('no-such-packet', 'no such packet');
    const isSame = entry.brokerId === origin.brokerId;
    const stored = isSame ? await this.#state.read(entry) : packet;
    if (stored === undefined) throw new AedesStoreError('no-such-packet', 'no such packet');
    const value = encodePacket({ ...stored, messageId: packet.messageId });
    await this.#state.write(id, [{ key: messageKey(KIND.OUTGOING, id, entry.number), value }]);
  }

  /**
   * The client has acknowledged it. A message without an identifier is one that aedes passes over, for the client has it by
   * another of its subscriptions: there is no second entry for that. @returns undefined when there is none such.
   */
  async outgoingClearMessageId(
    { id }: AedesClient,
    packet: Pick<AedesPacket, 'messageId'>,
  ): Promise<AedesPacket | undefined> {
    const { messageId } = packet;
    const entry = messageId === undefined ? undefined : this.#state.outgoing.get(id)?.findById(messageId);
    if (entry === undefined) return undefined;
    const stored = await this.#state.read(entry);
    await this.#state.write(id, [{ key: messageKey(KIND.OUTGOING, id, entry.number), value: null }]);
    return stored && withMessageId(stored, entry.messageId);
  }

  /** What waits now. */
  outgoingStream({ id }: AedesClient): Readable {
    const queue = this.#state.outgoing.get(id) ?? EMPTY_QUEUE;
    return Readable.from(this.#packetsOf(queue.entries()));
  }

  // ---------------------------------------------------------------------------------------------------- incoming

  async incomingStorePacket({ id }: AedesClient, packet: AedesPacket): Promise<void> {
    const { messageId = 0 } = packet;
    const value = encodePacket({ ...queuedPacket(packet), messageId });
    await this.#state.write(id, [{ key: messageKey(KIND.INCOMING, id, messageId), value }]);
  }

  async incomingGetPacket(
    { id }: AedesClient,
    { messageId = -1 }: Pick<AedesPacket, 'messageId'>,
  ): Promise<AedesPacket> {
    const stored = this.#state.incoming.get(id)?.get(messageId);
    const packet = stored && (await this.#state.read(stored));
    if (packet === undefined) throw new AedesStoreError('no-such-packet', 'no such packet');
    return packet;
  }

  async incomingDelPacket(
    { id }: AedesClient,
    { messageId = -1 }: Pick<AedesPacket, 'messageId'>,
  ): Promise<void> {
    if (this.#state.incoming.get(id)?.has(messageId) !== true) {
      throw new AedesStoreError('no-such-packet', 'no such packet');
    }
    await this.#state.write(id, [{ key: messageKey(KIND.INCOMING, id, messageId), value: null }]);
  }

  async cleanIncoming({ id }: AedesClient): Promise<void> {
    const records: StateRecord[] = [];
    for (const messageId of this.#state.incoming.get(id)?.keys() ?? []) {
      records.push({ key: messageKey(KIND.INCOMING, id, messageId), value: null });
    }
    if (records.length > 0) await this.#state.write(id, records);
  }

  // ------------------------------------------------------------------------------------------------------- wills

  /** As aedes' own does, it notes in the packet whose it is. */
  async putWill({ id }: AedesClient, packet: AedesPacket): Promise<void> {
    packet.brokerId = this.#broker?.id;
    packet.clientId = id;
    await this.#state.write(id, [{ key: willKey(id), value: encodePacket(packet) }]);
  }

  async getWill({ id }: AedesClient): Promise<AedesPacket | undefined> {
    return this.#state.wills.get(id);
  }

  async delWill({ id }: AedesClient): Promise<AedesPacket | undefined> {
    const will = this.#state.wills.get(id);
    if (will !== undefined) await this.#state.write(id, [{ key: willKey(id), value: null }]);
    return will;
  }

  /** Wills of brokers that are not among these. */
  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    const isAlive = ({ brokerId }: AedesPacket): boolean => Boolean(brokers[brokerId ?? '']);
    return Readable.from([...this.#state.wills.values()].filter((will) => !isAlive(will)));
  }

  async *#packetsOf(places: Iterable<Stored & { readonly messageId?: number | undefined }>) {
    for (const place of places) {
      const packet = await this.#state.read(place);
      if (packet === undefined) continue;
      yield 'messageId' in place ? withMessageId(packet, place.messageId) : packet;
    }
  }
}

function* retainedMatching(
  retained: ReadonlyMap<string, Stored>,
  tree: FilterTree<string>,
): Generator<Stored> {
  for (const [topic, place] of retained) if (tree.match(topic).length > 0) yield place;
}
