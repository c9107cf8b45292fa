// DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, CreatePartitions and what configs do, over a socket.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { type KafkaSocket, openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, metadataOf, produceOf } from './kafka-requests.ts';

const TOPIC = 2;
const BROKER = 4;
const NODE = '7';

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka({ topics: { config: { 'segment.ms': '3600000' } } });
});
afterAll(() => kafka.close());

async function topicOf(config: Record<string, string> = {}, partitions = 1) {
  const name = `topic-${topicNumber++}`;
  await kafka.createTopic(name, config, partitions);
  return { name, client: await kafka.connect() };
}

async function describeOf(
  client: KafkaSocket,
  resourceType: number,
  resourceName: string,
  options: { keys?: string[] | null; version?: number; synonyms?: boolean; documentation?: boolean } = {},
) {
  const { keys = null, version = 4, synonyms = false, documentation = false } = options;
  const { results } = await client.ask(api.describeConfigs, version, {
    resources: [{ resourceType, resourceName, configurationKeys: keys }],
    includeSynonyms: synonyms,
    ...(version >= 3 ? { includeDocumentation: documentation } : {}),
  });
  return results[0]!;
}

async function valuesOf(client: KafkaSocket, topic: string, ...keys: string[]) {
  const { configs } = await describeOf(client, TOPIC, topic, { keys });
  return Object.fromEntries(configs.map(({ name, value }) => [name, value]));
}

type Operation = readonly [name: string, configOperation: number, value: string | null];
const [SET, DELETE, APPEND, SUBTRACT] = [0, 1, 2, 3] as const;

async function alter(
  client: KafkaSocket,
  resourceType: number,
  resourceName: string,
  operations: readonly Operation[],
  validateOnly = false,
) {
  const configs = operations.map(([name, configOperation, value]) => ({ name, configOperation, value }));
  const resources = [{ resourceType, resourceName, configs }];
  const request = { resources, validateOnly };
  return (await client.ask(api.incrementalAlterConfigs, 1, request)).responses[0]!;
}

describe('DescribeConfigs', () => {
  test.each([1, 2, 3, 4])(
    'version %i shows every config of a topic with where it comes from',
    async (version) => {
      const { name, client } = await topicOf({ 'retention.ms': '5000' });
      const { errorCode, configs } = await describeOf(client, TOPIC, name, { version });
      expect(errorCode).toBe(0);
      expect(configs).toHaveLength(37);
      const shown = configs.map((each) => [each.name, each.value, each.configSource, each.readOnly]);
      expect(shown).toContainEqual(['retention.ms', '5000', 1, false]);
      expect(shown).toContainEqual(['segment.ms', '3600000', 4, false]);
      expect(shown).toContainEqual(['cleanup.policy', 'delete', 5, false]);
      expect(shown).toContainEqual(['preallocate', 'false', 5, false]);
    },
  );

  test('types and documentation are told from version 3 on, the latter when asked for', async () => {
    const { name, client } = await topicOf();
    const typesOf = async (version: number) =>
      (await describeOf(client, TOPIC, name, { version, documentation: true })).configs
        .filter((each) => ['cleanup.policy', 'retention.ms', 'preallocate'].includes(each.name))
        .map(({ configType, documentation }) => [configType, (documentation ?? '').length > 10]);
    expect(await typesOf(3)).toEqual([
      [7, true],
      [1, true],
      [5, true],
    ]);
    const silent = await describeOf(client, TOPIC, name, { keys: ['retention.ms'] });
    expect(silent.configs[0]?.documentation).toBeNull();
  });

  test('synonyms are what would count if the value before were not there', async () => {
    const { name, client } = await topicOf({ 'segment.ms': '5' });
    const { configs } = await describeOf(client, TOPIC, name, { keys: ['segment.ms'], synonyms: true });
    expect(configs[0]?.synonyms).toEqual([
      { name: 'segment.ms', value: '5', source: 1 },
      { name: 'log.roll.ms', value: '3600000', source: 4 },
    ]);
    const { configs: other } = await describeOf(client, TOPIC, name, {
      keys: ['preallocate'],
      synonyms: true,
    });
    expect(other[0]?.synonyms).toEqual([{ name: 'log.preallocate', value: 'false', source: 5 }]);
  });

  test('a resource named twice is described once', async () => {
    const { name, client } = await topicOf();
    const resource = { resourceType: TOPIC, resourceName: name, configurationKeys: null };
    const asked = { resources: [resource, resource], includeSynonyms: false };
    expect((await client.ask(api.describeConfigs, 2, asked)).results).toHaveLength(1);
  });

  test('keys choose; unknown ones are not there; none is all', async () => {
    const { name, client } = await topicOf();
    const namesOf = async (keys: string[] | null) =>
      (await describeOf(client, TOPIC, name, { keys })).configs.map((each) => each.name);
    expect(await namesOf(['retention.ms', 'no.such'])).toEqual(['retention.ms']);
    expect(await namesOf([])).toEqual(await namesOf(null));
  });

  test('the node is described with what is true, and nothing of it can be changed', async () => {
    const client = await kafka.connect();
    const { configs } = await describeOf(client, BROKER, NODE);
    expect(configs.every(({ readOnly }) => readOnly)).toBe(true);
    const address = `kafka://127.0.0.1:${kafka.port}`;
    expect(Object.fromEntries(configs.map(({ name, value }) => [name, value]))).toMatchObject({
      'advertised.listeners': address,
      'auto.create.topics.enable': 'true',
      'default.replication.factor': '1',
      listeners: address,
      'log.dirs': kafka.directory,
      'log.retention.ms': '604800000',
      'log.roll.ms': '3600000',
      'message.max.bytes': '1048588',
      'min.insync.replicas': '1',
      'node.id': NODE,
      'num.partitions': '1',
    });
    expect(await describeOf(client, BROKER, '')).toMatchObject({ errorCode: 0, configs: [] });
  });

  test.each([
    [TOPIC, '', ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    [TOPIC, 'a/b', ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    [TOPIC, 'nope', ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION],
    [BROKER, '4711', ERROR_CODES.INVALID_REQUEST],
    [BROKER, 'abc', ERROR_CODES.INVALID_REQUEST],
    [8, '', ERROR_CODES.INVALID_REQUEST],
    [16, '', ERROR_CODES.INVALID_REQUEST],
    [32, '', ERROR_CODES.INVALID_REQUEST],
    [0, 'x', ERROR_CODES.INVALID_REQUEST],
    [99, 'x', ERROR_CODES.INVALID_REQUEST],
  ])('resource type %i "%s" is answered with %i', async (resourceType, name, code) => {
    const answer = await describeOf(await kafka.connect(), resourceType, name);
    expect(answer).toMatchObject({ errorCode: code, errorMessage: expect.any(String), configs: [] });
  });
});

describe('IncrementalAlterConfigs', () => {
  test('sets, deletes, appends and subtracts', async () => {
    const { name, client } = await topicOf();
    const values = () => valuesOf(client, name, 'retention.ms', 'cleanup.policy');
    await alter(client, TOPIC, name, [
      ['retention.ms', SET, '5'],
      ['cleanup.policy', APPEND, 'compact'],
    ]);
    expect(await values()).toEqual({ 'retention.ms': '5', 'cleanup.policy': 'delete,compact' });
    await alter(client, TOPIC, name, [
      ['retention.ms', DELETE, null],
      ['cleanup.policy', SUBTRACT, 'delete'],
    ]);
    expect(await values()).toEqual({ 'retention.ms': '604800000', 'cleanup.policy': 'compact' });
  });

  test.each<[string, readonly Operation[], number]>([
    ['an unknown name', [['no.such', SET, '1']], ERROR_CODES.INVALID_CONFIG],
    ['a value out of range', [['retention.ms', SET, 'soon']], ERROR_CODES.INVALID_CONFIG],
    ['a value without effect', [['preallocate', SET, 'true']], ERROR_CODES.INVALID_CONFIG],
    ['an addition to a number', [['retention.ms', APPEND, '5']], ERROR_CODES.INVALID_CONFIG],
    ['no value', [['retention.ms', SET, null]], ERROR_CODES.INVALID_REQUEST],
    ['an unknown operation', [['retention.ms', 9, '5']], ERROR_CODES.INVALID_REQUEST],
    [
      'a name twice',
      [
        ['retention.ms', SET, '5'],
        ['retention.ms', DELETE, null],
      ],
      ERROR_CODES.INVALID_REQUEST,
    ],
    [
      'one of two that is wrong',
      [
        ['retention.ms', SET, '5'],
        ['no.such', SET, '1'],
      ],
      ERROR_CODES.INVALID_CONFIG,
    ],
    [
      'lags that contradict each other',
      [
        ['min.compaction.lag.ms', SET, '9'],
        ['max.compaction.lag.ms', SET, '8'],
      ],
      ERROR_CODES.INVALID_CONFIG,
    ],
  ])('%s changes nothing', async (_title, operations, code) => {
    const { name, client } = await topicOf();
    expect((await alter(client, TOPIC, name, operations)).errorCode).toBe(code);
    expect(kafka.hub.topics.get(name)?.record.config).toEqual({});
  });

  test('a deletion of what nobody set, an empty change and a validation change nothing', async () => {
    const { name, client } = await topicOf();
    expect((await alter(client, TOPIC, name, [['no.such', DELETE, null]])).errorCode).toBe(0);
    expect((await alter(client, TOPIC, name, [])).errorCode).toBe(0);
    expect((await alter(client, TOPIC, name, [['retention.ms', SET, '5']], true)).errorCode).toBe(0);
    expect(kafka.hub.topics.get(name)?.record.config).toEqual({});
  });

  test.each([
    [TOPIC, 'nope', ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION],
    [TOPIC, 'a/b', ERROR_CODES.INVALID_TOPIC_EXCEPTION],
    [TOPIC, '', ERROR_CODES.INVALID_REQUEST],
    [TOPIC, '__consumer_offsets', ERROR_CODES.INVALID_REQUEST],
    [BROKER, NODE, ERROR_CODES.INVALID_REQUEST],
    [BROKER, '', ERROR_CODES.INVALID_REQUEST],
    [BROKER, '4711', ERROR_CODES.INVALID_REQUEST],
    [8, NODE, ERROR_CODES.INVALID_REQUEST],
    [16, 'x', ERROR_CODES.INVALID_REQUEST],
    [32, 'g', ERROR_CODES.INVALID_REQUEST],
    [77, 'x', ERROR_CODES.INVALID_REQUEST],
  ])('resource type %i "%s" is refused with %i', async (resourceType, name, code) => {
    const answer = await alter(await kafka.connect(), resourceType, name, [['retention.ms', SET, '5']]);
    expect(answer).toMatchObject({ errorCode: code, errorMessage: expect.any(String) });
  });

  test('taking back what no broker can have is no change, and no fault', async () => {
    const client = await kafka.connect();
    const throttle = ['leader.replication.throttled.rate', DELETE, null] as const;
    expect((await alter(client, BROKER, NODE, [throttle])).errorCode).toBe(0);
    expect((await alter(client, BROKER, NODE, [throttle, ['num.partitions', SET, '3']])).errorCode).toBe(42);
  });

  test('a resource named twice is changed by neither, the others are', async () => {
    const { name, client } = await topicOf();
    const other = await topicOf();
    const resourceOf = (resourceName: string) => ({
      ...{ resourceType: TOPIC, resourceName },
      configs: [{ name: 'retention.ms', configOperation: SET, value: '5' }],
    });
    const resources = [resourceOf(name), resourceOf(other.name), resourceOf(name)];
    const { responses } = await client.ask(api.incrementalAlterConfigs, 0, {
      resources,
      validateOnly: false,
    });
    expect(responses.map(({ errorCode }) => errorCode)).toEqual([42, 0, 42]);
    expect(await valuesOf(client, other.name, 'retention.ms')).toEqual({ 'retention.ms': '5' });
  });
});

test.each([0, 1, 2])('AlterConfigs %i: what is not named goes back to its default', async (version) => {
  const { name, client } = await topicOf({ 'retention.ms': '5', 'max.message.bytes': '4000' });
  const replace = async (configs: { name: string; value: string | null }[]) => {
    const resources = [{ resourceType: TOPIC, resourceName: name, configs }];
    return (await client.ask(api.alterConfigs, version, { resources, validateOnly: false })).responses[0];
  };
  expect(await replace([{ name: 'max.message.bytes', value: '5000' }])).toMatchObject({ errorCode: 0 });
  expect(kafka.hub.topics.get(name)?.record.config).toEqual({ 'max.message.bytes': '5000' });
  expect(await replace([{ name: 'retention.ms', value: null }])).toMatchObject({ errorCode: 42 });
  expect(await replace([{ name: 'no.such', value: '1' }])).toMatchObject({ errorCode: 40 });
  expect(kafka.hub.topics.get(name)?.record.config).toEqual({ 'max.message.bytes': '5000' });
});

describe('a config in effect', () => {
  async function produceCode(client: KafkaSocket, topic: string, acks: number, timestampMs = Date.now()) {
    const batch = recordBatch([{ key: null, value: Buffer.alloc(3000), headers: [] }], {
      timestampsMs: [timestampMs],
    });
    const { responses } = await client.ask(api.produce, 8, produceOf(topic, batch, { acks }));
    return responses[0]?.partitionResponses[0];
  }

  test('max.message.bytes counts from the answer on', async () => {
    const { name, client } = await topicOf();
    expect(await produceCode(client, name, -1)).toMatchObject({ errorCode: 0 });
    await alter(client, TOPIC, name, [['max.message.bytes', SET, '1000']]);
    expect(await produceCode(client, name, -1)).toMatchObject({ errorCode: 10 });
  });

  test('min.insync.replicas above 1: acks=all is refused, acks=1 is not', async () => {
    const { name, client } = await topicOf({ 'min.insync.replicas': '2' });
    expect(await produceCode(client, name, -1)).toMatchObject({ errorCode: 19 });
    expect(await produceCode(client, name, 1)).toMatchObject({ errorCode: 0, baseOffset: 0 });
  });

  test('message.timestamp.before.max.ms and after.max.ms bound what producers say (KIP-937)', async () => {
    const { name, client } = await topicOf({
      'message.timestamp.before.max.ms': '60000',
      'message.timestamp.after.max.ms': '120000',
    });
    const codeAt = async (deltaMs: number) =>
      (await produceCode(client, name, -1, Date.now() + deltaMs))?.errorCode;
    expect(await codeAt(-30_000)).toBe(0);
    expect(await codeAt(90_000)).toBe(0);
    expect(await codeAt(-90_000)).toBe(ERROR_CODES.INVALID_TIMESTAMP);
    expect(await codeAt(150_000)).toBe(ERROR_CODES.INVALID_TIMESTAMP);
    const answer = await produceCode(client, name, -1, Date.now() - 90_000);
    expect(answer?.recordErrors).toMatchObject([{ batchIndex: 0 }]);
  });

  test('an empty cleanup.policy takes records without a key', async () => {
    const { name, client } = await topicOf({ 'cleanup.policy': '' });
    expect(await produceCode(client, name, -1)).toMatchObject({ errorCode: 0 });
  });
});

describe('CreatePartitions', () => {
  async function extend(
    client: KafkaSocket,
    topics: readonly [name: string, count: number, assignments?: readonly number[][] | null][],
    { version = 3, validateOnly = false } = {},
  ) {
    const { results } = await client.ask(api.createPartitions, version, {
      topics: topics.map(([name, count, assignments]) => ({
        ...{ name, count },
        assignments: assignments?.map((brokerIds) => ({ brokerIds })) ?? null,
      })),
      ...{ timeoutMs: 5000, validateOnly },
    });
    return results.map(({ name, errorCode }) => [name, errorCode]);
  }

  test.each([0, 1, 2, 3])('version %i: the new partitions have leaders and take records', async (version) => {
    const { name, client } = await topicOf();
    expect(await extend(client, [[name, 3]], { version })).toEqual([[name, 0]]);
    const { topics } = await client.ask(api.metadata, 12, metadataOf(name));
    expect(topics[0]?.partitions.map(({ leaderId, errorCode }) => [leaderId, errorCode])).toEqual(
      Array(3).fill([7, 0]),
    );
    const batch = recordBatch([{ key: null, value: Buffer.from('v'), headers: [] }]);
    const { responses } = await client.ask(api.produce, 8, produceOf(name, batch, { partition: 2 }));
    expect(responses[0]?.partitionResponses[0]).toMatchObject({ errorCode: 0, baseOffset: 0 });
  });

  test.each<[string, number, readonly number[][] | null, number]>([
    ['as many as there are', 2, null, 37],
    ['fewer', 1, null, 37],
    ['none', 0, null, 37],
    ['a negative number', -1, null, 37],
    ['more than the limit', 20_000, null, 44],
    ['one here', 3, [[7]], 0],
    ['fewer assignments', 4, [[7]], 39],
    ['more assignments', 3, [[7], [7]], 39],
    ['another node', 3, [[4711]], 39],
    ['this node twice', 3, [[7, 7]], 39],
    ['nowhere', 3, [[]], 39],
    ['no assignment', 3, [], 39],
  ])('%s', async (_title, count, assignments, code) => {
    const { name, client } = await topicOf({}, 2);
    expect(await extend(client, [[name, count, assignments]])).toEqual([[name, code]]);
    expect(kafka.hub.topics.get(name)?.partitions).toHaveLength(code === 0 ? count : 2);
  });

  test('each topic has its own result; one named twice is refused; a validation makes nothing', async () => {
    const { name, client } = await topicOf();
    const twice = await topicOf();
    const asked = [
      [name, 2],
      [twice.name, 2],
      ['nope', 2],
      ['a/b', 2],
      [twice.name, 3],
      ['__consumer_offsets', 60],
    ] satisfies [string, number][];
    const expected = [
      [name, 0],
      [twice.name, 42],
      ['nope', 3],
      ['a/b', 3],
      ['__consumer_offsets', 42],
    ];
    expect(await extend(client, asked, { validateOnly: true })).toEqual(expected);
    expect(kafka.hub.topics.get(name)?.partitions).toHaveLength(1);
    expect(await extend(client, asked)).toEqual(expected);
    expect(kafka.hub.topics.get(name)?.partitions).toHaveLength(2);
    expect(kafka.hub.topics.get(twice.name)?.partitions).toHaveLength(1);
  });

  test('a limit of the configuration is told as a policy', async () => {
    const { connect, createTopic } = await openTestKafka({ topics: { partitionsMax: 4 } });
    await createTopic('t');
    expect(await extend(await connect(), [['t', 5]])).toEqual([['t', ERROR_CODES.POLICY_VIOLATION]]);
  });
});
