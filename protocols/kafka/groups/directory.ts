// What the admin API sees of groups. An assignment that does not decode is shown as nothing.

import type { GroupDirectory, GroupMemberView, GroupOffset, GroupView, Topics } from '../../port.ts';
import { type ConsumerGroup, currentOf, groupEpochOf, stateOf } from './consumer/consumer-group.ts';
import { assignorOf } from './consumer/target-assignment.ts';
import { decodeAssignment } from './consumer-protocol.ts';
import type { Group } from './group.ts';
import type { GroupEntry, GroupStore } from './group-store.ts';
import { CONSUMER_PROTOCOL_TYPE } from './group-types.ts';
import type { GroupOffsets } from './offsets.ts';

export function groupDirectory(store: GroupStore, offsets: GroupOffsets, topics: Topics): GroupDirectory {
  return {
    list: () => [...store.entries()].map((entry) => viewOf(entry, topics)),
    get: (groupId) => {
      const entry = store.get(groupId);
      return entry === undefined ? undefined : viewOf(entry, topics);
    },
    offsets: (groupId) => (store.get(groupId) === undefined ? undefined : offsetsOf(offsets, groupId)),
  };
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
