// A record from each Kafka client arrives at each MQTT client, subscribed to the topic's name and to `#`.
import { deepEqual } from 'node:assert/strict';
import { npmKafkaClients, type PlainRecord } from '../helpers/kafka-clients.ts';
import { type MqttClient, type MqttSubscription, npmMqttClients } from '../helpers/mqtt-clients.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { apacheTools } from './kafka-tools.ts';
import { kcat, produceWithKcat } from './kcat.ts';
import { mosquittoClients } from './mosquitto.ts';

const mqttClients = [...npmMqttClients, ...mosquittoClients];

interface Waiting {
  readonly client: MqttClient;
  readonly filter: string;
  readonly subscription: MqttSubscription;
}

/** Every MQTT client, on the topic's name and on `#`. */
function subscribeAll(port: number, topic: string): Promise<Waiting[]> {
  const wanted = mqttClients.flatMap((client) => [topic, '#'].map((filter) => ({ client, filter })));
  return Promise.all(
    wanted.map(async (each) => ({
      ...each,
      subscription: await each.client.subscribe(port, each.filter, 1),
    })),
  );
}

async function expectEverywhere(
  waiting: readonly Waiting[],
  topic: string,
  record: PlainRecord,
): Promise<void> {
  for (const { client, filter, subscription } of waiting) {
    const message = await subscription.next();
    const seen = { client: client.name, filter, ...message };
    const userProperties =
      client.version === 5 ? record.headers.map(([name, value]) => [name, `${value}`] as const) : [];
    deepEqual(seen, {
      client: client.name,
      filter,
      topic,
      payload: record.value ?? Buffer.alloc(0),
      userProperties,
    });
  }
}

async function closeAll(waiting: readonly Waiting[]): Promise<void> {
  await Promise.all(waiting.map(({ subscription }) => subscription.close()));
}

const producers = [
  ...npmKafkaClients.map((client) => ({ client, needs: [] })),
  { client: kcat, needs: ['kcat'] as const },
  { client: apacheTools, needs: ['kafka-tools'] as const },
];

const eachProducer = producers.map(
  ({ client, needs }): InteropCase => ({
    name: `a record of ${client.name} arrives at ${mqttClients.map(({ name }) => name).join(', ')}, by name and by #`,
    needs: [...needs, 'mosquitto_sub'],
    async run({ kafkaPort, mqttPort }) {
      const topic = freshTopic('from-kafka');
      const waiting = await subscribeAll(mqttPort, topic);
      try {
        const record = {
          key: Buffer.from('a key'),
          value: Buffer.from(`a record of ${client.name}, grün ✓`),
          // MQTT.js shows properties of one name together, so those of the same name stand together here.
          headers: [
            ['a', '1'],
            ['a', '3'],
            ['b', '2'],
          ].map(([name = '', value = '']) => [name, Buffer.from(value)] as const),
        };
        await client.produce(kafkaPort, topic, [record]);
        await expectEverywhere(waiting, topic, record);
      } finally {
        await closeAll(waiting);
      }
    },
  }),
);

const withoutValue: InteropCase = {
  name: 'a record without a value arrives at each MQTT client as an empty payload',
  needs: ['kcat', 'mosquitto_sub'],
  async run({ kafkaPort, mqttPort }) {
    const topic = freshTopic('tombstone');
    const waiting = await subscribeAll(mqttPort, topic);
    const record = { key: Buffer.from('gone'), value: null, headers: [] };
    try {
      await kcat.produce(kafkaPort, topic, [record]);
      await expectEverywhere(waiting, topic, record);
    } finally {
      await closeAll(waiting);
    }
  },
};

/** Whether a client really compresses is its business: the value is long and dull enough that it does. */
const compressed = ['none', 'gzip', 'snappy', 'lz4', 'zstd'].map(
  (codec): InteropCase => ({
    name: `records that kcat compresses with ${codec} arrive whole`,
    needs: ['kcat', 'mosquitto_sub'],
    async run({ kafkaPort, mqttPort }) {
      const topic = freshTopic(`compressed-${codec}`);
      const [client] = mosquittoClients;
      if (client === undefined) throw new Error('no client');
      const subscription = await client.subscribe(mqttPort, topic, 1);
      const value = Buffer.from('the same again, '.repeat(3_000));
      await produceWithKcat(kafkaPort, topic, { key: null, value, headers: [] }, ['-z', codec]);
      deepEqual((await subscription.next()).payload, value);
      await subscription.close();
      const raw = await RawKafka.connect(kafkaPort);
      deepEqual((await raw.fetchAll(topic, 0))[0]?.value, value);
      raw.close();
    },
  }),
);

export const kafkaToMqtt: readonly InteropCase[] = [...eachProducer, withoutValue, ...compressed];
