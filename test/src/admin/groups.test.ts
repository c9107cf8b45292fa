// Groups changed over HTTP: where they go on is where they are told to.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AdminFixture, openAdmin } from './admin-fixture.ts';

let admin: AdminFixture;
beforeAll(async () => {
  admin = await openAdmin();
  await admin.hub.topics.create({ name: 't', partitions: 3, replicationFactor: 1, config: {} });
  for (const partition of [0, 1])
    await admin.append(
      't',
      partition,
      Array.from({ length: 10 }, (_, index) => ({ timestampMs: index * 10, value: '' })),
    );
  await admin.hub.topics.partition('t', 0)!.deleteRecords(2);
});
afterAll(() => admin.close());

const reset = async (group: string, body: object) =>
  (await admin.call({ method: 'POST', path: `/api/v1/groups/${group}/offsets:reset`, body })).body;

const committed = async (group: string) => {
  const { body } = await admin.call(`/api/v1/groups/${group}/offsets`);
  const { partitions } = body as { partitions: { partition: number; committed: number; lag: number }[] };
  return partitions.map(({ partition, committed, lag }) => [partition, committed, lag]);
};

it.each([
  ['earliest', [2, 0]],
  ['latest', [10, 10]],
  ['offset:1', [2, 1]],
  ['offset:500', [10, 10]],
  ['shift:3', [8, 8]],
  ['shift:-100', [2, 0]],
  ['time:1970-01-01T00:00:00.055Z', [6, 6]],
  ['time:-1h', [10, 10]],
])('%s: what is committed goes there, within what there is', async (to, after) => {
  const group = `to-${to.replaceAll(/\W/g, '-')}`;
  for (const partition of [0, 1]) await admin.commit(group, 't', partition, 5);
  const partitions = after.map((offset, partition) => ({ topic: 't', partition, before: 5, after: offset }));
  expect(await reset(group, { to, dryRun: true })).toEqual({ groupId: group, dryRun: true, partitions });
  expect(await committed(group)).toEqual([
    [0, 5, 5],
    [1, 5, 5],
  ]);
  expect(await reset(group, { to })).toEqual({ groupId: group, dryRun: false, partitions });
  expect(await committed(group)).toEqual(after.map((offset, partition) => [partition, offset, 10 - offset]));
});

it('topics and partitions that nothing is committed of get an offset too, but for a shift', async () => {
  await admin.commit('more', 't', 1, 5);
  expect(await reset('more', { to: 'shift:1', topics: ['t'] })).toMatchObject({
    partitions: [
      { partition: 0, before: null, after: null },
      { partition: 1, before: 5, after: 6 },
      { partition: 2, before: null, after: null },
    ],
  });
  await reset('more', { to: 'earliest', topics: ['t'], partitions: [{ topic: 't', partition: 2 }] });
  expect(await committed('more')).toEqual([
    [0, 2, 8],
    [1, 0, 10],
    [2, 0, 0],
  ]);
});

it('a group with members is shown with them, and keeps what it has', async () => {
  await admin.commit('busy', 't', 0, 5);
  await admin.join('busy', 't');
  expect((await admin.call('/api/v1/groups/busy')).body).toMatchObject({
    ...{ groupId: 'busy', protocolType: 'consumer', coordinator: 1 },
    members: [{ memberId: 'busy-member', instanceId: null, clientId: 'a client', host: '127.0.0.1' }],
  });
  expect(await reset('busy', { to: 'earliest' })).toMatchObject({ error: { code: 'group_not_empty' } });
  const deletion = await admin.call({ method: 'DELETE', path: '/api/v1/groups/busy/offsets/t' });
  expect(deletion.body).toMatchObject({ error: { code: 'group_subscribed' } });
  expect(await committed('busy')).toEqual([[0, 5, 5]]);
});

it('one that is deleted is gone with its offsets', async () => {
  await admin.commit('gone', 't', 0, 5);
  expect((await admin.call({ method: 'DELETE', path: '/api/v1/groups/gone' })).status).toBe(204);
  expect(admin.groups.get('gone')).toBeUndefined();
  expect((await admin.call({ method: 'DELETE', path: '/api/v1/groups/gone' })).status).toBe(404);
});
