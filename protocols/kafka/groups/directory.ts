// What the admin API sees of groups. Assignments are the consumer protocol's bytes, which any client may have
// written: they are read defensively, and what does not decode is shown as nothing.

import type { GroupDirectory, GroupMemberView, GroupOffset, GroupView } from '../../port.ts';
import { WireError } from '../wire/errors.ts';
import { array, bytes, int32, string } from '../wire/fields.ts';
import { message } from '../wire/message.ts';
import { WireReader } from '../wire/reader.ts';
import type { Group } from './group.ts';
import type { GroupStore } from './group-store.ts';
import type { GroupOffsets } from './offsets.ts';

const ConsumerAssignment = message(
  'ConsumerProtocolAssignment',
  { versions: [0, 3] },
  {
    assignedPartitions: array({ topic: string(), partitions: array(int32()) }),
    userData: bytes({ nullable: '0+', default: null }),
  },
);

export function groupDirectory(store: GroupStore, offsets: GroupOffsets): GroupDirectory {
  return {
    list: () => [...store.entries()].map(({ group }) => viewOf(group)),
    get: (groupId) => {
      const entry = store.get(groupId);
      return entry === undefined ? undefined : viewOf(entry.group);
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

function viewOf(group: Group): GroupView {
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
        assignment: group.protocolType === 'consumer' ? assignedPartitions(assignment) : [],
      }),
    ),
  };
}

/** An int16 version, then the assignment; versions beyond the known ones only add fields at the end. */
function assignedPartitions(assignment: Buffer): GroupMemberView['assignment'] {
  try {
    const reader = new WireReader(assignment);
    const version = Math.min(ConsumerAssignment.versionMax, Math.max(0, reader.int16()));
    return ConsumerAssignment.read(reader, version).assignedPartitions;
  } catch (error) {
    if (error instanceof WireError) return [];
    throw error;
  }
}
