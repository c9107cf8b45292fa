// Changed bytes: each is detected or changes nothing. Whatever a file or a row of the index says, the store does not
// crash, and what it serves is what was appended. One change of every few bytes is tried; POLYLOG_FUZZ=all tries them all,
// POLYLOG_FUZZ_SEED another choice.
import { beforeAll, describe, expect, it } from 'vitest';
import { readJsonFile, UNREADABLE } from '../../storage/small-file.ts';
import { FaultyFileSystem, seededRandom } from '../helpers/faulty-file-system.ts';
import { look, type SeenLog, type StoredLog, storedLog } from './fuzzed-store.ts';

const ALL = process.env['POLYLOG_FUZZ'] === 'all';
const SEED = Number(process.env['POLYLOG_FUZZ_SEED'] ?? 1);
/** Of so many bytes one is changed. */
const STEP = ALL ? 1 : 4;
const TIMEOUT_MS = ALL ? 3_600_000 : 120_000;

/** Each bit, nothing, everything, one more. */
const CHANGES: readonly ((byte: number) => number)[] = [
  ...Array.from({ length: 8 }, (_, bit) => (byte: number) => byte ^ (1 << bit)),
  () => 0,
  () => 0xff,
  (byte) => (byte + 1) & 0xff,
];

let stopped: StoredLog;
let killed: StoredLog;
let expected: SeenLog;
let expectedKilled: SeenLog;

beforeAll(async () => {
  stopped = await storedLog('stopped');
  killed = await storedLog('killed');
  expected = await look(stopped);
  expectedKilled = await look(killed);
});

/** The file with another byte, for some of the changes or all. */
function* changed(bytes: Buffer): Generator<readonly [what: string, bytes: Buffer]> {
  for (let at = ALL ? 0 : SEED % STEP; at < bytes.length; at += STEP) {
    const some = ALL ? CHANGES : [CHANGES[(at * 7 + SEED) % CHANGES.length]!]; // within the changes
    for (const change of some) {
      const byte = change(bytes[at]!); // within the file
      if (byte === bytes[at]) continue;
      const copy = Buffer.from(bytes);
      copy[at] = byte;
      yield [`byte ${at}: ${bytes[at]} → ${byte}`, copy];
    }
  }
}

const withFile = (log: StoredLog, path: string, bytes: Buffer): StoredLog => ({
  ...log,
  files: new Map([...log.files, [path, bytes]]),
});

const pathsOf = (log: StoredLog, pattern: RegExp): string[] =>
  [...log.files].filter(([path, bytes]) => bytes !== undefined && pattern.test(path)).map(([path]) => path);

/** Nothing is served that was not appended, and what is missing is told. */
function judge(seen: SeenLog, whole: SeenLog, what: string): void {
  for (const [offset, text] of seen.records) {
    if (whole.records.get(offset) === text) continue;
    expect(text, `${what}: a wrong record at ${offset}`).toBe(whole.records.get(offset));
  }
  if (seen.told.length > 0) return;
  expect([seen.start, seen.end], `${what}: where the log begins and ends`).toEqual([whole.start, whole.end]);
  expect(seen.records.size, `${what}: records are missing, and nothing is told`).toBe(whole.records.size);
  expect(seen.times, `${what}: lookups by time`).toEqual(whole.times);
}

describe('the log that is changed', () => {
  it('has two segments and more, producers, a transaction, a batch without records, and holes', () => {
    expect(pathsOf(stopped, /\.log$/).length).toBeGreaterThan(2);
    expect(
      pathsOf(stopped, /\.(json|snapshot)$/)
        .map((path) => path.replace(/.*\//, ''))
        .sort(),
    ).toEqual(
      [
        'compaction-checkpoint.json',
        'leader-epochs.json',
        'manifest.json',
        'node.json',
        'producer-state.snapshot',
        'recovery-checkpoint.json',
        'topic.json',
      ].sort(),
    );
    expect(expected.told).toEqual([]);
    expect(expected.start).toBe(1);
    expect(expected.records.size).toBeLessThan(expected.end - expected.start);
    expect(stopped.rows.length).toBeGreaterThan(3);
  });
});

describe('a changed byte', () => {
  it.each(['stopped', 'killed'] as const)(
    'of a segment, when the hub was %s',
    { timeout: TIMEOUT_MS },
    async (end) => {
      const [log, whole] = end === 'stopped' ? [stopped, expected] : [killed, expectedKilled];
      for (const path of pathsOf(log, /\.log$/)) {
        for (const [what, bytes] of changed(log.files.get(path)!)) {
          const seen = await look(withFile(log, path, bytes));
          judge(seen, whole, `${path} ${what}`);
          expect(seen.told.length, `${path} ${what} is told`).toBeGreaterThan(0);
        }
      }
    },
  );

  it('of a small file', { timeout: TIMEOUT_MS }, async () => {
    for (const path of pathsOf(stopped, /\.(json|snapshot)$/)) {
      for (const [what, bytes] of changed(stopped.files.get(path)!)) {
        judge(await look(withFile(stopped, path, bytes)), expected, `${path} ${what}`);
      }
    }
  });

  it('of a JSON file makes it unreadable or says the same: every change of every byte', async () => {
    for (const path of pathsOf(stopped, /\.json$/)) {
      const original = stopped.files.get(path)!; // pathsOf gives files
      if (path.endsWith('leader-epochs.json')) continue; // never read
      const { checksum: _, ...fields } = JSON.parse(original.toString());
      for (let at = 0; at < original.length; at++) {
        for (const change of CHANGES) {
          const bytes = Buffer.from(original);
          bytes[at] = change(bytes[at]!); // within the file
          const files = FaultyFileSystem.of(withFile(stopped, path, bytes).files);
          const content = await readJsonFile(files.process(), path);
          if (content === UNREADABLE) continue;
          expect(content, `${path} byte ${at}`).toMatchObject(fields);
        }
      }
    }
  });
});

describe('two changed bytes', () => {
  it('anywhere are detected, or change nothing', { timeout: TIMEOUT_MS }, async () => {
    const random = seededRandom(SEED);
    const below = (bound: number): number => Math.floor(random() * bound);
    const paths = pathsOf(stopped, /\.(log|json|snapshot)$/);
    for (let round = 0; round < (ALL ? 20_000 : 200); round++) {
      let log = round % 2 === 0 ? stopped : killed;
      const whole = log === stopped ? expected : expectedKilled;
      const told: string[] = [];
      for (let count = 0; count < 2; count++) {
        const path = paths[below(paths.length)]!;
        const bytes = Buffer.from(log.files.get(path) ?? Buffer.alloc(0));
        const at = below(bytes.length);
        if (bytes.length > 0) bytes[at]! ^= 1 + below(255);
        told.push(`${path} byte ${at}`);
        log = withFile(log, path, bytes);
      }
      judge(await look(log), whole, `seed ${SEED}, ${told.join(', ')}`);
    }
  });
});

describe('a file that ends early or late', () => {
  const newest = (log: StoredLog): string =>
    pathsOf(log, /\.log$/)
      .sort()
      .at(-1)!; // there are some

  it('at every length gives the whole batches, and no others', { timeout: TIMEOUT_MS }, async () => {
    const path = newest(killed);
    const bytes = killed.files.get(path)!;
    let last = -1;
    for (
      let length = 0;
      length <= bytes.length;
      length += length % STEP === 0 && length + STEP < bytes.length ? STEP : 1
    ) {
      const seen = await look(withFile(killed, path, bytes.subarray(0, length)));
      judge(seen, { ...expectedKilled, end: seen.end }, `${length} bytes`);
      expect(seen.end, `${length} bytes`).toBeGreaterThanOrEqual(last);
      last = seen.end;
    }
    expect(last).toBe(expectedKilled.end);
  });

  it('in zeros or in what was there before loses nothing', { timeout: TIMEOUT_MS }, async () => {
    const path = newest(killed);
    const bytes = killed.files.get(path)!;
    const random = seededRandom(SEED);
    for (const length of [1, 8, 23, 24, 77, 78, 79, 511, 512, 513, 4095, 4096, 16384, 65_536, 1 << 20]) {
      const garbage = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
      const repeated = Buffer.alloc(length, bytes);
      for (const tail of [Buffer.alloc(length), garbage, repeated]) {
        const seen = await look(withFile(killed, path, Buffer.concat([bytes, tail])));
        judge(seen, expectedKilled, `${length} bytes more`);
        expect([seen.end, seen.records.size]).toEqual([expectedKilled.end, expectedKilled.records.size]);
      }
    }
  });

  it('of the small ones, at every length, is passed over or told', { timeout: TIMEOUT_MS }, async () => {
    for (const path of pathsOf(stopped, /\.(json|snapshot)$/)) {
      const bytes = stopped.files.get(path)!; // pathsOf gives files
      for (let length = 0; length < bytes.length; length += STEP) {
        judge(
          await look(withFile(stopped, path, bytes.subarray(0, length))),
          expected,
          `${path}, ${length} bytes`,
        );
      }
    }
  });
});

describe('the index', () => {
  const right = async (log: StoredLog, what: string): Promise<void> => {
    const seen = await look(log);
    judge({ ...seen, told: [] }, expected, what);
  };

  it('may have any byte changed', { timeout: TIMEOUT_MS }, async () => {
    for (const [index, { key, value }] of stopped.rows.entries()) {
      for (const [what, bytes] of changed(Buffer.concat([key, value]))) {
        const rows = [...stopped.rows];
        rows[index] = { key: bytes.subarray(0, key.length), value: bytes.subarray(key.length) };
        await right({ ...stopped, rows }, `row ${index} ${what}`);
      }
    }
  });

  it('may lack any row, have any twice, or under another key', { timeout: TIMEOUT_MS }, async () => {
    for (const [index, row] of stopped.rows.entries()) {
      await right({ ...stopped, rows: stopped.rows.filter((each) => each !== row) }, `without row ${index}`);
      for (const other of stopped.rows) {
        const rows = [...stopped.rows, { key: other.key, value: row.value }];
        await right({ ...stopped, rows }, `row ${index} under another key`);
      }
      const key = Buffer.from(row.key);
      key[key.length - 1]! += 1;
      await right({ ...stopped, rows: [...stopped.rows, { key, value: row.value }] }, `row ${index} moved`);
    }
    await right({ ...stopped, rows: [] }, 'no rows');
  });

  it('may be that of an earlier state of the log', { timeout: TIMEOUT_MS }, async () => {
    for (let count = 0; count < stopped.rows.length; count++) {
      await right({ ...stopped, rows: stopped.rows.slice(0, count) }, `the first ${count} rows`);
    }
    await right({ ...stopped, rows: killed.rows }, 'the rows of another run');
  });
});
