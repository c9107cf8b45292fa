// What a client can ask about partitions, logs, producers and the cluster, and what it may move, over a socket.

import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { type KafkaSocket, openKafka, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, produceOf } from './kafka-requests.ts';

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

const batch = () => recordBatch([{ key: null, value: Buffer.from('v'), headers: [] }]);

async function topicOf(partitions = 1) {
  const name = `topic-${topicNumber++}`;
  const partition = await kafka.createTopic(name, {}, partitions);
  return { name, partition, client: await kafka.connect() };
}

describe('OffsetForLeaderEpoch', () => {
  async function endOf(client: KafkaSocket, topic: string, leaderEpoch: number, options: object = {}) {
    const partition = { partition: 0, currentLeaderEpoch: -1, leaderEpoch, ...options };
    const { topics } = await client.ask(api.offsetForLeaderEpoch, 4, {
      topics: [{ topic, partitions: [partition] }],
    });
    const answer = topics[0]!.partitions[0]!;
    return [answer.errorCode, answer.leaderEpoch, answer.endOffset];
  }

  test('an epoch ends where the next one begins, the present one at the end of the log', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'polylog-kafka-epochs-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const first = await openKafka({ directory });
    await first.createTopic('t');
    const writer = await first.connect();
    await writer.ask(api.produce, 8, produceOf('t', batch()));
    await writer.ask(api.produce, 8, produceOf('t', batch()));
    await first.close();
    const client = await (await openTestKafka({ directory })).connect();
    expect(await endOf(client, 't', 1)).toEqual([0, 1, 2]);
    await client.ask(api.produce, 8, produceOf('t', batch()));
    expect(await endOf(client, 't', 0)).toEqual([0, 0, 2]);
    expect(await endOf(client, 't', 1)).toEqual([0, 1, 3]);
    expect(await endOf(client, 't', 0, { currentLeaderEpoch: 0 })).toEqual([74, -1, -1]);
  });

  test('an epoch to come, an unknown partition and a wrong epoch of the leader are said so', async () => {
    const { name, client } = await topicOf();
    expect(await endOf(client, name, 0)).toEqual([0, 0, 0]);
    expect(await endOf(client, name, 1)).toEqual([0, -1, -1]);
    expect(await endOf(client, name, -1)).toEqual([0, -1, -1]);
    expect(await endOf(client, name, 0, { currentLeaderEpoch: 5 })).toEqual([75, -1, -1]);
    expect(await endOf(client, name, 0, { partition: 9 })).toEqual([3, -1, -1]);
    expect(await endOf(client, 'nope', 0)).toEqual([3, -1, -1]);
  });

  test.each([2, 3])('version %i is served', async (version) => {
    const { name, client } = await topicOf();
    const partitions = [{ partition: 0, currentLeaderEpoch: -1, leaderEpoch: 0 }];
    const { topics } = await client.ask(api.offsetForLeaderEpoch, version, {
      topics: [{ topic: name, partitions }],
    });
    expect(topics[0]?.partitions[0]).toMatchObject({ errorCode: 0, leaderEpoch: 0, endOffset: 0 });
  });
});

describe('DescribeTopicPartitions', () => {
  const cursorAt = (topicName: string, partitionIndex: number) => ({ topicName, partitionIndex });

  async function page(
    client: KafkaSocket,
    names: readonly string[],
    options: { limit?: number; cursor?: ReturnType<typeof cursorAt> | null } = {},
  ) {
    const { topics, nextCursor } = await client.ask(api.describeTopicPartitions, 0, {
      topics: names.map((name) => ({ name })),
      responsePartitionLimit: options.limit ?? 2000,
      cursor: options.cursor ?? null,
    });
    const shown = topics.map(({ name, errorCode, partitions }) => [
      name,
      errorCode,
      partitions.map(({ partitionIndex }) => partitionIndex).join(),
    ]);
    return { topics, shown, nextCursor };
  }

  test('topics are shown by name, each once, each with its error', async () => {
    const { name, client } = await topicOf(2);
    const { shown, topics, nextCursor } = await page(client, [name, 'nope', 'a/b', name]);
    expect(shown).toEqual([
      ['a/b', 17, ''],
      ['nope', 3, ''],
      [name, 0, '0,1'],
    ]);
    expect(nextCursor).toBeNull();
    expect(topics[2]?.topicId).toBe(kafka.hub.topics.get(name)?.topicId);
    expect(topics[2]?.partitions[1]).toMatchObject({
      ...{ errorCode: 0, leaderId: 7, leaderEpoch: 0, replicaNodes: [7], isrNodes: [7] },
      ...{ eligibleLeaderReplicas: [], lastKnownElr: [], offlineReplicas: [] },
    });
  });

  test('pages follow one another by their cursors', async () => {
    const { name: a, client } = await topicOf(3);
    const { name: b } = await topicOf(2);
    const [first, second] = [a, b].sort() as [string, string];
    const pages: unknown[] = [];
    let cursor: ReturnType<typeof cursorAt> | null = null;
    do {
      const { shown, nextCursor } = await page(client, [a, b], { limit: 2, cursor });
      pages.push(shown);
      cursor = nextCursor;
    } while (cursor !== null);
    expect(pages.flat()).toEqual(
      first === a
        ? [
            [first, 0, '0,1'],
            [first, 0, '2'],
            [second, 0, '0'],
            [second, 0, '1'],
          ]
        : [
            [first, 0, '0,1'],
            [second, 0, '0,1'],
            [second, 0, '2'],
          ],
    );
  });

  test('no topics asks for all; a page has a partition at least', async () => {
    const { client } = await topicOf(2);
    const { shown, nextCursor } = await page(client, [], { limit: 0 });
    expect(shown).toEqual([['__consumer_offsets', 0, '0']]);
    expect(nextCursor).toEqual(cursorAt('__consumer_offsets', 1));
  });

  test.each([
    ['a topic that is not asked for', cursorAt('zz', 0)],
    ['a partition below 0', cursorAt('t', -1)],
  ])('a cursor at %s is refused', async (_title, cursor) => {
    const { shown } = await page(await kafka.connect(), ['t'], { cursor });
    expect(shown).toEqual([['t', ERROR_CODES.INVALID_REQUEST, '']]);
  });
});

describe('DescribeLogDirs', () => {
  test.each([1, 2, 3, 4])('version %i: the directory, and what partitions take in it', async (version) => {
    const { name, client } = await topicOf(2);
    await client.ask(api.produce, 8, produceOf(name, batch(), { partition: 1 }));
    const asked = {
      topics: [
        { topic: name, partitions: [0, 1, 1, 9] },
        { topic: 'nope', partitions: [0] },
      ],
    };
    const { results } = await client.ask(api.describeLogDirs, version, asked);
    const byteSize = kafka.hub.topics.partition(name, 1)?.byteSize;
    expect(byteSize).toBeGreaterThan(0);
    expect(results).toMatchObject([{ errorCode: 0, logDir: kafka.directory }]);
    expect(results[0]?.topics).toEqual([
      {
        name,
        partitions: [
          { partitionIndex: 0, partitionSize: 0, offsetLag: 0, isFutureKey: false },
          { partitionIndex: 1, partitionSize: byteSize, offsetLag: 0, isFutureKey: false },
        ],
      },
    ]);
    const { blocks, bsize } = statfsSync(kafka.directory);
    expect(results[0]?.totalBytes).toBe(version >= 4 ? blocks * bsize : -1);
  });

  test('null asks for all topics, no topics for none', async () => {
    const { name, client } = await topicOf();
    const topicsOf = async (topics: [] | null) =>
      (await client.ask(api.describeLogDirs, 4, { topics })).results[0]?.topics.map((each) => each.name);
    expect(await topicsOf(null)).toEqual(expect.arrayContaining([name, '__consumer_offsets']));
    expect(await topicsOf([])).toEqual([]);
  });
});

test('DescribeProducers: those that a partition remembers, each partition with its own error', async () => {
  const { name, partition, client } = await topicOf();
  const appended = partition.append(
    { acks: 'flushed', producerId: 42, producerEpoch: 3, baseSequence: 5, recordCount: 1 },
    (writer) => {
      writer.startRecord(0, Buffer.alloc(0), -1, -1, 0);
      writer.endRecord(Buffer.alloc(0), -1, -1, null);
    },
  );
  await (appended.refused === undefined ? appended.acknowledged : undefined);
  const { topics } = await client.ask(api.describeProducers, 0, {
    topics: [
      { name, partitionIndexes: [0, 9, 0] },
      { name: 'a/b', partitionIndexes: [0] },
    ],
  });
  expect(topics[0]?.partitions).toMatchObject([
    {
      errorCode: 0,
      activeProducers: [
        {
          producerId: 42,
          producerEpoch: 3,
          lastSequence: 5,
          coordinatorEpoch: -1,
          currentTxnStartOffset: -1,
        },
      ],
    },
    { errorCode: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, activeProducers: [] },
    { errorCode: ERROR_CODES.INVALID_REQUEST, activeProducers: [] },
  ]);
  expect(topics[1]?.partitions[0]?.errorCode).toBe(ERROR_CODES.INVALID_TOPIC_EXCEPTION);
});

test('ListConfigResources: topics and nodes, by kind; an unknown kind is refused', async () => {
  const { name, client } = await topicOf();
  const listOf = async (resourceTypes: number[]) => {
    const answer = await client.ask(api.listConfigResources, 1, { resourceTypes });
    return { code: answer.errorCode, listed: answer.configResources };
  };
  const node = { resourceName: '7', resourceType: 4 };
  const topic = { resourceName: name, resourceType: 2 };
  expect((await listOf([])).listed).toEqual(expect.arrayContaining([node, topic]));
  expect((await listOf([2])).listed).toEqual(expect.arrayContaining([topic]));
  expect(await listOf([4])).toEqual({ code: 0, listed: [node] });
  expect(await listOf([8, 16, 32])).toEqual({ code: 0, listed: [] });
  expect(await listOf([2, 77])).toEqual({ code: ERROR_CODES.UNSUPPORTED_VERSION, listed: [] });
  expect(await client.ask(api.listConfigResources, 0, {})).toMatchObject({
    errorCode: 0,
    configResources: [],
  });
});

test.each([0, 1, 2])('ElectLeaders %i: an election is not needed', async (version) => {
  const { name, client } = await topicOf();
  const ask = async (electionType: number, partitions: number[]) => {
    const answer = await client.ask(api.electLeaders, version, {
      ...(version >= 1 ? { electionType } : {}),
      topicPartitions: [{ topic: name, partitions }],
      timeoutMs: 1000,
    });
    const [result] = answer.replicaElectionResults;
    return [answer.errorCode, ...(result?.partitionResult.map(({ errorCode }) => errorCode) ?? [])];
  };
  expect(await ask(0, [0, 9])).toEqual([0, ERROR_CODES.ELECTION_NOT_NEEDED, 3]);
  if (version >= 1) expect(await ask(2, [0])).toEqual([42, 42]);
  const all = await client.ask(api.electLeaders, version, { topicPartitions: null, timeoutMs: 1000 });
  expect(all.replicaElectionResults).toContainEqual({ topic: name, partitionResult: [] });
});

describe('reassignments', () => {
  test.each<[string, number[] | null, number]>([
    ['to this node is done', [7], 0],
    ['is not there to be cancelled', null, ERROR_CODES.NO_REASSIGNMENT_IN_PROGRESS],
    ['to another node is refused', [4711], ERROR_CODES.INVALID_REPLICA_ASSIGNMENT],
    ['to two copies is refused', [7, 8], ERROR_CODES.INVALID_REPLICA_ASSIGNMENT],
    ['to none is refused', [], ERROR_CODES.INVALID_REPLICA_ASSIGNMENT],
  ])('one %s', async (_title, replicas, code) => {
    const { name, client } = await topicOf();
    const answer = await client.ask(api.alterPartitionReassignments, 0, {
      timeoutMs: 1000,
      topics: [
        { name, partitions: [{ partitionIndex: 0, replicas }] },
        { name: 'nope', partitions: [{ partitionIndex: 0, replicas }] },
      ],
    });
    const codes = answer.responses.map(({ partitions }) => partitions[0]?.errorCode);
    expect(codes).toEqual([code, ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION]);
  });

  test('none is under way', async () => {
    const { name, client } = await topicOf();
    for (const topics of [null, [{ name, partitionIndexes: [0, 9] }]]) {
      const answer = await client.ask(api.listPartitionReassignments, 0, { timeoutMs: 1000, topics });
      expect(answer).toMatchObject({ errorCode: 0, topics: [] });
    }
  });
});

test('DescribeCluster 2 shows no broker as fenced', async () => {
  const client = await kafka.connect();
  const asked = { includeClusterAuthorizedOperations: false, includeFencedBrokers: true };
  const answer = await client.ask(api.describeCluster, 2, asked);
  expect(answer.brokers).toMatchObject([{ brokerId: 7, isFenced: false }]);
});

test.each([
  [7, -4, 35, -1],
  [8, -4, 0, 0],
  [8, -5, 35, -1],
  [9, -5, 0, -1],
  [10, -1, 0, 1],
  [10, -5, 0, -1],
  [10, -6, 35, -1],
])(
  'ListOffsets %i: the place %i is answered with %i and offset %i',
  async (version, timestamp, code, offset) => {
    const { name, client } = await topicOf();
    await client.ask(api.produce, 8, produceOf(name, batch()));
    const { topics } = await client.ask(api.listOffsets, version, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [{ name, partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp }] }],
      ...(version >= 10 ? { timeoutMs: 1000 } : {}),
    });
    expect(topics[0]?.partitions[0]).toMatchObject({ errorCode: code, offset });
  },
);

test('more partitions than anybody has are not answered one by one', async () => {
  const client = await kafka.connect();
  const partitions = Array.from({ length: 200_001 }, () => 0);
  const elected = await client.ask(api.electLeaders, 2, {
    topicPartitions: [{ topic: 'nope', partitions }],
    timeoutMs: 1000,
  });
  expect(elected).toMatchObject({ errorCode: ERROR_CODES.INVALID_REQUEST, replicaElectionResults: [] });
});
