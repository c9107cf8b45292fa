// An application of aedes whose broker is given the hub's store: the two lines of the README, real MQTT clients in front and
// a real Kafka client behind.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Aedes } from 'aedes';
import { Kafka, logLevel } from 'kafkajs';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { expect, it, onTestFinished } from 'vitest';
import { openAedesStore } from '../../../src/aedes/aedes-store.ts';
import type { Polylog } from '../../../src/polylog.ts';
import { Queue } from '../../helpers/mqtt-clients.ts';
import { openAedesFixture } from './aedes-fixture.ts';

type Connected = MqttClient & { readonly messages: Queue<string> };

interface Application {
  readonly aedes: Aedes;
  client(clientId: string, options?: IClientOptions): Promise<Connected>;
  stop(): Promise<void>;
}

async function application(polylog: Polylog): Promise<Application> {
  const { persistence, mq } = await openAedesStore(polylog);
  const aedes = await Aedes.createBroker({ persistence, mq });
  const server = createServer(aedes.handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // TCP
  return {
    aedes,
    client: async (clientId, options = {}) => {
      const client = connect(`mqtt://127.0.0.1:${port}`, {
        ...{ clientId, clean: false, reconnectPeriod: 0, ...options },
      });
      onTestFinished(() => void client.end(true));
      // Before it is connected: what waits comes right behind CONNACK.
      const messages = new Queue<string>();
      client.on('message', (topic, payload) => messages.push(`${topic} ${payload}`));
      await new Promise<void>((resolve, reject) =>
        client.once('connect', () => resolve()).once('error', reject),
      );
      return Object.assign(client, { messages });
    },
    stop: async () => {
      await new Promise<void>((resolve) => aedes.close(() => resolve()));
      server.close();
      await once(server, 'close');
    },
  };
}

const quiet = { logLevel: logLevel.NOTHING, clientId: 'kafka' };

it('sessions, what waits for them and retained messages are there after a restart', async () => {
  let polylog = await openAedesFixture();
  onTestFinished(() => polylog.close());
  let running = await application(polylog);
  const subscriber = await running.client('subscriber');
  await subscriber.subscribeAsync('plant/#', { qos: 1 });
  await subscriber.endAsync();
  // At QoS 2: aedes answers a publish at QoS 1 before it has stored it.
  const publisher = await running.client('publisher', { clean: true });
  await publisher.publishAsync('plant/1/temp', '20', { qos: 2 });
  await publisher.publishAsync('plant/1/state', 'on', { qos: 2, retain: true });
  await publisher.endAsync();
  await running.stop();

  polylog = await polylog.restart();
  running = await application(polylog);
  onTestFinished(() => running.stop());
  const later = await running.client('later', { clean: true });
  await later.subscribeAsync('plant/+/state');
  expect(await later.messages.next()).toBe('plant/1/state on');
  const back = await running.client('subscriber');
  expect([await back.messages.next(), await back.messages.next()].sort()).toEqual([
    'plant/1/state on',
    'plant/1/temp 20',
  ]);
});

it('Kafka reads what clients publish, and they hear what Kafka writes, those that were away too', async () => {
  const polylog = await openAedesFixture();
  onTestFinished(() => polylog.close());
  const running = await application(polylog);
  onTestFinished(() => running.stop());
  const away = await running.client('away');
  await away.subscribeAsync('plant/#', { qos: 1 });
  await away.endAsync();
  const live = await running.client('live', { clean: true });
  await live.subscribeAsync('plant/#', { qos: 1 });
  await live.publishAsync('plant/1/temp', 'from mqtt', { qos: 1 });
  expect(await live.messages.next()).toBe('plant/1/temp from mqtt');

  const kafka = new Kafka({ ...quiet, brokers: [polylog.address('kafka')] });
  const producer = kafka.producer();
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  await producer.send({ topic: 'plant', messages: [{ key: 'plant/2/temp', value: 'from kafka' }] });
  expect(await live.messages.next()).toBe('plant/2/temp from kafka');

  const consumer = kafka.consumer({ groupId: 'g', maxWaitTimeInMs: 100 });
  await consumer.connect();
  onTestFinished(() => consumer.disconnect());
  await consumer.subscribe({ topic: 'plant', fromBeginning: true });
  const read = new Queue<string>();
  await consumer.run({
    eachMessage: async ({ message: { key, value, headers } }) =>
      read.push(`${key} ${value} ${headers?.['mqtt.topic'] ?? ''}`),
  });
  expect([await read.next(), await read.next()].sort()).toEqual([
    'plant/1/temp from mqtt plant/1/temp',
    'plant/2/temp from kafka ',
  ]);

  const back = await running.client('away');
  const got = [await back.messages.next(), await back.messages.next()];
  expect(got.sort()).toEqual(['plant/1/temp from mqtt', 'plant/2/temp from kafka']);
});

it('nothing is lost or repeated when messages of all kinds overtake each other on their way to the disk', async () => {
  const polylog = await openAedesFixture();
  onTestFinished(() => polylog.close());
  const running = await application(polylog);
  onTestFinished(() => running.stop());
  const live = await running.client('live');
  // Two that match: one message each all the same.
  await live.subscribeAsync(['many/#', 'many/+/a'], { qos: 2 });
  const sent = Array.from({ length: 60 }, (_, index) => `many/${index % 7}/a ${index}`);
  // At QoS 1 a message is queued for the client before it goes to the log: those at QoS 0 behind it are there first.
  for (const [index, message] of sent.entries()) {
    const [topic, payload] = message.split(' ') as [string, string];
    const packet = {
      cmd: 'publish',
      topic,
      payload,
      qos: index % 2 === 0 ? 1 : 0,
      dup: false,
      retain: false,
    } as const;
    running.aedes.publish(packet, (error) => expect(error ?? undefined).toBeUndefined());
  }
  const got: string[] = [];
  for (const _ of sent) got.push(await live.messages.next());
  expect(got.sort()).toEqual([...sent].sort());
  // What is acknowledged does not wait any more.
  await live.publishAsync('many/last/a', 'end', { qos: 2 });
  expect(await live.messages.next()).toBe('many/last/a end');
});
