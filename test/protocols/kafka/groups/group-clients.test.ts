// Finished clients and their groups over real sockets: @platformatic/kafka with the consumer protocol (KIP-848), the
// admin clients of both, and both protocols in one group.

import { Admin, Consumer, type Message } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { kafkajsOn } from '../../../helpers/kafka-clients.ts';
import { openKafka, type TestKafka } from '../kafka-fixture.ts';
import { commit } from './group-client.ts';

let kafka: TestKafka;
beforeAll(async () => {
  kafka = await openKafka({ groupConsumerHeartbeatIntervalMs: 40 });
});
afterAll(() => kafka.close());

const soon = { initialRetryTime: 20, retries: 10 };

async function produce(topic: string, prefix: string, partitions: number): Promise<void> {
  const producer = kafkajsOn(kafka.port).producer({ retry: soon });
  await producer.connect();
  const messages = Array.from({ length: partitions }, (_, partition) => ({
    value: `${prefix}-${partition}`,
    partition,
  }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

interface Reader {
  readonly values: string[];
  readonly consumer: Consumer;
  stop(): Promise<void>;
}

/** A member of the consumer protocol, and what it reads. */
async function read(groupId: string, topic: string, groupInstanceId?: string): Promise<Reader> {
  const consumer = new Consumer({
    ...{ clientId: 'new', groupId, bootstrapBrokers: [`127.0.0.1:${kafka.port}`], autocommit: 50 },
    ...{ groupProtocol: 'consumer' as const, maxWaitTime: 50 },
    ...(groupInstanceId === undefined ? {} : { groupInstanceId }),
  });
  const stream = await consumer.consume({
    topics: [topic],
    mode: 'committed',
    fallbackMode: 'earliest',
    maxWaitTime: 50,
  });
  const values: string[] = [];
  stream.on('data', (message: Message<Buffer, Buffer, Buffer, Buffer>) => values.push(`${message.value}`));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= stream.close().then(() => consumer.close(true));
    return stopped;
  };
  onTestFinished(stop);
  return { values, consumer, stop };
}

const sharesOf = (groupId: string): number[] =>
  (kafka.frontEnd.groups?.get(groupId)?.members ?? []).map(({ assignment }) =>
    assignment.reduce((count, { partitions }) => count + partitions.length, 0),
  );

const settled = (groupId: string, ...shares: number[]) =>
  expect
    .poll(() => ({ state: kafka.frontEnd.groups?.get(groupId)?.state, shares: sharesOf(groupId) }), {
      timeout: 10_000,
    })
    .toEqual({ state: 'stable', shares });

const ofAll = (prefix: string): string[] => [0, 1, 2, 3].map((partition) => `${prefix}-${partition}`);

describe('@platformatic/kafka with the consumer protocol', () => {
  test('two members share the partitions; when one leaves the other takes them over', async () => {
    await kafka.createTopic('shared', {}, 4);
    const first = await read('sharing', 'shared');
    await settled('sharing', 4);
    await produce('shared', 'alone', 4);
    await expect.poll(() => [...first.values].sort()).toEqual(ofAll('alone'));
    const second = await read('sharing', 'shared');
    await settled('sharing', 2, 2);
    await produce('shared', 'both', 4);
    const both = () => [...first.values, ...second.values].filter((value) => value.startsWith('both')).sort();
    await expect.poll(both, { timeout: 10_000 }).toEqual(ofAll('both'));
    await second.stop();
    await settled('sharing', 4);
    await produce('shared', 'left', 4);
    await expect
      .poll(() => first.values.filter((value) => value.startsWith('left')).sort())
      .toEqual(ofAll('left'));
  });

  test('a group of kafkajs is upgraded by it, and goes back when it leaves', async () => {
    await kafka.createTopic('mixed', {}, 4);
    const classic = kafkajsOn(kafka.port).consumer({
      groupId: 'mixing',
      heartbeatInterval: 40,
      retry: soon,
      maxWaitTimeInMs: 50,
    });
    onTestFinished(() => classic.disconnect());
    const classicValues: string[] = [];
    await classic.connect();
    await classic.subscribe({ topic: 'mixed', fromBeginning: true });
    await classic.run({ eachMessage: async ({ message }) => void classicValues.push(`${message.value}`) });
    await settled('mixing', 4);
    const modern = await read('mixing', 'mixed');
    await settled('mixing', 2, 2);
    await produce('mixed', 'both', 4);
    await expect
      .poll(() => [...new Set([...classicValues, ...modern.values])].sort(), { timeout: 10_000 })
      .toEqual(ofAll('both'));
    await modern.stop();
    await settled('mixing', 4);
    await produce('mixed', 'left', 4);
    const left = () => [...new Set(classicValues.filter((value) => value.startsWith('left')))].sort();
    await expect.poll(left, { timeout: 10_000 }).toEqual(ofAll('left'));
  });
});

describe('admin clients', () => {
  test('kafkajs lists, describes and deletes, and fetches offsets', async () => {
    await kafka.createTopic('reset', {}, 4);
    await produce('reset', 'v', 4);
    const admin = kafkajsOn(kafka.port).admin({ retry: soon });
    onTestFinished(() => admin.disconnect());
    await admin.connect();
    // Its own reset joins the group and waits for fetches of five seconds; what it commits is the same.
    expect(await commit(await kafka.connect(), 'resetting', 1, { topic: 'reset' })).toBe(0);
    const [offsets] = await admin.fetchOffsets({ groupId: 'resetting', topics: ['reset'] });
    expect(offsets?.partitions).toContainEqual({ partition: 0, offset: '1', metadata: null });
    expect((await admin.listGroups()).groups).toContainEqual({
      groupId: 'resetting',
      protocolType: '',
    });
    const { groups } = await admin.describeGroups(['resetting']);
    expect(groups).toMatchObject([{ errorCode: 0, groupId: 'resetting', state: 'Empty', members: [] }]);
    expect(await admin.deleteGroups(['resetting'])).toMatchObject([{ groupId: 'resetting', errorCode: 0 }]);
    expect(kafka.frontEnd.groups?.get('resetting')).toBeUndefined();
  });

  test('@platformatic/kafka lists, describes, alters and deletes', async () => {
    await kafka.createTopic('altered', {}, 2);
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] });
    onTestFinished(() => admin.close());
    const partitionOffsets = [{ partition: 1, offset: 5n }];
    await admin.alterConsumerGroupOffsets({
      groupId: 'altering',
      topics: [{ name: 'altered', partitionOffsets }],
    });
    expect((await admin.listGroups()).get('altering')).toMatchObject({ id: 'altering', state: 'EMPTY' });
    expect((await admin.describeGroups({ groups: ['altering'] })).get('altering')).toMatchObject({
      state: 'EMPTY',
    });
    const [listed] = await admin.listConsumerGroupOffsets({ groups: ['altering'] });
    expect(listed?.topics).toMatchObject([
      { name: 'altered', partitions: [{ partitionIndex: 1, committedOffset: 5n }] },
    ]);
    const topics = [{ name: 'altered', partitionIndexes: [1] }];
    await admin.deleteConsumerGroupOffsets({ groupId: 'altering', topics });
    expect(kafka.frontEnd.groups?.get('altering')).toBeUndefined();
    await admin.alterConsumerGroupOffsets({
      groupId: 'altering',
      topics: [{ name: 'altered', partitionOffsets }],
    });
    await admin.deleteGroups({ groups: ['altering'] });
    expect(kafka.frontEnd.groups?.get('altering')).toBeUndefined();
  });
});
