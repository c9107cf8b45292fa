// The groups of this node in memory, as the log tells them: every change that is to survive comes in through
// `apply`, at start-up and live alike. The coordinator decides and writes; it changes no offset itself.

import type { Hub, StatePartitionState, StateRecord, StateTable } from '../../port.ts';
import { availabilityOf, coordinatorCode } from '../coordinator-state.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { applyRecord, type ConsumerGroup, createConsumerGroup } from './consumer/consumer-group.ts';
import { decodeConsumerRecord, isConsumerKey } from './consumer/records.ts';
import { createGroup, type Group } from './group.ts';
import {
  type CommittedOffset,
  decodeGroup,
  decodeKey,
  decodeOffset,
  decodePendingOffset,
  type OffsetKeyFields,
  type PendingOffset,
  type PendingOffsetKeyFields,
} from './state-records.ts';
import { applyGroupRecord, applyGroupTombstone } from './sync.ts';

export const OFFSETS_TOPIC = '__consumer_offsets';

/** Of a record in the state's log. */
interface LogPlace {
  readonly offset: number;
  readonly timestampMs: number;
}

/** A group and what it committed: topic → partition → offset. */
export interface GroupEntry {
  readonly groupId: string;
  /** The group of the classic protocol; without members while it is one of the consumer protocol. */
  group: Group;
  /** Undefined = the group is a classic one. */
  consumer: ConsumerGroup | undefined;
  /** Records of the group that are being written: until they are applied the entry must stay. */
  recordsInFlight: number;
  /** The address of the client that made it; undefined = it is from before the start, and nobody's. */
  madeBy: string | undefined;
  /** What the coordinator counts for its members. */
  heldBytes: number;
  readonly statePartition: number;
  readonly offsets: Map<string, Map<number, CommittedOffset>>;
  /** Offsets of transactions that have not ended: producer id → topic → partition → offset. */
  readonly pending: Map<number, Map<string, Map<number, PendingOffset>>>;
  /** How many those are. */
  pendingCount: number;
  /** Commits that are on their way to the log: what is appended now comes behind them. */
  readonly committing: Set<readonly CommitUnderWay[]>;
}

export interface CommitUnderWay {
  readonly topic: string;
  readonly partition: number;
  /** Where it was committed, if that was before: it counts from now on, with the end of its transaction. */
  readonly recordOffset?: number;
}

/** What is pending of a producer's transaction. */
interface PendingOfProducer {
  readonly entries: Set<GroupEntry>;
  count: number;
}

/** Whether anything would be lost with the entry. */
export function isUsed({ group, consumer, offsets, pending, recordsInFlight }: GroupEntry): boolean {
  if (consumer !== undefined || pending.size > 0) return true;
  const isQuiet = group.state === 'empty' && group.pendingMembers.size === 0;
  return !isQuiet || group.isRecorded || offsets.size > 0 || recordsInFlight > 0;
}

export interface GroupStoreListener {
  /** The group of an entry is served from now on: its members' sessions begin. */
  serving(entry: GroupEntry): void;
  /** The entry is no longer this node's, or no longer a group; nobody is to be told anything in its name. */
  dropped(entry: GroupEntry): void;
}

export class GroupStore {
  readonly #hub: Hub;
  readonly #listener: GroupStoreListener;
  readonly #entries = new Map<string, GroupEntry>();
  /** Which groups have offsets of a producer's transaction. */
  readonly #pendingOf = new Map<number, PendingOfProducer>();
  #pendingCount = 0;
  #table: StateTable | undefined;
  #offsetBytes = 0;

  constructor(hub: Hub, listener: GroupStoreListener) {
    this.#hub = hub;
    this.#listener = listener;
  }

  /** Resolves once the state topic is replayed and every group is served; to be called once, before all else. */
  async load(): Promise<void> {
    this.#table = await this.#hub.stateTable({
      topic: OFFSETS_TOPIC,
      apply: (partition, key, value, offset, timestampMs) =>
        this.#apply(partition, key, value, { offset, timestampMs }),
      onState: (partition, state) => this.#partitionIs(partition, state),
    });
    for (const entry of this.#entries.values()) this.#listener.serving(entry);
  }

  /** About the memory that committed offsets take. */
  get offsetBytes(): number {
    return this.#offsetBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The groups of a state partition that have offsets of the producer's transaction. */
  pendingOf(producerId: number, statePartition: number): GroupEntry[] {
    const entries = [...(this.#pendingOf.get(producerId)?.entries ?? [])];
    return entries.filter((entry) => entry.statePartition === statePartition);
  }

  /** Offsets of the producer's transaction, in all groups of this node. */
  pendingCountOf(producerId: number): number {
    return this.#pendingOf.get(producerId)?.count ?? 0;
  }

  /** Of all transactions. */
  get pendingCount(): number {
    return this.#pendingCount;
  }

  /** Where the group's state is. */
  partitionOf(groupId: string): number {
    return this.#opened().partitionOf(groupId);
  }

  stateOf(statePartition: number): StatePartitionState {
    return this.#opened().stateOf(statePartition);
  }

  entries(): IterableIterator<GroupEntry> {
    return this.#entries.values();
  }

  get(groupId: string): GroupEntry | undefined {
    return this.#entries.get(groupId);
  }

  /** 14 while the group's state is read, 16 when it is another node's, else 0. */
  availability(groupId: string): ErrorCode {
    return availabilityOf(this.#opened(), groupId);
  }

  create(groupId: string): GroupEntry {
    return this.#createAt(groupId, this.#opened().partitionOf(groupId));
  }

  /** Forgets an entry that nothing was written of. */
  forget(entry: GroupEntry): void {
    this.#entries.delete(entry.groupId);
    for (const partitions of entry.offsets.values())
      for (const committed of partitions.values()) this.#offsetBytes -= bytesOf(committed);
    for (const [producerId, topics] of [...entry.pending])
      for (const [topic, partitions] of [...topics])
        for (const partition of [...partitions.keys()])
          this.#setPending(entry, { producerId, topic, partition }, undefined);
    this.#listener.dropped(entry);
  }

  /** On disk and applied when it resolves with 0; all records or none. Never rejects. */
  async write(entry: GroupEntry, records: readonly StateRecord[]): Promise<ErrorCode> {
    return this.writeTo(entry.statePartition, records, { group: entry.groupId });
  }

  /** The same of several groups of one state partition. */
  async writeTo(statePartition: number, records: readonly StateRecord[], about: object): Promise<ErrorCode> {
    const refused = await this.#opened().write(statePartition, records);
    if (refused === undefined) return ERROR_CODES.NONE;
    this.#hub.log.warn('group-state-not-written', {
      ...about,
      refused: refused.refused,
      reason: refused.message,
    });
    return coordinatorCode(refused.refused, ERROR_CODES.INVALID_COMMIT_OFFSET_SIZE);
  }

  #opened(): StateTable {
    // `open` alone gives out a store, and only after the table is there.
    if (this.#table === undefined) throw new Error('the group store is not open');
    return this.#table;
  }

  #createAt(groupId: string, statePartition: number): GroupEntry {
    const entry: GroupEntry = {
      groupId,
      consumer: undefined,
      group: createGroup(groupId, this.#hub.clock.now()),
      recordsInFlight: 0,
      madeBy: undefined,
      heldBytes: 0,
      statePartition,
      offsets: new Map(),
      pending: new Map(),
      pendingCount: 0,
      committing: new Set(),
    };
    this.#entries.set(groupId, entry);
    return entry;
  }

  #apply(partition: number, keyBytes: Buffer, value: Buffer | null, place: LogPlace): void {
    if (isConsumerKey(keyBytes)) {
      this.#applyConsumer(partition, keyBytes, value, place.timestampMs);
      return;
    }
    const key = decodeKey(keyBytes);
    if (key === undefined) {
      this.#hub.log.warn('group-state-unknown-record', { topic: OFFSETS_TOPIC, partition });
      return;
    }
    if (key.kind === 'group') this.#applyGroup(partition, key.groupId, value);
    else if (key.kind === 'pending-offset') this.#applyPending(partition, key, value, place);
    else this.#applyOffset(partition, key, value, place);
  }

  #applyGroup(statePartition: number, groupId: string, value: Buffer | null): void {
    const entry = this.#entries.get(groupId);
    if (value === null) {
      if (entry === undefined) return;
      applyGroupTombstone(entry.group, this.#hub.clock.now());
      if (!isUsed(entry)) this.forget(entry);
      return;
    }
    const record = decodeGroup(value);
    if (record === undefined) {
      this.#hub.log.error('group-state-unreadable', { group: groupId, topic: OFFSETS_TOPIC });
      return;
    }
    const { group } = entry ?? this.#createAt(groupId, statePartition);
    applyGroupRecord(group, record, this.#hub.clock.now());
  }

  /** While a partition is served, its records are in memory from the moment of decision. */
  #applyConsumer(statePartition: number, key: Buffer, value: Buffer | null, nowMs: number): void {
    if (this.#table?.stateOf(statePartition) === 'serving') return;
    const decoded = decodeConsumerRecord(key, value);
    if (decoded === undefined) {
      this.#hub.log.error('group-state-unreadable', { topic: OFFSETS_TOPIC, partition: statePartition });
      return;
    }
    const { groupId, record } = decoded;
    const known = this.#entries.get(groupId);
    if (record.kind === 'epoch' && record.value === null) {
      if (known === undefined) return;
      known.consumer = undefined;
      if (!isUsed(known)) this.forget(known);
      return;
    }
    // What is taken away from a group that is not there, or not any more, was compacted.
    if (record.value === null && known?.consumer === undefined) return;
    const entry = known ?? this.#createAt(groupId, statePartition);
    entry.consumer ??= createConsumerGroup(groupId, nowMs);
    applyRecord(entry.consumer, record, nowMs);
  }

  #applyOffset(statePartition: number, key: OffsetKeyFields, value: Buffer | null, place: LogPlace): void {
    const { groupId, topic, partition } = key;
    const committed = value === null ? undefined : decodeOffset(value, place.offset);
    const entry = this.#entries.get(groupId);
    const before = entry?.offsets.get(topic)?.get(partition);
    this.#offsetBytes += bytesOf(committed) - bytesOf(before);
    if (committed === undefined) {
      const ofTopic = entry?.offsets.get(topic);
      ofTopic?.delete(partition);
      if (ofTopic?.size === 0) entry?.offsets.delete(topic);
      return;
    }
    const { offsets } = entry ?? this.#createAt(groupId, statePartition);
    const ofTopic = offsets.get(topic);
    if (ofTopic === undefined) offsets.set(topic, new Map([[partition, committed]]));
    else ofTopic.set(partition, committed);
  }

  #applyPending(
    statePartition: number,
    key: PendingOffsetKeyFields,
    value: Buffer | null,
    place: LogPlace,
  ): void {
    const known = this.#entries.get(key.groupId);
    const pending = value === null ? undefined : decodePendingOffset(value, place.offset);
    if (known === undefined && pending === undefined) return;
    const entry = known ?? this.#createAt(key.groupId, statePartition);
    this.#setPending(entry, key, pending);
    // At the start nobody else looks whether something is left of it.
    if (pending === undefined && this.#table === undefined && !isUsed(entry)) this.forget(entry);
  }

  #setPending(
    entry: GroupEntry,
    { producerId, topic, partition }: Omit<PendingOffsetKeyFields, 'groupId'>,
    pending: PendingOffset | undefined,
  ): void {
    const topics = entry.pending.get(producerId) ?? new Map<string, Map<number, PendingOffset>>();
    const partitions = topics.get(topic) ?? new Map<number, PendingOffset>();
    const before = partitions.get(partition);
    this.#offsetBytes += bytesOf(pending) - bytesOf(before);
    const more = Number(pending !== undefined) - Number(before !== undefined);
    this.#pendingCount += more;
    entry.pendingCount += more;
    if (pending === undefined) partitions.delete(partition);
    else partitions.set(partition, pending);
    if (partitions.size > 0) topics.set(topic, partitions);
    else topics.delete(topic);
    if (topics.size > 0) entry.pending.set(producerId, topics);
    else entry.pending.delete(producerId);
    this.#countPending(producerId, entry, more);
  }

  #countPending(producerId: number, entry: GroupEntry, more: number): void {
    const known = this.#pendingOf.get(producerId) ?? { entries: new Set<GroupEntry>(), count: 0 };
    known.count += more;
    if (entry.pending.has(producerId)) known.entries.add(entry);
    else known.entries.delete(entry);
    if (known.entries.size > 0) this.#pendingOf.set(producerId, known);
    else this.#pendingOf.delete(producerId);
  }

  #partitionIs(partition: number, state: StatePartitionState): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.statePartition !== partition) continue;
      if (state === 'gone') this.forget(entry);
      else if (state === 'serving' && this.#table !== undefined) this.#listener.serving(entry);
    }
  }
}

/** An offset with its place in the maps, roughly. */
const OFFSET_BYTES = 200;

function bytesOf(committed: CommittedOffset | undefined): number {
  return committed === undefined ? 0 : OFFSET_BYTES + committed.metadata.length;
}
