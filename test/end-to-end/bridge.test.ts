// Kafka to MQTT and back with the clients of npm, over real sockets.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHub, type TestHub } from '../helpers/hub.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { npmKafkaClients, type PlainRecord } from '../helpers/kafka-clients.ts';
import { mqttJsOn, npmMqttClients } from '../helpers/mqtt-clients.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';

const directory = temporaryDirectory();
let hub: TestHub;
let topics = 0;
const freshTopic = (): string => `bridge-${++topics}`;

beforeAll(async () => {
  hub = await startHub(directory.path, '[kafka]\ngroup_initial_rebalance_delay = "0s"\n');
});
afterAll(async () => {
  await hub.stop();
  directory.remove();
});

const text = (value: string): Buffer => Buffer.from(value);
const everyByte = Buffer.from(Array.from({ length: 256 }, (_value, index) => index));

describe.each(npmKafkaClients)('a record of $name', (kafka) => {
  describe.each(npmMqttClients)('at $name', (mqtt) => {
    it.each(['its name', '#'])('arrives when subscribed to %s', async (how) => {
      const topic = freshTopic();
      const subscription = await mqtt.subscribe(hub.mqttPort, how === '#' ? '#' : topic, 1);
      const headers = [
        ['a', text('1')],
        ['a', text('3')],
        ['b', text('2')],
      ] as const;
      await kafka.produce(hub.kafkaPort, topic, [{ key: text('k'), value: everyByte, headers }]);
      const message = await subscription.next();
      await subscription.close();
      const userProperties = mqtt.version === 5 ? headers.map(([name, value]) => [name, `${value}`]) : [];
      expect(message).toEqual({ topic, payload: everyByte, userProperties });
    });
  });

  it('with a key below its topic goes to that MQTT topic', async () => {
    const topic = freshTopic();
    const [mqtt] = npmMqttClients;
    const subscription = await mqtt!.subscribe(hub.mqttPort, `${topic}/+/set`, 1);
    const record = { key: text(`${topic}/7/set`), value: text('on'), headers: [] };
    await kafka.produce(hub.kafkaPort, topic, [{ ...record, key: text('elsewhere') }, record]);
    expect(await subscription.next()).toMatchObject({ topic: `${topic}/7/set`, payload: text('on') });
    await subscription.close();
  });
});

describe.each(npmMqttClients)('a publish of $name', (mqtt) => {
  it.each(npmKafkaClients)('arrives at a consumer group of $name', async (kafka) => {
    const topic = freshTopic();
    const mqttTopic = `${topic}/1/temp`;
    const userProperties = [
      ['unit', '°C'],
      ['unit', 'K'],
      ['site', 'a'],
    ] as const;
    await mqtt.publish(hub.mqttPort, { topic: mqttTopic, payload: everyByte, userProperties }, 1);
    const [record] = await kafka.consume(hub.kafkaPort, `group-${topic}`, topic, 1);
    expect(record).toMatchObject({ key: text(mqttTopic), value: everyByte });
    const own = record?.headers.filter(([name]) => !name.startsWith('mqtt.'));
    expect(own).toEqual(mqtt.version === 5 ? userProperties.map(([name, value]) => [name, text(value)]) : []);
  });

  it.each([0, 1, 2] as const)('at QoS %i is stored once', async (qos) => {
    const topic = freshTopic();
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic(topic);
    await mqtt.publish(hub.mqttPort, { topic, payload: text('x'), userProperties: [] }, qos);
    // At QoS 0 nothing tells the client that it is stored: the fetch waits for it.
    const { records } = await raw.fetch(topic, 0, 0, 10_000);
    expect(records.map(({ value }) => value)).toEqual([text('x')]);
    raw.close();
  });

  it('of a topic that is not legal in Kafka is kept under a legal name and found again', async () => {
    const mqttTopic = `straße ${mqtt.version}/1/temp`;
    const subscription = await mqtt.subscribe(hub.mqttPort, `straße ${mqtt.version}/#`, 1);
    await mqtt.publish(hub.mqttPort, { topic: mqttTopic, payload: text('x'), userProperties: [] }, 1);
    expect((await subscription.next()).topic).toBe(mqttTopic);
    await subscription.close();
  });
});

describe('null and empty', () => {
  const records: PlainRecord[] = [
    { key: null, value: text(''), headers: [['h', null]] },
    { key: text(''), value: null, headers: [['h', text('')]] },
    {
      key: text('k'),
      value: text('v'),
      headers: [
        ['h', null],
        ['h', text('')],
        ['g', text('1')],
        ['h', text('2')],
      ],
    },
  ];

  it('stay apart from Kafka to Kafka', async () => {
    const topic = freshTopic();
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic(topic);
    await raw.produce(topic, 0, recordBatch(records));
    const fetched = await raw.fetchAll(topic, 0);
    expect(fetched.map(({ key, value, headers }) => ({ key, value, headers }))).toEqual(records);
    raw.close();
  });

  it.each(npmKafkaClients)('stay apart in $name', async (kafka) => {
    const topic = freshTopic();
    const plain = [
      { key: null, value: text(''), headers: [] },
      { key: text(''), value: null, headers: [] },
    ];
    await kafka.produce(hub.kafkaPort, topic, plain);
    expect(await kafka.consume(hub.kafkaPort, `group-${topic}`, topic, 2)).toEqual(plain);
  });

  it.each(npmMqttClients)('are both an empty payload at $name', async (mqtt) => {
    const topic = freshTopic();
    const subscription = await mqtt.subscribe(hub.mqttPort, topic, 1);
    const raw = await RawKafka.connect(hub.kafkaPort);
    await raw.ensureTopic(topic);
    await raw.produce(topic, 0, recordBatch(records.slice(0, 2)));
    expect((await subscription.next()).payload).toEqual(text(''));
    expect((await subscription.next()).payload).toEqual(text(''));
    await subscription.close();
    raw.close();
  });
});

describe('what MQTT clients do', () => {
  it('and have expired keeps no Kafka consumer from what is behind it [FAULTS 55]', async () => {
    const topic = freshTopic();
    const [, mqtt] = npmMqttClients;
    const subscription = await mqtt!.subscribe(hub.mqttPort, topic, 1);
    const publisher = await mqttJsOn(hub.mqttPort, 5);
    await publisher.publishAsync(topic, 'expired', { qos: 1, properties: { messageExpiryInterval: 0 } });
    await publisher.publishAsync(topic, 'fresh', { qos: 1 });
    await publisher.endAsync();
    expect(`${(await subscription.next()).payload}`).toBe('fresh');
    await subscription.close();
    const [kafka] = npmKafkaClients;
    const records = await kafka!.consume(hub.kafkaPort, `group-${topic}`, topic, 2);
    expect(records.map(({ value }) => `${value}`)).toEqual(['expired', 'fresh']);
  });

  it('commits nothing for a Kafka group, not under its name either [FAULTS 57]', async () => {
    const topic = freshTopic();
    const [kafka] = npmKafkaClients;
    const record = (value: string) => ({ key: null, value: text(value), headers: [] });
    await kafka!.produce(hub.kafkaPort, topic, [record('before'), record('anybody was there')]);
    const [mqtt] = npmMqttClients;
    const shared = await mqtt!.subscribe(hub.mqttPort, `$share/group-${topic}/${topic}`, 1);
    await kafka!.produce(hub.kafkaPort, topic, [record('taken by MQTT')]);
    expect(`${(await shared.next()).payload}`).toBe('taken by MQTT');
    await shared.close();
    const records = await kafka!.consume(hub.kafkaPort, `group-${topic}`, topic, 3);
    expect(records.map(({ value }) => `${value}`)).toEqual(['before', 'anybody was there', 'taken by MQTT']);
  });
});
