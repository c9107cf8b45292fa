// Both directions between record batches and the hub's records: what is taken, what is refused, what comes out.

import { fc, it as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import {
  batchOptionsOf,
  decompressBatch,
  type EncodeOptions,
  encodeBatches,
  validateBatch,
  type WriteOptions,
  writeRecords,
} from '../../../protocols/kafka/record-mapping.ts';
import { BatchEncoder } from '../../../protocols/kafka/records/batch-encoder.ts';
import { RecordsError } from '../../../protocols/kafka/records/errors.ts';
import {
  CollectingWriter,
  type MemoryBatch,
  type MemoryRecord,
  memoryRange,
} from './records/memory-records.ts';
import { lengthAnd, rawBatch, rawRecord, simpleRecord, zigzag } from './records/raw-batch.ts';
import { type DecodedBatch, readBatches } from './records/read-batches.ts';

const K = Buffer.from('k');
const V = Buffer.from('value');

describe('a produced batch', () => {
  it('is written record by record: null, empty, headers in order with duplicates', async () => {
    const headers = [
      zigzag(3),
      lengthAnd(Buffer.from('a')),
      lengthAnd(V),
      lengthAnd(Buffer.from('a')),
      lengthAnd(null),
    ];
    const records = [
      simpleRecord(0, null, Buffer.alloc(0), 5),
      simpleRecord(1, Buffer.alloc(0), null, -7),
      rawRecord([
        zigzag(0),
        zigzag(2),
        lengthAnd(K),
        lengthAnd(V),
        ...headers,
        lengthAnd(Buffer.alloc(0)),
        lengthAnd(K),
      ]),
    ];
    expect(await produce(rawBatch(records))).toEqual([
      { offset: 0, timestampMs: 1005, key: null, value: Buffer.alloc(0), headers: [] },
      { offset: 1, timestampMs: 993, key: Buffer.alloc(0), value: null, headers: [] },
      {
        offset: 2,
        timestampMs: 1000,
        key: K,
        value: V,
        headers: [
          ['a', V],
          ['a', null],
          ['', K],
        ],
      },
    ]);
  });

  it('takes the hub’s time where the topic wants it', async () => {
    const [record] = await produce(rawBatch([simpleRecord(0, K, V)]), { logAppendTimeMs: 77 });
    expect(record?.timestampMs).toBe(77);
  });

  it('may have no timestamp', async () => {
    const [record] = await produce(rawBatch([simpleRecord(0, K, V)], { baseTimestamp: -1n }));
    expect(record?.timestampMs).toBe(-1);
  });

  it('hands on the identity of its producer', () => {
    const fields = { producerId: 4_000_000_001n, producerEpoch: 3, baseSequence: 17, attributes: 0x10 };
    const batch = validateBatch(rawBatch([simpleRecord(0, K, V)], fields), { batchBytesMax: 1000 });
    expect(batchOptionsOf(batch, Buffer.alloc(10), 'flushed', false)).toEqual({
      ...{ acks: 'flushed', logAppendTime: false },
      byteLengthHint: 256 + 10 + 48,
      producerId: 4_000_000_001,
      producerEpoch: 3,
      baseSequence: 17,
      recordCount: 1,
      transactional: true,
    });
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'invalid-record'],
    ['a wrong checksum', rawBatch([simpleRecord(0, K, V)], { crc: 5 }), 'corrupt-batch'],
    ['a length beyond the end', rawBatch([simpleRecord(0, K, V)], { batchLength: 5000 }), 'invalid-record'],
    ['a negative length', rawBatch([simpleRecord(0, K, V)], { batchLength: -1 }), 'corrupt-batch'],
    ['a length of 2 GiB', rawBatch([simpleRecord(0, K, V)], { batchLength: 0x7fffffff }), 'invalid-record'],
    ['a later format', rawBatch([simpleRecord(0, K, V)], { magic: 3 }), 'corrupt-batch'],
    ['format 1', rawBatch([simpleRecord(0, K, V)], { magic: 1 }), 'legacy-format'],
    ['bytes behind it', Buffer.concat([rawBatch([simpleRecord(0, K, V)]), K]), 'invalid-record'],
    [
      'a second batch',
      Buffer.concat([rawBatch([simpleRecord(0, K, V)]), rawBatch([simpleRecord(0, K, V)])]),
      'invalid-record',
    ],
    ['more than is allowed', rawBatch([simpleRecord(0, K, Buffer.alloc(9000))]), 'too-large'],
    ['no records', rawBatch([]), 'invalid-record'],
    ['a negative count', rawBatch([simpleRecord(0, K, V)], { recordCount: -3 }), 'invalid-record'],
    [
      'more offsets than records',
      rawBatch([simpleRecord(0, K, V)], { lastOffsetDelta: 4 }),
      'invalid-record',
    ],
    ['control records', rawBatch([simpleRecord(0, K, V)], { attributes: 0x20 }), 'invalid-record'],
    [
      'a producer without a sequence',
      rawBatch([simpleRecord(0, K, V)], { producerId: 5n, producerEpoch: 0 }),
      'invalid-record',
    ],
    [
      'a transaction without a producer',
      rawBatch([simpleRecord(0, K, V)], { attributes: 0x10 }),
      'invalid-record',
    ],
    [
      'an unknown compression',
      rawBatch([simpleRecord(0, K, V)], { attributes: 5 }),
      'unsupported-compression',
    ],
    ['what is not gzip', rawBatch([simpleRecord(0, K, V)], { attributes: 1 }), 'invalid-record'],
  ])('with %s is refused', async (_, bytes, code) => {
    expect(await faultOf(bytes)).toBe(code);
  });

  it.each([
    ['fewer records than it says', [simpleRecord(0, K, V)], { recordCount: 2, lastOffsetDelta: 1 }],
    [
      'more records than it says',
      [simpleRecord(0, K, V), simpleRecord(1, K, V)],
      { recordCount: 1, lastOffsetDelta: 0 },
    ],
    [
      'a count that its bytes cannot hold',
      [simpleRecord(0, K, V)],
      { recordCount: 1e9, lastOffsetDelta: 1e9 - 1 },
    ],
    ['bytes behind the last record', [Buffer.concat([simpleRecord(0, K, V), K])], {}],
    ['offsets out of order', [simpleRecord(1, K, V), simpleRecord(0, K, V)], {}],
    [
      'a record longer than its batch',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(0)], 99)],
      {},
    ],
    [
      'a record shorter than its fields',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(0)], 8)],
      {},
    ],
    [
      'a record longer than its fields',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(0), K])],
      {},
    ],
    [
      'a negative record length',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(0)], -5)],
      {},
    ],
    [
      'a key beyond its record',
      [rawRecord([zigzag(0), zigzag(0), zigzag(50), K, lengthAnd(V), zigzag(0)])],
      {},
    ],
    ['a key length of −2', [rawRecord([zigzag(0), zigzag(0), zigzag(-2), lengthAnd(V), zigzag(0)])], {}],
    [
      'a value length of 2 GiB',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), zigzag(0x7fffffff), zigzag(0)])],
      {},
    ],
    [
      'a header count of 2 GiB',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(0x7fffffff)])],
      {},
    ],
    [
      'a negative header count',
      [rawRecord([zigzag(0), zigzag(0), lengthAnd(K), lengthAnd(V), zigzag(-1)])],
      {},
    ],
    [
      'a header without a name',
      [
        rawRecord([
          zigzag(0),
          zigzag(0),
          lengthAnd(K),
          lengthAnd(V),
          zigzag(1),
          lengthAnd(null),
          lengthAnd(V),
        ]),
      ],
      {},
    ],
    [
      'a varint of six bytes',
      [rawRecord([zigzag(0), Buffer.from('808080808000', 'hex'), lengthAnd(K), lengthAnd(V), zigzag(0)])],
      {},
    ],
    [
      'a varint of 33 bits',
      [rawRecord([zigzag(0), Buffer.from('8080808010', 'hex'), lengthAnd(K), lengthAnd(V), zigzag(0)])],
      {},
    ],
    [
      'a varlong of eleven bytes',
      [
        rawRecord([
          Buffer.from('8080808080808080808000', 'hex'),
          zigzag(0),
          lengthAnd(K),
          lengthAnd(V),
          zigzag(0),
        ]),
      ],
      {},
    ],
    [
      'a varlong of 65 bits',
      [
        rawRecord([
          Buffer.from('80808080808080808002', 'hex'),
          zigzag(0),
          lengthAnd(K),
          lengthAnd(V),
          zigzag(0),
        ]),
      ],
      {},
    ],
  ])('with %s is refused, and its checksum is right', async (_, records, fields) => {
    expect(await faultOf(rawBatch(records, fields))).toBe('invalid-record');
  });

  it.each([
    ['before the epoch', 1000n, -2000],
    ['beyond 2^53', 1000n, 2n ** 53n],
    ['at the end of int64', 2n ** 63n - 1n, 0],
  ])('with a time %s is refused', async (_, baseTimestamp, delta) => {
    expect(await faultOf(rawBatch([simpleRecord(0, K, V, delta)], { baseTimestamp }))).toBe(
      'invalid-timestamp',
    );
  });

  it('is refused for each record without a key, on a compacted topic', async () => {
    const bytes = rawBatch([simpleRecord(0, null, V), simpleRecord(1, K, V), simpleRecord(2, null, V)]);
    const error: unknown = await produce(bytes, { requireKeys: true }).catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(RecordsError);
    expect(error).toMatchObject({ code: 'invalid-record', faults: [{ recordIndex: 0 }, { recordIndex: 2 }] });
  });

  it('with any one bit flipped behind a right checksum is written or refused', async () => {
    const records = [
      simpleRecord(0, K, V, 300),
      rawRecord([zigzag(0), zigzag(1), lengthAnd(K), lengthAnd(null), zigzag(1), lengthAnd(K), lengthAnd(V)]),
    ];
    const section = Buffer.concat(records);
    for (let bit = 0; bit < section.length * 8; bit++) {
      const damaged = Buffer.from(section);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const fields = { recordCount: 2, lastOffsetDelta: 1 };
      expect([undefined, 'invalid-record', 'invalid-timestamp']).toContain(
        await faultOf(rawBatch([damaged], fields)),
      );
    }
  });
});

describe('a fetched range', () => {
  const record = (offset: number, more: Partial<MemoryRecord> = {}): MemoryRecord => ({
    offset,
    timestampMs: 1000 + offset,
    key: K,
    value: V,
    headers: [],
    ...more,
  });

  it('merges batches without a producer into one', async () => {
    const batches = await fetch([{ records: [record(5), record(6)] }, { records: [record(7)] }]);
    expect(batches.map(spanOf)).toEqual([[5, 7, 3]]);
    expect(batches[0]?.batch.maxTimestampMs).toBe(1007);
  });

  it('keeps one batch for each of a producer, with its sequence', async () => {
    const identity = { producerId: 9, producerEpoch: 1 };
    const batches = await fetch([
      { records: [record(0)] },
      { records: [record(1), record(2)], ...identity, baseSequence: 0 },
      { records: [record(3)], ...identity, baseSequence: 2 },
      { records: [record(4)] },
    ]);
    expect(batches.map(spanOf)).toEqual([
      [0, 0, 1],
      [1, 2, 2],
      [3, 3, 1],
      [4, 4, 1],
    ]);
    expect(batches.map(({ batch }) => [batch.producerId, batch.producerEpoch, batch.baseSequence])).toEqual([
      [-1, -1, -1],
      [9, 1, 0],
      [9, 1, 2],
      [-1, -1, -1],
    ]);
  });

  it('does not merge across leader epochs, times of append, or timestamp types', async () => {
    const batches = await fetch([
      { records: [record(0)], leaderEpoch: 1 },
      { records: [record(1)], leaderEpoch: 2 },
      { records: [record(2, { timestampMs: 50 })], leaderEpoch: 2, isLogAppendTime: true },
      { records: [record(3, { timestampMs: 50 })], leaderEpoch: 2, isLogAppendTime: true },
      { records: [record(4, { timestampMs: 51 })], leaderEpoch: 2, isLogAppendTime: true },
    ]);
    expect(batches.map(spanOf)).toEqual([
      [0, 0, 1],
      [1, 1, 1],
      [2, 3, 2],
      [4, 4, 1],
    ]);
  });

  it('keeps offsets and holes, and spans them', async () => {
    const batches = await fetch([
      { records: [record(12), record(15)], baseOffset: 10, lastOffset: 19 },
      { records: [], baseOffset: 20, lastOffset: 29 },
    ]);
    expect(batches.map(spanOf)).toEqual([[10, 29, 2]]);
    expect(batches[0]?.records.map(({ offset }) => offset)).toEqual([12, 15]);
  });

  it('moves a reader on over batches that hold nothing any more', async () => {
    const batches = await fetch([
      { records: [], baseOffset: 20, lastOffset: 29, producerId: 3, baseSequence: 4 },
    ]);
    expect(batches.map(spanOf)).toEqual([[20, 29, 0]]);
  });

  it('begins at the offset asked for', async () => {
    const batches = await fetch([{ records: [record(0), record(1), record(2)] }], { fromOffset: 1 });
    expect(batches.map(spanOf)).toEqual([[1, 2, 2]]);
  });

  it('marks transactional and control batches', async () => {
    const batches = await fetch([
      { records: [record(0)], producerId: 7, isTransactional: true },
      { records: [record(1)], producerId: 7, isTransactional: true, isControl: true },
    ]);
    expect(batches.map(({ batch }) => [batch.isTransactional, batch.isControl])).toEqual([
      [true, false],
      [true, true],
    ]);
  });

  it('shows source attributes behind the headers, but not private ones', async () => {
    const headers: MemoryRecord['headers'] = [
      ['mqtt.qos', V],
      ['x', null],
    ];
    const attributes: MemoryRecord['attributes'] = [
      ['mqtt.topic', K],
      ['_packet', V],
      ['mqtt.empty', Buffer.alloc(0)],
    ];
    const [batch] = await fetch([
      { records: [record(0, { headers, attributes }), record(1, { attributes })] },
    ]);
    expect(batch?.records.map((each) => each.headers)).toEqual([
      [
        ['mqtt.qos', V],
        ['x', null],
        ['mqtt.topic', K],
        ['mqtt.empty', Buffer.alloc(0)],
      ],
      [
        ['mqtt.topic', K],
        ['mqtt.empty', Buffer.alloc(0)],
      ],
    ]);
  });

  it('shows source attributes that are those of the record before as they are', async () => {
    const ofOne: MemoryRecord['attributes'] = [
      ['mqtt.topic', K],
      ['_packet', V],
      ['mqtt.qos', V],
    ];
    const ofOther: MemoryRecord['attributes'] = [
      ['mqtt.topic', V],
      ['_packet', K],
      ['mqtt.qos', V],
    ];
    const headers: MemoryRecord['headers'] = [['x', K]];
    const batches = await fetch([
      { records: [record(0, { attributes: ofOne }), record(1, { attributes: ofOne }), record(2)] },
      { records: [record(3, { attributes: ofOne }), record(4, { attributes: ofOther })] },
      { records: [record(5, { attributes: ofOther, headers }), record(6, { attributes: ofOther })] },
    ]);
    const one = [
      ['mqtt.topic', K],
      ['mqtt.qos', V],
    ];
    const other = [
      ['mqtt.topic', V],
      ['mqtt.qos', V],
    ];
    expect(batches.flatMap(({ records }) => records.map((each) => each.headers))).toEqual([
      ...[one, one, [], one, other],
      ...[[['x', K], ...other], other],
    ]);
  });

  it('stops before the stored batch that would be too much, but never before the first', async () => {
    const stored = [0, 1, 2].map((offset) => ({ records: [record(offset)], byteLength: 1000 }));
    expect((await fetch(stored, { bytesMax: 1 })).map(spanOf)).toEqual([[0, 0, 1]]);
    expect((await fetch(stored, { bytesMax: 1080 })).map(spanOf)).toEqual([[0, 1, 2]]);
    expect(await fetch(stored, { bytesMax: 1, atLeastOne: false })).toEqual([]);
  });

  it('splits what it merges when it gets large', async () => {
    const value = Buffer.alloc(100_000, 'x');
    const batches = await fetch([0, 1, 2, 3, 4].map((offset) => ({ records: [record(offset, { value })] })));
    expect(batches.map(spanOf)).toEqual([
      [0, 2, 3],
      [3, 4, 2],
    ]);
  });

  it('grows its arena without harm to what it has encoded', async () => {
    // Many headers repeat one source byte range into an output far larger than its source.
    const encoder = new BatchEncoder();
    const big = record(0, { value: Buffer.alloc(300_000, 'y') });
    const first = encode(encoder, [{ records: [record(0)] }]);
    const second = encode(encoder, [{ records: [big, record(1), { ...big, offset: 2 }] }]);
    const batches = await readBatches(Buffer.concat([first, second]));
    expect(batches.flatMap(({ records }) => records.map((each) => each.value?.length))).toEqual([
      5, 300_000, 5, 300_000,
    ]);
  });

  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
  const nullable = fc.option(bytes);
  const arbitraryRecord = fc.record({
    timestampMs: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 2 ** 31 }), fc.maxSafeNat()),
    key: nullable,
    value: nullable,
    headers: fc.array(fc.tuple(fc.string({ maxLength: 80 }), nullable), { maxLength: 4 }),
    gap: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 100_000 })),
  });

  property.prop([
    fc.array(fc.array(arbitraryRecord, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 }),
  ])('comes back as it was stored', async (lists) => {
    let offset = 2 ** 40;
    const stored = lists.map((list) => ({
      records: list.map(({ gap, ...rest }) => {
        offset += gap;
        return { ...rest, offset };
      }),
    }));
    const batches = await fetch(stored);
    expect(batches.flatMap(({ records }) => records)).toEqual(stored.flatMap(({ records }) => records));
  });
});

async function produce(bytes: Buffer, options?: WriteOptions): Promise<readonly MemoryRecord[]> {
  const batch = validateBatch(bytes, { batchBytesMax: 8192 });
  const section = await decompressBatch(batch, 1e6);
  const writer = new CollectingWriter();
  writeRecords(writer, batch, section, options);
  return writer.records;
}

async function faultOf(bytes: Buffer): Promise<string | undefined> {
  try {
    await produce(bytes);
    return undefined;
  } catch (error) {
    if (error instanceof RecordsError) return error.code;
    throw error;
  }
}

function encode(
  encoder: BatchEncoder,
  stored: readonly MemoryBatch[],
  options: Partial<EncodeOptions> = {},
): Buffer {
  const { range, cursor } = memoryRange(stored);
  const fromOffset = stored[0]?.baseOffset ?? stored[0]?.records[0]?.offset ?? 0;
  return encodeBatches(encoder, cursor, range, { fromOffset, bytesMax: 1e9, atLeastOne: true, ...options })
    .bytes;
}

function fetch(
  stored: readonly MemoryBatch[],
  options: Partial<EncodeOptions> = {},
): Promise<DecodedBatch[]> {
  return readBatches(encode(new BatchEncoder(), stored, options));
}

function spanOf({ batch }: DecodedBatch): [number, number, number] {
  return [batch.baseOffset, batch.baseOffset + batch.lastOffsetDelta, batch.recordCount];
}
