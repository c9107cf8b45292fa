// @platformatic/kafka over real sockets: codecs, groups and their rebalances, administration, places in the log.

import { Admin, Consumer, type ConsumerOptions, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openKafka, type TestKafka } from './kafka-fixture.ts';

let kafka: TestKafka;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

type TextConsumer = Consumer<Buffer, Buffer, Buffer, Buffer>;
type ReadOptions = Partial<Parameters<TextConsumer['consume']>[0]>;
type TextConsumerOptions = ConsumerOptions<Buffer, Buffer, Buffer, Buffer>;
type Codec = 'none' | 'gzip' | 'snappy' | 'lz4';

const connection = () => ({ clientId: 'test', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] });

function openAdmin(): Admin {
  const admin = new Admin(connection());
  onTestFinished(() => admin.close());
  return admin;
}

interface Produced {
  readonly partition?: number;
  readonly compression?: Codec;
  readonly timestampsMs?: readonly number[];
}

async function produce(topic: string, values: readonly string[], options: Produced = {}): Promise<void> {
  const { partition = 0, compression = 'none', timestampsMs } = options;
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({ ...connection(), compression });
  await producer.send({
    acks: -1,
    messages: values.map((value, index) => {
      const timestampMs = timestampsMs?.[index];
      const timestamp = timestampMs === undefined ? {} : { timestamp: BigInt(timestampMs) };
      return { topic, partition, value: Buffer.from(value), ...timestamp };
    }),
  });
  await producer.close();
}

function openConsumer(groupId: string, options: Partial<TextConsumerOptions> = {}): TextConsumer {
  // Of the two kinds of options only one can be told by its type.
  const consumer = new Consumer({
    ...{ ...connection(), groupId, maxWaitTime: 200, heartbeatInterval: 50 },
    ...options,
  } as TextConsumerOptions);
  onTestFinished(async () => {
    if (!consumer.closed) await consumer.close(true);
  });
  return consumer;
}

/** The next values of a topic; the consumer stays in its group. */
async function read(
  consumer: TextConsumer,
  topic: string,
  count: number,
  options: ReadOptions = { mode: 'earliest' },
): Promise<string[]> {
  const stream = await consumer.consume({ topics: [topic], ...options });
  const values: string[] = [];
  for await (const message of stream) if (values.push(`${message.value}`) === count) break;
  return values;
}

/** When the member has been given so many partitions. */
function whenAssigned(consumer: TextConsumer, partitions: number): Promise<void> {
  return new Promise((resolve) => {
    const onJoin = (): void => {
      const assigned = (consumer.assignments ?? []).flatMap((each) => each.partitions);
      if (assigned.length !== partitions) return;
      consumer.off('consumer:group:join', onJoin);
      resolve();
    };
    consumer.on('consumer:group:join', onJoin);
  });
}

// It has zstd where Node.js has it, from 22.15 on.
test.each(['none', 'gzip', 'snappy', 'lz4'] as const)('codec %s', async (compression) => {
  const topic = `codec-${compression}`;
  await kafka.createTopic(topic);
  const values = Array.from({ length: 100 }, (_, index) => `value ${index} `.repeat(20));
  await produce(topic, values, { compression });
  expect(await read(openConsumer(`group-${topic}`), topic, 100)).toEqual(values);
});

describe('a group', () => {
  test('shares partitions between two members; when one leaves the other takes them over', async () => {
    await kafka.createTopic('shared', {}, 4);
    const [one, two] = [openConsumer('sharing'), openConsumer('sharing')];
    const values: string[] = [];
    let [awaited, arrived] = [Number.POSITIVE_INFINITY, (): void => undefined];
    const listen = async (consumer: TextConsumer): Promise<void> => {
      const stream = await consumer.consume({
        topics: ['shared'],
        mode: 'committed',
        fallbackMode: 'earliest',
      });
      stream.on('data', (message) => {
        if (values.push(`${message.value}`) >= awaited) arrived();
      });
    };
    const produceToAll = async (prefix: string): Promise<void> => {
      const whole = new Promise<void>((resolve) => {
        [awaited, arrived] = [values.length + 4, resolve];
      });
      for (const partition of [0, 1, 2, 3])
        await produce('shared', [`${prefix} ${partition}`], { partition });
      await whole;
    };
    await listen(one);
    const both = Promise.all([whenAssigned(one, 2), whenAssigned(two, 2)]);
    await listen(two);
    await both;
    await produceToAll('both');
    const alone = whenAssigned(one, 4);
    await two.close(true);
    await alone;
    await produceToAll('alone');
    const expected = ['both', 'alone'].flatMap((prefix) => [0, 1, 2, 3].map((index) => `${prefix} ${index}`));
    expect([...new Set(values)].sort()).toEqual(expected.sort());
  });

  test('goes on behind what it committed', async () => {
    await kafka.createTopic('resumed');
    await produce('resumed', ['a', 'b', 'c', 'd']);
    const first = openConsumer('resuming', { autocommit: false });
    expect(await read(first, 'resumed', 4)).toEqual(['a', 'b', 'c', 'd']);
    await first.commit({ offsets: [{ topic: 'resumed', partition: 0, offset: 2n, leaderEpoch: -1 }] });
    await first.close(true);
    expect(kafka.frontEnd.groups?.offsets('resuming')).toMatchObject([{ committed: 2 }]);
    const second = openConsumer('resuming');
    expect(await read(second, 'resumed', 2, { mode: 'committed' })).toEqual(['c', 'd']);
  });

  test('of the consumer protocol (KIP-848) reads, and hands over when a member leaves', async () => {
    await kafka.createTopic('served', {}, 2);
    const options = { groupProtocol: 'consumer' } as const;
    const one = openConsumer('serving', options);
    await produce('served', ['a'], { partition: 0 });
    await produce('served', ['b'], { partition: 1 });
    expect((await read(one, 'served', 2)).sort()).toEqual(['a', 'b']);
    expect((await openAdmin().listGroups({ types: ['consumer'] })).has('serving')).toBe(true);
    await one.close(true);
    const two = openConsumer('serving', options);
    await produce('served', ['c'], { partition: 1 });
    expect((await read(two, 'served', 3)).sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('places in the log', () => {
  test('are sought by offset', async () => {
    await kafka.createTopic('sought');
    await produce('sought', ['a', 'b', 'c', 'd']);
    const offsets = [{ topic: 'sought', partition: 0, offset: 2n }];
    const consumer = openConsumer('seeking');
    expect(await read(consumer, 'sought', 2, { mode: 'manual', offsets })).toEqual(['c', 'd']);
  });

  test('are found by time, at both ends and in between', async () => {
    await kafka.createTopic('timed');
    const startMs = Date.now();
    const timestampsMs = [startMs, startMs + 10, startMs + 20];
    await produce('timed', ['a', 'b', 'c'], { timestampsMs });
    const consumer = openConsumer('timing');
    const topics = ['timed'];
    const at = async (timestamp: bigint) =>
      (await consumer.listOffsetsWithTimestamps({ topics, timestamp })).get('timed')?.get(0);
    expect(await at(BigInt(startMs + 5))).toEqual({ offset: 1n, timestamp: BigInt(startMs + 10) });
    expect(await at(BigInt(startMs + 21))).toEqual({ offset: -1n, timestamp: -1n });
    expect(await at(-2n)).toMatchObject({ offset: 0n });
    expect(await at(-1n)).toMatchObject({ offset: 3n });
    expect(await at(-3n)).toEqual({ offset: 2n, timestamp: BigInt(startMs + 20) });
    const offsets = [{ topic: 'timed', partition: 0, offset: 1n }];
    expect(await read(consumer, 'timed', 2, { mode: 'manual', offsets })).toEqual(['b', 'c']);
  });
});

describe('admin', () => {
  test('lists, describes, resets and deletes groups', async () => {
    const admin = openAdmin();
    await kafka.createTopic('administered');
    await produce('administered', ['a', 'b', 'c']);
    const consumer = openConsumer('administering', { autocommit: false });
    await read(consumer, 'administered', 3);
    await consumer.commit({
      offsets: [{ topic: 'administered', partition: 0, offset: 3n, leaderEpoch: -1 }],
    });
    expect((await admin.listGroups()).get('administering')).toMatchObject({ state: 'STABLE' });
    const described = (await admin.describeGroups({ groups: ['administering'] })).get('administering');
    const assignments = [...(described?.members.values() ?? [])].map((each) => each.assignments);
    expect(described?.state).toBe('STABLE');
    expect(assignments).toEqual([new Map([['administered', { topic: 'administered', partitions: [0] }]])]);
    await expect(admin.deleteGroups({ groups: ['administering'] })).rejects.toThrow();
    await consumer.close(true);
    const committed = async (): Promise<bigint | undefined> => {
      const [group] = await admin.listConsumerGroupOffsets({ groups: ['administering'] });
      return group?.topics[0]?.partitions[0]?.committedOffset;
    };
    expect(await committed()).toBe(3n);
    const groupId = 'administering';
    const partitionOffsets = [{ partition: 0, offset: 1n }];
    await admin.alterConsumerGroupOffsets({ groupId, topics: [{ name: 'administered', partitionOffsets }] });
    expect(await committed()).toBe(1n);
    const again = openConsumer(groupId);
    expect(await read(again, 'administered', 2, { mode: 'committed' })).toEqual(['b', 'c']);
    await admin.removeMembersFromConsumerGroup({ groupId, members: null });
    await again.close(true);
    const topics = [{ name: 'administered', partitionIndexes: [0] }];
    await admin.deleteConsumerGroupOffsets({ groupId, topics });
    expect(await committed()).toBeUndefined();
    await admin.deleteGroups({ groups: [groupId] });
    expect((await admin.listGroups()).has(groupId)).toBe(false);
  });

  test('lists topics, describes them with their metadata, and deletes records', async () => {
    const admin = openAdmin();
    await admin.createTopics({ topics: ['listed'], partitions: 2, replicas: 1 });
    expect(await admin.listTopics()).toContain('listed');
    const metadata = await admin.metadata({ topics: ['listed'] });
    expect(metadata.topics.get('listed')?.partitions.map(({ leader }) => leader)).toEqual([7, 7]);
    await produce('listed', ['a', 'b', 'c'], { partition: 1 });
    const deleted = await admin.deleteRecords({
      topics: [{ name: 'listed', partitions: [{ partition: 1, offset: 2n }] }],
    });
    expect(deleted).toEqual([{ name: 'listed', partitions: [{ partition: 1, lowWatermark: 2n }] }]);
    await admin.deleteTopics({ topics: ['listed'] });
    expect(await admin.listTopics()).not.toContain('listed');
  });
});
