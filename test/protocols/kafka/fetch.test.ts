// Fetch over a socket: waiting, limits, bounds.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { leaderEpochFault } from '../../../protocols/kafka/leader-epoch.ts';
import type { Partition } from '../../../protocols/port.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { type KafkaSocket, openKafka, type TestKafka, whenCalled } from './kafka-fixture.ts';
import { api, type FetchOptions, fetchOf, produceOf } from './kafka-requests.ts';

const FOREVER_MS = 60_000;

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

async function topicOf(partitions = 1) {
  const name = `fetch-${topicNumber++}`;
  const partition = await kafka.createTopic(name, {}, partitions);
  return { name, partition, client: await kafka.connect() };
}

/** One batch with a value of so many bytes. */
async function fill(topic: string, valueBytes: number, partition = 0): Promise<void> {
  const record = { key: null, value: Buffer.alloc(valueBytes, 0x76), headers: [] };
  const client = await kafka.connect();
  const { responses } = await client.ask(
    api.produce,
    7,
    produceOf(topic, recordBatch([record]), { partition }),
  );
  expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
}

async function fetch(client: KafkaSocket, topic: string, offset: number, options: FetchOptions = {}) {
  const { responses } = await client.ask(api.fetch, 11, fetchOf(topic, offset, options));
  return responses[0]!.partitions[0]!;
}

/** Base offsets of the batches in an answer. */
function batchOffsets(records: Buffer | null): number[] {
  const offsets: number[] = [];
  for (let at = 0; records !== null && at < records.length; at += 12 + records.readInt32BE(at + 8))
    offsets.push(Number(records.readBigInt64BE(at)));
  return offsets;
}

/** How many listeners a partition has. */
function countListeners(partition: Partition): () => number {
  let count = 0;
  const onAdvance = partition.onAdvance.bind(partition);
  vi.spyOn(partition, 'onAdvance').mockImplementation((listener) => {
    count++;
    const remove = onAdvance(listener);
    return () => {
      count--;
      remove();
    };
  });
  return () => count;
}

describe('waiting', () => {
  test('ends with the first record, without reading meanwhile', async () => {
    const { name, partition, client } = await topicOf();
    const reads = vi.spyOn(partition, 'read');
    const listeners = countListeners(partition);
    const parked = whenCalled(partition, 'onAdvance');
    const polled = fetch(client, name, 0, { maxWaitMs: FOREVER_MS, minBytes: 1 });
    await parked;
    expect(listeners()).toBe(1);
    expect(reads).not.toHaveBeenCalled();
    await fill(name, 10);
    expect(batchOffsets((await polled).records)).toEqual([0]);
    expect(reads).toHaveBeenCalledTimes(1);
    expect(listeners()).toBe(0);
  });

  test('goes on until min_bytes have come, of all partitions together', async () => {
    const { name, partition, client } = await topicOf(2);
    const topics = [0, 1].map((index) => fetchOf(name, 0, { partition: index }).topics[0]!);
    const parked = whenCalled(partition, 'onAdvance');
    const polled = client.ask(api.fetch, 11, {
      ...fetchOf(name, 0, { maxWaitMs: FOREVER_MS, minBytes: 5_000 }),
      topics,
    });
    await parked;
    await fill(name, 2_000, 0);
    await fill(name, 2_000, 1);
    await fill(name, 2_000, 0);
    const { responses } = await polled;
    expect(responses.map(({ partitions }) => partitions[0]?.highWatermark)).toEqual([2, 1]);
  });

  test('holds nothing of what it has counted', async () => {
    const { name, partition, client } = await topicOf();
    let held = 0;
    const read = partition.read.bind(partition);
    vi.spyOn(partition, 'read').mockImplementation(async (options) => {
      const range = await read(options);
      if (range.refused !== undefined || range.release === undefined) return range;
      const release = range.release.bind(range);
      held++;
      range.release = () => {
        held--;
        release();
      };
      return range;
    });
    const parked = whenCalled(partition, 'onAdvance');
    const polled = fetch(client, name, 0, { maxWaitMs: FOREVER_MS, minBytes: 3_000 });
    await parked;
    for (let count = 0; count < 3; count++) await fill(name, 1_000);
    expect(batchOffsets((await polled).records)[0]).toBe(0);
    expect(held).toBe(0);
  });

  test('ends with its time, and answers with what there is', async () => {
    const { name, client } = await topicOf();
    await fill(name, 10);
    const { records } = await fetch(client, name, 0, { maxWaitMs: 20, minBytes: 1_000_000 });
    expect(batchOffsets(records)).toEqual([0]);
  });

  test('ends when the topic is deleted', async () => {
    const { name, partition, client } = await topicOf();
    const parked = whenCalled(partition, 'onAdvance');
    const polled = fetch(client, name, 0, { maxWaitMs: FOREVER_MS });
    await parked;
    await kafka.hub.topics.delete(name);
    expect((await polled).errorCode).toBe(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  });

  test('ends when the client is gone', async () => {
    const { name, partition, client } = await topicOf();
    const listeners = countListeners(partition);
    const parked = whenCalled(partition, 'onAdvance');
    const polled = fetch(client, name, 0, { maxWaitMs: FOREVER_MS });
    await parked;
    client.socket.destroy();
    await expect(polled).rejects.toThrow();
    await vi.waitFor(() => expect(listeners()).toBe(0));
  });

  test('is not for answers with an error, nor for a request without partitions', async () => {
    const { name, client } = await topicOf();
    const wait = { maxWaitMs: FOREVER_MS, minBytes: 1 };
    expect((await fetch(client, 'nope', 0, wait)).errorCode).toBe(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
    expect((await fetch(client, name, 7, wait)).errorCode).toBe(ERROR_CODES.OFFSET_OUT_OF_RANGE);
    expect((await client.ask(api.fetch, 11, { ...fetchOf(name, 0, wait), topics: [] })).responses).toEqual(
      [],
    );
  });
});

describe('limits', () => {
  test('the first batch comes whole, however large; the next request goes on behind it', async () => {
    const { name, client } = await topicOf();
    await fill(name, 1_000);
    await fill(name, 1_000);
    for (const limit of [{ maxBytes: 1 }, { partitionMaxBytes: 1 }, { maxBytes: 0 }, { maxBytes: 1_200 }]) {
      expect(batchOffsets((await fetch(client, name, 0, limit)).records)).toEqual([0]);
      expect(batchOffsets((await fetch(client, name, 1, limit)).records)).toEqual([1]);
    }
  });

  test('above the limit only one partition is served', async () => {
    const { name, client } = await topicOf(2);
    await fill(name, 1_000, 0);
    await fill(name, 1_000, 1);
    const topics = [0, 1].map((index) => fetchOf(name, 0, { partition: index }).topics[0]!);
    const { responses } = await client.ask(api.fetch, 11, { ...fetchOf(name, 0, { maxBytes: 10 }), topics });
    expect(responses.map(({ partitions }) => partitions[0]?.records?.length ?? 0).map((n) => n > 0)).toEqual([
      true,
      false,
    ]);
    expect(responses[1]?.partitions[0]).toMatchObject({ errorCode: 0, highWatermark: 1 });
  });

  test('the whole log comes in bites of any size', async () => {
    const { name, client } = await topicOf();
    for (let index = 0; index < 12; index++) await fill(name, 50 * index);
    for (const maxBytes of [1, 700, 100_000]) {
      const seen: number[] = [];
      while (seen.length < 12) {
        const { records } = await fetch(client, name, (seen.at(-1) ?? -1) + 1, { maxBytes });
        seen.push(...recordOffsets(records));
      }
      expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => index));
    }
  });
});

/** Offsets that the batches of an answer cover. */
function recordOffsets(records: Buffer | null): number[] {
  const offsets: number[] = [];
  for (let at = 0; records !== null && at < records.length; at += 12 + records.readInt32BE(at + 8)) {
    const base = Number(records.readBigInt64BE(at));
    for (let delta = 0; delta <= records.readInt32BE(at + 23); delta++) offsets.push(base + delta);
  }
  return offsets;
}

describe('bounds', () => {
  test('the end is an empty success; beyond it and below the start are out of range', async () => {
    const { name, client } = await topicOf();
    await fill(name, 10);
    const end = await fetch(client, name, 1);
    expect(end).toMatchObject({ errorCode: 0, highWatermark: 1, lastStableOffset: 1, logStartOffset: 0 });
    expect(end.records).toHaveLength(0);
    for (const offset of [2, 1_000, -1, 2 ** 63]) {
      const { errorCode, highWatermark } = await fetch(client, name, offset);
      expect({ errorCode, highWatermark }).toEqual({
        errorCode: ERROR_CODES.OFFSET_OUT_OF_RANGE,
        highWatermark: -1,
      });
    }
  });

  test('one faulty partition does not keep the others from being read', async () => {
    const { name, client } = await topicOf();
    await fill(name, 10);
    const topics = [fetchOf('nope', 0).topics[0]!, fetchOf(name, 0).topics[0]!];
    const { responses } = await client.ask(api.fetch, 11, { ...fetchOf(name, 0), topics });
    expect(responses.map(({ topic, partitions }) => [topic, partitions[0]?.errorCode])).toEqual([
      [name, 0],
      ['nope', 3],
    ]);
    expect(batchOffsets(responses[0]?.partitions[0]?.records ?? null)).toEqual([0]);
  });

  test('a leader epoch that is not the current one is told apart (KIP-320)', async () => {
    const { name, partition, client } = await topicOf();
    const codeOf = async (currentLeaderEpoch: number) =>
      (await fetch(client, name, 0, { currentLeaderEpoch })).errorCode;
    expect(await codeOf(partition.leaderEpoch)).toBe(0);
    expect(await codeOf(partition.leaderEpoch + 1)).toBe(ERROR_CODES.UNKNOWN_LEADER_EPOCH);
    expect(leaderEpochFault({ leaderEpoch: 5 }, 4)).toBe(ERROR_CODES.FENCED_LEADER_EPOCH);
    expect(leaderEpochFault({ leaderEpoch: 5 }, -1)).toBe(0);
  });

  test('read_committed has a list of aborted transactions, read_uncommitted has none', async () => {
    const { name, client } = await topicOf();
    expect((await fetch(client, name, 0)).abortedTransactions).toBeNull();
    expect((await fetch(client, name, 0, { isolationLevel: 1 })).abortedTransactions).toEqual([]);
  });
});

describe('versions', () => {
  test('by topic id from 13; an unknown id is error 100', async () => {
    const { name, partition, client } = await topicOf();
    await fill(name, 10);
    const partitions = fetchOf(name, 0).topics[0]!.partitions;
    const topics = [partition.topicId, '00000000-0000-0000-0000-000000000112'].map((topicId) => ({
      topicId,
      partitions,
    }));
    const { responses } = await client.ask(api.fetch, 13, { maxWaitMs: 0, minBytes: 1, topics });
    expect(responses.map(({ topicId, partitions: [answer] }) => [topicId, answer?.errorCode])).toEqual([
      [topics[0]?.topicId, 0],
      [topics[1]?.topicId, ERROR_CODES.UNKNOWN_TOPIC_ID],
    ]);
  });

  test.each([4, 5, 7, 11, 12])('version %i', async (version) => {
    const { name, client } = await topicOf();
    await fill(name, 10);
    const { responses } = await client.ask(api.fetch, version, fetchOf(name, 0));
    expect(batchOffsets(responses[0]?.partitions[0]?.records ?? null)).toEqual([0]);
  });

  test('a reader whose last epoch ended elsewhere is told where, at once (KIP-595)', async () => {
    const { name, partition, client } = await topicOf();
    await fill(name, 10);
    const { leaderEpoch, topicId } = partition;
    const ask = async (lastFetchedEpoch: number, fetchOffset: number) => {
      const wait = fetchOf(name, fetchOffset, { maxWaitMs: FOREVER_MS });
      const partitions = [{ ...wait.topics[0]!.partitions[0]!, lastFetchedEpoch }];
      const request = { ...wait, topics: [{ topicId, partitions }] };
      return (await client.ask(api.fetch, 17, request)).responses[0]!.partitions[0]!;
    };
    const within = await ask(leaderEpoch, 0);
    expect(batchOffsets(within.records)).toEqual([0]);
    expect(within.divergingEpoch).toEqual({ epoch: -1, endOffset: -1 });
    const beyond = await ask(leaderEpoch, 5);
    expect(beyond).toMatchObject({ errorCode: 0, divergingEpoch: { epoch: leaderEpoch, endOffset: 1 } });
    expect(batchOffsets(beyond.records)).toEqual([]);
    expect((await ask(leaderEpoch + 1, 0)).errorCode).toBe(ERROR_CODES.OFFSET_OUT_OF_RANGE);
  });

  test('a follower is told that there are none, and an old leader epoch who leads (KIP-951)', async () => {
    const { name, partition, client } = await topicOf();
    const { topicId, leaderEpoch } = partition;
    const topicsOf = (epoch: number) => [
      { topicId, partitions: fetchOf(name, 0, { currentLeaderEpoch: epoch }).topics[0]!.partitions },
    ];
    const replica = { ...fetchOf(name, 0), topics: topicsOf(-1), replicaState: { replicaId: 3 } };
    const answer = await client.ask(api.fetch, 17, replica);
    expect(answer.responses[0]?.partitions[0]).toMatchObject({
      errorCode: ERROR_CODES.NOT_LEADER_OR_FOLLOWER,
      currentLeader: { leaderId: 7, leaderEpoch },
    });
    expect(answer.nodeEndpoints).toMatchObject([{ nodeId: 7, port: kafka.port }]);
    const unknown = await client.ask(api.fetch, 17, {
      ...fetchOf(name, 0),
      topics: topicsOf(leaderEpoch + 1),
    });
    expect(unknown).toMatchObject({ nodeEndpoints: [] });
    expect(unknown.responses[0]?.partitions[0]?.errorCode).toBe(ERROR_CODES.UNKNOWN_LEADER_EPOCH);
  });
});
