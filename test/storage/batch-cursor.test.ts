// The writer and the cursor agree on any records; and whatever bytes the cursor is given, it ends, with records or
// with a coded error.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchCursor, type RecordRange } from '../../storage/batch-cursor.ts';
import { NO_OPTIONS } from '../../storage/batch-frame.ts';
import { BatchWriter } from '../../storage/batch-writer.ts';
import { StorageError } from '../../storage/errors.ts';
import { Chunk } from '../../storage/tail-cache.ts';
import { recordsOf, type TestRecord, write } from '../helpers/store-fixture.ts';

const bytes = fc.uint8Array({ maxLength: 70 }).map(Buffer.from);
const text = fc.oneof(fc.string({ maxLength: 40 }), fc.constant('n'));
const records: fc.Arbitrary<TestRecord[]> = fc.array(
  fc.record({
    timestampMs: fc.oneof(fc.maxSafeInteger(), fc.constant(-1)),
    key: fc.option(bytes, { nil: null }),
    value: fc.option(bytes, { nil: null }),
    headers: fc.array(fc.tuple(text, fc.option(bytes, { nil: null })), { maxLength: 20 }),
  }),
  { minLength: 1, maxLength: 8 },
);

/** Starts with a tiny chunk, so that the batch has to move. */
function encode(each: readonly TestRecord[], chunkBytes = 100): RecordRange {
  const owner = { forget: () => {} };
  const writer = new BatchWriter(
    new Chunk(Buffer.alloc(chunkBytes), owner),
    (roomBytes) => new Chunk(Buffer.alloc(roomBytes), owner),
  );
  writer.begin(writer.chunk, 5, 1, NO_OPTIONS);
  for (const record of each) write(writer, record);
  writer.finish();
  const { chunk, batchAt, byteLength } = writer;
  return { bytes: chunk.bytes, start: batchAt, end: batchAt + byteLength, nextOffset: 5 + each.length };
}

function walk(range: RecordRange): void {
  const cursor = new BatchCursor();
  cursor.reset(range);
  while (cursor.nextBatch()) {
    while (cursor.nextRecord()) {
      while (cursor.nextHeader());
      while (cursor.nextAttribute());
    }
  }
}

describe('writer and cursor', () => {
  it('agree on any records, wherever the batch had to move', () =>
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 3000 }), (each, chunkBytes) => {
        const read = recordsOf(encode(each, chunkBytes));
        expect(read).toEqual(each.map((record, index) => ({ ...record, offset: 5 + index })));
      }),
    ));

  it('agree on lengths at which prefixes change', () => {
    const lengths = [0, 1, 15, 16, 31, 32, 47, 48, 255, 256, 65_535, 65_536];
    const each = lengths.map((length) => ({
      timestampMs: length,
      key: Buffer.alloc(length, 'k'),
      value: Buffer.alloc(length, 'v'),
      headers: [['n'.repeat(length), Buffer.alloc(length, 'h')] as const],
    }));
    // toEqual takes seconds over as many bytes.
    const read = recordsOf(encode(each));
    for (const [index, { key, value, headers }] of read.entries()) {
      expect(key?.equals(each[index]!.key)).toBe(true);
      expect(value?.equals(each[index]!.value)).toBe(true);
      expect(headers[0]![0] === each[index]!.headers[0]![0]).toBe(true);
      expect(headers[0]![1]?.equals(each[index]!.headers[0]![1])).toBe(true);
    }
    expect(read.length).toBe(lengths.length);
  });

  it.each([7, 8, 32_767, 32_768])('agree on %i headers, around where their prefix changes', (count) => {
    const headers = Array.from({ length: count }, (_, index) => [`${index}`, null] as const);
    const [read] = recordsOf(encode([{ timestampMs: 1, key: null, value: null, headers }]));
    expect(read!.headers.map(([name]) => name).join()).toBe(headers.map(([name]) => name).join());
  });

  it('start over on headers and attributes', () => {
    const range = encode([
      {
        timestampMs: 1,
        key: null,
        value: null,
        headers: [
          ['a', null],
          ['b', null],
        ],
      },
    ]);
    const cursor = new BatchCursor();
    cursor.reset(range);
    cursor.nextBatch();
    cursor.nextRecord();
    const names = (): string[] => {
      const read = [];
      while (cursor.nextHeader()) read.push(cursor.bytes.toString('utf8', cursor.nameStart, cursor.nameEnd));
      return read;
    };
    expect(names()).toEqual(['a', 'b']);
    expect(names()).toEqual([]);
    cursor.rewindHeaders();
    expect(names()).toEqual(['a', 'b']);
    expect(cursor.nextAttribute()).toBe(false);
  });
});

describe('a cursor on damaged bytes', () => {
  it('ends, and throws nothing but a coded error', () =>
    fc.assert(
      fc.property(
        records,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 }),
        (each, changes) => {
          const { bytes: encoded, start, end } = encode(each);
          // Exactly as long as the range, so that reading behind it would be noticed.
          const damaged = Buffer.from(encoded.subarray(start, end));
          for (const [at, byte] of changes) damaged[at % damaged.length] = byte;
          try {
            walk({ bytes: damaged, start: 0, end: damaged.length, nextOffset: 0 });
          } catch (error) {
            expect(error).toBeInstanceOf(StorageError);
            expect(error).toMatchObject({ code: 'corrupt' });
          }
        },
      ),
      { numRuns: 1000 },
    ));
});
