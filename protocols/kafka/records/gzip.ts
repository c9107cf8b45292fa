// gzip (RFC 1952). zlib itself stops at a given output length, so nothing has to be walked.

import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { checkOutputBytes, decompressed, SYNC_OUTPUT_BYTES_MAX } from './decompression-limits.ts';
import { tooLarge } from './errors.ts';

const gunzipAsync = promisify(gunzip);
const GZIP_BYTES_MIN = 18;

export function decompressGzip(section: Buffer, outputBytesMax: number): Buffer | Promise<Buffer> {
  // The trailer's ISIZE is the output length modulo 2^32, of the last member: a hint, not to be trusted.
  const saidBytes = section.length < GZIP_BYTES_MIN ? 0 : section.readUInt32LE(section.length - 4);
  checkOutputBytes(saidBytes, outputBytesMax);
  return decompressed('gzip', () => {
    if (saidBytes <= SYNC_OUTPUT_BYTES_MAX) {
      try {
        return gunzipSync(section, { maxOutputLength: Math.min(SYNC_OUTPUT_BYTES_MAX, outputBytesMax) });
      } catch (error) {
        if (!isOverflow(error)) throw error;
      }
    }
    return gunzipAsync(section, { maxOutputLength: outputBytesMax }).catch((error: unknown) => {
      throw isOverflow(error) ? tooLarge(`records decompress to more than ${outputBytesMax} bytes`) : error;
    });
  });
}

function isOverflow(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}
