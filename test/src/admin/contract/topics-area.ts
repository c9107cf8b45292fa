// Calls of the contract test: topics, their partitions and offsets.
import { type Area, pagedWrong, refused } from './area.ts';

const PATH = '/api/v1/topics';
const post = (body: unknown) => ({ path: PATH, body });
const patch = (topic: string, config: unknown) => ({ path: `${PATH}/${topic}`, body: { config } });
const extend = (topic: string, count: unknown) => ({ path: `${PATH}/${topic}/partitions`, body: { count } });
const cut = (topic: string, ...partitions: readonly (readonly [partition: number, offset: number])[]) => ({
  path: `${PATH}/${topic}/records:delete-before`,
  body: { partitions: partitions.map(([partition, offset]) => ({ partition, offset })) },
});

export const TOPICS_TOML =
  '[[topic]]\nname = "declared"\npartitions = 1\nconfig = { "retention.ms" = "1d" }\n';

export const topicsArea: Area = {
  prepare: async ({ hub, append }) => {
    for (const name of ['a', 'empty', 'hidden', 'gone'])
      await hub.topics.create({ name, partitions: 2, replicationFactor: 1, config: {} });
    await append('a', 0, [{ value: '1', timestampMs: 1_764_000_000_000 }, { value: '2' }]);
    await append('a', 0, [{ value: '3' }]);
  },
  routes: {
    [`GET ${PATH}`]: {
      right: [PATH, `${PATH}?limit=1000&search=A`, `${PATH}?limit=1`],
      wrong: pagedWrong(PATH),
    },
    [`POST ${PATH}`]: {
      right: [
        { ...post({ topic: 'made' }), status: 201 },
        {
          ...post({
            topic: 'made-so',
            partitions: 3,
            config: { 'retention.ms': 1000, 'cleanup.policy': 'compact' },
          }),
          status: 201,
        },
      ],
      wrong: [
        { ...post({ topic: 'made' }), refused: [409, 'exists', 'topic'] },
        { ...post({ topic: 'a b' }), refused: [400, 'invalid_request', 'topic'] },
        { ...post({ topic: '__consumer_offsets' }), refused: [409, 'exists', 'topic'] },
        { ...post({ topic: 'b', partitions: 0 }), refused: [400, 'invalid_request', 'partitions'] },
        { ...post({ topic: 'b', partitions: 1e9 }), refused: [409, 'limit_reached'] },
        { ...post({ topic: 'b', config: { 'no.such': '1' } }), refused: [400, 'invalid_request', 'config'] },
        {
          ...post({ topic: 'b', config: { 'retention.ms': null } }),
          refused: [400, 'invalid_request', 'config.retention.ms'],
        },
        { ...post({ topic: 'b', partition: 1 }), refused: [400, 'invalid_request', 'partition'] },
        { ...post({ topic: 'hidden' }), refused: [403, 'forbidden'] },
        { ...post({}), refused: [400, 'invalid_request', 'topic'] },
        {
          ...post(`{"topic":"${'x'.repeat(70_000)}"}`),
          headers: { 'content-type': 'application/json' },
          refused: [413, 'payload_too_large'],
        },
      ],
    },
    [`GET ${PATH}/{topic}`]: {
      right: [`${PATH}/a`, `${PATH}/declared`, `${PATH}/__consumer_offsets`],
      wrong: [
        refused(`${PATH}/none`, 404, 'not_found', 'topic'),
        refused(`${PATH}/__proto__`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden`, 403, 'forbidden'),
        refused(`${PATH}/%zz`, 400, 'invalid_request', 'path'),
      ],
    },
    [`PATCH ${PATH}/{topic}`]: {
      right: [patch('a', { 'retention.ms': '5000' }), patch('a', { 'retention.ms': null }), patch('a', {})],
      wrong: [
        { ...patch('none', {}), refused: [404, 'not_found', 'topic'] },
        { ...patch('hidden', {}), refused: [403, 'forbidden'] },
        { ...patch('a', { 'no.such': '1' }), refused: [400, 'invalid_request', 'config'] },
        { ...patch('a', { 'retention.ms': 'long' }), refused: [400, 'invalid_request', 'config'] },
        { ...patch('a', ['retention.ms']), refused: [400, 'invalid_request', 'config'] },
        { ...patch('declared', { 'retention.ms': '1' }), refused: [409, 'declared'] },
        { ...patch('__consumer_offsets', {}), refused: [403, 'internal_topic'] },
        {
          ...patch('a', { 'retention.ms': '1' }),
          headers: { 'if-match': '"another"' },
          refused: [412, 'precondition_failed', 'If-Match'],
        },
      ],
    },
    [`DELETE ${PATH}/{topic}`]: {
      right: [{ path: `${PATH}/gone`, status: 204 }],
      wrong: [
        refused(`${PATH}/none`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden`, 403, 'forbidden'),
        refused(`${PATH}/declared`, 409, 'declared'),
        refused(`${PATH}/__consumer_offsets`, 403, 'internal_topic'),
      ],
    },
    [`POST ${PATH}/{topic}/partitions`]: {
      right: [extend('made', 4)],
      wrong: [
        { ...extend('made', 1), refused: [400, 'invalid_request', 'count'] },
        { ...extend('made', 0), refused: [400, 'invalid_request', 'count'] },
        { ...extend('made', '4'), refused: [400, 'invalid_request', 'count'] },
        { ...extend('none', 4), refused: [404, 'not_found', 'topic'] },
        { ...extend('hidden', 4), refused: [403, 'forbidden'] },
        { ...extend('declared', 4), refused: [409, 'declared'] },
      ],
    },
    [`POST ${PATH}/{topic}/records:delete-before`]: {
      right: [cut('a', [0, 1], [1, 0]), cut('a', [0, -1])],
      wrong: [
        { ...cut('a', [0, 99]), refused: [400, 'invalid_request', 'partitions.0.offset'] },
        { ...cut('a', [0, -2]), refused: [400, 'invalid_request', 'partitions.0.offset'] },
        { ...cut('a', [1, 0], [1, 0]), refused: [400, 'invalid_request', 'partitions.1.partition'] },
        { ...cut('a', [7, 0]), refused: [404, 'not_found', 'partition'] },
        { ...cut('a'), refused: [400, 'invalid_request', 'partitions'] },
        { ...cut('none', [0, 0]), refused: [404, 'not_found', 'topic'] },
        { ...cut('hidden', [0, 0]), refused: [403, 'forbidden'] },
        { ...cut('__consumer_offsets', [0, 0]), refused: [403, 'internal_topic'] },
      ],
    },
    [`GET ${PATH}/{topic}/offsets`]: {
      right: [
        `${PATH}/a/offsets`,
        `${PATH}/a/offsets?at=earliest,latest,max-timestamp,-1h,2026-09-01T00:00:00Z,1764000000000`,
        `${PATH}/a/offsets?at=-1h&partition=1,0`,
        `${PATH}/empty/offsets?at=earliest,latest,max-timestamp,-1h`,
      ],
      wrong: [
        refused(`${PATH}/none/offsets`, 404, 'not_found', 'topic'),
        refused(`${PATH}/__proto__/offsets`, 404, 'not_found', 'topic'),
        refused(`${PATH}/a/offsets?partition=9`, 404, 'not_found', 'partition'),
        refused(`${PATH}/a/offsets?partition=x`, 400, 'invalid_request', 'partition'),
        refused(`${PATH}/a/offsets?partition=-1`, 400, 'invalid_request', 'partition'),
        refused(`${PATH}/a/offsets?at=yesterday`, 400, 'invalid_request', 'at'),
        refused(`${PATH}/a/offsets?at=`, 400, 'invalid_request', 'at'),
        refused(`${PATH}/a/offsets?at=1764000000`, 400, 'invalid_request', 'at'),
        refused(`${PATH}/a/offsets?at=${'latest,'.repeat(16)}latest`, 400, 'invalid_request', 'at'),
        refused(`${PATH}/hidden/offsets`, 403, 'forbidden'),
        refused(`${PATH}/%zz/offsets`, 400, 'invalid_request', 'path'),
      ],
    },
    [`GET ${PATH}/{topic}/partitions/{partition}/segments`]: {
      right: [`${PATH}/a/partitions/0/segments`, `${PATH}/empty/partitions/1/segments`],
      wrong: [
        ...pagedWrong(`${PATH}/a/partitions/0/segments`),
        refused(`${PATH}/a/partitions/7/segments`, 404, 'not_found', 'partition'),
        refused(`${PATH}/a/partitions/x/segments`, 400, 'invalid_request', 'partition'),
        refused(`${PATH}/none/partitions/0/segments`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/partitions/0/segments`, 403, 'forbidden'),
      ],
    },
    [`GET ${PATH}/{topic}/partitions/{partition}/position`]: {
      right: [`${PATH}/read/partitions/0/position?offset=1`],
      wrong: [
        refused(`${PATH}/a/partitions/0/position?offset=99`, 404, 'not_found', 'offset'),
        refused(`${PATH}/empty/partitions/0/position?offset=0`, 404, 'not_found', 'offset'),
        refused(`${PATH}/a/partitions/0/position`, 400, 'invalid_request', 'offset'),
        refused(`${PATH}/a/partitions/0/position?offset=-1`, 400, 'invalid_request', 'offset'),
        refused(`${PATH}/a/partitions/0/position?offset=9999999999999999`, 400, 'invalid_request', 'offset'),
        refused(`${PATH}/a/partitions/7/position?offset=0`, 404, 'not_found', 'partition'),
        refused(`${PATH}/none/partitions/0/position?offset=0`, 404, 'not_found', 'topic'),
        refused(`${PATH}/hidden/partitions/0/position?offset=0`, 403, 'forbidden'),
      ],
    },
  },
};
