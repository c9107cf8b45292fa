// The state of an aedes broker in a table of the hub, and what memory keeps of it: subscriptions and wills whole, of messages
// where they lie. Whatever is written is on disk when the promise resolves, and memory shows it then.
import type { Hub, StateRecord, StateTable } from '../../protocols/port.ts';
import { EarlierSubscriptions } from './earlier-subscriptions.ts';
import { FilterTree } from './filter-tree.ts';
import { OutgoingQueue } from './outgoing-queue.ts';
import { type AedesPacket, decodePacket } from './packets.ts';
import {
  type AedesSubscription,
  type ClientKey,
  KIND,
  numberOf,
  readClientKey,
  readRetainedKey,
} from './state-records.ts';

/** A message in the table. */
export interface Stored {
  readonly partition: number;
  readonly offset: number;
}

/** A subscription at QoS 1 or 2: messages wait for its client. */
export interface QueuedSubscription extends Omit<AedesSubscription, 'subscriptionIdentifier'> {
  readonly clientId: string;
}

/** Why the hub has not taken something. */
export class AedesStoreError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'AedesStoreError';
    this.code = code;
  }
}

export class AedesState {
  readonly retained = new Map<string, Stored>();
  /** By client, then by filter. */
  readonly subscriptions = new Map<string, Map<string, AedesSubscription>>();
  /** Those at QoS 1 and 2. */
  readonly queued = new FilterTree<QueuedSubscription>();
  queuedCount = 0;
  readonly outgoing = new Map<string, OutgoingQueue>();
  /** By client, then by message identifier. */
  readonly incoming = new Map<string, Map<number, Stored>>();
  readonly wills = new Map<string, AedesPacket>();
  readonly #earlier = new EarlierSubscriptions();
  #table: StateTable | undefined;

  /** @param topic an internal topic of the hub. Resolves when what there is has been read. */
  static async open(hub: Hub, topic: string): Promise<AedesState> {
    const state = new AedesState();
    state.#table = await hub.stateTable({
      topic,
      apply: (partition, key, value, offset) => state.#apply(partition, key, value, offset),
    });
    for (const { clientId, records } of state.#earlier.rewritten()) await state.write(clientId, records);
    return state;
  }

  /** All of it at once, or nothing. @param id whose records they are: a client's, or a topic's */
  async write(id: string, records: readonly StateRecord[]): Promise<void> {
    const refused = await this.#opened.write(this.#opened.partitionOf(id), records);
    if (refused !== undefined) throw new AedesStoreError(refused.refused, refused.message);
  }

  /** Undefined when it is gone. */
  async read({ partition, offset }: Stored): Promise<AedesPacket | undefined> {
    const record = await this.#opened.read(partition, offset);
    return record === undefined || record.value === null ? undefined : decodePacket(record.value);
  }

  /** Forgets a queue that has nothing. */
  releaseQueue(clientId: string): void {
    if (this.outgoing.get(clientId)?.isIdle === true) this.outgoing.delete(clientId);
  }

  queueOf(clientId: string): OutgoingQueue {
    const known = this.outgoing.get(clientId);
    if (known !== undefined) return known;
    const queue = new OutgoingQueue();
    this.outgoing.set(clientId, queue);
    return queue;
  }

  get #opened(): StateTable {
    if (this.#table === undefined) throw new Error('the table is not open yet');
    return this.#table;
  }

  #apply(partition: number, key: Buffer, value: Buffer | null, offset: number): void {
    if (key[0] === KIND.RETAINED) {
      if (value === null) this.retained.delete(readRetainedKey(key));
      else this.retained.set(readRetainedKey(key), { partition, offset });
      return;
    }
    switch (key[0]) {
      case KIND.SUBSCRIPTION:
        this.#applySubscription(readClientKey(key), value);
        return;
      case KIND.EARLIER_SUBSCRIPTIONS:
        this.#earlier.apply(key, value);
        return;
      case KIND.WILL: {
        const { clientId } = readClientKey(key);
        if (value === null) this.wills.delete(clientId);
        else this.wills.set(clientId, decodePacket(value));
        return;
      }
      case KIND.INCOMING:
        this.#applyIncoming(readClientKey(key), value === null ? undefined : { partition, offset });
        return;
      case KIND.OUTGOING:
        this.#applyOutgoing(readClientKey(key), value, { partition, offset });
        return;
      // Any other is of a later version, and stays as it is.
    }
  }

  #applySubscription({ clientId, rest }: ClientKey, value: Buffer | null): void {
    const filter = rest.toString('utf8');
    const own = this.subscriptions.get(clientId) ?? new Map<string, AedesSubscription>();
    if ((own.get(filter)?.qos ?? 0) > 0) {
      this.queued.remove(filter, (each) => each.clientId === clientId);
      this.queuedCount--;
    }
    if (value === null) {
      own.delete(filter);
      if (own.size === 0) this.subscriptions.delete(clientId);
      return;
    }
    // Written here alone.
    const subscription = JSON.parse(value.toString('utf8')) as AedesSubscription;
    own.set(filter, subscription);
    this.subscriptions.set(clientId, own);
    if (subscription.qos === 0) return;
    const { subscriptionIdentifier: _, ...queued } = subscription;
    this.queued.add(filter, { clientId, ...queued });
    this.queuedCount++;
  }

  #applyIncoming(owner: ClientKey, stored: Stored | undefined): void {
    const { clientId } = owner;
    const number = numberOf(owner);
    const own = this.incoming.get(clientId) ?? new Map<number, Stored>();
    if (stored === undefined) own.delete(number);
    else own.set(number, stored);
    if (own.size === 0) this.incoming.delete(clientId);
    else this.incoming.set(clientId, own);
  }

  #applyOutgoing(owner: ClientKey, value: Buffer | null, stored: Stored): void {
    const { clientId } = owner;
    const number = numberOf(owner);
    const queue = this.queueOf(clientId);
    if (value === null) {
      queue.delete(number);
      this.releaseQueue(clientId);
      return;
    }
    const { brokerId, brokerCounter, messageId } = decodePacket(value);
    queue.set({ number, ...stored, brokerId, brokerCounter, messageId });
  }
}
