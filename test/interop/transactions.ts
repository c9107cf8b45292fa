// Transactions of clients from elsewhere: what they commit is seen by their own readers of committed records and by an
// MQTT subscriber, what they abort by neither, and who is fenced is told so.
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { join } from 'node:path';
import { Producer } from '@platformatic/kafka';
import { Kafka, logLevel } from 'kafkajs';
import { run } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { checkSteps } from './client-program.ts';
import { readValues, subscribeToCommitted } from './committed-view.ts';
import { goProgram } from './go-clients.ts';
import { runJava } from './java.ts';
import { pythonWithKafka } from './python.ts';

const JAVA_STEPS = [
  'committed and aborted',
  'kept an open transaction from readers',
  'committed and aborted offsets',
  'saw ProducerFencedException',
  'aborted what took too long',
  'listed, described and fenced transactions',
  'all',
] as const;

const java: InteropCase = {
  name: 'Java transactional producer: commits, aborts, offsets, fencing, timeouts, administration; readers of both isolation levels and an MQTT subscriber',
  needs: ['java-clients'],
  timeoutMs: 120_000,
  async run(hub) {
    const topic = freshTopic('transactions');
    const view = await subscribeToCommitted(hub, topic);
    checkSteps(`${await runJava('TransactionProgram', [`${hub.kafkaPort}`, topic])}`, JAVA_STEPS);
    const committed = await readValues(hub.kafkaPort, topic, 'read_committed');
    const all = await readValues(hub.kafkaPort, topic, 'read_uncommitted');
    // To each of two partitions: seven of ten, the late one, one with an offset and one of who fenced.
    equal(committed.length, 2 * (7 + 3));
    ok(committed.every((value) => value.startsWith('committed')));
    deepEqual(
      all.filter((value) => value.startsWith('committed')),
      committed,
    );
    equal(all.length - committed.length, 2 * (3 + 2 + 3));
    await view.check(committed);
    return `${committed.length} records committed, ${all.length - committed.length} aborted`;
  },
};

const franzGo: InteropCase = {
  name: 'franz-go GroupTransactSession: two sessions share a topic and copy it, some transactions aborted; each record is there once',
  needs: ['go'],
  async run(hub) {
    const topic = freshTopic('sessions');
    const view = await subscribeToCommitted(hub, topic);
    const output = `${await run(goProgram('transactions'), [`${hub.kafkaPort}`, topic])}`;
    checkSteps(output, [
      'a second session joined',
      'committed and aborted in sessions',
      'described transactions',
      'all',
    ]);
    const said = output.split('\n').filter((line) => line.startsWith('record: '));
    // As above.
    const values = said.map((line) => (JSON.parse(line.slice('record: '.length)) as { value: string }).value);
    const copied = Array.from({ length: 600 }, (_none, index) => `copied-${index}`);
    deepEqual(values.toSorted(), copied.toSorted());
    await view.check(copied);
    return '600 records copied';
  },
};

const TRANSACTIONS = 10;
const RECORDS = 5;

const isAborted = (number: number): boolean => number % 3 === 1;

/** What programs that make ten transactions of five records commit. */
const committedValues: readonly string[] = Array.from({ length: TRANSACTIONS }, (_none, number) => number)
  .filter((number) => !isAborted(number))
  .flatMap((number) => Array.from({ length: RECORDS }, (_none, index) => `committed ${number} ${index}`));

const python = (['confluent-kafka', 'kafka-python', 'aiokafka'] as const).map(
  (client): InteropCase => ({
    name: `${client} transactions: commits and aborts with offsets, fencing; its reader of committed records and an MQTT subscriber`,
    needs: ['python-kafka'],
    async run(hub) {
      const topic = freshTopic(`transactions-${client}`);
      const view = await subscribeToCommitted(hub, topic);
      const script = join(import.meta.dirname, 'clients', 'python-transactions.py');
      const output = `${await pythonWithKafka(script, [client, `${hub.kafkaPort}`, topic])}`;
      checkSteps(output, ['committed and aborted with offsets', 'was fenced', 'all']);
      const said = output.split('\n').filter((line) => line.startsWith('value: '));
      const expected = ['committed before', ...committedValues];
      deepEqual(
        said.map((line) => line.slice('value: '.length)),
        expected,
      );
      await view.check(expected);
    },
  }),
);

const kafkajs: InteropCase = {
  name: 'kafkajs transactions: commits and aborts with offsets, fencing; its consumer and an MQTT subscriber',
  needs: [],
  async run(hub) {
    const topic = freshTopic('transactions-kafkajs');
    await makeTopics(hub, topic, `${topic}-in`);
    const view = await subscribeToCommitted(hub, topic);
    const kafka = new Kafka({ brokers: [`127.0.0.1:${hub.kafkaPort}`], logLevel: logLevel.NOTHING });
    const groupId = `group-of-${topic}`;
    const admin = kafka.admin();
    const made = () => {
      const transactionalId = `id-of-${topic}`;
      return kafka.producer({ transactionalId, maxInFlightRequests: 1, idempotent: true });
    };
    const [producer, other] = [made(), made()];
    await Promise.all([admin.connect(), producer.connect()]);
    const committedOffset = async (): Promise<number> => {
      const [answer] = await admin.fetchOffsets({ groupId, topics: [`${topic}-in`] });
      return Number(answer?.partitions[0]?.offset);
    };
    for (let number = 0; number < TRANSACTIONS; number++) {
      const before = await committedOffset();
      const transaction = await producer.transaction();
      const outcome = isAborted(number) ? 'aborted' : 'committed';
      for (let index = 0; index < RECORDS; index++)
        await transaction.send({ topic, messages: [{ value: `${outcome} ${number} ${index}` }] });
      const partitions = [{ partition: 0, offset: `${number + 1}` }];
      await transaction.sendOffsets({
        consumerGroupId: groupId,
        topics: [{ topic: `${topic}-in`, partitions }],
      });
      if (isAborted(number)) {
        await transaction.abort();
        equal(await committedOffset(), before);
      } else {
        await transaction.commit();
        // It does not ask for stable offsets only: what it is told may be of before the marker.
        while ((await committedOffset()) !== number + 1);
      }
    }
    const fenced = await producer.transaction();
    await fenced.send({ topic, messages: [{ value: 'aborted for it was fenced' }] });
    await other.connect();
    const heir = await other.transaction();
    await rejects(fenced.commit(), /fenced|epoch|newer/i);
    await heir.send({ topic, messages: [{ value: 'committed by who fenced' }] });
    await heir.commit();
    const expected = [...committedValues, 'committed by who fenced'];
    const consumer = kafka.consumer({ groupId: `readers-of-${topic}` });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const read: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const eachMessage = async ({ message }: { message: { value: Buffer | null } }): Promise<void> => {
        read.push(`${message.value}`);
        if (read.length === expected.length) resolve();
      };
      consumer.run({ eachMessage }).catch(reject);
    });
    deepEqual(read, expected);
    await Promise.all([consumer, admin, other, producer].map((each) => each.disconnect()));
    await view.check(expected);
  },
};

const platformatic: InteropCase = {
  name: '@platformatic/kafka transactions: commits and aborts; a reader of committed records and an MQTT subscriber',
  needs: ['java-clients'],
  async run(hub) {
    const topic = freshTopic('transactions-platformatic');
    await makeTopics(hub, topic);
    const view = await subscribeToCommitted(hub, topic);
    const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
      clientId: 'platformatic',
      bootstrapBrokers: [`127.0.0.1:${hub.kafkaPort}`],
      idempotent: true,
      transactionalId: `id-of-${topic}`,
    });
    const send = (value: string) => ({ messages: [{ topic, value: Buffer.from(value) }], acks: -1 });
    for (let number = 0; number < TRANSACTIONS; number++) {
      const transaction = await producer.beginTransaction();
      const outcome = isAborted(number) ? 'aborted' : 'committed';
      for (let index = 0; index < RECORDS; index++)
        await transaction.send(send(`${outcome} ${number} ${index}`));
      if (isAborted(number)) await transaction.abort();
      else await transaction.commit();
    }
    await producer.close();
    deepEqual(await readValues(hub.kafkaPort, topic, 'read_committed'), committedValues);
    await view.check(committedValues);
  },
};

async function makeTopics(hub: HubProcess, ...topics: string[]): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  for (const topic of topics) await raw.ensureTopic(topic);
  raw.close();
}

export const transactionCases: readonly InteropCase[] = [java, franzGo, ...python, kafkajs, platformatic];
