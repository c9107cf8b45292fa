// Bytes in JSON, exactly: as text where they are UTF-8, else in base64; the answer says which.
import * as z from 'zod';
import { AdminError } from './errors.ts';

export const textEncoding = z.enum(['utf8', 'base64']);
export type TextEncoding = z.output<typeof textEncoding>;

export interface ByteText {
  readonly text: string;
  readonly encoding: TextEncoding;
}

/** @param asked text that is no UTF-8 is base64 all the same. */
export function textOf(bytes: Buffer, asked: TextEncoding = 'utf8'): ByteText {
  const text = asked === 'utf8' ? utf8Of(bytes) : undefined;
  return text === undefined
    ? { text: bytes.toString('base64'), encoding: 'base64' }
    : { text, encoding: 'utf8' };
}

function utf8Of(bytes: Buffer): string | undefined {
  try {
    // A byte order mark is a character of the value like others.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** @throws AdminError */
export function bytesOf(text: string, encoding: TextEncoding, field: string): Buffer {
  const bytes = Buffer.from(text, encoding);
  const isExact = bytes.toString(encoding) === text;
  if (isExact) return bytes;
  throw new AdminError('invalid_request', `${field}: is not ${encoding}`, { field });
}
