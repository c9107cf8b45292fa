// How long it takes a thousand members to join one group and settle, in the classic protocol and in that of KIP-848,
// and what ten thousand partitions that are committed at once do to the others: the latency of a bystander's requests
// is the event loop's delay as clients see it. Run: npm run build && npx tsx test/bench/groups.ts [members] [partitions]
import { readFileSync } from 'node:fs';
import * as apiVersions from '../../protocols/kafka/messages/api-versions.ts';
import * as consumerHeartbeat from '../../protocols/kafka/messages/consumer-group-heartbeat.ts';
import * as createTopics from '../../protocols/kafka/messages/create-topics.ts';
import * as heartbeat from '../../protocols/kafka/messages/heartbeat.ts';
import * as joinGroup from '../../protocols/kafka/messages/join-group.ts';
import * as offsetCommit from '../../protocols/kafka/messages/offset-commit.ts';
import * as syncGroup from '../../protocols/kafka/messages/sync-group.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { RequestClient } from './request-client.ts';

const MEMBERS = Number(process.argv[2] ?? 1_000);
const PARTITIONS = Number(process.argv[3] ?? 10_000);
/** Of the simulated members; Java's are 3 s and 5 s, which would hide what the hub takes. */
const HEARTBEAT_MS = 500;
const NONE = 0;
const REBALANCE_IN_PROGRESS = 27;
const MEMBER_ID_REQUIRED = 79;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What `work` costs the hub, and a bystander: what its requests take meanwhile. */
async function watched<Result>(port: number, work: () => Promise<Result>): Promise<Result> {
  const cpuBefore = hubCpuSeconds();
  const bystander = await RequestClient.open(port);
  const latencies: number[] = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const startMs = performance.now();
      await bystander.ask(18, 0, [apiVersions.ApiVersionsRequest, apiVersions.ApiVersionsResponse], {});
      latencies.push(performance.now() - startMs);
      await pause(2);
    }
  })();
  const result = await work();
  isOver = true;
  await watching;
  bystander.close();
  const sorted = latencies.sort((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(1);
  process.stdout.write(`  the hub takes ${(hubCpuSeconds() - cpuBefore).toFixed(2)} s of a processor\n`);
  process.stdout.write(`  a bystander waits ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms\n`);
  return result;
}

/** So far; 0 where the system does not say. A clock tick is 10 ms on every Linux that Node runs on. */
function hubCpuSeconds(): number {
  try {
    const fields = readFileSync(`/proc/${hub.pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** Resolves when as many have said `settled` of one generation as there are members. */
class Settling {
  readonly #byGeneration = new Map<number, Set<number>>();
  readonly done: Promise<void>;
  isDone = false;
  #resolve: () => void = () => undefined;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settled(generation: number, member: number): void {
    const members = this.#byGeneration.get(generation) ?? new Set();
    this.#byGeneration.set(generation, members.add(member));
    if (members.size < MEMBERS || this.isDone) return;
    this.isDone = true;
    this.#resolve();
  }
}

async function classicMember(client: RequestClient, index: number, settling: Settling): Promise<void> {
  const groupId = 'classic';
  let memberId = '';
  while (!settling.isDone) {
    const joined = await client.ask(11, 5, [joinGroup.JoinGroupRequest, joinGroup.JoinGroupResponse], {
      ...{
        groupId,
        memberId,
        sessionTimeoutMs: 30_000,
        rebalanceTimeoutMs: 30_000,
        protocolType: 'consumer',
      },
      protocols: [{ name: 'range', metadata: Buffer.alloc(64) }],
    });
    if (joined.errorCode === MEMBER_ID_REQUIRED) memberId = joined.memberId;
    if (joined.errorCode !== NONE) continue;
    const generationId = joined.generationId;
    const assignments = joined.members.map((member) => ({
      memberId: member.memberId,
      assignment: Buffer.alloc(64),
    }));
    const synced = await client.ask(14, 3, [syncGroup.SyncGroupRequest, syncGroup.SyncGroupResponse], {
      ...{ groupId, memberId, generationId, assignments },
    });
    if (synced.errorCode === NONE) settling.settled(generationId, index);
    for (let code: number = synced.errorCode; code !== REBALANCE_IN_PROGRESS && !settling.isDone; ) {
      await pause(HEARTBEAT_MS);
      const messages = [heartbeat.HeartbeatRequest, heartbeat.HeartbeatResponse] as const;
      code = (await client.ask(12, 3, messages, { groupId, memberId, generationId })).errorCode;
    }
  }
}

async function modernMember(client: RequestClient, index: number, settling: Settling): Promise<void> {
  const messages = [
    consumerHeartbeat.ConsumerGroupHeartbeatRequest,
    consumerHeartbeat.ConsumerGroupHeartbeatResponse,
  ] as const;
  const identity = { groupId: 'modern', memberId: `member-${index}` };
  const join = { memberEpoch: 0, rebalanceTimeoutMs: 30_000, subscribedTopicNames: ['members'] };
  let answer = await client.ask(68, 1, messages, { ...identity, ...join, topicPartitions: [] });
  let owned = answer.assignment?.topicPartitions ?? [];
  while (!settling.isDone) {
    const { memberEpoch } = answer;
    const count = owned.reduce((sum, { partitions }) => sum + partitions.length, 0);
    if (memberEpoch >= MEMBERS && count === 1) settling.settled(memberEpoch, index);
    await pause(HEARTBEAT_MS);
    answer = await client.ask(68, 1, messages, { ...identity, memberEpoch, topicPartitions: owned });
    if (answer.errorCode !== NONE)
      throw new Error(`${identity.memberId}: ${answer.errorCode} ${answer.errorMessage}`);
    owned = answer.assignment?.topicPartitions ?? owned;
  }
}

async function settle(
  port: number,
  title: string,
  member: (client: RequestClient, index: number, settling: Settling) => Promise<void>,
): Promise<void> {
  const clients = await Promise.all(Array.from({ length: MEMBERS }, () => RequestClient.open(port)));
  process.stdout.write(`${title}: ${MEMBERS} members\n`);
  await watched(port, async () => {
    const settling = new Settling();
    const startMs = performance.now();
    const members = clients.map((client, index) => member(client, index, settling));
    await Promise.race([settling.done, Promise.all(members)]);
    process.stdout.write(`  settled in ${((performance.now() - startMs) / 1_000).toFixed(2)} s\n`);
    await Promise.all(members);
  });
  for (const client of clients) client.close();
}

async function makeTopic(client: RequestClient, name: string, numPartitions: number): Promise<void> {
  const messages = [createTopics.CreateTopicsRequest, createTopics.CreateTopicsResponse] as const;
  const topic = { name, numPartitions, replicationFactor: -1, assignments: [], configs: [] };
  const { topics } = await client.ask(19, 5, messages, {
    topics: [topic],
    timeoutMs: 60_000,
    validateOnly: false,
  });
  if (topics[0]?.errorCode !== NONE) throw new Error(`${name}: ${topics[0]?.errorMessage}`);
}

/** Ten groups commit a tenth each, all at once. */
async function commitAll(port: number, topic: string): Promise<void> {
  const clients = await Promise.all(Array.from({ length: 10 }, () => RequestClient.open(port)));
  process.stdout.write(`commits: ${PARTITIONS} partitions, by ${clients.length} groups at once, 5 times\n`);
  await watched(port, async () => {
    const startMs = performance.now();
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        clients.map(async (client, index) => {
          const share = PARTITIONS / clients.length;
          const partitions = Array.from({ length: share }, (_, place) => ({
            ...{ partitionIndex: index * share + place, committedOffset: round, committedMetadata: '' },
          }));
          const request = {
            groupId: `commits-${index}`,
            memberId: '',
            topics: [{ name: topic, partitions }],
          };
          const messages = [offsetCommit.OffsetCommitRequest, offsetCommit.OffsetCommitResponse] as const;
          const { topics } = await client.ask(8, 6, messages, request);
          if (topics[0]?.partitions.some(({ errorCode }) => errorCode !== NONE))
            throw new Error('not committed');
        }),
      );
    }
    const rate = (5 * PARTITIONS) / ((performance.now() - startMs) / 1_000);
    process.stdout.write(`  ${Math.round(rate)} offsets/s\n`);
  });
  for (const client of clients) client.close();
}

const directory = temporaryDirectory();
const hub = await startHubProcess(directory.path, '[kafka]\ngroup_initial_rebalance_delay = "0s"\n');
try {
  const client = await RequestClient.open(hub.kafkaPort);
  await makeTopic(client, 'members', MEMBERS);
  await settle(hub.kafkaPort, 'classic protocol', classicMember);
  await settle(hub.kafkaPort, 'consumer protocol', modernMember);
  await makeTopic(client, 'commits', PARTITIONS);
  await commitAll(hub.kafkaPort, 'commits');
  client.close();
} finally {
  await hub.stop();
  directory.remove();
}
