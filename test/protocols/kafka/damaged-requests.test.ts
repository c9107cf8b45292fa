// Kafka's own request bytes of every version that is served, as they are and damaged: each is answered or closes its
// connection, and nothing that was not foreseen happens inside the hub.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fc } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { APIS } from '../../../protocols/kafka/apis.ts';
import { type KafkaSocket, openTestKafka, type TestKafka } from './kafka-fixture.ts';
import { api, metadataOf } from './kafka-requests.ts';

interface Vector {
  readonly key: number;
  readonly message: string;
  readonly version: number;
  readonly fill: string;
  readonly flexible: boolean;
  readonly hex: string;
}

const golden = path.join(import.meta.dirname, '../../golden/kafka');

/** Requests with every field set, and with none, whole with their headers. */
const requests: readonly Buffer[] = readdirSync(golden)
  .filter((name) => /^\d\d-/.test(name))
  .flatMap((name) => readFileSync(path.join(golden, name), 'utf8').trim().split('\n'))
  .map((line) => JSON.parse(line) as Vector)
  .filter(({ message }) => message.endsWith('Request'))
  .filter(({ key, version }) =>
    APIS.some((each) => each.key === key && version >= each.min && version <= each.max),
  )
  .map(({ key, version, flexible, hex }) => {
    const header = Buffer.from(`0000000000000001ffff${flexible ? '00' : ''}`, 'hex');
    header.writeInt16BE(key, 0);
    header.writeInt16BE(version, 2);
    return Buffer.concat([header, Buffer.from(hex, 'hex')]);
  });

/** Sends one request; resolves when it is answered, or closed its connection, or others are served past it: it waits. */
async function send(kafka: TestKafka, other: KafkaSocket, request: Buffer): Promise<void> {
  const client = await kafka.connect();
  const length = Buffer.alloc(4);
  length.writeInt32BE(request.length);
  const answered = client.answerRaw();
  client.socket.write(Buffer.concat([length, request]));
  const isServed = async (): Promise<void> => {
    for (let round = 0; round < 5; round++) await other.ask(api.metadata, 1, metadataOf());
  };
  await Promise.race([answered, client.closed, isServed()]);
  client.socket.destroy();
}

test('whole requests of every version', async () => {
  const kafka = await openTestKafka({ fetchMaxWaitMs: 1 });
  expect(requests.length).toBeGreaterThan(200);
  const other = await kafka.connect();
  for (const request of requests) await send(kafka, other, request);
  await other.ask(api.metadata, 1, metadataOf());
  expect(kafka.log.events('error')).toEqual([]);
});

test('damaged requests', async () => {
  const kafka = await openTestKafka({ fetchMaxWaitMs: 1, groupsMax: 100 });
  const other = await kafka.connect();
  const damaged = fc.record({
    index: fc.nat(requests.length - 1),
    flips: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }),
    cut: fc.option(fc.nat()),
  });
  await fc.assert(
    fc.asyncProperty(damaged, async ({ index, flips, cut }) => {
      const request = Buffer.from(requests[index]!);
      for (const [at, bits] of flips) request[10 + (at % (request.length - 10))]! ^= bits;
      await send(kafka, other, cut === null ? request : request.subarray(0, cut % request.length));
      expect(kafka.log.entries.filter(({ level }) => level === 'error')).toEqual([]);
    }),
    { numRuns: 300 },
  );
  await other.ask(api.metadata, 1, metadataOf());
});
