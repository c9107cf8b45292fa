// Fetch sessions (KIP-227), over a socket and as a value.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ERROR_CODES } from '../../../protocols/kafka/error-codes.ts';
import { FetchSessions } from '../../../protocols/kafka/fetch-sessions.ts';
import { FetchRequest } from '../../../protocols/kafka/messages/fetch.ts';
import { WireReader, ZERO_UUID } from '../../../protocols/kafka/wire/reader.ts';
import { WireWriter } from '../../../protocols/kafka/wire/writer.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from '../../../src/hub/clock.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { type KafkaSocket, openKafka, type TestKafka, whenCalled } from './kafka-fixture.ts';
import { api, produceOf } from './kafka-requests.ts';

let kafka: TestKafka;
let topicNumber = 0;
beforeAll(async () => {
  kafka = await openKafka();
});
afterAll(() => kafka.close());

async function topicOf(partitions = 1) {
  const name = `session-${topicNumber++}`;
  const partition = await kafka.createTopic(name, {}, partitions);
  return { name, topicId: partition.topicId, partition, client: await kafka.connect() };
}

async function put(client: KafkaSocket, topic: string, partition = 0): Promise<void> {
  const batch = recordBatch([{ key: null, value: Buffer.alloc(100), headers: [] }]);
  await client.ask(api.produce, 7, produceOf(topic, batch, { partition }));
}

interface Ask {
  readonly topic?: string;
  readonly topicId?: string;
  /** Partition to offset. */
  readonly offsets?: Readonly<Record<number, number>>;
  readonly forget?: readonly number[];
  readonly maxBytes?: number;
}

function requestOf(sessionId: number, sessionEpoch: number, ask: Ask = {}) {
  const { topic = '', topicId = ZERO_UUID, offsets = {}, forget = [], maxBytes = 1 << 20 } = ask;
  const partitions = Object.entries(offsets).map(([partition, fetchOffset]) => ({
    ...{ partition: Number(partition), fetchOffset, partitionMaxBytes: 1 << 20 },
  }));
  return {
    ...{ maxWaitMs: 0, minBytes: 1, maxBytes, sessionId, sessionEpoch },
    topics: partitions.length > 0 ? [{ topic, topicId, partitions }] : [],
    forgottenTopicsData: forget.length > 0 ? [{ topic, topicId, partitions: forget }] : [],
  };
}

async function fetch(client: KafkaSocket, id: number, epoch: number, ask: Ask = {}, version = 11) {
  const { errorCode, sessionId, responses } = await client.ask(api.fetch, version, requestOf(id, epoch, ask));
  const answered = responses.flatMap(({ partitions }) => partitions);
  return {
    ...{ errorCode, sessionId },
    partitions: answered.map(({ partitionIndex }) => partitionIndex),
    withRecords: answered.filter(({ records }) => records?.length).map((each) => each.partitionIndex),
  };
}

describe('a session', () => {
  test('answers with what is new: records, and bounds that moved', async () => {
    const { name, client } = await topicOf(2);
    await put(client, name, 0);
    const full = await fetch(client, 0, 0, { topic: name, offsets: { 0: 0, 1: 0 } });
    expect(full).toMatchObject({ errorCode: 0, partitions: [0, 1] });
    const { sessionId: id } = full;
    expect(id).toBeGreaterThan(0);
    expect(await fetch(client, id, 1)).toMatchObject({ sessionId: id, partitions: [0] });
    expect(await fetch(client, id, 2, { topic: name, offsets: { 0: 1 } })).toMatchObject({ partitions: [] });
    await put(client, name, 1);
    expect(await fetch(client, id, 3)).toMatchObject({ withRecords: [1] });
    expect(await fetch(client, id, 4, { topic: name, offsets: { 1: 1 } })).toMatchObject({ partitions: [] });
  });

  test('forgets partitions, and ends with the last', async () => {
    const { name, client } = await topicOf(2);
    await put(client, name, 0);
    const { sessionId: id } = await fetch(client, 0, 0, { topic: name, offsets: { 0: 0, 1: 0 } });
    expect(await fetch(client, id, 1, { topic: name, forget: [0] })).toMatchObject({ partitions: [] });
    expect(await fetch(client, id, 2, { topic: name, forget: [1] })).toMatchObject({ sessionId: 0 });
    expect((await fetch(client, id, 3)).errorCode).toBe(ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND);
  });

  test('is closed by epoch −1, replaced by epoch 0', async () => {
    const { name, client } = await topicOf();
    const ask = { topic: name, offsets: { 0: 0 } };
    const first = await fetch(client, 0, 0, ask);
    const second = await fetch(client, first.sessionId, 0, ask);
    expect(second.sessionId).not.toBe(first.sessionId);
    expect((await fetch(client, first.sessionId, 1)).errorCode).toBe(ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND);
    expect(await fetch(client, second.sessionId, -1, ask)).toMatchObject({ sessionId: 0, partitions: [0] });
    expect((await fetch(client, second.sessionId, 1)).errorCode).toBe(ERROR_CODES.FETCH_SESSION_ID_NOT_FOUND);
  });

  test('refuses another epoch than the next, and topics named in the other way', async () => {
    const { name, client } = await topicOf();
    const { sessionId: id } = await fetch(client, 0, 0, { topic: name, offsets: { 0: 0 } });
    expect(await fetch(client, id, 2)).toEqual({
      ...{ errorCode: ERROR_CODES.INVALID_FETCH_SESSION_EPOCH, sessionId: 0 },
      ...{ partitions: [], withRecords: [] },
    });
    expect((await fetch(client, id, 1, {}, 13)).errorCode).toBe(ERROR_CODES.FETCH_SESSION_TOPIC_ID_ERROR);
    expect((await fetch(client, id, 1)).errorCode).toBe(0);
  });

  test('works with topic ids, over another connection', async () => {
    const { name, topicId, client } = await topicOf();
    const { sessionId: id } = await fetch(client, 0, 0, { topicId, offsets: { 0: 0 } }, 17);
    await put(client, name);
    expect(await fetch(await kafka.connect(), id, 1, {}, 17)).toMatchObject({ withRecords: [0] });
    await kafka.hub.topics.delete(name);
    expect(await faultsOf(id, 2)).toEqual([ERROR_CODES.UNKNOWN_TOPIC_ID]);
    await kafka.createTopic(name);
    expect(await faultsOf(id, 3)).toEqual([ERROR_CODES.INCONSISTENT_TOPIC_ID]);

    async function faultsOf(sessionId: number, epoch: number) {
      const { responses } = await client.ask(api.fetch, 17, requestOf(sessionId, epoch));
      return responses.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode));
    }
  });

  test('goes round its partitions, so that none starves', async () => {
    const { name, client } = await topicOf(3);
    for (const partition of [0, 1, 2]) await put(client, name, partition);
    const ask = { topic: name, offsets: { 0: 0, 1: 0, 2: 0 }, maxBytes: 1 };
    const { sessionId: id, withRecords } = await fetch(client, 0, 0, ask);
    const served = [withRecords];
    for (const epoch of [1, 2, 3]) served.push((await fetch(client, id, epoch, { maxBytes: 1 })).withRecords);
    expect(served).toEqual([[0], [1], [2], [0]]);
  });

  test('is not given for a request without it, nor before version 7', async () => {
    const { name, client } = await topicOf();
    expect(await fetch(client, 0, -1, { topic: name, offsets: { 0: 0 } })).toMatchObject({ sessionId: 0 });
    expect(await fetch(client, 0, 0, { topic: name, offsets: { 0: 0 } }, 6)).toMatchObject({ sessionId: 0 });
  });
});

describe('partitions of a session that wait at their ends', () => {
  const FOREVER_MS = 60_000;
  const PARTITIONS = 20;

  /** A session that knows all there is of each partition. */
  async function openSession() {
    const { name, client } = await topicOf(PARTITIONS);
    const all = Array.from({ length: PARTITIONS }, (_, index) => kafka.hub.topics.partition(name, index)!);
    /** So far, and those that are there. */
    const made = all.map(() => 0);
    const listeners = all.map(() => 0);
    for (const [index, partition] of all.entries()) {
      const onAdvance = partition.onAdvance.bind(partition);
      vi.spyOn(partition, 'onAdvance').mockImplementation((listener) => {
        made[index]!++;
        listeners[index]!++;
        const remove = onAdvance(listener);
        return () => {
          listeners[index]!--;
          remove();
        };
      });
    }
    const offsets = Object.fromEntries(all.map((_, index) => [index, 0]));
    const { sessionId } = await fetch(client, 0, 0, { topic: name, offsets });
    let epoch = 1;
    const next = (ask: Ask = {}, more: object = {}, by = client) =>
      by.ask(api.fetch, 11, { ...requestOf(sessionId, epoch++, ask), ...more });
    return { name, client, all, sessionId, made, listeners, next };
  }
  const partitionsOf = ({
    responses,
  }: {
    responses: readonly { partitions: readonly { partitionIndex: number }[] }[];
  }) => responses.flatMap(({ partitions }) => partitions.map(({ partitionIndex }) => partitionIndex));

  test('are listened to once, however often the others have records', async () => {
    const { name, made, listeners, next } = await openSession();
    expect(listeners).toEqual(Array(PARTITIONS).fill(1));
    const producer = await kafka.connect();
    for (let round = 0; round < 5; round++) {
      const polled = next(round > 0 ? { topic: name, offsets: { 3: round } } : {}, { maxWaitMs: FOREVER_MS });
      await put(producer, name, 3);
      expect(partitionsOf(await polled)).toEqual([3]);
    }
    expect(made.toSpliced(3, 1)).toEqual(Array(PARTITIONS - 1).fill(1));
  });

  test('are not listened to any more once they have advanced and nobody waits, nor when the session is over', async () => {
    const { name, client, sessionId, listeners, next } = await openSession();
    await put(client, name, 5);
    await put(client, name, 5);
    expect(listeners).toEqual(Array(PARTITIONS).fill(1).with(5, 0));
    expect(partitionsOf(await next())).toEqual([5]);
    await fetch(client, sessionId, -1, { topic: name, offsets: { 0: 0 } });
    expect(listeners).toEqual(Array(PARTITIONS).fill(0));
  });

  test('end the wait together, when they have min_bytes', async () => {
    const { name, next } = await openSession();
    const polled = next({}, { maxWaitMs: FOREVER_MS, minBytes: 300 });
    const producer = await kafka.connect();
    for (const partition of [2, 9, 2]) await put(producer, name, partition);
    expect(partitionsOf(await polled)).toEqual([2, 9]);
  });

  test('end it when their topic is deleted', async () => {
    const { name, next } = await openSession();
    const polled = next({}, { maxWaitMs: FOREVER_MS });
    await kafka.hub.topics.delete(name);
    const answered = (await polled).responses.flatMap(({ partitions }) => partitions);
    expect(answered.length).toBeGreaterThan(0);
    for (const { errorCode } of answered) expect(errorCode).toBe(ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION);
  });

  test('end it when another request goes on with the session', async () => {
    const { name, all, next } = await openSession();
    // Has records and waits for more, so that it listens anew.
    await put(await kafka.connect(), name, 0);
    const parked = whenCalled(all[0]!, 'onAdvance');
    const polled = next({}, { maxWaitMs: FOREVER_MS, minBytes: 1_000 });
    await parked;
    expect(partitionsOf(await next({}, { minBytes: 0 }, await kafka.connect()))).toEqual([0]);
    expect((await polled).errorCode).toBe(ERROR_CODES.INVALID_FETCH_SESSION_EPOCH);
  });

  test('are told of when their log begins later', async () => {
    const { name, all, next } = await openSession();
    await put(await kafka.connect(), name, 6);
    expect(partitionsOf(await next())).toEqual([6]);
    expect(partitionsOf(await next({ topic: name, offsets: { 6: 1 } }))).toEqual([]);
    await all[6]!.deleteRecords(1);
    const [told] = (await next()).responses[0]!.partitions;
    expect(told).toMatchObject({ partitionIndex: 6, errorCode: 0, logStartOffset: 1 });
    expect(partitionsOf(await next())).toEqual([]);
  });

  test('are looked at again by a reader with another isolation level', async () => {
    const { name, client, next } = await openSession();
    await put(client, name, 1);
    expect(partitionsOf(await next())).toEqual([1]);
    expect(partitionsOf(await next({ topic: name, offsets: { 1: 1 } }))).toEqual([]);
    const polled = next({}, { maxWaitMs: FOREVER_MS, isolationLevel: 1 });
    await put(await kafka.connect(), name, 4);
    expect(partitionsOf(await polled)).toEqual([4]);
  });
});

describe('all sessions together', () => {
  const MINUTE_MS = 60_000;
  let nowMs = 0;
  const clock = { ...SYSTEM_CLOCK, monotonic: () => nowMs };

  function sessionsOf(sessionsMax: number, bytesMax = 1 << 20, clientShare = 1) {
    const limits = { sessionsMax, bytesMax, clientShare, protectedMs: 2 * MINUTE_MS };
    const sessions = new FetchSessions(limits, clock, SYSTEM_RANDOM);
    const begin = (id: number, epoch: number, partitions: number) =>
      sessions.begin(decoded(id, epoch, partitions), false);
    const open = (partitions: number, client = '10.0.0.1'): number => {
      const context = begin(0, 0, partitions);
      if (context.kind !== 'full') throw new Error(context.kind);
      return sessions.open(context.fetched, false, client, 'highWatermark')?.id ?? 0;
    };
    return { sessions, begin, open };
  }

  function decoded(id: number, epoch: number, partitions: number): FetchRequest {
    const writer = new WireWriter();
    const offsets = Object.fromEntries(Array.from({ length: partitions }, (_, index) => [index, 0]));
    FetchRequest.write(writer, 11, requestOf(id, epoch, { topic: 't', offsets }));
    return FetchRequest.read(new WireReader(writer.take()), 11);
  }

  test('have so many places; one unused for two minutes gives way', () => {
    const { sessions, begin, open } = sessionsOf(2);
    const first = open(1);
    const second = open(1);
    expect([first > 0, second > 0, open(1)]).toEqual([true, true, 0]);
    nowMs += 2 * MINUTE_MS;
    expect(begin(first, 1, 0).kind).toBe('incremental');
    nowMs += 1;
    expect(open(1)).toBeGreaterThan(0);
    expect(begin(second, 1, 0)).toEqual({ kind: 'refused', errorCode: 70 });
    expect(begin(first, 2, 0).kind).toBe('incremental');
    expect(sessions.counts).toMatchObject({ sessions: 2, evicted: 1 });
  });

  test('a larger one takes the place of the smallest, unless that is new', () => {
    const { begin, open } = sessionsOf(2);
    const small = open(1);
    const large = open(5);
    expect(open(9)).toBe(0);
    nowMs += 3 * MINUTE_MS;
    for (const id of [small, large]) expect(begin(id, 1, 0).kind).toBe('incremental');
    expect(open(1)).toBe(0);
    expect(open(2)).toBeGreaterThan(0);
    expect(begin(small, 2, 0).kind).toBe('refused');
    expect(begin(large, 2, 0).kind).toBe('incremental');
  });

  test('take so much memory and no more, and give all of it back', () => {
    const { sessions, begin, open } = sessionsOf(100, 20 * 1024);
    expect(open(100)).toBe(0);
    const id = open(10);
    const filling = open(20);
    expect(open(20)).toBe(0);
    expect(sessions.counts.byteLength).toBeLessThanOrEqual(20 * 1024);
    expect(begin(id, 1, 50)).toEqual({ kind: 'refused', errorCode: 70 });
    begin(filling, -1, 0);
    expect(sessions.counts).toMatchObject({ sessions: 0, byteLength: 0 });
  });

  test('are half of all for one address: it fills its own half, and drives out nobody else', () => {
    const { sessions, begin, open } = sessionsOf(4, 1 << 20, 0.5);
    const other = open(1, '10.0.0.2');
    const own = [open(1), open(1)];
    expect([...own.map((id) => id > 0), open(1)]).toEqual([true, true, 0]);
    nowMs += 3 * MINUTE_MS;
    expect(begin(own[1]!, 1, 0).kind).toBe('incremental');
    for (const partitions of [2, 3]) expect(open(partitions)).toBeGreaterThan(0);
    expect(own.map((id, index) => begin(id, 1 + index, 0).kind)).toEqual(['refused', 'refused']);
    expect(begin(other, 1, 0).kind).toBe('incremental');
    expect(open(1, '10.0.0.2')).toBeGreaterThan(0);
    expect(sessions.counts).toMatchObject({ sessions: 4, evicted: 2 });
  });

  test('of one address take half of the memory', () => {
    const { sessions, begin, open } = sessionsOf(100, 40 * 1024, 0.5);
    const id = open(10);
    expect([id > 0, open(30)]).toEqual([true, 0]);
    expect(begin(id, 1, 50)).toEqual({ kind: 'refused', errorCode: 70 });
    expect(open(30, '10.0.0.2')).toBeGreaterThan(0);
    expect(sessions.counts).toMatchObject({ sessions: 1, evicted: 0 });
  });
});
