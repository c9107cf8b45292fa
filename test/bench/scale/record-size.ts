// Cost against the size of a record, per record and per megabyte: records in, records out, messages through.
import { batchOf } from '../kafka-batches.ts';
import { byteSize, type Curve, type World } from './curve.ts';
import { createTopic, fetchUntil, produce, produceFrame, withKafka } from './kafka-work.ts';
import { MeasuredHub } from './measured-hub.ts';
import { MqttConnection, publishAll, publishesOf } from './mqtt-work.ts';

const TOPIC = 'work';
/** What Kafka's producers make batches of unless told. */
const BATCH_BYTES = 16_384;
/** Of one sample: so many bytes, but no more records than these. */
const SAMPLE_BYTES = 40_000_000;
const SAMPLE_RECORDS_MAX = 300_000;
const MESSAGES_MAX = 20_000;
const IN_FLIGHT_BYTES = 4_000_000;
const FETCH_BYTES_MAX = 4 << 20;
const MEGABYTE = 1e6;

interface SizeWorld extends World {
  readonly hub: MeasuredHub;
  readonly valueBytes: number;
  readonly publisher: MqttConnection;
  readonly subscriber: MqttConnection;
}

async function openSize(valueBytes: number, directory: string): Promise<SizeWorld> {
  const hub = await MeasuredHub.start(directory);
  await createTopic(hub.kafkaPort, TOPIC, 1);
  const publisher = await MqttConnection.open(hub.mqttPort, { clientId: 'publisher' });
  const subscriber = await MqttConnection.open(hub.mqttPort, { clientId: 'subscriber' });
  await subscriber.subscribe(['messages']);
  const close = async (): Promise<void> => {
    publisher.close();
    subscriber.close();
    await hub.close();
  };
  return { hub, valueBytes, publisher, subscriber, close };
}

const recordsOf = (valueBytes: number): number =>
  Math.max(1, Math.min(SAMPLE_RECORDS_MAX, Math.round(SAMPLE_BYTES / valueBytes)));
const windowOf = (valueBytes: number): number =>
  Math.max(1, Math.min(500, Math.floor(IN_FLIGHT_BYTES / valueBytes)));

async function append({ hub, valueBytes }: SizeWorld): Promise<number> {
  const batchRecords = Math.max(1, Math.floor(BATCH_BYTES / valueBytes));
  const frame = produceFrame(TOPIC, 0, batchOf(batchRecords, 0, valueBytes));
  const requests = Math.max(1, Math.round(recordsOf(valueBytes) / batchRecords));
  const inFlight = Math.max(1, Math.min(20, windowOf(valueBytes)));
  await withKafka(hub.kafkaPort, (connection) => produce([connection], frame, { requests, inFlight }));
  return requests * batchRecords;
}

/** The appends come first: there is as much as one of their samples. */
async function read({ hub, valueBytes }: SizeWorld): Promise<number> {
  const untilOffset = Math.floor(recordsOf(valueBytes) * 0.9);
  const place = { topic: TOPIC, partition: 0, offset: 0 };
  await withKafka(hub.kafkaPort, (connection) =>
    fetchUntil(connection, place, { untilOffset, bytesMax: FETCH_BYTES_MAX }),
  );
  return untilOffset;
}

function publish({ publisher, subscriber, valueBytes }: SizeWorld): () => Promise<number> {
  const messages = Math.min(MESSAGES_MAX, recordsOf(valueBytes));
  const publishes = publishesOf(messages, () => 'messages', valueBytes);
  return async () => {
    await publishAll({ publishers: [publisher], subscribers: [subscriber] }, publishes, windowOf(valueBytes));
    return messages;
  };
}

const BYTES_WEIGH =
  'below 1 kB a record costs what a record costs; above, its bytes weigh: they are copied, checked and written, and a socket takes them in pieces of 64 kB';

export const recordSize: Curve<SizeWorld> = {
  name: 'record-size',
  title: 'Size of a record',
  axis: { label: 'bytes of a value', format: byteSize },
  points: [10, 100, 1000, 10_000, 100_000, 1_000_000],
  figures: [
    {
      name: 'append, batches of 16 kB or one record',
      unit: 'record',
      expectation: BYTES_WEIGH,
      measure: (world) => world.hub.sample(() => append(world)),
    },
    {
      name: 'read',
      unit: 'record',
      expectation: BYTES_WEIGH,
      measure: (world) => world.hub.sample(() => read(world)),
    },
    {
      name: 'publish and deliver, QoS 1',
      unit: 'message',
      expectation: BYTES_WEIGH,
      measure: (world) => world.hub.sample(publish(world)),
    },
  ],
  alsoPer: { unit: 'MB', perUnit: (valueBytes) => valueBytes / MEGABYTE },
  open: openSize,
};
