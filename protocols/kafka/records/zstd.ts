// Zstandard (RFC 8878, little-endian). Frames and block headers are walked before decoding, because a block of
// four bytes may stand for 128 KiB:
//
//   magic u32 | descriptor u8 | [window u8] | [dictionary id] | [content size]
//   | blocks of ( header u24: last 1 bit, type 2 bits, size 21 bits | data ) | [checksum u32]
//
// The content size is not believed: each compressed block counts as the largest that its frame allows.

import { Codec } from './codec.ts';
import { checkOutputBytes, SYNC_OUTPUT_BYTES_MAX } from './decompression-limits.ts';
import { invalidRecord } from './errors.ts';

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const BLOCK_BYTES_MAX = 128 * 1024;
/** What the library refuses to exceed: the window is what it allocates. */
const WINDOW_BYTES_MAX = 2 ** 27;
const CONTENT_CHECKSUM_BIT = 0x04;
const RESERVED_BIT = 0x08;
const SINGLE_SEGMENT_BIT = 0x20;
const BLOCK_RAW = 0;
const BLOCK_REPEAT = 1;
const BLOCK_COMPRESSED = 2;

const ZSTD = new Codec('zstd', async () => new (await import('@toondepauw/node-zstd')).Decoder());

export function decompressZstd(section: Buffer, outputBytesMax: number): Buffer | Promise<Buffer> {
  let outputBytes = 0;
  let at = 0;
  while (at < section.length) {
    if (section.length - at < 8) throw invalidRecord('not a zstd frame');
    const magic = section.readUInt32LE(at);
    if ((magic & 0xffff_fff0) >>> 0 === SKIPPABLE_MAGIC) {
      at += 8 + section.readUInt32LE(at + 4);
      if (at > section.length) throw invalidRecord('a zstd frame passes the end');
      continue;
    }
    if (magic !== FRAME_MAGIC) throw invalidRecord('not a zstd frame');
    const frame = boundFrame(section, at);
    outputBytes += frame.outputBytes;
    at = frame.end;
  }
  checkOutputBytes(outputBytes, outputBytesMax);
  return ZSTD.run((decoder) =>
    outputBytes > SYNC_OUTPUT_BYTES_MAX ? decoder.decode(section) : decoder.decodeSync(section),
  );
}

function boundFrame(section: Buffer, start: number): { readonly outputBytes: number; readonly end: number } {
  const descriptor = section[start + 4]!;
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 0x03]!;
  const singleSegment = (descriptor & SINGLE_SEGMENT_BIT) !== 0;
  const contentSizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  if ((descriptor & RESERVED_BIT) !== 0) throw invalidRecord('a zstd frame of an unknown kind');
  const contentSizeAt = start + 5 + (singleSegment ? 0 : 1) + dictionaryIdBytes;
  let at = contentSizeAt + contentSizeBytes;
  if (at > section.length) throw invalidRecord('a zstd frame header passes the end');

  const windowBytes = singleSegment
    ? contentSize(section, contentSizeAt, contentSizeBytes)
    : windowSize(section[start + 5]!);
  if (windowBytes > WINDOW_BYTES_MAX) throw invalidRecord(`a zstd window of ${windowBytes} bytes`);
  const blockBytesMax = Math.min(windowBytes, BLOCK_BYTES_MAX);

  let outputBytes = 0;
  for (let last = false; !last; ) {
    if (section.length - at < 3) throw invalidRecord('a zstd frame without its last block');
    const header = section.readUIntLE(at, 3);
    const size = header >>> 3;
    const type = (header >>> 1) & 0x03;
    last = (header & 1) === 1;
    at += 3;
    if (type === BLOCK_RAW) {
      outputBytes += size;
      at += size;
    } else if (type === BLOCK_REPEAT) {
      outputBytes += size;
      at += 1;
    } else if (type === BLOCK_COMPRESSED) {
      outputBytes += blockBytesMax;
      at += size;
    } else throw invalidRecord('a zstd block of an unknown kind');
    if (at > section.length) throw invalidRecord('a zstd block passes the end');
  }
  if ((descriptor & CONTENT_CHECKSUM_BIT) !== 0) at += 4;
  if (at > section.length) throw invalidRecord('a zstd frame without its checksum');
  return { outputBytes, end: at };
}

function contentSize(section: Buffer, at: number, byteLength: number): number {
  if (byteLength === 8) return section.readUInt32LE(at) + section.readUInt32LE(at + 4) * 2 ** 32;
  // Two bytes cannot say what one byte could: RFC 8878 §3.1.1.1.4.
  return section.readUIntLE(at, byteLength) + (byteLength === 2 ? 256 : 0);
}

/** RFC 8878 §3.1.1.1.2: five bits of exponent, three of mantissa, from 1 KiB. */
function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 0x07);
}
