// What a schema is made of: fields with version ranges and types, and the codecs that they make. The TypeScript
// types of a message's value (read) and input (written) are inferred from its fields here.

import type { WireReader } from './reader.ts';
import type { WireWriter } from './writer.ts';

/** Reads and writes one type in one version. */
export interface Codec {
  read(reader: WireReader): unknown;
  write(writer: WireWriter, value: unknown): void;
  /** Least bytes that a value takes on the wire: bounds how many can follow. */
  readonly byteLengthMin: number;
  /** Rough bytes of memory that a decoded value takes besides what it slices: counted against the budget. */
  readonly memory: number;
}

/** `'3+'`, `'2-7'` or `'5'`. */
export type Versions = `${number}+` | `${number}-${number}` | `${number}`;

export interface FieldOptions<Value> {
  readonly versions?: Versions;
  readonly nullable?: Versions;
  readonly default?: Value | null;
  readonly tag?: number;
  readonly ignorable?: boolean;
}

/** `Optional`: may be left out when writing. `Value` is what reading gives, `Input` what writing takes. */
export interface Field<Value, Input = Value, Optional extends boolean = boolean> {
  readonly versions: Versions | undefined;
  readonly tag: number | undefined;
  readonly ignorable: boolean;
  readonly defaultValue: unknown;
  isDefault(value: unknown): boolean;
  codec(version: number, flexible: boolean): Codec;
  /** Carry the types only; never set. */
  readonly valueType?: Value;
  readonly inputType?: Input;
  readonly optionalType?: Optional;
}

export interface Fields {
  readonly [name: string]: Field<unknown, unknown>;
}

export type ValueOf<F> = F extends Field<infer Value, infer _Input, boolean> ? Value : never;
export type InputOf<F> = F extends Field<infer _Value, infer Input, boolean> ? Input : never;
export type StructValue<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

type OptionalNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Field<unknown, unknown, true> ? Name : never;
}[keyof F];
export type StructInput<F extends Fields> = {
  readonly [Name in Exclude<keyof F, OptionalNames<F>>]: InputOf<F[Name]>;
} & { readonly [Name in OptionalNames<F>]?: InputOf<F[Name]> | undefined };

export function inVersions(versions: Versions | undefined, version: number): boolean {
  if (versions === undefined) return true;
  const [first, last] = versions.split('-');
  if (last !== undefined) return version >= Number(first) && version <= Number(last);
  if (versions.endsWith('+')) return version >= Number(versions.slice(0, -1));
  return version === Number(versions);
}
