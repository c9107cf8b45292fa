// The whole hub with its own front ends, over a restart: what each door left is there for the other.
import { expect, test } from 'vitest';
import { startBroker } from '../../src/broker.ts';
import type { BrokerConfig } from '../../src/config/broker-config.ts';
import type { Broker } from '../../src/running-broker.ts';
import { kafkajs, type PlainRecord } from '../helpers/kafka-clients.ts';
import { mqttJsOn } from '../helpers/mqtt-clients.ts';
import { configOf, listener } from './broker-fixture.ts';
import { temporaryDirectory } from './hub/hub-fixture.ts';
import { TestLog } from './hub/test-log.ts';

async function start(config: BrokerConfig) {
  const log = new TestLog();
  const broker = await startBroker(config, log);
  const portOf = (name: string) => broker.listeners().find((each) => each.name === name)!.port;
  return { broker, log, kafkaPort: portOf('kafka'), mqttPort: portOf('mqtt') };
}

function record(key: string, value: string): PlainRecord {
  return { key: Buffer.from(key), value: Buffer.from(value), headers: [] };
}

/** Of the partitions in order. */
function committedTo(broker: Broker): number[] {
  const offsets = broker.groups.offsets('g') ?? [];
  return offsets.toSorted((a, b) => a.partition - b.partition).map(({ committed }) => committed);
}

test('records, ids and committed offsets survive a restart, and groups go on', async () => {
  const config = configOf(temporaryDirectory(), [listener('kafka', 'kafka'), listener('mqtt', 'mqtt')]);
  const first = await start(config);
  const mqtt = await mqttJsOn(first.mqttPort, 5);
  await mqtt.publishAsync('declared/1', 'from MQTT', { qos: 1 });
  await kafkajs.produce(first.kafkaPort, 'declared', [record('k', 'from Kafka')]);
  await kafkajs.consume(first.kafkaPort, 'g', 'declared', 2);
  const committed = committedTo(first.broker);
  const { topicId } = first.broker.hub.topics.get('declared')!;
  await mqtt.endAsync();
  await first.broker.stop();
  expect(first.log.events('error')).toEqual([]);

  const { broker, log, kafkaPort } = await start(config);
  expect(broker.ready()).toEqual([]);
  expect(broker.recovery).toMatchObject({ previousStopWasClean: true, recoveredBytes: 0 });
  expect(broker.hub.topics.get('declared')?.topicId).toBe(topicId);
  expect(committedTo(broker)).toEqual(committed);
  expect(committed.reduce((sum, each) => sum + each, 0)).toBe(2);
  await kafkajs.produce(kafkaPort, 'declared', [record('k', 'later')]);
  const [next] = await kafkajs.consume(kafkaPort, 'g', 'declared', 1);
  expect(next?.value?.toString()).toBe('later');
  await broker.stop();
  expect(log.events('error')).toEqual([]);
});

test('a port that is taken is said in one sentence', async () => {
  const first = await start(
    configOf(temporaryDirectory(), [listener('kafka', 'kafka'), listener('mqtt', 'mqtt')]),
  );
  const taken = { ...listener('mine', 'kafka'), port: first.kafkaPort };
  await expect(startBroker(configOf(temporaryDirectory(), [taken]), new TestLog())).rejects.toMatchObject({
    code: 'listen',
    message: expect.stringMatching(
      `listener "mine" cannot listen on 127.0.0.1:${first.kafkaPort}: .*EADDRINUSE`,
    ),
  });
  await first.broker.stop();
});
