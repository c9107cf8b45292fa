// The field types of a message schema. Each builder returns a Field whose TypeScript types follow from its
// options, and which makes a codec for one version of the message: closures, built once.
//
// Options: `versions` that carry the field (default: all), versions in which it is `nullable`, its `default`
// (else false, 0, '', [], as in Kafka), the `tag` of a tagged field (KIP-482), and `ignorable`: a value other
// than the default is dropped, not refused, in a version that lacks the field.

import { malformed, unrepresentable } from './errors.ts';
import { lazyArray } from './lazy-array.ts';
import { type WireReader, ZERO_UUID } from './reader.ts';
import { RecordPieces } from './record-pieces.ts';
import {
  type Codec,
  type Field,
  type FieldOptions,
  type Fields,
  inVersions,
  type StructInput,
  type StructValue,
  type Versions,
} from './schema.ts';
import { structCodec } from './struct.ts';
import type { WireWriter } from './writer.ts';

type Nullable<Options, Value> = Options extends { readonly nullable: Versions } ? Value | null : Value;
/** A field may be left out when it has a default of its own or is not in every version. */
type IsOptional<Options> = Options extends { readonly default: unknown }
  ? true
  : Options extends { readonly versions: Versions }
    ? true
    : false;
type Scalar<Options, Value> = Field<Nullable<Options, Value>, Nullable<Options, Value>, IsOptional<Options>>;

interface ScalarCodec<Value> {
  read(reader: WireReader): Value;
  write(writer: WireWriter, value: Value): void;
  readonly byteLengthMin: number;
  readonly memory: number;
}

const BOOLEAN: ScalarCodec<boolean> = {
  read: (reader) => reader.boolean(),
  write: (writer, value) => writer.boolean(value),
  byteLengthMin: 1,
  memory: 0,
};

const INT8: ScalarCodec<number> = {
  read: (reader) => reader.int8(),
  write: (writer, value) => writer.int8(value),
  byteLengthMin: 1,
  memory: 0,
};

const INT16: ScalarCodec<number> = {
  read: (reader) => reader.int16(),
  write: (writer, value) => writer.int16(value),
  byteLengthMin: 2,
  memory: 0,
};

const INT32: ScalarCodec<number> = {
  read: (reader) => reader.int32(),
  write: (writer, value) => writer.int32(value),
  byteLengthMin: 4,
  memory: 0,
};

const INT64: ScalarCodec<number> = {
  read: (reader) => reader.int64(),
  write: (writer, value) => writer.int64(value),
  byteLengthMin: 8,
  memory: 16,
};

const UUID: ScalarCodec<string> = {
  read: (reader) => reader.uuid(),
  write: (writer, value) => writer.uuid(value),
  byteLengthMin: 16,
  memory: 64,
};

export function boolean<const O extends FieldOptions<boolean>>(options?: O): Scalar<O, boolean> {
  return scalar(options, false, BOOLEAN);
}

export function int8<const O extends FieldOptions<number>>(options?: O): Scalar<O, number> {
  return scalar(options, 0, INT8);
}

export function int16<const O extends FieldOptions<number>>(options?: O): Scalar<O, number> {
  return scalar(options, 0, INT16);
}

export function int32<const O extends FieldOptions<number>>(options?: O): Scalar<O, number> {
  return scalar(options, 0, INT32);
}

/** A JS number; see the reader for what happens beyond 2^53. */
export function int64<const O extends FieldOptions<number>>(options?: O): Scalar<O, number> {
  return scalar(options, 0, INT64);
}

/** Canonical text form; {@link ZERO_UUID} stands for "none". */
export function uuid<const O extends FieldOptions<string>>(options?: O): Scalar<O, string> {
  return scalar(options, ZERO_UUID, UUID);
}

/** The compact form could hold more; Kafka's brokers take no more in either. */
const STRING_BYTES_MAX = 0x7fff;

export function string<const O extends FieldOptions<string>>(options?: O): Scalar<O, string> {
  return field(options, '', (version, flexible) => {
    const nullable = isNullable(options, version);
    return {
      read(reader) {
        const length = flexible ? reader.unsignedVarint() - 1 : reader.int16();
        if (length > STRING_BYTES_MAX) throw malformed(`a string of ${length} bytes`);
        if (length >= 0) return reader.text(length);
        return readNull(nullable, length);
      },
      write(writer, value) {
        if (value === null) writeNull(writer, nullable, flexible, 2);
        else if (typeof value !== 'string') throw unrepresentable(`${value} is not a string`);
        else if (flexible) writer.compactString(value);
        else writer.string(value);
      },
      byteLengthMin: flexible ? 1 : 2,
      memory: 24,
    };
  });
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/** A view of the frame, valid for as long as the frame is. */
export function bytes<const O extends FieldOptions<Buffer>>(
  options?: O,
): Field<Nullable<O, Buffer>, Nullable<O, Uint8Array>, IsOptional<O>> {
  return bytesField(options, NO_BYTES);
}

/** Record batches, as `bytes` on the wire; null unless set. */
export function records<const O extends FieldOptions<Buffer>>(
  options?: O,
): Field<Nullable<O, Buffer>, Nullable<O, Uint8Array | RecordPieces>, IsOptional<O>> {
  return bytesField(options, null);
}

function bytesField<V, I, O extends boolean>(
  options: FieldOptions<Buffer> | undefined,
  implicitDefault: Buffer | null,
): Field<V, I, O> {
  return field(options, implicitDefault, (version, flexible) => {
    const nullable = isNullable(options, version);
    return {
      read(reader) {
        const length = flexible ? reader.unsignedVarint() - 1 : reader.int32();
        if (length >= 0) return reader.slice(length);
        return readNull(nullable, length);
      },
      write(writer, value) {
        if (value === null) return writeNull(writer, nullable, flexible, 4);
        const isInPieces = value instanceof RecordPieces;
        if (!(isInPieces || value instanceof Uint8Array)) throw unrepresentable(`${value} is not bytes`);
        if (flexible) writer.unsignedVarint(value.length + 1);
        else writer.int32(value.length);
        if (isInPieces) writePieces(writer, value);
        else writer.raw(value);
      },
      byteLengthMin: flexible ? 1 : 4,
      memory: 128,
    };
  });
}

function writePieces(writer: WireWriter, { lasting, passing }: RecordPieces): void {
  for (const piece of lasting) writer.lend(piece);
  writer.raw(passing);
}

type Element = Field<unknown, unknown> | Fields;
type ElementValue<E> =
  E extends Field<infer Value, infer _Input> ? Value : E extends Fields ? StructValue<E> : never;
type ElementInput<E> =
  E extends Field<infer _Value, infer Input> ? Input : E extends Fields ? StructInput<E> : never;

const NO_ELEMENTS: readonly never[] = Object.freeze([]);

/** An array of structs (given by their fields) or of one scalar type. */
export function array<const E extends Element, const O extends FieldOptions<readonly never[]>>(
  of: E,
  options?: O,
): Field<Nullable<O, readonly ElementValue<E>[]>, Nullable<O, readonly ElementInput<E>[]>, IsOptional<O>> {
  return field(options, NO_ELEMENTS, (version, flexible) => {
    const nullable = isNullable(options, version);
    const element = isField(of) ? of.codec(version, flexible) : structCodec(of, version, flexible);
    const byteLengthMin = Math.max(1, element.byteLengthMin);
    const memory = 8 + element.memory;
    return {
      read(reader) {
        const count = flexible ? reader.unsignedVarint() - 1 : reader.int32();
        if (count < 0) return readNull(nullable, count);
        if (count * byteLengthMin > reader.remaining) {
          throw malformed(`an array of ${count} elements, ${reader.remaining} bytes remain`);
        }
        reader.charge(count * memory);
        return reader.elements(count, memory, element.read) ?? lazyArray(reader, count, element.read);
      },
      write(writer, value) {
        if (value === null) return writeNull(writer, nullable, flexible, 4);
        if (!Array.isArray(value)) throw unrepresentable(`${value} is not an array`);
        if (flexible) writer.unsignedVarint(value.length + 1);
        else writer.int32(value.length);
        for (let index = 0; index < value.length; index++) element.write(writer, value[index]);
      },
      byteLengthMin: flexible ? 1 : 4,
      memory: 48,
    };
  });
}

/** A single struct. A nullable one is preceded by a byte: −1 = null, 1 = present (KIP-893). */
export function struct<const F extends Fields, const O extends FieldOptions<never>>(
  fields: F,
  options?: O,
): Field<Nullable<O, StructValue<F>>, Nullable<O, StructInput<F>>, IsOptional<O>> {
  const names = Object.keys(fields);
  const defaultValue =
    options?.default === null
      ? null
      : Object.freeze(Object.fromEntries(names.map((name) => [name, fields[name]!.defaultValue])));
  const made: Field<Nullable<O, StructValue<F>>, Nullable<O, StructInput<F>>, IsOptional<O>> = field(
    options,
    defaultValue,
    (version, flexible) => {
      const inner = structCodec(fields, version, flexible);
      if (options?.nullable === undefined) return inner;
      const nullable = isNullable(options, version);
      return {
        read(reader) {
          const present = reader.int8();
          return present >= 0 ? inner.read(reader) : readNull(nullable, present);
        },
        write(writer, value) {
          if (value === null && !nullable) throw unrepresentable('null where the version has none');
          writer.int8(value === null ? -1 : 1);
          if (value !== null) inner.write(writer, value);
        },
        byteLengthMin: 1,
        memory: inner.memory,
      };
    },
  );
  return {
    ...made,
    isDefault(value) {
      if (defaultValue === null || value === null) return defaultValue === value;
      if (typeof value !== 'object') return false;
      // An object that the schema describes; absent fields count as default.
      const given = value as Readonly<Record<string, unknown>>;
      return names.every((name) => given[name] === undefined || fields[name]!.isDefault(given[name]));
    },
  };
}

function isField(element: Element): element is Field<unknown, unknown> {
  return typeof element['codec'] === 'function';
}

function isNullable(options: FieldOptions<unknown> | undefined, version: number): boolean {
  return options?.nullable !== undefined && inVersions(options.nullable, version);
}

function readNull(nullable: boolean, length: number): null {
  if (length !== -1) throw malformed(`a length of ${length}`);
  if (!nullable) throw malformed('null where it may not be');
  return null;
}

function writeNull(writer: WireWriter, nullable: boolean, flexible: boolean, lengthBytes: 2 | 4): void {
  if (!nullable) throw unrepresentable('null where the version has none');
  if (flexible) writer.unsignedVarint(0);
  else if (lengthBytes === 2) writer.int16(-1);
  else writer.int32(-1);
}

function scalar<V, O extends boolean, Value>(
  options: FieldOptions<unknown> | undefined,
  implicitDefault: Value,
  codec: ScalarCodec<Value>,
): Field<V, V, O> {
  // The writer checks the type of what it gets (a number out of range is refused, so is `undefined`).
  return field(options, implicitDefault, () => codec as Codec);
}

function field<V, I, O extends boolean>(
  options: FieldOptions<unknown> | undefined,
  implicitDefault: unknown,
  codec: (version: number, flexible: boolean) => Codec,
): Field<V, I, O> {
  const defaultValue = options?.default === undefined ? implicitDefault : options.default;
  return {
    versions: options?.versions,
    tag: options?.tag,
    ignorable: options?.ignorable ?? false,
    defaultValue,
    isDefault(value) {
      if (value === defaultValue) return true;
      // An empty array or empty bytes are the default by content, not by identity.
      return isEmpty(defaultValue) && isEmpty(value);
    },
    codec,
  };
}

function isEmpty(value: unknown): boolean {
  return (Array.isArray(value) || value instanceof Uint8Array) && value.length === 0;
}
