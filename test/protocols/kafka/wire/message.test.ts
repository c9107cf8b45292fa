// What a schema does with versions, defaults, nulls and tagged fields, and with hostile bytes.

import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  array,
  bytes,
  int8,
  int16,
  int32,
  int64,
  string,
  struct,
  uuid,
} from '../../../../protocols/kafka/wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../../../../protocols/kafka/wire/message.ts';
import { WireReader, ZERO_UUID } from '../../../../protocols/kafka/wire/reader.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';

const Sample = message(
  'Sample',
  { versions: [0, 4], flexible: 3 },
  {
    name: string({ nullable: '2+' }),
    count: int32({ versions: '1+', default: 7, ignorable: true }),
    strict: int16({ versions: '2-3' }),
    items: array({ id: int64(), note: string({ versions: '2+', nullable: '0+', default: null }) }),
    body: bytes({ versions: '4+' }),
    extra: struct({ low: int8({ default: 3 }), high: int8({ default: 4 }) }, { versions: '3+', tag: 1 }),
    label: string({ versions: '3+', tag: 0, default: 'none', ignorable: true }),
  },
);

const Tiny = message('Tiny', { versions: [0, 0], flexible: 0 }, { items: array({ name: string() }) });

function write(version: number, value: MessageInput<typeof Sample>): string {
  const writer = new WireWriter();
  Sample.write(writer, version, value);
  return writer.take().toString('hex');
}

function read(version: number, hex: string): MessageValue<typeof Sample> {
  return Sample.read(new WireReader(Buffer.from(hex, 'hex')), version);
}

const MALFORMED = expect.objectContaining({ name: 'WireError', code: 'malformed' });
const UNREPRESENTABLE = expect.objectContaining({ name: 'WireError', code: 'unrepresentable' });

describe('the types of a schema', () => {
  it('follow from its fields', () => {
    expectTypeOf<MessageValue<typeof Sample>['name']>().toEqualTypeOf<string | null>();
    expectTypeOf<MessageValue<typeof Sample>['body']>().toEqualTypeOf<Buffer>();
    expectTypeOf<MessageValue<typeof Sample>['items'][number]['note']>().toEqualTypeOf<string | null>();
    expectTypeOf<MessageInput<typeof Sample>>().toHaveProperty('count').toEqualTypeOf<number | undefined>();
    // @ts-expect-error a field of all versions without a default must be given
    expect(() => write(0, { name: 'x' })).not.toThrow();
    // @ts-expect-error a field has the type that its schema says
    expect(() => write(0, { name: 5, items: [] })).toThrow(UNREPRESENTABLE);
  });
});

describe('versions', () => {
  it('write what they have and leave out the rest', () => {
    expect(write(0, { name: 'ab', items: [{ id: 5 }] })).toBe('00026162' + '00000001' + '0000000000000005');
    expect(write(1, { name: 'ab', items: [] })).toBe('00026162' + '00000007' + '00000000');
    expect(write(2, { name: null, items: [{ id: 5 }], strict: 9 })).toBe(
      'ffff' + '00000007' + '0009' + '00000001' + '0000000000000005' + 'ffff',
    );
    expect(write(4, { name: 'ab', items: [], body: Buffer.from('ff', 'hex') })).toBe(
      '036162' + '00000007' + '01' + '02ff' + '00',
    );
  });

  it('read what they have and fill in defaults for the rest', () => {
    expect(read(0, '00026162' + '00000000')).toEqual({
      name: 'ab',
      count: 7,
      strict: 0,
      items: [],
      body: Buffer.alloc(0),
      extra: { low: 3, high: 4 },
      label: 'none',
    });
  });

  it('that do not exist are refused', () => {
    for (const version of [-1, 5, 1.5, Number.NaN]) {
      expect(() => read(version, '')).toThrow(expect.objectContaining({ code: 'unsupported-version' }));
    }
  });

  it('drop an ignorable value that they lack, and refuse any other', () => {
    expect(write(0, { name: 'a', items: [], count: 99, label: 'x' })).toBe('000161' + '00000000');
    expect(() => write(0, { name: 'a', items: [], strict: 1 })).toThrow(UNREPRESENTABLE);
    expect(() => write(2, { name: 'a', items: [], extra: { low: 1 } })).toThrow(UNREPRESENTABLE);
    expect(() => write(1, { name: 'a', items: [{ id: 1, note: 'n' }] })).toThrow(UNREPRESENTABLE);
    expect(write(0, { name: 'a', items: [], strict: 0, body: Buffer.alloc(0) })).toBe('000161' + '00000000');
  });
});

describe('null', () => {
  it('is written and read only where the version allows it', () => {
    expect(() => write(1, { name: null, items: [] })).toThrow(UNREPRESENTABLE);
    expect(() => read(1, 'ffff' + '00000007' + '00000000')).toThrow(MALFORMED);
    expect(() => read(3, '036162' + '00000007' + '0009' + '00' + '00')).toThrow(MALFORMED);
    expect(read(2, 'ffff' + '00000007' + '0000' + '00000000').name).toBeNull();
  });

  it('is −1 and no other negative length', () => {
    expect(() => read(2, 'fffe' + '00000007' + '0000' + '00000000')).toThrow(MALFORMED);
  });
});

it('a compact string holds no more than one of the older form', () => {
  const tail = '00000007000001' + '00';
  const name = (length: number): string => '61'.repeat(length);
  expect(read(3, `808002${name(0x7fff)}${tail}`).name).toHaveLength(0x7fff);
  expect(() => read(3, `818002${name(0x8000)}${tail}`)).toThrow(MALFORMED);
});

describe('tagged fields', () => {
  const plain = '026100000007000001';

  it('are written when they differ from their defaults, in the order of their tags', () => {
    expect(write(3, { name: 'a', items: [], label: 'zz', extra: { high: 9 } })).toBe(
      [plain, '02', '00', '03', '037a7a', '01', '03', '0309', '00'].join(''),
    );
    expect(write(3, { name: 'a', items: [], label: 'none', extra: { low: 3, high: 4 } })).toBe(`${plain}00`);
  });

  it('are read in any order, unknown ones skipped', () => {
    const value = read(
      3,
      [plain, '03', '63', '02', 'ffff', '01', '03', '0309', '00', '00', '03', '037a7a'].join(''),
    );
    expect([value.label, value.extra]).toEqual(['zz', { low: 3, high: 9 }]);
  });

  it.each([
    ['longer than what remains', '010004037a'],
    ['longer than their value', '010004037a7a00'],
    ['shorter than their value', '010002037a7a'],
    ['announced and missing', '02'],
  ])('%s are malformed', (_, tail) => {
    expect(() => read(3, plain + tail)).toThrow(MALFORMED);
  });
});

describe('hostile counts', () => {
  it('are refused before anything is allocated for them', () => {
    expect(() => read(0, '00026162' + '7fffffff')).toThrow(MALFORMED);
    expect(() => read(0, '00026162' + '00000002' + '0000000000000005')).toThrow(MALFORMED);
    expect(() => read(3, '036162' + '00000007' + '0009' + 'ffffffff0f')).toThrow(MALFORMED);
  });

  it('of tiny elements cannot take many times their bytes', () => {
    // Two bytes an element, and dozens of bytes for each in memory.
    const count = 1_000_000;
    const writer = new WireWriter();
    writer.unsignedVarint(count + 1);
    writer.raw(Buffer.alloc(2 * count, Buffer.from('0100', 'hex')));
    writer.int8(0);
    const reader = new WireReader(writer.take());
    expect(() => Tiny.read(reader, 0)).toThrow(expect.objectContaining({ code: 'too-large' }));
  });

  it('of a few thousand are granted to any frame', () => {
    const count = 10_000;
    const writer = new WireWriter();
    Tiny.write(writer, 0, { items: Array.from({ length: count }, () => ({ name: 'abc' })) });
    expect(Tiny.read(new WireReader(writer.take()), 0).items).toHaveLength(count);
  });
});

it('a uuid left out is the zero uuid', () => {
  const WithId = message('WithId', { versions: [0, 1] }, { id: uuid({ versions: '1+' }), part: int32() });
  const writer = new WireWriter();
  WithId.write(writer, 1, { part: 1 });
  expect(WithId.read(new WireReader(writer.take()), 1)).toEqual({ id: ZERO_UUID, part: 1 });
});
