// The reader never reads beyond its frame, nor lets a frame ask for more memory than its size justifies.

import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { WireReader, ZERO_UUID } from '../../../../protocols/kafka/wire/reader.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';

const readerOf = (hex: string) => new WireReader(Buffer.from(hex, 'hex'));
const MALFORMED = expect.objectContaining({ name: 'WireError', code: 'malformed' });

describe('the reader', () => {
  it('reads integers with their sign', () => {
    const reader = readerOf('ff' + '8000' + '7fff' + '80000000' + 'fffffffffffffffe' + '0000000100000000');
    expect([
      reader.int8(),
      reader.int16(),
      reader.int16(),
      reader.int32(),
      reader.int64(),
      reader.int64(),
    ]).toEqual([-1, -32768, 32767, -2_147_483_648, -2, 2 ** 32]);
    expect(reader.remaining).toBe(0);
  });

  it('reads unsigned varints of up to 32 bits', () => {
    expect(readerOf('00').unsignedVarint()).toBe(0);
    expect(readerOf('ac02').unsignedVarint()).toBe(300);
    expect(readerOf('ffffffff0f').unsignedVarint()).toBe(2 ** 32 - 1);
  });

  it.each(['', '80', 'ffffffff1f', '808080808000'])('finds the varint %s malformed', (hex) => {
    expect(() => readerOf(hex).unsignedVarint()).toThrow(MALFORMED);
  });

  it('reads uuids in their canonical form', () => {
    expect(readerOf('00112233445566778899aabbccddeeff').uuid()).toBe('00112233-4455-6677-8899-aabbccddeeff');
    expect(readerOf('00'.repeat(16)).uuid()).toBe(ZERO_UUID);
  });

  it('replaces what is not UTF-8, as Kafka does', () => {
    expect(readerOf('61ff62').text(3)).toBe('a\ufffdb');
  });

  it('stays within a part of a buffer', () => {
    const reader = new WireReader(Buffer.from('000102030405', 'hex'), 2, 4);
    expect(reader.int16()).toBe(0x0203);
    expect(() => reader.int8()).toThrow(MALFORMED);
  });

  it('gives views of the frame, not copies', () => {
    const frame = Buffer.from('aabbcc', 'hex');
    expect(new WireReader(frame).slice(2).buffer).toBe(frame.buffer);
  });

  it.each([
    ['a negative length', (reader: WireReader) => reader.slice(-1)],
    ['a length of 2 GiB', (reader: WireReader) => reader.slice(0x7fffffff)],
    ['a text of 2 GiB', (reader: WireReader) => reader.text(0x7fffffff)],
    ['a section of 2 GiB', (reader: WireReader) => reader.enter(0x7fffffff)],
  ])('finds %s malformed', (_, read) => {
    expect(() => read(readerOf('0000'))).toThrow(MALFORMED);
  });

  it('does not read out of a section, nor leave it before its end', () => {
    const reader = readerOf('0102030405');
    const outerEnd = reader.enter(2);
    expect(() => reader.int32()).toThrow(MALFORMED);
    expect(() => reader.leave(outerEnd)).toThrow(MALFORMED);
    reader.int16();
    reader.leave(outerEnd);
    expect(reader.remaining).toBe(3);
  });

  it('skips unknown tagged fields within bounds', () => {
    const reader = readerOf('02' + '05' + '02' + 'aabb' + '09' + '00' + '77');
    reader.skipTaggedFields();
    expect(reader.int8()).toBe(0x77);
    expect(() => readerOf('010505aa').skipTaggedFields()).toThrow(MALFORMED);
    expect(() => readerOf('ffffffff0f').skipTaggedFields()).toThrow(MALFORMED);
  });
});

describe('the writer', () => {
  property.prop([fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })])(
    'writes any int64 that a number holds',
    (wide) => {
      const writer = new WireWriter();
      writer.int64(Number(wide));
      const bytes = writer.take();
      expect(new WireReader(bytes).int64()).toBe(Number(wide));
      if (Number.isSafeInteger(Number(wide))) expect(bytes.readBigInt64BE()).toBe(wide);
    },
  );

  it.each(['7fffffffffffffff', '8000000000000000', '001fffffffffffff', 'ffe0000000000001'])(
    'gives %s back as it came',
    (hex) => {
      const writer = new WireWriter();
      writer.int64(readerOf(hex).int64());
      expect(writer.take().toString('hex')).toBe(hex);
    },
  );

  property.prop([fc.string({ unit: 'binary', maxLength: 100 }), fc.boolean()])(
    'writes any text',
    (text, compact) => {
      const writer = new WireWriter();
      if (compact) writer.compactString(text);
      else writer.string(text);
      const bytes = writer.take();
      const reader = new WireReader(bytes);
      const length = compact ? reader.unsignedVarint() - 1 : reader.int16();
      expect(length).toBe(Buffer.byteLength(text));
      expect(reader.text(length)).toBe(Buffer.from(text).toString());
      expect(reader.remaining).toBe(0);
    },
  );

  it.each([
    ['an int8 of 128', (writer: WireWriter) => writer.int8(128)],
    ['an int16 of 40000', (writer: WireWriter) => writer.int16(40_000)],
    ['an int32 of 2^31', (writer: WireWriter) => writer.int32(2 ** 31)],
    ['a fraction', (writer: WireWriter) => writer.int32(0.5)],
    ['an int64 of 2^64', (writer: WireWriter) => writer.int64(2 ** 64)],
    ['not a number', (writer: WireWriter) => writer.int64(Number.NaN)],
    ['a text of 40 KB', (writer: WireWriter) => writer.string('x'.repeat(40_000))],
    ['a short uuid', (writer: WireWriter) => writer.uuid('1234')],
    [
      'a uuid with other letters',
      (writer: WireWriter) => writer.uuid('0011223z-4455-6677-8899-aabbccddeeff'),
    ],
  ])('refuses %s', (_, write) => {
    expect(() => write(new WireWriter())).toThrow(expect.objectContaining({ code: 'unrepresentable' }));
  });

  it('grows, and never touches again what it has handed out', () => {
    const writer = new WireWriter();
    const taken: Buffer[] = [];
    for (let size = 1; size < 300_000; size = size * 3 + 1) {
      writer.raw(Buffer.alloc(size, size & 0xff));
      writer.int8(1);
      taken.push(writer.take());
    }
    for (const bytes of taken) {
      const size = bytes.length - 1;
      expect(bytes.subarray(0, size).equals(Buffer.alloc(size, size & 0xff))).toBe(true);
    }
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 100_000])('puts the size of %d bytes before them', (size) => {
    const writer = new WireWriter();
    writer.int8(7);
    const from = writer.length;
    writer.raw(Buffer.alloc(size, 0x61));
    writer.prefixSize(from);
    const reader = new WireReader(writer.take());
    expect(reader.int8()).toBe(7);
    expect(reader.unsignedVarint()).toBe(size);
    expect(reader.text(size)).toBe('a'.repeat(size));
  });
});
