// Committed offsets: checked, written, and applied from the log before the answer. A commit that is not on disk
// is a failed commit. Offsets belong to a topic's id: a topic made again under the same name starts without any.

import type { Hub, StateRecord, Timer, TopicView } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { ZERO_UUID } from '../wire/reader.ts';
import type { GroupCoordinator } from './coordinator.ts';
import type { Group } from './group.ts';
import type { GroupEntry } from './group-store.ts';
import { checkCommit, type MemberClaim } from './membership.ts';
import { type CommittedOffset, encodeGroup, encodeOffset } from './state-records.ts';

export interface OffsetSettings {
  /** Longest text that may be kept with an offset, in bytes. */
  readonly metadataBytesMax: number;
  /** How long offsets outlive the last member of their group. */
  readonly retentionMs: number;
  readonly retentionCheckMs: number;
}

/** First version of OffsetCommit that members of the consumer protocol speak (KIP-848). */
export const EPOCH_VERSION_MIN = 9;

export interface CommitClaim extends MemberClaim {
  /** Of OffsetCommit. */
  readonly version: number;
}

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

  /** One code per item, in order; what is refused does not keep the rest from being committed. */
  async commit(groupId: string, claim: CommitClaim, items: readonly CommitItem[]): Promise<ErrorCode[]> {
    const all = (code: ErrorCode): ErrorCode[] => items.map(() => code);
    const availability = this.#coordinator.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return all(availability);
    const known = this.#coordinator.store.get(groupId);
    // A group that does not exist has no generation; without one, whoever commits manages its own partitions.
    if (known === undefined && claim.generation >= 0)
      return all(
        claim.version >= EPOCH_VERSION_MIN ? ERROR_CODES.GROUP_ID_NOT_FOUND : ERROR_CODES.ILLEGAL_GENERATION,
      );
    const entry = known ?? this.#coordinator.create(groupId);
    if (entry === undefined) return all(ERROR_CODES.POLICY_VIOLATION);
    const fault = this.#coordinator.act(entry, (group, turn) => checkCommit(group, claim, turn));
    if (fault !== ERROR_CODES.NONE) return all(fault);

    const codes = items.map((item) => this.#itemFault(item));
    const records = items
      .filter((_item, index) => codes[index] === ERROR_CODES.NONE)
      .map((item) => this.#recordOf(groupId, item));
    if (records.length === 0) return codes;
    const written = await this.#coordinator.store.write(entry, records);
    this.#coordinator.forgetIfUnused(entry);
    return codes.map((code) => (code === ERROR_CODES.NONE ? written : code));
  }

  #itemFault({ topic, partition, metadata }: CommitItem): ErrorCode {
    if (this.#hub.topics.partition(topic, partition) === undefined)
      return ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION;
    return Buffer.byteLength(metadata) > this.#settings.metadataBytesMax
      ? ERROR_CODES.OFFSET_METADATA_TOO_LARGE
      : ERROR_CODES.NONE;
  }

  #recordOf(groupId: string, item: CommitItem): StateRecord {
    const { topic, partition, offset, leaderEpoch, metadata } = item;
    const topicId = this.#hub.topics.get(topic)?.topicId ?? ZERO_UUID;
    const committedAtMs = this.#hub.clock.now();
    return encodeOffset(
      { groupId, topic, partition },
      { offset, leaderEpoch, metadata, committedAtMs, topicId },
    );
  }

  /** Undefined when nothing is committed there, or only for an earlier topic of that name. */
  committed(groupId: string, topic: string, partition: number): CommittedOffset | undefined {
    const committed = this.#coordinator.store.get(groupId)?.offsets.get(topic)?.get(partition);
    return committed !== undefined && this.#isOfTopicNow(topic, committed) ? committed : undefined;
  }

  /** topic → partition → offset, of topics that exist. */
  all(groupId: string): Map<string, Map<number, CommittedOffset>> {
    const found = new Map<string, Map<number, CommittedOffset>>();
    for (const [topic, partitions] of this.#coordinator.store.get(groupId)?.offsets ?? []) {
      const current = [...partitions].filter(([, committed]) => this.#isOfTopicNow(topic, committed));
      if (current.length > 0) found.set(topic, new Map(current));
    }
    return found;
  }

  #isOfTopicNow(topic: string, committed: CommittedOffset): boolean {
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
    const { groupId } = entry.group;
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
      const { group, offsets } = entry;
      const emptySinceMs = group.isRecorded ? group.stateSinceMs : 0;
      for (const [topic, partitions] of [...offsets]) {
        // Looked at anew for each topic: somebody may join while the offsets of another are erased.
        if (hasMembers(group)) break;
        const expired = [...partitions]
          .filter(([, { committedAtMs }]) => Math.max(committedAtMs, emptySinceMs) < oldestMs)
          .map(([partition]) => partition);
        await this.#erase(entry, topic, expired);
      }
      await this.#dropGroup(entry);
    }
  }

  /** An empty group without offsets is nothing any more; its id may be used again at any time. */
  async #dropGroup({ group, offsets }: GroupEntry): Promise<void> {
    const entry = this.#coordinator.store.get(group.groupId);
    if (entry?.group !== group || hasMembers(group) || offsets.size > 0 || !group.isRecorded) return;
    await this.#coordinator.store.write(entry, [encodeGroup(group.groupId, null)]);
  }
}

/** Or somebody who was given an id and is about to join. */
function hasMembers(group: Group): boolean {
  return group.state !== 'empty' || group.pendingMembers.size > 0;
}
