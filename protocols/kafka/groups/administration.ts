// What administrators ask of groups: the list, one group described, groups and offsets deleted. A group is deleted
// by tombstones of its offsets and of itself, in one batch; who joins while that is written has joined a new group.

import type { StateRecord } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { type ConsumerGroup, stateOf } from './consumer/consumer-group.ts';
import { topicNamesOf } from './consumer/target-assignment.ts';
import { decodeSubscription } from './consumer-protocol.ts';
import type { GroupCoordinator } from './coordinator.ts';
import { type Group, metadataOf } from './group.ts';
import type { GroupEntry } from './group-store.ts';
import {
  CLASSIC_STATE_NAMES,
  CONSUMER_PROTOCOL_TYPE,
  CONSUMER_STATE_NAMES,
  type GroupType,
} from './group-types.ts';
import { encodeGroup, encodeOffset, encodePendingOffset } from './state-records.ts';

export interface ListedGroup {
  readonly groupId: string;
  readonly protocolType: string;
  readonly groupState: string;
  readonly groupType: GroupType;
}

export function listedGroup({ groupId, group, consumer }: GroupEntry): ListedGroup {
  if (consumer !== undefined)
    return {
      groupId,
      protocolType: CONSUMER_PROTOCOL_TYPE,
      groupState: CONSUMER_STATE_NAMES[stateOf(consumer)],
      groupType: 'consumer',
    };
  return {
    groupId,
    protocolType: group.protocolType ?? '',
    groupState: CLASSIC_STATE_NAMES[group.state],
    groupType: 'classic',
  };
}

export interface PartitionToDelete {
  readonly topic: string;
  readonly partition: number;
}

export class GroupAdministration {
  readonly #coordinator: GroupCoordinator;

  constructor(coordinator: GroupCoordinator) {
    this.#coordinator = coordinator;
  }

  /** 69 when there is no such group, 68 when it has members, else what the log says. */
  async deleteGroup(groupId: string): Promise<ErrorCode> {
    const availability = this.#coordinator.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    const entry = this.#coordinator.store.get(groupId);
    if (entry === undefined || entry.group.state === 'dead') return ERROR_CODES.GROUP_ID_NOT_FOUND;
    if (hasMembers(entry)) return ERROR_CODES.NON_EMPTY_GROUP;
    const records: StateRecord[] = offsetTombstones(entry);
    if (entry.consumer !== undefined) {
      const code = await this.#coordinator.consumers.erase(entry, records);
      this.#coordinator.forgetIfUnused(entry);
      return code;
    }
    // A record on its way comes before the tombstone.
    if (entry.group.isRecorded || entry.recordsInFlight > 0) records.push(encodeGroup(groupId, null));
    // Nothing of it is written: what there is is somebody's pending id.
    if (records.length === 0) return ERROR_CODES.NONE;
    return this.#write(entry, records);
  }

  /**
   * Deletes offsets: a code for the request, or one per partition in order. What a member of the group is
   * subscribed to stays (86, KIP-496).
   */
  async deleteOffsets(
    groupId: string,
    partitions: readonly PartitionToDelete[],
  ): Promise<ErrorCode | ErrorCode[]> {
    const availability = this.#coordinator.availability(groupId);
    if (availability !== ERROR_CODES.NONE) return availability;
    const entry = this.#coordinator.store.get(groupId);
    if (entry === undefined || entry.group.state === 'dead') return ERROR_CODES.GROUP_ID_NOT_FOUND;
    const { group, consumer, offsets } = entry;
    // What members of another protocol type read is not for us to know.
    if (group.state !== 'empty' && group.protocolType !== CONSUMER_PROTOCOL_TYPE)
      return ERROR_CODES.NON_EMPTY_GROUP;
    const isSubscribed = consumer === undefined ? subscriptionOf(group) : consumerSubscriptionOf(consumer);
    const codes = partitions.map(({ topic }) =>
      isSubscribed(topic) ? ERROR_CODES.GROUP_SUBSCRIBED_TO_TOPIC : ERROR_CODES.NONE,
    );
    const records = partitions
      .filter(({ topic }) => !isSubscribed(topic))
      .flatMap((place) => [
        ...(offsets.get(place.topic)?.has(place.partition)
          ? [encodeOffset({ groupId, ...place }, null)]
          : []),
        ...pendingTombstones(
          entry,
          (topic, partition) => topic === place.topic && partition === place.partition,
        ),
      ]);
    if (records.length === 0) return codes;
    const written = await this.#write(entry, records);
    return codes.map((code) => (code === ERROR_CODES.NONE ? written : code));
  }

  async #write(entry: GroupEntry, records: readonly StateRecord[]): Promise<ErrorCode> {
    const written = await this.#coordinator.store.write(entry, records);
    this.#coordinator.forgetIfUnused(entry);
    return written;
  }
}

export function hasMembers({ group, consumer }: GroupEntry): boolean {
  return group.state !== 'empty' || (consumer !== undefined && consumer.members.size > 0);
}

/** Those of transactions that have not ended are deleted too. */
function offsetTombstones(entry: GroupEntry): StateRecord[] {
  const { groupId, offsets } = entry;
  const committed = [...offsets].flatMap(([topic, partitions]) =>
    [...partitions.keys()].map((partition) => encodeOffset({ groupId, topic, partition }, null)),
  );
  return [...committed, ...pendingTombstones(entry, () => true)];
}

function pendingTombstones(
  { groupId, pending }: GroupEntry,
  isMeant: (topic: string, partition: number) => boolean,
): StateRecord[] {
  return [...pending].flatMap(([producerId, topics]) =>
    [...topics].flatMap(([topic, partitions]) =>
      [...partitions.keys()]
        .filter((partition) => isMeant(topic, partition))
        .map((partition) => encodePendingOffset({ groupId, producerId, topic, partition }, null)),
    ),
  );
}

function consumerSubscriptionOf(group: ConsumerGroup): (topic: string) => boolean {
  const topics = new Set([...group.members.values()].flatMap((member) => topicNamesOf(group, member)));
  return (topic) => topics.has(topic);
}

/** Members whose subscription cannot be read may be subscribed to anything. */
function subscriptionOf(group: Group): (topic: string) => boolean {
  const topics = new Set<string>();
  for (const member of group.members.values()) {
    // Between two rounds there is no chosen protocol: any of a member's says what it wants.
    const metadata = member.protocols.map(({ name }) => metadataOf(member, group.protocolName ?? name));
    const read = metadata.map(decodeSubscription);
    if (read.length === 0 || read.includes(undefined)) return () => true;
    for (const subscription of read) for (const topic of subscription?.topics ?? []) topics.add(topic);
  }
  return (topic) => topics.has(topic);
}
