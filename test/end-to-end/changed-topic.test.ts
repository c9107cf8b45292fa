// A topic that is changed over one protocol while the other uses it.
import { expect, it, onTestFinished } from 'vitest';
import { startHub } from '../helpers/hub.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { kafkajsOn } from '../helpers/kafka-clients.ts';
import { npmMqttClients } from '../helpers/mqtt-clients.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

it('partitions that are added reach MQTT subscribers, and take what they publish by its key', async () => {
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  const hub = await startHub(directory.path);
  onTestFinished(() => hub.stop());
  const raw = await RawKafka.connect(hub.kafkaPort);
  onTestFinished(() => raw.close());
  await raw.ensureTopic('plant');
  const mqtt = npmMqttClients.find(({ version }) => version === 5)!;
  const subscription = await mqtt.subscribe(hub.mqttPort, 'plant/#', 1);
  onTestFinished(() => subscription.close());
  const publish = (payload: string) =>
    mqtt.publish(hub.mqttPort, { topic: 'plant/a', payload: Buffer.from(payload), userProperties: [] }, 1);
  await publish('before');
  expect(`${(await subscription.next()).payload}`).toBe('before');

  const admin = kafkajsOn(hub.kafkaPort).admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ topic: 'plant', count: 8 }] });
  await admin.disconnect();
  const record = { key: Buffer.from('plant/b'), value: Buffer.from('added'), headers: [] };
  expect(await raw.produce('plant', 7, recordBatch([record]))).toEqual({ error: 0, baseOffset: 0 });
  expect(`${(await subscription.next()).payload}`).toBe('added');

  await publish('after');
  expect(`${(await subscription.next()).payload}`).toBe('after');
  const byPartition = await Promise.all([...Array(8).keys()].map((each) => raw.fetchAll('plant', each)));
  const found = byPartition.findIndex((records) => records.some(({ value }) => `${value}` === 'after'));
  // Where Kafka's default partitioner has the key among eight.
  expect(found).toBe(hub.broker.hub.partitionFor(Buffer.from('plant/a'), 8));
});
