// Reads of records within bounds: of memory, of what is looked through, of what may be seen.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTRIBUTE, encodeAttributes } from '../../../protocols/mqtt/record-mapping.ts';
import { RecordFilter } from '../../../src/admin/record-filter.ts';
import { recordLines } from '../../../src/admin/record-lines.ts';
import { RecordMerge } from '../../../src/admin/record-merge.ts';
import { type ReadBudget, RecordSource } from '../../../src/admin/record-source.ts';
import { type AdminFixture, openAdmin } from './admin-fixture.ts';

/** A busy machine takes its time. */
const PATIENT = { timeout: 15_000 };

let admin: AdminFixture;
beforeAll(async () => {
  admin = await openAdmin();
});
afterAll(() => admin.close());

async function topic(name: string, partitions = 1): Promise<void> {
  await admin.hub.topics.create({ name, partitions, replicationFactor: 1, config: {} });
}

async function values(query: string): Promise<unknown[]> {
  const { text } = await admin.call(`/api/v1/topics/${query}`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { value?: unknown; end?: unknown });
  expect(lines.at(-1)).toMatchObject({ end: { next: null } });
  return lines.slice(0, -1).map(({ value }) => value);
}

/** Every read of a topic, through a merge of these bounds, until nothing is left. */
async function mergedAll(
  name: string,
  bounds: { readonly heldBytesMax: number; readonly bytesMax: number },
  contains?: string,
): Promise<{ readonly records: string[]; readonly heldBytes: number; readonly rounds: number }> {
  const { partitions } = admin.hub.topics.get(name)!;
  const records: string[] = [];
  let heldBytes = 0;
  let rounds = 0;
  let spans = partitions.map(({ partition, highWatermark }) => ({ partition, from: 0, to: highWatermark }));
  while (spans.length > 0) {
    rounds++;
    const budget: ReadBudget = { bytesLeft: bounds.bytesMax, heldBytes: 0, isGone: false };
    const filter = new RecordFilter(undefined, contains === undefined ? undefined : Buffer.from(contains));
    const shared = { upTo: 'highWatermark', filter, readBytes: 1, budget } as const;
    const sources = spans.map(
      (span) =>
        new RecordSource(partitions[span.partition]!, span, { ...shared, cursor: admin.hub.cursor() }),
    );
    const merge = new RecordMerge(sources, budget, bounds.heldBytesMax);
    await merge.open();
    for (let source = merge.current; source !== undefined; source = merge.current) {
      records.push(`${source.partition.partition}:${source.cursor.offset}`);
      heldBytes = Math.max(heldBytes, budget.heldBytes);
      await merge.next();
    }
    merge.close();
    expect(budget.heldBytes).toBe(0);
    spans = merge.places;
  }
  return { records, heldBytes, rounds };
}

describe('many partitions with large batches', () => {
  const ALL = { heldBytesMax: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY };
  beforeAll(async () => {
    await topic('large', 12);
    for (let partition = 0; partition < 12; partition++) {
      for (let batch = 0; batch < 3; batch++) {
        const timestampMs = batch * 100 + ((partition * 7) % 12);
        const value = Buffer.alloc(20_000, `${partition}-${batch} `);
        await admin.append('large', partition, [
          { timestampMs, value },
          { timestampMs: timestampMs + 50, value },
        ]);
      }
    }
  });

  it('come in the same order in little memory as in much', async () => {
    const { records, heldBytes } = await mergedAll('large', ALL);
    expect(new Set(records).size).toBe(72);
    expect(heldBytes).toBeGreaterThan(12 * 40_000);
    const little = await mergedAll('large', { ...ALL, heldBytesMax: 100_000 });
    expect(little.records).toEqual(records);
    expect(little.heldBytes).toBeLessThan(200_000);
  });

  it('are looked through in as many goes as the bound makes, each record once', async () => {
    const { records } = await mergedAll('large', ALL);
    const goes = await mergedAll('large', { heldBytesMax: 100_000, bytesMax: 500_000 });
    expect(goes.records).toEqual(records);
    expect(goes.rounds).toBeGreaterThan(2);
    const search = await mergedAll('large', { heldBytesMax: 100_000, bytesMax: 200_000 }, '7-1 ');
    expect(search.records).toEqual(['7:2', '7:3']);
    expect(search.rounds).toBeGreaterThan(2);
  });
});

describe('transactions', () => {
  it('what is open or void is not shown, unless it is asked for; either way the read ends', async () => {
    await topic('bank');
    const partition = admin.hub.topics.partition('bank', 0)!;
    const write = async (producerId: number, value: string): Promise<void> => {
      const bytes = Buffer.from(value);
      const options = { producerId, producerEpoch: 0, baseSequence: 0, recordCount: 1, transactional: true };
      const appended = partition.append({ acks: 'flushed', ...options }, (writer) => {
        writer.startRecord(1, bytes, -1, -1, 0);
        writer.endRecord(bytes, 0, bytes.length, null);
      });
      expect(appended.refused ?? (await appended.acknowledged).refused).toBeUndefined();
    };
    const end = (producerId: number, outcome: 'commit' | 'abort') =>
      partition.endTransaction({ producerId, producerEpoch: 0, outcome, coordinatorEpoch: 1 });
    await write(1, 'committed');
    await write(2, 'void');
    await end(1, 'commit');
    await end(2, 'abort');
    await write(3, 'open');
    await admin.append('bank', 0, [{ value: 'after', timestampMs: 1 }]);
    expect(await values('bank/records')).toEqual(['committed']);
    expect(await values('bank/records?isolation=read_uncommitted')).toEqual([
      'committed',
      'void',
      'open',
      'after',
    ]);
    expect((await admin.call('/api/v1/topics/bank/records/0/2')).body).toMatchObject({
      error: { code: 'not_found' },
    });
    expect((await admin.call('/api/v1/topics/bank/records/0/1?valueEncoding=utf8')).body).toMatchObject({
      ...{ value: 'void', producerId: 2, producerEpoch: 0, sequence: 0, transactional: true },
      batch: { baseOffset: 1, lastOffset: 1, records: 1 },
    });
  });
});

it('records that are deleted between two pages are not waited for', async () => {
  await topic('overtaken');
  await admin.append(
    'overtaken',
    0,
    Array.from({ length: 10 }, (_, index) => ({ value: `${index}` })),
  );
  const { text } = await admin.call('/api/v1/topics/overtaken/records?limit=1');
  const { next } = (JSON.parse(text.split('\n')[1]!) as { end: { next: string } }).end;
  await admin.hub.topics.partition('overtaken', 0)!.deleteRecords(8);
  expect(await values(`overtaken/records?cursor=${next}`)).toEqual(['8', '9']);
  await admin.hub.topics.partition('overtaken', 0)!.deleteRecords(10);
  expect(await values(`overtaken/records?cursor=${next}`)).toEqual([]);
});

it('what was published by MQTT says so', async () => {
  await topic('told');
  const publish = {
    topic: Buffer.from('told/a b'),
    clientId: Buffer.from('c'),
    qos: 2,
    retain: true,
    packetId: 9,
  } as const;
  const attributes = Buffer.from(encodeAttributes(publish));
  expect(attributes.includes(ATTRIBUTE.PACKET_ID)).toBe(true);
  await admin.append('told', 0, [{ key: 'told/a b', value: 'x', attributes }]);
  const { text } = await admin.call('/api/v1/topics/told/records');
  expect(JSON.parse(text.split('\n')[0]!)).toMatchObject({
    mqtt: { topic: 'told/a b', clientId: 'c', qos: 2, retain: true },
  });
});

it('nothing is read ahead of a client that takes nothing', async () => {
  await topic('slow');
  const partition = admin.hub.topics.partition('slow', 0)!;
  for (let index = 0; index < 8; index++)
    await admin.append('slow', 0, [{ value: Buffer.alloc(300_000, 'x') }]);
  const budget: ReadBudget = { bytesLeft: 1e9, heldBytes: 0, isGone: false };
  const shared = { upTo: 'highWatermark', readBytes: 1, budget } as const;
  const filter = new RecordFilter(undefined, undefined);
  const source = new RecordSource(
    partition,
    { from: 0, to: 8 },
    { ...shared, filter, cursor: admin.hub.cursor() },
  );
  const merge = new RecordMerge([source], budget, 1e6);
  await merge.open();
  const lines = recordLines({
    ...{ topic: 'slow', topicId: 'id', merge, budget, bytesMax: 1e9, limit: Number.POSITIVE_INFINITY },
    ...{ shownAs: {}, counted: { recordsDelivered: 0 }, onFault: () => undefined },
  });
  const stream = Readable.from(lines, { objectMode: false });
  await once(stream, 'readable');
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(source.offset).toBeLessThan(4);
  expect(stream.readableLength).toBeLessThan(1_000_000);
  stream.destroy();
  await once(stream, 'close');
  await expect.poll(() => budget.heldBytes, PATIENT).toBe(0);
});

it('a client that goes ends what it asked for, also while nothing is found', async () => {
  await topic('endless');
  const partition = admin.hub.topics.partition('endless', 0)!;
  for (let index = 0; index < 8; index++)
    await admin.append('endless', 0, [{ value: Buffer.alloc(300_000, 'x') }]);
  let reads = 0;
  let letOn: (() => void) | undefined;
  const { read } = partition;
  partition.read = async (options) => {
    reads++;
    if (reads === 3) await new Promise<void>((resolve) => (letOn = resolve));
    return read.call(partition, options);
  };
  const connections = () => admin.broker.listeners()[0]!.connections;
  const client = connect(Number(new URL(admin.url).port), '127.0.0.1');
  client.write('GET /api/v1/topics/endless/records?contains=y HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await expect.poll(() => reads, PATIENT).toBe(3);
  const before = connections();
  client.destroy();
  await expect.poll(connections, PATIENT).toBeLessThan(before);
  letOn?.();
  await admin.call('/health/live');
  expect(reads).toBe(3);
  partition.read = read;
});
