// FORMAT.md against the code: its worked example is read from the page and compared byte by byte, both ways, and what its
// tables and lists say is compared with what the code has and writes.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unpackr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import * as fileNames from '../../storage/file-names.ts';
import * as frame from '../../storage/frame.ts';
import { openMetaDatabase, openMetaStore } from '../../storage/meta-store.ts';
import { SPACE_OFFSETS, SPACE_SUMMARIES, SPACE_TIMES } from '../../storage/offset-index.ts';
import { jsonFileOf } from '../../storage/small-file.ts';
import { Chunk } from '../../storage/tail-cache.ts';
import {
  append,
  codeOf,
  logConfig,
  MemoryIndex,
  openStore,
  PARTITION,
  record,
  withDirectory,
} from '../helpers/store-fixture.ts';

const page = readFileSync(join(import.meta.dirname, '../../storage/FORMAT.md'), 'utf8');

/** The lines of the example: bytes, and what the page says of them. */
const lines = /```hex\n([\s\S]*?)```/
  .exec(page)![1]!
  .trim()
  .split('\n')
  .map((line) => {
    const [hex = '', says = ''] = line.split(';');
    return { bytes: Buffer.from(hex.replaceAll(' ', ''), 'hex'), says: says.trim() };
  });
const example = Buffer.concat(lines.map(({ bytes }) => bytes));
const range = { bytes: example, start: 0, end: example.length, nextOffset: 10 };

const TIME = 1_764_000_000_000;
const source = Buffer.from('k1hellohvn');
const attributes = Buffer.concat([
  Buffer.from([0x92, 0xaa]),
  Buffer.from('mqtt.topic'),
  Buffer.from([0xc4, 3]),
  Buffer.from('a/b'),
]);

function writeExample(): Buffer {
  const chunk = new Chunk(Buffer.alloc(4096), { forget: () => {} });
  const writer = new BatchWriter(chunk, () => chunk);
  writer.begin(chunk, 7, 2, { producerId: 1000, producerEpoch: 3, baseSequence: 42, transactional: true });
  writer.startRecord(TIME, source, 0, 2, 1);
  writer.header(source, 7, 8, 8, 9);
  writer.endRecord(source, 2, 7, null);
  writer.startRecord(TIME + 5, source, -1, -1, 0);
  writer.endRecord(source, -1, -1, attributes);
  writer.startRecord(-1, source, 0, 0, 2);
  writer.header(source, 9, 10, -1, -1);
  writer.header(source, 9, 10, 0, 0);
  writer.endRecord(source, 0, 0, null);
  writer.finish();
  return Buffer.from(chunk.bytes.subarray(0, writer.byteLength));
}

describe('the worked example', () => {
  it('is what the writer writes', () => {
    expect(writeExample().toString('hex')).toBe(example.toString('hex'));
  });

  it('says of itself how long it is', () => {
    expect(page).toContain(`${example.length} bytes, in the file`);
    expect(frame.batchByteLengthAt(frame.viewOf(example), 0)).toBe(example.length);
  });

  it('has a good checksum', () => {
    expect(frame.verifyBatch(example, frame.viewOf(example), 0, example.length)).toBe('good');
  });

  it('has its fields where the table says', () => {
    const table = [...page.matchAll(/^\| (\d+) +\| ([ui])(\d+) +\| ([a-z][a-z -]*[a-z]) +\|/gm)].map(
      ([, at, , bits, field = '']) => [field, Number(at), Number(bits) / 8] as const,
    );
    expect(table.length).toBe(13);
    const places = new Map<string, number>();
    let at = 0;
    for (const { bytes, says } of lines) {
      places.set(says, at);
      at += bytes.length;
    }
    for (const [field, position, bytes] of table) {
      const line = [...places].find(([says]) => says.startsWith(field));
      expect(line?.[1], field).toBe(position);
      expect(lines.find(({ says }) => says === line?.[0])?.bytes.length, field).toBe(bytes);
    }
  });

  it('is read by the cursor as the page tells it', () => {
    const cursor = new BatchCursor();
    cursor.reset(range);
    expect(cursor.nextBatch()).toBe(true);
    expect(cursor).toMatchObject({
      batchBaseOffset: 7,
      batchLastOffset: 9,
      batchRecordCount: 3,
      batchFirstTimestampMs: TIME,
      batchMaxTimestampMs: TIME + 5,
      batchLeaderEpoch: 2,
      batchIsTransactional: true,
      batchIsControl: false,
      batchIsLogAppendTime: false,
      batchProducerId: 1000,
      batchProducerEpoch: 3,
      batchBaseSequence: 42,
      batchByteLength: example.length,
    });
    const text = (start: number, end: number): string | null =>
      end < 0 ? null : example.toString('latin1', start, end);
    const records = [];
    while (cursor.nextRecord()) {
      const headers = [];
      while (cursor.nextHeader()) {
        headers.push([text(cursor.nameStart, cursor.nameEnd), text(cursor.itemStart, cursor.itemEnd)]);
      }
      const shown = [];
      while (cursor.nextAttribute()) {
        shown.push([text(cursor.nameStart, cursor.nameEnd), text(cursor.itemStart, cursor.itemEnd)]);
      }
      records.push({
        offset: cursor.offset,
        timestampMs: cursor.timestampMs,
        key: text(cursor.keyStart, cursor.keyEnd),
        value: text(cursor.valueStart, cursor.valueEnd),
        headers,
        attributes: shown,
      });
    }
    expect(records).toEqual([
      { offset: 7, timestampMs: TIME, key: 'k1', value: 'hello', headers: [['h', 'v']], attributes: [] },
      {
        offset: 8,
        timestampMs: TIME + 5,
        key: null,
        value: null,
        headers: [],
        attributes: [['mqtt.topic', 'a/b']],
      },
      {
        offset: 9,
        timestampMs: -1,
        key: '',
        value: '',
        headers: [
          ['n', null],
          ['n', ''],
        ],
        attributes: [],
      },
    ]);
    expect(cursor.nextBatch()).toBe(false);
  });

  it('can be walked by lengths alone, and msgpackr reads its metadata', () => {
    const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
    const metadata = [];
    for (let at = 0; at < example.length; ) {
      const length = example.readUInt32BE(at + frame.FRAME_METADATA_LEN_AT);
      const bytes = example.subarray(at + frame.FRAME_METADATA_AT, at + frame.FRAME_METADATA_AT + length);
      if (bytes[0] !== frame.BATCH_MARK) metadata.push(unpackr.unpack(bytes));
      at += frame.FRAME_FIXED_BYTES + example.readUInt32BE(at + frame.FRAME_TOTAL_LEN_AT);
    }
    expect(metadata).toEqual([
      [0, TIME, Buffer.from('k1'), ['h', Buffer.from('v')]],
      [1, TIME + 5, null, []],
      [0, -1, Buffer.alloc(0), ['n', null, 'n', Buffer.alloc(0)]],
    ]);
  });

  it('is refused when any single bit of it has changed', () => {
    for (let bit = 0; bit < example.length * 8; bit++) {
      const changed = Buffer.from(example);
      changed[bit >>> 3]! ^= 1 << (bit & 7);
      expect(frame.verifyBatch(changed, frame.viewOf(changed), 0, changed.length), `bit ${bit}`).not.toBe(
        'good',
      );
    }
  });

  it('is short or bad at every length but its own', () => {
    for (let length = 0; length < example.length; length++) {
      const cut = Buffer.from(example.subarray(0, length));
      expect(['short', 'bad']).toContain(frame.verifyBatch(cut, frame.viewOf(cut), 0, length));
    }
  });

  it('of a newer version is told from a damaged one', () => {
    const newer = Buffer.from(example);
    const view = frame.viewOf(newer);
    newer[frame.BATCH_VERSION_AT] = 2;
    expect(frame.verifyBatch(newer, view, 0, newer.length)).toBe('bad');
    view.setUint32(frame.BATCH_CHECKSUM_AT, frame.batchChecksum(newer, view, 0, newer.length));
    expect(frame.verifyBatch(newer, view, 0, newer.length)).toBe('newer');
  });
});

/** Cells of the rows of the table below `heading` whose head begins with `first`. */
function tableOf(heading: string, first: string): string[][] {
  const section = page.slice(page.indexOf(`\n${heading}\n`));
  const table = section.slice(section.search(new RegExp(`^\\| ${first} +\\|`, 'm')));
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | +\|?$/g, '').trim()));
}

describe('the tables', () => {
  it('of the batch frame has the places that the code reads', () => {
    const places: Readonly<Record<string, number>> = {
      mark: frame.BATCH_MARK_AT,
      'format version': frame.BATCH_VERSION_AT,
      checksum: frame.BATCH_CHECKSUM_AT,
      attributes: frame.BATCH_ATTRIBUTES_AT,
      'record count': frame.BATCH_RECORD_COUNT_AT,
      'byte length': frame.BATCH_BYTE_LENGTH_AT,
      'last offset delta': frame.BATCH_LAST_OFFSET_DELTA_AT,
      'first timestamp': frame.BATCH_FIRST_TIMESTAMP_AT,
      'max timestamp': frame.BATCH_MAX_TIMESTAMP_AT,
      'leader epoch': frame.BATCH_LEADER_EPOCH_AT,
      'producer id': frame.BATCH_PRODUCER_ID_AT,
      'producer epoch': frame.BATCH_PRODUCER_EPOCH_AT,
      'base sequence': frame.BATCH_BASE_SEQUENCE_AT,
    };
    const table = tableOf('### Batch frame', 'at').map(([at, , field = '']) => [field, Number(at)]);
    expect(Object.fromEntries(table)).toEqual(places);
    expect(page).toContain(`The metadata has ${frame.BATCH_METADATA_BYTES} bytes, so the`);
    expect(page).toContain(`frame has ${frame.BATCH_FRAME_BYTES}.`);
    expect(page).toContain(`${frame.FRAME_FIXED_BYTES} + total_len bytes`);
  });

  it('of attributes has the bits', () => {
    expect(tableOf('### Batch frame', 'bit').map(([bit, name]) => [name, 1 << Number(bit)])).toEqual([
      ['transactional', frame.ATTRIBUTE_TRANSACTIONAL],
      ['control', frame.ATTRIBUTE_CONTROL],
      ['append time', frame.ATTRIBUTE_LOG_APPEND_TIME],
      ['aborts', frame.ATTRIBUTE_ABORTS],
    ]);
  });

  it('and the tree name every file that the code names', () => {
    const tree = /```\n(node\.json[\s\S]*?)```/.exec(page)?.[1] ?? '';
    for (const name of Object.values(fileNames)) {
      if (typeof name === 'string') expect(tree).toContain(name);
    }
    const written = tree.replace('<leader epoch>-<base offset>.log', fileNames.segmentFileName(2, 7));
    const segment = /(\S+\.log) /.exec(written)?.[1] ?? '';
    expect(fileNames.parseSegmentFileName(segment)).toEqual({ leaderEpoch: 2, baseOffset: 7 });
    const named = (name: string): string =>
      name.replace(segment, '<segment>.log').replace('99', '<position>');
    expect(tree).toContain(named(fileNames.cutFileName(segment, 99)));
    expect(tree).toContain(named(fileNames.cleanedFileName(segment)));
  });

  it('of the small files have the fields that are written, and no others', () =>
    withDirectory(async (directory) => {
      await writeEverything(directory);
      const documented = new Map(
        tableOf('## Small files', 'file').map(([file = '', fields = '']) => [
          file.replaceAll('`', ''),
          fields,
        ]),
      );
      expect([...documented.keys()].sort()).toEqual(
        ['node.json', 'topic.json', ...readdirSync(join(directory, LOG))]
          .filter((name) => name.endsWith('.json'))
          .sort(),
      );
      for (const [file, fields] of documented) {
        const content: unknown = JSON.parse(readFileSync(join(directory, placeOf(file)), 'utf8'));
        if (Array.isArray(content)) continue;
        const names = [...fields.matchAll(/`([a-z][A-Za-z]+)`/g)].map(([, name]) => name).concat('checksum');
        expect(Object.keys(content as object).at(-1), file).toBe('checksum');
        names.push('checksum');
        expect(Object.keys(content as object).sort(), file).toEqual([...new Set(names)].sort());
      }
    }));

  it('of the index has the keys and values that are written', () =>
    withDirectory(async (directory) => {
      const rows = (await writeEverything(directory)).rows();
      const bytesOf = (layout: string): number =>
        [...layout.matchAll(/ [ui](8|32|64)(?=[,:]|$| with)/g)].reduce(
          (sum, [, bits]) => sum + Number(bits) / 8,
          0,
        );
      const table = tableOf('## Index', 'key');
      const spaces = table.map(([key = '']) => Number(key.charAt(0)));
      expect(spaces).toEqual([SPACE_OFFSETS, SPACE_TIMES, SPACE_SUMMARIES]);
      for (const [key = '', value = ''] of table) {
        const some = rows.filter((row) => row.key[0] === Number(key.charAt(0)));
        expect(some.length, key).toBeGreaterThan(0);
        for (const row of some) {
          expect(row.key.length, key).toBe(bytesOf(key));
          // The offset of an entry counts from its run's key: "offset − the key's u32".
          const entry = value.startsWith('a run')
            ? bytesOf(value.replace("− the key's", ''))
            : row.value.length;
          expect(row.value.length % entry, value).toBe(0);
          if (!value.startsWith('a run')) expect(row.value.length, value).toBe(bytesOf(value));
        }
      }
    }));

  it('of the MetaStore have its keys', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'meta');
      const meta = await openMetaStore(path);
      await meta.transact({ put: [{ key: 'topic/a', value: {} }] });
      await meta.allocate('log-id', 1);
      await meta.close();
      const database = await openMetaDatabase(path);
      const entries = await database.entries('', '\x7f');
      await database.close();
      const kinds = tableOf('## MetaStore', 'key').map(([key = '']) =>
        key.replaceAll('`', '').replace('<key>', ''),
      );
      for (const [key] of entries)
        expect(
          kinds.filter((kind) => key.startsWith(kind)),
          key,
        ).toHaveLength(1);
      expect(entries.find(([key]) => key === 'e/topic/a')?.[1]).toEqual({ revision: 1, value: {} });
    }));
});

const LOG = 'topics/events/0';
const placeOf = (file: string): string =>
  file === 'node.json' ? file : file === 'topic.json' ? `topics/events/${file}` : `${LOG}/${file}`;

/** A log with every kind of file beside it, closed; returns its index. */
async function writeEverything(directory: string): Promise<MemoryIndex> {
  const index = new MemoryIndex();
  const { store } = await openStore({ directory, index, indexIntervalBytes: 100, checkIntervalMs: 0 });
  const config = logConfig({ compacts: true, deletes: false, segmentBytes: 500, minCleanableDirtyRatio: 0 });
  const log = await store.openPartition({ ...PARTITION, config });
  for (let n = 0; n < 12; n++) {
    const producer = { producerId: 1, producerEpoch: 0, baseSequence: n, recordCount: 1 };
    await append(log, [{ ...record(`value ${n}`), key: Buffer.from('key'), value: null }], producer).flushed;
    await append(log, [{ ...record(`value ${n}`), key: Buffer.from(`key ${n}`) }]).flushed;
  }
  log.setHighWatermark(log.flushedOffset);
  await store.maintain();
  await store.close();
  return index;
}

describe('a newer format is refused with a sentence', () => {
  const open = async (directory: string): Promise<void> => {
    const { store } = await openStore({ directory, index: new MemoryIndex() });
    try {
      await store.openPartition({ ...PARTITION, leaderEpoch: 2 });
    } finally {
      await store.close();
    }
  };
  const sentence =
    /written in (format 2; this version reads up to 1: use a newer one|a newer format than this version reads)$/;

  it.each(['node.json', 'topic.json', 'manifest.json'])('%s', (file) =>
    withDirectory(async (directory) => {
      await writeEverything(directory);
      const path = join(directory, placeOf(file));
      const content = readFileSync(path, 'utf8');
      expect(content).toContain(`"formatVersion":${frame.FORMAT_VERSION}`);
      const { checksum, ...fields } = JSON.parse(content) as Record<string, unknown>;
      expect(content).toBe(jsonFileOf(fields));
      expect(content).toContain(`,"checksum":"${String(checksum)}"}`);
      writeFileSync(path, jsonFileOf({ ...fields, formatVersion: frame.FORMAT_VERSION + 1 }));
      const opening = open(directory);
      expect(await codeOf(opening)).toBe('format');
      await expect(opening).rejects.toThrow(sentence);
      expect(readFileSync(path, 'utf8')).toContain('"formatVersion":2');
    }),
  );

  it('a batch', () =>
    withDirectory(async (directory) => {
      const { store } = await openStore({ directory, index: new MemoryIndex() });
      const log = await store.openPartition(PARTITION);
      await append(log, [record('one')]).flushed;
      await append(log, [record('two')]).flushed;
      await store.close();
      const path = join(directory, LOG, fileNames.segmentFileName(1, 0));
      const bytes = readFileSync(path);
      const view = frame.viewOf(bytes);
      const second = frame.batchByteLengthAt(view, 0);
      bytes[second + frame.BATCH_VERSION_AT] = 2;
      const checksum = frame.batchChecksum(bytes, view, second, frame.batchByteLengthAt(view, second));
      view.setUint32(second + frame.BATCH_CHECKSUM_AT, checksum);
      writeFileSync(path, bytes);
      writeFileSync(join(directory, LOG, fileNames.CHECKPOINT_FILE), '');
      const opening = open(directory);
      expect(await codeOf(opening)).toBe('format');
      await expect(opening).rejects.toThrow(sentence);
      expect(readFileSync(path).equals(bytes)).toBe(true);
    }));
});
