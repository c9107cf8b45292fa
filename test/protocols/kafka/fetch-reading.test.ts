// What a Fetch keeps of its partitions between reading and answering, where reading ends badly or the log changes under it.
import { expect, test } from 'vitest';
import { EncodedStretches } from '../../../protocols/kafka/encoded-stretches.ts';
import {
  dropUnfit,
  type FetchItem,
  type FetchReading,
  readItems,
} from '../../../protocols/kafka/fetch-reading.ts';
import type { FetchedPartition } from '../../../protocols/kafka/fetch-session.ts';
import type { Partition, ReadResult, RecordCursor } from '../../../protocols/port.ts';

const RANGE_BYTES = 100;
const RANGE_OFFSETS = 10;
const STRETCH_BYTES = 10_000;
const REFUSED: ReadResult = { refused: 'storage', message: 'cannot be read' };

/** Stands on a record wherever it is asked. */
const cursor = {
  reset: () => undefined,
  nextBatch: () => true,
  batchRecordCount: 1,
  batchBaseOffset: Number.MAX_SAFE_INTEGER,
  batchLastOffset: Number.MAX_SAFE_INTEGER,
} as unknown as RecordCursor; // what is looked at is there

/** A fetch of one partition, whose reads are answered by `read`. */
function fetchOf(read: (range: ReadResult) => ReadResult) {
  let released = 0;
  const partition = {
    ...{ deleted: false, leaderEpoch: 1, logStartOffset: 0, logEndOffset: 100, highWatermark: 100 },
    read: async ({ offset }: { offset: number }) =>
      read({
        ...{ bytes: Buffer.alloc(RANGE_BYTES), start: 0, end: RANGE_BYTES },
        nextOffset: offset + RANGE_OFFSETS,
        release: () => void released++,
      }),
  };
  const asked: FetchedPartition = {
    topic: { topic: 't', topicId: '' },
    request: { partition: 0, fetchOffset: 0, partitionMaxBytes: 1e6 } as FetchItem['request'], // the rest is not read
  };
  const item: FetchItem = {
    ...asked,
    asked,
    partition: partition as unknown as Partition, // as below
    ...{ errorCode: 0, diverging: undefined, encoded: [], encodedUpTo: 0 },
    ...{ ranges: [], leaderEpoch: -1, emptyUpTo: -1 },
  };
  const fetch: FetchReading = {
    ...{ items: [item], upTo: 'highWatermark', bytesMax: 1e6, isById: false, cursor },
    stretches: new EncodedStretches({ monotonic: () => 0, setTimer: () => ({ cancel() {} }) }),
  };
  // What is looked at is there, and may be changed.
  const known = partition as unknown as Partition & { leaderEpoch: number };
  return { fetch, item, partition: known, released: () => released };
}

/** Two readers have encoded there. */
function share({ stretches }: FetchReading, partition: Partition, firstOffset: number): void {
  const nextOffset = firstOffset + RANGE_OFFSETS;
  const bytes = Buffer.alloc(STRETCH_BYTES);
  const stretch = { firstOffset, nextOffset, bytes, records: RANGE_OFFSETS, aborted: [], leaderEpoch: 1 };
  for (const _reader of [1, 2]) stretches.offer(partition, 'highWatermark', stretch);
}

test('a partition that is refused in the middle lets go of what was read of it', async () => {
  let reads = 0;
  const { fetch, item, partition, released } = fetchOf((range) => (++reads === 3 ? REFUSED : range));
  share(fetch, partition, 0);
  expect(await readItems(fetch)).toBe(0);
  expect(item).toMatchObject({ encoded: [], ranges: [] });
  expect(item.errorCode).not.toBe(0);
  expect(released()).toBe(2);
});

test('what was read belongs to the leader epoch of its reading', async () => {
  const { fetch, item, partition } = fetchOf((range) => {
    partition.leaderEpoch = 2;
    return range;
  });
  expect(await readItems(fetch)).toBe(10 * RANGE_BYTES);
  expect(item.leaderEpoch).toBe(1);
});

test('what was encoded before, and what was read behind it, is left out where it does not fit any more', async () => {
  const { fetch, item, partition, released } = fetchOf((range) => range);
  for (const offset of [0, 10, 20]) share(fetch, partition, offset);
  const cases = [
    { bytesMax: 3 * STRETCH_BYTES, atLeastOne: false, stay: 3, ranges: 7 },
    { bytesMax: 3 * STRETCH_BYTES - 1, atLeastOne: true, stay: 2, ranges: 0 },
    { bytesMax: STRETCH_BYTES - 1, atLeastOne: true, stay: 1, ranges: 0 },
    { bytesMax: STRETCH_BYTES - 1, atLeastOne: false, stay: 0, ranges: 0 },
  ];
  for (const { bytesMax, atLeastOne, stay, ranges } of cases) {
    await readItems(fetch);
    const before = released();
    expect(dropUnfit(item, bytesMax, atLeastOne)).toBe(stay * STRETCH_BYTES);
    expect(item).toMatchObject({ encodedUpTo: stay * RANGE_OFFSETS });
    expect([item.encoded.length, item.ranges.length]).toEqual([stay, ranges]);
    expect(released() - before).toBe(7 - ranges);
  }
});
