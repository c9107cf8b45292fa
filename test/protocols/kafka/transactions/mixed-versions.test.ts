// A producer whose requests are now of one kind of clients and now of the other, as those of one that learns of
// transaction.version 2 on its way: whatever it is, what is committed is there once, and what is aborted never.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { committedRecords, decodeBatches } from '../../../crash/record-batches.ts';
import { openKafka, type TestKafka } from '../kafka-fixture.ts';
import { api, fetchOf } from '../kafka-requests.ts';
import { clientOn, TransactionalClient } from './transaction-client.ts';

const PARTITIONS = [0, 1];

let kafka: TestKafka;
let topics = 0;
beforeAll(async () => {
  kafka = await openKafka({});
});
afterAll(() => kafka.close());

const transactions = fc.array(
  fc.record({
    batches: fc.array(
      fc.record({
        partition: fc.constantFrom(...PARTITIONS),
        /** Below 12 the partition is added before; from 12 on it may be. */
        produce: fc.constantFrom(9, 11, 12),
        add: fc.constantFrom(0, 3, undefined),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    outcome: fc.constantFrom('commit' as const, 'abort' as const),
    endVersion: fc.constantFrom(3, 4, 5),
    isAskedAgain: fc.boolean(),
    isBegunAnew: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 1, maxLength: 12 },
);

/** Asked until it is not told to come again. */
async function patiently(ask: () => Promise<string>): Promise<string> {
  for (;;) {
    const told = await ask();
    if (told !== 'CONCURRENT_TRANSACTIONS') return told;
  }
}

async function committedCount(
  client: TransactionalClient,
  topic: string,
  partition: number,
): Promise<number> {
  let count = 0;
  for (let offset = 0; ; ) {
    const request = fetchOf(topic, offset, { partition, isolationLevel: 1 });
    const answer = await client.socket.ask(api.fetch, 11, request);
    const { lastStableOffset, highWatermark, records, abortedTransactions } =
      answer.responses[0]!.partitions[0]!; // of one partition
    expect(lastStableOffset).toBe(highWatermark);
    const batches = decodeBatches(records ?? Buffer.alloc(0));
    count += committedRecords(batches, abortedTransactions ?? [], offset).length;
    const last = batches.at(-1);
    if (last === undefined) return count;
    offset = last.nextOffset;
  }
}

test('requests of both kinds of clients on one transactional id', { timeout: 120_000 }, async () => {
  const { socket } = await clientOn(kafka);
  await fc.assert(
    fc.asyncProperty(transactions, async (program) => {
      const topic = `mixed-${topics++}`;
      await kafka.createTopic(topic, {}, PARTITIONS.length);
      const client = new TransactionalClient(socket, topic);
      expect(await client.init()).toBe('epoch 0');
      const expected = PARTITIONS.map(() => 0);
      let sequences = PARTITIONS.map(() => 0);
      for (const { batches, outcome, endVersion, isAskedAgain, isBegunAnew } of program) {
        const before = client.copy();
        if (isBegunAnew) expect(await client.init({ expected: true })).toMatch(/^epoch/);
        if (client.producerEpoch !== before.producerEpoch) sequences = PARTITIONS.map(() => 0);
        const asked = client.copy();
        const { producerEpoch } = asked;
        for (const { partition, produce, add } of batches) {
          const addVersion = produce < 12 ? (add ?? 3) : add;
          if (addVersion !== undefined)
            expect(await patiently(() => client.add(topic, [partition], addVersion))).toBe('NONE');
          const sequence = sequences[partition]!++; // one of the two
          expect(await patiently(() => client.produce(topic, sequence, produce, partition))).toBe('NONE');
        }
        const done = endVersion < 5 ? /^NONE$/ : /^epoch/;
        expect(await patiently(() => client.end(outcome, endVersion))).toMatch(done);
        if (isAskedAgain) expect(await patiently(() => asked.end(outcome, endVersion))).toMatch(done);
        if (client.producerEpoch !== producerEpoch) sequences = PARTITIONS.map(() => 0);
        if (outcome === 'commit') for (const { partition } of batches) expected[partition]! += 1; // as above
      }
      await client.completed();
      for (const partition of PARTITIONS)
        expect(await committedCount(client, topic, partition)).toBe(expected[partition]);
    }),
    { numRuns: 12 },
  );
});
