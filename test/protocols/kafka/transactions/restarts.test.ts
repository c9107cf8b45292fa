// A stop in every state of a transaction: what was decided is carried out by the next start, what was not is still open.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Partition } from '../../../../protocols/port.ts';
import { openTestKafka, type TestKafka } from '../kafka-fixture.ts';
import { clientOn, committedView, fetchOffset, type TransactionalClient } from './transaction-client.ts';

let directory: string;
let kafka: TestKafka;
let partition: Partition;
let producer: TransactionalClient;
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'polylog-transactions-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  kafka = await openTestKafka({ directory });
  partition = await kafka.createTopic('t');
  producer = await clientOn(kafka, 'id');
  await producer.init();
});

/** The same producer on the hub's next start. */
async function restarted(): Promise<TransactionalClient> {
  await kafka.close();
  kafka = await openTestKafka({ directory });
  const { producerId, producerEpoch } = producer;
  return Object.assign(await clientOn(kafka, 'id'), { producerId, producerEpoch });
}

/** From now on no marker can be written. */
function breakMarkers(): void {
  Object.assign(partition, { endTransaction: async () => ({ refused: 'storage', message: 'broken' }) });
}

test('empty: the producer goes on, also who did not hear of its epoch', async () => {
  const lost = producer.copy();
  await producer.init({ expected: true });
  const next = await restarted();
  expect((await next.described()).state).toBe('Empty');
  expect(await next.copy({ producerEpoch: lost.producerEpoch }).init({ expected: true })).toBe('epoch 1');
  expect(await next.produce('t', 0)).toBe('NONE');
});

test.each(['commit', 'abort'] as const)('ongoing: the producer goes on and can %s', async (outcome) => {
  await producer.produce('t', 0);
  await producer.commitOffset(7);
  const next = await restarted();
  expect((await next.described()).state).toBe('Ongoing');
  expect(await fetchOffset(next.socket)).toBe('UNSTABLE_OFFSET_COMMIT');
  expect(await next.produce('t', 1)).toBe('NONE');
  expect(await next.end(outcome)).toBe('epoch 1');
  await next.completed();
  expect(await committedView(next.socket, 't')).toMatchObject({
    ...{ lastStableOffset: 3, aborted: outcome === 'abort' ? 1 : 0 },
  });
  expect(await fetchOffset(next.socket)).toBe(outcome === 'commit' ? 7 : -1);
});

test.each([
  ['commit', 'PrepareCommit', 'CompleteCommit', 0, 7],
  ['abort', 'PrepareAbort', 'CompleteAbort', 1, -1],
] as const)(
  'prepared to %s: the next start writes the markers',
  async (outcome, before, after, aborted, offset) => {
    await producer.produce('t', 0);
    await producer.commitOffset(7);
    breakMarkers();
    const lost = producer.copy();
    expect(await producer.end(outcome)).toBe('epoch 1');
    expect((await producer.described()).state).toBe(before);
    const next = await restarted();
    expect(await next.completed()).toBe(after);
    expect(await committedView(next.socket, 't')).toEqual({ lastStableOffset: 2, highWatermark: 2, aborted });
    expect(await fetchOffset(next.socket)).toBe(offset);
    expect(await next.copy({ producerEpoch: lost.producerEpoch }).end(outcome)).toBe('epoch 1');
    expect(await next.produce('t', 0)).toBe('NONE');
  },
);

test('complete: an end that is asked for again succeeds, the other one does not', async () => {
  await producer.add('t');
  await producer.produce('t', 0, 11);
  await producer.end('commit', 4);
  await producer.completed();
  const next = await restarted();
  expect((await next.described()).state).toBe('CompleteCommit');
  expect(await next.end('commit', 4)).toBe('NONE');
  expect(await next.end('abort', 4)).toBe('INVALID_TXN_STATE');
  expect(await next.add('t')).toBe('NONE');
});

test('markers that were written before the stop end nothing twice', async () => {
  const other = await kafka.createTopic('u');
  Object.assign(other, { endTransaction: async () => ({ refused: 'storage', message: 'broken' }) });
  await producer.produce('t', 0);
  await producer.produce('u', 0);
  await producer.end('abort');
  while (partition.lastStableOffset < 2) await producer.described();
  const next = await restarted();
  expect(await next.completed()).toBe('CompleteAbort');
  for (const topic of ['t', 'u'])
    expect(await committedView(next.socket, topic)).toMatchObject({ aborted: 1 });
});
