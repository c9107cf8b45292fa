// Data directories of earlier versions: each is found without fault, opened, read whole, appended to, and found without
// fault again. They are copied first: opening changes them.
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { DEFAULT_LOG_CONFIG } from '../../storage/log-config.ts';
import type { LogStore } from '../../storage/log-store.ts';
import { openMetaStore } from '../../storage/meta-store.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { type FixtureRecord, readTruth, recordLine } from '../fixtures/truth.ts';
import { inspect } from '../helpers/inspect.ts';
import { append, openStore, record, withDirectory } from '../helpers/store-fixture.ts';

const root = join(import.meta.dirname, '../fixtures');
const fixtures = readdirSync(root)
  .filter((name) => name.startsWith('format-'))
  .flatMap((format) => readdirSync(join(root, format)).map((name) => `${format}/${name}`));

interface KnownTopic {
  readonly topicId: string;
  readonly logIds: readonly number[];
}

describe.each(fixtures)('the data directory %s', (name) => {
  const truth = readTruth(join(root, name));

  const withCopy = (use: (directory: string) => Promise<void>): Promise<void> =>
    withDirectory(async (directory) => {
      cpSync(join(root, name, 'directory'), directory, { recursive: true });
      await use(directory);
    });

  it('has nothing wrong', () =>
    withCopy(async (directory) => {
      expect((await inspect(directory)).errors).toEqual([]);
    }));

  it('gives every record back, takes appends, and has nothing wrong after it', () =>
    withCopy(async (directory) => {
      const topics = await topicsIn(directory);
      const { store, log } = await openStore({ directory, indexIntervalBytes: 512 });
      const opened = await openAll(store, topics);
      expect([...opened.keys()].sort()).toEqual(Object.keys(truth).sort());
      for (const [key, { logStart, logEnd, lines, producers = [] }] of Object.entries(truth)) {
        const partition = opened.get(key)!; // the keys are the same
        expect([partition.logStartOffset, partition.logEndOffset], key).toEqual([logStart, logEnd]);
        expect(await linesOf(partition), key).toEqual(lines);
        expect(partition.failed, key).toBeUndefined();
        for (const { baseOffset, recordCount, ...producer } of producers) {
          const again = Array.from({ length: recordCount }, () => record('sent again'));
          const { repeats } = append(partition, again, { ...producer, recordCount });
          expect(repeats?.baseOffset, `${key}, producer ${producer.producerId}`).toBe(baseOffset);
        }
        const more = append(partition, [record('from a later version')]);
        expect([more.baseOffset, await more.flushed], key).toEqual([logEnd, undefined]);
      }
      await store.maintain();
      await store.close();
      expect(log.events.filter(({ level }) => level === 'error')).toEqual([]);
      const after = await inspect(directory);
      expect(after.errors).toEqual([]);
      expect(after.warnings).toEqual([]);
    }));
});

it('the golden data directories are small', () => {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map((file) => readFileSync(join(file.parentPath, file.name)).length);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(300_000);
});

async function topicsIn(directory: string): Promise<Map<string, KnownTopic>> {
  const meta = await openMetaStore(join(directory, 'meta'));
  const topics = new Map<string, KnownTopic>();
  for (const { key, value } of await meta.list('topic/')) {
    topics.set(key.slice('topic/'.length), value as KnownTopic); // as the fixture's maker put it
  }
  await meta.close();
  return topics;
}

async function openAll(
  store: LogStore,
  topics: ReadonlyMap<string, KnownTopic>,
): Promise<Map<string, PartitionLog>> {
  const logs = new Map<string, PartitionLog>();
  for (const [topic, { topicId, logIds }] of topics) {
    for (const [partition, logId] of logIds.entries()) {
      const leaderEpoch = 1 + (await store.diskLeaderEpoch(topic, topicId, partition));
      const options = { topic, topicId, partition, logId, leaderEpoch, config: DEFAULT_LOG_CONFIG };
      logs.set(`${topic}:${partition}`, await store.openPartition(options));
    }
  }
  return logs;
}

/** The records, in ranges of one batch, as the file beside the fixture has them. */
async function linesOf(log: PartitionLog): Promise<string[]> {
  const lines: string[] = [];
  const cursor = new BatchCursor();
  for (let offset = log.logStartOffset; offset < log.logEndOffset; ) {
    const range = await log.read(offset, 1, log.logEndOffset);
    cursor.reset(range);
    while (cursor.nextBatch()) {
      while (cursor.nextRecord()) if (cursor.offset >= offset) lines.push(recordLine(recordAt(cursor)));
    }
    offset = range.nextOffset;
    range.release?.();
  }
  return lines;
}

function recordAt(cursor: BatchCursor): FixtureRecord {
  const slice = (start: number, end: number): Buffer | null =>
    start < 0 ? null : Buffer.from(cursor.bytes.subarray(start, end));
  const pair = (): readonly [string, Buffer | null] => [
    cursor.bytes.toString('utf8', cursor.nameStart, cursor.nameEnd),
    slice(cursor.itemStart, cursor.itemEnd),
  ];
  const headers: (readonly [string, Buffer | null])[] = [];
  while (cursor.nextHeader()) headers.push(pair());
  const attributes: (readonly [string, Buffer | null])[] = [];
  while (cursor.nextAttribute()) attributes.push(pair());
  return {
    offset: cursor.offset,
    timestampMs: cursor.timestampMs,
    key: slice(cursor.keyStart, cursor.keyEnd),
    value: slice(cursor.valueStart, cursor.valueEnd),
    headers,
    attributes,
  };
}
