// Offsets that are committed in a transaction: on disk at once, and pending until the transaction ends. Then batches have
// the offsets, if it is committed, and take the pending ones away, so that a crash leaves of each both or none.

import type { StateRecord, TransactionEnd } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { OffsetsOfTransactions } from '../transactions/markers.ts';
import type { ProducerClaim, TopicPartition } from '../transactions/transaction.ts';
import {
  OFFSET_COMMIT_VERSIONS,
  type TransactionVerification,
  writerCode,
} from '../transactions/verification.ts';
import { commitFault, EPOCH_VERSION_MIN } from './consumer/members.ts';
import type { GroupCoordinator } from './coordinator.ts';
import { type CommitUnderWay, type GroupEntry, OFFSETS_TOPIC } from './group-store.ts';
import { transactionalCommitFault } from './membership.ts';
import { type CommitClaim, type CommitItem, type GroupOffsets, PORTION_ITEMS } from './offsets.ts';
import { encodeOffsetOfTransaction, encodePendingOffset, type PendingOffset } from './state-records.ts';

export interface PendingOffsetLimits {
  readonly ofTransactionMax: number;
  readonly ofGroupMax: number;
}

export interface PendingOffsetCounters {
  /** Offsets that a transaction was not given, because it, or its group, had as many as it may. */
  offsetsRefused: number;
}

/** What a pending offset remembers of who commits it. */
interface ProducerOfOffsets extends ProducerClaim {
  readonly coordinatorEpoch: number;
}

interface Writing {
  readonly promises: Set<Promise<unknown>>;
  recordCount: number;
}

/** A group's name is in every key, and may be long: a portion ends here, too. */
const PORTION_BYTES = 1024 * 1024;
const NOTHING: readonly Promise<unknown>[] = [];

export class TransactionalOffsets implements OffsetsOfTransactions {
  readonly topic = OFFSETS_TOPIC;
  readonly counters: PendingOffsetCounters = { offsetsRefused: 0 };
  readonly #coordinator: GroupCoordinator;
  readonly #offsets: GroupOffsets;
  readonly #limits: PendingOffsetLimits;
  /** Pending offsets of a producer that are being written: what ends its transaction waits for them. */
  readonly #writing = new Map<number, Writing>();

  constructor(coordinator: GroupCoordinator, offsets: GroupOffsets, limits: PendingOffsetLimits) {
    this.#coordinator = coordinator;
    this.#offsets = offsets;
    this.#limits = limits;
  }

  /**
   * One code per item, in order. Older clients have added the group to the transaction before; a newer one has it added
   * here.
   * @param claim its `version` is that of TxnOffsetCommit
   */
  async commit(
    producer: ProducerClaim,
    groupId: string,
    claim: CommitClaim,
    items: readonly CommitItem[],
    verification: TransactionVerification,
  ): Promise<ErrorCode[]> {
    const all = (code: ErrorCode): ErrorCode[] => items.map(() => code);
    if (groupId === '') return all(ERROR_CODES.INVALID_GROUP_ID);
    const existing = items.filter((item) => this.#offsets.exists(item));
    if (existing.length === 0) return all(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
    const availability = this.#coordinator.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return all(availability);
    const codes = await this.#writePortions(producer, groupId, claim, existing, verification);
    const codeOf = new Map(existing.map((item, index) => [item, codes[index]]));
    return items.map((item) => codeOf.get(item) ?? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  }

  /** Offsets of transactions that have not ended. */
  get pendingCount(): number {
    return this.#coordinator.store.pendingCount;
  }

  /** Where offsets of the group are: part of a transaction like a partition with records. */
  placeOf(groupId: string): TopicPartition {
    return { topic: OFFSETS_TOPIC, partition: this.#coordinator.store.partitionOf(groupId) };
  }

  async #verify(
    producer: ProducerClaim,
    groupId: string,
    version: number,
    verification: TransactionVerification,
  ): Promise<ErrorCode> {
    const place = this.placeOf(groupId);
    const code =
      version >= OFFSET_COMMIT_VERSIONS.adds
        ? await verification.add(producer, [place], 2, [groupId])
        : ((await verification.verify(producer, [place]))[0] ?? ERROR_CODES.UNKNOWN_SERVER_ERROR);
    return writerCode(code, version, OFFSET_COMMIT_VERSIONS, ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
  }

  /** In portions, as `GroupOffsets` does; between them the transaction may end, so it is asked for again. */
  async #writePortions(
    producer: ProducerClaim,
    groupId: string,
    claim: CommitClaim,
    items: readonly CommitItem[],
    verification: TransactionVerification,
  ): Promise<ErrorCode[]> {
    const codes: ErrorCode[] = [];
    for (let start = 0; start < items.length; start += PORTION_ITEMS) {
      const portion = items.slice(start, start + PORTION_ITEMS);
      const availability = this.#coordinator.availability(groupId);
      const refused =
        availability === ERROR_CODES.NONE
          ? await this.#verify(producer, groupId, claim.version, verification)
          : availability;
      // From here to the write there is no await: the answer is of now.
      const coordinatorEpoch = verification.coordinatorEpochOf(producer.transactionalId);
      codes.push(
        ...(refused === ERROR_CODES.NONE
          ? await this.#write({ ...producer, coordinatorEpoch }, groupId, claim, portion)
          : portion.map(() => refused)),
      );
    }
    return codes;
  }

  async #write(
    producer: ProducerOfOffsets,
    groupId: string,
    claim: CommitClaim,
    items: readonly CommitItem[],
  ): Promise<ErrorCode[]> {
    const all = (code: ErrorCode): ErrorCode[] => items.map(() => code);
    const known = this.#coordinator.store.get(groupId);
    if (known === undefined && claim.generation >= 0) return all(ERROR_CODES.ILLEGAL_GENERATION);
    const entry = known ?? this.#coordinator.create(groupId, claim.clientHost);
    if (entry === undefined) return all(ERROR_CODES.POLICY_VIOLATION);
    const { producerId, producerEpoch, coordinatorEpoch } = producer;
    const fault = this.#claimFault(entry, claim);
    const isFull = this.#isFull(entry, producerId, items);
    const codes = items.map((item) => {
      if (fault !== ERROR_CODES.NONE) return fault;
      return isFull(item) ? ERROR_CODES.INVALID_COMMIT_OFFSET_SIZE : this.#offsets.itemFault(entry, item);
    });
    const records = items
      .filter((_item, index) => codes[index] === ERROR_CODES.NONE)
      .map((item) => {
        const pending = { ...this.#offsets.offsetOf(item), producerEpoch, coordinatorEpoch };
        return encodePendingOffset({ ...item, groupId, producerId }, pending);
      });
    const written = await this.#writeAll(producerId, [entry], records);
    return codes.map((code) => (code === ERROR_CODES.NONE ? written : code));
  }

  /** Whoever is pending there may go on; nothing is added to a transaction, or a group, that has as many as it may. */
  #isFull(
    entry: GroupEntry,
    producerId: number,
    items: readonly CommitItem[],
  ): (item: CommitItem) => boolean {
    const { ofTransactionMax, ofGroupMax } = this.#limits;
    const { store } = this.#coordinator;
    const own = entry.pending.get(producerId);
    const isNew = ({ topic, partition }: CommitItem): boolean => own?.get(topic)?.has(partition) !== true;
    const more = items.filter(isNew).length + (this.#writing.get(producerId)?.recordCount ?? 0);
    const isWithin =
      store.pendingCountOf(producerId) + more <= ofTransactionMax && entry.pendingCount + more <= ofGroupMax;
    if (isWithin) return () => false;
    this.counters.offsetsRefused += more;
    return isNew;
  }

  #claimFault(entry: GroupEntry, claim: CommitClaim): ErrorCode {
    if (entry.consumer === undefined) return transactionalCommitFault(entry.group, claim);
    const { memberId, groupInstanceId, generation } = claim;
    if (generation < 0 && memberId === '' && groupInstanceId === null) return ERROR_CODES.NONE;
    // Producers speak of generations, whatever the group has.
    const code = commitFault(entry.consumer, { memberId, epoch: generation }, EPOCH_VERSION_MIN, []);
    return code === ERROR_CODES.STALE_MEMBER_EPOCH ? ERROR_CODES.ILLEGAL_GENERATION : code;
  }

  async endTransaction(statePartition: number, end: TransactionEnd): Promise<ErrorCode> {
    const { producerId } = end;
    const { store } = this.#coordinator;
    for (let isFirst = true; ; isFirst = false) {
      while (this.#writing.has(producerId))
        await Promise.all(this.#writing.get(producerId)?.promises ?? NOTHING);
      // Where the groups are another node's now, that one is asked when the marker is tried again.
      if (store.stateOf(statePartition) !== 'serving') return ERROR_CODES.NOT_COORDINATOR;
      const entries = store.pendingOf(producerId, statePartition);
      if (entries.length === 0) return ERROR_CODES.NONE;
      const fault = isFirst ? endFault(entries, end) : ERROR_CODES.NONE;
      if (fault !== ERROR_CODES.NONE) return fault;
      const code = await this.#writeEnd(entries, end);
      if (code !== ERROR_CODES.NONE) return code;
    }
  }

  /**
   * One portion: of each offset both that it counts, and that it is pending no more. What is left when a crash comes
   * between two portions is pending still, and the marker is written again.
   */
  async #writeEnd(
    entries: readonly GroupEntry[],
    { producerId, outcome }: TransactionEnd,
  ): Promise<ErrorCode> {
    const records: StateRecord[] = [];
    const touched = new Map<
      GroupEntry,
      { readonly counted: CommitUnderWay[]; readonly before: CommitOrder }
    >();
    let recordBytes = 0;
    for (const { entry, topic, partition, pending } of pendingOf(entries, producerId)) {
      const { counted, before } = touched.get(entry) ?? { counted: [], before: commitOrderOf(entry) };
      touched.set(entry, { counted, before });
      const place = { groupId: entry.groupId, topic, partition };
      const isNewest = before(topic, partition) < pending.recordOffset;
      if (outcome === 'commit' && isNewest && this.#offsets.isOfTopicNow(topic, pending)) {
        records.push(encodeOffsetOfTransaction(place, pending));
        counted.push({ topic, partition, recordOffset: pending.recordOffset });
        recordBytes += bytesOf(records);
      }
      records.push(encodePendingOffset({ ...place, producerId }, null));
      recordBytes += bytesOf(records);
      if (records.length >= 2 * PORTION_ITEMS || recordBytes >= PORTION_BYTES) break;
    }
    for (const [entry, { counted }] of touched) entry.committing.add(counted);
    const code = await this.#writeAll(producerId, [...touched.keys()], records);
    for (const [entry, { counted }] of touched) entry.committing.delete(counted);
    return code;
  }

  /** Whether a transaction that has not ended may change what is committed there. */
  isPending(groupId: string, topic: string, partition: number): boolean {
    for (const topics of this.#coordinator.store.get(groupId)?.pending.values() ?? [])
      if (topics.get(topic)?.has(partition) === true) return true;
    return false;
  }

  /** The entries, all of one state partition, stay until it is written. */
  async #writeAll(
    producerId: number,
    entries: readonly GroupEntry[],
    records: readonly StateRecord[],
  ): Promise<ErrorCode> {
    const [first] = entries;
    if (first === undefined) return ERROR_CODES.NONE;
    const { store } = this.#coordinator;
    const writing = this.#writing.get(producerId) ?? { promises: new Set(), recordCount: 0 };
    this.#writing.set(producerId, writing);
    for (const entry of entries) entry.recordsInFlight++;
    const written = store.writeTo(first.statePartition, records, { group: first.groupId, producerId });
    writing.promises.add(written);
    writing.recordCount += records.length;
    const code = await written;
    writing.promises.delete(written);
    writing.recordCount -= records.length;
    if (writing.promises.size === 0) this.#writing.delete(producerId);
    for (const entry of entries) {
      entry.recordsInFlight--;
      this.#coordinator.forgetIfUnused(entry);
    }
    return code;
  }
}

interface PendingPlace {
  readonly entry: GroupEntry;
  readonly topic: string;
  readonly partition: number;
  readonly pending: PendingOffset;
}

function* pendingOf(entries: readonly GroupEntry[], producerId: number): Generator<PendingPlace> {
  for (const entry of entries)
    for (const [topic, partitions] of entry.pending.get(producerId) ?? [])
      for (const [partition, pending] of partitions) yield { entry, topic, partition, pending };
}

/** Where the last commit of a partition lies in the log, as far as it is applied or on its way; −1 = there is none. */
type CommitOrder = (topic: string, partition: number) => number;

/**
 * What is pending is applied, so a commit that is on its way lies behind it in the log, or is of a transaction and says
 * where. If it does not get to the disk, neither does the end, which comes behind it.
 */
function commitOrderOf({ offsets, committing }: GroupEntry): CommitOrder {
  const underWay = new Map<string, Map<number, number>>();
  for (const { topic, partition, recordOffset = Number.POSITIVE_INFINITY } of [...committing].flat()) {
    const ofTopic = underWay.get(topic) ?? new Map<number, number>();
    underWay.set(topic, ofTopic.set(partition, Math.max(recordOffset, ofTopic.get(partition) ?? -1)));
  }
  return (topic, partition) =>
    Math.max(
      offsets.get(topic)?.get(partition)?.recordOffset ?? -1,
      underWay.get(topic)?.get(partition) ?? -1,
    );
}

/** As a log holds a marker against what it knows of the producer. */
function endFault(entries: readonly GroupEntry[], end: TransactionEnd): ErrorCode {
  for (const { pending } of pendingOf(entries, end.producerId)) {
    if (end.producerEpoch < pending.producerEpoch) return ERROR_CODES.INVALID_PRODUCER_EPOCH;
    if (end.coordinatorEpoch < pending.coordinatorEpoch) return ERROR_CODES.TRANSACTION_COORDINATOR_FENCED;
  }
  return ERROR_CODES.NONE;
}

/** Of the last one. */
function bytesOf(records: readonly StateRecord[]): number {
  const last = records.at(-1);
  return last === undefined ? 0 : last.key.length + (last.value?.length ?? 0);
}
