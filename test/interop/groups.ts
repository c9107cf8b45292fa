// Consumer groups with Apache's tools: listed, described, reset and deleted; and its consumer with the new group
// protocol (KIP-848): two members and a rebalance, a classic group that is upgraded and goes back.
import { deepEqual, match } from 'node:assert/strict';
import type { Child } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { kafkaTool, startConsoleConsumer } from './kafka-tools.ts';

const GROUPS = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
const TOPICS = 'org.apache.kafka.tools.TopicCommand';

async function groups(hub: HubProcess, ...args: string[]): Promise<string> {
  return (await kafkaTool(GROUPS, ['--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`, ...args])).toString();
}

async function topicOfFour(hub: HubProcess, name: string): Promise<string> {
  const topic = freshTopic(name);
  const place = ['--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`, '--topic', topic];
  await kafkaTool(TOPICS, [...place, '--create', '--partitions', '4']);
  return topic;
}

/** One record to each of the four partitions. */
async function produceToAll(hub: HubProcess, topic: string, value: string): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  for (let partition = 0; partition < 4; partition++) {
    const record = { key: null, value: Buffer.from(`${value}-${partition}`), headers: [] };
    deepEqual((await raw.produce(topic, partition, recordBatch([record]))).error, 0);
  }
  raw.close();
}

/** How many partitions each member of the group has, once it is stable with so many. */
async function sharesOf(hub: HubProcess, group: string, ...shares: number[]): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const url = `${hub.adminUrl}/api/v1/groups/${group}/offsets`;
    const answer = (await (await fetch(url)).json()) as GroupAnswer;
    const counts = new Map<string, number>();
    for (const { memberId } of answer.partitions ?? [])
      if (memberId !== null) counts.set(memberId, (counts.get(memberId) ?? 0) + 1);
    const found = [...counts.values()].sort();
    if (answer.state === 'stable' && `${found}` === `${shares}`) return;
    if (attempt === 200) throw new Error(`${group} has ${found}, not ${shares}: ${JSON.stringify(answer)}`);
    // The members' heartbeats, five seconds apart, are what moves it.
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

interface GroupAnswer {
  readonly state?: string;
  readonly partitions?: readonly { readonly memberId: string | null }[];
}

const values = (consumers: readonly Child[], prefix: string): string[] =>
  consumers.flatMap(({ output }) => output.split('\n').filter((line) => line.startsWith(prefix))).sort();

const ofAll = (prefix: string): string[] => [0, 1, 2, 3].map((partition) => `${prefix}-${partition}`);

async function end(consumer: Child): Promise<void> {
  consumer.kill('SIGTERM');
  await consumer.finished;
}

const twoMembers: InteropCase = {
  name: "Apache's console consumers with group.protocol=consumer: two share, one leaves, nothing is lost or read twice",
  needs: ['kafka-tools'],
  async run(hub) {
    const topic = await topicOfFour(hub, 'shared');
    const group = `group-of-${topic}`;
    const start = () => startConsoleConsumer(hub.kafkaPort, topic, group, ['group.protocol=consumer']);
    const first = start();
    await sharesOf(hub, group, 4);
    await produceToAll(hub, topic, 'alone');
    await first.waitFor(/(?:alone-\d\s+){4}/);
    const second = start();
    await sharesOf(hub, group, 2, 2);
    await produceToAll(hub, topic, 'both');
    for (const consumer of [first, second]) await consumer.waitFor(/(?:both-\d\s+){2}/);
    const members = await groups(hub, '--describe', '--group', group, '--members', '--verbose');
    deepEqual(members.match(new RegExp(`^${group} `, 'gm'))?.length, 2);
    await end(second);
    await sharesOf(hub, group, 4);
    await produceToAll(hub, topic, 'left');
    await first.waitFor(/(?:left-\d\s+){4}/);
    await end(first);
    for (const prefix of ['alone', 'both', 'left']) deepEqual(values([first, second], prefix), ofAll(prefix));
  },
};

const upgrade: InteropCase = {
  name: "a group of Apache's classic consumer is upgraded by one of group.protocol=consumer, and goes back when that leaves",
  needs: ['kafka-tools'],
  async run(hub) {
    const topic = await topicOfFour(hub, 'upgraded');
    const group = `group-of-${topic}`;
    const classic = startConsoleConsumer(hub.kafkaPort, topic, group, ['group.protocol=classic']);
    await sharesOf(hub, group, 4);
    const modern = startConsoleConsumer(hub.kafkaPort, topic, group, ['group.protocol=consumer']);
    await sharesOf(hub, group, 2, 2);
    match(await groups(hub, '--list', '--type', 'consumer'), new RegExp(group));
    await produceToAll(hub, topic, 'both');
    for (const consumer of [classic, modern]) await consumer.waitFor(/(?:both-\d\s+){2}/);
    await end(modern);
    await sharesOf(hub, group, 4);
    await produceToAll(hub, topic, 'left');
    await classic.waitFor(/(?:left-\d\s+){4}/);
    await end(classic);
    for (const prefix of ['both', 'left']) deepEqual(values([classic, modern], prefix), ofAll(prefix));
  },
};

const resetting: InteropCase = {
  name: "Apache's kafka-consumer-groups resets the offsets of a group and describes them",
  needs: ['kafka-tools'],
  async run(hub) {
    const { topic, group } = await groupWithOffsets(hub);
    const reset = ['--reset-offsets', '--group', group, '--topic', topic, '--execute'];
    const described = async (): Promise<string> => groups(hub, '--describe', '--group', group, '--offsets');
    match(await described(), new RegExp(`${topic}\\s+3\\s+1\\s+1\\s+0\\s`));
    await groups(hub, ...reset, '--to-earliest');
    match(await described(), new RegExp(`${topic}\\s+3\\s+0\\s+1\\s+1\\s`));
  },
};

const deleting: InteropCase = {
  name: "Apache's kafka-consumer-groups lists groups, deletes offsets and groups",
  needs: ['kafka-tools'],
  async run(hub) {
    const { topic, group } = await groupWithOffsets(hub);
    match(
      await groups(hub, '--list', '--state', 'empty', '--type', 'classic'),
      new RegExp(`^${group} `, 'm'),
    );
    await groups(hub, '--delete-offsets', '--group', group, '--topic', `${topic}:3`);
    const described = await groups(hub, '--describe', '--group', group, '--offsets');
    deepEqual(new RegExp(`${topic}\\s+3\\s+1`).test(described), false);
    match(await groups(hub, '--delete', '--group', group), /successful/i);
    deepEqual((await groups(hub, '--list')).includes(group), false);
  },
};

/** Four partitions with a record each, and a group that has read them. */
async function groupWithOffsets(hub: HubProcess): Promise<{ topic: string; group: string }> {
  const topic = await topicOfFour(hub, 'admin');
  await produceToAll(hub, topic, 'v');
  const group = `group-of-${topic}`;
  await groups(hub, '--reset-offsets', '--group', group, '--topic', topic, '--execute', '--to-latest');
  return { topic, group };
}

export const groupCases: readonly InteropCase[] = [resetting, deleting, twoMembers, upgrade];
