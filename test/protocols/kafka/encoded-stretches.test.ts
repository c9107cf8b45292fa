// Fetch encodes once what many read: the same records as without, within a bound, and never what another log had.
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { KafkaContext } from '../../../protocols/kafka/api.ts';
import { type EncodedStretch, EncodedStretches } from '../../../protocols/kafka/encoded-stretches.ts';
import { nextStretch } from '../../../protocols/kafka/fetch-ahead.ts';
import type { FetchItem } from '../../../protocols/kafka/fetch-reading.ts';
import { BatchEncoder } from '../../../protocols/kafka/records/batch-encoder.ts';
import { RecordReader } from '../../../protocols/kafka/records/record-reader.ts';
import type { Partition, Timer } from '../../../protocols/port.ts';
import { recordBatch } from '../../helpers/raw-kafka.ts';
import { TestClock } from '../../helpers/store-fixture.ts';
import { type KafkaSocket, openTestKafka, SkippingClock } from './kafka-fixture.ts';
import { api, fetchOf, produceOf } from './kafka-requests.ts';

const STRETCH_BYTES = 64 * 1024;
const KEPT_MAX = 4;
const NO_TIMER: Timer = { cancel() {} };

describe('kept', () => {
  let stretches: EncodedStretches;
  let partition: { leaderEpoch: number };
  let end: number;
  let nowMs: number;
  beforeEach(() => {
    nowMs = 0;
    stretches = new EncodedStretches(
      { monotonic: () => nowMs, setTimer: () => NO_TIMER },
      KEPT_MAX * STRETCH_BYTES,
    );
    partition = { leaderEpoch: 1 };
    end = 1000;
  });

  const asPartition = (): Partition => partition as unknown as Partition; // what is looked at is there

  function offer(firstOffset: number, length = STRETCH_BYTES, leaderEpoch = 1): EncodedStretch | undefined {
    const bytes = Buffer.alloc(length, firstOffset);
    const stretch = {
      firstOffset,
      nextOffset: firstOffset + 10,
      bytes,
      records: 10,
      aborted: [],
      leaderEpoch,
    };
    return stretches.offer(asPartition(), 'highWatermark', stretch);
  }
  const find = (offset: number, bytesMax = Number.POSITIVE_INFINITY) =>
    stretches.find(asPartition(), 'highWatermark', { offset, end, bytesMax });
  /** Two readers have begun there. */
  function share(firstOffset: number): void {
    offer(firstOffset);
    offer(firstOffset);
  }

  test('nothing, for one reader', () => {
    for (let offset = 0; offset < 100; offset += 10) expect(offer(offset)).toBeUndefined();
    expect(find(0)).toBeUndefined();
  });

  test('what a second reader began with, and all behind it', () => {
    share(0);
    expect(find(0)).toMatchObject({ firstOffset: 0, nextOffset: 10, records: 10 });
    expect(offer(10)).toBeDefined();
    expect(find(10)?.bytes.equals(Buffer.alloc(STRETCH_BYTES, 10))).toBe(true);
    expect(find(5)).toBeUndefined();
  });

  test('until no second reader comes for long', () => {
    share(0);
    const offered = Array.from({ length: 100 }, (_, index) => offer(10 * index + 10));
    expect(offered.filter((each) => each !== undefined)).toHaveLength(63);
  });

  test('no longer for a reader that it is too large for', () => {
    share(0);
    for (let offset = 10; offset < 1000; offset += 10) {
      expect(find(0, STRETCH_BYTES - 1)).toBeUndefined();
      offer(offset);
    }
    expect(offer(2000)).toBeUndefined();
  });

  test('within the bound, the oldest goes', () => {
    for (let offset = 0; offset < 100; offset += 10) share(offset);
    expect([0, 50, 60, 70, 80, 90].map((offset) => find(offset) !== undefined)).toEqual(
      [false, false, true, true, true, true], // four of the last
    );
    expect(offer(200, KEPT_MAX * STRETCH_BYTES + 1)).toBeUndefined();
  });

  test('once, however often it is offered, with its last place in line', () => {
    share(0);
    const first = find(0);
    for (let count = 0; count < 10; count++) expect(offer(0)).toBeUndefined();
    expect(find(0)).toBe(first);
    expect(stretches.byteLength).toBe(STRETCH_BYTES);
  });

  test('the largest that begins there; one that is replaced gives up its memory and its place', () => {
    share(0);
    expect(offer(0, STRETCH_BYTES / 2)).toBeUndefined();
    for (let more = 1; more <= 100; more++) expect(offer(0, STRETCH_BYTES + more)).toBeDefined();
    expect(find(0)?.bytes.length).toBe(STRETCH_BYTES + 100);
    expect(stretches.byteLength).toBe(STRETCH_BYTES + 100);
    for (const offset of [10, 20, 30]) offer(offset, STRETCH_BYTES - 100);
    expect([0, 10, 20, 30].every((offset) => find(offset) !== undefined)).toBe(true);
  });

  test('for a minute: compaction may have changed what lies there', () => {
    share(0);
    nowMs = 60_000;
    expect(find(0)).toBeDefined();
    offer(10);
    nowMs++;
    expect(find(0)).toBeUndefined();
    offer(20);
    expect(stretches.byteLength).toBe(2 * STRETCH_BYTES);
    expect(find(10)).toBeDefined();
    nowMs = 120_001;
    expect(offer(10, STRETCH_BYTES / 2)?.bytes.length).toBe(STRETCH_BYTES / 2);
  });

  test('not for a log that is another by now, or ends before', () => {
    share(0);
    partition.leaderEpoch = 2;
    expect(find(0)).toBeUndefined();
    partition.leaderEpoch = 1;
    end = 9;
    expect(find(0)).toBeUndefined();
    end = 10;
    expect(find(0)).toBeDefined();
    expect(stretches.find(asPartition(), 'lastStable', { offset: 0, end, bytesMax: 1e9 })).toBeUndefined();
  });

  test('not when it was read from the log before', () => {
    share(0);
    partition.leaderEpoch = 2;
    expect(offer(10, STRETCH_BYTES, 1)).toBeUndefined();
    expect(offer(0, STRETCH_BYTES / 2, 2)).toBeDefined();
    expect(find(0)).toMatchObject({ leaderEpoch: 2 });
  });
});

test('what is kept goes when it is old, though nobody asks for anything', () => {
  const clock = new TestClock();
  let keptBytes = 0;
  const stretches = new EncodedStretches(clock, undefined, (bytes) => {
    keptBytes += bytes;
  });
  const partition = { leaderEpoch: 1 } as unknown as Partition; // what is looked at is there
  const bytes = Buffer.alloc(STRETCH_BYTES);
  const stretch = { firstOffset: 0, nextOffset: 10, bytes, records: 10, aborted: [], leaderEpoch: 1 };
  for (const _reader of [1, 2]) stretches.offer(partition, 'highWatermark', stretch);
  clock.advance(60_000);
  expect([stretches.byteLength, keptBytes]).toEqual([STRETCH_BYTES, STRETCH_BYTES]);
  clock.advance(60_000);
  expect([stretches.byteLength, keptBytes]).toEqual([0, 0]);
});

describe('ahead of a reader', () => {
  const AHEAD_MAX = 8;
  const bytesMax = STRETCH_BYTES;
  let stretches: EncodedStretches;
  const partition = { leaderEpoch: 1 } as unknown as Partition; // what is looked at is there
  beforeEach(() => {
    stretches = new EncodedStretches(
      { monotonic: () => 0, setTimer: () => NO_TIMER },
      AHEAD_MAX * STRETCH_BYTES,
    );
  });

  const begin = (offset: number): boolean =>
    stretches.beginAhead(partition, 'highWatermark', offset, bytesMax);
  function end(offset: number, leaderEpoch = 1): void {
    const bytes = Buffer.alloc(STRETCH_BYTES, offset);
    const stretch = {
      firstOffset: offset,
      nextOffset: offset + 10,
      bytes,
      records: 10,
      aborted: [],
      leaderEpoch,
    };
    stretches.endAhead(partition, 'highWatermark', { offset, bytesMax }, stretch);
  }
  const find = (offset: number) =>
    stretches.find(partition, 'highWatermark', { offset, end: 1e6, bytesMax: STRETCH_BYTES });

  test('who reads on from answer to answer is known by the third, whoever reads beside it', () => {
    const noted = (first: number, next: number): boolean =>
      stretches.noteFull(partition, 'highWatermark', first, next);
    expect([noted(0, 10), noted(500, 510), noted(10, 20), noted(300, 310)]).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect([noted(20, 30), noted(20, 30), noted(30, 40), noted(520, 530)]).toEqual([true, true, true, false]);
  });

  test('nothing is encoded for who is given records that are larger than what he takes', () => {
    const ends = { logStartOffset: 0, logEndOffset: 1e6, highWatermark: 1e6 };
    const next = (offset: number, bytesMax: number) => {
      const request = { fetchOffset: offset };
      // What is looked at is there, here and below.
      const item = { partition: { ...partition, ...ends }, request } as unknown as FetchItem;
      const kafka = {
        stretches: Object.assign(stretches, { noteFull: () => true }),
      } as unknown as KafkaContext;
      const end = { offset: offset + 10, byteLength: STRETCH_BYTES, bytesMax };
      return nextStretch(kafka, item, 'highWatermark', end);
    };
    expect(next(0, STRETCH_BYTES)).toMatchObject({ offset: 10, bytesMax: STRETCH_BYTES });
    for (const [index, limit] of [STRETCH_BYTES - 1, 1, 0, -1].entries())
      expect(next(10 * index, limit)).toBeUndefined();
  });

  test('a stretch is encoded once, found once, and then gone', () => {
    expect([begin(0), begin(0)]).toEqual([true, false]);
    end(0);
    expect(begin(0)).toBe(false);
    expect(find(0)?.bytes.equals(Buffer.alloc(STRETCH_BYTES, 0))).toBe(true);
    expect(find(0)).toBeUndefined();
    expect(stretches.byteLength).toBe(0);
  });

  test('a stretch stays for others where there are several readers', () => {
    const shared = { firstOffset: 0, nextOffset: 10, records: 10, aborted: [], leaderEpoch: 1 };
    for (const _reader of [1, 2])
      stretches.offer(partition, 'highWatermark', { ...shared, bytes: Buffer.alloc(STRETCH_BYTES) });
    begin(10);
    end(10);
    expect([find(10) !== undefined, find(10) !== undefined]).toEqual([true, true]);
  });

  test('is done without where there is no room, which comes back', () => {
    const offsets = Array.from({ length: AHEAD_MAX + 1 }, (_, index) => 10 * index);
    expect(offsets.map(begin)).toEqual([...offsets.slice(1).map(() => true), false]);
    stretches.endAhead(partition, 'highWatermark', { offset: 0, bytesMax }, undefined);
    end(10);
    expect(begin(1000)).toBe(true);
    expect(begin(1010)).toBe(false);
    find(10);
    expect(begin(1010)).toBe(true);
  });

  test('is in vain when another log has taken the place', () => {
    begin(0);
    end(0, 2);
    expect(find(0)).toBeUndefined();
    expect(begin(0)).toBe(true);
  });
});

/** Tells when so many Fetches wait. */
class WaitingClock extends SkippingClock {
  static readonly WAIT_MS = 12_345;
  #missing = 0;
  #onAll: () => void = () => undefined;

  waits(count: number): Promise<void> {
    this.#missing = count;
    return new Promise((resolve) => {
      this.#onAll = resolve;
    });
  }

  override setTimer(delayMs: number, callback: () => void): Timer {
    const timer = super.setTimer(delayMs, callback);
    if (delayMs === WaitingClock.WAIT_MS && --this.#missing === 0) queueMicrotask(this.#onAll);
    return timer;
  }
}

describe('over sockets', () => {
  const READERS = 5;
  const BATCHES = 40;
  const BATCH_RECORDS = 20;
  const VALUE_BYTES = 1000;
  const ROUNDS = 4;

  async function fill(client: KafkaSocket, topic: string, batches = BATCHES): Promise<void> {
    const requests = Array.from({ length: batches }, (_, batch) => {
      const records = Array.from({ length: BATCH_RECORDS }, (_record, index) => ({
        ...{ key: null, headers: [] },
        value: Buffer.alloc(VALUE_BYTES, batch * BATCH_RECORDS + index),
      }));
      return [api.produce, 7, produceOf(topic, recordBatch(records))] as const;
    });
    for (const { responses } of await client.askAtOnce(requests))
      expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(0);
  }

  /** The records of an answer as they came. */
  async function fetched(
    client: KafkaSocket,
    topic: string,
    offset: number,
    maxBytes: number,
  ): Promise<Buffer> {
    const { responses } = await client.ask(
      api.fetch,
      11,
      fetchOf(topic, offset, { partitionMaxBytes: maxBytes }),
    );
    const { errorCode, records } = responses[0]!.partitions[0]!;
    expect(errorCode).toBe(0);
    return records!;
  }

  function nextOffsetOf(records: Buffer): number {
    let next = -1;
    for (let at = 0; at < records.length; at += 12 + records.readInt32BE(at + 8))
      next = Number(records.readBigInt64BE(at)) + records.readInt32BE(at + 23) + 1;
    return next;
  }

  test('every reader gets what the first one got, with other limits too, and what comes later', async () => {
    const kafka = await openTestKafka();
    await kafka.createTopic('hot');
    const producer = await kafka.connect();
    await fill(producer, 'hot');
    const readers = await Promise.all(Array.from({ length: READERS }, () => kafka.connect()));
    for (const maxBytes of [200_000, 90_000, 200_000]) {
      let offset = 0;
      while (offset < BATCHES * BATCH_RECORDS) {
        const answers = await Promise.all(readers.map((reader) => fetched(reader, 'hot', offset, maxBytes)));
        for (const answer of answers) {
          expect(answer.length).toBeLessThanOrEqual(maxBytes);
          expect(answer.equals(answers[0]!)).toBe(true);
        }
        offset = nextOffsetOf(answers[0]!);
      }
    }
    await fill(producer, 'hot');
    const end = BATCHES * BATCH_RECORDS;
    for (const reader of readers) expect(nextOffsetOf(await fetched(reader, 'hot', end, 1e7))).toBe(2 * end);
  });

  test('what a single reader is going to ask for is encoded while it has not asked yet, and is what it gets', async () => {
    const kafka = await openTestKafka();
    const partition = await kafka.createTopic('read');
    const [producer, reader] = [await kafka.connect(), await kafka.connect()];
    await fill(producer, 'read');
    const read = vi.spyOn(partition, 'read');
    /** Where a read began that an answer begins with. */
    const offsetsRead = () =>
      read.mock.calls.filter(([options]) => options.maxBytes === maxBytes).map(([options]) => options.offset);
    const maxBytes = 100_000;
    let offset = 0;
    const pieces: Buffer[] = [];
    while (offset < BATCHES * BATCH_RECORDS) {
      pieces.push(await fetched(reader, 'read', offset, maxBytes));
      expect(pieces.at(-1)!.length).toBeLessThanOrEqual(maxBytes);
      offset = nextOffsetOf(pieces.at(-1)!);
      const isAhead = pieces.length >= 3 && offset < BATCHES * BATCH_RECORDS;
      if (isAhead) await vi.waitFor(() => expect(offsetsRead()).toContain(offset));
    }
    expect(pieces.length).toBeGreaterThan(5);
    expect(new Set(offsetsRead()).size).toBe(offsetsRead().length);
    const fresh = await openTestKafka();
    await fresh.createTopic('read');
    await fill(await fresh.connect(), 'read');
    const whole = await fetched(await fresh.connect(), 'read', 0, 1e8);
    expect(valuesOf(Buffer.concat(pieces))).toEqual(valuesOf(whole));
  });

  /** The first byte of each record's value, which are all of one length. */
  function valuesOf(records: Buffer): number[] {
    const values: number[] = [];
    for (let at = 0; at < records.length; at += 12 + records.readInt32BE(at + 8)) {
      const reader = new RecordReader();
      const end = at + 12 + records.readInt32BE(at + 8);
      reader.reset(records, at + 61, end, records.readInt32BE(at + 57));
      while (reader.next()) values.push(records[reader.valueStart]!);
    }
    return values;
  }

  test('a reader that never reads its answers changes nothing for others', async () => {
    const kafka = await openTestKafka();
    await kafka.createTopic('hot');
    const stuck = await kafka.connect();
    await fill(stuck, 'hot');
    const reader = await kafka.connect();
    const first = await fetched(reader, 'hot', 0, 1e6);
    expect((await fetched(reader, 'hot', 0, 1e6)).equals(first)).toBe(true);
    stuck.socket.pause();
    for (let count = 0; count < 20; count++)
      stuck.tell(api.fetch, 11, fetchOf('hot', 0, { partitionMaxBytes: 1e6 }));
    for (let count = 0; count < 5; count++)
      expect((await fetched(reader, 'hot', 0, 1e6)).equals(first)).toBe(true);
    stuck.socket.destroy();
    expect((await fetched(reader, 'hot', 0, 1e6)).equals(first)).toBe(true);
  });

  test('what was deleted is not given any more', async () => {
    const kafka = await openTestKafka();
    const partition = await kafka.createTopic('hot');
    const client = await kafka.connect();
    await fill(client, 'hot');
    for (let count = 0; count < 3; count++) await fetched(client, 'hot', 0, 1e6);
    await partition.deleteRecords(100);
    const { responses } = await client.ask(api.fetch, 11, fetchOf('hot', 0));
    expect(responses[0]!.partitions[0]!.errorCode).toBe(1);
  });

  test('readers that waited together share what comes', async () => {
    const clock = new WaitingClock();
    const kafka = await openTestKafka({ clock });
    await kafka.createTopic('hot');
    const producer = await kafka.connect();
    const readers = await Promise.all(Array.from({ length: READERS }, () => kafka.connect()));
    const staged = vi.spyOn(BatchEncoder.prototype, 'stage');
    onTestFinished(() => staged.mockRestore());
    for (let offset = 0; offset < ROUNDS * BATCH_RECORDS; offset += BATCH_RECORDS) {
      const areWaiting = clock.waits(READERS);
      const wait = { maxWaitMs: WaitingClock.WAIT_MS };
      const asked = readers.map((reader) => reader.ask(api.fetch, 11, fetchOf('hot', offset, wait)));
      await areWaiting;
      await fill(producer, 'hot', 1);
      for (const { responses } of await Promise.all(asked))
        expect(nextOffsetOf(responses[0]!.partitions[0]!.records!)).toBe(offset + BATCH_RECORDS);
    }
    // The second reader of all is the first who shows that there are several.
    expect(staged).toHaveBeenCalledTimes(ROUNDS + 1);
  });
});
