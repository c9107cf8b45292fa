// Decompresses the record section of a batch. How much comes out is bounded before anything is allocated:
// each codec's framing is walked first, so that a few bytes cannot ask for gigabytes. What comes out small is
// decompressed at once; the rest goes to the thread pool, because a batch's fill cannot wait and a large
// decompression must not hold up other connections.

import { RecordsError } from './errors.ts';
import { decompressGzip } from './gzip.ts';
import { decompressLz4 } from './lz4.ts';
import { decompressSnappy } from './snappy.ts';
import { decompressZstd } from './zstd.ts';

/** The compression bits of a batch's attributes. */
export const COMPRESSION = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/**
 * @param outputBytesMax what may come out at most; for lz4 and zstd an upper bound drawn from their block headers
 *   must be below it.
 * @returns the section, a view of the input when it is not compressed. Throws, or rejects with, RecordsError:
 *   'too-large', 'invalid-record' (not what the codec's format says) or 'unsupported-compression'.
 */
export function decompress(
  compression: number,
  section: Buffer,
  outputBytesMax: number,
): Buffer | Promise<Buffer> {
  switch (compression) {
    case COMPRESSION.none:
      return section;
    case COMPRESSION.gzip:
      return decompressGzip(section, outputBytesMax);
    case COMPRESSION.snappy:
      return decompressSnappy(section, outputBytesMax);
    case COMPRESSION.lz4:
      return decompressLz4(section, outputBytesMax);
    case COMPRESSION.zstd:
      return decompressZstd(section, outputBytesMax);
    default:
      throw new RecordsError('unsupported-compression', `compression ${compression}`);
  }
}
