// Messages as Kafka keeps them in its internal topics: an int16 that says which, or in which version, and then its fields.
import { WireError } from './errors.ts';
import type { Message } from './message.ts';
import { WireReader } from './reader.ts';
import type { Fields, StructInput } from './schema.ts';
import { WireWriter } from './writer.ts';

const writer = new WireWriter();

/** @throws WireError unrepresentable */
export function encodeStored<F extends Fields>(
  version: number,
  schema: Message<F>,
  value: StructInput<F>,
): Buffer {
  writer.rewind(0);
  writer.int16(version);
  schema.write(writer, version, value);
  return writer.take();
}

/** What `read` makes of the bytes behind the int16; undefined when they are not what it takes them for. */
export function decodeStored<T>(
  source: Buffer,
  read: (reader: WireReader, version: number) => T | undefined,
): T | undefined {
  try {
    const reader = new WireReader(source);
    return read(reader, reader.int16());
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
