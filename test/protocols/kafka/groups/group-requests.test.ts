// Groups over a socket and a real store: joining, offsets, restarts, failing disks.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { FaultyFileSystem } from '../../../src/hub/hub-fixture.ts';
import { openKafka, openTestKafka, SkippingClock, type TestKafka } from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';
import { commit, committed, joinOf, stableMember } from './group-client.ts';

let kafka: TestKafka;
let groupNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
  await kafka.createTopic('t', {}, 3);
});
afterAll(() => kafka.close());

const newGroup = (): string => `group-${groupNumber++}`;

describe('membership', () => {
  test('a member joins, is assigned, beats and leaves', async () => {
    const client = await kafka.connect();
    const { groupId, memberId, generationId } = await stableMember(client, newGroup());
    expect(memberId).toMatch(/^test-[0-9a-f-]{36}$/);
    const beat = { groupId, memberId, generationId };
    expect((await client.ask(api.heartbeat, 3, beat)).errorCode).toBe(0);
    expect(kafka.frontEnd.groups?.get(groupId)).toMatchObject({
      state: 'stable',
      generation: 1,
      protocol: 'range',
    });
    const left = await client.ask(api.leaveGroup, 3, {
      groupId,
      members: [{ memberId }, { memberId: 'stranger' }],
    });
    expect(left).toMatchObject({ errorCode: 0, members: [{ errorCode: 0 }, { errorCode: 25 }] });
    expect((await client.ask(api.heartbeat, 3, beat)).errorCode).toBe(ERROR_CODES.UNKNOWN_MEMBER_ID);
  });

  test('MEMBER_ID_REQUIRED begins with version 4', async () => {
    const client = await kafka.connect();
    const codeOf = async (version: number) =>
      (await client.ask(api.joinGroup, version, joinOf(newGroup()))).errorCode;
    expect(await Promise.all([0, 1, 3].map(codeOf))).toEqual([0, 0, 0]);
    expect(await codeOf(4)).toBe(ERROR_CODES.MEMBER_ID_REQUIRED);
    expect(await codeOf(9)).toBe(ERROR_CODES.MEMBER_ID_REQUIRED);
  });

  test('protocol type and name are echoed where the version has them', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    const asked = await client.ask(api.joinGroup, 9, joinOf(groupId));
    expect(asked).toMatchObject({ protocolName: null, protocolType: null, leader: '' });
    const joined = await client.ask(api.joinGroup, 9, joinOf(groupId, asked.memberId));
    expect(joined).toMatchObject({
      errorCode: 0,
      protocolName: 'range',
      protocolType: 'consumer',
      leader: asked.memberId,
    });
    const protocol = { protocolType: 'consumer', protocolName: 'range' };
    const { memberId, generationId } = joined;
    const synced = await client.ask(api.syncGroup, 5, {
      groupId,
      memberId,
      generationId,
      assignments: [],
      ...protocol,
    });
    expect(synced).toMatchObject({ errorCode: 0, ...protocol });
    expect((await client.ask(api.joinGroup, 5, joinOf(''))).protocolName).toBe('');
  });

  test('faults of the request', async () => {
    const client = await kafka.connect();
    const codeOf = async (request: ReturnType<typeof joinOf>) =>
      (await client.ask(api.joinGroup, 5, request)).errorCode;
    expect(await codeOf(joinOf(''))).toBe(ERROR_CODES.INVALID_GROUP_ID);
    expect(await codeOf(joinOf(newGroup(), '', { sessionTimeoutMs: 1 }))).toBe(
      ERROR_CODES.INVALID_SESSION_TIMEOUT,
    );
    expect(await codeOf(joinOf(newGroup(), 'stranger'))).toBe(ERROR_CODES.UNKNOWN_MEMBER_ID);
    const large = [{ name: 'range', metadata: Buffer.alloc(300_000) }];
    expect(await codeOf(joinOf(newGroup(), '', { protocols: large }))).toBe(ERROR_CODES.MESSAGE_TOO_LARGE);
    const many = Array.from({ length: 3_000 }, () => ({ name: '', metadata: Buffer.alloc(0) }));
    expect(await codeOf(joinOf(newGroup(), '', { protocols: many }))).toBe(ERROR_CODES.MESSAGE_TOO_LARGE);
    const unknown = { groupId: newGroup(), memberId: 'm', generationId: 1 };
    expect((await client.ask(api.heartbeat, 0, unknown)).errorCode).toBe(ERROR_CODES.UNKNOWN_MEMBER_ID);
    expect((await client.ask(api.syncGroup, 0, { ...unknown, assignments: [] })).errorCode).toBe(25);
    const { generationId: _generation, ...leaver } = unknown;
    expect((await client.ask(api.leaveGroup, 0, leaver)).errorCode).toBe(25);
  });

  test('refused joins leave no groups behind', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    await client.ask(api.joinGroup, 5, joinOf(groupId, '', { protocols: [] }));
    expect(kafka.frontEnd.groups?.get(groupId)).toBeUndefined();
  });

  test('as many groups as there may be', async () => {
    const { connect } = await openTestKafka({ groupsMax: 1 });
    const client = await connect();
    await client.ask(api.joinGroup, 5, joinOf('one'));
    expect((await client.ask(api.joinGroup, 5, joinOf('two'))).errorCode).toBe(ERROR_CODES.POLICY_VIOLATION);
  });

  test('a member that waits is told to look elsewhere when the hub stops', async () => {
    const { connect, frontEnd, log } = await openTestKafka({ groupInitialRebalanceDelayMs: 60_000 });
    const client = await connect();
    const joined = client.ask(api.joinGroup, 3, joinOf('g'));
    await vi.waitFor(() => expect(frontEnd.groups?.get('g')?.members).toHaveLength(1));
    await frontEnd.drain();
    expect((await joined).errorCode).toBe(ERROR_CODES.NOT_COORDINATOR);
    expect(log.events('error')).toEqual([]);
  });
});

describe('offsets', () => {
  test('are committed with metadata and leader epoch, and fetched one by one or all at once', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    expect(await commit(client, groupId, 42, { metadata: 'note' })).toBe(0);
    expect(await commit(client, groupId, 7, { partition: 2, metadata: null, version: 2 })).toBe(0);
    const first = { committedOffset: 42, committedLeaderEpoch: 3, metadata: 'note', errorCode: 0 };
    const third = { partitionIndex: 2, committedOffset: 7, committedLeaderEpoch: -1, metadata: '' };
    expect(await committed(client, groupId)).toMatchObject(first);
    expect(await committed(client, groupId, 1)).toMatchObject({ committedOffset: -1, errorCode: 0 });
    const all = await client.ask(api.offsetFetch, 7, { groupId, topics: null, requireStable: true });
    expect(all.topics).toMatchObject([{ name: 't', partitions: [first, third] }]);
    expect((await client.ask(api.offsetFetch, 7, { groupId, topics: [] })).topics).toEqual([]);
    const groups = [
      { groupId, topics: null },
      { groupId: newGroup(), topics: [{ name: 't', partitionIndexes: [0] }] },
    ];
    const both = await client.ask(api.offsetFetch, 8, { groups });
    expect(both.groups[0]?.topics).toMatchObject([{ name: 't', partitions: [first, third] }]);
    expect(both.groups[1]?.topics[0]?.partitions[0]?.committedOffset).toBe(-1);
    expect(kafka.frontEnd.groups?.offsets(groupId)).toMatchObject([
      { topic: 't', partition: 0, committed: 42, leaderEpoch: 3, metadata: 'note' },
      { topic: 't', partition: 2, committed: 7 },
    ]);
  });

  test('check member and generation', async () => {
    const client = await kafka.connect();
    const { groupId, memberId, generationId } = await stableMember(client, newGroup());
    expect(await commit(client, groupId, 1)).toBe(ERROR_CODES.UNKNOWN_MEMBER_ID);
    expect(await commit(client, groupId, 1, { memberId: 'stranger', generation: 1 })).toBe(25);
    expect(await commit(client, groupId, 1, { memberId, generation: generationId + 1 })).toBe(22);
    expect(await commit(client, groupId, 1, { memberId, generation: generationId })).toBe(0);
    expect(await commit(client, newGroup(), 1, { generation: 5 })).toBe(ERROR_CODES.ILLEGAL_GENERATION);
  });

  test('have faults of their own', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    expect(await commit(client, groupId, 1, { topic: 'nope' })).toBe(3);
    expect(await commit(client, groupId, 1, { partition: 9 })).toBe(3);
    expect(await commit(client, groupId, 1, { metadata: 'x'.repeat(4097) })).toBe(
      ERROR_CODES.OFFSET_METADATA_TOO_LARGE,
    );
    expect(await commit(client, groupId, 1, { metadata: 'x'.repeat(4096) })).toBe(0);
  });

  test('do not pass to a topic made again under the name', async () => {
    const client = await kafka.connect();
    await kafka.createTopic('again');
    const groupId = newGroup();
    await commit(client, groupId, 5, { topic: 'again' });
    await kafka.hub.topics.delete('again');
    await kafka.createTopic('again');
    const all = await client.ask(api.offsetFetch, 7, { groupId, topics: null });
    expect(all.topics).toEqual([]);
  });

  test('a write that fails is a commit that failed', async () => {
    const faulty = new FaultyFileSystem();
    const { connect, createTopic } = await openTestKafka({ fileSystem: faulty.fileSystem });
    await createTopic('t');
    const client = await connect();
    expect(await commit(client, 'g', 1)).toBe(0);
    faulty.failFlushes = true;
    expect(await commit(client, 'g', 2)).toBe(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
    expect(await committed(client, 'g')).toMatchObject({ committedOffset: 1 });
    faulty.failFlushes = false;
  });
});

describe('after a restart', () => {
  function newDirectory(): string {
    const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    return directory;
  }

  test('members go on with their generation and assignment, offsets are there', async () => {
    const directory = newDirectory();
    const before = await openTestKafka({ directory });
    await before.createTopic('t');
    const member = await stableMember(await before.connect(), 'g', { groupInstanceId: 'one' });
    const claim = { memberId: member.memberId, generation: member.generationId };
    expect(await commit(await before.connect(), 'g', 9, claim)).toBe(0);
    await before.close();

    const after = await openTestKafka({ directory });
    const client = await after.connect();
    expect((await client.ask(api.heartbeat, 3, { ...member, groupInstanceId: 'one' })).errorCode).toBe(0);
    const synced = await client.ask(api.syncGroup, 3, { ...member, assignments: [] });
    expect(synced).toMatchObject({ errorCode: 0, assignment: Buffer.from('mine') });
    expect(await committed(client, 'g')).toMatchObject({ committedOffset: 9 });
    expect(await commit(client, 'g', 10, claim)).toBe(0);
  });

  test('a member that does not come back is dropped when its session ends', async () => {
    const directory = newDirectory();
    const before = await openTestKafka({ directory });
    await stableMember(await before.connect(), 'g', { sessionTimeoutMs: 60 });
    await before.close();
    const after = await openTestKafka({ directory });
    await vi.waitFor(() =>
      expect(after.frontEnd.groups?.get('g')).toMatchObject({ state: 'empty', generation: 2 }),
    );
  });
});

describe('what is not needed any more', () => {
  const DAY_MS = 86_400_000;

  test('offsets expire once their group has been empty for long enough, and the group with them', async () => {
    const clock = new SkippingClock();
    const { connect, createTopic, frontEnd } = await openTestKafka({
      ...{ clock, offsetsRetentionMs: 2 * DAY_MS, idleTimeoutMs: 0 },
    });
    await createTopic('t');
    const client = await connect();
    const busy = await stableMember(client, 'busy', { sessionTimeoutMs: 1_800_000 });
    await commit(client, 'busy', 1, { memberId: busy.memberId, generation: 1 });
    await commit(client, 'idle', 1);
    const groupsNow = (): string[] => (frontEnd.groups?.list() ?? []).map(({ groupId }) => groupId);
    const checked = async (): Promise<void> => {
      // A commit waits behind whatever the check has to write.
      await commit(client, 'fence', 1);
      await commit(client, 'fence', 1);
    };
    clock.skip(DAY_MS);
    await checked();
    expect(groupsNow()).toEqual(expect.arrayContaining(['busy', 'idle']));
    expect(frontEnd.groups?.get('busy')).toMatchObject({ state: 'empty' });
    clock.skip(DAY_MS + 1);
    await vi.waitFor(() => expect(groupsNow()).not.toContain('idle'));
    expect(groupsNow()).toContain('busy');
    clock.skip(DAY_MS);
    await vi.waitFor(() => expect(groupsNow()).not.toContain('busy'));
  });

  test('offsets of a deleted topic go, and a group that had nothing else', async () => {
    await kafka.createTopic('gone');
    const client = await kafka.connect();
    const groupId = newGroup();
    await commit(client, groupId, 1, { topic: 'gone' });
    expect(kafka.frontEnd.groups?.get(groupId)).toBeDefined();
    await kafka.hub.topics.delete('gone');
    await vi.waitFor(() => expect(kafka.frontEnd.groups?.get(groupId)).toBeUndefined());
  });
});
