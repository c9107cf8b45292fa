// A partition as front ends see it: offsets, visibility, wake-ups, shared promises, refusals.
import { expect, test } from 'vitest';
import type { Appended, Refused } from '../../../protocols/port.ts';
import {
  append,
  copyAsIfKilled,
  createPartition,
  createTopic,
  FaultyFileSystem,
  openTestHub,
  readTexts,
  temporaryDirectory,
  textsOf,
  writeText,
} from './hub-fixture.ts';

function baseOffsetOf(result: Appended | Refused): number {
  if (result.refused !== undefined) throw new Error(`${result.refused}: ${result.message}`);
  return result.baseOffset;
}

function acknowledgedOf(result: Appended | Refused): Appended['acknowledged'] {
  if (result.refused !== undefined) throw new Error(`${result.refused}: ${result.message}`);
  return result.acknowledged;
}

test('what is appended is read, after a clean stop and after a kill', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const partition = await createPartition(first.hub, 't');
  expect(baseOffsetOf(await append(partition, 'a', 'b'))).toBe(0);
  expect(baseOffsetOf(await append(partition, 'c'))).toBe(2);
  expect(await readTexts(first.hub, partition)).toEqual(['a', 'b', 'c']);
  const killed = await openTestHub(copyAsIfKilled(directory));
  expect(await readTexts(killed.hub, killed.hub.topics.partition('t', 0)!)).toEqual(['a', 'b', 'c']);
  await first.close();
  const { hub } = await openTestHub(directory);
  const reopened = hub.topics.partition('t', 0)!;
  expect(reopened.highWatermark).toBe(3);
  expect(baseOffsetOf(await append(reopened, 'd'))).toBe(3);
  expect(await readTexts(hub, reopened)).toEqual(['a', 'b', 'c', 'd']);
});

test('where records with headers end is known, and so is where those end that their writer has marked', async () => {
  const directory = temporaryDirectory();
  const first = await openTestHub(directory);
  const partition = await createPartition(first.hub, 't');
  await append(partition, 'a', 'b');
  expect(partition.markedEnd).toBe(0);
  const name = Buffer.from('name');
  const withHeader = partition.append({ acks: 'flushed' }, (writer) => {
    writeText(writer, 'c');
    writer.startRecord(1000, name, -1, -1, 1);
    writer.header(name, 0, 4, -1, -1);
    writer.endRecord(name, 0, 4, null);
  });
  await acknowledgedOf(withHeader);
  expect(partition.markedEnd).toBe(4);
  await first.hub.publish(partition, (writer) => writeText(writer, 'e'));
  expect(partition.markedEnd).toBe(4);
  await first.hub.publish(partition, (writer) => {
    writer.isMarked = true;
    writeText(writer, 'f');
  });
  await append(partition, 'g');
  expect(partition.markedEnd).toBe(6);
  await first.close();
  // Of what was there before nothing is known.
  const { hub } = await openTestHub(directory);
  const reopened = hub.topics.partition('t', 0)!;
  expect(reopened.markedEnd).toBe(7);
  await append(reopened, 'h');
  expect(reopened.markedEnd).toBe(7);
});

test('concurrent producers get offsets that are unique, contiguous and in the order of their appends', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const told: { producer: number; baseOffset: number }[] = [];
  const produce = async (producer: number): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) {
      const result = await append(partition, `${producer}:${turn}:0`, `${producer}:${turn}:1`);
      told.push({ producer, baseOffset: baseOffsetOf(result) });
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, producer) => produce(producer)));
  const offsets = told.map(({ baseOffset }) => baseOffset).sort((a, b) => a - b);
  expect(offsets).toEqual(Array.from({ length: 200 }, (_, index) => index * 2));
  const texts = await readTexts(hub, partition);
  for (const { producer, baseOffset } of told) expect(texts[baseOffset]).toMatch(new RegExp(`^${producer}:`));
  for (let producer = 0; producer < 10; producer++) {
    const own = texts.filter((text) => text.startsWith(`${producer}:`));
    expect(own).toEqual(Array.from({ length: 40 }, (_, n) => `${producer}:${n >> 1}:${n & 1}`));
  }
});

test('records are visible, and waiters woken, when they are flushed and not before', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const seen: number[] = [];
  partition.onAdvance(() => seen.push(partition.highWatermark));
  const appended = append(partition, 'a', 'b');
  expect({ end: partition.logEndOffset, high: partition.highWatermark }).toEqual({ end: 2, high: 0 });
  const early = await partition.read({ offset: 0, maxBytes: 100, upTo: 'highWatermark' });
  expect(early).toMatchObject({ start: 0, end: 0, nextOffset: 0 });
  await appended;
  expect(seen).toEqual([2]);
});

test('a listener may remove itself and others while it is called, and a failing one harms nobody', async () => {
  const { hub, log } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const calls: string[] = [];
  const removeFirst = partition.onAdvance(() => {
    calls.push('first');
    removeFirst();
    removeThird();
  });
  partition.onAdvance(() => {
    calls.push('second');
    throw new Error('mine');
  });
  const removeThird = partition.onAdvance(() => calls.push('third'));
  partition.onAdvance(() => calls.push('fourth'));
  await append(partition, 'a');
  await append(partition, 'b');
  expect(calls).toEqual(['first', 'second', 'fourth', 'second', 'fourth']);
  expect(log.events('error')).toEqual(['listener-failed', 'listener-failed']);
});

test.each([
  ['below the log start', -1, 'offset-out-of-range'],
  ['above the high watermark', 3, 'offset-out-of-range'],
  ['at the high watermark', 2, undefined],
])('a read %s', async (_, offset, refused) => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  await append(partition, 'a', 'b');
  const result = await partition.read({ offset, maxBytes: 100, upTo: 'highWatermark' });
  expect(result.refused).toBe(refused);
  if (result.refused === undefined) expect(textsOf(hub, result)).toEqual([]);
});

test('what fill throws is thrown, and nothing is appended', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const fail = () => {
    throw new Error('mine');
  };
  expect(() => partition.append({ acks: 'flushed' }, fail)).toThrow('mine');
  expect(() => hub.publish(partition, fail)).toThrow('mine');
  expect(baseOffsetOf(await append(partition, 'a'))).toBe(0);
});

test('an append answers as its acks ask, with its offset', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const results = (['none', 'written', 'flushed'] as const).map((acks) =>
    partition.append({ acks }, (writer) => writeText(writer, acks)),
  );
  expect(results.map(baseOffsetOf)).toEqual([0, 1, 2]);
  expect(await Promise.all(results.map(acknowledgedOf))).toEqual([{}, {}, {}]);
  expect(await readTexts(hub, partition)).toEqual(['none', 'written', 'flushed']);
});

test.each(['written', 'flushed'] as const)('appends %s in one tick share their promise', async (acks) => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const appended = (text: string) => partition.append({ acks }, (writer) => writeText(writer, text));
  const shared = ['a', 'b', 'c'].map((text) => acknowledgedOf(appended(text)));
  expect(new Set(shared).size).toBe(1);
  expect(await shared[0]).toEqual({});
  expect(acknowledgedOf(appended('d'))).not.toBe(shared[0]);
});

test('an append for another leader epoch is refused', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const first = await createPartition(hub, 't');
  const options = { acks: 'flushed', leaderEpoch: first.leaderEpoch + 1 } as const;
  const result = first.append(options, (writer) => writeText(writer, 'a'));
  expect(result).toMatchObject({ refused: 'unknown-epoch' });
});

test('records published in one tick share their promise, and are stored in order', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const publish = (text: string) => hub.publish(partition, (writer) => writeText(writer, text));
  const promises = ['a', 'b', 'c'].map(publish);
  expect(new Set(promises).size).toBe(1);
  expect(await promises[0]).toEqual({});
  expect(publish('d')).not.toBe(promises[0]);
  await publish('e');
  expect(await readTexts(hub, partition)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a failed flush is a refusal for everyone it was for, and the records stay invisible', async () => {
  const faulty = new FaultyFileSystem();
  const { hub } = await openTestHub(temporaryDirectory(), { fileSystem: faulty.fileSystem });
  const partition = await createPartition(hub, 't');
  await append(partition, 'a');
  faulty.failFlushes = true;
  const results = await Promise.all([
    append(partition, 'b'),
    hub.publish(partition, (writer) => writeText(writer, 'c')),
  ]);
  expect(results).toMatchObject([{ refused: 'storage' }, { refused: 'storage' }]);
  faulty.failFlushes = false;
  expect(await append(partition, 'd')).toMatchObject({ refused: 'storage' });
  expect(await readTexts(hub, partition)).toEqual(['a']);
  expect(hub.faults()).toEqual([expect.stringContaining('partition t-0 takes no appends')]);
});

test('with flush.messages above 1 all are acknowledged, and records seen, when they are written', async () => {
  const faulty = new FaultyFileSystem();
  const { hub, store } = await openTestHub(temporaryDirectory(), {
    fileSystem: faulty.fileSystem,
    topics: { config: { 'flush.messages': '1000000', 'flush.ms': '3600000' } },
  });
  const partition = await createPartition(hub, 't');
  faulty.failFlushes = true;
  expect(await append(partition, 'a')).toMatchObject({ baseOffset: 0 });
  const published = await hub.publish(partition, (writer) => writeText(writer, 'b'));
  expect(published.refused).toBeUndefined();
  expect(await readTexts(hub, partition)).toEqual(['a', 'b']);
  expect([store.counters.flushes, partition.highWatermark]).toEqual([0, 2]);
  faulty.failFlushes = false;
});

test("the logs of the hub's own topics take no appends from front ends", async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  await hub.stateTable({ topic: '__consumer_offsets', apply: () => undefined });
  const partition = hub.topics.partition('__consumer_offsets', 0)!;
  expect(await append(partition, 'a')).toMatchObject({ refused: 'unknown-topic' });
  const published = await hub.publish(partition, (writer) => writeText(writer, 'a'));
  expect(published).toMatchObject({ refused: 'unknown-topic' });
  expect(partition.logEndOffset).toBe(0);
});

test('offsets are found by time, below the bound', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const { partitions } = await createTopic(hub, 't');
  const partition = partitions[0]!;
  const value = Buffer.from('x');
  const appended = partition.append({ acks: 'flushed' }, (writer) => {
    for (const timestampMs of [1000, 3000, 2000]) {
      writer.startRecord(timestampMs, value, -1, -1, 0);
      writer.endRecord(value, 0, 1, null);
    }
  });
  await acknowledgedOf(appended);
  expect(await partition.offsetForTime(1500, 'highWatermark')).toMatchObject({
    offset: 1,
    timestampMs: 3000,
  });
  expect(await partition.offsetForTime(3001, 'highWatermark')).toBeUndefined();
  expect(await partition.offsetOfMaxTimestamp('highWatermark')).toMatchObject({ offset: 1 });
});
