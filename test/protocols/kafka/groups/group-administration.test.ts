// Groups as administrators see them: listed, described, deleted, their offsets deleted (FAULTS: an unknown group is
// Dead, groups with offsets only are listed, what has members stays).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { encodeAssignment } from '../../../../protocols/kafka/groups/consumer-protocol.ts';
import { type KafkaSocket, openKafka, openTestKafka, type TestKafka } from '../kafka-fixture.ts';
import { api } from '../kafka-requests.ts';
import { commit, committed, joinOf, stableMember, subscriptionTo } from './group-client.ts';

let kafka: TestKafka;
let client: KafkaSocket;
let groupNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
  await kafka.createTopic('t', {}, 3);
  await kafka.createTopic('u');
});
afterAll(() => kafka.close());

const newGroup = (): string => `group-${groupNumber++}`;

async function connected(): Promise<KafkaSocket> {
  client = await kafka.connect();
  return client;
}

const describeGroup = async (groupId: string, version = 6) =>
  (await client.ask(api.describeGroups, version, { groups: [groupId] })).groups[0]!;

async function listed(version: number, filter: { statesFilter?: string[]; typesFilter?: string[] } = {}) {
  const request = {
    ...(version >= 4 ? { statesFilter: [] } : {}),
    ...(version >= 5 ? { typesFilter: [] } : {}),
  };
  return (await client.ask(api.listGroups, version, { ...request, ...filter })).groups;
}

const deleteGroups = async (...groupsNames: string[]) =>
  (await client.ask(api.deleteGroups, 2, { groupsNames })).results.map(({ errorCode }) => errorCode);

async function deleteOffsets(groupId: string, places: Readonly<Record<string, number[]>>) {
  const topics = Object.entries(places).map(([name, partitions]) => ({
    name,
    partitions: partitions.map((partitionIndex) => ({ partitionIndex })),
  }));
  const { errorCode, topics: answered } = await client.ask(api.offsetDelete, 0, { groupId, topics });
  return errorCode !== 0
    ? errorCode
    : answered.flatMap(({ partitions }) => partitions.map((p) => p.errorCode));
}

describe('DescribeGroups', () => {
  test('a stable group, with what its members want and have', async () => {
    await connected();
    const metadata = subscriptionTo('t');
    const assignment = encodeAssignment(0, [{ topic: 't', partitions: [0, 1] }]);
    const more = { groupInstanceId: 'one', protocols: [{ name: 'range', metadata }] };
    const { groupId, memberId } = await stableMember(client, newGroup(), more, assignment);
    for (const version of [0, 3, 4, 5, 6]) {
      expect(await describeGroup(groupId, version)).toMatchObject({
        ...{ errorCode: 0, groupId, groupState: 'Stable', protocolType: 'consumer', protocolData: 'range' },
        members: [
          {
            ...{ memberId, clientId: 'test', clientHost: '/127.0.0.1' },
            groupInstanceId: version >= 4 ? 'one' : null,
            ...{ memberMetadata: metadata, memberAssignment: assignment },
          },
        ],
      });
    }
  });

  test('a group that is being joined shows members without metadata', async () => {
    await connected();
    const { groupId, memberId } = await stableMember(client, newGroup());
    const other = await kafka.connect();
    const { memberId: pending } = await other.ask(api.joinGroup, 5, joinOf(groupId));
    const joining = other.ask(api.joinGroup, 5, joinOf(groupId, pending));
    await expect.poll(async () => (await describeGroup(groupId)).groupState).toBe('PreparingRebalance');
    const { protocolData, members } = await describeGroup(groupId);
    expect(protocolData).toBe('');
    expect(members).toMatchObject([{ memberId, memberMetadata: Buffer.alloc(0) }, { memberId: pending }]);
    await client.ask(api.leaveGroup, 3, { groupId, members: [{ memberId }] });
    await joining;
  });

  test('an unknown group is Dead, and from version 6 an error', async () => {
    await connected();
    const dead = { errorCode: 0, groupState: 'Dead', members: [], protocolType: '' };
    for (const version of [0, 5]) expect(await describeGroup('nobody', version)).toMatchObject(dead);
    const { errorCode, groupState, errorMessage } = await describeGroup('nobody', 6);
    expect({ errorCode, groupState }).toEqual({
      errorCode: ERROR_CODES.GROUP_ID_NOT_FOUND,
      groupState: 'Dead',
    });
    expect(errorMessage).toBe('Group nobody not found.');
  });

  test('what the client may do with it is told when asked for (KIP-430)', async () => {
    await connected();
    const groupId = newGroup();
    await commit(client, groupId, 1);
    const asked = { groups: [groupId], includeAuthorizedOperations: true };
    const { groups } = await client.ask(api.describeGroups, 3, asked);
    expect(groups[0]).toMatchObject({ groupState: 'Empty', authorizedOperations: 0b1101_0100_1000 });
    expect((await describeGroup(groupId, 3)).authorizedOperations).toBe(-0x8000_0000);
  });
});

describe('ListGroups', () => {
  test('groups with offsets only are listed', async () => {
    await connected();
    const [withMember, withOffsets] = [newGroup(), newGroup()];
    await stableMember(client, withMember);
    await commit(client, withOffsets, 1);
    const of = <Group extends { readonly groupId: string }>(groups: readonly Group[], groupId: string) =>
      groups.find((group) => group.groupId === groupId);
    expect(of(await listed(0), withMember)).toMatchObject({ protocolType: 'consumer', groupState: '' });
    expect(of(await listed(0), withOffsets)).toMatchObject({ protocolType: '' });
    const whole = { groupState: 'Empty', groupType: 'classic' };
    expect(of(await listed(5), withOffsets)).toMatchObject(whole);
  });

  test('filters by state and type, whatever their case', async () => {
    await connected();
    const [stable, empty] = [newGroup(), newGroup()];
    await stableMember(client, stable);
    await commit(client, empty, 1);
    const idsOf = async (filter: { statesFilter?: string[]; typesFilter?: string[] }) =>
      (await listed(5, filter)).map(({ groupId }) => groupId).filter((id) => id === stable || id === empty);
    expect(await idsOf({ statesFilter: ['Stable'] })).toEqual([stable]);
    expect(await idsOf({ statesFilter: ['eMpTy', 'Nonsense'] })).toEqual([empty]);
    expect(await idsOf({ typesFilter: ['Classic'] })).toEqual([stable, empty]);
    expect(await idsOf({ typesFilter: ['consumer'] })).toEqual([]);
    expect((await listed(4, { statesFilter: ['Stable'] })).some(({ groupId }) => groupId === stable)).toBe(
      true,
    );
  });
});

describe('DeleteGroups', () => {
  test('a group without members goes, offsets included; others are told why not', async () => {
    await connected();
    const { groupId: busy } = await stableMember(client, newGroup());
    const idle = newGroup();
    await commit(client, idle, 1);
    expect(await deleteGroups(idle, busy, 'nobody', idle)).toEqual([
      ERROR_CODES.NONE,
      ERROR_CODES.NON_EMPTY_GROUP,
      ERROR_CODES.GROUP_ID_NOT_FOUND,
    ]);
    expect(await committed(client, idle)).toMatchObject({ committedOffset: -1 });
    expect(kafka.frontEnd.groups?.get(idle)).toBeUndefined();
    expect((await client.ask(api.deleteGroups, 0, { groupsNames: ['nobody'] })).results).toMatchObject([
      { groupId: 'nobody', errorCode: 69 },
    ]);
  });

  test('a group whose last member left is deleted for good', async () => {
    const { connect, createTopic, frontEnd } = await openTestKafka();
    await createTopic('t');
    client = await connect();
    const { memberId } = await stableMember(client, 'g');
    await client.ask(api.leaveGroup, 3, { groupId: 'g', members: [{ memberId }] });
    await commit(client, 'g', 3);
    expect(await deleteGroups('g')).toEqual([0]);
    expect(frontEnd.groups?.list()).toEqual([]);
    expect(await deleteGroups('g')).toEqual([ERROR_CODES.GROUP_ID_NOT_FOUND]);
  });
});

describe('OffsetDelete', () => {
  test('offsets go one by one; unknown places and groups have their codes', async () => {
    await connected();
    const groupId = newGroup();
    for (const partition of [0, 1]) await commit(client, groupId, 5, { partition });
    expect(await deleteOffsets('nobody', { t: [0] })).toBe(ERROR_CODES.GROUP_ID_NOT_FOUND);
    expect(await deleteOffsets('', { t: [0] })).toBe(ERROR_CODES.INVALID_GROUP_ID);
    expect(await deleteOffsets(groupId, { t: [0, 2, 9], nope: [0] })).toEqual([0, 0, 3, 3]);
    expect(await committed(client, groupId, 0)).toMatchObject({ committedOffset: -1 });
    expect(await committed(client, groupId, 1)).toMatchObject({ committedOffset: 5 });
    expect(await deleteOffsets(groupId, { t: [1] })).toEqual([0]);
    expect(kafka.frontEnd.groups?.get(groupId)).toBeUndefined();
  });

  test('what members are subscribed to stays', async () => {
    await connected();
    const protocols = [{ name: 'range', metadata: subscriptionTo('t') }];
    const { groupId, memberId, generationId } = await stableMember(client, newGroup(), { protocols });
    const claim = { memberId, generation: generationId };
    await commit(client, groupId, 1, claim);
    await commit(client, groupId, 1, { ...claim, topic: 'u' });
    expect(await deleteOffsets(groupId, { t: [0], u: [0] })).toEqual([
      ERROR_CODES.GROUP_SUBSCRIBED_TO_TOPIC,
      0,
    ]);
    expect(kafka.frontEnd.groups?.offsets(groupId)).toMatchObject([{ topic: 't' }]);
  });

  test('members of another protocol, or who cannot be read, are taken to use everything', async () => {
    await connected();
    const unreadable = await stableMember(client, newGroup());
    expect(await deleteOffsets(unreadable.groupId, { t: [0] })).toEqual([
      ERROR_CODES.GROUP_SUBSCRIBED_TO_TOPIC,
    ]);
    const connect = await stableMember(client, newGroup(), { protocolType: 'connect' });
    expect(await deleteOffsets(connect.groupId, { t: [0] })).toBe(ERROR_CODES.NON_EMPTY_GROUP);
  });
});

test('OffsetCommit 9 says 69 to a generation of a group that does not exist, 8 says 22', async () => {
  await connected();
  const stranger = { memberId: 'm', generation: 5 };
  expect(await commit(client, newGroup(), 1, { ...stranger, version: 9 })).toBe(
    ERROR_CODES.GROUP_ID_NOT_FOUND,
  );
  expect(await commit(client, newGroup(), 1, { ...stranger, version: 8 })).toBe(
    ERROR_CODES.ILLEGAL_GENERATION,
  );
  expect(await commit(client, newGroup(), 1, { version: 9 })).toBe(ERROR_CODES.NONE);
});

test('FindCoordinator 6 finds groups and transactions, and refuses share groups', async () => {
  await connected();
  const codeOf = async (keyType: number) =>
    (await client.ask(api.findCoordinator, 6, { keyType, coordinatorKeys: ['k'] })).coordinators[0]!
      .errorCode;
  expect([await codeOf(0), await codeOf(1), await codeOf(2)]).toEqual([0, 0, 42]);
});
