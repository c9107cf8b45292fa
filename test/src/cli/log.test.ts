// `polylog log dump`, `verify` and `cut` on a golden data directory: what they print, where, and how they exit.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { StreamOutput } from '../../../src/cli/stream-output.ts';
import { batchChecksum, viewOf } from '../../../storage/frame.ts';
import { readTruth } from '../../fixtures/truth.ts';
import { Child } from '../../helpers/child.ts';
import { type CommandResult, inspect, runLog } from '../../helpers/inspect.ts';
import { openStore, withDirectory } from '../../helpers/store-fixture.ts';

const fixture = join(import.meta.dirname, '../../fixtures/format-1/clean-stop');
const truth = readTruth(fixture);

/** In a directory where `data/` is a copy of the fixture. */
const withData = (use: (directory: string) => Promise<void>): Promise<void> =>
  withDirectory(async (directory) => {
    cpSync(join(fixture, 'directory'), join(directory, 'data'), { recursive: true });
    await use(directory);
  });

const lines = ({ out }: CommandResult): Record<string, unknown>[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** A record as `truth` has it, its bytes in hex before. */
function truthLine(record: Record<string, unknown>): string {
  const text = (shown: unknown): unknown =>
    typeof shown === 'object' && shown !== null && 'hex' in shown
      ? Buffer.from(String(shown.hex), 'hex').toString('latin1')
      : shown;
  // What dump prints as pairs.
  const pairs = (shown: unknown): unknown =>
    (shown as [string, unknown][]).map(([name, item]) => [name, text(item)]);
  const { offset, timestampMs, key, value, headers, sourceAttributes } = record;
  return JSON.stringify([
    offset,
    timestampMs,
    text(key),
    text(value),
    pairs(headers),
    pairs(sourceAttributes),
  ]);
}

const newest = (directory: string, log: string): string => {
  const names = readdirSync(join(directory, log)).filter((name) => name.endsWith('.log'));
  return join(directory, log, names.sort((a, b) => a.slice(9).localeCompare(b.slice(9))).at(-1) ?? '');
};

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at < 0 ? bytes.length + at : at]! ^= 1; // the file is longer
  writeFileSync(file, bytes);
}

describe('polylog log dump', () => {
  it('prints a line a frame: each record as it was appended', () =>
    withData(async (directory) => {
      for (const [log, { lines: expected }] of Object.entries(truth)) {
        const dumped = await runLog(['dump', 'data', log, '--key', 'hex', '--value', 'hex'], directory);
        expect([dumped.exitCode, dumped.err]).toEqual([0, '']);
        const records = lines(dumped).filter(({ frame }) => frame === 'record');
        expect(records.map(truthLine)).toEqual(expected);
      }
    }));

  it('has every field of both kinds of frame', () =>
    withData(async (directory) => {
      const [batch, record] = lines(await runLog(['dump', 'data', 'telemetry:0', '--limit', '2'], directory));
      expect(batch).toEqual({
        frame: 'batch',
        file: 'data/topics/telemetry/0/00000001-00000000000000000000.log',
        position: 0,
        offset: 0,
        totalLength: 54,
        metadataLength: 54,
        formatVersion: 1,
        checksum: expect.stringMatching(/^[0-9a-f]{8}$/),
        attributes: [],
        recordCount: 3,
        byteLength: expect.any(Number),
        lastOffsetDelta: 2,
        firstTimestampMs: 1764000000000,
        maxTimestampMs: 1764000000000,
        leaderEpoch: 1,
        producerId: -1,
        producerEpoch: -1,
        baseSequence: -1,
      });
      expect(record).toEqual({
        frame: 'record',
        file: 'data/topics/telemetry/0/00000001-00000000000000000000.log',
        position: 78,
        offset: 0,
        totalLength: 95,
        metadataLength: 32,
        protocolDataLength: 49,
        dataLength: 14,
        flags: 0,
        timestampMs: 1764000000000,
        key: 'site/0/temperature',
        headers: [],
        sourceAttributes: [
          ['mqtt.topic', 'site/0/temperature'],
          ['mqtt.qos', '0'],
          ['_id', null],
        ],
        value: 'mqtt record 0 ',
      });
    }));

  it.each<[string[], string, unknown]>([
    [[], 'key', 'key-0'],
    [['--key', 'hex'], 'key', { hex: '6b65792d30' }],
    [['--key', 'none'], 'key', undefined],
    [['--value', 'base64'], 'value', { base64: Buffer.from('kafka record 0 ').toString('base64') }],
    [['--value', 'none'], 'value', undefined],
    [['--value', 'none'], 'headers', undefined],
    [
      ['--value', 'hex'],
      'headers',
      [
        ['trace', { hex: '7430' }],
        ['empty', { hex: '' }],
        ['trace', null],
        ['bytes', { hex: '00ff8000' }],
      ],
    ],
    [
      [],
      'headers',
      [
        ['trace', 't0'],
        ['empty', ''],
        ['trace', null],
        ['bytes', { base64: 'AP+AAA==' }],
      ],
    ],
  ])('%j shows %s as %j', (options, field, expected) =>
    withData(async (directory) => {
      const [, record] = lines(
        await runLog(['dump', 'data', 'orders:0', '--limit', '2', ...options], directory),
      );
      expect(record?.[field]).toEqual(expected);
    }),
  );

  it('takes a range of offsets, batches only, and one file', () =>
    withData(async (directory) => {
      const range = lines(
        await runLog(['dump', 'data', 'orders:0', '--from', '28', '--to', '33'], directory),
      );
      expect(range.filter(({ frame }) => frame === 'record').map(({ offset }) => offset)).toEqual([
        28, 29, 30, 31, 32,
      ]);
      const batches = lines(await runLog(['dump', 'data', 'orders:0', '--batches'], directory));
      expect(batches.length).toBe(30);
      const file = newest(directory, 'data/topics/orders/0');
      expect(lines(await runLog(['dump', file, '--limit', '1'], directory))).toEqual([batches[20]]);
    }));

  it('writes integers that no double holds', () =>
    withData(async (directory) => {
      const file = newest(directory, 'data/topics/orders/0');
      const bytes = readFileSync(file);
      bytes.writeBigInt64BE(9_007_199_254_740_993n, 56);

      const length = bytes.readUInt32BE(28);
      bytes.writeUInt32BE(batchChecksum(bytes, viewOf(bytes), 0, length), 18);
      writeFileSync(file, bytes);
      expect((await runLog(['dump', file, '--limit', '1'], directory)).out).toContain(
        '"producerId":9007199254740993,',
      );
    }));

  it('goes on behind damage, tells it, and exits 1; a torn end is told and is no failure', () =>
    withData(async (directory) => {
      const file = newest(directory, 'data/topics/orders/0');
      const whole = lines(await runLog(['dump', file], directory)).length;
      flip(file, -1);
      const torn = await runLog(['dump', 'data', 'orders:0', '--from', '60'], directory);
      expect([torn.exitCode, torn.err]).toEqual([0, expect.stringContaining('are passed over')]);
      flip(file, 100);
      const damaged = await runLog(['dump', 'data', 'orders:0', '--from', '60'], directory);
      expect([damaged.exitCode, damaged.err.split('\n').length]).toEqual([1, 3]);
      expect(lines(damaged).length).toBeLessThan(whole);
    }));

  it('ends when its reader goes away', () =>
    withData(async (directory) => {
      const { exitCode, out, err } = await runLog(['dump', 'data'], directory, 1);
      expect([exitCode, err]).toEqual([0, '']);
      expect(out.length).toBeLessThan(80_000);
    }));

  it('in a pipe that is closed early is no failure', () =>
    withData(async (directory) => {
      const program = join(import.meta.dirname, '../../../dist/command/main.cjs');
      const command = `for n in 1 2 3 4 5 6 7 8; do cp -r data/topics/orders/0 data/topics/orders/1$n; done
        "${process.execPath}" "${program}" log dump data > >(head -n 1) && echo done`;
      const { code, stdout, stderr } = await new Child('bash', ['-c', command], {
        workingDirectory: directory,
      }).finished;
      expect([code, stderr.toString()]).toEqual([0, '']);
      expect(stdout.toString()).toMatch(/^(\{"frame":"batch".*\}\ndone|done\n\{"frame":"batch".*\})\n$/);
    }));
});

describe('polylog log verify', () => {
  it('says what it has looked at, and that nothing is wrong', () =>
    withData(async (directory) => {
      expect(await runLog(['verify', 'data'], directory)).toEqual({
        exitCode: 0,
        out: expect.stringMatching(
          /^4 logs, 12 segments, 81 batches, 258 records, \d+ bytes, \d+ index entries: nothing is wrong\n$/,
        ),
        err: '',
      });
      expect((await runLog(['verify', 'data', 'orders', '--no-index'], directory)).out).toMatch(
        /^2 logs, .* the index left out: nothing is wrong\n$/,
      );
    }));

  it('tells what is wrong, with file, byte and offset, and exits 1', () =>
    withData(async (directory) => {
      flip(newest(directory, 'data/topics/telemetry/0'), 100);
      const { exitCode, out } = await runLog(['verify', 'data'], directory);
      expect(exitCode).toBe(1);
      expect(out).toMatch(
        /^error damaged: data\/topics\/telemetry\/0\/00000003-00000000000000000084\.log byte 0 offset 84: no batch begins here, or its bytes have changed: \d+ bytes, then a good batch follows\n/,
      );
      expect(out).toMatch(/: \d+ wrong\n$/);
    }));

  it.each<[string, string, (content: string) => string]>([
    ['node.json', 'format', (content) => content.replace('"formatVersion":1', '"formatVersion":2')],
    ['node.json', 'small-file', () => '{}'],
    [
      'topics/orders/topic.json',
      'format',
      (content) => content.replace('"formatVersion":1', '"formatVersion":2'),
    ],
    ['topics/orders/topic.json', 'small-file', () => '{"formatVersion":1}'],
    ['topics/orders/topic.json', 'small-file', (content) => content.replaceAll('1111', '2222')],
    [
      'topics/orders/0/manifest.json',
      'format',
      (content) => content.replace('"formatVersion":1', '"formatVersion":2'),
    ],
  ])('%s: %s', (name, code, change) =>
    withData(async (directory) => {
      const path = join(directory, 'data', name);
      writeFileSync(path, change(readFileSync(path, 'utf8')));
      const { exitCode, errors } = await inspect(join(directory, 'data'));
      expect([exitCode, errors[0]?.code, errors[0]?.file]).toEqual([1, code, name]);
    }),
  );

  it('tells topics that only the disk knows, or only the MetaStore, as warnings', () =>
    withData(async (directory) => {
      cpSync(join(directory, 'data/topics/quiet'), join(directory, 'data/topics/other'), { recursive: true });
      rmSync(join(directory, 'data/topics/quiet'), { recursive: true });
      const { exitCode, warnings } = await inspect(join(directory, 'data'));
      expect([exitCode, warnings.map(({ code, file }) => [code, file])]).toEqual([
        0,
        [
          ['records-missing', 'topics/quiet/0'],
          ['left-over', 'topics/other/0'],
        ],
      ]);
    }));

  it('of a damaged index is told, and the logs are checked all the same', () =>
    withData(async (directory) => {
      writeFileSync(join(directory, 'data/index/CURRENT'), 'nothing');
      const { exitCode, errors, summary } = await inspect(join(directory, 'data'));
      expect([exitCode, errors.map(({ code }) => code), summary['records']]).toEqual([1, ['index'], 258]);
    }));

  it('refuses a directory that a hub has open, unless the index is left out', () =>
    withData(async (directory) => {
      const { store } = await openStore({ directory: join(directory, 'data') });
      const refused = await runLog(['verify', 'data'], directory);
      expect([refused.exitCode, refused.out]).toEqual([1, '']);
      expect(refused.err).toMatch(
        /has the data directory open .*: stop the hub, or leave the index out \(--no-index\)\n$/,
      );
      expect((await runLog(['verify', 'data', '--no-index'], directory)).exitCode).toBe(0);
      expect((await runLog(['dump', 'data', '--limit', '1'], directory)).exitCode).toBe(0);
      expect((await runLog(['cut', 'data', 'orders:0', '--at', '9'], directory)).exitCode).toBe(1);
      await store.close();
    }));
});

describe('polylog log cut', () => {
  it('says what it does; without doing it on --dry-run', () =>
    withData(async (directory) => {
      const dry = await runLog(['cut', 'data', 'orders:0', '--at', '32', '--dry-run'], directory);
      expect(dry.exitCode).toBe(0);
      expect(dry.err).toBe('polylog: offset 32 is inside a batch or behind a hole: the cut is at 31\n');
      expect(dry.out).toMatch(
        /^\S+0003-0+60\.log would be set aside, \d+ bytes\n\S+0002-0+30\.log would be cut at byte \d+, \d+ bytes are set aside\ndata\/topics\/orders\/0 would end at offset 31; \d+ bytes would be kept as \*\.cut\n$/,
      );
      expect((await inspect(join(directory, 'data'))).summary['records']).toBe(258);
      const cut = await runLog(['cut', 'data/topics/orders/0', '--at', '32'], directory);
      expect([cut.exitCode, cut.out]).toEqual([0, expect.stringContaining('ends at offset 31')]);
      const after = await inspect(join(directory, 'data'));
      expect([after.exitCode, after.warnings, after.summary['records']]).toEqual([0, [], 258 - 90 + 31]);
      expect((await runLog(['cut', 'data', 'orders:0', '--at', '31'], directory)).out).toBe(
        'data/topics/orders/0 ends at offset 31: nothing to cut\n',
      );
    }));

  it('without a MetaStore does not leave rows of the index behind: it refuses', () =>
    withData(async (directory) => {
      rmSync(join(directory, 'data/meta'), { recursive: true });
      const refused = await runLog(['cut', 'data', 'orders:0', '--at', '9'], directory);
      expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining('and cut again')]);
      rmSync(join(directory, 'data/index'), { recursive: true });
      expect((await runLog(['cut', 'data', 'orders:0', '--at', '9'], directory)).exitCode).toBe(0);
      expect((await inspect(join(directory, 'data'))).errors).toEqual([]);
    }));

  it('outside of the log fails', () =>
    withData(async (directory) => {
      const { exitCode, err } = await runLog(['cut', 'data', 'orders:0', '--at', '91'], directory);
      expect([exitCode, err]).toEqual([1, expect.stringMatching(/ends at offset 90, below 91\n$/)]);
    }));
});

describe('wrong usage', () => {
  it.each([
    [['dump'], /missing required argument 'dir'/],
    [
      ['dump', 'data', 'orders', '--from', 'x'],
      /'--from <offset>' argument 'x' is invalid\. It must be a whole number\./,
    ],
    [['dump', 'data', '--value', 'json'], /Allowed choices are text, hex, base64, none/],
    [['dump', 'data', 'a/b'], /a\/b is not TOPIC or TOPIC:PARTITION/],
    [['verify', 'data', 'orders:x'], /orders:x is not TOPIC or TOPIC:PARTITION/],
    [['cut', 'data', 'orders:0'], /required option '--at <offset>' not specified/],
    [['cut', 'data', 'orders', '--at', '3'], /is not one partition/],
    [['cat', 'data'], /unknown command 'cat'/],
    [[], /Usage: polylog log/],
  ])('%j: exit 2, said on stderr', (args, expected) =>
    withData(async (directory) => {
      const { exitCode, out, err } = await runLog(args, directory);
      expect([exitCode, out]).toEqual([2, '']);
      expect(err).toMatch(expected);
    }),
  );

  it.each([
    [['dump', 'nothing'], /nothing is not there\n$/],
    [['verify', '.'], /is neither a data directory, nor a topic's or a partition's directory in one\n$/],
    [['verify', 'data', 'nothing'], /has no topic nothing\n$/],
    [['verify', 'data', 'orders:7'], /orders has no partition 7 in /],
    [['verify', 'data/node.json'], /is a file: verify its partition's directory\n$/],
  ])('%j: exit 1, one line', (args, expected) =>
    withData(async (directory) => {
      const { exitCode, out, err } = await runLog(args, directory);
      expect([exitCode, out]).toEqual([1, '']);
      expect(err).toMatch(expected);
    }),
  );
});

describe('output without end', () => {
  const fail = (error: Error): never => {
    throw error;
  };

  it('waits for a slow reader', async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const output = new StreamOutput(stream, fail);
    const order: string[] = [];
    const writing = output
      .write('more than ten characters')
      .then((goesOn) => order.push(`written ${goesOn}`));
    await Promise.resolve();
    order.push('reading');
    stream.resume();
    await writing;
    expect(order).toEqual(['reading', 'written true']);
  });

  it('is taken when the reader has it', async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const output = new StreamOutput(stream, fail);
    output.put('some');
    expect(await output.taken()).toBe(true);
    expect(stream.read()?.toString()).toBe('some');
  });

  it('ends when the reader goes away, also in the middle of a wait', async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const output = new StreamOutput(stream, fail);
    const writing = output.write('more than ten characters');
    stream.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }));
    expect([await writing, await output.write('more')]).toEqual([false, false]);
  });

  it('of another failure ends, and is told once', async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const told: string[] = [];
    const output = new StreamOutput(stream, ({ message }) => told.push(message));
    const writing = output.write('more than ten characters');
    stream.destroy(new Error('no space left'));
    expect([await writing, await output.taken(), told]).toEqual([false, false, ['no space left']]);
    output.put('nothing');
  });
});

describe('polylog log on a terminal', () => {
  /** Progress is shown at every look at the clock. */
  async function shownBy(args: readonly string[], directory: string, columns?: number): Promise<string[]> {
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
    const shown: string[] = [];
    try {
      await runCommandLine(['log', ...args], {
        out: () => undefined,
        outMuch: async () => true,
        err: () => undefined,
        progress: (text) => shown.push(text),
        ...(columns === undefined ? {} : { columns }),
        environment: {},
        workingDirectory: directory,
      });
    } finally {
      clock.mockRestore();
    }
    return shown;
  }

  it.each(['verify', 'dump'])('%s shows how far it is, and nothing once it is done', (verb) =>
    withData(async (directory) => {
      const shown = await shownBy([verb, 'data'], directory);
      expect(shown.length).toBeGreaterThan(81);
      expect(shown[0]).toMatch(/^\d+(?:\.\d)? (?:B|KiB) of \d+\.\d KiB, 0 %$/);
      expect(shown.at(-2)).toMatch(verb === 'verify' ? /, 100 %$/ : /, 9\d %$/);
      expect(shown.at(-1)).toBe('');
    }),
  );

  it('dump shows nothing beside its own lines', () =>
    withData(async (directory) => {
      expect(await shownBy(['dump', 'data'], directory, 80)).toEqual([]);
    }));
});

it.each([[], ['dump'], ['verify'], ['cut'], ['rebuild-meta']])(
  'polylog log %s: help has examples and exit codes',
  async (...verb) => {
    const { exitCode, out } = await runLog([...verb, '--help'], '.');
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(/\nExamples:\n {2}polylog log [\s\S]*\nExit codes: 0 [\s\S]*, 2 wrong usage\.\n/),
    ]);
  },
);
