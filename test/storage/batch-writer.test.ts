// The batch writer's short ways (records like the one before, slices of one source) give what the long way gives.
import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { BatchCursor } from '../../storage/batch-cursor.ts';
import { NO_OPTIONS } from '../../storage/batch-frame.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { Chunk } from '../../storage/tail-cache.ts';

const owner = { forget: () => {} };
const KEYS = [Buffer.from('a/key'), Buffer.alloc(60, 'k'), Buffer.alloc(0)];
const ATTRIBUTES = [null, Buffer.from([0x90]), Buffer.from([0x92, 0xa1, 0x61, 0xc4, 0x01, 0x01])];
/** No two stretches of it are alike. */
const SOURCES = [300, 5000, 200_000].map((length, seed) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32BE(at * 8 + seed, at);
  return bytes;
});

interface Planned {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
  readonly key: Buffer;
  readonly attributes: Buffer | null;
  readonly timestampMs: number;
}

function newWriter(chunkBytes: number): BatchWriter {
  const next = (room: number): Chunk => new Chunk(Buffer.alloc(Math.max(room, chunkBytes), 0xee), owner);
  const chunk = next(chunkBytes);
  const writer = new BatchWriter(chunk, next);
  writer.begin(chunk, 7, 1, NO_OPTIONS);
  return writer;
}

/** @returns whether it was like the one before. */
function write(writer: BatchWriter, planned: Planned): boolean {
  const { source, start, end, key, attributes, timestampMs } = planned;
  writer.lastingSource = source;
  if (writer.repeatRecord(timestampMs, key, source, start, end, attributes)) return true;
  writer.startRecord(timestampMs, key, 0, key.length, 0);
  writer.endRecord(source, start, end, attributes);
  return false;
}

function expectRecords(writer: BatchWriter, planned: readonly Planned[]): void {
  const { batchAt, byteLength } = writer;
  const { bytes } = writer.chunk;
  const cursor = new BatchCursor();
  cursor.reset({ bytes, start: batchAt, end: batchAt + byteLength, nextOffset: 7 + planned.length });
  expect(cursor.nextBatch()).toBe(true);
  expect(cursor.batchMaxTimestampMs).toBe(Math.max(...planned.map(({ timestampMs }) => timestampMs)));
  for (const [index, { source, start, end, key, attributes, timestampMs }] of planned.entries()) {
    expect(cursor.nextRecord()).toBe(true);
    expect([cursor.offset, cursor.timestampMs]).toEqual([7 + index, timestampMs]);
    expect(bytes.subarray(cursor.keyStart, cursor.keyEnd).equals(key)).toBe(true);
    expect(bytes.subarray(cursor.valueStart, cursor.valueEnd).equals(source.subarray(start, end))).toBe(true);
    const held = bytes.subarray(cursor.attributesStart, cursor.attributesEnd);
    expect(held.equals(attributes ?? Buffer.alloc(0))).toBe(true);
  }
  expect(cursor.nextRecord()).toBe(false);
}

const plan = fc
  .tuple(fc.nat(2), fc.nat(), fc.oneof(fc.nat(120), fc.nat(1500)), fc.nat(5), fc.nat(5), fc.nat(1000))
  .map(([which, from, length, key, attributes, timestampMs]): Planned => {
    const source = SOURCES[which]!; // of three, as the others
    const start = from % (source.length + 1);
    // The first key and attributes are the usual ones.
    return {
      ...{ source, start, end: Math.min(start + length, source.length), timestampMs },
      key: KEYS[Math.max(0, key - 3)]!,
      attributes: ATTRIBUTES[Math.max(0, attributes - 3)]!,
    };
  });

describe('a batch of records that are like one another', () => {
  test.prop([fc.array(plan, { minLength: 1, maxLength: 60 }), fc.constantFrom(600, 4096, 70_000)])(
    'holds what was written, in chunks of any size',
    (planned, chunkBytes) => {
      const writer = newWriter(chunkBytes);
      for (const each of planned) write(writer, each);
      writer.finish();
      expectRecords(writer, planned);
    },
  );

  it('holds the packets of one piece, which are copied from a window of it', () => {
    const planned = Array.from({ length: 1500 }, (_, index): Planned => {
      const start = index * 128;
      return {
        source: SOURCES[2]!,
        start,
        end: start + 100,
        key: KEYS[0]!,
        attributes: null,
        timestampMs: 5,
      };
    });
    const writer = newWriter(1024 * 1024);
    const repeated = planned.map((each) => write(writer, each));
    expect(repeated.filter((each) => !each).length).toBe(1);
    writer.finish();
    expectRecords(writer, planned);
  });

  it('looks again at a source that nobody calls lasting', () => {
    const source = Buffer.alloc(64);
    const writer = newWriter(64 * 1024);
    const planned = [1, 2, 3, 4].map((each): Planned => {
      const record = { start: 0, end: 64, key: KEYS[0]!, attributes: null, timestampMs: 5 };
      source.fill(each);
      writer.startRecord(5, record.key, 0, record.key.length, 0);
      writer.endRecord(source, 0, 64, null);
      return { ...record, source: Buffer.from(source) };
    });
    writer.finish();
    expectRecords(writer, planned);
  });

  it('does not go on with a record that was taken back', () => {
    const each: Planned = {
      source: SOURCES[0]!,
      start: 0,
      end: 9,
      key: KEYS[0]!,
      attributes: null,
      timestampMs: 5,
    };
    const writer = newWriter(4096);
    write(writer, each);
    const { byteLength } = writer;
    write(writer, { ...each, start: 9, end: 99 });
    writer.rewind(1, byteLength, 5);
    expect(write(writer, each)).toBe(false);
    writer.finish();
    expectRecords(writer, [each, each]);
  });
});
