// One schema per message for all of its versions. `message` gives a codec whose TypeScript types follow from
// the schema; each version is compiled on first use.

import { WireError } from './errors.ts';
import type { WireReader } from './reader.ts';
import type { Codec, Fields, StructInput, StructValue } from './schema.ts';
import { structCodec } from './struct.ts';
import type { WireWriter } from './writer.ts';

export interface MessageOptions {
  /** First and last version that the schema describes (what is advertised is the handlers' business). */
  readonly versions: readonly [number, number];
  /** First flexible version (KIP-482): compact lengths, tagged fields, and a flexible header; absent = none. */
  readonly flexible?: number;
  /** ApiVersionsResponse alone: its header is never flexible, so that any client can read it (KIP-511). */
  readonly plainHeader?: boolean;
}

export interface Message<F extends Fields> {
  readonly name: string;
  readonly versionMin: number;
  readonly versionMax: number;
  isFlexible(version: number): boolean;
  /** Whether the header that precedes the message has tagged fields. */
  hasFlexibleHeader(version: number): boolean;
  /** Fields that the version lacks hold their default. Bytes are views of the reader's buffer. Throws WireError. */
  read(reader: WireReader, version: number): StructValue<F>;
  /** Fields that have a default may be left out. Throws WireError, and may leave part of the message written. */
  write(writer: WireWriter, version: number, value: StructInput<F>): void;
}

export type MessageValue<M> = M extends Message<infer F> ? StructValue<F> : never;
export type MessageInput<M> = M extends Message<infer F> ? StructInput<F> : never;

export function message<const F extends Fields>(
  name: string,
  options: MessageOptions,
  fields: F,
): Message<F> {
  const [versionMin, versionMax] = options.versions;
  const flexibleFrom = options.flexible ?? Number.POSITIVE_INFINITY;
  const compiled: (Codec | undefined)[] = [];

  function codec(version: number): Codec {
    const known = compiled[version];
    if (known !== undefined) return known;
    if (!Number.isInteger(version) || version < versionMin || version > versionMax) {
      throw new WireError('unsupported-version', `${name} has no version ${version}`);
    }
    const made = structCodec(fields, version, version >= flexibleFrom);
    compiled[version] = made;
    return made;
  }

  return {
    name,
    versionMin,
    versionMax,
    isFlexible: (version) => version >= flexibleFrom,
    hasFlexibleHeader: (version) => version >= flexibleFrom && options.plainHeader !== true,
    // The compiled codec builds exactly what the schema's types say; only the schema knows both.
    read: (reader, version) => codec(version).read(reader) as StructValue<F>,
    write: (writer, version, value) => codec(version).write(writer, value),
  };
}
