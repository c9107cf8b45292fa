// MQTT.js, in the version of MQTT that it is told: says what it did as `did: WORDS`, and what came of Kafka's record as
// `message: JSON`. Run as `mqtt-js.ts PORT 4|5 TOPIC`.
import { deepEqual } from 'node:assert/strict';
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect } from 'mqtt';
import { Queue } from '../../helpers/mqtt-clients.ts';

const [port = '', versionText = '', topic = ''] = process.argv.slice(2);
const version = versionText === '5' ? 5 : 4;
const QOS = [0, 1, 2] as const;

const did = (words: string): void => void process.stdout.write(`did: ${words}\n`);

interface Connected {
  readonly client: MqttClient;
  readonly sessionPresent: boolean;
  next(): Promise<IPublishPacket>;
}

async function open(name: string, keeps = false, more: IClientOptions = {}): Promise<Connected> {
  const client = connect(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: version,
    clientId: `${topic}-${name}`,
    clean: !keeps,
    reconnectPeriod: 0,
    ...(version === 5 && keeps ? { properties: { sessionExpiryInterval: 600 } } : {}),
    ...more,
  });
  const messages = new Queue<IPublishPacket>();
  client.on('message', (_topic, _payload, packet) => messages.push(packet));
  const connack = await new Promise<IConnackPacket>((resolve, reject) =>
    client.once('connect', resolve).once('error', reject),
  );
  return { client, sessionPresent: connack.sessionPresent, next: () => messages.next() };
}

async function expectNext(connected: Connected, ...expected: readonly unknown[]): Promise<void> {
  const packet = await connected.next();
  const name = packet.topic.slice(topic.length + 1);
  deepEqual([name, packet.payload.toString(), packet.qos, packet.retain], expected);
}

const one = await open('one');
const other = await open('other');
await one.client.subscribeAsync(`${topic}/qos/#`, { qos: 2 });
for (const qos of QOS) await other.client.publishAsync(`${topic}/qos/${qos}`, `at ${qos}`, { qos });
for (const qos of QOS) await expectNext(one, `qos/${qos}`, `at ${qos}`, qos, false);
await one.client.unsubscribeAsync(`${topic}/qos/#`);
did('delivered at QoS 0, 1 and 2');

const before = await open('away', true);
deepEqual(before.sessionPresent, false);
await before.client.subscribeAsync(`${topic}/session`, { qos: 2 });
await before.client.endAsync();
for (const qos of [1, 2] as const) await other.client.publishAsync(`${topic}/session`, `at ${qos}`, { qos });
const after = await open('away', true);
deepEqual(after.sessionPresent, true);
for (const qos of [1, 2]) await expectNext(after, 'session', `at ${qos}`, qos, false);
await after.client.endAsync();
did('resumed a session');

await other.client.publishAsync(`${topic}/retained`, 'kept', { qos: 1, retain: true });
await one.client.subscribeAsync(`${topic}/retained`, { qos: 1 });
await expectNext(one, 'retained', 'kept', 1, true);
await other.client.publishAsync(`${topic}/retained`, '', { qos: 1, retain: true });
await expectNext(one, 'retained', '', 1, false);
did('retained and cleared');

await one.client.subscribeAsync(`${topic}/will`, { qos: 1 });
const breaks = await open('breaks', false, {
  will: { topic: `${topic}/will`, payload: Buffer.from('gone'), qos: 1, retain: false },
});
breaks.client.stream.destroy();
await expectNext(one, 'will', 'gone', 1, false);
did('left a will');

await other.client.publishAsync(`${topic}/to-kafka`, 'from MQTT', {
  qos: 2,
  ...(version === 5
    ? {
        properties: {
          contentType: 'text/plain',
          responseTopic: `${topic}/answer`,
          correlationData: Buffer.from([0, 1, 255]),
          payloadFormatIndicator: true,
          messageExpiryInterval: 3_600,
          userProperties: { unit: ['°C', 'K'], site: 'a' },
        },
      }
    : {}),
});
did('published for Kafka');

await one.client.subscribeAsync(`${topic}/from-kafka`, { qos: 1 });
did('subscribed for Kafka');
const { topic: from, payload, properties } = await one.next();
const said = {
  topic: from,
  payload: Buffer.from(payload).toString('hex'),
  contentType: properties?.contentType ?? null,
  responseTopic: properties?.responseTopic ?? null,
  correlationData: properties?.correlationData?.toString('hex') ?? null,
  userProperties: Object.entries(properties?.userProperties ?? {}).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value]),
  ),
};
process.stdout.write(`message: ${JSON.stringify(said)}\n`);
await one.client.endAsync();
await other.client.endAsync();
did('all');
