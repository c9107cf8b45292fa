// Transactions in a partition as front ends see them: what is refused, what ends one, and who is given what.
import { expect, test } from 'vitest';
import type { Partition, Visibility } from '../../../protocols/port.ts';
import type { LocalHub } from '../../../src/hub/hub.ts';
import {
  copyAsIfKilled,
  createPartition,
  openTestHub,
  temporaryDirectory,
  textsOf,
  writeText,
} from './hub-fixture.ts';

/** Code of the refusal, or base offset. */
function send(partition: Partition, text: string, sequence: number, producerId = 1, transactional = true) {
  const result = partition.append(
    { acks: 'flushed', producerId, producerEpoch: 0, baseSequence: sequence, recordCount: 1, transactional },
    (writer) => writeText(writer, text),
  );
  return result.refused ?? result.baseOffset;
}

const end = (
  partition: Partition,
  outcome: 'commit' | 'abort',
  producerId = 1,
  producerEpoch = 0,
  coordinatorEpoch = 4,
) => partition.endTransaction({ producerId, producerEpoch, outcome, coordinatorEpoch });

/** What a follower is given, until it has been given the text `last`. */
function followed(hub: LocalHub, partition: Partition, visibility: 'lastStable' | 'highWatermark') {
  return new Promise<string[]>((resolve) => {
    const texts: string[] = [];
    const following = hub.follow(partition, {
      fromOffset: 0,
      visibility,
      onRange: (range) => {
        texts.push(...textsOf(hub, range));
        if (texts.at(-1) !== 'last') return;
        following.close();
        resolve(texts);
      },
    });
  });
}

test('who follows what is stable is given committed records alone, in order, the others all but the ends', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  const stable = followed(hub, partition, 'lastStable');
  const all = followed(hub, partition, 'highWatermark');
  send(partition, 'void', 0, 1);
  send(partition, 'good', 0, 2);
  await end(partition, 'commit', 2);
  expect(partition.lastStableOffset).toBe(0);
  expect(await end(partition, 'abort', 1)).toEqual({});
  expect(partition.lastStableOffset).toBe(4);
  partition.append({ acks: 'flushed' }, (writer) => writeText(writer, 'last'));
  expect(await stable).toEqual(['good', 'last']);
  expect(await all).toEqual(['void', 'good', 'last']);
});

test('a batch outside of the open transaction of its producer is refused', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  expect(send(partition, 'a', 0)).toBe(0);
  expect(partition.transactionStart(1)).toBe(0);
  expect(send(partition, 'b', 1, 1, false)).toBe('invalid-transaction');
  await end(partition, 'commit');
  expect(partition.transactionStart(1)).toBe(-1);
  expect(send(partition, 'b', 1, 1, false)).toBe(2);
});

test('an end without a transaction raises the epoch, and a lower epoch is refused from then on', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  expect(await end(partition, 'abort', 9, 3)).toEqual({});
  expect(partition.producers()).toMatchObject([{ producerId: 9, producerEpoch: 3, coordinatorEpoch: 4 }]);
  expect(await end(partition, 'commit', 9, 2)).toMatchObject({ refused: 'fenced-producer' });
  expect(send(partition, 'a', 0, 9)).toBe('fenced-producer');
});

test('a coordinator of the past ends nothing: the log knows who ended a transaction last, after a start too', async () => {
  const directory = temporaryDirectory();
  const { hub } = await openTestHub(directory);
  const partition = await createPartition(hub, 't');
  send(partition, 'a', 0);
  await end(partition, 'commit');
  send(partition, 'b', 1);
  const { logEndOffset } = partition;
  expect(await end(partition, 'commit', 1, 0, 3)).toMatchObject({ refused: 'fenced-coordinator' });
  // A higher epoch of the producer changes nothing about that.
  expect(await end(partition, 'commit', 1, 1, 3)).toMatchObject({ refused: 'fenced-coordinator' });
  expect(partition.logEndOffset).toBe(logEndOffset);
  const reopened = (await openTestHub(copyAsIfKilled(directory))).hub.topics.partition('t', 0)!;
  expect(await end(reopened, 'commit', 1, 0, 3)).toMatchObject({ refused: 'fenced-coordinator' });
  expect(await end(reopened, 'abort', 1, 0, 5)).toEqual({});
});

test('a producer whose epoch is raised has no last sequence; one that keeps it has', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  send(partition, 'a', 0);
  await end(partition, 'commit');
  expect(partition.producers()).toMatchObject([{ lastSequence: 0 }]);
  await end(partition, 'abort', 1, 7);
  expect(partition.producers()).toMatchObject([{ producerEpoch: 7, lastSequence: -1 }]);
  expect(send(partition, 'b', 1, 1)).toBe('fenced-producer');
});

test('an end is on disk when it resolves, though records need not be', async () => {
  const directory = temporaryDirectory();
  const { hub } = await openTestHub(directory);
  const config = { 'flush.messages': '1000' };
  await hub.topics.create({ name: 't', partitions: 1, replicationFactor: -1, config });
  const partition = hub.topics.partition('t', 0)!;
  send(partition, 'a', 0);
  await end(partition, 'commit');
  expect(partition.log?.flushedOffset).toBe(2);
  const killed = await openTestHub(copyAsIfKilled(directory));
  const reopened = killed.hub.topics.partition('t', 0)!;
  expect(reopened.lastStableOffset).toBe(2);
  expect(reopened.producers()).toMatchObject([{ coordinatorEpoch: 4, transactionStartOffset: -1 }]);
});

test('when the beginning of an open transaction is deleted, what is stable ends where the log begins', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  const partition = await createPartition(hub, 't');
  for (let sequence = 0; sequence < 3; sequence++) send(partition, 'a', sequence);
  await end(partition, 'commit', 2);
  await partition.deleteRecords(2);
  expect([partition.logStartOffset, partition.lastStableOffset]).toEqual([2, 2]);
  const read = (offset: number, upTo: Visibility) => partition.read({ offset, maxBytes: 1000, upTo });
  expect(await read(2, 'lastStable')).toMatchObject({ start: 0, end: 0, nextOffset: 2 });
  await end(partition, 'abort');
  expect(partition.lastStableOffset).toBe(5);
  expect(await read(2, 'lastStable')).toMatchObject({
    aborted: [{ producerId: 1, firstOffset: 0, lastOffset: 4 }],
  });
});

test('an internal topic takes no ends', async () => {
  const { hub } = await openTestHub(temporaryDirectory());
  await hub.stateTable({ topic: '__consumer_offsets', apply: () => {} });
  const partition = hub.topics.partition('__consumer_offsets', 0)!;
  expect(await end(partition, 'commit')).toMatchObject({ refused: 'unknown-topic' });
});
