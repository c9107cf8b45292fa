// Metadata, CreateTopics, DeleteTopics, ListOffsets, FindCoordinator, DescribeCluster, InitProducerId over a socket.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { type KafkaSocket, openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, metadataOf, offsetsOf, produceOf } from './kafka-requests.ts';

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

const newName = (): string => `topic-${topicNumber++}`;

async function topicOf(partitions = 1) {
  const name = newName();
  const partition = await kafka.createTopic(name, {}, partitions);
  return { name, partition, client: await kafka.connect() };
}

const quiet = { allowAutoTopicCreation: false };

describe('Metadata', () => {
  const metadataVersions = Array.from({ length: 14 }, (_, version) => version);

  test.each(metadataVersions)('version %i shows the topic with its leader', async (version) => {
    const { name, client } = await topicOf(2);
    const { brokers, topics, controllerId } = await client.ask(api.metadata, version, metadataOf(name));
    expect(brokers).toMatchObject([{ nodeId: 7, host: '127.0.0.1', port: kafka.port }]);
    if (version >= 1) expect(controllerId).toBe(7);
    expect(topics).toMatchObject([{ name, errorCode: 0 }]);
    const partitions = topics[0]?.partitions.map(({ leaderId, replicaNodes, isrNodes }) => [
      leaderId,
      ...replicaNodes,
      ...isrNodes,
    ]);
    expect(partitions).toEqual([
      [7, 7, 7],
      [7, 7, 7],
    ]);
  });

  test('version 0: an empty list means all; later null means all and empty none', async () => {
    const { name, client } = await topicOf();
    const namesIn = async (version: number, topics: [] | null) =>
      (await client.ask(api.metadata, version, { topics })).topics.map((topic) => topic.name);
    expect(await namesIn(0, [])).toContain(name);
    expect(await namesIn(1, [])).toEqual([]);
    expect(await namesIn(1, null)).toContain(name);
    expect(await namesIn(12, null)).toContain('__consumer_offsets');
  });

  test('a missing topic is made only when the request allows it and the name is legal', async () => {
    const client = await kafka.connect();
    const name = newName();
    const codeOf = async (topic: string, options: object) =>
      (await client.ask(api.metadata, 4, { ...metadataOf(topic), ...options })).topics[0]?.errorCode;
    expect(await codeOf(name, quiet)).toBe(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
    expect(kafka.hub.topics.get(name)).toBeUndefined();
    expect(await codeOf('a/b', { allowAutoTopicCreation: true })).toBe(ERROR_CODES.INVALID_TOPIC_EXCEPTION);
    expect(await codeOf('a/b', quiet)).toBe(ERROR_CODES.INVALID_TOPIC_EXCEPTION);
    expect(await codeOf(name, { allowAutoTopicCreation: true })).toBe(0);
    expect(
      (await client.ask(api.metadata, 1, metadataOf(newName()))).topics[0]?.partitions[0]?.leaderId,
    ).toBe(7);
  });

  test('the hub’s configuration has the last word about making topics', async () => {
    const { connect } = await openTestKafka({ topics: { autoCreate: false } });
    const { topics } = await (await connect()).ask(api.metadata, 12, metadataOf('t'));
    expect(topics[0]?.errorCode).toBe(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  });

  test('by topic id from version 12', async () => {
    const { partition, name, client } = await topicOf();
    const unknown = '00000000-0000-0000-0000-000000000112';
    const asked = {
      topics: [
        { name: null, topicId: partition.topicId },
        { name: null, topicId: unknown },
      ],
      ...quiet,
    };
    const { topics } = await client.ask(api.metadata, 12, asked);
    expect(topics).toMatchObject([
      { name, topicId: partition.topicId, errorCode: 0 },
      { name: null, topicId: unknown, errorCode: ERROR_CODES.UNKNOWN_TOPIC_ID },
    ]);
    const before = await client.ask(api.metadata, 10, asked);
    expect(before.topics.map(({ errorCode }) => errorCode)).toEqual(
      Array(2).fill(ERROR_CODES.INVALID_REQUEST),
    );
  });

  test('a topic named twice is shown once; each has its own error', async () => {
    const { name, client } = await topicOf();
    const { topics } = await client.ask(api.metadata, 9, {
      ...metadataOf(name, 'nope', name, 'a b'),
      ...quiet,
    });
    expect(topics.map((topic) => [topic.name, topic.errorCode])).toEqual([
      [name, 0],
      ['nope', ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION],
      ['a b', ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    ]);
  });

  test('authorized operations are told when asked for (KIP-430)', async () => {
    const { name, client } = await topicOf();
    const asked = { includeTopicAuthorizedOperations: true, includeClusterAuthorizedOperations: true };
    const answer = await client.ask(api.metadata, 8, { ...metadataOf(name), ...asked });
    expect([answer.topics[0]?.topicAuthorizedOperations, answer.clusterAuthorizedOperations]).toEqual([
      0b1101_1111_1000, 0b1_1111_1010_0000,
    ]);
    const silent = await client.ask(api.metadata, 8, metadataOf(name));
    expect(silent.topics[0]?.topicAuthorizedOperations).toBe(-0x8000_0000);
  });
});

describe('CreateTopics', () => {
  type Topic = Parameters<typeof create>[1];

  async function create(
    client: KafkaSocket,
    topic: { name: string; numPartitions?: number; replicationFactor?: number; [more: string]: unknown },
    options: { version?: number; validateOnly?: boolean } = {},
  ) {
    const whole = { numPartitions: -1, replicationFactor: -1, assignments: [], configs: [], ...topic };
    const request = { topics: [whole], timeoutMs: 10_000, validateOnly: options.validateOnly ?? false };
    return (await client.ask(api.createTopics, options.version ?? 7, request)).topics[0]!;
  }

  test('−1 is the default; the answer shows what was made', async () => {
    const client = await kafka.connect();
    const name = newName();
    const made = await create(client, { name, configs: [{ name: 'max.message.bytes', value: '5000' }] });
    expect(made).toMatchObject({ errorCode: 0, errorMessage: null, numPartitions: 1, replicationFactor: 1 });
    expect(made.topicId).toBe(kafka.hub.topics.get(name)?.topicId);
    expect(made.configs).toContainEqual(
      expect.objectContaining({ name: 'max.message.bytes', value: '5000', configSource: 1 }),
    );
    expect((await create(client, { name })).errorCode).toBe(ERROR_CODES.TOPIC_ALREADY_EXISTS);
  });

  test('validate-only makes nothing', async () => {
    const client = await kafka.connect();
    const name = newName();
    expect(await create(client, { name, numPartitions: 3 }, { validateOnly: true })).toMatchObject({
      ...{ errorCode: 0, numPartitions: 3, topicId: expect.any(String) },
    });
    expect(kafka.hub.topics.get(name)).toBeUndefined();
  });

  test('the log says why a topic was refused, and nothing of one that exists', async () => {
    const client = await kafka.connect();
    const name = newName();
    const configs = [{ name: 'compression.type', value: 'zstd' }];
    const { errorMessage } = await create(client, { name, configs });
    await create(client, { name });
    await create(client, { name });
    const logged = kafka.log.entries.filter(({ fields }) => 'topic' in fields && fields.topic === name);
    expect(logged).toMatchObject([
      { level: 'warn', event: 'kafka-topic-refused', fields: { reason: errorMessage } },
      { level: 'info', event: 'topic-created' },
    ]);
    expect(errorMessage).toContain('compression.type');
  });

  const refused: [string, number, Omit<Topic, 'name'> & { name?: string }][] = [
    ['a name that is not legal', ERROR_CODES.INVALID_TOPIC_EXCEPTION, { name: 'a/b' }],
    ['no partitions', ERROR_CODES.INVALID_PARTITIONS, { numPartitions: 0 }],
    ['more replicas than nodes', ERROR_CODES.INVALID_REPLICATION_FACTOR, { replicationFactor: 3 }],
    ['an unknown config', ERROR_CODES.INVALID_CONFIG, { configs: [{ name: 'no.such', value: '1' }] }],
    [
      'a config without value',
      ERROR_CODES.INVALID_CONFIG,
      { configs: [{ name: 'retention.ms', value: null }] },
    ],
    [
      'an assignment with a gap',
      ERROR_CODES.INVALID_REPLICA_ASSIGNMENT,
      { assignments: [{ partitionIndex: 1, brokerIds: [7] }] },
    ],
    [
      'an assignment to another node',
      ERROR_CODES.INVALID_REPLICA_ASSIGNMENT,
      { assignments: [{ partitionIndex: 0, brokerIds: [8] }] },
    ],
    [
      'an assignment and a number',
      ERROR_CODES.INVALID_REQUEST,
      { numPartitions: 1, assignments: [{ partitionIndex: 0, brokerIds: [7] }] },
    ],
  ];
  test.each(refused)('%s is refused', async (_title, errorCode, topic) => {
    const answer = await create(await kafka.connect(), { name: newName(), ...topic });
    expect(answer).toMatchObject({ errorCode, numPartitions: -1 });
    expect(answer.errorMessage).not.toBeNull();
  });

  test('an assignment to this node says how many partitions', async () => {
    const assignments = [0, 1, 2].map((partitionIndex) => ({ partitionIndex, brokerIds: [7] }));
    const answer = await create(await kafka.connect(), { name: newName(), assignments });
    expect(answer).toMatchObject({ errorCode: 0, numPartitions: 3 });
  });

  test('good and bad topics have results of their own; a name given twice is made by none', async () => {
    const client = await kafka.connect();
    const [good, twice] = [newName(), newName()];
    const topics = [good, twice, 'a/b', twice].map((name) => ({
      ...{ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] },
    }));
    const answer = await client.ask(api.createTopics, 2, { topics, timeoutMs: 10_000, validateOnly: false });
    expect(answer.topics.map(({ name, errorCode }) => [name, errorCode])).toEqual([
      [good, 0],
      [twice, ERROR_CODES.INVALID_REQUEST],
      ['a/b', ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    ]);
    expect(kafka.hub.topics.get(twice)).toBeUndefined();
    const { topics: shown } = await client.ask(api.metadata, 4, { ...metadataOf(good), ...quiet });
    expect(shown[0]?.partitions[0]?.leaderId).toBe(7);
  });
});

describe('DeleteTopics', () => {
  test('by name: deleted, unknown and repeated each have a result', async () => {
    const [one, two] = [await topicOf(), await topicOf()];
    const { client } = one;
    const asked = { topicNames: [one.name, 'nope', two.name, two.name], timeoutMs: 5_000 };
    const { responses } = await client.ask(api.deleteTopics, 5, asked);
    expect(responses.map(({ name, errorCode }) => [name, errorCode])).toEqual([
      [one.name, 0],
      ['nope', ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION],
      [two.name, ERROR_CODES.INVALID_REQUEST],
    ]);
    expect(kafka.hub.topics.get(one.name)).toBeUndefined();
    expect(kafka.hub.topics.get(two.name)).toBeDefined();
  });

  test('by id, from version 6; the topic made again is another', async () => {
    const { name, partition, client } = await topicOf();
    const { topicId } = partition;
    const unknown = '00000000-0000-0000-0000-000000000112';
    const topics = [{ topicId }, { topicId: unknown }, {}, { name: 'x', topicId: unknown }].map((topic) => ({
      ...{ name: null, topicId: '00000000-0000-0000-0000-000000000000', ...topic },
    }));
    const { responses } = await client.ask(api.deleteTopics, 6, { topics, timeoutMs: 5_000 });
    expect(responses.map(({ errorCode }) => errorCode)).toEqual([
      ...[0, ERROR_CODES.UNKNOWN_TOPIC_ID, ERROR_CODES.INVALID_REQUEST, ERROR_CODES.INVALID_REQUEST],
    ]);
    expect(responses[0]).toMatchObject({ name, topicId });
    const { topicId: againId } = await kafka.createTopic(name);
    const byBoth = [
      { name, topicId: '00000000-0000-0000-0000-000000000000' },
      { name: null, topicId: againId },
    ];
    const twice = await client.ask(api.deleteTopics, 6, { topics: byBoth, timeoutMs: 5_000 });
    expect(twice.responses).toMatchObject([
      { name, topicId: againId, errorCode: ERROR_CODES.INVALID_REQUEST },
    ]);
    expect(againId).not.toBe(topicId);
  });

  test('the hub’s own topics stay', async () => {
    const client = await kafka.connect();
    const { responses } = await client.ask(api.deleteTopics, 1, {
      topicNames: ['__consumer_offsets'],
      timeoutMs: 1,
    });
    expect(responses[0]?.errorCode).toBe(ERROR_CODES.INVALID_REQUEST);
  });
});

describe('ListOffsets', () => {
  const T = 1_700_000_000_000;

  test('ends, times and the largest timestamp', async () => {
    const { name, client } = await topicOf();
    const records = [0, 1, 2].map((index) => ({ key: null, value: Buffer.of(index), headers: [] }));
    await client.ask(
      api.produce,
      7,
      produceOf(name, recordBatch(records, { timestampsMs: [T, T + 50, T + 50] })),
    );
    const found = async (timestamp: number, version = 7) => {
      const { topics } = await client.ask(api.listOffsets, version, offsetsOf(name, timestamp));
      const { errorCode, offset, timestamp: at } = topics[0]!.partitions[0]!;
      return [errorCode, offset, at];
    };
    expect(await found(-1)).toEqual([0, 3, -1]);
    expect(await found(-2)).toEqual([0, 0, -1]);
    expect(await found(-3)).toEqual([0, 1, T + 50]);
    expect(await found(T + 1)).toEqual([0, 1, T + 50]);
    expect(await found(T + 51)).toEqual([0, -1, -1]);
    expect(await found(-3, 6)).toEqual([ERROR_CODES.UNSUPPORTED_VERSION, -1, -1]);
    expect(await found(-4)).toEqual([ERROR_CODES.UNSUPPORTED_VERSION, -1, -1]);
  });

  test('an empty partition has ends and no times', async () => {
    const { name, client } = await topicOf();
    const offsets = [];
    for (const timestamp of [-1, -2, -3, 0]) {
      const { topics } = await client.ask(api.listOffsets, 7, offsetsOf(name, timestamp));
      offsets.push(topics[0]?.partitions[0]?.offset);
    }
    expect(offsets).toEqual([0, 0, -1, -1]);
  });

  test('faults are the partition’s own; one named twice is refused', async () => {
    const { name, client } = await topicOf();
    const partitions = [0, 9, 0].map((partitionIndex) => ({ partitionIndex, timestamp: -1 }));
    const topics = [
      { name, partitions },
      { name: 'nope', partitions: partitions.slice(0, 1) },
    ];
    const answer = await client.ask(api.listOffsets, 5, { replicaId: -1, isolationLevel: 0, topics });
    expect(answer.topics.map((topic) => topic.partitions.map(({ errorCode }) => errorCode))).toEqual([
      [ERROR_CODES.INVALID_REQUEST, 3],
      [3],
    ]);
  });
});

describe('the cluster', () => {
  test('FindCoordinator names this node, one by one or many at once', async () => {
    const client = await kafka.connect();
    const here = { nodeId: 7, host: '127.0.0.1', port: kafka.port, errorCode: 0 };
    for (const version of [0, 1, 3])
      expect(await client.ask(api.findCoordinator, version, { key: 'g' })).toMatchObject(here);
    const { coordinators } = await client.ask(api.findCoordinator, 4, {
      keyType: 0,
      coordinatorKeys: ['a', 'b'],
    });
    expect(coordinators).toMatchObject([
      { key: 'a', ...here },
      { key: 'b', ...here },
    ]);
  });

  test('producer ids are never given twice', async () => {
    const client = await kafka.connect();
    const asked = Array.from(
      { length: 20 },
      () => [api.initProducerId, 2, { transactionalId: null, transactionTimeoutMs: 0 }] as const,
    );
    const answers = await client.askAtOnce(asked);
    expect(new Set(answers.map(({ producerId }) => producerId)).size).toBe(20);
    expect(answers.every(({ producerEpoch, errorCode }) => producerEpoch === 0 && errorCode === 0)).toBe(
      true,
    );
  });

  test('DescribeCluster shows brokers, and refuses to show controllers', async () => {
    const client = await kafka.connect();
    const asked = { includeClusterAuthorizedOperations: false };
    const brokers = [{ brokerId: 7, host: '127.0.0.1', port: kafka.port, rack: null }];
    expect(await client.ask(api.describeCluster, 0, asked)).toMatchObject({ controllerId: 7, brokers });
    const controllers = await client.ask(api.describeCluster, 1, { ...asked, endpointType: 2 });
    expect(controllers.errorCode).toBe(ERROR_CODES.MISMATCHED_ENDPOINT_TYPE);
  });
});
