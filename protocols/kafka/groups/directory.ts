// What the admin API sees of groups, and does to them. An assignment that does not decode is shown as nothing.

import type {
  GroupDirectory,
  GroupError,
  GroupMemberView,
  GroupOffset,
  GroupPlace,
  GroupView,
  Topics,
} from '../../port.ts';
import { ERROR_CODES, type ErrorCode, errorName } from '../error-codes.ts';
import { type GroupAdministration, hasMembers } from './administration.ts';
import { type ConsumerGroup, currentOf, groupEpochOf, stateOf } from './consumer/consumer-group.ts';
import { assignorOf } from './consumer/target-assignment.ts';
import { decodeAssignment } from './consumer-protocol.ts';
import type { Group } from './group.ts';
import type { GroupEntry, GroupStore } from './group-store.ts';
import { CONSUMER_PROTOCOL_TYPE } from './group-types.ts';
import type { GroupOffsets } from './offsets.ts';

export interface GroupDirectoryParts {
  readonly store: GroupStore;
  readonly offsets: GroupOffsets;
  readonly administration: GroupAdministration;
  readonly topics: Topics;
}

export function groupDirectory(parts: GroupDirectoryParts): GroupDirectory {
  const { store, offsets, administration, topics } = parts;
  return {
    list: () => [...store.entries()].map((entry) => viewOf(entry, topics)),
    get: (groupId) => {
      const entry = store.get(groupId);
      return entry === undefined ? undefined : viewOf(entry, topics);
    },
    offsets: (groupId) => (store.get(groupId) === undefined ? undefined : offsetsOf(offsets, groupId)),
    delete: async (groupId) => groupError(await administration.deleteGroup(groupId), groupId),
    deleteOffsets: async (groupId, places) => {
      const codes = await administration.deleteOffsets(groupId, places);
      const code = typeof codes === 'number' ? codes : codes.find((each) => each !== ERROR_CODES.NONE);
      return groupError(code ?? ERROR_CODES.NONE, groupId);
    },
    commitOffsets: (groupId, items) => commitOffsets(parts, groupId, items),
  };
}

/** As somebody who manages its partitions itself commits: members would be told nothing of it, so there may be none. */
async function commitOffsets(
  { store, offsets }: GroupDirectoryParts,
  groupId: string,
  items: readonly (GroupPlace & { readonly offset: number })[],
): Promise<undefined | GroupError> {
  const entry = store.get(groupId);
  if (entry !== undefined && hasMembers(entry)) return groupError(ERROR_CODES.NON_EMPTY_GROUP, groupId);
  const claim = { memberId: '', generation: -1, groupInstanceId: null, version: 0, clientHost: '' };
  const commits = items.map((item) => ({ ...item, leaderEpoch: -1, metadata: '' }));
  const codes = await offsets.commit(groupId, claim, commits);
  return groupError(codes.find((code) => code !== ERROR_CODES.NONE) ?? ERROR_CODES.NONE, groupId);
}

/** Undefined when it is none. */
function groupError(code: ErrorCode, groupId: string): GroupError | undefined {
  switch (code) {
    case ERROR_CODES.NONE:
      return undefined;
    case ERROR_CODES.GROUP_ID_NOT_FOUND:
      return { error: 'unknown-group', message: `there is no group ${groupId}` };
    case ERROR_CODES.NON_EMPTY_GROUP:
    // Somebody joined while it was decided.
    case ERROR_CODES.UNKNOWN_MEMBER_ID:
      return { error: 'not-empty', message: `group ${groupId} has members` };
    case ERROR_CODES.GROUP_SUBSCRIBED_TO_TOPIC:
      return { error: 'subscribed', message: `a member of group ${groupId} is subscribed to the topic` };
    case ERROR_CODES.INVALID_COMMIT_OFFSET_SIZE:
      return { error: 'limit', message: 'there is no room for more offsets' };
    case ERROR_CODES.POLICY_VIOLATION:
      return { error: 'limit', message: 'there are as many groups as there may be' };
    case ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION:
      return { error: 'unavailable', message: 'a topic was deleted meanwhile' };
    case ERROR_CODES.NOT_COORDINATOR:
    case ERROR_CODES.COORDINATOR_NOT_AVAILABLE:
    case ERROR_CODES.COORDINATOR_LOAD_IN_PROGRESS:
      return { error: 'unavailable', message: `group ${groupId} is not served now` };
    default:
      return { error: 'storage', message: `group ${groupId} was not changed: ${errorName(code)}` };
  }
}

function offsetsOf(offsets: GroupOffsets, groupId: string): GroupOffset[] {
  const views: GroupOffset[] = [];
  for (const [topic, partitions] of offsets.all(groupId)) {
    for (const [partition, { offset, leaderEpoch, metadata, committedAtMs }] of partitions)
      views.push({ topic, partition, committed: offset, leaderEpoch, metadata, committedAtMs });
  }
  return views.sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1));
}

function viewOf({ group, consumer }: GroupEntry, topics: Topics): GroupView {
  return consumer === undefined ? classicView(group) : consumerView(consumer, topics);
}

/** The epoch is what the generation is to the classic protocol, the assignor what its protocol is. */
function consumerView(group: ConsumerGroup, topics: Topics): GroupView {
  return {
    groupId: group.groupId,
    state: stateOf(group),
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocol: assignorOf(group),
    generation: groupEpochOf(group),
    members: [...group.members.values()].map(({ memberId, instanceId, clientId, clientHost }) => ({
      ...{ memberId, groupInstanceId: instanceId, clientId, clientHost: clientHost.replace(/^\//, '') },
      assignment: [...currentOf(group, memberId).assigned].flatMap(([topicId, partitions]) => {
        const topic = topics.getById(topicId)?.name;
        return topic === undefined ? [] : [{ topic, partitions }];
      }),
    })),
  };
}

function classicView(group: Group): GroupView {
  return {
    groupId: group.groupId,
    state: group.state,
    protocolType: group.protocolType ?? '',
    protocol: group.protocolName,
    generation: group.generation,
    members: [...group.members.values()].map(
      ({ memberId, groupInstanceId, clientId, clientHost, assignment }): GroupMemberView => ({
        memberId,
        groupInstanceId,
        clientId,
        clientHost: clientHost.replace(/^\//, ''),
        assignment: group.protocolType === CONSUMER_PROTOCOL_TYPE ? (decodeAssignment(assignment) ?? []) : [],
      }),
    ),
  };
}
