// The consumer protocol's group (KIP-848) as a machine: epochs, targets, and how members get there.

import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../../protocols/kafka/error-codes.ts';
import {
  applyRecord,
  createConsumerGroup,
  currentOf,
  stateOf,
  tombstonesOf,
} from '../../../../../protocols/kafka/groups/consumer/consumer-group.ts';
import {
  commitFault,
  fetchFault,
  regexesResolved,
} from '../../../../../protocols/kafka/groups/consumer/members.ts';
import {
  decodeConsumerRecord,
  encodeConsumerRecord,
} from '../../../../../protocols/kafka/groups/consumer/records.ts';
import { ConsumerSimulation, FIRST_TOPIC_ID, subscription } from './consumer-simulation.ts';

const { FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID } = ERROR_CODES;

describe('joining and leaving', () => {
  test('the first member gets everything at once, in the epoch in which Kafka has it', () => {
    const simulation = new ConsumerSimulation();
    const answer = simulation.join('a');
    expect(answer).toMatchObject({ memberId: 'a', memberEpoch: 2 });
    expect(simulation.assigned()).toEqual({ a: 't:0,1,2,3' });
    expect(stateOf(simulation.group)).toBe('stable');
  });

  test('a second member gets nothing before the first has given it up', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    const joined = simulation.join('b');
    expect(joined).toMatchObject({ memberEpoch: 3, assignment: new Map() });
    expect(stateOf(simulation.group)).toBe('reconciling');
    // Told to keep two: it stays in its epoch until it says that it has given the others up.
    expect(simulation.send('a', { memberEpoch: 2 })).toMatchObject({
      memberEpoch: 2,
      assignment: new Map([[FIRST_TOPIC_ID, [0, 1]]]),
    });
    expect(simulation.beat('b')).toMatchObject({ memberEpoch: 3, assignment: null });
    expect(simulation.send('a', { memberEpoch: 2 })).toMatchObject({ memberEpoch: 2, assignment: null });
    expect(
      simulation.send('a', { memberEpoch: 2, owned: new Map([[FIRST_TOPIC_ID, [0, 1]]]) }),
    ).toMatchObject({
      memberEpoch: 3,
    });
    expect(simulation.beat('b')).toMatchObject({
      memberEpoch: 3,
      assignment: new Map([[FIRST_TOPIC_ID, [2, 3]]]),
    });
    expect(stateOf(simulation.group)).toBe('stable');
  });

  test('a member that leaves hands over what it had', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    simulation.join('b');
    simulation.settle();
    expect(simulation.leave('a')).toMatchObject({ memberEpoch: -1 });
    expect(simulation.beat('b')).toMatchObject({ memberEpoch: 4 });
    expect(simulation.assigned()).toEqual({ b: 't:0,1,2,3' });
    simulation.leave('b');
    expect(stateOf(simulation.group)).toBe('empty');
    expect(simulation.leave('b')).toMatchObject({ errorCode: UNKNOWN_MEMBER_ID });
  });

  test('a member that is not heard of is out when its session ends', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    simulation.join('b');
    simulation.pass(44_000);
    simulation.beat('b');
    simulation.pass(1_500);
    expect([...simulation.group.members.keys()]).toEqual(['b']);
    expect(simulation.beat('a')).toMatchObject({ errorCode: UNKNOWN_MEMBER_ID });
  });

  test('a member that holds on to its partitions is out when its rebalance timeout ends', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a', { rebalanceTimeoutMs: 20_000 });
    simulation.join('b');
    simulation.send('a', { memberEpoch: 2 });
    simulation.pass(19_000);
    simulation.send('a', { memberEpoch: 2 });
    simulation.beat('b');
    simulation.pass(1_001);
    expect([...simulation.group.members.keys()]).toEqual(['b']);
  });

  test('as many members as there may be', () => {
    const simulation = new ConsumerSimulation({ t: 4 }, { membersMax: 1 });
    simulation.join('a');
    expect(simulation.join('b')).toMatchObject({ errorCode: ERROR_CODES.GROUP_MAX_SIZE_REACHED });
    expect(simulation.beat('a')).toMatchObject({ memberEpoch: 2 });
  });

  test('a member may come back with epoch 0: it has lost what it knew, and is told everything', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    expect(simulation.join('a')).toMatchObject({
      memberEpoch: 2,
      assignment: new Map([[FIRST_TOPIC_ID, [0, 1, 2, 3]]]),
    });
  });
});

describe('epochs', () => {
  test('another epoch than the current one is fenced', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    expect(simulation.send('a', { memberEpoch: 3 })).toMatchObject({ errorCode: FENCED_MEMBER_EPOCH });
    expect(simulation.send('b', { memberEpoch: 2 })).toMatchObject({ errorCode: UNKNOWN_MEMBER_ID });
  });

  test('the previous one is taken while the member owns no more than it has: the answer got lost', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    simulation.join('b');
    simulation.send('a', { memberEpoch: 2, owned: new Map([[FIRST_TOPIC_ID, [0, 1, 2, 3]]]) });
    simulation.send('a', { memberEpoch: 2, owned: new Map([[FIRST_TOPIC_ID, [0, 1]]]) });
    const earlier = (owned: Map<string, number[]> | null) => simulation.send('a', { memberEpoch: 2, owned });
    expect(earlier(new Map([[FIRST_TOPIC_ID, [0]]]))).toMatchObject({ memberEpoch: 3 });
    expect(earlier(new Map([[FIRST_TOPIC_ID, [0, 3]]]))).toMatchObject({ errorCode: FENCED_MEMBER_EPOCH });
    expect(earlier(null)).toMatchObject({ errorCode: FENCED_MEMBER_EPOCH });
  });

  test('commits and fetches of offsets go by the epoch', () => {
    const simulation = new ConsumerSimulation();
    const { group } = simulation;
    expect(commitFault(group, { memberId: '', epoch: -1 }, 9, [])).toBe(0);
    simulation.join('a');
    expect(commitFault(group, { memberId: '', epoch: -1 }, 9, [])).toBe(UNKNOWN_MEMBER_ID);
    expect(commitFault(group, { memberId: 'a', epoch: 2 }, 9, [])).toBe(0);
    expect(
      commitFault(group, { memberId: 'a', epoch: 1 }, 9, [{ topicId: FIRST_TOPIC_ID, partition: 0 }]),
    ).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
    expect(commitFault(group, { memberId: 'a', epoch: 2 }, 8, [])).toBe(ERROR_CODES.UNSUPPORTED_VERSION);
    expect(fetchFault(group, { memberId: 'a', epoch: 3 })).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
    expect(fetchFault(group, { memberId: 'b', epoch: 2 })).toBe(UNKNOWN_MEMBER_ID);
  });

  test('an epoch that it has left is good for partitions that it has had since, to the next start too (KIP-1251)', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a');
    simulation.join('b');
    simulation.send('a', { memberEpoch: 2, owned: new Map([[FIRST_TOPIC_ID, [0, 1, 2, 3]]]) });
    simulation.send('a', { memberEpoch: 2, owned: new Map([[FIRST_TOPIC_ID, [0, 1]]]) });
    simulation.send('b', { memberEpoch: 3, owned: new Map() });
    const current = { kind: 'current' as const, memberId: 'a', value: currentOf(simulation.group, 'a') };
    const { key, value } = encodeConsumerRecord('g', current);
    const read = createConsumerGroup('g', 0);
    const member = simulation.group.members.get('a') ?? null;
    applyRecord(read, { kind: 'member', memberId: 'a', value: member }, 0);
    applyRecord(read, decodeConsumerRecord(key, value)!.record, 0);
    for (const group of [simulation.group, read]) {
      const commit = (epoch: number, ...partitions: number[]) =>
        commitFault(
          group,
          { memberId: 'a', epoch },
          9,
          partitions.map((partition) => ({ topicId: FIRST_TOPIC_ID, partition })),
        );
      expect(currentOf(group, 'a').epoch).toBe(3);
      expect(commit(2, 0, 1)).toBe(0);
      expect(commit(2, 0, 2)).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
      expect(commit(1, 0)).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
      expect(commit(4, 0)).toBe(ERROR_CODES.STALE_MEMBER_EPOCH);
    }
  });
});

describe('static members', () => {
  const one = { instanceId: 'one' };

  test('one that left to return keeps its partitions, and its new id takes them over', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a', one);
    simulation.join('b');
    simulation.settle();
    expect(simulation.leave('a', -2, 'one')).toMatchObject({ memberEpoch: -2 });
    simulation.beat('b');
    expect(simulation.assigned()).toEqual({ a: 't:0,1', b: 't:2,3' });
    expect(simulation.join('a2', one)).toMatchObject({
      memberEpoch: 3,
      assignment: new Map([[FIRST_TOPIC_ID, [0, 1]]]),
    });
    expect(simulation.assigned()).toEqual({ a2: 't:0,1', b: 't:2,3' });
    expect(simulation.send('a', { memberEpoch: 3, ...one })).toMatchObject({ errorCode: FENCED_INSTANCE_ID });
  });

  test('one that does not return is out when its session ends', () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a', one);
    simulation.leave('a', -2, 'one');
    simulation.pass(45_000);
    expect(stateOf(simulation.group)).toBe('empty');
  });

  test("an instance id is its holder's until that leaves", () => {
    const simulation = new ConsumerSimulation();
    simulation.join('a', one);
    expect(simulation.join('b', one)).toMatchObject({ errorCode: UNRELEASED_INSTANCE_ID });
    expect(simulation.leave('b', -1, 'one')).toMatchObject({ errorCode: FENCED_INSTANCE_ID });
    expect(simulation.leave('b', -1, 'two')).toMatchObject({ errorCode: UNKNOWN_MEMBER_ID });
    simulation.leave('a', -1, 'one');
    expect(simulation.join('b', one)).toMatchObject({ memberEpoch: 4 });
  });
});

describe('what is subscribed to', () => {
  test("changes with the member's word, and is divided anew", () => {
    const simulation = new ConsumerSimulation({ t: 2, u: 2 });
    simulation.join('a');
    simulation.beat('a', { topicNames: ['t', 'u'] });
    expect(simulation.assigned()).toEqual({ a: 't:0,1 u:0,1' });
    simulation.beat('a', { topicNames: ['u'] });
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 'u:0,1' });
    expect(simulation.group.epoch?.epoch).toBe(4);
  });

  test('new partitions, new topics and deleted ones raise the epoch with the next heartbeat', () => {
    const simulation = new ConsumerSimulation({ t: 2 });
    simulation.join('a', { topicNames: ['t', 'later'] });
    simulation.topics.set('t', 4);
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 't:0,1,2,3' });
    simulation.topics.set('later', 1);
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 'later:0 t:0,1,2,3' });
    simulation.topics.delete('t');
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 'later:0' });
    simulation.topics.set('elsewhere', 1);
    expect(simulation.settle()).toBe(0);
    expect(simulation.group.epoch?.epoch).toBe(5);
  });

  test('by expression: what it matches, while somebody uses it', () => {
    const simulation = new ConsumerSimulation({ 'a-1': 1, 'a-2': 1 });
    const regex = { topicNames: null, topicRegex: 'a-.*' };
    simulation.join('a', { ...regex, matchedTopics: ['a-1', 'a-2'] });
    expect(simulation.assigned()).toEqual({ a: 'a-1:0 a-2:0' });
    simulation.topics.set('a-3', 1);
    simulation.run((turn) =>
      regexesResolved(simulation.group, new Map([['a-.*', ['a-1', 'a-2', 'a-3']]]), turn),
    );
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 'a-1:0 a-2:0 a-3:0' });
    simulation.beat('a', { topicRegex: '', topicNames: ['a-1'] });
    expect(simulation.group.regexes.size).toBe(0);
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 'a-1:0' });
  });

  test('the assignor is that of most members', () => {
    const simulation = new ConsumerSimulation({ t: 2, u: 2 });
    const range = { topicNames: ['t', 'u'], serverAssignor: 'range' };
    simulation.join('a', range);
    simulation.join('b', range);
    simulation.settle();
    expect(simulation.assigned()).toEqual({ a: 't:0 u:0', b: 't:1 u:1' });
  });
});

describe('members of the classic protocol', () => {
  const range = (owned: Record<string, number[]> = {}) => ({
    protocols: [{ name: 'range', metadata: subscription(['t'], owned) }],
  });

  test('join, sync and give partitions up by joining again', () => {
    const simulation = new ConsumerSimulation();
    const first = simulation.joinClassic('c', range());
    expect(first).toMatchObject({
      errorCode: 0,
      generation: 2,
      protocolName: 'range',
      leaderId: '',
      members: [],
    });
    expect(simulation.syncClassic('c', 2)).toMatchObject({ errorCode: 0, protocolName: 'range' });
    expect(simulation.beatClassic('c', 2)).toBe(0);
    simulation.join('n');
    expect(simulation.beatClassic('c', 2)).toBe(ERROR_CODES.REBALANCE_IN_PROGRESS);
    // It still owns everything: it is told to keep two, in its epoch.
    expect(simulation.joinClassic('c', range({ t: [0, 1, 2, 3] })).generation).toBe(2);
    expect(simulation.syncClassic('c', 2).errorCode).toBe(0);
    expect(simulation.beatClassic('c', 2)).toBe(ERROR_CODES.REBALANCE_IN_PROGRESS);
    expect(simulation.joinClassic('c', range({ t: [0, 1] })).generation).toBe(3);
    expect(simulation.beatClassic('c', 3)).toBe(0);
    expect(simulation.beatClassic('c', 2)).toBe(ERROR_CODES.ILLEGAL_GENERATION);
    simulation.beat('n');
    expect(simulation.assigned()).toEqual({ c: 't:0,1', n: 't:2,3' });
  });

  test('one that is told to join and does not is out', () => {
    const simulation = new ConsumerSimulation();
    simulation.joinClassic('c', { ...range(), sessionTimeoutMs: 600_000, rebalanceTimeoutMs: 20_000 });
    simulation.syncClassic('c', 2);
    simulation.join('n');
    simulation.beatClassic('c', 2);
    simulation.pass(20_000);
    expect([...simulation.group.members.keys()]).toEqual(['n']);
  });

  test('of another protocol type, or unreadable, are refused', () => {
    const simulation = new ConsumerSimulation();
    const other = { ...range(), protocolType: 'connect' };
    expect(simulation.joinClassic('c', other).errorCode).toBe(ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL);
    const unreadable = { protocols: [{ name: 'range', metadata: Buffer.from('x') }] };
    expect(simulation.joinClassic('c', unreadable).errorCode).toBe(ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL);
    simulation.joinClassic('c', range());
    const roundRobin = { protocols: [{ name: 'roundrobin', metadata: subscription(['t']) }] };
    expect(simulation.joinClassic('d', roundRobin).errorCode).toBe(ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL);
  });
});

const steps = fc.array(
  fc.tuple(
    fc.constantFrom(
      'join',
      'static',
      'beat',
      'lazy',
      'leave',
      'away',
      'pass',
      'topic',
      'delete',
      'subscribe',
      'range',
    ),
    fc.nat(5),
  ),
  { maxLength: 60 },
);

property.prop([steps])(
  "whatever happens, no partition is ever two members', and the log tells all",
  (list) => {
    const simulation = new ConsumerSimulation({ t: 5, u: 3 });
    const { group } = simulation;
    for (const [step, number] of list) {
      const memberId = `m${number}`;
      const instanceId = number < 2 ? `i${number}` : null;
      if (step === 'join') simulation.join(memberId);
      else if (step === 'static') simulation.join(`${memberId}'`, { instanceId });
      else if (step === 'beat') simulation.beat(memberId);
      else if (step === 'lazy') simulation.beat(memberId, { owned: null });
      else if (step === 'leave') simulation.leave(memberId);
      else if (step === 'away') simulation.leave(`${memberId}'`, -2, instanceId);
      else if (step === 'pass') simulation.pass(number * 9_000);
      else if (step === 'topic') simulation.topics.set('t', 3 + number);
      else if (step === 'delete') simulation.topics.delete('u');
      else if (step === 'subscribe')
        simulation.beat(memberId, { topicNames: number > 2 ? ['t', 'u'] : ['u'] });
      else simulation.beat(memberId, { serverAssignor: 'range' });
      const seen = new Set<string>();
      for (const { assigned, pendingRevocation } of group.currents.values()) {
        for (const [topicId, partitions] of [...assigned, ...pendingRevocation]) {
          for (const partition of partitions) {
            expect(seen.has(`${topicId} ${partition}`)).toBe(false);
            seen.add(`${topicId} ${partition}`);
            expect(group.owners.get(topicId)?.has(partition)).toBe(true);
          }
        }
      }
      for (const memberId of group.members.keys())
        expect(currentOf(group, memberId).epoch).toBeLessThanOrEqual(group.targetEpoch ?? 0);
    }
    const { emptySinceMs: _now, subscriptionsVersion: _version, ...told } = simulation.replayed();
    expect(group).toMatchObject(told);
  },
);

property.prop([steps, fc.nat(5)])('what the log refuses is taken back to the last word', (list, number) => {
  const simulation = new ConsumerSimulation({ t: 5 });
  for (const [step, member] of list) {
    if (step === 'join') simulation.join(`m${member}`);
    else if (step === 'leave') simulation.leave(`m${member}`);
    else simulation.beat(`m${member}`);
  }
  const before = simulation.replayed();
  simulation.join(`m${number}`, { topicNames: ['t', 'u'], topicRegex: 'x', matchedTopics: [] });
  for (const record of [...simulation.lastUndo].reverse())
    applyRecord(simulation.group, record, simulation.nowMs);
  const { emptySinceMs: _now, subscriptionsVersion: _version, ...told } = before;
  expect(simulation.group).toMatchObject(told);
  expect(simulation.group.members.size).toBe(before.members.size);
});

test('records come back from their bytes', () => {
  const simulation = new ConsumerSimulation({ t: 4, u: 1 });
  const regex = {
    topicRegex: 'u+',
    matchedTopics: ['u'],
    rackId: 'r',
    instanceId: 'i',
    serverAssignor: 'uniform',
  };
  simulation.join('a', regex);
  simulation.joinClassic('c', { protocols: [{ name: 'range', metadata: subscription(['t']) }] });
  simulation.settle();
  for (const record of [...simulation.log, ...tombstonesOf(simulation.group)]) {
    const { key, value } = encodeConsumerRecord('g', record);
    expect(decodeConsumerRecord(key, value)).toEqual({ groupId: 'g', record });
  }
});
