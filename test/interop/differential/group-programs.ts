// Programs about groups: the classic protocol, the consumer protocol (KIP-848), offsets and administration. Data.
import type { Program } from './program.ts';
import {
  assignment,
  beat,
  commit,
  consumer,
  join,
  joining,
  owning,
  ready,
  send,
  subscription,
  sync,
  topic,
  topicForGroups,
} from './requests.ts';

const versions = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_none, index) => first + index);

const describe = (...groups: string[]) => send('describeGroups', 5, { groups });
const describeConsumers = (...groupIds: string[]) =>
  send('consumerGroupDescribe', 1, { groupIds, includeAuthorizedOperations: false });

const coordinators: Program = {
  name: 'coordinators',
  steps: [
    ...ready('coordinated'),
    ...versions(0, 3).map((version) => send('findCoordinator', version, { key: 'coordinated', keyType: 0 })),
    ...versions(4, 6).map((version) =>
      send('findCoordinator', version, {
        keyType: 0,
        coordinatorKeys: ['coordinated', 'second', 'coordinated'],
      }),
    ),
    send('findCoordinator', 4, { keyType: 0, coordinatorKeys: [] }),
    send('findCoordinator', 4, { keyType: 0, coordinatorKeys: [''] }),
    send('findCoordinator', 3, { keyType: 0, key: '' }),
    send('findCoordinator', 4, { keyType: 9, coordinatorKeys: ['x'] }),
    send('findCoordinator', 3, { keyType: 9, key: 'x' }),
    send('findCoordinator', 5, { keyType: 2, coordinatorKeys: ['x'] }),
    send('findCoordinator', 6, { keyType: 2, coordinatorKeys: ['not a share key'] }),
  ],
};

/** One member in each version: joins, syncs, beats, commits, leaves. */
const oneMember = versions(0, 9).map((version): Program => {
  const group = `alone-${version}`;
  const needsId = version >= 4;
  const member = { groupId: group, memberId: '$member' };
  const generation = { ...member, generationId: 1 };
  const [syncs, beats, leaves] = [Math.min(version, 5), Math.min(version, 4), Math.min(version, 5)];
  const named = syncs >= 5 ? { protocolType: 'consumer', protocolName: 'range' } : {};
  return {
    name: `one member, JoinGroup ${version}`,
    steps: [
      ...ready(group),
      join(version, { groupId: group }, { keep: { member: 'memberId' } }),
      ...(needsId ? [join(version, member)] : []),
      describe(group),
      sync(syncs, {
        ...generation,
        ...named,
        assignments: [{ memberId: '$member', assignment: assignment('t', 0, 1) }],
      }),
      beat(beats, generation),
      describe(group),
      join(version, member),
      sync(syncs, {
        ...member,
        generationId: 2,
        ...named,
        assignments: [{ memberId: '$member', assignment: Buffer.from('x') }],
      }),
      sync(syncs, { ...member, generationId: 2, ...named }),
      leaves >= 3
        ? send('leaveGroup', leaves, {
            groupId: group,
            members: [{ memberId: '$member', groupInstanceId: null }],
          })
        : send('leaveGroup', leaves, member),
      beat(beats, generation),
      describe(group),
    ],
  };
});

const wrongJoins: Program = {
  name: 'joins that are refused',
  steps: [
    ...ready('wrong'),
    join(5, { groupId: '' }),
    join(5, { groupId: 'wrong', sessionTimeoutMs: 1 }),
    join(5, { groupId: 'wrong', sessionTimeoutMs: 2_000_000_000 }),
    join(5, { groupId: 'wrong', memberId: 'nobody' }),
    join(5, { groupId: 'wrong', protocols: [] }),
    join(3, { groupId: 'wrong', protocols: [] }),
    join(5, { groupId: 'wrong', protocolType: '' }),
    join(3, { groupId: 'wrong', protocolType: '' }),
    join(3, { groupId: 'wrong' }, { keep: { member: 'memberId' } }),
    join(3, { groupId: 'wrong', protocolType: 'connect' }),
    join(3, { groupId: 'wrong', protocols: [{ name: 'other', metadata: subscription('t') }] }),
    join(5, { groupId: 'wrong', memberId: 'nobody' }),
    join(5, { groupId: 'wrong', memberId: 'nobody', groupInstanceId: 'nobody' }),
    join(3, { groupId: 'wrong', memberId: '$member', protocolType: 'connect' }),
    join(3, { groupId: 'wrong', memberId: '$member', protocols: [] }),
    describe('wrong'),
  ],
};

const wrongMembers: Program = {
  name: 'members and generations that are not',
  steps: [
    ...topic('offsets', 2),
    ...ready('fenced'),
    join(3, { groupId: 'fenced' }, { keep: { member: 'memberId' } }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: 1 }),
    commit(6, 'fenced', { memberId: '$member', generationIdOrMemberEpoch: 1 }),
    commit(6, 'fenced', {}),
    sync(3, { groupId: 'fenced', memberId: 'nobody', generationId: 1 }),
    sync(3, { groupId: 'fenced', memberId: '$member', generationId: 7 }),
    sync(5, {
      groupId: 'fenced',
      memberId: '$member',
      generationId: 1,
      protocolType: 'connect',
      protocolName: 'range',
    }),
    sync(5, {
      groupId: 'fenced',
      memberId: '$member',
      generationId: 1,
      protocolType: 'consumer',
      protocolName: 'no',
    }),
    sync(5, { groupId: 'fenced', memberId: '$member', generationId: 1 }),
    commit(6, 'fenced', {
      ...{ memberId: 'nobody', generationIdOrMemberEpoch: 1 },
      topics: ['offsets', 'unknown'].map((name) => ({
        name,
        partitions: [0, 9].map((partitionIndex) => ({
          partitionIndex,
          committedOffset: 1,
          committedMetadata: '',
        })),
      })),
    }),
    sync(3, {
      ...{ groupId: 'fenced', memberId: '$member', generationId: 1 },
      assignments: [
        { memberId: 'nobody', assignment: Buffer.from('n') },
        { memberId: '$member', assignment: Buffer.from('m') },
      ],
    }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: 1 }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: 0 }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: 2 }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: -1 }),
    beat(3, { groupId: 'fenced', memberId: 'nobody', generationId: 1 }),
    beat(3, { groupId: 'fenced', memberId: '', generationId: 1 }),
    beat(3, { groupId: 'fenced', memberId: '$member', generationId: 1, groupInstanceId: 'nobody' }),
    beat(3, { groupId: '', memberId: '$member', generationId: 1 }),
    beat(3, { groupId: 'not there', memberId: '$member', generationId: 1 }),
    sync(3, { groupId: 'not there', memberId: '$member', generationId: 1 }),
    sync(3, { groupId: '', memberId: '$member', generationId: 1 }),
    send('leaveGroup', 2, { groupId: 'not there', memberId: 'nobody' }),
    send('leaveGroup', 2, { groupId: '', memberId: 'nobody' }),
    send('leaveGroup', 2, { groupId: 'fenced', memberId: 'nobody' }),
    send('leaveGroup', 2, { groupId: 'fenced', memberId: '' }),
    send('leaveGroup', 4, { groupId: 'fenced', members: [] }),
    send('leaveGroup', 4, {
      groupId: 'fenced',
      members: [
        { memberId: 'nobody', groupInstanceId: null },
        { memberId: '', groupInstanceId: 'nobody' },
        { memberId: 'nobody', groupInstanceId: 'nobody' },
        { memberId: '', groupInstanceId: null },
      ],
    }),
    commit(6, 'fenced', { memberId: '$member', generationIdOrMemberEpoch: 0 }),
    commit(6, 'fenced', { memberId: '$member', generationIdOrMemberEpoch: 2 }),
    commit(6, 'fenced', { memberId: 'nobody', generationIdOrMemberEpoch: 1 }),
    commit(7, 'fenced', { memberId: '$member', generationIdOrMemberEpoch: 1, groupInstanceId: 'nobody' }),
    commit(6, 'fenced', { memberId: '', generationIdOrMemberEpoch: -1 }),
    commit(6, 'fenced', { memberId: '$member', generationIdOrMemberEpoch: -1 }),
    send('deleteGroups', 2, { groupsNames: ['fenced'] }),
    describe('fenced'),
  ],
};

const twoMembers: Program = {
  name: 'two members and a third',
  steps: [
    ...ready('two'),
    join(5, { groupId: 'two' }, { keep: { one: 'memberId' } }),
    join(5, { groupId: 'two', memberId: '$one' }),
    sync(3, {
      ...{ groupId: 'two', memberId: '$one', generationId: 1 },
      assignments: [{ memberId: '$one', assignment: assignment('t', 0, 1) }],
    }),
    join(5, { groupId: 'two' }, { on: 'second', keep: { two: 'memberId' } }),
    join(5, { groupId: 'two', memberId: '$two' }, { on: 'second', later: 'two joins' }),
    send(
      'describeGroups',
      5,
      { groups: ['two'] },
      { on: 'third', until: ['groups.0.groupState', 'PreparingRebalance'] },
    ),
    beat(3, { groupId: 'two', memberId: '$one', generationId: 1 }),
    commit(6, 'two', { memberId: '$one', generationIdOrMemberEpoch: 1 }),
    sync(3, { groupId: 'two', memberId: '$one', generationId: 1 }),
    join(5, { groupId: 'two', memberId: '$one' }),
    { await: 'two joins' },
    sync(3, { groupId: 'two', memberId: '$two', generationId: 2 }, { on: 'second', later: 'two syncs' }),
    beat(3, { groupId: 'two', memberId: '$one', generationId: 2 }),
    sync(3, {
      ...{ groupId: 'two', memberId: '$one', generationId: 2 },
      assignments: [
        { memberId: '$one', assignment: assignment('t', 0) },
        { memberId: '$two', assignment: assignment('t', 1) },
      ],
    }),
    { await: 'two syncs' },
    describe('two'),
    send('leaveGroup', 4, { groupId: 'two', members: [{ memberId: '$one', groupInstanceId: null }] }),
    beat(3, { groupId: 'two', memberId: '$two', generationId: 2 }),
    join(5, { groupId: 'two', memberId: '$two' }),
    sync(3, { groupId: 'two', memberId: '$two', generationId: 3 }),
    describe('two'),
  ],
};

const staticMembers: Program = {
  name: 'static members',
  steps: [
    ...ready('static'),
    join(5, { groupId: 'static', groupInstanceId: 'a' }, { keep: { a: 'memberId' } }),
    sync(3, {
      ...{ groupId: 'static', memberId: '$a', generationId: 1, groupInstanceId: 'a' },
      assignments: [{ memberId: '$a', assignment: assignment('t', 0) }],
    }),
    join(5, { groupId: 'static', groupInstanceId: 'a' }, { keep: { again: 'memberId' } }),
    sync(3, { groupId: 'static', memberId: '$again', generationId: 1, groupInstanceId: 'a' }),
    beat(3, { groupId: 'static', memberId: '$a', generationId: 1, groupInstanceId: 'a' }),
    beat(3, { groupId: 'static', memberId: '$a', generationId: 1 }),
    beat(3, { groupId: 'static', memberId: '$again', generationId: 1, groupInstanceId: 'a' }),
    sync(3, { groupId: 'static', memberId: '$a', generationId: 1, groupInstanceId: 'a' }),
    join(5, { groupId: 'static', memberId: '$a', groupInstanceId: 'a' }),
    commit(7, 'static', { memberId: '$a', generationIdOrMemberEpoch: 1, groupInstanceId: 'a' }),
    describe('static'),
    join(9, { groupId: 'static', groupInstanceId: 'a' }, { keep: { third: 'memberId' } }),
    send('leaveGroup', 4, { groupId: 'static', members: [{ memberId: '$a', groupInstanceId: 'a' }] }),
    send('leaveGroup', 4, { groupId: 'static', members: [{ memberId: '', groupInstanceId: 'a' }] }),
    describe('static'),
  ],
};

const offsets: Program = {
  name: 'offsets of a group without members',
  steps: [
    ...ready('simple'),
    ...versions(2, 9).map((version) => commit(version, 'simple', {}, { committedOffset: version })),
    commit(8, 'simple', {}, { committedMetadata: null }),
    commit(8, 'simple', {}, { committedMetadata: 'x'.repeat(4_097) }),
    commit(8, 'simple', {}, { committedOffset: -1 }),
    commit(8, 'simple', {}, { partitionIndex: 9 }),
    commit(8, 'simple', {}, { partitionIndex: -1 }),
    commit(8, 'simple', { topics: [{ name: 'no such topic', partitions: [] }] }),
    commit(8, 'simple', {
      topics: [
        { name: 'unknown', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }] },
      ],
    }),
    commit(8, 'simple', { topics: [] }),
    commit(8, '', {}),
    commit(8, 'simple', { generationIdOrMemberEpoch: 3, memberId: 'nobody' }),
    commit(8, 'no group', { generationIdOrMemberEpoch: 3, memberId: 'nobody' }),
    commit(9, 'no group', { generationIdOrMemberEpoch: 3, memberId: 'nobody' }),
    commit(9, 'no group 2', { generationIdOrMemberEpoch: 3, memberId: '' }),
    ...versions(1, 7).map((version) =>
      send('offsetFetch', version, {
        groupId: 'simple',
        topics: [
          { name: 'offsets', partitionIndexes: [0, 1, 9] },
          { name: 'unknown', partitionIndexes: [0] },
        ],
      }),
    ),
    ...versions(2, 7).map((version) => send('offsetFetch', version, { groupId: 'simple', topics: null })),
    ...versions(8, 9).map((version) =>
      send('offsetFetch', version, {
        groups: [
          { groupId: 'simple', topics: [{ name: 'offsets', partitionIndexes: [1, 0] }] },
          { groupId: 'simple', topics: null },
          { groupId: 'none of these', topics: [{ name: 'offsets', partitionIndexes: [0] }] },
          { groupId: 'none of these', topics: null },
        ],
        requireStable: true,
      }),
    ),
    send('offsetFetch', 8, { groups: [{ groupId: '', topics: null }] }),
    send('offsetFetch', 9, {
      groups: [{ groupId: 'simple', memberId: 'nobody', memberEpoch: 3, topics: null }],
    }),
    send('offsetFetch', 9, {
      groups: [{ groupId: 'none', memberId: 'nobody', memberEpoch: 3, topics: null }],
    }),
    send('offsetFetch', 7, { groupId: '', topics: null }),
    send('offsetFetch', 7, { groupId: 'simple', topics: [] }),
    describe('simple'),
    send('offsetDelete', 0, {
      groupId: 'simple',
      topics: [{ name: 'offsets', partitions: [{ partitionIndex: 0 }] }],
    }),
    send('offsetDelete', 0, {
      groupId: 'simple',
      topics: [
        { name: 'offsets', partitions: [{ partitionIndex: 0 }, { partitionIndex: 9 }] },
        { name: 'unknown', partitions: [{ partitionIndex: 0 }] },
      ],
    }),
    send('offsetDelete', 0, {
      groupId: 'none',
      topics: [{ name: 'offsets', partitions: [{ partitionIndex: 0 }] }],
    }),
    send('offsetDelete', 0, { groupId: '', topics: [] }),
    send('offsetFetch', 7, { groupId: 'simple', topics: null }),
  ],
};

const administration: Program = {
  name: 'administration of groups',
  steps: [
    ...topic('offsets-2'),
    ...ready('kept'),
    ...ready('gone'),
    commit(8, 'gone', {
      topics: [
        { name: 'offsets-2', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }] },
      ],
    }),
    join(3, { groupId: 'kept' }, { keep: { kept: 'memberId' } }),
    ...versions(0, 6).map((version) =>
      send('describeGroups', version, { groups: ['kept', 'gone', 'not there', '', 'kept'] }),
    ),
    send('describeGroups', 4, { groups: ['kept'], includeAuthorizedOperations: true }),
    send('describeGroups', 4, { groups: ['not there'], includeAuthorizedOperations: true }),
    send('describeGroups', 5, { groups: [] }),
    describeConsumers('kept', 'not there', '', 'kept'),
    describeConsumers(),
    send('listGroups', 4, { statesFilter: ['bogus'] }),
    send('listGroups', 5, { statesFilter: [], typesFilter: ['bogus'] }),
    send('listGroups', 5, { statesFilter: ['DEAD'], typesFilter: ['classic'] }),
    send('deleteGroups', 0, { groupsNames: ['kept', 'gone', 'not there', '', 'gone'] }),
    send('deleteGroups', 2, { groupsNames: ['gone'] }),
    send('deleteGroups', 1, { groupsNames: [] }),
    describe('gone'),
    send('leaveGroup', 2, { groupId: 'kept', memberId: '$kept' }),
    describe('kept'),
    send('deleteGroups', 2, { groupsNames: ['kept'] }),
    describe('kept'),
  ],
};

const subscribed: Program = {
  name: 'offsets of topics that members subscribe to',
  steps: [
    ...topic('watched'),
    ...topic('unwatched'),
    ...ready('watching'),
    join(
      3,
      { groupId: 'watching', protocols: [{ name: 'range', metadata: subscription('watched') }] },
      { keep: { member: 'memberId' } },
    ),
    sync(3, {
      ...{ groupId: 'watching', memberId: '$member', generationId: 1 },
      assignments: [{ memberId: '$member', assignment: assignment('watched', 0) }],
    }),
    commit(6, 'watching', {
      ...{ memberId: '$member', generationIdOrMemberEpoch: 1 },
      topics: ['watched', 'unwatched'].map((name) => ({
        name,
        partitions: [{ partitionIndex: 0, committedOffset: 3, committedMetadata: '' }],
      })),
    }),
    send('offsetDelete', 0, {
      groupId: 'watching',
      topics: ['watched', 'unwatched'].map((name) => ({ name, partitions: [{ partitionIndex: 0 }] })),
    }),
    send('offsetFetch', 7, { groupId: 'watching', topics: null }),
    commit(6, 'watching', {}),
  ],
};

const consumerGroup: Program = {
  name: 'consumer protocol: two members',
  steps: [
    ...ready('consumers'),
    ...topicForGroups('shared', 4),
    consumer('consumers', 'a', joining('shared')),
    consumer('consumers', 'a', joining('shared')),
    consumer('consumers', 'a', { memberEpoch: 2, ...owning('shared', 0, 1, 2, 3) }),
    consumer('consumers', 'a', { memberEpoch: 2 }),
    consumer('consumers', 'a', { memberEpoch: 9 }),
    consumer('consumers', 'a', { memberEpoch: 1, ...owning('shared', 0) }),
    consumer('consumers', 'nobody', { memberEpoch: 1 }),
    consumer('not there', 'nobody', { memberEpoch: 1 }),
    consumer('not there', 'nobody', { memberEpoch: -1 }),
    describeConsumers('consumers'),
    consumer('consumers', 'b', joining('shared')),
    consumer('consumers', 'a', { memberEpoch: 2, ...owning('shared', 0, 1, 2, 3) }),
    describeConsumers('consumers'),
    consumer('consumers', 'a', { memberEpoch: 2, ...owning('shared', 0, 1) }),
    consumer('consumers', 'a', { memberEpoch: 2, ...owning('shared', 0, 1) }),
    consumer('consumers', 'b', { memberEpoch: 3, ...owning('shared') }),
    consumer('consumers', 'b', { ...joining('shared'), memberEpoch: 3, ...owning('shared', 2, 3) }),
    commit(8, 'consumers', { generationIdOrMemberEpoch: 3, memberId: 'a', topics: sharedCommit(0) }),
    ...[3, 2, 4, -1].map((epoch) =>
      commit(9, 'consumers', { generationIdOrMemberEpoch: epoch, memberId: 'a', topics: sharedCommit(0) }),
    ),
    // What a member commits at an epoch that it has left: of a partition that it has kept, and of one that it has not.
    commit(9, 'consumers', { generationIdOrMemberEpoch: 2, memberId: 'a', topics: sharedCommit(1) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 2, memberId: 'a', topics: sharedCommit(2) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 2, memberId: 'a', topics: sharedCommit(0, 1) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 2, memberId: 'a', topics: sharedCommit(0, 2) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 1, memberId: 'a', topics: sharedCommit(0) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 1, memberId: 'b', topics: sharedCommit(2) }),
    commit(9, 'consumers', { topics: sharedCommit(0) }),
    commit(9, 'consumers', { generationIdOrMemberEpoch: 3, memberId: 'nobody', topics: sharedCommit(0) }),
    ...[
      ['a', 3],
      ['a', 2],
      ['a', 4],
      ['nobody', 3],
      [null, -1],
      ['a', -1],
    ].map(([memberId, memberEpoch]) =>
      send('offsetFetch', 9, { groups: [{ groupId: 'consumers', memberId, memberEpoch, topics: null }] }),
    ),
    send('offsetDelete', 0, {
      groupId: 'consumers',
      topics: [{ name: 'shared', partitions: [{ partitionIndex: 0 }] }],
    }),
    send('describeGroups', 6, { groups: ['consumers'] }),
    send('describeGroups', 5, { groups: ['consumers'] }),
    send('deleteGroups', 2, { groupsNames: ['consumers'] }),
    send('leaveGroup', 5, { groupId: 'consumers', members: [{ memberId: 'a', groupInstanceId: null }] }),
    beat(4, { groupId: 'consumers', memberId: 'b', generationId: 3 }),
    join(5, { groupId: 'consumers', protocolType: 'connect' }),
    sync(4, { groupId: 'consumers', memberId: 'b', generationId: 3 }),
    consumer('consumers', 'b', { memberEpoch: -1 }),
    describeConsumers('consumers'),
  ],
};

function sharedCommit(...partitions: readonly number[]) {
  const committed = { committedOffset: 1, committedMetadata: '' };
  return [
    { name: 'shared', partitions: partitions.map((partitionIndex) => ({ partitionIndex, ...committed })) },
  ];
}

const consumerRefusals: Program = {
  name: 'consumer protocol: what is refused',
  steps: [
    ...ready('refused'),
    ...topicForGroups('plain', 2),
    consumer('refused', 'm', { ...joining('plain'), subscribedTopicNames: null, subscribedTopicRegex: '(' }),
    consumer('refused', 'm', { ...joining('plain'), serverAssignor: 'nope' }),
    consumer('refused', 'm', { ...joining('plain'), subscribedTopicNames: null }),
    consumer('refused', 'm', { ...joining('plain'), rebalanceTimeoutMs: -1 }),
    consumer('refused', 'm', { ...joining('plain'), topicPartitions: null }),
    consumer('refused', 'm', { ...joining('plain'), instanceId: '' }),
    consumer('refused', 'm', { ...joining('plain'), rackId: '' }),
    consumer('refused', '', joining('plain')),
    send('consumerGroupHeartbeat', 0, { groupId: 'refused', memberId: '', ...joining('plain') }),
    consumer('', 'm', joining('plain')),
    consumer('refused', 'm', { ...joining('plain'), ...owning('plain', 0) }),
    consumer('refused', 'm', { memberEpoch: -3 }),
    consumer('refused', 'm', { memberEpoch: -2 }),
    consumer('refused', 'm', { memberEpoch: -1 }),
    consumer('refused', 'm', { memberEpoch: 1 }),
    describeConsumers('refused'),
  ],
};

const consumerStatic: Program = {
  name: 'consumer protocol: static members',
  steps: [
    ...ready('steady'),
    ...topicForGroups('still', 2),
    consumer('steady', 's1', { ...joining('still'), instanceId: 'i' }),
    consumer('steady', 's2', { ...joining('still'), instanceId: 'i' }),
    consumer('steady', 's2', { memberEpoch: -2, instanceId: 'i' }),
    consumer('steady', 's2', { memberEpoch: -2, instanceId: 'j' }),
    consumer('steady', 's1', { memberEpoch: -2, instanceId: 'i' }),
    describeConsumers('steady'),
    consumer('steady', 's2', { ...joining('still'), instanceId: 'i' }),
    consumer('steady', 's1', { memberEpoch: 2, instanceId: 'i' }),
    describeConsumers('steady'),
    consumer('steady', 's2', { memberEpoch: -1, instanceId: 'i' }),
    describeConsumers('steady'),
    send('deleteGroups', 2, { groupsNames: ['steady'] }),
    describeConsumers('steady'),
  ],
};

const consumerRegex: Program = {
  name: 'consumer protocol: subscription by pattern and assignors',
  steps: [
    ...ready('patterned'),
    ...topicForGroups('pattern-1', 2),
    consumer('patterned', 'p', {
      ...joining(),
      ...{ subscribedTopicNames: null, subscribedTopicRegex: 'nothing-at-all.*', serverAssignor: 'range' },
    }),
    describeConsumers('patterned'),
    consumer('patterned', 'p', { memberEpoch: 1, subscribedTopicRegex: '[' }),
    consumer('patterned', 'p', { memberEpoch: 1, serverAssignor: 'sticky' }),
    consumer('patterned', 'p', { memberEpoch: -1 }),
    describeConsumers('patterned'),
  ],
};

const upgrade: Program = {
  name: 'a classic group that is upgraded and goes back',
  steps: [
    ...ready('upgraded'),
    ...topicForGroups('moving', 4),
    join(
      5,
      { groupId: 'upgraded', protocols: [{ name: 'range', metadata: subscription('moving') }] },
      { on: 'classic', keep: { c: 'memberId' } },
    ),
    join(
      5,
      {
        groupId: 'upgraded',
        memberId: '$c',
        protocols: [{ name: 'range', metadata: subscription('moving') }],
      },
      { on: 'classic', keep: { one: 'generationId' } },
    ),
    sync(
      3,
      {
        ...{ groupId: 'upgraded', memberId: '$c', generationId: '$one' },
        assignments: [{ memberId: '$c', assignment: assignment('moving', 0, 1, 2, 3) }],
      },
      { on: 'classic' },
    ),
    send('describeGroups', 6, { groups: ['upgraded'] }),
    consumer('upgraded', 'n', joining('moving')),
    describeConsumers('upgraded'),
    beat(3, { groupId: 'upgraded', memberId: '$c', generationId: '$one' }),
    sync(3, { groupId: 'upgraded', memberId: '$c', generationId: '$one' }),
    join(
      5,
      {
        groupId: 'upgraded',
        memberId: '$c',
        protocols: [{ name: 'range', metadata: subscription('moving') }],
      },
      { on: 'classic', keep: { two: 'generationId' } },
    ),
    sync(3, { groupId: 'upgraded', memberId: '$c', generationId: '$two' }, { on: 'classic' }),
    beat(3, { groupId: 'upgraded', memberId: '$c', generationId: '$two' }),
    describeConsumers('upgraded'),
    consumer('upgraded', 'n', { memberEpoch: '$two', ...owning('moving') }),
    consumer('upgraded', 'n', { memberEpoch: -1 }),
    send('describeGroups', 6, { groups: ['upgraded'] }),
    beat(3, { groupId: 'upgraded', memberId: '$c', generationId: '$two' }),
    join(
      5,
      {
        groupId: 'upgraded',
        memberId: '$c',
        protocols: [{ name: 'range', metadata: subscription('moving') }],
      },
      { on: 'classic' },
    ),
  ],
};

export const groupPrograms: readonly Program[] = [
  coordinators,
  ...oneMember,
  wrongJoins,
  wrongMembers,
  twoMembers,
  staticMembers,
  offsets,
  administration,
  subscribed,
  consumerGroup,
  consumerRefusals,
  consumerStatic,
  consumerRegex,
  upgrade,
];
