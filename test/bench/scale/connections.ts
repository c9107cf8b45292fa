// Cost against connections: very many that are idle beside one that works, and the same work spread over many.
import { ApiVersionsRequest, ApiVersionsResponse } from '../../../protocols/kafka/messages/api-versions.ts';
import { batchOf } from '../kafka-batches.ts';
import { type Curve, count, type Sample, type World } from './curve.ts';
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
const MESSAGES = 20_000;
const MESSAGE_BYTES = 64;

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

async function publish({ publishers, subscribers }: MqttWorld, inFlight: number): Promise<number> {
  const each = Math.ceil(MESSAGES / publishers.length);
  const publishes = publishesOf(each, () => `${TOPIC}/topic`, MESSAGE_BYTES);
  await publishAll({ publishers, subscribers }, publishes, Math.ceil(inFlight / publishers.length));
  return each * publishers.length;
}

async function append({ producers }: KafkaWorld, requests: number, inFlight: number): Promise<number> {
  const frame = produceFrame(TOPIC, 0, batchOf(1, 0, 100));
  await produce(producers, frame, { requests, inFlight: Math.ceil(inFlight / producers.length) });
  return requests;
}

/** What there are ever more of, and what that ought to do to the cost. */
interface Crowd {
  readonly points: readonly number[];
  readonly expectation: string;
  /** Of all connections together. */
  readonly inFlight: number;
}

const IDLE: Crowd = { points: [1, 10, 100, 1000, 10_000], expectation: 'flat', inFlight: 100 };

/** The hub lets one MQTT client have no more in flight. */
const ACTIVE: Crowd = {
  points: [1, 10, 100, 1000],
  expectation:
    'the same thousand in flight, from ever more connections: what comes and goes in one read and one write of a socket is one message in the end, and a read and a write of a socket cost what ten messages do',
  inFlight: 1000,
};

interface ConnectionCurve<W> {
  readonly name: string;
  readonly title: string;
  readonly label: string;
  readonly figure: string;
  readonly unit: string;
  readonly open: (connections: number, directory: string) => Promise<W>;
  /** @returns how many units it was */
  readonly work: (world: W, inFlight: number) => Promise<number>;
}

function curveOf<W extends MqttWorld | KafkaWorld>(
  { points, expectation, inFlight }: Crowd,
  { name, title, label, figure, unit, work, open }: ConnectionCurve<W>,
): Curve<W> {
  const measure = (world: W): Promise<Sample> => world.hub.sample(() => work(world, inFlight));
  return {
    ...{ name, title, points, open },
    axis: { label, format: count },
    figures: [{ name: figure, unit, expectation, measure }],
  };
}

export const idleMqtt = curveOf(IDLE, {
  name: 'idle-mqtt-connections',
  title: 'Idle MQTT connections',
  label: 'connections that do nothing',
  figure: 'publish and deliver, QoS 1',
  unit: 'message',
  open: openIdleMqtt,
  work: publish,
});

export const idleKafka = curveOf(IDLE, {
  name: 'idle-kafka-connections',
  title: 'Idle Kafka connections',
  label: 'connections that do nothing',
  figure: 'append single records',
  unit: 'record',
  open: (idle, directory) => openKafkaWorld(idle, 1, directory),
  work: (world, inFlight) => append(world, 5000, inFlight),
});

export const activeMqtt = curveOf(ACTIVE, {
  name: 'active-mqtt-connections',
  title: 'Active MQTT connections',
  label: 'connections that publish',
  figure: 'publish, QoS 1, 1,000 in flight',
  unit: 'message',
  open: openActiveMqtt,
  work: publish,
});

export const activeKafka = curveOf(ACTIVE, {
  name: 'active-kafka-connections',
  title: 'Active Kafka connections',
  label: 'connections that produce',
  figure: 'append single records, 1,000 in flight',
  unit: 'record',
  open: (active, directory) => openKafkaWorld(0, active, directory),
  work: (world, inFlight) => append(world, 20_000, inFlight),
});
