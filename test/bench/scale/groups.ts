// Cost against consumer groups, each with a member and a committed offset: commits and heartbeats of one, another one
// that comes and goes, and the hub's start.
import { HeartbeatRequest, HeartbeatResponse } from '../../../protocols/kafka/messages/heartbeat.ts';
import { JoinGroupRequest, JoinGroupResponse } from '../../../protocols/kafka/messages/join-group.ts';
import { LeaveGroupRequest, LeaveGroupResponse } from '../../../protocols/kafka/messages/leave-group.ts';
import {
  OffsetCommitRequest,
  OffsetCommitResponse,
} from '../../../protocols/kafka/messages/offset-commit.ts';
import { SyncGroupRequest, SyncGroupResponse } from '../../../protocols/kafka/messages/sync-group.ts';
import { type Curve, count, type World } from './curve.ts';
import {
  answerOf,
  createTopic,
  type KafkaConnection,
  requestFrame,
  requestInTurns,
  withKafka,
} from './kafka-work.ts';
import { MeasuredHub } from './measured-hub.ts';

const OFFSET_COMMIT = {
  key: 8,
  version: 6,
  request: OffsetCommitRequest,
  response: OffsetCommitResponse,
} as const;
const JOIN_GROUP = { key: 11, version: 5, request: JoinGroupRequest, response: JoinGroupResponse } as const;
const HEARTBEAT = { key: 12, version: 3, request: HeartbeatRequest, response: HeartbeatResponse } as const;
const LEAVE_GROUP = {
  key: 13,
  version: 3,
  request: LeaveGroupRequest,
  response: LeaveGroupResponse,
} as const;
const SYNC_GROUP = { key: 14, version: 3, request: SyncGroupRequest, response: SyncGroupResponse } as const;
const TOPIC = 'work';
const MEMBER_ID_REQUIRED = 79;
/** Nobody is heard of in between, and nobody is out for that. */
const SESSION_MS = 1_800_000;
const IN_FLIGHT = 20;
const COMMITS = 1000;
const HEARTBEATS = 10_000;
const COMINGS = 100;

interface Membership {
  readonly groupId: string;
  readonly memberId: string;
  readonly generationId: number;
}

interface GroupsWorld extends World {
  readonly hub: MeasuredHub;
  readonly first: Membership;
}

async function openGroups(groups: number, directory: string): Promise<GroupsWorld> {
  const hub = await MeasuredHub.start(directory);
  await createTopic(hub.kafkaPort, TOPIC, 1);
  const first = await withKafka(hub.kafkaPort, async (connection) => {
    const made: Membership[] = [];
    for (let index = 0; index < groups; index++) {
      const member = await join(connection, `group-${index}`);
      await connection.ask(OFFSET_COMMIT, commitOf(member, index));
      made.push(member);
    }
    return made[0]!; // there is one group at least
  });
  return { hub, first, close: () => hub.close() };
}

async function join(connection: KafkaConnection, groupId: string): Promise<Membership> {
  const request = {
    ...{ groupId, sessionTimeoutMs: SESSION_MS, rebalanceTimeoutMs: SESSION_MS, protocolType: 'consumer' },
    protocols: [{ name: 'range', metadata: Buffer.alloc(64) }],
  };
  let answer = await connection.ask(JOIN_GROUP, { ...request, memberId: '' });
  if (answer.errorCode === MEMBER_ID_REQUIRED)
    answer = await connection.ask(JOIN_GROUP, { ...request, memberId: answer.memberId });
  const { errorCode, memberId, generationId } = answer;
  if (errorCode !== 0) throw new Error(`${groupId}: JoinGroup: error ${errorCode}`);
  const assignments = [{ memberId, assignment: Buffer.alloc(64) }];
  const synced = await connection.ask(SYNC_GROUP, { groupId, memberId, generationId, assignments });
  if (synced.errorCode !== 0) throw new Error(`${groupId}: SyncGroup: error ${synced.errorCode}`);
  return { groupId, memberId, generationId };
}

function commitOf({ groupId, memberId, generationId }: Membership, committedOffset: number) {
  const partitions = [{ partitionIndex: 0, committedOffset, committedMetadata: '' }];
  return {
    groupId,
    memberId,
    generationIdOrMemberEpoch: generationId,
    topics: [{ name: TOPIC, partitions }],
  };
}

async function commit({ hub, first }: GroupsWorld): Promise<number> {
  const frame = requestFrame(OFFSET_COMMIT, commitOf(first, 1));
  const check = (answer: Buffer): void => {
    const error = answerOf(OFFSET_COMMIT, answer).topics[0]?.partitions[0]?.errorCode;
    if (error !== 0) throw new Error(`OffsetCommit: error ${error}`);
  };
  await withKafka(hub.kafkaPort, (connection) =>
    requestInTurns([connection], { requests: COMMITS, inFlight: IN_FLIGHT, request: () => frame, check }),
  );
  return COMMITS;
}

async function beat({ hub, first }: GroupsWorld): Promise<number> {
  const frame = requestFrame(HEARTBEAT, first);
  const check = (answer: Buffer): void => {
    const { errorCode } = answerOf(HEARTBEAT, answer);
    if (errorCode !== 0) throw new Error(`Heartbeat: error ${errorCode}`);
  };
  await withKafka(hub.kafkaPort, (connection) =>
    requestInTurns([connection], { requests: HEARTBEATS, inFlight: IN_FLIGHT, request: () => frame, check }),
  );
  return HEARTBEATS;
}

async function comeAndGo({ hub }: GroupsWorld): Promise<number> {
  await withKafka(hub.kafkaPort, async (connection) => {
    for (let index = 0; index < COMINGS; index++) {
      const { groupId, memberId } = await join(connection, 'another');
      const left = await connection.ask(LEAVE_GROUP, { groupId, members: [{ memberId }] });
      if (left.errorCode !== 0) throw new Error(`LeaveGroup: error ${left.errorCode}`);
    }
  });
  return COMINGS;
}

export const groupCount: Curve<GroupsWorld> = {
  name: 'groups',
  title: 'Consumer groups',
  axis: { label: 'groups with a member and an offset', format: count },
  points: [1, 10, 100, 1000],
  figures: [
    {
      name: 'commit an offset',
      unit: 'commit',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => commit(world)),
    },
    {
      name: 'heartbeat',
      unit: 'heartbeat',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => beat(world)),
    },
    {
      name: 'join, sync and leave',
      unit: 'member',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => comeAndGo(world)),
    },
    {
      name: 'start after a stop',
      unit: 'start',
      expectation: 'a start reads each group and its offsets once',
      isCold: true,
      measure: ({ hub }) => hub.restart('stopped'),
    },
  ],
  open: openGroups,
};
