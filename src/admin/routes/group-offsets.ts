// GET /api/v1/groups/{group}/offsets, POST …/offsets:reset, DELETE …/offsets/{topic}: how far a group is and how far behind,
// and where it is to go on. Groups without members are shown too: their offsets are what an operator looks for.
import * as z from 'zod';
import type { GroupMemberView, GroupOffset, GroupPlace, Partition, Topics } from '../../../protocols/port.ts';
import { mapConcurrently } from '../../hub/concurrently.ts';
import { requireAccess } from '../access.ts';
import { type ConsumedPartition, consumedPartitionShape } from '../consumed-partition.ts';
import { AdminError } from '../errors.ts';
import { groupError, knownGroup } from '../group-errors.ts';
import { groupStateShape } from '../group-shapes.ts';
import type { HttpServer } from '../http-server.ts';
import { parseResetTarget, RESET_FORMS, type ResetTarget, targetOffset } from '../reset-target.ts';
import { count, errorResponses, topicParam } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';
import { knownPartition, knownTopic } from '../topic-errors.ts';

const PARTITIONS_MAX = 10_000;
const LOOKUPS_AT_ONCE = 32;
/** Kafka's limit of a string. */
const GROUP_ID_BYTES_MAX = 32_767;

const groupParams = z.strictObject({ group: z.string() });

const groupOffsetsShape = z
  .strictObject({
    groupId: z.string(),
    state: groupStateShape,
    partitions: z.array(consumedPartitionShape),
  })
  .meta({ id: 'GroupOffsets', description: 'How far a group is in each partition.' });

const placeShape = z.strictObject({ topic: topicParam, partition: count });

const resetBody = z
  .strictObject({
    to: z.string().max(256).meta({ description: RESET_FORMS }),
    topics: z.array(topicParam).min(1).max(PARTITIONS_MAX).optional().meta({
      description: 'All partitions of these. Neither these nor partitions: all that the group has committed.',
    }),
    partitions: z.array(placeShape).min(1).max(PARTITIONS_MAX).optional(),
    dryRun: z.boolean().optional().meta({ description: 'Says what would come of it, and changes nothing.' }),
  })
  .meta({
    id: 'OffsetReset',
    description: 'Where a group is to go on.',
    examples: [{ to: 'time:-1h', topics: ['telemetry'], dryRun: true }],
  });

const resetShape = z
  .strictObject({
    groupId: z.string(),
    dryRun: z.boolean(),
    partitions: z.array(
      z.strictObject({
        topic: z.string(),
        partition: count,
        before: count.nullable().meta({ description: 'Null when none was committed.' }),
        after: count.nullable().meta({ description: 'Null when there is nothing to shift.' }),
      }),
    ),
  })
  .meta({
    id: 'OffsetResetResult',
    description: 'Where a group goes on, or would.',
    examples: [
      {
        groupId: 'billing',
        dryRun: true,
        partitions: [{ topic: 'telemetry', partition: 0, before: 700, after: 650 }],
      },
    ],
  });

type ResetItem = z.output<typeof resetShape>['partitions'][number];

export function groupOffsetRoutes(server: HttpServer, target: AdminTarget): void {
  const { hub } = target;

  server.get('/api/v1/groups/:group/offsets', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getGroupOffsets',
      summary: 'Committed offsets and lag of a group, with the member that owns each partition.',
      tags: ['groups'],
      params: groupParams,
      response: { 200: groupOffsetsShape, ...errorResponses },
    },
    handler: (request) => {
      const groupId = request.params.group;
      requireAccess(hub.access, request.principal, 'describe', 'group', groupId);
      const { state, members } = knownGroup(target.groups, groupId);
      return {
        groupId,
        state,
        partitions: partitionItems(target.groups.offsets(groupId) ?? [], members, hub.topics),
      };
    },
  });

  server.post('/api/v1/groups/:group/offsets::reset', {
    config: {
      role: 'operator',
      refuses: ['not_found', 'group_not_empty', 'limit_reached', 'storage', 'not_ready'],
    },
    schema: {
      operationId: 'resetGroupOffsets',
      summary:
        'Sets where a group without members goes on. Offsets that are not there become the nearest ones.',
      tags: ['groups'],
      params: groupParams,
      body: resetBody,
      response: { 200: resetShape, ...errorResponses },
    },
    handler: async (request) => {
      const groupId = request.params.group;
      const { to, dryRun = false } = request.body;
      requireAccess(hub.access, request.principal, 'alter', 'group', groupId);
      const reset = readResetTarget(to, hub.clock.now());
      if (Buffer.byteLength(groupId) > GROUP_ID_BYTES_MAX)
        throw new AdminError('invalid_request', 'the group id is too long', { field: 'group' });
      // As with Kafka's own tool a group may be given a place before anybody joins it.
      const isNew = target.groups.get(groupId) === undefined && isChosen(request.body);
      if (!isNew && knownGroup(target.groups, groupId).members.length > 0)
        throw groupError({ error: 'not-empty', message: `group ${groupId} has members` });
      const committed = committedBy(target.groups.offsets(groupId) ?? []);
      const partitions = chosenOf(request.body, committed, hub.topics);
      for (const topic of new Set(partitions.map((each) => each.topic)))
        requireAccess(hub.access, request.principal, 'read', 'topic', topic);
      const items = await mapConcurrently(partitions, LOOKUPS_AT_ONCE, (partition) =>
        resetItem(partition, reset, committed.get(placeKey(partition))),
      );
      const offsets = items.flatMap(({ topic, partition, after }) =>
        after === null ? [] : [{ topic, partition, offset: after }],
      );
      const problem =
        dryRun || offsets.length === 0 ? undefined : await target.groups.commitOffsets(groupId, offsets);
      if (problem !== undefined) throw groupError(problem);
      return { groupId, dryRun, partitions: items };
    },
  });

  server.delete('/api/v1/groups/:group/offsets/:topic', {
    config: {
      role: 'operator',
      refuses: ['not_found', 'group_not_empty', 'group_subscribed', 'storage', 'not_ready'],
    },
    schema: {
      operationId: 'deleteGroupOffsets',
      summary: 'Deletes what a group has committed of a topic, unless a member is subscribed to it.',
      tags: ['groups'],
      params: z.strictObject({ group: z.string(), topic: topicParam }),
      response: { 204: z.null().meta({ description: 'They are gone.' }), ...errorResponses },
    },
    handler: async (request, reply) => {
      const { group: groupId, topic } = request.params;
      requireAccess(hub.access, request.principal, 'delete', 'group', groupId);
      knownGroup(target.groups, groupId);
      const places = (target.groups.offsets(groupId) ?? []).filter((each) => each.topic === topic);
      if (places.length === 0) {
        const message = `group ${groupId} has committed nothing of ${topic}`;
        throw new AdminError('not_found', message, { field: 'topic' });
      }
      const problem = await target.groups.deleteOffsets(groupId, places);
      if (problem !== undefined) throw groupError(problem);
      reply.code(204);
      return null;
    },
  });
}

function isChosen({ topics, partitions }: z.output<typeof resetBody>): boolean {
  return topics !== undefined || partitions !== undefined;
}

function readResetTarget(to: string, nowMs: number): ResetTarget {
  const target = parseResetTarget(to, nowMs);
  if ('message' in target)
    throw new AdminError('invalid_request', `to: ${target.message}`, { field: 'to', hint: target.hint });
  return target;
}

function committedBy(offsets: readonly GroupOffset[]): Map<string, number> {
  return new Map(offsets.map((each) => [placeKey(each), each.committed]));
}

/** @throws AdminError not_found */
function chosenOf(
  body: z.output<typeof resetBody>,
  committed: ReadonlyMap<string, number>,
  topics: Topics,
): Partition[] {
  const places: GroupPlace[] = [...(body.partitions ?? [])];
  for (const name of body.topics ?? []) places.push(...knownTopic(topics, name).partitions);
  if (body.partitions === undefined && body.topics === undefined) {
    for (const key of committed.keys()) places.push(placeOf(key));
  }
  const chosen = new Map(places.map((place) => [placeKey(place), place]));
  if (chosen.size > PARTITIONS_MAX) {
    const message = `${chosen.size} partitions are too many, at most ${PARTITIONS_MAX}`;
    throw new AdminError('invalid_request', message, { field: 'topics', hint: 'name fewer at a time' });
  }
  return [...chosen.values()].map(({ topic, partition }) =>
    knownPartition(knownTopic(topics, topic), partition),
  );
}

async function resetItem(
  partition: Partition,
  target: ResetTarget,
  before: number | undefined,
): Promise<ResetItem> {
  try {
    const after = await targetOffset(partition, target, before);
    const { topic, partition: number } = partition;
    return { topic, partition: number, before: before ?? null, after: after ?? null };
  } catch (error) {
    const message = `partition ${partition.partition} of ${partition.topic} cannot be read`;
    throw new AdminError('storage', message, { field: 'to', cause: error });
  }
}

/** Partitions with a commit and partitions that a member has, by topic and number. */
function partitionItems(
  offsets: readonly GroupOffset[],
  members: readonly GroupMemberView[],
  topics: Topics,
): ConsumedPartition[] {
  const commits = new Map(offsets.map((offset) => [placeKey(offset), offset]));
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
        owners.set(placeKey({ topic, partition }), { topic, partition, member });
    }
  }
  return owners;
}

function partitionItem(
  commit: GroupOffset | undefined,
  owner: Owner | undefined,
  topics: Topics,
): ConsumedPartition {
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

/** A topic's name holds no slash. */
function placeKey({ topic, partition }: GroupPlace): string {
  return `${topic}/${partition}`;
}

function placeOf(key: string): GroupPlace {
  const slash = key.lastIndexOf('/');
  return { topic: key.slice(0, slash), partition: Number(key.slice(slash + 1)) };
}
