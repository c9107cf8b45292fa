// Cost against connections: very many that are idle beside one that works, and the same work spread over many.
import { ApiVersionsRequest, ApiVersionsResponse } from '../../../protocols/kafka/messages/api-versions.ts';
import { batchOf } from '../kafka-batches.ts';
import { type Curve, count, type World } from './curve.ts';
import { createTopic, KafkaConnection, produce, produceFrame } from './kafka-work.ts';
import { MeasuredHub } from './measured-hub.ts';
import { inParallel, MqttConnection, publishAll, publishesOf } from './mqtt-work.ts';

const API_VERSIONS = {
  key: 18,
  version: 0,
  request: ApiVersionsRequest,
  response: ApiVersionsResponse,
} as const;
const TOPIC = 'work';
const OPENED_AT_ONCE = 100;
/** Of all connections together; the hub lets one MQTT client have no more. */
const IN_FLIGHT = 1000;
const IDLE_IN_FLIGHT = 100;
const MESSAGES = 20_000;
const MESSAGE_BYTES = 64;
const REQUESTS = 5000;
const ACTIVE_REQUESTS = 20_000;

interface MqttWorld extends World {
  readonly hub: MeasuredHub;
  readonly publishers: readonly MqttConnection[];
  readonly subscribers: readonly MqttConnection[];
}

interface KafkaWorld extends World {
  readonly hub: MeasuredHub;
  readonly producers: readonly KafkaConnection[];
}

async function openMqtt(port: number, connections: number, name: string): Promise<MqttConnection[]> {
  const opened: MqttConnection[] = [];
  await inParallel(connections, OPENED_AT_ONCE, async (index) => {
    opened.push(await MqttConnection.open(port, { clientId: `${name}-${index}`, number: index }));
  });
  return opened;
}

/** Each has asked something: it is known for a Kafka client. */
async function openKafka(port: number, connections: number): Promise<KafkaConnection[]> {
  const opened: KafkaConnection[] = [];
  await inParallel(connections, OPENED_AT_ONCE, async (index) => {
    const connection = await KafkaConnection.open(port, index);
    await connection.ask(API_VERSIONS, {});
    opened.push(connection);
  });
  return opened;
}

async function openIdleMqtt(idle: number, directory: string): Promise<MqttWorld> {
  const hub = await MeasuredHub.start(directory);
  const idlers = await openMqtt(hub.mqttPort, idle, 'idle');
  const publishers = await openMqtt(hub.mqttPort, 1, 'publisher');
  const subscribers = await openMqtt(hub.mqttPort, 1, 'subscriber');
  await subscribers[0]?.subscribe([`${TOPIC}/#`]);
  const close = async (): Promise<void> => {
    for (const each of [...idlers, ...publishers, ...subscribers]) each.close();
    await hub.close();
  };
  return { hub, publishers, subscribers, close };
}

async function openActiveMqtt(active: number, directory: string): Promise<MqttWorld> {
  const hub = await MeasuredHub.start(directory);
  const publishers = await openMqtt(hub.mqttPort, active, 'publisher');
  const close = async (): Promise<void> => {
    for (const each of publishers) each.close();
    await hub.close();
  };
  return { hub, publishers, subscribers: [], close };
}

async function openKafkaWorld(idle: number, active: number, directory: string): Promise<KafkaWorld> {
  const hub = await MeasuredHub.start(directory);
  await createTopic(hub.kafkaPort, TOPIC, 1);
  const idlers = await openKafka(hub.kafkaPort, idle);
  const producers = await openKafka(hub.kafkaPort, active);
  const close = async (): Promise<void> => {
    for (const each of [...idlers, ...producers]) each.close();
    await hub.close();
  };
  return { hub, producers, close };
}

async function publish({ publishers, subscribers }: MqttWorld, window: number): Promise<number> {
  const each = Math.ceil(MESSAGES / publishers.length);
  const publishes = publishesOf(each, () => `${TOPIC}/topic`, MESSAGE_BYTES);
  await publishAll({ publishers, subscribers }, publishes, window);
  return each * publishers.length;
}

async function append({ producers }: KafkaWorld, requests: number, inFlight: number): Promise<number> {
  const frame = produceFrame(TOPIC, 0, batchOf(1, 0, 100));
  await produce(producers, frame, { requests, inFlight });
  return requests;
}

export const idleMqtt: Curve<MqttWorld> = {
  name: 'idle-mqtt-connections',
  title: 'Idle MQTT connections',
  axis: { label: 'connections that do nothing', format: count },
  points: [1, 10, 100, 1000, 10_000],
  figures: [
    {
      name: 'publish and deliver, QoS 1',
      unit: 'message',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => publish(world, IDLE_IN_FLIGHT)),
    },
  ],
  open: openIdleMqtt,
};

export const idleKafka: Curve<KafkaWorld> = {
  name: 'idle-kafka-connections',
  title: 'Idle Kafka connections',
  axis: { label: 'connections that do nothing', format: count },
  points: [1, 10, 100, 1000, 10_000],
  figures: [
    {
      name: 'append single records',
      unit: 'record',
      expectation: 'flat',
      measure: (world) => world.hub.sample(() => append(world, REQUESTS, IDLE_IN_FLIGHT)),
    },
  ],
  open: (idle, directory) => openKafkaWorld(idle, 1, directory),
};

const SHARED_IN_FLIGHT =
  'the same thousand in flight, from ever more connections: what comes and goes in one read and one write of a socket is one message in the end, and a read and a write of a socket cost what ten messages do';

export const activeMqtt: Curve<MqttWorld> = {
  name: 'active-mqtt-connections',
  title: 'Active MQTT connections',
  axis: { label: 'connections that publish', format: count },
  points: [1, 10, 100, 1000],
  figures: [
    {
      name: 'publish, QoS 1, 1,000 in flight',
      unit: 'message',
      expectation: SHARED_IN_FLIGHT,
      measure: (world) =>
        world.hub.sample(() => publish(world, Math.ceil(IN_FLIGHT / world.publishers.length))),
    },
  ],
  open: openActiveMqtt,
};

export const activeKafka: Curve<KafkaWorld> = {
  name: 'active-kafka-connections',
  title: 'Active Kafka connections',
  axis: { label: 'connections that produce', format: count },
  points: [1, 10, 100, 1000],
  figures: [
    {
      name: 'append single records, 1,000 in flight',
      unit: 'record',
      expectation: SHARED_IN_FLIGHT,
      measure: (world) =>
        world.hub.sample(() => append(world, ACTIVE_REQUESTS, Math.ceil(IN_FLIGHT / world.producers.length))),
    },
  ],
  open: (active, directory) => openKafkaWorld(0, active, directory),
};
