// CRC-32C (Castagnoli) of a part of a buffer. A call into the native function and the view that it needs cost
// about 600 ns before the first byte, which is more than a batch of one small record takes by tables.

import { crc32c as nativeCrc32c } from '@node-rs/crc32';

const POLYNOMIAL_REFLECTED = 0x82f6_3b78;
/** Below this the tables are faster. */
const NATIVE_BYTES_MIN = 320;

/** Four tables of 256: entry `byte` of table k is what the byte does when k more bytes follow it. */
const TABLES = makeTables();

export function crc32c(bytes: Buffer, start: number, end: number): number {
  if (end - start >= NATIVE_BYTES_MIN) return nativeCrc32c(bytes.subarray(start, end));
  let crc = -1;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      TABLES[768 + (word & 0xff)]! ^
      TABLES[512 + ((word >>> 8) & 0xff)]! ^
      TABLES[256 + ((word >>> 16) & 0xff)]! ^
      TABLES[word >>> 24]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ TABLES[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}

function makeTables(): Int32Array {
  const tables = new Int32Array(4 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL_REFLECTED : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const shorter = tables[index - 256]!;
    tables[index] = (shorter >>> 8) ^ tables[shorter & 0xff]!;
  }
  return tables;
}
