// The offline tools on logs that are right, damaged, badly written, or lack something; and the cut. What the commands
// print of it is in test/src/cli/log.test.ts.
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StorageError } from '../../storage/errors.ts';
import type { FileSystem, OpenFile } from '../../storage/file-system.ts';
import { nodeFileSystem } from '../../storage/file-system.ts';
import * as frame from '../../storage/frame.ts';
import { cutLog, planCut } from '../../storage/inspection-cut.ts';
import { dumpFrames } from '../../storage/inspection-dump.ts';
import { type Finding, Findings, noTotals } from '../../storage/inspection-findings.ts';
import type { InspectedIndex } from '../../storage/inspection-index.ts';
import { findInspectionTarget, parseLogSelection } from '../../storage/inspection-targets.ts';
import { verifyLog } from '../../storage/inspection-verify.ts';
import { DEFAULT_LOG_CONFIG } from '../../storage/log-config.ts';
import { indexKey, SPACE_OFFSETS, SPACE_SUMMARIES, SPACE_TIMES } from '../../storage/offset-index.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';
import {
  append,
  codeOf,
  MemoryIndex,
  openStore,
  PARTITION,
  readAll,
  record,
  valuesOf,
  withDirectory,
} from '../helpers/store-fixture.ts';

const config = { ...DEFAULT_LOG_CONFIG, segmentBytes: 700 };
const logOf = (directory: string): string => join(directory, 'topics', PARTITION.topic, '0');

let template: string;
const templateIndex = new MemoryIndex();

/** Two openings of batches of one to three records, in segments of 700 bytes; closed by a clean stop. */
beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'polylog-inspection-'));
  for (const leaderEpoch of [1, 2]) {
    const { store } = await openStore({ directory: template, index: templateIndex, indexIntervalBytes: 100 });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch, config });
    for (let batch = 0; batch < 8; batch++) {
      const records = Array.from({ length: 1 + (batch % 3) }, (_, n) =>
        record(`epoch ${leaderEpoch} batch ${batch} record ${n}`, 1000 * leaderEpoch + batch * 10 - n),
      );
      await append(log, records).flushed;
    }
    await store.close();
  }
});
afterAll(() => rmSync(template, { recursive: true }));

/** A copy of it, to spoil. */
async function fill(directory: string): Promise<MemoryIndex> {
  cpSync(template, directory, { recursive: true });
  const index = new MemoryIndex();
  await index.put(templateIndex.rows());
  return index;
}

/** The log's files at their paths, where changing one a thousand times is cheap. */
function inMemory(directory: string): FaultyFileSystem {
  const log = logOf(directory);
  const files = new FaultyFileSystem([log]);
  for (const name of readdirSync(log)) files.overwrite(join(log, name), readFileSync(join(log, name)));
  return files;
}

async function verify(
  directory: string,
  database?: MemoryIndex,
  compacts = false,
  fileSystem = nodeFileSystem,
): Promise<Finding[]> {
  const found: Finding[] = [];
  const index: InspectedIndex | undefined = database && { database, logId: PARTITION.logId };
  const options = { fileSystem, directory: logOf(directory), index, compacts };
  await verifyLog(options, new Findings((finding) => found.push(finding)), noTotals());
  return found;
}

const codes = (found: readonly Finding[]): string[] => [...new Set(found.map(({ code }) => code))];
const errors = (found: readonly Finding[]): Finding[] => found.filter(({ severity }) => severity === 'error');

const segments = (directory: string): string[] =>
  readdirSync(logOf(directory))
    .filter((name) => name.endsWith('.log'))
    .sort((a, b) => a.slice(9).localeCompare(b.slice(9)))
    .map((name) => join(logOf(directory), name));

/** Values of the records that a dump of every file shows, and what it cannot read. */
async function dumpAll(
  files: readonly string[],
  fileSystem = nodeFileSystem,
): Promise<{ values: string[]; damages: number }> {
  const values: string[] = [];
  let damages = 0;
  for (const file of files) {
    for await (const each of dumpFrames(fileSystem, file, {
      fromOffset: 0,
      toOffset: Number.MAX_SAFE_INTEGER,
    })) {
      if (each.kind === 'damage') damages++;
      if (each.kind === 'record') values.push(each.value?.toString() ?? '');
    }
  }
  return { values, damages };
}

describe('a log without fault', () => {
  it('has nothing wrong, with its index or without', () =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      expect(await verify(directory, index)).toEqual([]);
      expect(await verify(directory)).toEqual([]);
      expect(await verify(directory, new MemoryIndex())).toEqual([]);
    }));

  it('lacks the small files without fault: they only help', () =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      for (const name of readdirSync(logOf(directory))) {
        if (!name.endsWith('.log')) rmSync(join(logOf(directory), name));
      }
      expect(await verify(directory, index)).toEqual([]);
    }));

  it('is dumped whole, in order', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const { store } = await openStore({ directory, index: new MemoryIndex() });
      const log = await store.openPartition({ ...PARTITION, leaderEpoch: 3, config });
      const expected = valuesOf(await readAll(log));
      await store.close();
      expect(await dumpAll(segments(directory))).toEqual({ values: expected, damages: 0 });
    }));

  it.each([
    [0, 3],
    [4, 5],
    [5, 20],
    [31, 32],
  ])('is dumped from offset %i to %i', (fromOffset, toOffset) =>
    withDirectory(async (directory) => {
      await fill(directory);
      const offsets: number[] = [];
      for (const file of segments(directory)) {
        for await (const each of dumpFrames(nodeFileSystem, file, { fromOffset, toOffset })) {
          if (each.kind === 'record') offsets.push(Number(each.offset));
        }
      }
      const expected = Array.from({ length: Math.min(toOffset, 30) - fromOffset }, (_, n) => fromOffset + n);
      expect(offsets).toEqual(fromOffset < 30 ? expected : []);
    }),
  );
});

/** All below `highWatermark` was on disk. */
function writeManifest(directory: string, highWatermark: number): void {
  const manifest = { formatVersion: 1, leaderEpoch: 2, highWatermark, logStartOffset: 0 };
  rmSync(join(logOf(directory), 'recovery-checkpoint.json'));
  writeFileSync(join(logOf(directory), 'manifest.json'), JSON.stringify(manifest));
}

describe('damage', () => {
  it('is told wherever one byte has changed, and no dump shows a record of it', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const [file = '', ...others] = segments(directory);
      for (const other of others) rmSync(other);
      const whole = (await dumpAll([file])).values;
      writeManifest(directory, whole.length);
      const original = readFileSync(file);
      const files = inMemory(directory);
      for (let at = 0; at < original.length; at++) {
        const changed = Buffer.from(original);
        changed[at]! ^= 1 << (at % 8);
        files.overwrite(file, changed);
        const found = await verify(directory, undefined, false, files.process());
        expect(codes(errors(found)), `byte ${at}`).toContain('damaged');
        const { values, damages } = await dumpAll([file], files.process());
        expect(damages, `byte ${at}`).toBe(1);
        expect(values.length, `byte ${at}`).toBeLessThan(whole.length);
        expect(whole, `byte ${at}`).toEqual(expect.arrayContaining(values));
      }
    }));

  it('at the end of the newest file is a torn end where nobody was promised it, else damage', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const newest = segments(directory).at(-1) ?? '';
      writeFileSync(newest, Buffer.concat([readFileSync(newest), Buffer.alloc(90, 1)]));
      const [torn, ...more] = await verify(directory);
      expect([torn?.severity, torn?.code, torn?.offset, more]).toEqual(['warning', 'torn-end', 30, []]);
      truncateSync(newest, readFileSync(newest).length - 100);
      expect(codes(errors(await verify(directory))).sort()).toEqual(['damaged', 'records-missing']);
      for (const name of ['manifest.json', 'recovery-checkpoint.json']) rmSync(join(logOf(directory), name));
      expect(errors(await verify(directory))).toEqual([]);
    }));

  it.each([
    ['the oldest', 0, ['records-missing']],
    ['one between', 1, ['hole']],
    ['the newest', -1, ['records-missing']],
  ])('a file that is missing: %s', (_which, place, expected) =>
    withDirectory(async (directory) => {
      await fill(directory);
      rmSync(segments(directory).at(place) ?? '');
      expect(codes(errors(await verify(directory)))).toEqual(expect.arrayContaining(expected));
    }),
  );

  it('two files of one offset, and epochs that go back, contradict each other', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const [first = '', second = ''] = segments(directory);
      cpSync(first, first.replace('00000001-', '00000002-'));
      expect(codes(errors(await verify(directory)))).toEqual(
        expect.arrayContaining(['order', 'leader-epoch']),
      );
      rmSync(first.replace('00000001-', '00000002-'));
      renameSync(first, first.replace('00000001-', '00000009-'));
      expect(codes(errors(await verify(directory)))).toEqual(
        expect.arrayContaining(['order', 'leader-epoch']),
      );
      expect(basename(second)).toMatch(/^00000001-/);
    }));

  it('of one thing a thousand times is told twenty times', () => {
    const found: Finding[] = [];
    const findings = new Findings((finding) => found.push(finding));
    for (let n = 0; n < 1000; n++) findings.error('index', { path: 'a', offset: n }, 'x');
    findings.error('index', { path: 'b' }, 'x');
    expect([findings.errors, found.length]).toEqual([1001, 22]);
  });
});

/** The batch of FORMAT.md's worked example, changed, under a right checksum. */
function batchWith(change: (bytes: Buffer) => void): Buffer {
  const page = readFileSync(join(import.meta.dirname, '../../storage/FORMAT.md'), 'utf8');
  const hex = /```hex\n([\s\S]*?)```/.exec(page)?.[1]?.replace(/;.*$/gm, '').replace(/\s/g, '') ?? '';
  const bytes = Buffer.from(hex, 'hex');
  change(bytes);
  const view = frame.viewOf(bytes);
  const length = frame.batchByteLengthAt(view, 0);
  view.setUint32(frame.BATCH_CHECKSUM_AT, frame.batchChecksum(bytes, view, 0, length));
  return bytes;
}

/** Record frames of the example. */
const FIRST = frame.BATCH_FRAME_BYTES;
const SECOND = FIRST + 24 + 26;
const THIRD = SECOND + 24 + 30;

describe('a batch that this program would not have written, under a right checksum', () => {
  it.each<[string, string, (bytes: Buffer) => void]>([
    ['another leader epoch', 'leader-epoch', (bytes) => bytes.writeUInt32BE(3, frame.BATCH_LEADER_EPOCH_AT)],
    ['an unknown attribute', 'batch', (bytes) => bytes.writeUInt16BE(9, frame.BATCH_ATTRIBUTES_AT)],
    ['half a producer', 'batch', (bytes) => bytes.writeInt16BE(-1, frame.BATCH_PRODUCER_EPOCH_AT)],
    ['more records than it says', 'batch', (bytes) => bytes.writeUInt32BE(2, frame.BATCH_RECORD_COUNT_AT)],
    ['fewer records than it says', 'batch', (bytes) => bytes.writeUInt32BE(4, frame.BATCH_RECORD_COUNT_AT)],
    ['another max timestamp', 'batch', (bytes) => bytes.writeUInt8(6, frame.BATCH_MAX_TIMESTAMP_AT + 7)],
    ['another first timestamp', 'batch', (bytes) => bytes.writeUInt8(6, frame.BATCH_FIRST_TIMESTAMP_AT + 7)],
    ['a record out of order', 'order', (bytes) => bytes.writeUInt8(7, SECOND + 7)],
    ['a base offset above its file', 'hole', () => {}],
    ['metadata longer than its frame', 'frame', (bytes) => bytes.writeUInt32BE(99, FIRST + 12)],
    ['a frame longer than the batch', 'frame', (bytes) => bytes.writeUInt32BE(999, THIRD + 8)],
    ['lengths that are not the sum', 'frame', (bytes) => bytes.writeUInt8(5, FIRST + 11)],
    ['flags that mean nothing', 'frame', (bytes) => bytes.writeUInt8(2, FIRST + 17)],
    ['a null value with bytes', 'frame', (bytes) => bytes.writeUInt8(1, FIRST + 17)],
    ['no array', 'frame', (bytes) => bytes.writeUInt8(0x93, FIRST + 16)],
    ['a timestamp of another type', 'frame', (bytes) => bytes.writeUInt8(0xcf, FIRST + 18)],
    ['a key of another type', 'frame', (bytes) => bytes.writeUInt8(0xa2, FIRST + 27)],
    ['a key that leads out', 'frame', (bytes) => bytes.writeUInt8(0xff, FIRST + 28)],
    ['a name without a value', 'frame', (bytes) => bytes.writeUInt8(0x91, FIRST + 31)],
    ['more headers than announced', 'frame', (bytes) => bytes.writeUInt8(0x90, FIRST + 31)],
    ['fewer headers than announced', 'frame', (bytes) => bytes.writeUInt8(0x94, FIRST + 31)],
    [
      'a long form of a short length',
      'frame',
      (bytes) => Buffer.from('d900c0', 'hex').copy(bytes, THIRD + 30),
    ],
    ['attributes that do not end', 'frame', (bytes) => bytes.writeUInt8(0x94, SECOND + 16 + 13 + 4)],
  ])('%s', (_title, code, change) =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory, index: new MemoryIndex() });
      await store.openPartition({ ...PARTITION, config });
      await store.close();
      const base = code === 'hole' ? '5' : '7';
      const file = join(logOf(directory), `00000002-${base.padStart(20, '0')}.log`);
      writeFileSync(file, batchWith(change));
      rmSync(join(logOf(directory), 'manifest.json'));
      expect(codes(errors(await verify(directory)))).toContain(code);
      expect(errors(await verify(directory, undefined, true)).length > 0).toBe(code !== 'hole');
      // Nothing that it says keeps the dump from its end.
      await dumpAll([file]);
    }),
  );

  it('of random bytes, is never a crash', async () => {
    await withDirectory(async (directory) => {
      const { store } = await openStore({ directory, index: new MemoryIndex() });
      await store.openPartition({ ...PARTITION, config });
      await store.close();
      const file = join(logOf(directory), `00000002-${'7'.padStart(20, '0')}.log`);
      rmSync(join(logOf(directory), 'manifest.json'));
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(fc.nat(226), fc.nat(255)), { maxLength: 6 }), async (changes) => {
          const bytes = batchWith((all) => {
            for (const [at, byte] of changes) if (at < 28 || at >= 32) all[at] = byte;
          });
          writeFileSync(file, bytes);
          await verify(directory);
          await dumpAll([file]);
        }),
        { numRuns: 200 },
      );
    });
  });
});

describe('small files that say what cannot be', () => {
  const put = (directory: string, name: string, content: unknown): void =>
    writeFileSync(
      join(logOf(directory), name),
      typeof content === 'string' ? content : JSON.stringify(content),
    );

  it.each<[string, string, unknown]>([
    ['manifest.json', 'small-file', 'not JSON'],
    ['manifest.json', 'small-file', { formatVersion: 1, leaderEpoch: 'two' }],
    ['manifest.json', 'format', { formatVersion: 2, leaderEpoch: 2, highWatermark: 30, logStartOffset: 0 }],
    [
      'manifest.json',
      'records-missing',
      { formatVersion: 1, leaderEpoch: 2, highWatermark: 31, logStartOffset: 0 },
    ],
    [
      'manifest.json',
      'small-file',
      { formatVersion: 1, leaderEpoch: 2, highWatermark: 30, logStartOffset: 31 },
    ],
    ['recovery-checkpoint.json', 'records-missing', { segmentBase: 15, bytePosition: 0, logEndOffset: 31 }],
    ['recovery-checkpoint.json', 'small-file', { segmentBase: -1, bytePosition: 0, logEndOffset: 30 }],
    ['leader-epochs.json', 'small-file', [[1, 0, 0]]],
    [
      'leader-epochs.json',
      'small-file',
      [
        [2, 15],
        [1, 0],
      ],
    ],
    [
      'leader-epochs.json',
      'small-file',
      [
        [1, 0],
        [2, 14],
      ],
    ],
  ])('%s: %s, %j', (name, code, content) =>
    withDirectory(async (directory) => {
      await fill(directory);
      put(directory, name, content);
      const found = await verify(directory);
      expect(codes(found)).toContain(code);
      expect(found.find((each) => each.code === code)?.path).toBe(join(logOf(directory), name));
    }),
  );

  it('a checkpoint between two batches', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const path = join(logOf(directory), 'recovery-checkpoint.json');
      const checkpoint = JSON.parse(readFileSync(path, 'utf8')) as { bytePosition: number };
      put(directory, 'recovery-checkpoint.json', {
        ...checkpoint,
        bytePosition: checkpoint.bytePosition - 1,
      });
      expect(codes(errors(await verify(directory)))).toEqual(['small-file']);
    }));

  it('an epoch without a file is right where retention or recovery took it', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      put(directory, 'leader-epochs.json', [
        [1, 0],
        [2, 15],
        [3, 30],
      ]);
      expect(await verify(directory)).toEqual([]);
    }));
});

describe('the index', () => {
  const NOW = Buffer.alloc(0);
  const put = (index: MemoryIndex, space: number, base: number, offset: number, value: Buffer) =>
    index.put([{ key: indexKey(space, PARTITION.logId, base, 0, offset), value }]);
  const entry = (delta: number, position: number, timestampMs: number): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32BE(delta, 0);
    bytes.writeUInt32BE(position, 4);
    bytes.writeBigInt64BE(BigInt(timestampMs), 8);
    return bytes;
  };

  it.each<[string, (index: MemoryIndex) => Promise<void>]>([
    ['an entry between two batches', (index) => put(index, SPACE_OFFSETS, 0, 3, entry(0, 5, 1010))],
    ['an entry behind the end', (index) => put(index, SPACE_OFFSETS, 0, 9, entry(0, 5000, 1010))],
    [
      'an entry at the start, where none belongs',
      (index) => put(index, SPACE_OFFSETS, 0, 1, entry(0, 0, 1010)),
    ],
    ['an entry of another offset', (index) => put(index, SPACE_OFFSETS, 0, 2, entry(0, 130, 1000))],
    ['a row of half an entry', (index) => put(index, SPACE_OFFSETS, 0, 2, Buffer.alloc(8))],
    ['a row of times that names no run', (index) => put(index, SPACE_TIMES, 0, 77, NOW)],
  ])('%s is told', (_title, spoil) =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      await spoil(index);
      expect(codes(errors(await verify(directory, index)))).toEqual(['index']);
    }),
  );

  it('each changed byte of an entry or a summary is told, or says nothing', () =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      const segmentBase = 0;
      for (const space of [SPACE_OFFSETS, SPACE_SUMMARIES]) {
        const row = await index.floor(
          indexKey(space, PARTITION.logId, segmentBase, 0, 0),
          indexKey(space, PARTITION.logId, segmentBase, 0xffffffff, 0xffffffff),
        );
        expect(row).toBeDefined();
        for (let at = 0; at < row!.value.length; at++) {
          const value = Buffer.from(row!.value);
          value[at]! ^= 1;
          await index.put([{ key: row!.key, value }]);
          const found = await verify(directory, index);
          // A summary of another size or end is that of another file: nobody uses it. Nor are its other fields ours.
          if (space === SPACE_SUMMARIES && (at < 16 || at >= 32)) expect(found, `byte ${at}`).toEqual([]);
          else expect(codes(errors(found)), `byte ${at}`).toEqual(['index']);
        }
        await index.put([row!]);
      }
    }));

  it('rows of a segment that is gone are left over', () =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      await put(index, SPACE_OFFSETS, 4000, 4001, entry(0, 5, 1010));
      const [found, ...more] = await verify(directory, index);
      expect([found?.severity, found?.code, found?.offset, more]).toEqual(['warning', 'left-over', 4000, []]);
    }));
});

describe('a cut', () => {
  /** Ends of batches: 1, 3, 6, 7, 9, 12, 13, 15 and so on. */
  const boundary = (offset: number): number => {
    const ends = [0];
    for (let batch = 0; ends.at(-1)! < 30; batch++) ends.push(ends.at(-1)! + 1 + ((batch % 8) % 3));
    return ends.filter((end) => end <= offset).at(-1) ?? 0;
  };

  const reopen = async (directory: string, index: MemoryIndex) => {
    const { store, log: events } = await openStore({ directory, index, indexIntervalBytes: 100 });
    const log = await store.openPartition({ ...PARTITION, leaderEpoch: 3, config });
    return { store, log, events };
  };

  it.each([0, 1, 2, 3, 8, 12, 13, 14, 15, 16, 25, 28, 29, 30])(
    'at offset %i leaves what is below',
    (offset) =>
      withDirectory(async (directory) => {
        const index = await fill(directory);
        const before = Buffer.concat(segments(directory).map((file) => readFileSync(file)));
        const expected = (await dumpAll(segments(directory))).values.slice(0, boundary(offset));
        const plan = await planCut(nodeFileSystem, logOf(directory), offset);
        expect(plan.endOffset).toBe(boundary(offset));
        expect(plan.cutBytes === 0).toBe(offset === 30);
        await cutLog(nodeFileSystem, plan, { database: index, logId: PARTITION.logId });
        expect(await verify(directory, index)).toEqual([]);
        const kept = segments(directory).map((file) => readFileSync(file));
        const cut = readdirSync(logOf(directory))
          .filter((name) => name.endsWith('.cut'))
          .sort((a, b) => a.slice(9).localeCompare(b.slice(9)))
          .map((name) => readFileSync(join(logOf(directory), name)));
        expect(Buffer.concat([...kept, ...cut]).equals(before)).toBe(true);

        const { store, log, events } = await reopen(directory, index);
        expect([log.logEndOffset, log.failed]).toEqual([boundary(offset), undefined]);
        expect(valuesOf(await readAll(log))).toEqual(expected);
        expect(events.events.filter(({ level }) => level !== 'info' && level !== 'debug')).toEqual([]);
        expect(await append(log, [record('goes on')]).flushed).toBeUndefined();
        expect(valuesOf(await readAll(log))).toEqual([...expected, 'goes on']);
        await store.close();
        expect(await verify(directory, index)).toEqual([]);
      }),
  );

  it('at a damaged batch lets the log take appends again; above it is refused with the place', () =>
    withDirectory(async (directory) => {
      const index = await fill(directory);
      const newest = segments(directory).at(-1) ?? '';
      const base = Number(/-0*(\d+)\.log$/.exec(newest)?.[1]);
      const bytes = readFileSync(newest);
      const at = frame.batchByteLengthAt(frame.viewOf(bytes), 0) + 90;
      bytes[at]! ^= 1;
      writeFileSync(newest, bytes);
      const damagedAt = frame.batchLastOffsetAt(frame.viewOf(bytes), 0) + 1;
      expect(damagedAt).toBeGreaterThan(base);
      await expect(planCut(nodeFileSystem, logOf(directory), damagedAt + 1)).rejects.toThrow(
        `--at ${damagedAt}`,
      );
      await cutLog(nodeFileSystem, await planCut(nodeFileSystem, logOf(directory), damagedAt), {
        database: index,
        logId: PARTITION.logId,
      });
      expect(await verify(directory, index)).toEqual([]);
      const { store, log } = await reopen(directory, index);
      expect([log.failed, log.logEndOffset]).toEqual([undefined, damagedAt]);
      await store.close();
    }));

  it('outside the log is refused', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      expect(await codeOf(planCut(nodeFileSystem, logOf(directory), 31))).toBe('offset-out-of-range');
      rmSync(segments(directory)[0] ?? '');
      rmSync(join(logOf(directory), 'manifest.json'));
      expect(await codeOf(planCut(nodeFileSystem, logOf(directory), 0))).toBe('offset-out-of-range');
      expect(await codeOf(planCut(nodeFileSystem, directory, 0))).toBe('offset-out-of-range');
    }));

  it('that fails anywhere leaves a log that opens, and can be made again', () =>
    withDirectory(async (parent) => {
      let stepsDone = false;
      for (let steps = 0; !stepsDone; steps++) {
        const directory = join(parent, String(steps));
        const index = await fill(directory);
        const plan = await planCut(nodeFileSystem, logOf(directory), 8);
        const rows = { database: index, logId: PARTITION.logId };
        const all = (await dumpAll(segments(directory))).values;
        const failed = await codeOf(cutLog(failingAfter(steps), plan, rows));
        stepsDone = failed === undefined;
        const { store, log } = await reopen(directory, index);
        const left = valuesOf(await readAll(log));
        expect(log.failed, `${steps} steps`).toBeUndefined();
        expect(all.slice(0, left.length), `${steps} steps`).toEqual(left);
        expect(left.length, `${steps} steps`).toBeGreaterThanOrEqual(7);
        await store.close();
        await cutLog(nodeFileSystem, await planCut(nodeFileSystem, logOf(directory), 7), rows);
        expect(await verify(directory, index), `${steps} steps`).toEqual([]);
      }
    }));
});

/** node's file system, of which everything that changes something fails after so many times. */
function failingAfter(steps: number): FileSystem {
  let left = steps;
  const step = async (change: () => Promise<void>): Promise<void> => {
    if (left-- <= 0) throw new StorageError('io', 'no more');
    await change();
  };
  return {
    ...nodeFileSystem,
    async open(path, mode): Promise<OpenFile> {
      if (mode === 'create') await step(async () => {});
      const file = await nodeFileSystem.open(path, mode);
      return {
        read: (into, at, length, position) => file.read(into, at, length, position),
        close: () => file.close(),
        datasync: () => step(() => file.datasync()),
        truncate: (size) => step(() => file.truncate(size)),
        write: (bytes, at, length, position) => step(() => file.write(bytes, at, length, position)),
      };
    },
    rename: (from, to) => step(() => nodeFileSystem.rename(from, to)),
    unlink: (path) => step(() => nodeFileSystem.unlink(path)),
    syncDirectory: (path) => step(() => nodeFileSystem.syncDirectory(path)),
  };
}

describe('what a path stands for', () => {
  test.prop([fc.string()])('a topic and a partition are read from any words, or not', (text) => {
    const parsed = parseLogSelection(text);
    if (parsed === undefined) return;
    const { topic, partition } = parsed;
    expect(partition === undefined ? topic : `${topic}:${partition}`.length <= text.length).toBeTruthy();
  });

  it('a data directory, a topic, a partition, a file, or a selection from the first', () =>
    withDirectory(async (directory) => {
      await fill(directory);
      const found = async (path: string, selection?: string) => {
        const target = await findInspectionTarget(
          nodeFileSystem,
          path,
          selection === undefined ? undefined : parseLogSelection(selection),
        );
        return [
          target.kind,
          target.dataDirectory,
          target.logs.map(({ topic, partition }) => `${topic}:${partition}`),
        ];
      };
      expect(await found(directory)).toEqual(['data', directory, ['events:0']]);
      expect(await found(join(directory, 'topics/events'))).toEqual(['topic', directory, ['events:0']]);
      expect(await found(logOf(directory))).toEqual(['partition', directory, ['events:0']]);
      expect(await found(segments(directory)[0] ?? '')).toEqual(['file', directory, []]);
      expect(await found(directory, 'events')).toEqual(['topic', directory, ['events:0']]);
      expect(await found(directory, 'events:0')).toEqual(['partition', directory, ['events:0']]);
      for (const [path, selection] of [
        [join(directory, 'nothing'), undefined],
        [join(directory, 'topics'), undefined],
        [directory, 'event'],
        [directory, 'events:1'],
        [logOf(directory), 'events:0'],
      ] as const) {
        expect(await codeOf(found(path, selection)), `${path} ${selection}`).toBe('data-directory');
      }
    }));

  it('a partition that was copied out has no data directory', () =>
    withDirectory(async (directory) => {
      await fill(join(directory, 'hub'));
      cpSync(logOf(join(directory, 'hub')), join(directory, 'copy/3'), { recursive: true });
      const target = await findInspectionTarget(nodeFileSystem, join(directory, 'copy/3'));
      expect([target.kind, target.dataDirectory, target.logs[0]?.partition]).toEqual([
        'partition',
        undefined,
        3,
      ]);
    }));
});
