// Cost against the number of partitions of a topic: when one is used and the others are there, when all are used, when a
// consumer waits for all of them, and when the hub starts.
import { ListOffsetsRequest, ListOffsetsResponse } from '../../../protocols/kafka/messages/list-offsets.ts';
import { batchOf } from '../kafka-batches.ts';
import { type Curve, count, type World } from './curve.ts';
import {
  checkProduced,
  createTopic,
  fetchInSession,
  fetchUntil,
  KafkaConnection,
  produce,
  produceFrame,
  requestInTurns,
  withKafka,
} from './kafka-work.ts';
import { MeasuredHub } from './measured-hub.ts';

const LIST_OFFSETS = {
  key: 2,
  version: 5,
  request: ListOffsetsRequest,
  response: ListOffsetsResponse,
} as const;
const LATEST = -1;
/** One partition more, beside the topic of so many. */
const ALONE = 'alone';
const MANY = 'many';
const BATCH = { records: 10, valueBytes: 100 } as const;
const APPENDS = 3000;
const IN_FLIGHT = 20;
const READ_RECORDS = 100_000;
const READ_BYTES_MAX = 1 << 20;
const SPREAD_IN_FLIGHT = 100;
const SPREAD_APPENDS = 3000;
const WAITS = 200;
const WAIT_MS = 30_000;

interface PartitionsWorld extends World {
  readonly hub: MeasuredHub;
  readonly partitions: number;
  /** One batch to each partition. */
  readonly frames: readonly Buffer[];
}

async function openPartitions(partitions: number, directory: string): Promise<PartitionsWorld> {
  const hub = await MeasuredHub.start(directory);
  const port = hub.kafkaPort;
  await createTopic(port, ALONE, 1);
  await createTopic(port, MANY, partitions);
  const batch = batchOf(BATCH.records, 0, BATCH.valueBytes);
  const frames = Array.from({ length: partitions }, (_, index) => produceFrame(MANY, index, batch));
  const world = { hub, partitions, frames, close: () => hub.close() };
  await spread(world, Math.max(partitions, SPREAD_APPENDS));
  await appendAlone(hub, Math.ceil(READ_RECORDS / BATCH.records));
  return world;
}

async function appendAlone(hub: MeasuredHub, appends: number): Promise<number> {
  const frame = produceFrame(ALONE, 0, batchOf(BATCH.records, 0, BATCH.valueBytes));
  await withKafka(hub.kafkaPort, (connection) =>
    produce([connection], frame, { requests: appends, inFlight: IN_FLIGHT }),
  );
  return appends * BATCH.records;
}

async function readAlone(hub: MeasuredHub): Promise<number> {
  await withKafka(hub.kafkaPort, (connection) =>
    fetchUntil(
      connection,
      { topic: ALONE, partition: 0, offset: 0 },
      { untilOffset: READ_RECORDS, bytesMax: READ_BYTES_MAX },
    ),
  );
  return READ_RECORDS;
}

/** Each batch to the next partition, whatever was written before. */
async function spread({ hub, frames }: PartitionsWorld, appends: number): Promise<number> {
  const request = (index: number): Buffer => frames[index % frames.length]!; // there is one at least
  await withKafka(hub.kafkaPort, (connection) =>
    requestInTurns([connection], {
      requests: appends,
      inFlight: SPREAD_IN_FLIGHT,
      request,
      check: checkProduced,
    }),
  );
  return appends * BATCH.records;
}

/** A consumer that is assigned all partitions waits; a batch comes to one of them; and so on. */
async function waitForAll({ hub, partitions, frames }: PartitionsWorld): Promise<() => Promise<number>> {
  const consumer = await KafkaConnection.open(hub.kafkaPort);
  const producer = await KafkaConnection.open(hub.kafkaPort);
  // At the ends of all: a partition that is behind would answer at once.
  const places = (await endsOf(consumer, partitions)).map((offset, partition) => ({
    topic: MANY,
    partition,
    offset,
  }));
  const { sessionId } = await fetchInSession(consumer, places, {
    ...{ bytesMax: READ_BYTES_MAX, waitMs: 0, sessionId: 0, sessionEpoch: 0 },
  });
  return async () => {
    let changed: (typeof places)[number][] = [];
    for (let round = 0; round < WAITS; round++) {
      const place = places[placeOf(round, partitions)]!; // below their number
      const waiting = fetchInSession(consumer, changed, {
        ...{ bytesMax: READ_BYTES_MAX, waitMs: WAIT_MS, sessionId, sessionEpoch: round + 1 },
      });
      await produce([producer], frames[place.partition]!, { requests: 1, inFlight: 1 }); // one for each partition
      place.offset += BATCH.records;
      changed = [place];
      const { highWatermark } = await waiting;
      if (highWatermark !== place.offset)
        throw new Error(`a wait ended at ${highWatermark}, not at ${place.offset}`);
    }
    consumer.close();
    producer.close();
    return WAITS;
  };
}

async function endsOf(connection: KafkaConnection, partitions: number): Promise<number[]> {
  const asked = Array.from({ length: partitions }, (_, partitionIndex) => ({
    partitionIndex,
    timestamp: LATEST,
  }));
  const { topics } = await connection.ask(LIST_OFFSETS, {
    ...{ replicaId: -1, isolationLevel: 0 },
    topics: [{ name: MANY, partitions: asked }],
  });
  const ends = new Array<number>(partitions).fill(0);
  for (const { partitionIndex, offset } of topics[0]?.partitions ?? []) ends[partitionIndex] = offset;
  return ends;
}

/** Spread over all of them. */
function placeOf(round: number, partitions: number): number {
  return Math.floor((round * partitions) / WAITS) % partitions;
}

export const partitionCount: Curve<PartitionsWorld> = {
  name: 'partitions',
  title: 'Partitions',
  axis: { label: 'partitions of a topic', format: count },
  points: [1, 10, 100, 1000, 10_000],
  figures: [
    {
      name: 'append to one, the others idle',
      unit: 'record',
      expectation: 'flat',
      measure: ({ hub }) => hub.sample(() => appendAlone(hub, APPENDS)),
    },
    {
      name: 'read one, the others idle',
      unit: 'record',
      expectation: 'flat',
      measure: ({ hub }) => hub.sample(() => readAlone(hub)),
    },
    {
      name: 'append to all in turns',
      unit: 'record',
      expectation:
        'each log has a write and a flush of its own: 100 requests in flight share one where they go to one partition, and none from 100 partitions on; above the number of files that are kept open each append opens one',
      measure: (world) => world.hub.sample(() => spread(world, SPREAD_APPENDS)),
    },
    {
      name: 'wait for all, a batch to one',
      unit: 'batch',
      expectation:
        'a fetch looks at each partition of its session before it waits and when it is woken, and listens to each of them meanwhile',
      measure: async (world) => {
        const wait = await waitForAll(world);
        return world.hub.sample(wait);
      },
    },
    {
      name: 'start after a stop',
      unit: 'start',
      expectation: 'a start opens each partition: its directory is read, and its manifest',
      isCold: true,
      measure: ({ hub }) => hub.restart('stopped'),
    },
  ],
  open: openPartitions,
};
