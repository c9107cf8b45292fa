// Fetch from a compacted log: offsets whose records are gone, batches without any, and logs that end with such (the
// contract of Fetch in Kafka's protocol guide: records at or behind the offset asked for; KIP-74).
import { describe, expect, test } from 'vitest';
import type { Partition } from '../../../protocols/port.ts';
import type { PlainRecord } from '../../helpers/kafka-clients.ts';
import { kafkajsOn, npmKafkaClients } from '../../helpers/kafka-clients.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, type FetchOptions, fetchOf, produceOf } from './kafka-requests.ts';
import { readBatches } from './records/read-batches.ts';

const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.bytes': '1024',
  'segment.ms': '1',
  'min.cleanable.dirty.ratio': '0',
  'delete.retention.ms': '0',
};

interface Compacted {
  readonly kafka: TestKafka;
  readonly partition: Partition;
  /** One batch. A value of null is a tombstone. */
  produce(...records: readonly (readonly [key: string, value: string | null])[]): Promise<void>;
  /** All that was produced is compacted, tombstones too. */
  compact(): Promise<void>;
  fetch(
    offset: number,
    options?: FetchOptions,
  ): Promise<{ records: string[]; nextOffset: number; bytes: number }>;
}

async function compactedTopic(): Promise<Compacted> {
  const kafka = await openTestKafka();
  const partition = await kafka.createTopic('compacted', COMPACTED);
  const client = await kafka.connect();
  return {
    kafka,
    partition,
    async produce(...records) {
      const batch = recordBatch(
        records.map(([key, value]) => ({
          key: Buffer.from(key),
          value: value === null ? null : Buffer.from(value),
          headers: [],
        })),
      );
      const { responses } = await client.ask(api.produce, 7, produceOf('compacted', batch));
      expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
    },
    async compact() {
      // A segment is closed when it is older than a millisecond.
      const startedAt = performance.now();
      while (performance.now() - startedAt < 2) await new Promise((resolve) => setImmediate(resolve));
      // The second round takes the tombstones that the first one left.
      for (let round = 0; round < 2; round++) await kafka.store.maintain();
      expect([...kafka.log.events('error'), ...kafka.log.events('warn')]).toEqual([]);
    },
    async fetch(offset, options = {}) {
      const { responses } = await client.ask(api.fetch, 11, fetchOf('compacted', offset, options));
      const answer = responses[0]!.partitions[0]!;
      expect(answer.errorCode).toBe(0);
      const batches = await readBatches(answer.records ?? Buffer.alloc(0));
      const { batch } = batches.at(-1) ?? {};
      return {
        records: batches
          .flatMap(({ records }) => records)
          .filter((record) => record.offset >= offset)
          .map((record) => `${record.offset}:${record.key}=${record.value}`),
        nextOffset: batch === undefined ? offset : batch.baseOffset + batch.lastOffsetDelta + 1,
        bytes: answer.records?.length ?? 0,
      };
    },
  };
}

describe('a fetch from a compacted log', () => {
  test('gives the next record, from an offset in a hole and from the middle of a batch', async () => {
    const { produce, compact, fetch } = await compactedTopic();
    await produce(['a', '1'], ['b', '1'], ['c', '1'], ['a', '2']);
    await produce(['d', '1']);
    await produce(['d', '2'], ['e', '1'], ['e', '2']);
    await produce(['f', '1']);
    await compact();
    const all = ['1:b=1', '2:c=1', '3:a=2', '5:d=2', '7:e=2', '8:f=1'];
    for (let offset = 0; offset < 9; offset++) {
      const rest = all.filter((record) => Number.parseInt(record, 10) >= offset);
      expect((await fetch(offset)).records).toEqual(rest);
      expect((await fetch(offset, { partitionMaxBytes: 1 })).records[0]).toBe(rest[0]);
      expect((await fetch(offset)).nextOffset).toBe(9);
    }
  });

  test('passes over a stretch of empty batches, however long, to the next record', async () => {
    const { produce, compact, fetch, partition } = await compactedTopic();
    const key = Buffer.from('a');
    // The newest batch of each producer stays, so that its sequence is known.
    for (let producerId = 0; producerId < 500; producerId++) {
      const identity = { producerId, producerEpoch: 0, baseSequence: 0, recordCount: 1 };
      const appended = partition.append({ acks: 'flushed', ...identity }, (writer) => {
        writer.startRecord(1000, key, 0, 1, 0);
        writer.endRecord(key, 0, 1, null);
      });
      if (appended.refused !== undefined) throw new Error(appended.message);
      if (producerId % 50 === 0) await appended.acknowledged;
    }
    await produce(['a', 'last'], ['b', '1']);
    await compact();
    expect((await fetch(0, { partitionMaxBytes: 1 })).records).toEqual(['500:a=last', '501:b=1']);
    expect((await fetch(123)).records).toEqual(['500:a=last', '501:b=1']);
  });

  test('moves its reader to the end when nothing is left there, and does not wake it for that', async () => {
    const { produce, compact, fetch, partition } = await compactedTopic();
    await produce(['a', '1']);
    await produce(['b', '1']);
    await produce(['b', null]);
    await compact();
    expect((await fetch(0)).records).toEqual(['0:a=1']);
    const { records, nextOffset } = await fetch(1, { maxWaitMs: 20, minBytes: 1 });
    expect([records, nextOffset]).toEqual([[], 3]);
    expect(partition.highWatermark).toBe(3);
    const polled = fetch(1, { maxWaitMs: 60_000, minBytes: 1 });
    await produce(['c', '1']);
    expect((await polled).records).toEqual(['3:c=1']);
  });

  for (const client of npmKafkaClients) {
    test(`${client.name} reads all of it, and goes on behind the end`, async () => {
      const { kafka, produce, compact } = await compactedTopic();
      for (let round = 0; round < 30; round++) {
        await produce([`key-${round % 7}`, `${round}`.padEnd(100)], ['gone', `${round}`]);
      }
      await produce(['gone', null]);
      await compact();
      const record = (key: string, value: string): PlainRecord => ({
        key: Buffer.from(key),
        value: Buffer.from(value),
        headers: [],
      });
      const expected = Array.from({ length: 7 }, (_, index) => {
        const round = 23 + index;
        return record(`key-${round % 7}`, `${round}`.padEnd(100));
      });
      const consumed = client.consume(kafka.port, `group-${client.name}`, 'compacted', 8);
      await new Promise((resolve) => setImmediate(resolve));
      await produce(['last', '1']);
      expect(await consumed).toEqual([...expected, record('last', '1')]);
    });
  }

  test('kafkajs that begins behind the last record waits at the end, and gets what comes', async () => {
    const { kafka, produce, compact } = await compactedTopic();
    await produce(['a', '1']);
    await produce(['b', '1']);
    await produce(['b', null]);
    await compact();
    const consumer = kafkajsOn(kafka.port).consumer({ groupId: 'late', maxWaitTimeInMs: 100 });
    await consumer.connect();
    await consumer.subscribe({ topic: 'compacted', fromBeginning: true });
    const values: string[] = [];
    let fetches = 0;
    consumer.on(consumer.events.FETCH, () => fetches++);
    const got = new Promise<void>((resolve) => {
      void consumer.run({
        eachMessage: async ({ message }) => {
          values.push(`${message.offset}:${message.key}`);
          if (values.length === 2) resolve();
        },
      });
    });
    await new Promise<void>((resolve) => {
      const remove = consumer.on(consumer.events.FETCH, () => {
        if (fetches < 5) return;
        remove();
        resolve();
      });
    });
    await produce(['c', '1']);
    await got;
    expect(values).toEqual(['0:a', '3:c']);
    await consumer.disconnect();
  });
});
