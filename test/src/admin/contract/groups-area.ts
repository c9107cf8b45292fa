// Calls of the contract test: consumer groups and their offsets.
import { type Area, pagedWrong, refused } from './area.ts';

const PATH = '/api/v1/groups';
const reset = (group: string, body: unknown) => ({ path: `${PATH}/${group}/offsets:reset`, body });

export const groupsArea: Area = {
  prepare: async (admin) => {
    await admin.hub.topics.create({ name: 'read', partitions: 2, replicationFactor: 1, config: {} });
    await admin.append('read', 0, [{ value: 'a' }, { value: 'b' }]);
    for (const group of ['g', 'g/h ü', 'to-delete', 'busy']) await admin.commit(group, 'read', 0, 1);
    await admin.join('busy', 'read');
  },
  routes: {
    [`GET ${PATH}`]: { right: [PATH, `${PATH}?limit=1`, `${PATH}?search=G`], wrong: pagedWrong(PATH) },
    [`GET ${PATH}/{group}`]: {
      right: [`${PATH}/g`, `${PATH}/busy`, `${PATH}/g%2Fh%20%C3%BC`],
      wrong: [
        refused(`${PATH}/none`, 404, 'not_found', 'group'),
        refused(`${PATH}/hidden`, 403, 'forbidden'),
      ],
    },
    [`GET ${PATH}/{group}/offsets`]: {
      right: [`${PATH}/g/offsets`, `${PATH}/g%2Fh%20%C3%BC/offsets`, `${PATH}/busy/offsets`],
      wrong: [
        refused(`${PATH}/none/offsets`, 404, 'not_found', 'group'),
        refused(`${PATH}/hidden/offsets`, 403, 'forbidden'),
        refused(`${PATH}/${'x'.repeat(32_767)}/offsets`, 404, 'not_found', 'group'),
      ],
    },
    [`POST ${PATH}/{group}/offsets:reset`]: {
      right: [
        reset('g', { to: 'earliest', dryRun: true }),
        reset('g', { to: 'latest' }),
        reset('made-by-reset', { to: 'latest', topics: ['read'] }),
        reset('g', { to: 'shift:-1', topics: ['read'] }),
        reset('g', { to: 'time:-1h', partitions: [{ topic: 'read', partition: 1 }] }),
        reset('g%2Fh%20%C3%BC', { to: 'offset:9007199254740991' }),
      ],
      wrong: [
        { ...reset('none', { to: 'earliest' }), refused: [404, 'not_found', 'group'] },
        { ...reset('hidden', { to: 'earliest' }), refused: [403, 'forbidden'] },
        {
          ...reset('x'.repeat(32_768), { to: 'latest', topics: ['read'] }),
          refused: [400, 'invalid_request', 'group'],
        },
        { ...reset('busy', { to: 'earliest' }), refused: [409, 'group_not_empty', 'group'] },
        { ...reset('g', { to: 'yesterday' }), refused: [400, 'invalid_request', 'to'] },
        { ...reset('g', { to: 'time:1764000000' }), refused: [400, 'invalid_request', 'to'] },
        { ...reset('g', { to: 'offset:-1' }), refused: [400, 'invalid_request', 'to'] },
        { ...reset('g', { to: 'latest', topics: ['none'] }), refused: [404, 'not_found', 'topic'] },
        { ...reset('g', { to: 'latest', topics: ['hidden'] }), refused: [403, 'forbidden'] },
        {
          ...reset('g', { to: 'latest', partitions: [{ topic: 'read', partition: 7 }] }),
          refused: [404, 'not_found', 'partition'],
        },
        { ...reset('g', {}), refused: [400, 'invalid_request', 'to'] },
        { ...reset('g', { to: 'latest', topic: 'read' }), refused: [400, 'invalid_request', 'topic'] },
        { ...reset('g', undefined), refused: [400, 'invalid_request', 'body'] },
        {
          ...reset('g', '{'),
          headers: { 'content-type': 'application/json' },
          refused: [400, 'invalid_request', 'body'],
        },
        {
          ...reset('g', 'to=latest'),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          refused: [415, 'unsupported_media_type'],
        },
      ],
    },
    [`DELETE ${PATH}/{group}/offsets/{topic}`]: {
      right: [{ path: `${PATH}/g/offsets/read`, status: 204 }],
      wrong: [
        refused(`${PATH}/none/offsets/read`, 404, 'not_found', 'group'),
        refused(`${PATH}/to-delete/offsets/none`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/offsets/read`, 403, 'forbidden'),
        refused(`${PATH}/busy/offsets/read`, 409, 'group_subscribed', 'group'),
      ],
    },
    [`DELETE ${PATH}/{group}`]: {
      right: [{ path: `${PATH}/to-delete`, status: 204 }],
      wrong: [
        refused(`${PATH}/none`, 404, 'not_found', 'group'),
        refused(`${PATH}/hidden`, 403, 'forbidden'),
        refused(`${PATH}/busy`, 409, 'group_not_empty', 'group'),
      ],
    },
  },
};
