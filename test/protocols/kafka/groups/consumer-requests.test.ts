// Groups of the consumer protocol (KIP-848) over a socket and a real store: heartbeats, descriptions, restarts,
// expressions, failing disks, and groups that change their protocol.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { decodeAssignment } from '../../../../protocols/kafka/groups/consumer-protocol.ts';
import { ZERO_UUID } from '../../../../protocols/kafka/wire/reader.ts';
import { FaultyFileSystem } from '../../../src/hub/hub-fixture.ts';
import {
  type KafkaSocket,
  openKafka,
  openTestKafka,
  SkippingClock,
  type TestKafka,
} from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';
import { commit, joinOf, stableMember, subscriptionTo } from './group-client.ts';

let kafka: TestKafka;
let groupNumber = 0;
let topicId = '';
beforeAll(async () => {
  kafka = await openKafka();
  topicId = (await kafka.createTopic('t', {}, 4)).topicId;
});
afterAll(() => kafka.close());

const newGroup = (): string => `group-${groupNumber++}`;

const JOIN = {
  ...{ memberEpoch: 0, rebalanceTimeoutMs: 60_000, subscribedTopicNames: ['t'] },
  topicPartitions: [] as { topicId: string; partitions: number[] }[],
};

interface Beat {
  readonly memberEpoch?: number;
  readonly instanceId?: string | null;
  readonly rebalanceTimeoutMs?: number;
  readonly subscribedTopicNames?: string[] | null;
  readonly subscribedTopicRegex?: string | null;
  readonly serverAssignor?: string | null;
  readonly topicPartitions?: { topicId: string; partitions: number[] }[] | null;
}

function beat(client: KafkaSocket, groupId: string, memberId: string, request: Beat) {
  return client.ask(api.consumerGroupHeartbeat, 1, { groupId, memberId, memberEpoch: 0, ...request });
}

const joined = (client: KafkaSocket, groupId: string, memberId: string, more: Beat = {}) =>
  beat(client, groupId, memberId, { ...JOIN, ...more });

const owning = (...partitions: number[]): Beat => ({ topicPartitions: [{ topicId, partitions }] });

const partitionsOf = (answer: Awaited<ReturnType<typeof beat>>): number[] | undefined =>
  answer.assignment?.topicPartitions.flatMap(({ partitions }) => [...partitions]);

async function described(client: KafkaSocket, groupId: string) {
  return (
    await client.ask(api.consumerGroupDescribe, 1, {
      groupIds: [groupId],
      includeAuthorizedOperations: false,
    })
  ).groups[0]!;
}

test('group.version 1 and transaction.version 2 are features, at a level that old clients can read', async () => {
  const client = await kafka.connect();
  const said = { clientSoftwareName: 'test', clientSoftwareVersion: '1' };
  for (const [version, minVersion] of [
    [3, 1],
    [4, 0],
  ] as const) {
    expect(await client.ask(api.apiVersions, version, said)).toMatchObject({
      supportedFeatures: [
        { name: 'group.version', minVersion, maxVersion: 1 },
        { name: 'transaction.version', minVersion, maxVersion: 2 },
      ],
      finalizedFeatures: [
        { name: 'group.version', minVersionLevel: 1, maxVersionLevel: 1 },
        { name: 'transaction.version', minVersionLevel: 2, maxVersionLevel: 2 },
      ],
      finalizedFeaturesEpoch: 1,
    });
  }
});

describe('heartbeats', () => {
  test('two members share the partitions, and the group is described', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    const first = await joined(client, groupId, 'a');
    expect(first).toMatchObject({ errorCode: 0, memberId: 'a', memberEpoch: 2, heartbeatIntervalMs: 5_000 });
    expect(partitionsOf(first)).toEqual([0, 1, 2, 3]);
    expect(partitionsOf(await joined(client, groupId, 'b'))).toEqual([]);
    expect(await described(client, groupId)).toMatchObject({ groupState: 'Reconciling', groupEpoch: 3 });
    await beat(client, groupId, 'a', { memberEpoch: 2 });
    const given = await beat(client, groupId, 'a', { memberEpoch: 2, ...owning(0, 1) });
    expect(given).toMatchObject({ memberEpoch: 3, assignment: null });
    expect(partitionsOf(await beat(client, groupId, 'b', { memberEpoch: 3 }))).toEqual([2, 3]);
    const assignment = (...partitions: number[]) => ({
      topicPartitions: [{ topicId, topicName: 't', partitions }],
    });
    expect(await described(client, groupId)).toMatchObject({
      ...{ errorCode: 0, groupState: 'Stable', groupEpoch: 3, assignmentEpoch: 3, assignorName: 'uniform' },
      members: [
        {
          ...{ memberId: 'a', memberEpoch: 3, clientId: 'test', clientHost: '/127.0.0.1', memberType: 1 },
          ...{
            subscribedTopicNames: ['t'],
            assignment: assignment(0, 1),
            targetAssignment: assignment(0, 1),
          },
        },
        { memberId: 'b', assignment: assignment(2, 3) },
      ],
    });
    expect(kafka.frontEnd.groups?.get(groupId)).toMatchObject({
      state: 'stable',
      generation: 3,
      protocol: 'uniform',
    });
    expect(await beat(client, groupId, 'a', { memberEpoch: -1 })).toMatchObject({
      errorCode: 0,
      memberEpoch: -1,
    });
    expect(await beat(client, groupId, 'b', { memberEpoch: 3 })).toMatchObject({ memberEpoch: 4 });
  });

  test('version 0 gives out member ids', async () => {
    const client = await kafka.connect();
    const { subscribedTopicNames, ...rest } = JOIN;
    const request = { groupId: newGroup(), memberId: '', subscribedTopicNames, ...rest };
    const { memberId, errorCode } = await client.ask(api.consumerGroupHeartbeat, 0, request);
    expect(errorCode).toBe(0);
    expect(memberId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[string, number, string, string, Beat]>([
    ['no group id', 42, '', 'm', JOIN],
    ['no member id', 42, 'g', '', JOIN],
    ['no rebalance timeout when joining', 42, 'g', 'm', { ...JOIN, rebalanceTimeoutMs: -1 }],
    [
      'partitions when joining',
      42,
      'g',
      'm',
      { ...JOIN, topicPartitions: [{ topicId: ZERO_UUID, partitions: [0] }] },
    ],
    ['no subscription when joining', 42, 'g', 'm', { ...JOIN, subscribedTopicNames: null }],
    ['an epoch below −2', 42, 'g', 'm', { memberEpoch: -3 }],
    ['−2 without an instance id', 42, 'g', 'm', { memberEpoch: -2 }],
    ['an empty instance id', 42, 'g', 'm', { ...JOIN, instanceId: '' }],
    [
      'an assignor that there is not',
      ERROR_CODES.UNSUPPORTED_ASSIGNOR,
      'g',
      'm',
      { ...JOIN, serverAssignor: 'mine' },
    ],
    ['a group that there is not', ERROR_CODES.GROUP_ID_NOT_FOUND, 'nobody', 'm', { memberEpoch: 2 }],
    ['leaving a group that there is not', ERROR_CODES.GROUP_ID_NOT_FOUND, 'nobody', 'm', { memberEpoch: -1 }],
    ['an expression that is none', 128, 'g', 'm', { ...JOIN, subscribedTopicRegex: '(' }],
    ['an expression with a look behind', 128, 'g', 'm', { ...JOIN, subscribedTopicRegex: '(?<=a)b' }],
    [
      'an expression that costs too much',
      128,
      'g',
      'm',
      { ...JOIN, subscribedTopicRegex: '(.*){1000}'.repeat(90) },
    ],
    ['an expression that is too long', 128, 'g', 'm', { ...JOIN, subscribedTopicRegex: 'a'.repeat(1_025) }],
    [
      'too large a subscription',
      10,
      'g',
      'm',
      { ...JOIN, subscribedTopicNames: ['x'.repeat(30_000), 'y'.repeat(30_000), 'z'.repeat(30_000)] },
    ],
  ])('%s is refused with %i', async (_title, code, groupId, memberId, request) => {
    const client = await kafka.connect();
    const answer = await beat(client, groupId, memberId, request);
    expect(answer).toMatchObject({ errorCode: code, memberId: null });
    expect(answer.errorMessage).toBeTruthy();
    expect(kafka.frontEnd.groups?.get(groupId)).toBeUndefined();
  });

  test('what is unknown, or a classic group, is not described', async () => {
    const client = await kafka.connect();
    const { groupId } = await stableMember(client, newGroup());
    for (const unknown of ['nobody', groupId]) {
      const answer = await described(client, unknown);
      expect(answer).toMatchObject({ errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND, members: [] });
    }
    const consumer = newGroup();
    await joined(client, consumer, 'm');
    const { groups } = await client.ask(api.describeGroups, 6, { groups: [consumer] });
    expect(groups[0]).toMatchObject({ errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND, groupState: 'Dead' });
  });

  test('offsets go by the epoch', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    await joined(client, groupId, 'm');
    const as = (generation: number) => ({ memberId: 'm', generation });
    expect(await commit(client, groupId, 5, { ...as(2), version: 9 })).toBe(0);
    expect(await commit(client, groupId, 5, { ...as(1), version: 9 })).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
    expect(await commit(client, groupId, 5, { ...as(2), version: 8 })).toBe(ERROR_CODES.UNSUPPORTED_VERSION);
    expect(await commit(client, groupId, 5, { version: 9 })).toBe(ERROR_CODES.UNKNOWN_MEMBER_ID);
    const fetched = async (memberId: string | null, memberEpoch: number) => {
      const groups = [{ groupId, memberId, memberEpoch, topics: null }];
      return (await client.ask(api.offsetFetch, 9, { groups })).groups[0]!;
    };
    expect(await fetched('m', 2)).toMatchObject({
      errorCode: 0,
      topics: [{ partitions: [{ committedOffset: 5 }] }],
    });
    expect(await fetched(null, -1)).toMatchObject({ errorCode: 0 });
    expect(await fetched('m', 1)).toMatchObject({ errorCode: ERROR_CODES.STALE_MEMBER_EPOCH, topics: [] });
    expect(await fetched('x', 2)).toMatchObject({ errorCode: ERROR_CODES.UNKNOWN_MEMBER_ID });
    const topics = [{ name: 't', partitions: [{ partitionIndex: 0 }] }];
    const deleted = await client.ask(api.offsetDelete, 0, { groupId, topics });
    expect(deleted.topics[0]?.partitions[0]?.errorCode).toBe(ERROR_CODES.GROUP_SUBSCRIBED_TO_TOPIC);
  });

  test('an empty group is listed, and deleted with its offsets', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    await joined(client, groupId, 'm');
    await commit(client, groupId, 5, { memberId: 'm', generation: 2, version: 9 });
    const deleteIt = async () =>
      (await client.ask(api.deleteGroups, 2, { groupsNames: [groupId] })).results[0]!;
    expect((await deleteIt()).errorCode).toBe(ERROR_CODES.NON_EMPTY_GROUP);
    await beat(client, groupId, 'm', { memberEpoch: -1 });
    const filter = { statesFilter: ['empty'], typesFilter: ['consumer'] };
    const { groups } = await client.ask(api.listGroups, 5, filter);
    const listed = { groupId, protocolType: 'consumer', groupState: 'Empty', groupType: 'consumer' };
    expect(groups).toContainEqual(listed);
    expect((await deleteIt()).errorCode).toBe(0);
    expect(kafka.frontEnd.groups?.get(groupId)).toBeUndefined();
  });
});

describe('expressions', () => {
  test('mean the topics that there are, and those that come', async () => {
    const { connect, createTopic, hub } = await openTestKafka();
    await createTopic('log-a');
    await createTopic('other');
    const client = await connect();
    const first = await joined(client, 'g', 'm', {
      subscribedTopicNames: null,
      subscribedTopicRegex: 'log-[a-z]+',
    });
    expect(first.assignment?.topicPartitions).toHaveLength(1);
    expect(await described(client, 'g')).toMatchObject({ members: [{ subscribedTopicRegex: 'log-[a-z]+' }] });
    await createTopic('log-b');
    const namesNow = async () => {
      await beat(client, 'g', 'm', {
        memberEpoch: (await described(client, 'g')).members[0]!.memberEpoch,
        topicPartitions: [],
      });
      return (await described(client, 'g')).members[0]!.assignment.topicPartitions.map(
        ({ topicName }) => topicName,
      );
    };
    await expect.poll(namesNow).toEqual(['log-a', 'log-b']);
    await hub.topics.delete('log-a');
    await expect.poll(namesNow).toEqual(['log-b']);
  });

  test('never mean internal topics', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    await joined(client, groupId, 'm', { subscribedTopicNames: null, subscribedTopicRegex: '.*' });
    const [member] = (await described(client, groupId)).members;
    expect(member?.assignment.topicPartitions.map(({ topicName }) => topicName)).toEqual(['t']);
  });
});

describe('what is on disk', () => {
  function newDirectory(): string {
    const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    return directory;
  }

  test('members go on with their epoch and partitions after a restart', async () => {
    const directory = newDirectory();
    const before = await openTestKafka({ directory });
    await before.createTopic('t', {}, 4);
    await before.createTopic('log-a');
    const client = await before.connect();
    await joined(client, 'g', 'a', { instanceId: 'one' });
    await joined(client, 'g', 'b', { subscribedTopicRegex: 'log-.*' });
    await commit(client, 'g', 5, { memberId: 'b', generation: 3, version: 9 });
    const told = await described(client, 'g');
    expect(told.members).toHaveLength(2);
    await before.close();
    const after = await openTestKafka({ directory });
    const again = await after.connect();
    expect(await described(again, 'g')).toEqual(told);
    expect(await beat(again, 'g', 'b', { memberEpoch: 3 })).toMatchObject({ errorCode: 0, memberEpoch: 3 });
    expect(after.frontEnd.groups?.offsets('g')).toMatchObject([{ committed: 5 }]);
  });

  test('a heartbeat whose records cannot be written changes nothing', async () => {
    const faulty = new FaultyFileSystem();
    const { connect, createTopic, frontEnd } = await openTestKafka({ fileSystem: faulty.fileSystem });
    await createTopic('t', {}, 2);
    const client = await connect();
    await joined(client, 'g', 'a');
    const told = await described(client, 'g');
    faulty.failFlushes = true;
    const code = ERROR_CODES.COORDINATOR_NOT_AVAILABLE;
    expect(await joined(client, 'g', 'b')).toMatchObject({ errorCode: code });
    expect(await joined(client, 'h', 'b')).toMatchObject({ errorCode: code });
    expect(await described(client, 'g')).toEqual(told);
    expect(frontEnd.groups?.get('h')).toBeUndefined();
    expect(await beat(client, 'g', 'a', { memberEpoch: 2 })).toMatchObject({ errorCode: 0 });
    faulty.failFlushes = false;
  });

  test('an empty group goes with its last offsets', async () => {
    const clock = new SkippingClock();
    const hourMs = 3_600_000;
    const { connect, createTopic, frontEnd } = await openTestKafka({
      clock,
      offsetsRetentionMs: hourMs,
      idleTimeoutMs: 0,
    });
    await createTopic('t');
    const client = await connect();
    await joined(client, 'g', 'm');
    await commit(client, 'g', 5, { memberId: 'm', generation: 2, version: 9 });
    await beat(client, 'g', 'm', { memberEpoch: -1 });
    expect(frontEnd.groups?.get('g')).toMatchObject({ state: 'empty' });
    clock.skip(hourMs + 1);
    await expect.poll(() => frontEnd.groups?.get('g')).toBeUndefined();
  });
});

describe('a group that changes its protocol', () => {
  const protocols = [{ name: 'range', metadata: subscriptionTo('t') }];

  async function classicMember(client: KafkaSocket, groupId: string) {
    const assignment = Buffer.from(
      '000000000001000174000000040000000000000001000000020000000300000000',
      'hex',
    );
    expect(decodeAssignment(assignment)).toEqual([{ topic: 't', partitions: [0, 1, 2, 3] }]);
    return stableMember(client, groupId, { protocols }, assignment);
  }

  test('is upgraded by the first member of the new one, and goes back with the last', async () => {
    const [client, other] = [await kafka.connect(), await kafka.connect()];
    const { groupId, memberId, generationId } = await classicMember(client, newGroup());
    await commit(client, groupId, 7, { memberId, generation: generationId });
    expect(partitionsOf(await joined(other, groupId, 'new'))).toEqual([]);
    expect(await described(other, groupId)).toMatchObject({
      groupState: 'Reconciling',
      members: [
        { memberId, memberType: 0, memberEpoch: generationId },
        { memberId: 'new', memberType: 1 },
      ],
    });
    const claim = { groupId, memberId, generationId };
    const beatClassic = async () => (await client.ask(api.heartbeat, 4, claim)).errorCode;
    expect(await beatClassic()).toBe(ERROR_CODES.REBALANCE_IN_PROGRESS);
    // An eager consumer gives everything up when it joins again.
    const rejoined = await client.ask(api.joinGroup, 5, joinOf(groupId, memberId, { protocols }));
    expect(rejoined).toMatchObject({ errorCode: 0, memberId, leader: '', members: [] });
    const synced = await client.ask(api.syncGroup, 3, {
      ...{ groupId, memberId, generationId: rejoined.generationId, assignments: [] },
    });
    expect(decodeAssignment(synced.assignment)).toEqual([{ topic: 't', partitions: [0, 1] }]);
    const epoch = rejoined.generationId;
    expect(partitionsOf(await beat(other, groupId, 'new', { memberEpoch: epoch }))).toEqual([2, 3]);
    expect(await commit(client, groupId, 8, { memberId, generation: epoch })).toBe(0);
    expect(await commit(client, groupId, 8, { memberId, generation: generationId })).toBe(
      ERROR_CODES.ILLEGAL_GENERATION,
    );

    await beat(other, groupId, 'new', { memberEpoch: -1 });
    expect(kafka.frontEnd.groups?.get(groupId)).toMatchObject({ state: 'preparing-rebalance' });
    const last = await client.ask(api.joinGroup, 5, joinOf(groupId, memberId, { protocols }));
    expect(last).toMatchObject({ errorCode: 0, leader: memberId });
    expect(last.generationId).toBeGreaterThan(epoch);
    expect(kafka.frontEnd.groups?.offsets(groupId)).toMatchObject([{ committed: 8 }]);
  });

  test('what happened is there after a restart', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const before = await openTestKafka({ directory });
    await before.createTopic('t', {}, 4);
    const client = await before.connect();
    const { memberId } = await classicMember(client, 'up');
    await joined(client, 'up', 'new');
    await classicMember(client, 'back');
    await joined(client, 'back', 'new');
    await beat(client, 'back', 'new', { memberEpoch: -1 });
    await before.close();
    const after = await openTestKafka({ directory });
    expect(await described(await after.connect(), 'up')).toMatchObject({
      members: [{ memberId, memberType: 0 }, { memberId: 'new' }],
    });
    expect(after.frontEnd.groups?.get('back')).toMatchObject({ state: 'stable', protocol: 'range' });
  });

  test('a member that waits in a round is told to join again', async () => {
    const [client, waiting] = [await kafka.connect(), await kafka.connect()];
    const { groupId } = await classicMember(client, newGroup());
    const { memberId } = await waiting.ask(api.joinGroup, 5, joinOf(groupId, '', { protocols }));
    const join = waiting.ask(api.joinGroup, 5, joinOf(groupId, memberId, { protocols }));
    await expect.poll(() => kafka.frontEnd.groups?.get(groupId)?.state).toBe('preparing-rebalance');
    await joined(client, groupId, 'new');
    expect((await join).errorCode).toBe(ERROR_CODES.REBALANCE_IN_PROGRESS);
    const again = await waiting.ask(api.joinGroup, 5, joinOf(groupId, memberId, { protocols }));
    expect(again).toMatchObject({ errorCode: 0, memberId });
  });

  test('that is empty belongs to whoever comes', async () => {
    const client = await kafka.connect();
    const groupId = newGroup();
    const { memberId } = await classicMember(client, groupId);
    await client.ask(api.leaveGroup, 3, { groupId, members: [{ memberId }] });
    expect(await joined(client, groupId, 'new')).toMatchObject({ errorCode: 0 });
    await beat(client, groupId, 'new', { memberEpoch: -1 });
    await classicMember(client, groupId);
    expect(kafka.frontEnd.groups?.get(groupId)).toMatchObject({ state: 'stable', protocol: 'range' });
  });

  test('whose members are no consumers is refused to the new protocol', async () => {
    const client = await kafka.connect();
    const { groupId } = await stableMember(client, newGroup(), { protocolType: 'connect' });
    expect(await joined(client, groupId, 'new')).toMatchObject({ errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND });
    const unreadable = await stableMember(client, newGroup());
    expect(await joined(client, unreadable.groupId, 'new')).toMatchObject({
      errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND,
    });
  });
});

test('one client cannot make all the groups that there can be', async () => {
  const { connect, createTopic } = await openTestKafka({ groupsMax: 10, groupsPerClientMax: 1 });
  await createTopic('t');
  const client = await connect();
  expect(await commit(client, 'one', 1)).toBe(0);
  expect(await commit(client, 'two', 1)).toBe(ERROR_CODES.POLICY_VIOLATION);
  expect(await joined(client, 'three', 'm')).toMatchObject({ errorCode: ERROR_CODES.POLICY_VIOLATION });
  await client.ask(api.deleteGroups, 2, { groupsNames: ['one'] });
  expect(await commit(client, 'two', 1)).toBe(0);
});
