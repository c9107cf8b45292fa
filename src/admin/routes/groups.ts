// GET /api/v1/groups, GET /api/v1/groups/{group}/offsets: who consumes, how far they are and how far behind. Groups
// without members are shown too: their offsets are what an operator looks for.
import * as z from 'zod';
import type { GroupMemberView, GroupOffset, GroupView, Topics } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const stateShape = z.enum([
  'empty',
  'preparing-rebalance',
  'completing-rebalance',
  'assigning',
  'reconciling',
  'stable',
  'dead',
]);

const groupShape = z.strictObject({
  groupId: z.string(),
  state: stateShape,
  protocolType: z.string(),
  protocol: z.string().nullable(),
  generation: z.int(),
  members: count,
});

const partitionShape = z.strictObject({
  topic: z.string(),
  partition: count,
  committed: count
    .nullable()
    .meta({ description: 'Next offset the group will read; null when none was committed.' }),
  logEnd: count
    .nullable()
    .meta({ description: 'Where readers see the end of the log; null when the topic is gone.' }),
  lag: count.nullable().meta({ description: 'Records from `committed` to `logEnd`; null without either.' }),
  metadata: z.string().nullable(),
  leaderEpoch: z.int().nullable(),
  committedAtMs: milliseconds.nullable(),
  memberId: z.string().nullable().meta({ description: 'Of the member that the partition is assigned to.' }),
  clientId: z.string().nullable(),
  host: z.string().nullable(),
});

const groupOffsetsShape = z.strictObject({
  groupId: z.string(),
  state: stateShape,
  partitions: z.array(partitionShape),
});

type PartitionItem = z.output<typeof partitionShape>;

export function groupRoutes(server: HttpServer, target: AdminTarget): void {
  const { hub } = target;

  server.get('/api/v1/groups', {
    config: { role: 'viewer' },
    schema: {
      summary: 'Consumer groups by id.',
      tags: ['groups'],
      querystring: pageQuery,
      response: { 200: pageOf(groupShape), ...errorResponses },
    },
    handler: (request) => {
      const visible = target.groups
        .list()
        .filter(({ groupId }) => hub.access.allows(request.principal, 'describe', 'group', groupId))
        .sort((left, right) => (left.groupId < right.groupId ? -1 : 1));
      const page = pageFrom(visible, ({ groupId }) => groupId, request.query);
      return { items: page.items.map(groupItem), next: page.next };
    },
  });

  server.get('/api/v1/groups/:group/offsets', {
    config: { role: 'viewer' },
    schema: {
      summary: 'Committed offsets and lag of a group, with the member that owns each partition.',
      tags: ['groups'],
      params: z.strictObject({ group: z.string() }),
      response: { 200: groupOffsetsShape, ...errorResponses },
    },
    handler: (request) => {
      const groupId = request.params.group;
      requireAccess(hub.access, request.principal, 'describe', 'group', groupId);
      const group = target.groups.get(groupId);
      if (!group) throw new AdminError('not_found', `there is no group ${groupId}`, { field: 'group' });
      const partitions = partitionItems(target.groups.offsets(groupId) ?? [], group.members, hub.topics);
      return { groupId, state: group.state, partitions };
    },
  });
}

function groupItem({ groupId, state, protocolType, protocol, generation, members }: GroupView) {
  return { groupId, state, protocolType, protocol, generation, members: members.length };
}

/** Partitions with a commit and partitions that a member has, by topic and number. */
function partitionItems(
  offsets: readonly GroupOffset[],
  members: readonly GroupMemberView[],
  topics: Topics,
): PartitionItem[] {
  const commits = new Map(offsets.map((offset) => [partitionKey(offset.topic, offset.partition), offset]));
  const owners = ownersByPartition(members);
  const keys = new Set([...commits.keys(), ...owners.keys()]);
  return [...keys]
    .map((key) => partitionItem(commits.get(key), owners.get(key), topics))
    .sort((left, right) =>
      left.topic === right.topic ? left.partition - right.partition : left.topic < right.topic ? -1 : 1,
    );
}

interface Owner {
  readonly topic: string;
  readonly partition: number;
  readonly member: GroupMemberView;
}

function ownersByPartition(members: readonly GroupMemberView[]): Map<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const member of members) {
    for (const { topic, partitions } of member.assignment) {
      for (const partition of partitions)
        owners.set(partitionKey(topic, partition), { topic, partition, member });
    }
  }
  return owners;
}

function partitionItem(
  commit: GroupOffset | undefined,
  owner: Owner | undefined,
  topics: Topics,
): PartitionItem {
  const { topic, partition } = commit ?? owner!;
  const committed = commit !== undefined && commit.committed >= 0 ? commit.committed : null;
  const logEnd = topics.partition(topic, partition)?.highWatermark ?? null;
  return {
    topic,
    partition,
    committed,
    logEnd,
    // A topic that was made again may end before the old commit: that is no negative lag.
    lag: committed === null || logEnd === null ? null : Math.max(0, logEnd - committed),
    metadata: commit?.metadata ?? null,
    leaderEpoch: commit !== undefined && commit.leaderEpoch >= 0 ? commit.leaderEpoch : null,
    committedAtMs: commit?.committedAtMs ?? null,
    memberId: owner?.member.memberId ?? null,
    clientId: owner?.member.clientId ?? null,
    host: owner?.member.clientHost ?? null,
  };
}

function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
