// LZ4 frames (LZ4 Frame Format 1.6.1, little-endian):
//
//   magic u32 | FLG u8 | BD u8 | [content size u64] | header checksum u8
//   | blocks of ( size u32, top bit = stored as is | data | [checksum u32] ) | 0 u32 | [content checksum u32]
//
// The frame is walked before it is decoded, to bound what comes out and to insist on its end mark. Clients from
// before KIP-57 hashed the magic into the header checksum: that is put right in a copy.

import { Codec } from './codec.ts';
import { checkOutputBytes, SYNC_OUTPUT_BYTES_MAX } from './decompression-limits.ts';
import { invalidRecord } from './errors.ts';
import { xxh32 } from './xxh32.ts';

const LZ4 = new Codec('lz4', () => import('lz4-napi'));

const FRAME_MAGIC = 0x184d2204;
const FLG_AT = 4;
const BD_AT = 5;
const DESCRIPTOR_BYTES = 2;
const CONTENT_SIZE_BYTES = 8;
const CHECKSUM_BYTES = 4;

const VERSION_MASK = 0xc0;
const VERSION_1 = 0x40;
const BLOCK_CHECKSUM_BIT = 0x10;
const CONTENT_SIZE_BIT = 0x08;
const CONTENT_CHECKSUM_BIT = 0x04;
/** A reserved bit and the dictionary bit: Kafka has neither. */
const REFUSED_BITS = 0x03;
const STORED_BIT = 0x8000_0000;

interface Frame {
  readonly headerChecksumAt: number;
  readonly blocksStart: number;
  readonly blockBytesMax: number;
  readonly flags: number;
}

export function decompressLz4(section: Buffer, outputBytesMax: number): Buffer | Promise<Buffer> {
  const frame = readFrameHeader(section);
  const outputBytes = boundOutput(section, frame, outputBytesMax);
  checkOutputBytes(outputBytes, outputBytesMax);
  const input = withRightHeaderChecksum(section, frame);
  return LZ4.run((native) =>
    outputBytes > SYNC_OUTPUT_BYTES_MAX ? native.decompressFrame(input) : native.decompressFrameSync(input),
  );
}

function readFrameHeader(section: Buffer): Frame {
  if (section.length < FLG_AT + DESCRIPTOR_BYTES + 1 || section.readUInt32LE(0) !== FRAME_MAGIC) {
    throw invalidRecord('not an lz4 frame');
  }
  const flags = section[FLG_AT]!;
  if ((flags & VERSION_MASK) !== VERSION_1 || (flags & REFUSED_BITS) !== 0) {
    throw invalidRecord(`an lz4 frame with flags ${flags}`);
  }
  const blockBytesCode = (section[BD_AT]! >> 4) & 0x07;
  if (blockBytesCode < 4) throw invalidRecord(`an lz4 block size of ${blockBytesCode}`);
  const headerChecksumAt =
    FLG_AT + DESCRIPTOR_BYTES + ((flags & CONTENT_SIZE_BIT) === 0 ? 0 : CONTENT_SIZE_BYTES);
  // Codes 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
  return {
    headerChecksumAt,
    blocksStart: headerChecksumAt + 1,
    blockBytesMax: 2 ** (8 + 2 * blockBytesCode),
    flags,
  };
}

/** Walks the blocks to the end mark. A block is taken for as large as it can be unless that would be too large. */
function boundOutput(section: Buffer, frame: Frame, outputBytesMax: number): number {
  const checksumBytes = (frame.flags & BLOCK_CHECKSUM_BIT) === 0 ? 0 : CHECKSUM_BYTES;
  let outputBytes = 0;
  let at = frame.blocksStart;
  for (;;) {
    if (section.length - at < 4) throw invalidRecord('an lz4 frame without its end mark');
    const word = section.readUInt32LE(at);
    at += 4;
    if (word === 0) break;
    const stored = word >= STORED_BIT;
    const byteLength = stored ? word - STORED_BIT : word;
    if (byteLength + checksumBytes > section.length - at)
      throw invalidRecord(`an lz4 block of ${byteLength} bytes`);
    if (stored) outputBytes += byteLength;
    else {
      // One byte stands for 255 at most.
      const bound = Math.min(frame.blockBytesMax, byteLength * 255);
      outputBytes +=
        outputBytes + bound <= outputBytesMax ? bound : blockOutputBytes(section, at, at + byteLength);
    }
    at += byteLength + checksumBytes;
  }
  if ((frame.flags & CONTENT_CHECKSUM_BIT) !== 0) at += CHECKSUM_BYTES;
  if (at !== section.length) throw invalidRecord('an lz4 frame that does not end where it should');
  return outputBytes;
}

/**
 * What one block decodes to, exactly: sequences of
 * `token (4 bits literal length, 4 bits match length) | [length bytes] | literals | offset u16 | [length bytes]`.
 */
function blockOutputBytes(section: Buffer, start: number, end: number): number {
  let outputBytes = 0;
  let at = start;
  while (at < end) {
    const token = section[at++]!;
    let literalBytes = token >> 4;
    if (literalBytes === 15) {
      for (let byte = 255; byte === 255 && at < end; literalBytes += byte) byte = section[at++]!;
    }
    at += literalBytes;
    outputBytes += literalBytes;
    if (at >= end) break; // the last sequence has no match
    at += 2;
    let matchBytes = token & 0x0f;
    if (matchBytes === 15) {
      for (let byte = 255; byte === 255 && at < end; matchBytes += byte) byte = section[at++]!;
    }
    outputBytes += matchBytes + 4;
  }
  return outputBytes;
}

function withRightHeaderChecksum(section: Buffer, frame: Frame): Buffer {
  const at = frame.headerChecksumAt;
  const given = section[at]!;
  const right = (xxh32(section, FLG_AT, at) >>> 8) & 0xff;
  if (given === right) return section;
  const legacy = (xxh32(section, 0, at) >>> 8) & 0xff;
  if (given !== legacy) throw invalidRecord('an lz4 frame with a wrong header checksum');
  const patched = Buffer.from(section);
  patched[at] = right;
  return patched;
}
