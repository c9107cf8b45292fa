// Finished clients with transactions over real sockets: kafkajs and @platformatic/kafka produce, and each of them reads what
// is committed.

import { Consumer, FetchIsolationLevels, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kafkajsOn } from '../../../helpers/kafka-clients.ts';
import { openKafka, type TestKafka } from '../kafka-fixture.ts';

let kafka: TestKafka;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

type Produce = (topic: string) => Promise<void>;
type Read = (topic: string, count: number) => Promise<string[]>;

const ROUNDS = 3;
/** @platformatic/kafka takes one aborted transaction of a producer out of an answer, and would show the others. */
const outcomeOf = (round: number): 'commit' | 'abort' => (round === 1 ? 'abort' : 'commit');
const valuesOf = (round: number): string[] =>
  [0, 1, 2].map((index) => `${outcomeOf(round)} ${round} ${index}`);
const expected = [0, 2].flatMap(valuesOf);

const producers: readonly (readonly [string, Produce])[] = [
  [
    'kafkajs',
    async (topic) => {
      const client = kafkajsOn(kafka.port);
      const producer = client.producer({
        transactionalId: `of-${topic}`,
        maxInFlightRequests: 1,
        idempotent: true,
      });
      await producer.connect();
      for (let round = 0; round < ROUNDS; round++) {
        const transaction = await producer.transaction();
        for (const value of valuesOf(round)) await transaction.send({ topic, messages: [{ value }] });
        await transaction.sendOffsets({
          consumerGroupId: `group-of-${topic}`,
          topics: [{ topic, partitions: [{ partition: 0, offset: `${round}` }] }],
        });
        await transaction[outcomeOf(round)]();
      }
      await producer.disconnect();
      const admin = client.admin();
      await admin.connect();
      const committed = async (): Promise<string | undefined> =>
        (await admin.fetchOffsets({ groupId: `group-of-${topic}`, topics: [topic] }))[0]?.partitions[0]
          ?.offset;
      // It does not ask for stable offsets alone, and may be told of what was before the end.
      while ((await committed()) !== `${ROUNDS - 1}`);
      await admin.disconnect();
    },
  ],
  [
    '@platformatic/kafka',
    async (topic) => {
      const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
        ...{ clientId: 'platformatic', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] },
        ...{ idempotent: true, transactionalId: `of-${topic}` },
      });
      for (let round = 0; round < ROUNDS; round++) {
        const transaction = await producer.beginTransaction();
        for (const value of valuesOf(round))
          await transaction.send({ messages: [{ topic, value: Buffer.from(value) }], acks: -1 });
        await transaction[outcomeOf(round)]();
      }
      await producer.close();
    },
  ],
];

const readers: readonly (readonly [string, Read])[] = [
  [
    'kafkajs',
    async (topic, count) => {
      const consumer = kafkajsOn(kafka.port).consumer({
        ...{ groupId: `kafkajs-on-${topic}`, readUncommitted: false, maxWaitTimeInMs: 200 },
      });
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      const values: string[] = [];
      await new Promise<void>((resolve, reject) => {
        const eachMessage = async ({ message }: { message: { value: Buffer | null } }): Promise<void> => {
          if (values.push(`${message.value}`) === count) resolve();
        };
        consumer.run({ eachMessage }).catch(reject);
      });
      await consumer.disconnect();
      return values;
    },
  ],
  [
    '@platformatic/kafka',
    async (topic, count) => {
      const consumer = new Consumer({
        ...{ clientId: 'platformatic', bootstrapBrokers: [`127.0.0.1:${kafka.port}`] },
        groupId: `platformatic-on-${topic}`,
      });
      const stream = await consumer.consume({
        ...{ topics: [topic], mode: 'earliest', maxWaitTime: 200 },
        isolationLevel: FetchIsolationLevels.READ_COMMITTED,
      });
      const values: string[] = [];
      for await (const message of stream) if (values.push(`${message.value}`) === count) break;
      await consumer.close(true);
      return values;
    },
  ],
];

test.each(producers)(
  '%s commits and aborts; readers of both clients see what is committed',
  async (name, produce) => {
    const topic = `from-${name.replace(/\W/g, '')}`;
    await kafka.createTopic(topic);
    await produce(topic);
    const read = await Promise.all(readers.map(([, readFrom]) => readFrom(topic, expected.length)));
    expect(read).toEqual([expected, expected]);
  },
);
