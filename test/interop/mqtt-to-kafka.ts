// An MQTT publish arrives at a consumer group of each Kafka client: topic, key, payload byte for byte, and user
// properties as headers, in order with duplicates.
import { deepEqual } from 'node:assert/strict';
import { npmKafkaClients, type PlainRecord } from '../helpers/kafka-clients.ts';
import { npmMqttClients } from '../helpers/mqtt-clients.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { apacheTools } from './kafka-tools.ts';
import { kcat } from './kcat.ts';
import { mosquittoClients } from './mosquitto.ts';

/** Every byte there is, zero and line ends among them. */
const payload = Buffer.from(Array.from({ length: 256 }, (_value, index) => index));
const userProperties = [
  ['unit', '°C'],
  ['site', 'a'],
  ['unit', 'K'],
] as const;

const consumers = [
  ...npmKafkaClients.map((client) => ({ client, needs: [] })),
  { client: kcat, needs: ['kcat'] as const },
  { client: apacheTools, needs: ['kafka-tools'] as const },
];

const publishers = [
  ...npmMqttClients.map((client) => ({ client, needs: [] })),
  ...mosquittoClients.map((client) => ({ client, needs: ['mosquitto_pub'] as const })),
];

export const mqttToKafka: readonly InteropCase[] = publishers.flatMap((publisher) =>
  consumers.map(
    (consumer): InteropCase => ({
      name: `a publish of ${publisher.client.name} to plant/1/temp arrives at a consumer group of ${consumer.client.name}`,
      needs: [...publisher.needs, ...consumer.needs],
      async run({ kafkaPort, mqttPort }) {
        const topic = freshTopic('plant');
        const mqttTopic = `${topic}/1/temp`;
        await publisher.client.publish(mqttPort, { topic: mqttTopic, payload, userProperties }, 1);
        const [record] = await consumer.client.consume(kafkaPort, `group-${topic}`, topic, 1);
        if (record === undefined) throw new Error('no record');
        deepEqual({ key: record.key?.toString(), value: record.value }, { key: mqttTopic, value: payload });
        // MQTT.js groups what it is given by name, kafkajs what it shows.
        const asGrouped = publisher.client.name.startsWith('MQTT.js') || consumer.client.groupsHeaders;
        const expected =
          publisher.client.version === 5 ? userProperties.map(([name, value]) => `${name}=${value}`) : [];
        deepEqual(ownHeaders(record), asGrouped ? grouped(expected) : expected);
      },
    }),
  ),
);

/** What the client added; `mqtt.…` is what the hub tells about the publish. */
function ownHeaders({ headers }: PlainRecord): string[] {
  return headers.filter(([name]) => !name.startsWith('mqtt.')).map(([name, value]) => `${name}=${value}`);
}

/** In the order of each name's first appearance. */
function grouped(headers: readonly string[]): string[] {
  const names = [...new Set(headers.map((header) => header.split('=')[0]))];
  return names.flatMap((name) => headers.filter((header) => header.split('=')[0] === name));
}
