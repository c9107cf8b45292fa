// Small JSON files beside a log: replaced whole, so that a reader finds the old one or the new one. The last field of an
// object is a checksum of what goes before it: a digit that has changed on the disk would move a log's start or its end.
import { dirname } from 'node:path';
import { crc32c } from './crc32c.ts';
import { errorCodeOf } from './errors.ts';
import type { FileSystem, OpenFile } from './file-system.ts';
import { viewOf } from './frame.ts';

/** Enough for nearly all of them … */
const SMALL_FILE_BYTES = 4 * 1024;
/** … and larger ones are not ours. */
const SMALL_FILE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * What a power failure may leave of a file that was written: `durable` the new one; `whole` the new one or the one
 * before; `helpful` anything, for what is only there to save work. Each sync costs as much as all the rest.
 */
export type Durability = 'durable' | 'whole' | 'helpful';

/** Writes `value` aside and puts it in place. */
export function writeJsonFile(
  fileSystem: FileSystem,
  path: string,
  value: unknown,
  durability: Durability = 'durable',
): Promise<void> {
  return writeWholeFile(fileSystem, path, Buffer.from(jsonFileOf(value)), durability);
}

/** The text of such a file. */
export function jsonFileOf(value: unknown): string {
  const text = JSON.stringify(value);
  return asFields(value) === undefined ? `${text}\n` : withChecksum(text.slice(0, -1));
}

/** @param head of the text, up to the end of the last field */
function withChecksum(head: string): string {
  const bytes = Buffer.from(head);
  const checksum = crc32c(bytes, viewOf(bytes), 0, bytes.length, 0);
  return `${head},"checksum":"${checksum.toString(16).padStart(8, '0')}"}\n`;
}

const CHECKSUM_FIELD = ',"checksum":"00000000"}\n';
/** A field of which more has changed is none: files of the first version have no checksum. */
const CHECKSUM_FIELD_ERRORS_MAX = 8;

/** Whether the text has a checksum, whole or damaged, that is not the right one. */
function isDamaged(text: string): boolean {
  const head = text.slice(0, -CHECKSUM_FIELD.length);
  const field = text.slice(-CHECKSUM_FIELD.length);
  let errors = 0;
  for (const [at, character] of [...CHECKSUM_FIELD].entries()) {
    if (character !== '0' && field[at] !== character) errors++;
  }
  return errors <= CHECKSUM_FIELD_ERRORS_MAX && withChecksum(head) !== text;
}

/** The same with bytes. */
export async function writeWholeFile(
  fileSystem: FileSystem,
  path: string,
  bytes: Buffer,
  durability: Durability,
): Promise<void> {
  const aside = `${path}.new`;
  await removeIfThere(fileSystem, aside);
  const file = await fileSystem.open(aside, 'create');
  try {
    await file.write(bytes, 0, bytes.length, 0);
    if (durability !== 'helpful') await file.datasync();
  } finally {
    await file.close();
  }
  await fileSystem.rename(aside, path);
  if (durability === 'durable') await fileSystem.syncDirectory(dirname(path));
}

/** The parsed file; undefined when it is missing, `unreadable` when it is not JSON or its checksum is wrong. */
export async function readJsonFile(fileSystem: FileSystem, path: string): Promise<unknown> {
  const file = await openIfThere(fileSystem, path);
  if (file === undefined) return undefined;
  try {
    const bytes = await readWhole(file);
    const text = bytes?.toString('utf8');
    return text === undefined || isDamaged(text) ? UNREADABLE : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return UNREADABLE;
    throw error;
  } finally {
    await file.close();
  }
}

/** The bytes of a file; undefined when it is missing or has more than `bytesMax`. */
export async function readWholeFile(
  fileSystem: FileSystem,
  path: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const file = await openIfThere(fileSystem, path);
  if (file === undefined) return undefined;
  try {
    const { size } = await fileSystem.stat(path);
    if (size > bytesMax) return undefined;
    const bytes = Buffer.allocUnsafeSlow(size);
    return bytes.subarray(0, await file.read(bytes, 0, size, 0));
  } finally {
    await file.close();
  }
}

async function openIfThere(fileSystem: FileSystem, path: string): Promise<OpenFile | undefined> {
  try {
    return await fileSystem.open(path, 'read');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Undefined when it is too large. Most are read at once. */
async function readWhole(file: OpenFile): Promise<Buffer | undefined> {
  for (let size = SMALL_FILE_BYTES; size <= SMALL_FILE_BYTES_MAX; size *= 16) {
    const bytes = Buffer.allocUnsafe(size);
    const count = await file.read(bytes, 0, size, 0);
    if (count < size) return bytes.subarray(0, count);
  }
  return undefined;
}

/** What `readJsonFile` gives for a file that is there and says nothing. */
export const UNREADABLE: unique symbol = Symbol('unreadable');

/** The value as an object whose properties can be looked at, or undefined. */
export function asFields(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  // An object that came out of JSON.parse has string keys only.
  return value as Readonly<Record<string, unknown>>;
}

export function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Makes the directory if it is missing; whether it was. Durable after `syncDirectory` of its parent. */
export async function makeDirectory(fileSystem: FileSystem, path: string): Promise<boolean> {
  try {
    await fileSystem.mkdir(path);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

export async function removeIfThere(fileSystem: FileSystem, path: string): Promise<void> {
  try {
    await fileSystem.unlink(path);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
  }
}
