// Reads and writes the fields of one struct in one version: a list of codecs in wire order, then, in
// flexible versions, the tagged fields in the order of their tags (KIP-482).

import { unrepresentable } from './errors.ts';
import type { WireReader } from './reader.ts';
import { type Codec, type Field, type Fields, inVersions } from './schema.ts';
import type { WireWriter } from './writer.ts';

interface Member {
  readonly name: string;
  readonly field: Field<unknown, unknown>;
  readonly codec: Codec;
}

type Values = Record<string, unknown>;

export function structCodec(fields: Fields, version: number, flexible: boolean): Codec {
  const plain: Member[] = [];
  const tagged: Member[] = [];
  /** Fields that the version lacks and that may not be dropped silently. */
  const refused: { readonly name: string; readonly field: Field<unknown, unknown> }[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (!inVersions(field.versions, version)) {
      if (!field.ignorable) refused.push({ name, field });
      continue;
    }
    (field.tag === undefined ? plain : tagged).push({ name, field, codec: field.codec(version, flexible) });
  }
  tagged.sort((left, right) => left.field.tag! - right.field.tag!);
  const readPlain = compileRead(fields, plain);
  const writePlain = compileWrite(plain);

  return {
    read(reader) {
      const values = readPlain(reader);
      if (flexible) readTagged(reader, tagged, values);
      return values;
    },
    write(writer, value) {
      if (typeof value !== 'object' || value === null) throw unrepresentable(`${value} is not a struct`);
      const values = value as Readonly<Values>; // an object by the test above; its fields are looked up by name
      for (let index = 0; index < refused.length; index++)
        refuseUnlessDefault(refused[index]!, values, version);
      writePlain(writer, values);
      if (flexible) writeTagged(writer, tagged, values);
    },
    byteLengthMin: plain.reduce((sum, member) => sum + member.codec.byteLengthMin, flexible ? 1 : 0),
    memory: plain.reduce((sum, member) => sum + member.codec.memory, 24 + 8 * Object.keys(fields).length),
  };
}

/**
 * Reads the plain members in order; all other fields get their default. It is made from text, so that each struct has
 * an object literal of its own: one place that builds objects of every shape costs ten times as much (300 ns a
 * struct). Nothing but the names of our own schemas gets into the text.
 */
function compileRead(fields: Fields, plain: readonly Member[]): (reader: WireReader) => Values {
  const reads = new Map(plain.map(({ name, codec }) => [name, codec.read]));
  const entries = Object.entries(fields);
  const values = entries.map(([name, { defaultValue }]) => reads.get(name) ?? defaultValue);
  const properties = entries.map(([name], index) =>
    reads.has(name) ? `${JSON.stringify(name)}: v${index}(reader)` : `${JSON.stringify(name)}: v${index}`,
  );
  const parameters = entries.map((_entry, index) => `v${index}`);
  const make = new Function(...parameters, `return (reader) => ({ ${properties.join(', ')} });`);
  // What the text above says.
  return make(...values) as (reader: WireReader) => Values;
}

/** Writes the plain members in order, a field that is missing as its default. Made from text as the reading half is. */
function compileWrite(plain: readonly Member[]): (writer: WireWriter, values: Readonly<Values>) => void {
  const statements = plain.map(({ name }, index) => {
    const given = `values[${JSON.stringify(name)}]`;
    return `const v${index} = ${given}; w${index}(writer, v${index} === undefined ? d${index} : v${index});`;
  });
  const parameters = plain.flatMap((_member, index) => [`w${index}`, `d${index}`]);
  const make = new Function(...parameters, `return (writer, values) => { ${statements.join(' ')} };`);
  // What the text above says.
  return make(...plain.flatMap(({ field, codec }) => [codec.write, field.defaultValue])) as (
    writer: WireWriter,
    values: Readonly<Values>,
  ) => void;
}

function readTagged(reader: WireReader, tagged: readonly Member[], values: Values): void {
  for (let count = reader.unsignedVarint(); count > 0; count--) {
    const tag = reader.unsignedVarint();
    const byteLength = reader.unsignedVarint();
    const member = tagged.find((candidate) => candidate.field.tag === tag);
    if (member === undefined) {
      reader.skip(byteLength);
      continue;
    }
    const outerEnd = reader.enter(byteLength);
    reader.charge(member.codec.memory);
    values[member.name] = member.codec.read(reader);
    reader.leave(outerEnd);
  }
}

function writeTagged(writer: WireWriter, tagged: readonly Member[], values: Readonly<Values>): void {
  if (tagged.length === 0) {
    writer.unsignedVarint(0);
    return;
  }
  const present = tagged.filter(
    ({ name, field }) => values[name] !== undefined && !field.isDefault(values[name]),
  );
  writer.unsignedVarint(present.length);
  for (const { name, field, codec } of present) {
    writer.unsignedVarint(field.tag!);
    const bodyStart = writer.length;
    codec.write(writer, values[name]);
    writer.prefixSize(bodyStart);
  }
}

function refuseUnlessDefault(
  { name, field }: { readonly name: string; readonly field: Field<unknown, unknown> },
  values: Readonly<Values>,
  version: number,
): void {
  const given = values[name];
  if (given === undefined || field.isDefault(given)) return;
  throw unrepresentable(`version ${version} has no field ${name}, which is not its default`);
}
