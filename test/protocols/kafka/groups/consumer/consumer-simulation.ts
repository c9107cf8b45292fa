// A group of the consumer protocol with a simulated clock and simulated clients: each keeps its epoch and what it
// owns, gives up what it is told to when it says so, and reports it with its next heartbeat.

import {
  heartbeatClassic,
  joinClassic,
  syncClassic,
} from '../../../../../protocols/kafka/groups/consumer/classic-members.ts';
import {
  type Assignment,
  applyRecord,
  type ConsumerGroup,
  type ConsumerRecord,
  createConsumerGroup,
  NO_PARTITIONS,
} from '../../../../../protocols/kafka/groups/consumer/consumer-group.ts';
import {
  type HeartbeatAnswer,
  type HeartbeatRequest,
  heartbeat,
} from '../../../../../protocols/kafka/groups/consumer/heartbeat.ts';
import {
  type LeaveRequest,
  leave,
  timerFired,
} from '../../../../../protocols/kafka/groups/consumer/members.ts';
import type {
  ConsumerSettings,
  ConsumerTimerKind,
  ConsumerTurn,
  Fault,
  TopicInfo,
} from '../../../../../protocols/kafka/groups/consumer/turn.ts';
import type { JoinRequest } from '../../../../../protocols/kafka/groups/group.ts';

const SETTINGS: ConsumerSettings = { sessionTimeoutMs: 45_000, heartbeatIntervalMs: 5_000, membersMax: 8 };

/** Of the first topic of a simulation. */
export const FIRST_TOPIC_ID = '00000000-0000-0000-0000-000000000001';

class Topics {
  version = 1;
  readonly all = new Map<string, TopicInfo>();
  #ids = 0;

  set(name: string, partitions: number): void {
    const topicId = this.all.get(name)?.topicId ?? `00000000-0000-0000-0000-00000000000${++this.#ids}`;
    this.all.set(name, { name, topicId, partitions });
    this.version++;
  }

  delete(name: string): void {
    this.all.delete(name);
    this.version++;
  }

  byName(name: string): TopicInfo | undefined {
    return this.all.get(name);
  }

  byId(topicId: string): TopicInfo | undefined {
    return [...this.all.values()].find((topic) => topic.topicId === topicId);
  }
}

export class Client {
  epoch = 0;
  owned: Assignment = NO_PARTITIONS;
  readonly memberId: string;

  constructor(memberId: string) {
    this.memberId = memberId;
  }
}

export class ConsumerSimulation {
  nowMs = 1_000_000;
  group: ConsumerGroup;
  readonly topics = new Topics();
  readonly log: ConsumerRecord[] = [];
  readonly clients = new Map<string, Client>();
  /** Of the last decision, in order: what takes it back. */
  lastUndo: readonly ConsumerRecord[] = [];
  readonly #settings: ConsumerSettings;
  readonly #timers = new Map<string, { readonly kind: ConsumerTimerKind; memberId: string; dueMs: number }>();

  constructor(topics: Readonly<Record<string, number>> = { t: 4 }, settings: Partial<ConsumerSettings> = {}) {
    this.group = createConsumerGroup('g', this.nowMs);
    this.#settings = { ...SETTINGS, ...settings };
    for (const [name, partitions] of Object.entries(topics)) this.topics.set(name, partitions);
  }

  /** Joins, subscribed to `t` unless told otherwise. */
  join(memberId: string, more: Partial<HeartbeatRequest> = {}): HeartbeatAnswer | Fault {
    const client = new Client(memberId);
    const subscription = { topicNames: ['t'], rebalanceTimeoutMs: 60_000, owned: NO_PARTITIONS };
    const answer = this.send(memberId, { memberEpoch: 0, ...subscription, ...more });
    if (!('errorCode' in answer)) {
      this.clients.set(memberId, client);
      client.epoch = answer.memberEpoch;
      client.owned = answer.assignment ?? NO_PARTITIONS;
    }
    return answer;
  }

  /** A heartbeat as a client sends it: what it owns is said, what it is told to give up is given up at once. */
  beat(memberId: string, more: Partial<HeartbeatRequest> = {}): HeartbeatAnswer | Fault {
    const client = this.clients.get(memberId) ?? new Client(memberId);
    const answer = this.send(memberId, { memberEpoch: client.epoch, owned: client.owned, ...more });
    if ('errorCode' in answer) return answer;
    client.epoch = answer.memberEpoch;
    client.owned = answer.assignment ?? client.owned;
    return answer;
  }

  /** Everyone beats until nothing changes any more; how many rounds that took. */
  settle(): number {
    for (let round = 0; round < 20; round++) {
      const written = this.log.length;
      for (const memberId of this.clients.keys()) this.beat(memberId);
      if (this.log.length === written) return round;
    }
    throw new Error('the group does not settle');
  }

  send(memberId: string, request: Partial<HeartbeatRequest>): HeartbeatAnswer | Fault {
    const nothing = {
      instanceId: null,
      rackId: null,
      rebalanceTimeoutMs: null,
      topicNames: null,
      topicRegex: null,
    };
    const whole: HeartbeatRequest = {
      ...{ memberId, memberEpoch: 0, clientId: 'client', clientHost: '/127.0.0.1', matchedTopics: [] },
      ...{ ...nothing, serverAssignor: null, owned: null, ...request },
    };
    return this.run((turn) => heartbeat(this.group, whole, turn));
  }

  leave(memberId: string, memberEpoch = -1, instanceId: string | null = null): LeaveRequest | Fault {
    const answer = this.run((turn) => leave(this.group, { memberId, instanceId, memberEpoch }, turn));
    if (!('errorCode' in answer)) this.clients.delete(memberId);
    return answer;
  }

  joinClassic(memberId: string, more: Partial<JoinRequest> = {}) {
    const request: JoinRequest = {
      ...{
        memberId,
        newMemberId: `new-${memberId}`,
        groupInstanceId: null,
        clientId: 'client',
        clientHost: '/h',
      },
      ...{ protocolType: 'consumer', protocols: [], sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 60_000 },
      ...{ requiresKnownMemberId: false, supportsSkippingAssignment: false, ...more },
    };
    return this.run((turn) => joinClassic(this.group, request, turn));
  }

  syncClassic(memberId: string, generation: number) {
    const request = { groupInstanceId: null, protocolType: null, protocolName: null, assignments: new Map() };
    return this.run((turn) => syncClassic(this.group, { memberId, generation, ...request }, turn));
  }

  beatClassic(memberId: string, generation: number): number {
    return this.run((turn) =>
      heartbeatClassic(this.group, { memberId, groupInstanceId: null, generation }, turn),
    );
  }

  pass(durationMs: number): void {
    const endMs = this.nowMs + durationMs;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, { dueMs }]) => dueMs <= endMs)
        .sort((a, b) => a[1].dueMs - b[1].dueMs);
      const [key, timer] = due[0] ?? [];
      if (key === undefined || timer === undefined) break;
      this.nowMs = Math.max(this.nowMs, timer.dueMs);
      this.#timers.delete(key);
      this.run((turn) => timerFired(this.group, timer.kind, timer.memberId, turn));
    }
    this.nowMs = endMs;
  }

  run<Result>(decide: (turn: ConsumerTurn) => Result): Result {
    const { nowMs, topics } = this;
    const turn: ConsumerTurn = { nowMs, settings: this.#settings, topics, records: [], undo: [], timers: [] };
    const result = decide(turn);
    this.log.push(...turn.records);
    this.lastUndo = turn.undo;
    for (const { kind, memberId, delayMs, keepsRunning } of turn.timers) {
      const key = `${kind} ${memberId}`;
      if (delayMs === undefined) this.#timers.delete(key);
      else if (!(keepsRunning && this.#timers.has(key)))
        this.#timers.set(key, { kind, memberId, dueMs: nowMs + delayMs });
    }
    return result;
  }

  /** The group as it is after a restart. */
  replayed(): ConsumerGroup {
    const group = createConsumerGroup('g', this.nowMs);
    for (const record of this.log) applyRecord(group, record, this.nowMs);
    return group;
  }

  /** Member → its partitions, as `t:0,1 u:2`. */
  assigned(): Record<string, string> {
    const shown: Record<string, string> = {};
    for (const memberId of this.group.members.keys())
      shown[memberId] = this.show(this.group.currents.get(memberId)?.assigned ?? NO_PARTITIONS);
    return shown;
  }

  show(assignment: Assignment): string {
    return [...assignment]
      .map(([topicId, partitions]) => `${this.topics.byId(topicId)?.name ?? 'gone'}:${partitions.join()}`)
      .sort()
      .join(' ');
  }
}

/** The bytes in which a classic consumer says what it is subscribed to and owns. */
export function subscription(
  topics: readonly string[],
  owned: Readonly<Record<string, number[]>> = {},
): Buffer {
  const bytes: number[] = [0, 1];
  const int32 = (value: number): number => bytes.push(0, 0, value >> 8, value & 0xff);
  const text = (value: string): void => {
    bytes.push(0, value.length, ...Buffer.from(value));
  };
  int32(topics.length);
  for (const topic of topics) text(topic);
  bytes.push(0xff, 0xff, 0xff, 0xff);
  int32(Object.keys(owned).length);
  for (const [topic, partitions] of Object.entries(owned)) {
    text(topic);
    int32(partitions.length);
    for (const partition of partitions) int32(partition);
  }
  return Buffer.from(bytes);
}
