// Committed offsets: checked, written, and applied from the log before the answer. A commit that is not on disk
// is a failed commit. Offsets belong to a topic's id: a topic made again under the same name starts without any.

import type { Hub, Timer, TopicView } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { ZERO_UUID } from '../wire/reader.ts';
import { commitFault, EPOCH_VERSION_MIN, fetchFault } from './consumer/members.ts';
import type { GroupCoordinator } from './coordinator.ts';
import type { GroupEntry } from './group-store.ts';
import { checkCommit, type MemberClaim } from './membership.ts';
import { type CommittedOffset, encodeGroup, encodeOffset, type OffsetToRecord } from './state-records.ts';

export interface OffsetSettings {
  /** Longest text that may be kept with an offset, in bytes. */
  readonly metadataBytesMax: number;
  /** What the offsets of all groups may take together. */
  readonly heldBytesMax: number;
  /** How long offsets outlive the last member of their group. */
  readonly retentionMs: number;
  readonly retentionCheckMs: number;
}

export interface CommitClaim extends MemberClaim {
  /** Of OffsetCommit. */
  readonly version: number;
  /** Who commits: a group that is made for it counts as this client's. */
  readonly clientHost: string;
}

/** Written as one batch, and applied in one go: some milliseconds. */
export const PORTION_ITEMS = 1_000;

export interface CommitItem {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly metadata: string;
}

export class GroupOffsets {
  readonly #hub: Hub;
  readonly #coordinator: GroupCoordinator;
  readonly #settings: OffsetSettings;
  #expiryTimer: Timer | undefined;
  readonly #stopWatchingTopics: () => void;

  constructor(hub: Hub, coordinator: GroupCoordinator, settings: OffsetSettings) {
    this.#hub = hub;
    this.#coordinator = coordinator;
    this.#settings = settings;
    this.#stopWatchingTopics = hub.topics.onChange(({ kind, topic }) => {
      if (kind === 'deleted') void this.#dropTopic(topic);
    });
    this.#scheduleExpiry();
  }

  close(): void {
    this.#expiryTimer?.cancel();
    this.#stopWatchingTopics();
  }

  /**
   * One code per item, in order; what is refused does not keep the rest from being committed. As in Kafka the group is
   * asked about partitions that exist alone.
   */
  async commit(groupId: string, claim: CommitClaim, items: readonly CommitItem[]): Promise<ErrorCode[]> {
    const existing = items.filter((item) => this.exists(item));
    const codes = existing.length === 0 ? [] : await this.#commitExisting(groupId, claim, existing);
    if (existing.length === items.length) return codes;
    const codeOf = new Map(existing.map((item, index) => [item, codes[index]]));
    return items.map((item) => codeOf.get(item) ?? ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  }

  exists({ topic, partition }: CommitItem): boolean {
    return this.#hub.topics.partition(topic, partition) !== undefined;
  }

  async #commitExisting(
    groupId: string,
    claim: CommitClaim,
    items: readonly CommitItem[],
  ): Promise<ErrorCode[]> {
    const all = (code: ErrorCode): ErrorCode[] => items.map(() => code);
    const availability = this.#coordinator.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return all(availability);
    const known = this.#coordinator.store.get(groupId);
    // A group that does not exist has no generation; without one, whoever commits manages its own partitions.
    if (known === undefined && claim.generation >= 0)
      return all(
        claim.version >= EPOCH_VERSION_MIN ? ERROR_CODES.GROUP_ID_NOT_FOUND : ERROR_CODES.ILLEGAL_GENERATION,
      );
    const entry = known ?? this.#coordinator.create(groupId, claim.clientHost);
    if (entry === undefined) return all(ERROR_CODES.POLICY_VIOLATION);
    // The entry stays while this is decided and written, also if it is new and nothing else of it is known.
    entry.recordsInFlight++;
    try {
      return await this.#commitTo(entry, claim, items);
    } finally {
      entry.recordsInFlight--;
      this.#coordinator.forgetIfUnused(entry);
    }
  }

  /** In portions, so that one who commits very much lets others in between; who may commit is asked for each. */
  async #commitTo(entry: GroupEntry, claim: CommitClaim, items: readonly CommitItem[]): Promise<ErrorCode[]> {
    const written: Promise<ErrorCode[]>[] = [];
    for (let start = 0; start === 0 || start < items.length; start += PORTION_ITEMS) {
      if (start > 0) await new Promise((resolve) => setImmediate(resolve));
      written.push(this.#commitPortion(entry, claim, items.slice(start, start + PORTION_ITEMS)));
    }
    return (await Promise.all(written)).flat();
  }

  async #commitPortion(
    entry: GroupEntry,
    claim: CommitClaim,
    items: readonly CommitItem[],
  ): Promise<ErrorCode[]> {
    const fault = this.#claimFault(entry, claim, items);
    if (fault !== ERROR_CODES.NONE) return items.map(() => fault);
    const codes = items.map((item) => this.itemFault(entry, item));
    const taken = items.filter((_item, index) => codes[index] === ERROR_CODES.NONE);
    const records = taken.map((item) =>
      encodeOffset({ ...item, groupId: entry.groupId }, this.offsetOf(item)),
    );
    if (records.length === 0) return codes;
    entry.committing.add(taken);
    const written = await this.#coordinator.store.write(entry, records);
    entry.committing.delete(taken);
    return codes.map((code) => (code === ERROR_CODES.NONE ? written : code));
  }

  #claimFault(entry: GroupEntry, claim: CommitClaim, items: readonly CommitItem[]): ErrorCode {
    const { memberId, generation } = claim;
    if (entry.consumer === undefined)
      return this.#coordinator.act(entry, (group, turn) => checkCommit(group, claim, turn));
    const partitions = items.map(({ topic, partition }) => ({
      topicId: this.#hub.topics.get(topic)?.topicId ?? ZERO_UUID,
      partition,
    }));
    return commitFault(entry.consumer, { memberId, epoch: generation }, claim.version, partitions);
  }

  itemFault({ offsets }: GroupEntry, item: CommitItem): ErrorCode {
    const { topic, partition, metadata } = item;
    // Its topic may have gone while others were committed.
    if (!this.exists(item)) return ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    if (Buffer.byteLength(metadata) > this.#settings.metadataBytesMax)
      return ERROR_CODES.OFFSET_METADATA_TOO_LARGE;
    // Whoever has committed there may go on; nothing is added when there is no room.
    const isNew = offsets.get(topic)?.has(partition) !== true || metadata !== '';
    return isNew && this.#coordinator.store.offsetBytes > this.#settings.heldBytesMax
      ? ERROR_CODES.INVALID_COMMIT_OFFSET_SIZE
      : ERROR_CODES.NONE;
  }

  /** What a member asks for must be asked with its epoch (OffsetFetch v9+); others say neither. */
  fetchFault(groupId: string, memberId: string | null, epoch: number): ErrorCode {
    const group = this.#coordinator.store.get(groupId)?.consumer;
    if (group === undefined || (memberId === null && epoch < 0)) return ERROR_CODES.NONE;
    return fetchFault(group, { memberId: memberId ?? '', epoch });
  }

  /** As it is committed now. */
  offsetOf({ topic, offset, leaderEpoch, metadata }: CommitItem): OffsetToRecord {
    const topicId = this.#hub.topics.get(topic)?.topicId ?? ZERO_UUID;
    return { offset, leaderEpoch, metadata, committedAtMs: this.#hub.clock.now(), topicId };
  }

  /** Undefined when nothing is committed there, or only for an earlier topic of that name. */
  committed(groupId: string, topic: string, partition: number): CommittedOffset | undefined {
    const committed = this.#coordinator.store.get(groupId)?.offsets.get(topic)?.get(partition);
    return committed !== undefined && this.isOfTopicNow(topic, committed) ? committed : undefined;
  }

  /** topic → partition → offset, of topics that exist. */
  all(groupId: string): Map<string, Map<number, CommittedOffset>> {
    const found = new Map<string, Map<number, CommittedOffset>>();
    for (const [topic, partitions] of this.#coordinator.store.get(groupId)?.offsets ?? []) {
      const current = [...partitions].filter(([, committed]) => this.isOfTopicNow(topic, committed));
      if (current.length > 0) found.set(topic, new Map(current));
    }
    return found;
  }

  isOfTopicNow(topic: string, committed: CommittedOffset): boolean {
    const view = this.#hub.topics.get(topic);
    return view !== undefined && (committed.topicId === ZERO_UUID || committed.topicId === view.topicId);
  }

  async #dropTopic(topic: TopicView): Promise<void> {
    for (const entry of [...this.#coordinator.store.entries()]) {
      const partitions = [...(entry.offsets.get(topic.name) ?? [])]
        .filter(([, { topicId }]) => topicId === topic.topicId || topicId === ZERO_UUID)
        .map(([partition]) => partition);
      await this.#erase(entry, topic.name, partitions);
    }
  }

  async #erase(entry: GroupEntry, topic: string, partitions: readonly number[]): Promise<void> {
    if (partitions.length === 0) return;
    const { groupId } = entry;
    const records = partitions.map((partition) => encodeOffset({ groupId, topic, partition }, null));
    // When it is refused, the offsets stay unseen (their topic is gone) and expire with the rest.
    await this.#coordinator.store.write(entry, records);
    this.#coordinator.forgetIfUnused(entry);
  }

  #scheduleExpiry(): void {
    this.#expiryTimer = this.#hub.clock.setTimer(this.#settings.retentionCheckMs, () => {
      void this.#expire().then(() => this.#scheduleExpiry());
    });
  }

  /** Offsets expire only while their group is empty, counted from its last member or the commit (KIP-211). */
  async #expire(): Promise<void> {
    const oldestMs = this.#hub.clock.now() - this.#settings.retentionMs;
    for (const entry of [...this.#coordinator.store.entries()]) {
      for (const [topic, partitions] of [...entry.offsets]) {
        // Looked at anew for each topic: somebody may join while the offsets of another are erased.
        if (hasMembers(entry)) break;
        const emptySinceMs = emptySinceOf(entry);
        const expired = [...partitions]
          .filter(([, { committedAtMs }]) => Math.max(committedAtMs, emptySinceMs) < oldestMs)
          .map(([partition]) => partition);
        await this.#erase(entry, topic, expired);
      }
      await this.#dropGroup(entry);
    }
  }

  /** An empty group without offsets is nothing any more; its id may be used again at any time. */
  async #dropGroup(entry: GroupEntry): Promise<void> {
    const { groupId, group, consumer, offsets } = entry;
    if (this.#coordinator.store.get(groupId) !== entry || hasMembers(entry) || offsets.size > 0) return;
    if (consumer !== undefined) await this.#coordinator.consumers.erase(entry);
    else if (group.isRecorded) await this.#coordinator.store.write(entry, [encodeGroup(groupId, null)]);
    this.#coordinator.forgetIfUnused(entry);
  }
}

/** Or somebody who was given an id and is about to join. */
function hasMembers({ group, consumer }: GroupEntry): boolean {
  if (consumer !== undefined && consumer.members.size > 0) return true;
  return group.state !== 'empty' || group.pendingMembers.size > 0;
}

function emptySinceOf({ group, consumer }: GroupEntry): number {
  if (consumer !== undefined) return consumer.emptySinceMs;
  return group.isRecorded ? group.stateSinceMs : 0;
}
