// What the offsets endpoints say: ends of logs, offsets by time, lag.
import { afterEach, describe, expect, it } from 'vitest';
import type { GroupMemberView, GroupView } from '../../../protocols/port.ts';
import {
  type FakeAdmin,
  type FakeHub,
  fakePartition,
  fakeTopic,
  NOW_MS,
  openFakeAdmin,
} from './fake-target.ts';

let admin: FakeAdmin | undefined;
afterEach(() => admin?.close());

async function answer(hub: FakeHub, path: string): Promise<unknown> {
  admin = await openFakeAdmin(hub);
  return (await admin.get(path)).body;
}

describe('topics/{topic}/offsets', () => {
  const timesMs = [NOW_MS - 7_200_000, NOW_MS - 3_600_000, NOW_MS - 5, NOW_MS - 10];
  const hub = () => ({
    topics: [
      fakeTopic('t', [fakePartition('t', 0, { logStart: 120, timesMs, logEnd: 130 }), fakePartition('t', 1)]),
    ],
  });

  it('has the shape of the document, to the letter', async () => {
    const at = `earliest,latest,max-timestamp,-1h,-1ms,${NOW_MS - 3_600_001}`;
    expect(await answer(hub(), `/api/v1/topics/t/offsets?partition=0&at=${at}`)).toEqual({
      topic: 't',
      topicId: 'id-of-t',
      partitions: [
        {
          partition: 0,
          leaderEpoch: 1,
          logStart: 120,
          logEnd: 130,
          highWatermark: 124,
          lastStable: 124,
          bytes: 100,
          segments: 2,
          at: [
            { query: 'earliest', timestampMs: null, offset: 120, recordTimestampMs: null, reason: 'found' },
            { query: 'latest', timestampMs: null, offset: 124, recordTimestampMs: null, reason: 'end' },
            {
              query: 'max-timestamp',
              timestampMs: null,
              offset: 122,
              recordTimestampMs: NOW_MS - 5,
              reason: 'found',
            },
            {
              query: '-1h',
              timestampMs: NOW_MS - 3_600_000,
              offset: 121,
              recordTimestampMs: NOW_MS - 3_600_000,
              reason: 'found',
            },
            { query: '-1ms', timestampMs: NOW_MS - 1, offset: 124, recordTimestampMs: null, reason: 'end' },
            {
              query: `${NOW_MS - 3_600_001}`,
              timestampMs: NOW_MS - 3_600_001,
              offset: 121,
              recordTimestampMs: NOW_MS - 3_600_000,
              reason: 'found',
            },
          ],
        },
      ],
    });
  });

  it('says "end" for everything in an empty partition', async () => {
    const body = await answer(
      hub(),
      '/api/v1/topics/t/offsets?partition=1&at=earliest,latest,max-timestamp,-1h',
    );
    const end = { offset: 0, recordTimestampMs: null, reason: 'end' };
    expect(body).toMatchObject({ partitions: [{ at: [end, end, end, end] }] });
  });

  it('asks for earliest and latest where nothing is asked', async () => {
    const body = await answer(hub(), '/api/v1/topics/t/offsets');
    const at = [{ query: 'earliest' }, { query: 'latest' }];
    expect(body).toMatchObject({
      partitions: [
        { partition: 0, at },
        { partition: 1, at },
      ],
    });
  });

  it('tells where the seconds went wrong', async () => {
    expect(await answer(hub(), '/api/v1/topics/t/offsets?at=latest,1764000000')).toEqual({
      error: {
        code: 'invalid_request',
        message: 'at: 1764000000 is not milliseconds since the epoch',
        field: 'at',
        hint: 'if these are seconds, in milliseconds that is 1764000000000',
      },
    });
  });

  it('overlaps its lookups over partitions, and bounds them', async () => {
    let open = 0;
    let most = 0;
    const partitions = Array.from({ length: 1000 }, (_, number) => ({
      ...fakePartition('t', number, { highWatermark: 5 }),
      offsetForTime: async () => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        return { offset: number, timestampMs: NOW_MS, leaderEpoch: 1 };
      },
    }));
    const body = await answer({ topics: [fakeTopic('t', partitions)] }, '/api/v1/topics/t/offsets?at=-1h');
    const { partitions: shown } = body as { partitions: { partition: number; at: { offset: number }[] }[] };
    expect(shown.map(({ at }) => at[0]?.offset)).toEqual(partitions.map((_, number) => number));
    expect(most).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(32);
  });

  it('logs why a partition cannot be read, and tells the client which one', async () => {
    const topics = [fakeTopic('t', [fakePartition('t', 0), fakePartition('t', 1, { broken: true })])];
    const body = await answer({ topics }, '/api/v1/topics/t/offsets?at=-1h');
    expect(body).toMatchObject({ error: { code: 'storage', message: 'partition 1 of t cannot be read' } });
    expect(admin?.logged).toMatchObject([{ event: 'admin-request-failed', fields: { method: 'GET' } }]);
  });
});

describe('groups/{group}/offsets', () => {
  const topics = [
    fakeTopic('t', [
      fakePartition('t', 0, { highWatermark: 10, logEnd: 12 }),
      fakePartition('t', 1, { highWatermark: 4 }),
    ]),
    fakeTopic('s', [fakePartition('s', 0, { highWatermark: 3 })]),
  ];
  const member: GroupMemberView = {
    memberId: 'm-1',
    groupInstanceId: null,
    clientId: 'client',
    clientHost: '/10.0.0.7',
    assignment: [{ topic: 't', partitions: [0, 1] }],
  };
  const group: GroupView = {
    groupId: 'g',
    state: 'stable',
    protocolType: 'consumer',
    protocol: 'range',
    generation: 3,
    members: [member],
  };
  const commit = (topic: string, partition: number, committed: number) => {
    return { topic, partition, committed, leaderEpoch: 2, metadata: 'note', committedAtMs: NOW_MS };
  };

  it('shows commit, lag and owner; null lag without a commit', async () => {
    const body = await answer(
      { topics, groups: [group], offsets: { g: [commit('t', 0, 7)] } },
      '/api/v1/groups/g/offsets',
    );
    const owner = { memberId: 'm-1', clientId: 'client', host: '/10.0.0.7' };
    const committed = { committed: 7, lag: 3, metadata: 'note', leaderEpoch: 2, committedAtMs: NOW_MS };
    const nothing = { committed: null, lag: null, metadata: null, leaderEpoch: null, committedAtMs: null };
    expect(body).toEqual({
      groupId: 'g',
      state: 'stable',
      partitions: [
        { topic: 't', partition: 0, logEnd: 10, ...committed, ...owner },
        { topic: 't', partition: 1, logEnd: 4, ...nothing, ...owner },
      ],
    });
  });

  it('never shows a negative lag, nor one towards a topic that is gone', async () => {
    const offsets = { g: [commit('t', 1, 99), commit('gone', 0, 5), commit('s', 0, 3)] };
    const body = await answer(
      { topics, groups: [{ ...group, state: 'empty', members: [] }], offsets },
      '/api/v1/groups/g/offsets',
    );
    expect(body).toMatchObject({
      state: 'empty',
      partitions: [
        { topic: 'gone', partition: 0, committed: 5, logEnd: null, lag: null, memberId: null },
        { topic: 's', partition: 0, committed: 3, logEnd: 3, lag: 0 },
        { topic: 't', partition: 1, committed: 99, logEnd: 4, lag: 0 },
      ],
    });
  });

  it('lists a group without members, and counts those of others', async () => {
    const groups = [group, { ...group, groupId: 'a', state: 'empty' as const, members: [] }];
    expect(await answer({ groups }, '/api/v1/groups')).toEqual({
      items: [
        {
          groupId: 'a',
          state: 'empty',
          protocolType: 'consumer',
          protocol: 'range',
          generation: 3,
          members: 0,
        },
        {
          groupId: 'g',
          state: 'stable',
          protocolType: 'consumer',
          protocol: 'range',
          generation: 3,
          members: 1,
        },
      ],
      next: null,
    });
  });
});
