// GET /api/v1/groups, GET·DELETE /api/v1/groups/{group}: who consumes.
import * as z from 'zod';
import type { GroupMemberView, GroupView } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { groupError, knownGroup } from '../group-errors.ts';
import { groupStateShape } from '../group-shapes.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const headShape = z.strictObject({
  groupId: z.string(),
  state: groupStateShape,
  protocolType: z.string(),
  protocol: z.string().nullable(),
  generation: z.int(),
});

const groupItemShape = z
  .strictObject({ ...headShape.shape, members: count })
  .meta({ id: 'GroupSummary', description: 'A consumer group.' });

const groupPage = pageOf(groupItemShape, 'GroupPage', 'A page of groups, by id.');

const memberShape = z
  .strictObject({
    memberId: z.string(),
    instanceId: z.string().nullable(),
    clientId: z.string(),
    host: z.string(),
    partitions: z
      .array(z.strictObject({ topic: z.string(), partitions: z.array(count) }))
      .meta({ description: 'That are assigned to it.' }),
  })
  .meta({ id: 'GroupMember', description: 'A consumer of a group.' });

const groupShape = z
  .strictObject({
    ...headShape.shape,
    coordinator: z.int().meta({ description: 'Id of the node that coordinates it.' }),
    members: z.array(memberShape),
  })
  .meta({ id: 'Group', description: 'A group with its members.' });

const params = z.strictObject({ group: z.string() });

export function groupRoutes(server: HttpServer, target: AdminTarget): void {
  const { hub } = target;

  server.get('/api/v1/groups', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'listGroups',
      summary: 'Consumer groups by id.',
      tags: ['groups'],
      querystring: pageQuery,
      response: { 200: groupPage, ...errorResponses },
    },
    handler: (request) => {
      const visible = target.groups
        .list()
        .filter(({ groupId }) => hub.access.allows(request.principal, 'describe', 'group', groupId))
        .sort((left, right) => (left.groupId < right.groupId ? -1 : 1));
      const page = pageFrom(visible, ({ groupId }) => groupId, request.query);
      const items = page.items.map((group) => ({ ...headOf(group), members: group.members.length }));
      return { items, next: page.next };
    },
  });

  server.get('/api/v1/groups/:group', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getGroup',
      summary: 'One group with its members and what is assigned to them.',
      tags: ['groups'],
      params,
      response: { 200: groupShape, ...errorResponses },
    },
    handler: (request) => {
      const groupId = request.params.group;
      requireAccess(hub.access, request.principal, 'describe', 'group', groupId);
      const group = knownGroup(target.groups, groupId);
      const coordinator = hub.cluster.coordinatorOf('group', groupId);
      return { ...headOf(group), coordinator, members: group.members.map(memberItem) };
    },
  });

  server.delete('/api/v1/groups/:group', {
    config: { role: 'operator', refuses: ['not_found', 'group_not_empty', 'storage', 'not_ready'] },
    schema: {
      operationId: 'deleteGroup',
      summary: 'Deletes a group without members, and its offsets.',
      tags: ['groups'],
      params,
      response: { 204: z.null().meta({ description: 'It is gone.' }), ...errorResponses },
    },
    handler: async (request, reply) => {
      const groupId = request.params.group;
      requireAccess(hub.access, request.principal, 'delete', 'group', groupId);
      const problem = await target.groups.delete(groupId);
      if (problem !== undefined) throw groupError(problem);
      reply.code(204);
      return null;
    },
  });
}

function headOf({ groupId, state, protocolType, protocol, generation }: GroupView) {
  return { groupId, state, protocolType, protocol, generation };
}

function memberItem(member: GroupMemberView): z.output<typeof memberShape> {
  const { memberId, groupInstanceId: instanceId, clientId, clientHost: host, assignment } = member;
  const partitions = assignment.map(({ topic, partitions }) => ({ topic, partitions: [...partitions] }));
  return { memberId, instanceId, clientId, host, partitions };
}
