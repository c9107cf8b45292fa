// The group as a state machine, with a clock that only moves when told.

import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../../protocols/kafka/error-codes.ts';
import { createGroup, heldBytesOf } from '../../../../protocols/kafka/groups/group.ts';
import { applyGroupRecord, applyGroupTombstone } from '../../../../protocols/kafka/groups/sync.ts';
import { GroupSimulation } from './group-simulation.ts';

const { NONE, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS } = ERROR_CODES;

describe('a first round', () => {
  test('waits for the initial delay, then tells the leader of everyone and the rest of nobody', () => {
    const simulation = new GroupSimulation();
    const first = simulation.join();
    const second = simulation.join('', { protocols: { range: 'other' } });
    expect(simulation.joins.size).toBe(0);
    simulation.pass(6_000);
    const leader = simulation.answerTo(first);
    expect(leader).toMatchObject({ errorCode: NONE, generation: 1, leaderId: 'm1', protocolName: 'range' });
    expect(leader.members.map(({ memberId, metadata }) => [memberId, `${metadata}`])).toEqual([
      ['m1', 'topics'],
      ['m2', 'other'],
    ]);
    expect(simulation.answerTo(second)).toMatchObject({ memberId: 'm2', leaderId: 'm1', members: [] });
    expect(simulation.group.state).toBe('completing-rebalance');
  });

  test('is put off while members keep coming, but not beyond the rebalance timeout', () => {
    const simulation = new GroupSimulation();
    const first = simulation.join('', { rebalanceTimeoutMs: 7_000 });
    simulation.pass(2_999);
    simulation.join('', { rebalanceTimeoutMs: 7_000 });
    simulation.pass(2_999);
    expect(simulation.joins.has(first)).toBe(false);
    simulation.join('', { rebalanceTimeoutMs: 7_000 });
    simulation.pass(1_002);
    expect(simulation.answerTo(first).members).toHaveLength(3);
  });

  test('gives out assignments only once they are on disk', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.join();
    simulation.pass(6_000);
    simulation.holdsRecords = true;
    const follower = simulation.sync('m2', 1);
    const leader = simulation.sync('m1', 1, { m1: 'a', m2: 'b' });
    expect([leader, follower].map((ticket) => simulation.assignmentTo(ticket))).toEqual(['waits', 'waits']);
    simulation.settleRecord();
    expect([leader, follower].map((ticket) => simulation.assignmentTo(ticket))).toEqual(['a', 'b']);
    expect(simulation.syncs.get(leader)).toMatchObject({ protocolType: 'consumer', protocolName: 'range' });
    expect(simulation.group.state).toBe('stable');
  });

  test('starts over when the assignment cannot be written', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.pass(3_000);
    simulation.holdsRecords = true;
    const leader = simulation.sync('m1', 1, { m1: 'a' });
    simulation.settleRecord(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
    expect(simulation.assignmentTo(leader)).toBe(`${ERROR_CODES.COORDINATOR_NOT_AVAILABLE}`);
    expect(simulation.group.state).toBe('preparing-rebalance');
  });

  test('a member that the leader left out is assigned nothing', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.join();
    simulation.pass(6_000);
    simulation.sync('m1', 1, { m1: 'a', stranger: 'x' });
    expect(simulation.assignmentTo(simulation.sync('m2', 1))).toBe('');
  });
});

describe('member ids (KIP-394)', () => {
  const asked = { requiresKnownMemberId: true };

  test('a new member is told its id, and joins with it', () => {
    const simulation = new GroupSimulation();
    const answer = simulation.answerTo(simulation.join('', asked));
    expect(answer).toMatchObject({ errorCode: ERROR_CODES.MEMBER_ID_REQUIRED, memberId: 'm1' });
    const joined = simulation.join('m1', asked);
    simulation.pass(3_000);
    expect(simulation.answerTo(joined)).toMatchObject({ errorCode: NONE, memberId: 'm1', generation: 1 });
  });

  test('an id that is not used lapses after the session timeout, and the group is empty', () => {
    const simulation = new GroupSimulation();
    simulation.join('', asked);
    simulation.pass(9_999);
    expect(simulation.group.pendingMembers.size).toBe(1);
    simulation.pass(1);
    expect(simulation.group).toMatchObject({ state: 'empty', pendingMembers: new Set() });
    expect(simulation.answerTo(simulation.join('m1', asked)).errorCode).toBe(UNKNOWN_MEMBER_ID);
  });

  test('a round waits for an id that was given out, until it lapses', () => {
    const simulation = GroupSimulation.stable(1);
    simulation.join('', asked);
    const again = simulation.join('m1');
    expect(simulation.joins.has(again)).toBe(false);
    simulation.pass(10_000);
    expect(simulation.answerTo(again).generation).toBe(2);
  });

  test('giving an id back begins no round', () => {
    const simulation = GroupSimulation.stable(1);
    const { memberId } = simulation.answerTo(simulation.join('', asked));
    expect(simulation.leave(memberId)).toEqual([NONE]);
    expect(simulation.group).toMatchObject({ state: 'stable', generation: 1 });
  });

  test('members and ids given out together have a limit', () => {
    const simulation = GroupSimulation.stable(3);
    simulation.join('', asked);
    simulation.join('', asked);
    expect(simulation.answerTo(simulation.join('', asked)).errorCode).toBe(
      ERROR_CODES.GROUP_MAX_SIZE_REACHED,
    );
    const known = simulation.join('m2', { protocols: { range: 'changed' } });
    expect(simulation.joins.has(known)).toBe(false);
  });
});

describe('checks', () => {
  test('come in the order member 25, generation 22, rebalance 27', () => {
    const simulation = GroupSimulation.stable(2);
    simulation.join();
    expect(simulation.group.state).toBe('preparing-rebalance');
    expect(simulation.heartbeat('stranger', 9)).toBe(UNKNOWN_MEMBER_ID);
    expect(simulation.heartbeat('m1', 9)).toBe(ILLEGAL_GENERATION);
    expect(simulation.heartbeat('m1', 1)).toBe(REBALANCE_IN_PROGRESS);
    expect(simulation.assignmentTo(simulation.sync('stranger', 9))).toBe(`${UNKNOWN_MEMBER_ID}`);
    expect(simulation.assignmentTo(simulation.sync('m1', 9))).toBe(`${ILLEGAL_GENERATION}`);
    expect(simulation.assignmentTo(simulation.sync('m1', 1))).toBe(`${REBALANCE_IN_PROGRESS}`);
  });

  test('a group speaks one protocol type, and some protocol that all members know', () => {
    const simulation = GroupSimulation.stable(1);
    const refused = [{ protocolType: 'connect' }, { protocols: { sticky: '' } }, { protocols: {} }];
    const codes = refused.map((options) => simulation.answerTo(simulation.join('', options)).errorCode);
    expect(codes).toEqual(Array(3).fill(ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL));
    expect(simulation.group.state).toBe('stable');
  });

  test('an empty group takes any protocol type but none', () => {
    const simulation = new GroupSimulation();
    expect(simulation.answerTo(simulation.join('', { protocolType: '' })).errorCode).toBe(
      ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL,
    );
    const joined = simulation.join('', { protocolType: 'connect', protocols: { compatible: '' } });
    simulation.pass(3_000);
    expect(simulation.answerTo(joined)).toMatchObject({
      protocolType: 'connect',
      protocolName: 'compatible',
    });
  });

  test('the protocol is the one that most like best among those that all know', () => {
    const simulation = new GroupSimulation();
    const first = simulation.join('', { protocols: { only: '', sticky: '', range: '' } });
    simulation.join('', { protocols: { range: '', sticky: '' } });
    simulation.join('', { protocols: { range: '', sticky: '' } });
    simulation.pass(9_000);
    expect(simulation.answerTo(first).protocolName).toBe('range');
  });

  test('SyncGroup with another protocol than the chosen one is refused (KIP-559)', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.pass(3_000);
    const refused = `${ERROR_CODES.INCONSISTENT_GROUP_PROTOCOL}`;
    const sync = (protocol: object): string =>
      simulation.assignmentTo(simulation.sync('m1', 1, { m1: 'a' }, protocol));
    expect(sync({ protocolName: 'sticky' })).toBe(refused);
    expect(sync({ protocolType: 'connect' })).toBe(refused);
    expect(sync({ protocolType: 'consumer', protocolName: 'range' })).toBe('a');
  });
});

describe('the next round', () => {
  test('a new member makes everyone rejoin; heartbeats tell of it, commits still go through', () => {
    const simulation = GroupSimulation.stable(2);
    const third = simulation.join();
    expect(simulation.heartbeat('m1', 1)).toBe(REBALANCE_IN_PROGRESS);
    expect(simulation.commit({ memberId: 'm1', generation: 1 })).toBe(NONE);
    simulation.join('m1');
    simulation.join('m2');
    expect(simulation.answerTo(third)).toMatchObject({ generation: 2, leaderId: 'm1' });
    expect(simulation.commit({ memberId: 'm1', generation: 2 })).toBe(REBALANCE_IN_PROGRESS);
    expect(simulation.heartbeat('m1', 2)).toBe(NONE);
  });

  test('members that do not rejoin in the rebalance timeout are dropped', () => {
    const simulation = GroupSimulation.stable(2);
    const third = simulation.join('', { sessionTimeoutMs: 300_000 });
    simulation.join('m1', { sessionTimeoutMs: 300_000 });
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      simulation.heartbeat('m2', 1);
      simulation.pass(5_000);
    }
    expect(simulation.answerTo(third).generation).toBe(2);
    expect([...simulation.group.members.keys()]).toEqual(['m1', 'm3']);
  });

  test('a member without heartbeat is dropped after its session timeout, and the rest rejoin', () => {
    const simulation = GroupSimulation.stable(2);
    simulation.pass(9_999);
    expect(simulation.heartbeat('m1', 1)).toBe(NONE);
    simulation.pass(1);
    expect(simulation.heartbeat('m1', 1)).toBe(REBALANCE_IN_PROGRESS);
    expect(simulation.heartbeat('m2', 1)).toBe(UNKNOWN_MEMBER_ID);
    expect(simulation.answerTo(simulation.join('m1'))).toMatchObject({ generation: 2, leaderId: 'm1' });
  });

  test('SyncGroup that a new round interrupts is told 27', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.join();
    simulation.pass(6_000);
    const waiting = simulation.sync('m2', 1);
    simulation.join();
    expect(simulation.assignmentTo(waiting)).toBe(`${REBALANCE_IN_PROGRESS}`);
  });

  test('an assignment on disk for a round that is over assigns nothing', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.pass(3_000);
    simulation.holdsRecords = true;
    const leader = simulation.sync('m1', 1, { m1: 'a' });
    simulation.join();
    expect(simulation.assignmentTo(leader)).toBe(`${REBALANCE_IN_PROGRESS}`);
    simulation.settleRecord();
    expect(simulation.group.state).toBe('preparing-rebalance');
  });

  test('who joined and does not sync in time is dropped', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.join();
    simulation.pass(6_000);
    const leader = simulation.sync('m1', 1, { m1: 'a', m2: 'b' });
    expect(simulation.assignmentTo(leader)).toBe('a');
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      simulation.heartbeat('m1', 1);
      simulation.heartbeat('m2', 1);
      simulation.pass(5_000);
    }
    expect(simulation.heartbeat('m2', 1)).toBe(UNKNOWN_MEMBER_ID);
  });

  test('a follower that joins again unchanged is told of its round; the leader begins a new one', () => {
    const simulation = GroupSimulation.stable(2);
    expect(simulation.answerTo(simulation.join('m2'))).toMatchObject({ generation: 1, members: [] });
    expect(simulation.group.state).toBe('stable');
    simulation.join('m1');
    expect(simulation.group.state).toBe('preparing-rebalance');
  });

  test('in a round that is being assigned an unchanged leader is told of it again, members included', () => {
    const simulation = new GroupSimulation();
    simulation.join();
    simulation.pass(3_000);
    const again = simulation.answerTo(simulation.join('m1'));
    expect(again).toMatchObject({ generation: 1, leaderId: 'm1' });
    expect(again.members).toHaveLength(1);
  });

  test('a JoinGroup sent twice is answered once to each', () => {
    const simulation = GroupSimulation.stable(2);
    const first = simulation.join('m1');
    const second = simulation.join('m1');
    simulation.join('m2');
    expect(simulation.answerTo(first).errorCode).toBe(REBALANCE_IN_PROGRESS);
    expect(simulation.answerTo(second)).toMatchObject({ errorCode: NONE, generation: 2 });
  });
});

describe('leaving', () => {
  test('the last member leaves an empty group of the next generation, on record', () => {
    const simulation = GroupSimulation.stable(1);
    simulation.holdsRecords = true;
    expect(simulation.leave('m1')).toEqual([NONE]);
    expect(simulation.group).toMatchObject({ state: 'empty', generation: 2, leaderId: null });
    expect(simulation.records[0]?.record).toMatchObject({ generation: 2, members: [] });
  });

  test('several at once begin one round, each with its own code', () => {
    const simulation = GroupSimulation.stable(3);
    expect(simulation.leave('m1', 'stranger', 'm2')).toEqual([NONE, UNKNOWN_MEMBER_ID, NONE]);
    expect(simulation.answerTo(simulation.join('m3'))).toMatchObject({ generation: 2, leaderId: 'm3' });
  });

  test('a member that waits in a round is told that it is out', () => {
    const simulation = GroupSimulation.stable(2);
    const waiting = simulation.join('m1');
    simulation.leave('m1');
    expect(simulation.answerTo(waiting).errorCode).toBe(UNKNOWN_MEMBER_ID);
  });

  test('without members anybody without a generation may commit; with members nobody', () => {
    const simulation = GroupSimulation.stable(1);
    expect(simulation.commit({})).toBe(UNKNOWN_MEMBER_ID);
    expect(simulation.commit({ memberId: 'm1', generation: 2 })).toBe(ILLEGAL_GENERATION);
    simulation.leave('m1');
    expect(simulation.commit({})).toBe(NONE);
    expect(simulation.commit({ memberId: 'm1', generation: 2 })).toBe(UNKNOWN_MEMBER_ID);
  });
});

describe('static members (KIP-345)', () => {
  const one = { groupInstanceId: 'one' };
  const two = { groupInstanceId: 'two' };

  function stableStatic(): GroupSimulation {
    const simulation = new GroupSimulation();
    simulation.join('', one);
    simulation.join('', two);
    simulation.pass(6_000);
    simulation.syncAll();
    return simulation;
  }

  test('one that comes back to a stable group gets a new id and no round', () => {
    const simulation = stableStatic();
    const back = simulation.answerTo(simulation.join('', two));
    expect(back).toMatchObject({ errorCode: NONE, memberId: 'm3', generation: 1, leaderId: 'm1' });
    expect(simulation.group.state).toBe('stable');
    expect(simulation.assignmentTo(simulation.sync('m3', 1))).toBe('for m2');
  });

  test('its new id is answered only once it is on disk, and a failure changes nothing', () => {
    const simulation = stableStatic();
    simulation.holdsRecords = true;
    const back = simulation.join('', two);
    expect(simulation.joins.has(back)).toBe(false);
    simulation.settleRecord(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
    expect(simulation.answerTo(back).errorCode).toBe(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
    expect(simulation.heartbeat('m2', 1, 'two')).toBe(NONE);
  });

  test('two that come back at once both keep their new ids', () => {
    const simulation = stableStatic();
    simulation.holdsRecords = true;
    simulation.join('', one);
    simulation.join('', two);
    simulation.settleRecord();
    simulation.settleRecord();
    expect(simulation.group.staticMembers).toEqual(
      new Map([
        ['one', 'm3'],
        ['two', 'm4'],
      ]),
    );
    expect(simulation.group.leaderId).toBe('m3');
  });

  test('a round that begins meanwhile takes the new id in', () => {
    const simulation = stableStatic();
    simulation.holdsRecords = true;
    const back = simulation.join('', two);
    simulation.join();
    simulation.settleRecord();
    simulation.join('m1', one);
    expect(simulation.answerTo(back)).toMatchObject({ errorCode: NONE, generation: 2, memberId: 'm3' });
  });

  test('the old holder is fenced', () => {
    const simulation = stableStatic();
    simulation.join('', two);
    expect(simulation.heartbeat('m2', 1, 'two')).toBe(ERROR_CODES.FENCED_INSTANCE_ID);
    expect(simulation.heartbeat('m2', 1)).toBe(UNKNOWN_MEMBER_ID);
    expect(simulation.commit({ memberId: 'm2', generation: 1, groupInstanceId: 'two' })).toBe(
      ERROR_CODES.FENCED_INSTANCE_ID,
    );
    expect(simulation.leave({ memberId: 'm2', groupInstanceId: 'two' })).toEqual([
      ERROR_CODES.FENCED_INSTANCE_ID,
    ]);
  });

  test('while a round is assigned, coming back begins a new one and fences who waits', () => {
    const simulation = new GroupSimulation();
    simulation.join('', one);
    simulation.join('', two);
    simulation.pass(6_000);
    const waiting = simulation.sync('m2', 1);
    simulation.join('', two);
    expect(simulation.assignmentTo(waiting)).toBe(`${ERROR_CODES.FENCED_INSTANCE_ID}`);
    expect(simulation.group.state).toBe('preparing-rebalance');
  });

  test('coming back with other protocols that change the choice begins a round', () => {
    const simulation = new GroupSimulation();
    simulation.join('', { ...one, protocols: { range: '', sticky: '' } });
    simulation.pass(3_000);
    simulation.syncAll();
    simulation.join('', { ...one, protocols: { sticky: '' } });
    expect(simulation.group.protocolName).toBe('sticky');
    expect(simulation.group.generation).toBe(2);
  });

  test('a leader that comes back is told to skip the assignment, or shown its old id (KIP-814)', () => {
    const simulation = stableStatic();
    const old = simulation.answerTo(simulation.join('', one));
    expect(old).toMatchObject({ memberId: 'm3', leaderId: 'm1', skipAssignment: false, members: [] });
    const back = simulation.answerTo(simulation.join('', { ...one, supportsSkippingAssignment: true }));
    expect(back).toMatchObject({ memberId: 'm4', leaderId: 'm4', skipAssignment: true });
    expect(back.members.map(({ memberId }) => memberId)).toEqual(['m4', 'm2']);
  });

  test('one that does not rejoin keeps its place until its session ends', () => {
    const simulation = stableStatic();
    simulation.join('m1', { ...one, protocols: { range: 'changed' } });
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      simulation.heartbeat('m2', 1, 'two');
      simulation.pass(5_000);
    }
    expect(simulation.group).toMatchObject({ state: 'completing-rebalance', generation: 2 });
    expect([...simulation.group.members.keys()]).toEqual(['m1', 'm2']);
  });

  test('is removed by its instance id alone', () => {
    const simulation = stableStatic();
    expect(simulation.leave({ memberId: '', groupInstanceId: 'two' })).toEqual([NONE]);
    expect(simulation.leave({ memberId: '', groupInstanceId: 'two' })).toEqual([UNKNOWN_MEMBER_ID]);
    expect(simulation.leave({ memberId: '', groupInstanceId: null })).toEqual([UNKNOWN_MEMBER_ID]);
  });
});

describe('a group read from its records', () => {
  test('members go on: same generation, same assignment, no round', () => {
    const before = GroupSimulation.stable(2);
    before.holdsRecords = true;
    before.join('m1');
    before.join('m2');
    before.syncAll();
    const group = createGroup('g', 0);
    applyGroupRecord(group, before.records[0]!.record, 0);
    const after = new GroupSimulation({}, group);
    expect(after.heartbeat('m1', 2)).toBe(NONE);
    expect(after.assignmentTo(after.sync('m2', 2))).toBe('for m2');
    expect(after.commit({ memberId: 'm2', generation: 2 })).toBe(NONE);
  });

  test('an empty group is empty since its last member left, not since the restart', () => {
    const before = GroupSimulation.stable(1);
    before.holdsRecords = true;
    before.leave('m1');
    const { record } = before.records[0]!;
    const group = createGroup('g', record.stateSinceMs + 5_000);
    applyGroupRecord(group, record, record.stateSinceMs + 5_000);
    expect(group).toMatchObject({ state: 'empty', stateSinceMs: before.nowMs });
  });

  test('a tombstone makes the next record the first', () => {
    const group = createGroup('g', 0);
    const member = GroupSimulation.stable(1);
    member.holdsRecords = true;
    member.join('m1');
    member.syncAll();
    const { record } = member.records[0]!;
    applyGroupRecord(group, { ...record, generation: 9 }, 0);
    applyGroupTombstone(group, 0);
    expect(group).toMatchObject({ state: 'empty', generation: 0, isRecorded: false });
    applyGroupRecord(group, { ...record, generation: 1 }, 0);
    expect(group).toMatchObject({ state: 'stable', generation: 1 });
  });
});

const steps = fc.array(
  fc.tuple(
    fc.constantFrom('join', 'rejoin', 'static', 'sync', 'heartbeat', 'leave', 'pass', 'settle', 'fail'),
    fc.nat(6),
  ),
  { maxLength: 60 },
);

property.prop([steps])('whatever happens, everyone is answered once and time empties the group', (list) => {
  const simulation = new GroupSimulation();
  simulation.holdsRecords = true;
  const tickets: number[] = [];
  for (const [step, number] of list) {
    const member = [...simulation.group.members.keys()][number] ?? 'stranger';
    const { generation } = simulation.group;
    if (step === 'join') tickets.push(simulation.join('', { requiresKnownMemberId: number > 3 }));
    else if (step === 'rejoin') tickets.push(simulation.join(member));
    else if (step === 'static') tickets.push(simulation.join('', { groupInstanceId: `s${number}` }));
    else if (step === 'sync') simulation.sync(member, generation, { [member]: 'a' });
    else if (step === 'heartbeat') simulation.heartbeat(member, generation);
    else if (step === 'leave') simulation.leave(member);
    else if (step === 'pass') simulation.pass(number * 2_500);
    else if (simulation.records.length > 0)
      simulation.settleRecord(step === 'fail' ? ERROR_CODES.COORDINATOR_NOT_AVAILABLE : undefined);
    expect(simulation.group.members.has(simulation.group.leaderId ?? '')).toBe(
      simulation.group.members.size > 0,
    );
  }
  simulation.holdsRecords = false;
  while (simulation.records.length > 0) simulation.settleRecord();
  simulation.pass(1_000_000);
  expect(tickets.filter((ticket) => !simulation.joins.has(ticket))).toEqual([]);
  expect(simulation.group).toMatchObject({ state: 'empty', members: new Map(), pendingMembers: new Set() });
});

test('ids that were given out and protocols without content count as memory', () => {
  const simulation = new GroupSimulation();
  const emptyBytes = heldBytesOf(simulation.group);
  simulation.group.pendingMembers.add('given out');
  const withIdBytes = heldBytesOf(simulation.group);
  expect(withIdBytes).toBeGreaterThan(emptyBytes);
  simulation.join('', { protocols: { '': '' } });
  const withMemberBytes = heldBytesOf(simulation.group);
  const [member] = simulation.group.members.values();
  member!.protocols = [...member!.protocols, { name: '', metadata: Buffer.alloc(0) }];
  expect(heldBytesOf(simulation.group)).toBeGreaterThan(withMemberBytes);
});
