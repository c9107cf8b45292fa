// Apache's tools for topics, configs, directories and the cluster: what they change is so, and what they show is true.
import { deepEqual, doesNotMatch, equal, match, rejects } from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { BrokerClient } from './differential/broker-client.ts';
import { kafkaTool } from './kafka-tools.ts';

const TOPICS = 'org.apache.kafka.tools.TopicCommand';
const CONFIGS = 'org.apache.kafka.tools.ConfigCommand';
const LOG_DIRS = 'org.apache.kafka.tools.LogDirsCommand';
const GET_OFFSETS = 'org.apache.kafka.tools.GetOffsetShell';
const CLUSTER = 'org.apache.kafka.tools.ClusterTool';
const REASSIGN = 'org.apache.kafka.tools.reassign.ReassignPartitionsCommand';
const ELECT = 'org.apache.kafka.tools.LeaderElectionCommand';
const TRANSACTIONS = 'org.apache.kafka.tools.TransactionsCommand';

const NODE = '1';

type Tool = (className: string, ...args: string[]) => Promise<string>;

/** Runs tools against the hub and returns what they say. */
function toolsOf(port: number): Tool {
  return async (className, ...args) => {
    const server = ['--bootstrap-server', `127.0.0.1:${port}`];
    return (await kafkaTool(className, [...server, ...args])).toString().trim();
  };
}

/** `name=value` of each config that kafka-configs lists. */
function configsIn(output: string): Record<string, string> {
  const lines = [...output.matchAll(/^ {2}(\S+?)=(.*?) sensitive=/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, value]));
}

const topicsAndConfigs: InteropCase = {
  name: "Apache's kafka-topics adds partitions, kafka-configs sets, shows and takes back what topics have",
  needs: ['kafka-tools'],
  async run(hub) {
    const tool = toolsOf(hub.kafkaPort);
    const topic = freshTopic('tools');
    const named = ['--topic', topic];
    await tool(TOPICS, '--create', ...named, '--partitions', '2', '--config', 'retention.ms=5000');
    await tool(TOPICS, '--alter', ...named, '--partitions', '4');
    const described = await tool(TOPICS, '--describe', ...named);
    match(described, /PartitionCount: 4\tReplicationFactor: 1\tConfigs: retention\.ms=5000$/m);
    equal(described.match(/Leader: 1\tReplicas: 1\tIsr: 1/g)?.length, 4);
    await rejects(tool(TOPICS, '--alter', ...named, '--partitions', '3'), /InvalidPartitions/);

    const entity = ['--entity-type', 'topics', '--entity-name', topic];
    const added = 'cleanup.policy=[compact,delete],max.message.bytes=2000';
    await tool(CONFIGS, '--alter', ...entity, '--add-config', added);
    await tool(CONFIGS, '--alter', ...entity, '--delete-config', 'retention.ms');
    deepEqual(configsIn(await tool(CONFIGS, '--describe', ...entity)), {
      'cleanup.policy': 'compact,delete',
      'max.message.bytes': '2000',
    });
    const all = configsIn(await tool(CONFIGS, '--describe', ...entity, '--all'));
    equal(Object.keys(all).length, 37);
    equal(all['retention.ms'], '604800000');
    const unhonoured = ['--add-config', 'preallocate=true'];
    await rejects(tool(CONFIGS, '--alter', ...entity, ...unhonoured), /has no effect here/);
  },
};

const brokerConfigs: InteropCase = {
  name: "Apache's kafka-configs shows what is true of the broker, and is told that a file says it",
  needs: ['kafka-tools'],
  async run(hub) {
    const tool = toolsOf(hub.kafkaPort);
    const entity = ['--entity-type', 'brokers', '--entity-name', NODE];
    const shown = configsIn(await tool(CONFIGS, '--describe', ...entity, '--all'));
    equal(shown['log.dirs'], hub.dataDirectory);
    equal(shown['advertised.listeners'], `kafka://127.0.0.1:${hub.kafkaPort}`);
    deepEqual([shown['num.partitions'], shown['default.replication.factor']], ['1', '1']);
    const change = ['--add-config', 'log.retention.ms=5000'];
    await rejects(tool(CONFIGS, '--alter', ...entity, ...change), /configuration file/);
  },
};

const directoriesAndOffsets: InteropCase = {
  name: "Apache's kafka-log-dirs, get-offsets, kafka-cluster and kafka-transactions show what is there",
  needs: ['kafka-tools'],
  async run(hub) {
    const tool = toolsOf(hub.kafkaPort);
    const topic = freshTopic('tools');
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic(topic);
    await raw.produce(topic, 0, recordBatch([{ key: null, value: Buffer.from('v'), headers: [] }]));
    raw.close();
    const directories = await tool(LOG_DIRS, '--describe', '--topic-list', topic);
    const size = new RegExp(`"partition":"${topic}-0","size":(\\d+)`).exec(directories)?.[1];
    equal(Number(size) > 0, true, directories);
    match(directories, new RegExp(`"logDir":"${hub.dataDirectory}"`));
    const offsetsAt = (time: string) => tool(GET_OFFSETS, '--topic', topic, '--time', time);
    equal(await offsetsAt('latest'), `${topic}:0:1`);
    equal(await offsetsAt('earliest-local'), `${topic}:0:0`);
    equal(await offsetsAt('latest-tiered'), '');
    const cluster = (command: string) =>
      kafkaTool(CLUSTER, [command, '--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`]);
    match(`${await cluster('cluster-id')}`, /^Cluster ID: \S+/);
    match(`${await cluster('list-endpoints')}`, new RegExp(`${hub.kafkaPort} .* unfenced +broker`));
    const producers = await tool(TRANSACTIONS, 'describe-producers', '--topic', topic, '--partition', '0');
    match(producers, /^ProducerId\tProducerEpoch/);
  },
};

const transactionsTool: InteropCase = {
  name: "Apache's kafka-transactions lists and describes what is open, finds nothing that hangs, and sees the hub's own abort",
  needs: ['kafka-tools'],
  async run(hub) {
    const tool = toolsOf(hub.kafkaPort);
    const topic = freshTopic('tools');
    const id = `${topic}-id`;
    await tool(TOPICS, '--create', '--topic', topic);
    const client = await BrokerClient.connect(hub.kafkaPort);
    const asked = { transactionalId: id, transactionTimeoutMs: 60_000 };
    const made = await client.ask('initProducerId', 4, asked);
    if (made === 'closed') throw new Error('the hub closed the connection');
    const { producerId, producerEpoch } = made;
    await client.ask('addPartitionsToTxn', 3, {
      ...{ v3AndBelowTransactionalId: id, v3AndBelowProducerId: producerId },
      ...{ v3AndBelowProducerEpoch: producerEpoch, v3AndBelowTopics: [{ name: topic, partitions: [0] }] },
    });
    match(await tool(TRANSACTIONS, 'list'), new RegExp(`^${id}\\s.*Ongoing`, 'm'));
    const described = await tool(TRANSACTIONS, 'describe', '--transactional-id', id);
    match(described, new RegExp(`${id}[^]*Ongoing[^]*${topic}-0`));
    doesNotMatch(await tool(TRANSACTIONS, 'find-hanging', '--broker-id', NODE), new RegExp(topic));
    const url = `${hub.adminUrl}/api/v1/transactions/${id}:abort`;
    equal((await fetch(url, { method: 'POST' })).status, 200);
    match(await tool(TRANSACTIONS, 'list'), new RegExp(`^${id}\\s.*CompleteAbort`, 'm'));
    client.close();
  },
};

const reassignments: InteropCase = {
  name: "Apache's kafka-reassign-partitions and kafka-leader-election find everything where it belongs",
  needs: ['kafka-tools'],
  async run(hub) {
    const tool = toolsOf(hub.kafkaPort);
    const topic = freshTopic('tools');
    await tool(TOPICS, '--create', '--topic', topic);
    const directory = mkdtempSync(join(tmpdir(), 'polylog-interop-'));
    try {
      const file = join(directory, 'reassignment.json');
      const partitions = [{ topic, partition: 0, replicas: [Number(NODE)] }];
      writeFileSync(file, JSON.stringify({ version: 1, partitions }));
      const plan = ['--reassignment-json-file', file];
      match(await tool(REASSIGN, '--execute', ...plan), /Successfully started/);
      match(await tool(REASSIGN, '--verify', ...plan), new RegExp(`${topic}-0 is completed`));
    } finally {
      rmSync(directory, { recursive: true });
    }
    match(await tool(REASSIGN, '--list'), /No partition reassignments found/);
    const election = ['--election-type', 'preferred', '--topic', topic, '--partition', '0'];
    match(await tool(ELECT, ...election), /Valid replica already elected/);
  },
};

export const topicTools: readonly InteropCase[] = [
  topicsAndConfigs,
  brokerConfigs,
  directoriesAndOffsets,
  reassignments,
  transactionsTool,
];
