// Reads of logs that compaction has been at: records are missing within batches, batches between batches, and some
// batches have no record left. Against a model that knows which batches there are.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchCompactor } from '../../storage/batch-compactor.ts';
import { BatchCursor, type RecordRange } from '../../storage/batch-cursor.ts';
import type { PartitionLog } from '../../storage/partition-log.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  recordsOf,
} from '../helpers/store-fixture.ts';

const DIRECTORY = '/data/topics/events/0';

/** What becomes of a record, and of a batch that has none left. */
const batch = fc.record({
  kept: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
  staysWhenEmpty: fc.boolean(),
  valueBytes: fc.integer({ min: 0, max: 400 }),
});

const logs = fc.record({
  compacted: fc.array(batch, { minLength: 1, maxLength: 40 }),
  fresh: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
  segmentBytes: fc.integer({ min: 200, max: 3000 }),
  indexIntervalBytes: fc.integer({ min: 1, max: 1500 }),
  tailCacheBytes: fc.constantFrom(0, 20_000),
  indexed: fc.boolean(),
});

type RandomLog = typeof logs extends fc.Arbitrary<infer Value> ? Value : never;

interface ModelBatch {
  readonly lastOffset: number;
  readonly byteLength: number;
  readonly offsets: readonly number[];
}

/** Timestamps of the records are their offsets, so that lookups by time have one answer. */
async function made(random: RandomLog): Promise<{ log: PartitionLog; model: ModelBatch[] }> {
  const { compacted, fresh, segmentBytes, indexed, ...options } = random;
  const files = new FaultyFileSystem(['/']);
  const index = new MemoryIndex();
  const config = logConfig({ segmentBytes });
  const open = () => openStore({ directory: '/data', fileSystem: files.process(), index, ...options });
  const before = await open();
  const written = await before.store.openPartition({ ...PARTITION, config });
  let offset = 0;
  for (const { kept, valueBytes } of compacted) {
    const values = kept.map(() => record('x'.repeat(valueBytes), offset++));
    await append(written, values).flushed;
  }
  await before.store.close();
  index.forgetAfter(0);
  const isKept = compacted.flatMap(({ kept }) => kept);
  const stays = compacted.flatMap(({ kept, staysWhenEmpty }) => kept.map(() => staysWhenEmpty));
  await compact(files, isKept, stays);

  const { store } = await open();
  const log = await store.openPartition({ ...PARTITION, leaderEpoch: 2, config });
  if (indexed) await log.offsetForTime(Number.MAX_SAFE_INTEGER, log.logEndOffset);
  for (const count of fresh) {
    await append(
      log,
      Array.from({ length: count }, (_, each) => record('fresh', log.logEndOffset + each)),
    ).flushed;
  }
  return { log, model: await modelOf(files) };
}

/** Rewrites all segments but the newest. The last batch of each stays, if only as an empty one. */
async function compact(
  files: FaultyFileSystem,
  isKept: readonly boolean[],
  stays: readonly boolean[],
): Promise<void> {
  const fileSystem = files.process();
  for (const path of (await segmentPaths(files)).slice(0, -1)) {
    const file = await fileSystem.open(path, 'write');
    const bytes = Buffer.alloc((await fileSystem.stat(path)).size);
    await file.read(bytes, 0, bytes.length, 0);
    const compactor = new BatchCompactor(Buffer.alloc(bytes.length));
    const cursor = new BatchCursor();
    cursor.reset({ bytes, start: 0, end: bytes.length, nextOffset: 0 });
    while (cursor.nextBatch()) {
      compactor.begin(cursor);
      while (cursor.nextRecord()) if (isKept[cursor.offset]) compactor.keep(cursor);
      const isLast = cursor.batchStart + cursor.batchByteLength === bytes.length;
      compactor.end(cursor, isLast || stays[cursor.batchBaseOffset] === true);
    }
    await file.truncate(compactor.length);
    await file.write(compactor.bytes, 0, compactor.length, 0);
    await file.datasync();
    await file.close();
  }
}

async function segmentPaths(files: FaultyFileSystem): Promise<string[]> {
  const names = await files.process().readdir(DIRECTORY);
  const segments = names.filter((name) => name.endsWith('.log')).sort();
  return segments.map((name) => `${DIRECTORY}/${name}`);
}

async function modelOf(files: FaultyFileSystem): Promise<ModelBatch[]> {
  const fileSystem = files.process();
  const model: ModelBatch[] = [];
  for (const path of await segmentPaths(files)) {
    const file = await fileSystem.open(path, 'read');
    const bytes = Buffer.alloc((await fileSystem.stat(path)).size);
    await file.read(bytes, 0, bytes.length, 0);
    model.push(...batchesOf({ bytes, start: 0, end: bytes.length, nextOffset: 0 }));
    await file.close();
  }
  return model;
}

function batchesOf(range: RecordRange): ModelBatch[] {
  const cursor = new BatchCursor();
  cursor.reset(range);
  const batches: ModelBatch[] = [];
  while (cursor.nextBatch()) {
    const offsets: number[] = [];
    while (cursor.nextRecord()) offsets.push(cursor.offset);
    batches.push({ lastOffset: cursor.batchLastOffset, byteLength: cursor.batchByteLength, offsets });
  }
  return batches;
}

describe('any compacted log', () => {
  it('is read batch by batch without a gap and without a repeat, from any offset to any bound', () =>
    fc.assert(
      fc.asyncProperty(
        logs,
        fc.nat(),
        fc.nat(),
        fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 6 }),
        async (random, a, b, limits) => {
          const { log, model } = await made(random);
          const ends = [0, ...model.map(({ lastOffset }) => lastOffset + 1)];
          const [from, bound] = [a % (log.logEndOffset + 1), ends[b % ends.length]!].sort(
            (x, y) => x - y,
          ) as [
            number,
            number, // as many as were sorted
          ];
          const expected = model.filter(({ lastOffset }) => lastOffset >= from && lastOffset < bound);
          let next = 0;
          let turn = 0;
          for (let offset = from; offset < bound; ) {
            const maxBytes = limits[turn++ % limits.length]!;
            const range = await log.read(offset, maxBytes, bound);
            const got = batchesOf(range);
            if (got.length === 0) break;
            expect(got).toEqual(expected.slice(next, next + got.length));
            if (got.length > 1) expect(range.end - range.start).toBeLessThanOrEqual(maxBytes);
            expect(range.nextOffset).toBe(got.at(-1)!.lastOffset + 1);
            offset = range.nextOffset;
            next += got.length;
            range.release?.();
          }
          expect(next).toBe(expected.length);
        },
      ),
      { numRuns: 60 },
    ));

  it('gives by time what a linear scan gives, and the largest time of all', () =>
    fc.assert(
      fc.asyncProperty(logs, fc.integer({ min: -1, max: 250 }), async (random, timestampMs) => {
        const { log, model } = await made(random);
        const offsets = model.flatMap((each) => each.offsets);
        const found = await log.offsetForTime(timestampMs, log.logEndOffset);
        expect(found?.offset).toBe(offsets.find((offset) => offset >= timestampMs));
        expect((await log.offsetOfMaxTimestamp(log.logEndOffset))?.offset).toBe(offsets.at(-1));
        expect(log.failed).toBeUndefined();
      }),
      { numRuns: 40 },
    ));
});

describe('a log with batches that have no record', () => {
  const emptied = (kept: boolean[][]) =>
    made({
      compacted: kept.map((each) => ({ kept: each, staysWhenEmpty: true, valueBytes: 100 })),
      fresh: [],
      segmentBytes: 300,
      indexIntervalBytes: 1,
      tailCacheBytes: 0,
      indexed: true,
    });

  it('moves a reader on where there is nothing else', async () => {
    const { log } = await emptied([[false], [false, false], [false], [true]]);
    const range = await log.read(0, 1, log.logEndOffset);
    expect(recordsOf(range)).toEqual([]);
    expect(range.end).toBeGreaterThan(range.start);
    expect(range.nextOffset).toBeGreaterThan(0);
    expect((await readAll(log)).map(({ offset }) => offset)).toEqual([4]);
  });

  it('is passed over by lookups by time', async () => {
    const { log } = await emptied([[true], [false], [false], [false, false], [true]]);
    expect((await log.offsetForTime(1, log.logEndOffset))?.offset).toBe(5);
    expect((await log.offsetForTime(-1, log.logEndOffset))?.offset).toBe(0);
  });
});
