// Finished clients over real sockets: kafkajs and @platformatic/kafka, from topic to committed offset.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  Admin,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
  ListOffsetTimestamps,
  Producer,
} from '@platformatic/kafka';
import { Encoder } from '@toondepauw/node-zstd';
import kafkajs, { type Consumer, type ConsumerRunConfig, type EachMessagePayload } from 'kafkajs';
import { compressFrameSync } from 'lz4-napi';
import { compress } from 'snappy';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { kafkajsOn, npmKafkaClients, type PlainRecord } from '../../helpers/kafka-clients.ts';
import { openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;
const noDecompress = async (): Promise<Buffer> =>
  Promise.reject(new Error('the hub sends nothing compressed'));
const codecs: Readonly<Record<number, (data: Buffer) => Promise<Buffer>>> = {
  [CompressionTypes.Snappy]: async (data) => (await compress(data)) as Buffer, // bytes in, bytes out
  [CompressionTypes.LZ4]: async (data) => compressFrameSync(data),
  [CompressionTypes.ZSTD]: (data) => new Encoder(3).encode(data),
};
for (const [type, encode] of Object.entries(codecs)) {
  CompressionCodecs[type as unknown as keyof typeof CompressionCodecs] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => encode(buffer),
    decompress: noDecompress,
  });
}

const text = (value: string): Buffer => Buffer.from(value);
const soon = { initialRetryTime: 20, retries: 10 };

let kafka: TestKafka;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

describe.each(npmKafkaClients)('$name', (client) => {
  test('produces to a topic that is made by first use, and consumes it in a group', async () => {
    const topic = `first-use-of-${client.name.replace(/\W/g, '')}`;
    const records: PlainRecord[] = [
      { key: text('k'), value: text('v'), headers: [['h', text('1')]] },
      { key: null, value: text(''), headers: [] },
      { key: text(''), value: null, headers: [] },
    ];
    await client.produce(kafka.port, topic, records);
    expect(await client.consume(kafka.port, `group-of-${topic}`, topic, 3)).toEqual(records);
  });
});

/** Records as they arrive, and a promise for the moment when a condition holds. */
class Arrivals {
  readonly values: string[] = [];
  readonly #waiting: { readonly isMet: (values: readonly string[]) => boolean; resolve(): void }[] = [];

  readonly eachMessage = async ({ message }: Pick<EachMessagePayload, 'message'>): Promise<void> => {
    this.values.push(`${message.value}`);
    for (const { isMet, resolve } of this.#waiting) if (isMet(this.values)) resolve();
  };

  until(isMet: (values: readonly string[]) => boolean): Promise<void> {
    if (isMet(this.values)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }));
  }
}

async function produce(
  topic: string,
  values: readonly string[],
  partition = 0,
  compression = 0,
): Promise<void> {
  const producer = kafkajsOn(kafka.port).producer({ retry: soon });
  await producer.connect();
  await producer.send({ topic, compression, messages: values.map((value) => ({ value, partition })) });
  await producer.disconnect();
}

async function consume(groupId: string, topic: string, config: ConsumerRunConfig): Promise<Consumer> {
  const consumer = kafkajsOn(kafka.port).consumer({
    groupId,
    heartbeatInterval: 50,
    retry: soon,
    maxWaitTimeInMs: 200,
  });
  onTestFinished(() => consumer.disconnect());
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run(config);
  return consumer;
}

describe('kafkajs', () => {
  test.each(['None', 'GZIP', 'Snappy', 'LZ4', 'ZSTD'] as const)('codec %s', async (name) => {
    const topic = `codec-${name}`;
    await kafka.createTopic(topic);
    const values = Array.from({ length: 100 }, (_, index) => `value ${index} `.repeat(20));
    await produce(topic, values, 0, CompressionTypes[name]);
    const arrivals = new Arrivals();
    await consume(`group-${topic}`, topic, arrivals);
    await arrivals.until(({ length }) => length === 100);
    expect(arrivals.values).toEqual(values);
  });

  test('two members share the partitions; when one leaves the other takes them over', async () => {
    await kafka.createTopic('shared', {}, 4);
    const [first, second] = [new Arrivals(), new Arrivals()];
    const assigned = (consumer: Consumer, partitions: number): Promise<void> =>
      new Promise((resolve) => {
        consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
          if (payload.memberAssignment['shared']?.length === partitions) resolve();
        });
      });
    const one = await consume('sharing', 'shared', first);
    const both = assigned(one, 2);
    const two = await consume('sharing', 'shared', second);
    await both;
    for (let partition = 0; partition < 4; partition++) await produce('shared', [`p${partition}`], partition);
    await Promise.all([first, second].map((arrivals) => arrivals.until(({ length }) => length === 2)));
    expect([...first.values, ...second.values].sort()).toEqual(['p0', 'p1', 'p2', 'p3']);
    const alone = assigned(one, 4);
    await two.disconnect();
    await alone;
    for (let partition = 0; partition < 4; partition++)
      await produce('shared', [`again ${partition}`], partition);
    await first.until((values) => values.filter((value) => value.startsWith('again')).length === 4);
  });

  test('a group goes on behind what it committed, and may seek back', async () => {
    await kafka.createTopic('resumed');
    await produce('resumed', ['a', 'b', 'c', 'd']);
    const first = new Arrivals();
    const stopped = await consume('resuming', 'resumed', { ...first, autoCommit: false });
    await first.until(({ length }) => length === 4);
    await stopped.commitOffsets([{ topic: 'resumed', partition: 0, offset: '2', metadata: 'half way' }]);
    await stopped.disconnect();
    expect(kafka.frontEnd.groups?.offsets('resuming')).toMatchObject([
      { committed: 2, metadata: 'half way' },
    ]);

    const second = new Arrivals();
    const resumed = await consume('resuming', 'resumed', second);
    await second.until(({ length }) => length === 2);
    expect(second.values).toEqual(['c', 'd']);
    resumed.seek({ topic: 'resumed', partition: 0, offset: '1' });
    await second.until(({ length }) => length === 5);
    expect(second.values).toEqual(['c', 'd', 'b', 'c', 'd']);
  });

  test('admin: creates, describes, lists offsets and deletes', async () => {
    const admin = kafkajsOn(kafka.port).admin({ retry: soon });
    onTestFinished(() => admin.disconnect());
    await admin.connect();
    expect(await admin.createTopics({ topics: [{ topic: 'made', numPartitions: 2 }] })).toBe(true);
    expect(await admin.createTopics({ topics: [{ topic: 'made' }] })).toBe(false);
    expect(await admin.listTopics()).toContain('made');
    const { topics } = await admin.fetchTopicMetadata({ topics: ['made'] });
    expect(topics[0]?.partitions.map(({ leader }) => leader)).toEqual([7, 7]);
    await produce('made', ['a', 'b'], 1);
    const offsets = await admin.fetchTopicOffsets('made');
    expect(offsets.map(({ partition, offset }) => [partition, offset]).sort()).toEqual([
      [0, '0'],
      [1, '2'],
    ]);
    expect((await admin.describeCluster()).brokers).toHaveLength(1);
    await admin.deleteTopics({ topics: ['made'] });
    expect(await admin.listTopics()).not.toContain('made');
  });

  test('admin: configs are described and altered, partitions added, offsets found by time', async () => {
    const admin = kafkajsOn(kafka.port).admin({ retry: soon });
    onTestFinished(() => admin.disconnect());
    await admin.connect();
    await kafka.createTopic('configured', { 'segment.ms': '5000' });
    const type = kafkajs.ConfigResourceTypes.TOPIC;
    const configValueOf = async (name: string) => {
      const resources = [{ type, name: 'configured', configNames: [name] }];
      const described = await admin.describeConfigs({ resources, includeSynonyms: true });
      return described.resources[0]?.configEntries.map(({ configValue }) => configValue);
    };
    expect(await configValueOf('segment.ms')).toEqual(['5000']);
    const configEntries = [{ name: 'retention.ms', value: '7000' }];
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type, name: 'configured', configEntries }],
    });
    expect(await configValueOf('retention.ms')).toEqual(['7000']);
    // AlterConfigs takes back what it does not name.
    expect(await configValueOf('segment.ms')).toEqual(['604800000']);
    const unhonoured = [{ name: 'preallocate', value: 'true' }];
    await expect(
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ type, name: 'configured', configEntries: unhonoured }],
      }),
    ).rejects.toMatchObject({ type: 'INVALID_CONFIG' });
    const broker = { type: kafkajs.ConfigResourceTypes.BROKER, name: '7', configNames: ['num.partitions'] };
    const ofBroker = await admin.describeConfigs({ resources: [broker], includeSynonyms: false });
    expect(ofBroker.resources[0]?.configEntries).toMatchObject([{ configValue: '1', readOnly: true }]);
    await admin.createPartitions({ topicPartitions: [{ topic: 'configured', count: 3 }] });
    await produce('configured', ['a', 'b'], 2);
    const offsets = await admin.fetchTopicOffsetsByTimestamp('configured', 0);
    expect(offsets.map(({ partition, offset }) => [partition, offset]).sort()).toEqual([
      [0, '0'],
      [1, '0'],
      [2, '0'],
    ]);
  });

  test('admin: groups are listed, described and deleted; records are deleted', async () => {
    const admin = kafkajsOn(kafka.port).admin({ retry: soon });
    onTestFinished(() => admin.disconnect());
    await admin.connect();
    const [topic, groupId] = ['administered', 'administering'];
    await kafka.createTopic(topic);
    await produce(topic, ['a', 'b', 'c']);
    const arrivals = new Arrivals();
    const consumer = await consume(groupId, topic, arrivals);
    await arrivals.until(({ length }) => length === 3);
    expect((await admin.listGroups()).groups).toContainEqual({ groupId, protocolType: 'consumer' });
    const [group] = (await admin.describeGroups([groupId])).groups;
    expect(group).toMatchObject({ state: 'Stable', protocol: 'RoundRobinAssigner', members: [{}] });
    await expect(admin.deleteGroups([groupId])).rejects.toMatchObject({
      groups: [{ groupId, error: { type: 'NON_EMPTY_GROUP' } }],
    });
    await consumer.disconnect();
    expect(await admin.fetchOffsets({ groupId, topics: [topic] })).toMatchObject([
      { partitions: [{ partition: 0, offset: '3' }] },
    ]);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '2' }] });
    expect(await admin.fetchTopicOffsets(topic)).toMatchObject([{ low: '2', high: '3' }]);
    await admin.deleteGroups([groupId]);
    expect((await admin.listGroups()).groups.map((each) => each.groupId)).not.toContain(groupId);
  });

  test('an offset is found by time, and a group set to it reads from there; another is reset to the start', async () => {
    const [topic, groupId] = ['timed', 'timing'];
    await kafka.createTopic(topic);
    const producer = kafkajsOn(kafka.port).producer({ retry: soon });
    const admin = kafkajsOn(kafka.port).admin({ retry: soon });
    onTestFinished(() => admin.disconnect());
    await Promise.all([producer.connect(), admin.connect()]);
    const startMs = Date.now();
    for (const index of [0, 1, 2])
      await producer.send({
        topic,
        messages: [{ value: `v${index}`, timestamp: `${startMs + index * 10}` }],
      });
    await producer.disconnect();
    const partitions = await admin.fetchTopicOffsetsByTimestamp(topic, startMs + 5);
    expect(partitions).toEqual([{ partition: 0, offset: '1' }]);
    expect(await admin.fetchTopicOffsetsByTimestamp(topic, startMs + 21)).toEqual([
      { partition: 0, offset: '3' },
    ]);
    // Each of the two takes the client five seconds of sleep.
    await Promise.all([
      admin.setOffsets({ groupId, topic, partitions }),
      admin.resetOffsets({ groupId: 'resetting', topic, earliest: true }),
    ]);
    const committed = await admin.fetchOffsets({
      groupId: 'resetting',
      topics: [topic],
      resolveOffsets: true,
    });
    expect(committed[0]?.partitions).toMatchObject([{ partition: 0, offset: '0' }]);
    const arrivals = new Arrivals();
    await consume(groupId, topic, arrivals);
    await arrivals.until(({ length }) => length === 2);
    expect(arrivals.values).toEqual(['v1', 'v2']);
  });

  test('an idempotent producer', async () => {
    await kafka.createTopic('idempotent');
    const producer = kafkajsOn(kafka.port).producer({
      idempotent: true,
      maxInFlightRequests: 1,
      retry: soon,
    });
    await producer.connect();
    for (const value of ['a', 'b']) await producer.send({ topic: 'idempotent', messages: [{ value }] });
    await producer.disconnect();
    expect(kafka.hub.topics.partition('idempotent', 0)?.highWatermark).toBe(2);
  });
});

describe('@platformatic/kafka', () => {
  test('admin creates and deletes, an idempotent producer writes', async () => {
    const connection = { clientId: 'test', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] };
    const admin = new Admin(connection);
    onTestFinished(() => admin.close());
    const made = await admin.createTopics({ topics: ['plain'], partitions: 2, replicas: 1 });
    expect(made).toMatchObject([{ name: 'plain', partitions: 2 }]);
    const producer = new Producer({ ...connection, idempotent: true });
    onTestFinished(() => producer.close());
    await producer.send({ messages: [{ topic: 'plain', partition: 1, value: text('v') }] });
    expect(kafka.hub.topics.partition('plain', 1)?.highWatermark).toBe(1);
    await admin.deleteTopics({ topics: ['plain'] });
    expect(kafka.hub.topics.get('plain')).toBeUndefined();
  });
});

test('@platformatic/kafka admin: configs, partitions, offsets and log directories', async () => {
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] });
  onTestFinished(() => admin.close());
  await kafka.createTopic('tuned');
  const topic = { resourceType: ConfigResourceTypes.TOPIC, resourceName: 'tuned' };
  await admin.incrementalAlterConfigs({
    resources: [
      {
        ...topic,
        configs: [
          { name: 'retention.ms', configOperation: IncrementalAlterConfigOperationTypes.SET, value: '7000' },
          {
            name: 'cleanup.policy',
            configOperation: IncrementalAlterConfigOperationTypes.APPEND,
            value: 'compact',
          },
        ],
      },
    ],
  });
  const keys = { configurationKeys: ['cleanup.policy', 'retention.ms'] };
  const described = await admin.describeConfigs({
    resources: [{ ...topic, ...keys }],
    includeDocumentation: true,
  });
  expect(described[0]?.configs.map(({ value, configType }) => [value, configType])).toEqual([
    ['delete,compact', 7],
    ['7000', 5],
  ]);
  await admin.alterConfigs({ resources: [{ ...topic, configs: [{ name: 'segment.ms', value: '9000' }] }] });
  expect(kafka.hub.topics.get('tuned')?.record.config).toEqual({ 'segment.ms': '9000' });
  await admin.createPartitions({ topics: [{ name: 'tuned', count: 2 }] });
  const partitions = [0, 1].map((partitionIndex) => ({
    partitionIndex,
    timestamp: ListOffsetTimestamps.LATEST,
  }));
  const [listed] = await admin.listOffsets({ topics: [{ name: 'tuned', partitions }] });
  expect(listed?.partitions.map(({ offset }) => offset)).toEqual([0n, 0n]);
  const [onBroker] = await admin.describeLogDirs({ topics: [{ name: 'tuned', partitions: [0, 1] }] });
  expect(onBroker?.results).toMatchObject([{ logDir: kafka.directory, topics: [{ name: 'tuned' }] }]);
});

test('clients come back after the hub was started again, and go on', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const before = await openTestKafka({ directory });
  await npmKafkaClients[0]!.produce(before.port, 'kept', [{ key: null, value: text('a'), headers: [] }]);
  await npmKafkaClients[0]!.consume(before.port, 'g', 'kept', 1);
  await before.close();
  const after = await openTestKafka({ directory });
  await npmKafkaClients[0]!.produce(after.port, 'kept', [{ key: null, value: text('b'), headers: [] }]);
  const [record] = await npmKafkaClients[1]!.consume(after.port, 'other', 'kept', 2);
  expect(`${record?.value}`).toBe('a');
  expect(after.frontEnd.groups?.offsets('g')).toMatchObject([{ topic: 'kept', committed: 1 }]);
});
