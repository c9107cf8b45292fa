// Zigzag varints of record batches, against an encoder that works in BigInt throughout.

import { fc, test as property } from '@fast-check/vitest';
import { expect } from 'vitest';
import { RecordReader } from '../../../../protocols/kafka/records/record-reader.ts';
import {
  varintByteLength,
  varlongByteLength,
  writeVarint,
  writeVarlong,
} from '../../../../protocols/kafka/wire/varint.ts';
import { rawRecord, zigzag } from '../records/raw-batch.ts';

const int32 = fc.oneof(
  fc.integer(),
  fc.integer({ min: -70, max: 70 }),
  fc.constantFrom(-(2 ** 31), 2 ** 31 - 1),
);
const safe = fc.oneof(
  int32,
  fc.maxSafeInteger(),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
);

property.prop([int32])('writes an int32', (value) => {
  const bytes = Buffer.alloc(10);
  const end = writeVarint(bytes, 1, value);
  expect(bytes.subarray(1, end)).toEqual(zigzag(value));
  expect(varintByteLength(value)).toBe(end - 1);
});

property.prop([safe])('writes a safe integer', (value) => {
  const bytes = Buffer.alloc(12);
  const end = writeVarlong(bytes, 1, value);
  expect(bytes.subarray(1, end)).toEqual(zigzag(value));
  expect(varlongByteLength(value)).toBe(end - 1);
});

property.prop([safe, int32])('is read back', (timestampDelta, offsetDelta) => {
  const section = rawRecord([zigzag(timestampDelta), zigzag(offsetDelta), zigzag(-1), zigzag(-1), zigzag(0)]);
  const reader = new RecordReader();
  reader.reset(section, 0, section.length, 1);
  expect(reader.next()).toBe(true);
  expect([reader.timestampDelta, reader.offsetDelta]).toEqual([timestampDelta, offsetDelta]);
  expect(reader.next()).toBe(false);
});
