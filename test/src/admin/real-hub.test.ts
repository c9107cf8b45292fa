// The admin API before a real hub on a real store: what it says agrees with what was written.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Log } from '../../../protocols/port.ts';
import { startAdmin } from '../../../src/admin/start-admin.ts';
import { startBroker } from '../../../src/broker.ts';
import type { Broker } from '../../../src/running-broker.ts';
import { sound } from '../config/fixtures.ts';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const FIRST_MS = Date.parse('2026-09-01T00:00:00Z');

let directory: string;
let broker: Broker;
let url: string;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-admin-'));
  const listener = '[[listener]]\nname = "admin"\nprotocol = "http"\nbind = "127.0.0.1:0"\n';
  const config = sound(
    `${listener}[server]\ndata_dir = "${directory}"\n[[topic]]\nname = "many"\npartitions = 100\n`,
  );
  broker = await startBroker(config.broker, SILENT, {
    startAdmin: (target, listeners) => startAdmin({ target, listeners, version: '0', log: SILENT }),
  });
  url = `http://127.0.0.1:${broker.listeners()[0]!.port}`;
});

afterAll(async () => {
  await broker.stop();
  await rm(directory, { recursive: true });
});

async function append(topic: string, partition: number, timestampsMs: readonly number[]): Promise<void> {
  const handle = broker.hub.topics.partition(topic, partition)!;
  const value = Buffer.from('value');
  const appended = handle.append({ acks: 'flushed' }, (writer) => {
    for (const timestampMs of timestampsMs) {
      writer.startRecord(timestampMs, value, -1, -1, 0);
      writer.endRecord(value, 0, value.length, null);
    }
  });
  expect(appended.refused ?? (await appended.acknowledged).refused).toBeUndefined();
}

async function offsets(topic: string, at: string, partition = 0): Promise<unknown> {
  const answer = await fetch(`${url}/api/v1/topics/${topic}/offsets?partition=${partition}&at=${at}`);
  return ((await answer.json()) as { partitions: { at: unknown }[] }).partitions[0]?.at;
}

it('finds the first record at or after a time, inside a batch and across batches', async () => {
  await broker.hub.topics.ensure('times');
  await append('times', 0, [FIRST_MS, FIRST_MS + 10, FIRST_MS + 20]);
  await append('times', 0, [FIRST_MS + 30, FIRST_MS + 5]);
  expect(
    await offsets(
      'times',
      `earliest,latest,max-timestamp,2026-09-01T00:00:00.011Z,${FIRST_MS + 30},2026-09-01T00:00:01Z`,
    ),
  ).toEqual([
    { query: 'earliest', timestampMs: null, offset: 0, recordTimestampMs: null, reason: 'found' },
    { query: 'latest', timestampMs: null, offset: 5, recordTimestampMs: null, reason: 'end' },
    {
      query: 'max-timestamp',
      timestampMs: null,
      offset: 3,
      recordTimestampMs: FIRST_MS + 30,
      reason: 'found',
    },
    {
      query: '2026-09-01T00:00:00.011Z',
      timestampMs: FIRST_MS + 11,
      offset: 2,
      recordTimestampMs: FIRST_MS + 20,
      reason: 'found',
    },
    {
      query: `${FIRST_MS + 30}`,
      timestampMs: FIRST_MS + 30,
      offset: 3,
      recordTimestampMs: FIRST_MS + 30,
      reason: 'found',
    },
    {
      query: '2026-09-01T00:00:01Z',
      timestampMs: FIRST_MS + 1000,
      offset: 5,
      recordTimestampMs: null,
      reason: 'end',
    },
  ]);
});

it('answers for all partitions of a topic at once', async () => {
  await append('many', 42, [FIRST_MS]);
  const answer = await fetch(`${url}/api/v1/topics/many/offsets?at=earliest,latest,2026-01-01T00:00:00Z`);
  const { partitions } = (await answer.json()) as {
    partitions: { partition: number; at: { offset: number; reason: string }[] }[];
  };
  expect(partitions).toHaveLength(100);
  for (const { partition, at } of partitions) {
    const found = partition === 42;
    expect(at.map(({ offset }) => offset)).toEqual([0, found ? 1 : 0, 0]);
    expect(at.map(({ reason }) => reason)).toEqual([found ? 'found' : 'end', 'end', found ? 'found' : 'end']);
  }
});

it('is ready, and lists what the configuration declared', async () => {
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  const { items } = (await (await fetch(`${url}/api/v1/topics`)).json()) as {
    items: { topic: string; partitions: number }[];
  };
  expect(items.map(({ topic, partitions }) => [topic, partitions])).toEqual([
    ['many', 100],
    ['times', 1],
  ]);
});
