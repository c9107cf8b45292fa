// Both ends of a load over Kafka: batches to a topic's partitions in turn, and what arrives in any of them.
import { setTimeout as delay } from 'node:timers/promises';
import { KafkaConnection, recordBatch } from './kafka-connection.ts';
import type { Load, Sender } from './load.ts';

export interface KafkaAddress {
  readonly host: string;
  readonly port: number;
}

const BATCH_RECORDS_MAX = 1_000;
const BATCH_BYTES_MAX = 256 * 1_024;
/** As many requests as clients have under way by default. */
const REQUESTS_MAX = 5;
const FETCH_WAIT_MS = 500;
const TOPIC_ATTEMPTS = 50;
const TOPIC_PAUSE_MS = 100;

/** @param size bytes of a value */
export async function kafkaSender(
  { host, port }: KafkaAddress,
  topic: string,
  size: number,
): Promise<Sender & { close(): void }> {
  const connection = await KafkaConnection.open(host, port);
  const partitions = await partitionsOf(connection, topic);
  const batchMax = Math.max(1, Math.min(BATCH_RECORDS_MAX, Math.floor(BATCH_BYTES_MAX / size)));
  let batches = 0;
  return {
    batchMax,
    windowMax: batchMax * REQUESTS_MAX,
    send: (payloads) =>
      connection.produce(
        topic,
        partitions[batches++ % partitions.length]!,
        recordBatch(payloads, Date.now()),
      ),
    close: () => connection.close(),
  };
}

/** Reads from the end as it is now; what comes goes to the load until it is closed. */
export async function kafkaReceiver(
  { host, port }: KafkaAddress,
  topic: string,
  load: Load,
): Promise<{ close(): void }> {
  const connection = await KafkaConnection.open(host, port);
  const positions = new Map<number, number>();
  for (const partition of await partitionsOf(connection, topic))
    positions.set(partition, await connection.endOffset(topic, partition));
  let isClosed = false;
  const read = async (): Promise<void> => {
    while (!isClosed) await connection.fetch(topic, positions, FETCH_WAIT_MS, (value) => load.take(value));
  };
  read().catch((error: Error) => {
    if (!isClosed) load.fail(error);
  });
  return {
    close: () => {
      isClosed = true;
      connection.close();
    },
  };
}

/** Asking for the topic makes it, where the hub makes topics by first use. */
async function partitionsOf(connection: KafkaConnection, topic: string): Promise<readonly number[]> {
  for (let attempt = 0; attempt < TOPIC_ATTEMPTS; attempt++) {
    const partitions = await connection.partitions(topic);
    if (partitions !== undefined && partitions.length > 0) return partitions;
    await delay(TOPIC_PAUSE_MS);
  }
  connection.close();
  throw new Error(`there is no topic ${topic}: polylog topics create ${topic}`);
}
