// A compacted topic written through both doors, compacted, and read whole by a Kafka client and by a follower, as MQTT's
// dispatchers are: the latest message of each MQTT topic and the latest record of each key, with their offsets. A
// subscriber that has been there all the time gets on behind it.
import { expect, onTestFinished, test } from 'vitest';
import { createMqttFrontEnd } from '../../protocols/mqtt/front-end.ts';
import type { Partition } from '../../protocols/port.ts';
import type { LocalHub } from '../../src/hub/hub.ts';
import { kafkajsOn } from '../helpers/kafka-clients.ts';
import { npmMqttClients } from '../helpers/mqtt-clients.ts';
import { openTestKafka, type TestKafka } from '../protocols/kafka/kafka-fixture.ts';

const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.bytes': '1024',
  'segment.ms': '1',
  'min.cleanable.dirty.ratio': '0',
  'delete.retention.ms': '0',
};

async function openBoth(): Promise<TestKafka & { readonly mqttPort: number }> {
  const kafka = await openTestKafka();
  const mqtt = createMqttFrontEnd(kafka.hub, { closeTimeoutMs: 1000 });
  onTestFinished(() => mqtt.close());
  const { port } = await mqtt.listen({ name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 10 });
  return { ...kafka, mqttPort: port };
}

/** Offset, key and value of the records up to the one whose value is `last`. */
async function readByKafka(port: number, topic: string, last: string): Promise<string[]> {
  const consumer = kafkajsOn(port).consumer({ groupId: `reader-${topic}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const records: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({
      message,
    }: {
      message: { offset: string; key: unknown; value: unknown };
    }) => {
      records.push(`${message.offset} ${message.key} ${message.value}`);
      if (String(message.value) === last) resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return records;
}

/** Keys and values of a partition's records from its beginning, as whoever follows it gets them. */
async function readByFollowing(hub: LocalHub, partition: Partition, count: number): Promise<string[]> {
  const records: string[] = [];
  const cursor = hub.cursor();
  await new Promise<void>((resolve) => {
    const followed = hub.follow(partition, {
      fromOffset: 0,
      maxBytes: 1,
      onRange(range) {
        cursor.reset(range);
        while (cursor.nextBatch()) {
          while (cursor.nextRecord()) {
            const { bytes, keyStart, keyEnd, valueStart, valueEnd } = cursor;
            const key = bytes.toString('utf8', keyStart, keyEnd);
            records.push(`${cursor.offset} ${key} ${bytes.toString('utf8', valueStart, valueEnd)}`);
          }
        }
        if (records.length < count) return;
        followed.close();
        resolve();
      },
    });
  });
  return records;
}

test('a compacted topic keeps the latest of each key and MQTT topic, for readers of both protocols', async () => {
  const hub = await openBoth();
  const partition = await hub.createTopic('plant', COMPACTED);
  const publisher = npmMqttClients[1]!;
  const subscription = await publisher.subscribe(hub.mqttPort, 'plant/#', 1);
  const publish = (topic: string, text: string) =>
    publisher.publish(hub.mqttPort, { topic, payload: Buffer.from(text), userProperties: [] }, 1);
  const producer = kafkajsOn(hub.port).producer();
  await producer.connect();
  const produce = (key: string, value: string | null) =>
    producer.send({ topic: 'plant', messages: [{ key, value }] });

  for (let round = 0; round < 12; round++) {
    await publish(`plant/${round % 3}/temperature`, `${round} ${'·'.repeat(50)}`);
    await produce('plant/kafka', `from kafka ${round}`);
    await produce('gone', `${round}`);
  }
  await produce('gone', null);
  // A segment is closed when it is older than a millisecond.
  const startedAt = performance.now();
  while (performance.now() - startedAt < 2) await new Promise((resolve) => setImmediate(resolve));
  for (let round = 0; round < 2; round++) await hub.store.maintain();
  await publish('plant/last', 'last');
  await producer.disconnect();

  const dots = '·'.repeat(50);
  const expected = [
    `27 plant/0/temperature 9 ${dots}`,
    `30 plant/1/temperature 10 ${dots}`,
    `33 plant/2/temperature 11 ${dots}`,
    '34 plant/kafka from kafka 11',
    '37 plant/last last',
  ];
  expect(await readByKafka(hub.port, 'plant', 'last')).toEqual(expected);
  expect(await readByFollowing(hub.hub, partition, expected.length)).toEqual(expected);
  const live: string[] = [];
  while (live.at(-1) !== 'plant/last') live.push((await subscription.next()).topic);
  expect(live.length).toBe(38);
  await subscription.close();
  expect(hub.log.events('error')).toEqual([]);
});
