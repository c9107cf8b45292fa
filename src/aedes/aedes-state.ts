// The state of an aedes broker in a table of the hub, and what memory keeps of it: subscriptions and wills whole, of messages
// where they lie. Whatever is written is on disk when the promise resolves, and memory shows it then.
import type { Hub, StateRecord, StateTable } from '../../protocols/port.ts';
import { FilterTree } from './filter-tree.ts';
import { OutgoingQueue } from './outgoing-queue.ts';
import { type AedesPacket, decodePacket } from './packets.ts';
import {
  type AedesSubscription,
  type ClientKey,
  KIND,
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
  readonly subscriptions = new Map<string, ReadonlyMap<string, AedesSubscription>>();
  /** Those at QoS 1 and 2. */
  readonly queued = new FilterTree<QueuedSubscription>();
  queuedCount = 0;
  readonly outgoing = new Map<string, OutgoingQueue>();
  /** By client, then by message identifier. */
  readonly incoming = new Map<string, Map<number, Stored>>();
  readonly wills = new Map<string, AedesPacket>();
  #table: StateTable | undefined;

  /** @param topic an internal topic of the hub. Resolves when what there is has been read. */
  static async open(hub: Hub, topic: string): Promise<AedesState> {
    const state = new AedesState();
    state.#table = await hub.stateTable({
      topic,
      apply: (partition, key, value, offset) => state.#apply(partition, key, value, offset),
    });
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
    const owner = readClientKey(key);
    switch (key[0]) {
      case KIND.SUBSCRIPTIONS:
        this.#applySubscriptions(owner.clientId, value);
        return;
      case KIND.WILL:
        if (value === null) this.wills.delete(owner.clientId);
        else this.wills.set(owner.clientId, decodePacket(value));
        return;
      case KIND.INCOMING:
        this.#applyIncoming(owner, value === null ? undefined : { partition, offset });
        return;
      case KIND.OUTGOING:
        this.#applyOutgoing(owner, value, { partition, offset });
        return;
    }
  }

  #applySubscriptions(clientId: string, value: Buffer | null): void {
    for (const { topic, qos } of this.subscriptions.get(clientId)?.values() ?? []) {
      if (qos === 0) continue;
      this.queued.remove(topic, (each) => each.clientId === clientId);
      this.queuedCount--;
    }
    // Written here alone.
    const list = value === null ? [] : (JSON.parse(value.toString('utf8')) as AedesSubscription[]);
    for (const { subscriptionIdentifier: _, ...subscription } of list) {
      if (subscription.qos === 0) continue;
      this.queued.add(subscription.topic, { clientId, ...subscription });
      this.queuedCount++;
    }
    if (list.length === 0) this.subscriptions.delete(clientId);
    else this.subscriptions.set(clientId, new Map(list.map((each) => [each.topic, each])));
  }

  #applyIncoming({ clientId, number }: ClientKey, stored: Stored | undefined): void {
    const own = this.incoming.get(clientId) ?? new Map<number, Stored>();
    if (stored === undefined) own.delete(number);
    else own.set(number, stored);
    if (own.size === 0) this.incoming.delete(clientId);
    else this.incoming.set(clientId, own);
  }

  #applyOutgoing({ clientId, number }: ClientKey, value: Buffer | null, stored: Stored): void {
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
