// Following a partition: every record once and in order, whatever the follower, the store or the topic does.
import { expect, test } from 'vitest';
import type { Clock, RecordRange } from '../../../protocols/port.ts';
import { SYSTEM_CLOCK } from '../../../src/hub/clock.ts';
import { Follower } from '../../../src/hub/follower.ts';
import { HubPartition } from '../../../src/hub/partition.ts';
import { type PartitionLog, StorageError } from '../../../storage/index.ts';
import { append, createPartition, openTestHub, temporaryDirectory, textsOf } from './hub-fixture.ts';
import { TestLog } from './test-log.ts';

/** Collects until as many texts have come as were waited for. */
class Collector {
  readonly texts: string[] = [];
  #waiting: { count: number; resolve: () => void } | undefined;

  add(...texts: string[]): void {
    this.texts.push(...texts);
    if (this.#waiting !== undefined && this.texts.length >= this.#waiting.count) this.#waiting.resolve();
  }

  reached(count: number): Promise<void> {
    if (this.texts.length >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }
}

test('a follower sees every record once and in order, across its own restarts', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const collector = new Collector();
  let nextOffset = 0;
  const follow = (fromOffset: number) =>
    hub.follow(partition, {
      fromOffset,
      maxBytes: 200,
      onRange: (range) => {
        collector.add(...textsOf(hub, range));
        nextOffset = range.nextOffset;
      },
    });
  const expected = Array.from({ length: 200 }, (_, index) => `record ${index}`);
  let follower = follow(0);
  for (const [index, text] of expected.entries()) {
    const appended = append(partition, text);
    if (index % 10 === 0) await appended;
    if (index % 50 === 25) {
      await collector.reached(index - 20);
      follower.close();
      follower = follow(nextOffset);
    }
  }
  await collector.reached(expected.length);
  expect(collector.texts).toEqual(expected);
});

test('without an offset it begins at the high watermark of now', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  await append(partition, 'old');
  const collector = new Collector();
  hub.follow(partition, { onRange: (range) => collector.add(...textsOf(hub, range)) });
  await append(partition, 'new');
  await collector.reached(1);
  expect(collector.texts).toEqual(['new']);
});

test('the next range waits for the last one to be dealt with', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  let release = (): void => undefined;
  let handling = 0;
  let most = 0;
  const collector = new Collector();
  hub.follow(partition, {
    fromOffset: 0,
    onRange: async (range) => {
      most = Math.max(most, ++handling);
      await new Promise<void>((resolve) => {
        release = resolve;
        collector.add(...textsOf(hub, range));
      });
      handling--;
    },
  });
  await append(partition, 'a');
  await collector.reached(1);
  await append(partition, 'b');
  await append(partition, 'c');
  expect(collector.texts).toEqual(['a']);
  release();
  await collector.reached(3);
  expect({ texts: collector.texts, most }).toEqual({ texts: ['a', 'b', 'c'], most: 1 });
});

test('a closed follower hears nothing more, one on a deleted topic is told so once', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const collector = new Collector();
  const closed = hub.follow(partition, { onRange: () => collector.add('closed') });
  const errors = new Promise<string>((resolve) => {
    hub.follow(partition, { onRange: () => collector.add('live'), onError: (refusal) => resolve(refusal) });
  });
  closed.close();
  closed.close();
  await append(partition, 'a');
  await collector.reached(1);
  await hub.topics.delete('t');
  expect(await errors).toBe('unknown-topic');
  expect(collector.texts).toEqual(['live']);
});

test('a fault of the follower costs it the range and nothing else', async () => {
  const { hub, log } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const collector = new Collector();
  hub.follow(partition, {
    onRange: (range) => {
      collector.add(...textsOf(hub, range));
      if (collector.texts.length === 1) throw new Error('mine');
    },
  });
  await append(partition, 'a');
  await collector.reached(1);
  await append(partition, 'b');
  await collector.reached(2);
  expect(collector.texts).toEqual(['a', 'b']);
  expect(log.events('error')).toEqual(['follower-failed']);
});

// ------------------------------------------------------------- what only a log of the test's own can show

const EMPTY_RANGE = { bytes: Buffer.alloc(0), start: 0, end: 0 };

/** A log that answers each read by the next step of a script. */
function scriptedPartition(start: number, end: number, script: ((offset: number) => RecordRange)[]) {
  const log = {
    logStartOffset: start,
    logEndOffset: end,
    highWatermark: end,
    firstUnstableOffset: Number.POSITIVE_INFINITY,
    readCached: () => undefined,
    read: async (offset: number) => script.shift()!(offset),
  };
  const options = { topic: 't', topicId: 'id', partition: 0, leaderEpoch: 0, internal: false };
  const partition = new HubPartition({ ...options, clock: SYSTEM_CLOCK, log: new TestLog() });
  partition.open(log as unknown as PartitionLog); // the follower uses these members alone
  return { partition, log };
}

test('retention that overtakes it moves it to the log start, and it says so', async () => {
  const { partition } = scriptedPartition(5, 8, [() => ({ ...EMPTY_RANGE, nextOffset: 8 })]);
  const skips: number[][] = [];
  const range = await new Promise<RecordRange>((resolve) => {
    const onSkip = (from: number, to: number) => skips.push([from, to]);
    const options = { fromOffset: 2, onRange: resolve, onSkip };
    new Follower(partition, options, { clock: SYSTEM_CLOCK, log: new TestLog(), onClosed: () => undefined });
  });
  expect(skips).toEqual([[2, 5]]);
  expect(range.nextOffset).toBe(8);
});

test('records that are deleted before a follower gets to them are skipped, and it wakes for the next ones', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  for (const text of ['a', 'b', 'c']) await append(partition, text);
  const collector = new Collector();
  const skips: number[][] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  hub.follow(partition, {
    fromOffset: 0,
    maxBytes: 1,
    onRange: (range) => {
      collector.add(...textsOf(hub, range));
      return held;
    },
    onSkip: (from, to) => skips.push([from, to]),
  });
  await collector.reached(1);
  expect(await partition.deleteRecords(partition.highWatermark)).toEqual({ logStartOffset: 3 });
  release();
  await append(partition, 'd');
  await collector.reached(2);
  expect(collector.texts).toEqual(['a', 'd']);
  expect(skips).toEqual([[1, 3]]);
});

test('a log that lost its end, which was never flushed, takes it back to where the new records come', async () => {
  const log = new TestLog();
  const { partition } = scriptedPartition(0, 8, [(offset) => ({ ...EMPTY_RANGE, nextOffset: offset + 1 })]);
  const seen: number[] = [];
  const onRange = (range: RecordRange) => void seen.push(range.nextOffset);
  new Follower(
    partition,
    { fromOffset: 9, onRange },
    { clock: SYSTEM_CLOCK, log, onClosed: () => undefined },
  );
  const shorter = scriptedPartition(0, 5, [(offset) => ({ ...EMPTY_RANGE, nextOffset: offset + 1 })]);
  partition.open(shorter.partition.log!);
  shorter.log.logEndOffset = 6;
  shorter.log.highWatermark = 6;
  partition.open(shorter.partition.log!);
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual([6]);
  expect(log.events('warn')).toEqual(['follower-beyond-end', 'follower-beyond-end']);
});

test('a failed read, whatever failed, is reported, tried again later and later, and goes on from the same offset', async () => {
  const fail = () => {
    throw new StorageError('io', 'no');
  };
  const failUnexpectedly = () => {
    throw new TypeError('a fault of ours');
  };
  const log = new TestLog();
  const asked: number[] = [];
  const succeed = (offset: number) => {
    asked.push(offset);
    return { ...EMPTY_RANGE, nextOffset: offset + 1 };
  };
  const { partition } = scriptedPartition(0, 4, [succeed, fail, failUnexpectedly, succeed, succeed, succeed]);
  const delays: number[] = [];
  const errors: string[] = [];
  const clock: Clock = {
    ...SYSTEM_CLOCK,
    setTimer: (delayMs, callback) => {
      delays.push(delayMs);
      setImmediate(callback);
      return { cancel: () => undefined };
    },
  };
  await new Promise<void>((resolve) => {
    const onRange = (range: RecordRange) => (range.nextOffset === 4 ? resolve() : undefined);
    const options = { fromOffset: 0, onRange, onError: (refusal: string) => errors.push(refusal) };
    new Follower(partition, options, { clock, log, onClosed: () => undefined });
  });
  expect({ asked, errors, delays }).toEqual({
    asked: [0, 1, 2, 3],
    errors: ['storage', 'storage'],
    delays: [1000, 2000],
  });
  expect(log.events('error')).toEqual(['follower-read-failed']);
});
