// What the guard measures, and what it expects: the ratio of the hub's rate to plain Node's in the same turns. The ratios
// are medians of runs on two cores on which up to twenty others wanted to run; what the guard refuses is half of them.
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { HubProcess } from '../../helpers/hub-process.ts';
import { openBenchStore } from '../bench-store.ts';
import { fill, logFilesIn } from '../filled-store.ts';
import { batchOf } from '../kafka-batches.ts';
import { append, createTopic, fetchFrame, produceFrame } from '../kafka-requests.ts';
import { appendFor, logReads, partitionOf, plainReads, plainWritesFor } from '../storage-loads.ts';
import {
  type Client,
  DeliveryLoop,
  openMqtt,
  openPlain,
  openSocket,
  publishBytes,
  RequestLoop,
} from './clients.ts';

export interface Surroundings {
  readonly hub: HubProcess;
  readonly plainPort: number;
  /** Of the row's own. */
  readonly directory: string;
}

/** Both sides, each for so many milliseconds; the unit of their rates is the same. */
export interface Pair {
  hub(durationMs: number): Promise<number>;
  plain(durationMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface GuardRow {
  readonly name: string;
  readonly expected: number;
  /** Of the hub's rate, and of plain Node's. */
  readonly unit: string;
  open(surroundings: Surroundings): Promise<Pair>;
}

const PRODUCED = { records: 10, bytes: 100, connections: 4, inFlight: 5 };
const FETCH_BYTES = 1 << 20;
const READ_GIB = 1 / 32;
const APPENDERS = 16;
const ANSWER_BYTES = 60;

export const guardRows: readonly GuardRow[] = [
  {
    name: 'store: 16 appenders of batches of 100 × 100 B, against writes that are flushed as often',
    expected: 0.55,
    unit: 'MB/s',
    open: openAppends,
  },
  {
    name: 'store: a log of 1 KiB records read from its files, against reads of the files',
    expected: 0.15,
    unit: 'logs/s',
    open: openReads,
  },
  {
    name: 'produce 100 B × 10, 4 connections × 5 in flight, against writes that are answered',
    expected: 0.45,
    unit: 'requests/s',
    open: openProduce,
  },
  {
    name: 'fetch 1 MiB of 100 B × 100 from memory, against a buffer that is sent',
    expected: 0.4,
    unit: 'requests/s',
    open: openFetch,
  },
  {
    name: 'MQTT QoS 0, 1 → 1, against bytes that are written and passed on',
    expected: 0.5,
    unit: 'messages/s',
    open: (surroundings) => openDelivery(surroundings, 0),
  },
  {
    name: 'MQTT QoS 1, 1 → 1, against bytes that are written, passed on and answered',
    expected: 0.45,
    unit: 'messages/s',
    open: (surroundings) => openDelivery(surroundings, 1),
  },
];

async function openAppends({ directory }: Surroundings): Promise<Pair> {
  const store = await openBenchStore(directory);
  const log = await store.openPartition(partitionOf(0));
  const file = await open(join(directory, 'plain'), 'w');
  let blockBytes = 0;
  return {
    async hub(durationMs) {
      const appended = await appendFor(store, log, { appenders: APPENDERS, records: 100, durationMs });
      blockBytes = Math.round(appended.bytes / appended.flushes);
      return appended.bytes / appended.seconds / 1e6;
    },
    async plain(durationMs) {
      const { bytes, seconds } = await plainWritesFor(file, blockBytes, durationMs);
      return bytes / seconds / 1e6;
    },
    async close() {
      await file.close();
      await store.close();
    },
  };
}

async function openReads({ directory }: Surroundings): Promise<Pair> {
  const filled = await openBenchStore(directory);
  const size = { gib: READ_GIB, batchRecords: 16 };
  await fill(await filled.openPartition(partitionOf(0)), size, () => undefined);
  await filled.close();
  // Opened again, nothing of it is in memory.
  const store = await openBenchStore(directory, { tailCacheBytes: 0 });
  const log = await store.openPartition(partitionOf(0, 2));
  const paths = logFilesIn(directory, 0);
  const rate = async (durationMs: number, once: () => Promise<number>): Promise<number> => {
    let [passes, tookMs] = [0, 0];
    while (tookMs < durationMs) {
      tookMs += await once();
      passes++;
    }
    return (passes * 1_000) / tookMs;
  };
  return {
    hub: (durationMs) => rate(durationMs, () => logReads(log, 1 << 20, true)),
    plain: (durationMs) => rate(durationMs, () => plainReads(paths)),
    close: () => store.close(),
  };
}

const pairOf = (hub: Client, plain: Client): Pair => ({
  hub: (durationMs) => hub.run(durationMs),
  plain: (durationMs) => plain.run(durationMs),
  async close() {
    hub.close();
    plain.close();
  },
});

const sockets = (count: number, open: () => Promise<Socket>): Promise<Socket[]> =>
  Promise.all(Array.from({ length: count }, open));

async function openProduce({ hub, plainPort }: Surroundings): Promise<Pair> {
  const { records, bytes, connections, inFlight } = PRODUCED;
  const topic = 'guard-produce';
  await createTopic(hub.kafkaPort, topic, 1);
  const request = produceFrame(topic, batchOf(records, 0, bytes));
  const ofHub = await sockets(connections, () => openSocket(hub.kafkaPort));
  const ofPlain = await sockets(connections, () => openPlain(plainPort, 'A', ANSWER_BYTES));
  return pairOf(new RequestLoop(ofHub, request, inFlight), new RequestLoop(ofPlain, request, inFlight));
}

async function openFetch({ hub, plainPort }: Surroundings): Promise<Pair> {
  const topic = 'guard-fetch';
  await createTopic(hub.kafkaPort, topic, 1);
  for (let batch = 0; batch < 200; batch++) await append(hub.kafkaPort, topic, batchOf(100, 0, 100));
  const request = fetchFrame(topic, FETCH_BYTES);
  const answerBytes = await answerBytesOf(hub.kafkaPort, request);
  if (answerBytes < FETCH_BYTES / 2) throw new Error(`a fetch was answered with ${answerBytes} bytes`);
  const ofHub = await openSocket(hub.kafkaPort);
  const ofPlain = await openPlain(plainPort, 'F', answerBytes);
  return pairOf(new RequestLoop([ofHub], request, 1), new RequestLoop([ofPlain], request, 1));
}

/** Without the four of its length. */
async function answerBytesOf(port: number, request: Buffer): Promise<number> {
  const socket = await openSocket(port);
  socket.write(request);
  const [first] = (await once(socket, 'data')) as [Buffer]; // no encoding is set
  socket.destroy();
  return first.readUInt32BE(0);
}

async function openDelivery({ hub, plainPort }: Surroundings, qos: 0 | 1): Promise<Pair> {
  const topic = `guard-qos${qos}/device/1/state`;
  const ofHub = {
    subscriber: await openMqtt(hub.mqttPort, `guard-subscriber-${qos}`, topic, qos),
    publisher: await openMqtt(hub.mqttPort, `guard-publisher-${qos}`),
  };
  const packetBytes = publishBytes({ topic, qos });
  const ofPlain = {
    subscriber: await openPlain(plainPort, 'S', 0),
    publisher: await openPlain(plainPort, 'P', packetBytes, qos === 1),
  };
  return pairOf(new DeliveryLoop({ ...ofHub, topic, qos }), new DeliveryLoop({ ...ofPlain, topic, qos }));
}
