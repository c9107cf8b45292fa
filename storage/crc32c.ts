// CRC-32C (Castagnoli, RFC 3720 appendix B.4) over a part of a buffer. The native function costs about 500 ns a
// call before its first byte, so short inputs go through eight tables here ("slicing by 8", Kounavis and Berry).
import { crc32c as nativeCrc32c } from '@node-rs/crc32';

const POLYNOMIAL_REFLECTED = 0x82f63b78;
/** Below this the tables are faster; measured at some 350 bytes. */
const NATIVE_BYTES_MIN = 320;

const TABLES = makeTables();

/**
 * @param view of all of `bytes`
 * @param seed the checksum of what goes before, 0 at the beginning
 */
export function crc32c(bytes: Buffer, view: DataView, start: number, end: number, seed: number): number {
  if (end - start >= NATIVE_BYTES_MIN) return nativeCrc32c(bytes.subarray(start, end), seed);
  let crc = ~seed;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    // Indices are below 2048 by construction.
    crc =
      TABLES[1792 + (low & 255)]! ^
      TABLES[1536 + ((low >>> 8) & 255)]! ^
      TABLES[1280 + ((low >>> 16) & 255)]! ^
      TABLES[1024 + (low >>> 24)]! ^
      TABLES[768 + (high & 255)]! ^
      TABLES[512 + ((high >>> 8) & 255)]! ^
      TABLES[256 + ((high >>> 16) & 255)]! ^
      TABLES[high >>> 24]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ TABLES[(crc ^ view.getUint8(at)) & 255]!;
  return ~crc >>> 0;
}

/** Table k, at 256·k, is the effect of a byte that k more bytes follow. */
function makeTables(): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL_REFLECTED : crc >>> 1;
    tables[byte] = crc;
  }
  for (let index = 256; index < tables.length; index++) {
    const crc = tables[index - 256]!;
    tables[index] = (crc >>> 8) ^ tables[crc & 255]!;
  }
  return tables;
}
