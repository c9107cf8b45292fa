// FORMAT.md against the code: its worked example is read from the page and compared byte by byte, both ways.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unpackr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import * as frame from '../../storage/frame.ts';
import { Chunk } from '../../storage/tail-cache.ts';

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
