// Cost against the size of a partition's log: appends, reads at its end and somewhere in it, starts. Everything that is
// stored is in the system's page cache where there is memory for it: the disk's own time is the disk's.
import { batchOf } from '../kafka-batches.ts';
import { byteSize, type Curve, type World } from './curve.ts';
import {
  createTopic,
  endOffset,
  fetchOnce,
  fetchUntil,
  produce,
  produceFrame,
  withKafka,
} from './kafka-work.ts';
import { MeasuredHub } from './measured-hub.ts';

const TOPIC = 'log';
const FILL = { records: 64, valueBytes: 1000, inFlight: 16 } as const;
/** Batches like these make the samples: small, so that a small log stays one. */
const SMALL = { records: 10, valueBytes: 100 } as const;
const APPENDS = 1000;
const APPENDS_IN_FLIGHT = 20;
const WARM_UP_APPENDS = 4000;
const TAIL_RECORDS = 5000;
const TAIL_READS = 20;
const TAIL_BYTES_MAX = 1 << 20;
const RANDOM_READS = 400;

interface LogWorld extends World {
  readonly hub: MeasuredHub;
  /** Offsets below it are those of batches of 64 kB. */
  readonly filledEnd: number;
}

const smallFrame = (topic: string): Buffer =>
  produceFrame(topic, 0, batchOf(SMALL.records, 0, SMALL.valueBytes));

async function openLog(point: number, directory: string): Promise<LogWorld> {
  const hub = await MeasuredHub.start(directory);
  const port = hub.kafkaPort;
  await createTopic(port, TOPIC, 1);
  await createTopic(port, 'warm-up', 1);
  const batches = Math.max(1, Math.round(point / (FILL.records * FILL.valueBytes)));
  const frame = produceFrame(TOPIC, 0, batchOf(FILL.records, 0, FILL.valueBytes));
  const filledEnd = await withKafka(port, async (connection) => {
    await produce([connection], frame, { requests: batches, inFlight: FILL.inFlight });
    const appends = { requests: WARM_UP_APPENDS, inFlight: APPENDS_IN_FLIGHT };
    await produce([connection], smallFrame('warm-up'), appends);
    await fetchUntil(
      connection,
      { topic: 'warm-up', partition: 0, offset: 0 },
      { untilOffset: WARM_UP_APPENDS * SMALL.records, bytesMax: TAIL_BYTES_MAX },
    );
    return endOffset(connection, TOPIC);
  });
  return { hub, filledEnd, close: () => hub.close() };
}

async function append(port: number, appends: number): Promise<number> {
  await withKafka(port, (connection) =>
    produce([connection], smallFrame(TOPIC), { requests: appends, inFlight: APPENDS_IN_FLIGHT }),
  );
  return appends * SMALL.records;
}

async function readTail(port: number): Promise<number> {
  return withKafka(port, async (connection) => {
    const end = await endOffset(connection, TOPIC);
    for (let read = 0; read < TAIL_READS; read++) {
      const place = { topic: TOPIC, partition: 0, offset: end - TAIL_RECORDS };
      await fetchUntil(connection, place, { untilOffset: end, bytesMax: TAIL_BYTES_MAX });
    }
    return TAIL_READS * TAIL_RECORDS;
  });
}

async function readAnywhere(port: number, filledEnd: number): Promise<number> {
  return withKafka(port, async (connection) => {
    for (let read = 0; read < RANDOM_READS; read++) {
      const offset = Math.floor(Math.random() * filledEnd);
      await fetchOnce(connection, { topic: TOPIC, partition: 0, offset }, { bytesMax: 1 });
    }
    return RANDOM_READS;
  });
}

export const logSize: Curve<LogWorld> = {
  name: 'log-size',
  title: 'Size of the log',
  axis: { label: 'bytes in the partition', format: byteSize },
  points: [1e6, 1e7, 1e8, 1e9, 1e10],
  figures: [
    {
      name: 'append, batches of 10 × 100 B',
      unit: 'record',
      expectation: 'flat',
      measure: ({ hub }) => hub.sample(() => append(hub.kafkaPort, APPENDS)),
    },
    {
      name: 'read at the tail',
      unit: 'record',
      expectation: 'flat',
      measure: ({ hub }) => hub.sample(() => readTail(hub.kafkaPort)),
    },
    {
      name: 'read 64 kB anywhere',
      unit: 'read',
      expectation:
        'one step, where the log outgrows the cache of its tail (64 MiB): from there on a read is one of a file, with a look-up in the index before it, and its checksum is looked at',
      measure: ({ hub, filledEnd }) => hub.sample(() => readAnywhere(hub.kafkaPort, filledEnd)),
    },
    {
      name: 'start after a stop',
      unit: 'start',
      expectation: 'flat',
      isCold: true,
      measure: ({ hub }) => hub.restart('stopped'),
    },
    {
      name: 'start after a kill, 1 MB appended',
      unit: 'start',
      expectation: 'flat',
      isCold: true,
      measure: async ({ hub }) => {
        await append(hub.kafkaPort, APPENDS);
        return hub.restart('killed');
      },
    },
  ],
  open: openLog,
};
