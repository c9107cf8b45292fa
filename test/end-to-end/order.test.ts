// Order and offsets when many write at once, and what a stop and a start keep.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHub, type TestHub } from '../helpers/hub.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { kafkajsOn } from '../helpers/kafka-clients.ts';
import { mqttJsOn, npmMqttClients } from '../helpers/mqtt-clients.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

const options = '[kafka]\ngroup_initial_rebalance_delay = "0s"\n';
let directory: ReturnType<typeof temporaryDirectory>;
let hub: TestHub;

beforeEach(async () => {
  directory = temporaryDirectory();
  hub = await startHub(directory.path, options);
});
afterEach(async () => {
  await hub.stop();
  directory.remove();
});

const records = (values: readonly string[]) =>
  values.map((value) => ({ key: null, value: Buffer.from(value), headers: [] }));

describe('ten producers at once to one partition', () => {
  it('get offsets that are unique and contiguous, each its own, in its own order', async () => {
    const topic = 'contended';
    const reader = await RawKafka.connect(hub.kafkaPort);
    await reader.ensureTopic(topic);
    const batchSizes = [1, 7, 3, 20, 2];
    const told: { value: string; offset: number }[] = [];
    const produce = async (producer: number): Promise<void> => {
      const raw = await RawKafka.connect(hub.kafkaPort);
      let sequence = 0;
      const answers = Array.from({ length: 40 }, (_batch, index) => {
        const size = batchSizes[(index + producer) % batchSizes.length] ?? 1;
        const values = Array.from({ length: size }, () => `${producer}-${sequence++}`);
        return raw.produce(topic, 0, recordBatch(records(values))).then(({ error, baseOffset }) => {
          expect(error).toBe(0);
          values.forEach((value, delta) => void told.push({ value, offset: baseOffset + delta }));
        });
      });
      await Promise.all(answers);
      raw.close();
    };
    await Promise.all(Array.from({ length: 10 }, (_producer, index) => produce(index)));
    const stored = await reader.fetchAll(topic, 0);
    reader.close();
    expect(stored.map(({ offset }) => offset)).toEqual(stored.map((_record, index) => index));
    expect(stored).toHaveLength(told.length);
    for (const { value, offset } of told) expect(`${stored[offset]?.value}`).toBe(value);
    for (let producer = 0; producer < 10; producer += 1) {
      const own = stored.map(({ value }) => `${value}`).filter((value) => value.startsWith(`${producer}-`));
      expect(own).toEqual(own.map((_value, index) => `${producer}-${index}`));
    }
  });

  it('share it with MQTT publishers, whose order is kept too', async () => {
    const topic = 'shared';
    const subscription = await npmMqttClients[0]!.subscribe(hub.mqttPort, topic, 1);
    const publisher = await mqttJsOn(hub.mqttPort, 5);
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic(topic);
    const count = 300;
    await Promise.all(
      Array.from({ length: count }, (_value, index) => [
        publisher.publishAsync(topic, `mqtt-${index}`, { qos: 1 }),
        raw.produce(topic, 0, recordBatch(records([`kafka-${index}`]))),
      ]).flat(),
    );
    const stored = (await raw.fetchAll(topic, 0)).map(({ value }) => `${value}`);
    const ordered = (source: string): string[] =>
      Array.from({ length: count }, (_value, index) => `${source}-${index}`);
    expect(stored.filter((value) => value.startsWith('mqtt'))).toEqual(ordered('mqtt'));
    expect(stored.filter((value) => value.startsWith('kafka'))).toEqual(ordered('kafka'));
    // The subscriber sees the log's order.
    const seen: string[] = [];
    while (seen.length < stored.length) seen.push(`${(await subscription.next()).payload}`);
    expect(seen).toEqual(stored);
    await publisher.endAsync();
    await subscription.close();
    raw.close();
  });
});

describe('a stop and a start', () => {
  it('keep records, offsets, topic ids and committed offsets', async () => {
    const mqtt = await mqttJsOn(hub.mqttPort, 5);
    for (let index = 0; index < 20; index += 1) await mqtt.publishAsync('kept/a', `${index}`, { qos: 1 });
    await mqtt.endAsync();
    expect(await consumeWithKafkajs(hub.kafkaPort, 'resuming', 'kept', 10)).toEqual(
      Array.from({ length: 10 }, (_value, index) => `${index}`),
    );
    const before = await adminJson(hub, '/api/v1/topics/kept/offsets');
    const groupBefore = await adminJson(hub, '/api/v1/groups/resuming/offsets');

    await hub.stop();
    hub = await startHub(directory.path, options);

    expect(await adminJson(hub, '/api/v1/topics/kept/offsets')).toMatchObject({
      topicId: before['topicId'],
      partitions: [{ partition: 0, logStart: 0, logEnd: 20, highWatermark: 20 }],
    });
    expect(await adminJson(hub, '/api/v1/groups/resuming/offsets')).toEqual(groupBefore);
    const raw = await RawKafka.connect(hub.kafkaPort);
    const stored = await raw.fetchAll('kept', 0);
    expect(stored.map(({ value }) => `${value}`)).toEqual(stored.map((_record, index) => `${index}`));
    raw.close();
    expect(await consumeWithKafkajs(hub.kafkaPort, 'resuming', 'kept', 10)).toEqual(
      Array.from({ length: 10 }, (_value, index) => `${index + 10}`),
    );
  });
});

/** The next `count` values for the group; each is committed before the next is handled, and nothing beyond them. */
async function consumeWithKafkajs(
  port: number,
  groupId: string,
  topic: string,
  count: number,
): Promise<string[]> {
  const consumer = kafkajsOn(port).consumer({ groupId });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const values: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({ partition, message }: Handled): Promise<void> => {
      if (values.length === count) return;
      values.push(`${message.value}`);
      await consumer.commitOffsets([{ topic, partition, offset: `${Number(message.offset) + 1}` }]);
      if (values.length === count) resolve();
    };
    consumer.run({ autoCommit: false, eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return values;
}

interface Handled {
  readonly partition: number;
  readonly message: { readonly offset: string; readonly value: Buffer | null };
}

async function adminJson({ adminUrl }: TestHub, path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${adminUrl}${path}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}
