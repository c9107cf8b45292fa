// Offsets that are committed in a transaction: on disk at once, and pending until the transaction ends. Then one batch has
// the offsets, if it is committed, and takes the pending ones away, so that a crash leaves both or none.

import type { StateRecord } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { OffsetsOfTransactions } from '../transactions/markers.ts';
import type { Outcome, ProducerClaim, TopicPartition } from '../transactions/transaction.ts';
import {
  OFFSET_COMMIT_VERSIONS,
  type TransactionVerification,
  writerCode,
} from '../transactions/verification.ts';
import { commitFault, EPOCH_VERSION_MIN } from './consumer/members.ts';
import type { GroupCoordinator } from './coordinator.ts';
import { type GroupEntry, OFFSETS_TOPIC } from './group-store.ts';
import { transactionalCommitFault } from './membership.ts';
import type { CommitClaim, CommitItem, GroupOffsets } from './offsets.ts';
import { type CommittedOffset, encodeOffset, encodePendingOffset } from './state-records.ts';

export class TransactionalOffsets implements OffsetsOfTransactions {
  readonly topic = OFFSETS_TOPIC;
  readonly #coordinator: GroupCoordinator;
  readonly #offsets: GroupOffsets;
  /** Pending offsets of a producer that are being written: what ends its transaction waits for them. */
  readonly #writing = new Map<number, Set<Promise<unknown>>>();

  constructor(coordinator: GroupCoordinator, offsets: GroupOffsets) {
    this.#coordinator = coordinator;
    this.#offsets = offsets;
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
    const refused = await this.#verify(producer, groupId, claim.version, verification);
    // From here to the write there is no await: the answer is of now.
    const codes =
      refused === ERROR_CODES.NONE
        ? await this.#write(producer.producerId, groupId, claim, existing)
        : existing.map(() => refused);
    const codeOf = new Map(existing.map((item, index) => [item, codes[index]]));
    return items.map((item) => codeOf.get(item) ?? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
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

  async #write(
    producerId: number,
    groupId: string,
    claim: CommitClaim,
    items: readonly CommitItem[],
  ): Promise<ErrorCode[]> {
    const all = (code: ErrorCode): ErrorCode[] => items.map(() => code);
    const known = this.#coordinator.store.get(groupId);
    if (known === undefined && claim.generation >= 0) return all(ERROR_CODES.ILLEGAL_GENERATION);
    const entry = known ?? this.#coordinator.create(groupId, claim.clientHost);
    if (entry === undefined) return all(ERROR_CODES.POLICY_VIOLATION);
    const fault = this.#claimFault(entry, claim);
    const codes = items.map((item) =>
      fault === ERROR_CODES.NONE ? this.#offsets.itemFault(entry, item) : fault,
    );
    const records = items
      .filter((_item, index) => codes[index] === ERROR_CODES.NONE)
      .map((item) => encodePendingOffset({ ...item, groupId, producerId }, this.#offsets.offsetOf(item)));
    const written = await this.#writeAll(producerId, [entry], records);
    return codes.map((code) => (code === ERROR_CODES.NONE ? written : code));
  }

  #claimFault(entry: GroupEntry, claim: CommitClaim): ErrorCode {
    if (entry.consumer === undefined) return transactionalCommitFault(entry.group, claim);
    const { memberId, groupInstanceId, generation } = claim;
    if (generation < 0 && memberId === '' && groupInstanceId === null) return ERROR_CODES.NONE;
    // Producers speak of generations, whatever the group has.
    const code = commitFault(entry.consumer, { memberId, epoch: generation }, EPOCH_VERSION_MIN, []);
    return code === ERROR_CODES.STALE_MEMBER_EPOCH ? ERROR_CODES.ILLEGAL_GENERATION : code;
  }

  async endTransaction(statePartition: number, producerId: number, outcome: Outcome): Promise<ErrorCode> {
    const { store } = this.#coordinator;
    while (this.#writing.has(producerId)) await Promise.all(this.#writing.get(producerId) ?? []);
    // Where the groups are another node's now, that one is asked when the marker is tried again.
    if (store.stateOf(statePartition) !== 'serving') return ERROR_CODES.NOT_COORDINATOR;
    const entries = store.pendingOf(producerId, statePartition);
    const records = entries.flatMap((entry) => [...this.#ending(entry, producerId, outcome)]);
    return this.#writeAll(producerId, entries, records);
  }

  *#ending(entry: GroupEntry, producerId: number, outcome: Outcome): Iterable<StateRecord> {
    const { groupId } = entry;
    for (const [topic, partitions] of entry.pending.get(producerId) ?? []) {
      for (const [partition, pending] of partitions) {
        const place = { groupId, topic, partition };
        if (outcome === 'commit' && this.#counts(entry, topic, partition, pending))
          yield encodeOffset(place, pending);
        yield encodePendingOffset({ ...place, producerId }, null);
      }
    }
  }

  /** Unless its topic is gone, or somebody has committed there later. */
  #counts({ offsets }: GroupEntry, topic: string, partition: number, pending: CommittedOffset): boolean {
    const committed = offsets.get(topic)?.get(partition);
    const isNewest = committed === undefined || committed.recordOffset < pending.recordOffset;
    return isNewest && this.#offsets.isOfTopicNow(topic, pending);
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
    const writing = this.#writing.get(producerId) ?? new Set();
    this.#writing.set(producerId, writing);
    for (const entry of entries) entry.recordsInFlight++;
    const written = store.writeTo(first.statePartition, records, { group: first.groupId, producerId });
    writing.add(written);
    const code = await written;
    writing.delete(written);
    if (writing.size === 0) this.#writing.delete(producerId);
    for (const entry of entries) {
      entry.recordsInFlight--;
      this.#coordinator.forgetIfUnused(entry);
    }
    return code;
  }
}
