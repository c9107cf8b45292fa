// Record batches of Kafka's own encoder: all codecs, and all that a batch can say about itself.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { encodeBatches } from '../../../../protocols/kafka/record-mapping.ts';
import { BatchEncoder } from '../../../../protocols/kafka/records/batch-encoder.ts';
import { RecordsError } from '../../../../protocols/kafka/records/errors.ts';
import { checkBatchCrc, readRecordBatch } from '../../../../protocols/kafka/records/record-batch.ts';
import { type MemoryBatch, type MemoryRecord, memoryRange } from './memory-records.ts';
import { readBatches } from './read-batches.ts';

interface GoldenBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly partitionLeaderEpoch: number;
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  readonly timestampType: string;
  readonly transactional: boolean;
  readonly control: boolean;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly maxTimestamp: number;
  readonly sizeInBytes: number;
  readonly records: readonly {
    readonly offset: number;
    readonly timestamp: number;
    readonly key: string | null;
    readonly value: string | null;
    readonly headers: readonly { readonly name: string; readonly value: string | null }[];
  }[];
}

interface Vector {
  readonly name: string;
  readonly batches: readonly GoldenBatch[];
  readonly hex: string;
}

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const vectors: Vector[] = readFileSync(
  new URL('../../../golden/kafka/record-batches.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const legacy = vectors.filter((vector) => vector.name.startsWith('legacy'));
const current = vectors.filter((vector) => !vector.name.startsWith('legacy'));

it('has all of the vectors', () => {
  expect([current.length, legacy.length]).toEqual([20, 2]);
});

describe.each(current)('$name', ({ batches, hex }) => {
  it('decodes to what Kafka wrote', async () => {
    const decoded = await readBatches(Buffer.from(hex, 'hex'));
    expect(decoded.map(({ records }) => records)).toEqual(batches.map(recordsOf));
    const told = decoded.map(({ batch }) => ({
      baseOffset: batch.baseOffset,
      lastOffset: batch.baseOffset + batch.lastOffsetDelta,
      partitionLeaderEpoch: batch.leaderEpoch,
      compression: CODECS[batch.compression],
      timestampType: batch.isLogAppendTime ? 'LogAppendTime' : 'CreateTime',
      transactional: batch.isTransactional,
      control: batch.isControl,
      producerId: batch.producerId,
      producerEpoch: batch.producerEpoch,
      baseSequence: batch.baseSequence,
      maxTimestamp: batch.maxTimestampMs,
      sizeInBytes: batch.end - batch.start,
    }));
    expect(batches).toMatchObject(told);
  });

  it('is encoded by us so that it decodes to the same', async () => {
    const { range, cursor } = memoryRange(batches.map(memoryBatchOf));
    const { bytes, nextOffset } = encodeBatches(new BatchEncoder(), cursor, range, {
      fromOffset: batches[0]!.baseOffset,
      bytesMax: 1e6,
      atLeastOne: true,
    });
    const decoded = await readBatches(bytes);
    expect(decoded.flatMap(({ records }) => records)).toEqual(batches.flatMap(recordsOf));
    expect(nextOffset).toBe(batches.at(-1)!.lastOffset + 1);
    const last = decoded.at(-1)!.batch;
    expect(last.baseOffset + last.lastOffsetDelta).toBe(batches.at(-1)!.lastOffset);
  });

  it('is damaged wherever a byte of it changes', () => {
    const bytes = Buffer.from(hex, 'hex');
    const end = readRecordBatch(bytes, 0, bytes.length).end;
    // Base offset and leader epoch are the broker's to set, and not covered.
    const covered = [8, 9, 10, 11, 16, 17, 18, 19, 20, ...Array.from({ length: end - 21 }, (_, i) => 21 + i)];
    const unnoticed = covered.filter((at) => {
      bytes[at]! ^= 0x40;
      const fault = faultOf(() => checkBatchCrc(readRecordBatch(bytes, 0, bytes.length)));
      bytes[at]! ^= 0x40;
      return fault === undefined;
    });
    expect(unnoticed).toEqual([]);
  });

  it('is no batch when cut short', () => {
    const bytes = Buffer.from(hex, 'hex');
    const { end } = readRecordBatch(bytes, 0, bytes.length);
    const faults = Array.from({ length: end }, (_, length) =>
      faultOf(() => readRecordBatch(bytes, 0, length)),
    );
    expect(new Set(faults)).toEqual(new Set(['invalid-record']));
  });
});

it('encodes uncompressed batches to the very bytes of Kafka', () => {
  for (const name of [
    'mixed-none',
    'single',
    'idempotent',
    'idempotent-sequence-wrap',
    'transactional',
    'holes',
  ]) {
    const vector = current.find((candidate) => candidate.name === name)!;
    const { range, cursor } = memoryRange(vector.batches.map(memoryBatchOf));
    const options = { fromOffset: vector.batches[0]!.baseOffset, bytesMax: 1e6, atLeastOne: true };
    expect(encodeBatches(new BatchEncoder(), cursor, range, options).bytes.toString('hex'), name).toBe(
      vector.hex,
    );
  }
});

it.each(legacy)('$name is told to be of a legacy format', ({ hex }) => {
  const bytes = Buffer.from(hex, 'hex');
  expect(() => readRecordBatch(bytes, 0, bytes.length)).toThrow(
    expect.objectContaining({ code: 'legacy-format' }),
  );
});

/** The code of the RecordsError that `read` throws, undefined when it does not throw; anything else is rethrown. */
function faultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof RecordsError) return error.code;
    throw error;
  }
}

function recordsOf(batch: GoldenBatch): MemoryRecord[] {
  return batch.records.map(({ offset, timestamp, key, value, headers }) => ({
    offset,
    timestampMs: timestamp,
    key: fromHex(key),
    value: fromHex(value),
    headers: headers.map((header) => [header.name, fromHex(header.value)] as const),
  }));
}

function memoryBatchOf(batch: GoldenBatch): MemoryBatch {
  return {
    records: recordsOf(batch),
    baseOffset: batch.baseOffset,
    lastOffset: batch.lastOffset,
    leaderEpoch: batch.partitionLeaderEpoch,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    isTransactional: batch.transactional,
    isControl: batch.control,
    ...(batch.control ? endOf(batch) : {}),
    isLogAppendTime: batch.timestampType === 'LogAppendTime',
  };
}

/** A control record's key is version and type, i16 each (0: abort), its value version i16 and coordinator epoch i32. */
function endOf(batch: GoldenBatch): Pick<MemoryBatch, 'aborts' | 'coordinatorEpoch'> {
  const [{ key, value }] = recordsOf(batch) as [MemoryRecord]; // a control batch has one record
  return { aborts: key!.readInt16BE(2) === 0, coordinatorEpoch: value!.readInt32BE(2) };
}

function fromHex(hex: string | null): Buffer | null {
  return hex === null ? null : Buffer.from(hex, 'hex');
}
