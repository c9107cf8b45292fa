// Topics changed over HTTP: what is seen is what is changed.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AdminFixture, openAdmin } from './admin-fixture.ts';

let admin: AdminFixture;
beforeAll(async () => {
  admin = await openAdmin({
    toml: '[[topic]]\nname = "declared"\npartitions = 1\nconfig = { "retention.ms" = "1d" }\n',
  });
});
afterAll(() => admin.close());

const TOPICS = '/api/v1/topics';
const patch = (topic: string, config: object, tag?: string) =>
  admin.call({
    method: 'PATCH',
    path: `${TOPICS}/${topic}`,
    body: { config },
    headers: tag === undefined ? {} : { 'if-match': tag },
  });

it('one is made, shown with its configuration and who says so, and deleted', async () => {
  const made = await admin.call({
    method: 'POST',
    path: TOPICS,
    body: { topic: 'whole', partitions: 2, config: { 'retention.ms': 5000 } },
  });
  expect([made.status, made.headers.get('location')]).toEqual([201, '/api/v1/topics/whole']);
  await admin.append('whole', 1, [{ value: 'a' }, { value: 'b' }]);
  const { body } = await admin.call(`${TOPICS}/whole`);
  expect(body).toMatchObject({
    topic: 'whole',
    partitions: 2,
    declared: false,
    cleanupPolicy: 'delete',
    records: 2,
  });
  const { config } = body as { config: { name: string }[] };
  expect(config.find(({ name }) => name === 'retention.ms')).toEqual({
    ...{ name: 'retention.ms', value: '5000', source: 'topic', default: '604800000' },
  });
  expect((await admin.call({ method: 'DELETE', path: `${TOPICS}/whole` })).status).toBe(204);
  expect((await admin.call(`${TOPICS}/whole`)).status).toBe(404);
});

it('of two who change what they saw one is told that the other was first', async () => {
  await admin.hub.topics.create({ name: 'shared', partitions: 1, replicationFactor: 1, config: {} });
  const tag = (await admin.call(`${TOPICS}/shared`)).headers.get('etag')!;
  const both = await Promise.all([
    patch('shared', { 'retention.ms': '1000' }, tag),
    patch('shared', { 'retention.ms': '2000' }, tag),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  const winner = both.find(({ status }) => status === 200)!;
  expect((await admin.call(`${TOPICS}/shared`)).headers.get('etag')).toBe(winner.headers.get('etag'));
  expect(
    (await patch('shared', { 'retention.ms': null }, winner.headers.get('etag')!)).headers.get('etag'),
  ).toBe(tag);
  expect((await patch('shared', {}, `"other", ${tag}`)).status).toBe(200);
  expect((await patch('shared', {}, '*')).status).toBe(200);
});

it('what the configuration declares is changed there, and the answer says where', async () => {
  const { status, body } = await patch('declared', { 'retention.ms': '1000' });
  expect([status, body]).toMatchObject([
    409,
    { error: { code: 'declared', hint: expect.stringMatching(/^polylog\.toml:\d+$/) } },
  ]);
  expect((await admin.call(`${TOPICS}/declared`)).body).toMatchObject({ declared: true });
});

it('records are deleted up to where they were asked to be', async () => {
  await admin.hub.topics.create({ name: 'cut', partitions: 2, replicationFactor: 1, config: {} });
  await admin.append('cut', 0, [{ value: 'a' }, { value: 'b' }, { value: 'c' }]);
  await admin.append('cut', 1, [{ value: 'd' }]);
  const { body } = await admin.call({
    method: 'POST',
    path: `${TOPICS}/cut/records:delete-before`,
    body: {
      partitions: [
        { partition: 0, offset: 2 },
        { partition: 1, offset: -1 },
      ],
    },
  });
  expect(body).toEqual({
    partitions: [
      { partition: 0, logStart: 2, error: null },
      { partition: 1, logStart: 1, error: null },
    ],
  });
});

it('files of a partition, and where a batch lies in them, agree with what is on disk', async () => {
  await admin.hub.topics.create({ name: 'placed', partitions: 1, replicationFactor: 1, config: {} });
  await admin.append('placed', 0, [
    { value: 'a', timestampMs: 5 },
    { value: 'b', timestampMs: 9 },
  ]);
  await admin.append('placed', 0, [{ value: 'c', timestampMs: 7 }]);
  const { items } = (await admin.call(`${TOPICS}/placed/partitions/0/segments`)).body as {
    items: { bytes: number; file: string }[];
  };
  expect(items).toMatchObject([
    { baseOffset: 0, endOffset: 3, firstTimestampMs: 5, maxTimestampMs: 9, active: true },
  ]);
  const places = await Promise.all(
    [0, 1, 2].map(
      async (offset) => (await admin.call(`${TOPICS}/placed/partitions/0/position?offset=${offset}`)).body,
    ),
  );
  const [first, , third] = places as { position: number; file: string; batch: { bytes: number } }[];
  expect(places).toMatchObject([
    { offset: 0, segmentBaseOffset: 0, position: 0, batch: { baseOffset: 0, lastOffset: 1, records: 2 } },
    { offset: 1, position: 0, batch: { baseOffset: 0, lastOffset: 1 } },
    { offset: 2, position: first!.batch.bytes, batch: { baseOffset: 2, lastOffset: 2, records: 1 } },
  ]);
  expect(third!.file).toBe(items[0]!.file);
  expect(third!.position + third!.batch.bytes).toBe(items[0]!.bytes);
});
