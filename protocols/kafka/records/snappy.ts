// Snappy, in the two forms that Kafka's clients send: one raw block (librdkafka), or the framing of
// snappy-java, "Xerial" (Java, and most others): a header of 16 bytes, then chunks of
// `length u32 | raw block`. A raw block begins with its uncompressed length as an unsigned varint.

import { Codec } from './codec.ts';
import { checkOutputBytes, SYNC_OUTPUT_BYTES_MAX } from './decompression-limits.ts';
import { invalidRecord } from './errors.ts';

const SNAPPY = new Codec('snappy', () => import('snappy'));

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** Magic, version i32, lowest compatible version i32. */
const XERIAL_HEADER_BYTES = XERIAL_MAGIC.length + 4 + 4;

/** Three bytes copy at most 64: what says more than that lies. */
const EXPANSION_MAX = 64 / 3;
/** A chunk is 32 KiB by default. Far more chunks than that only cost time. */
const CHUNK_OUTPUT_BYTES_MIN = 512;
const CHUNKS_FREE = 256;
/** Without it the output would live outside the heap until the event loop turns. */
const OPTIONS = { copyOutputData: true } as const;

interface Block {
  readonly start: number;
  readonly end: number;
  readonly outputBytes: number;
}

export function decompressSnappy(section: Buffer, outputBytesMax: number): Buffer | Promise<Buffer> {
  const blocks = hasXerialHeader(section) ? xerialBlocks(section) : [block(section, 0, section.length)];
  const outputBytes = blocks.reduce((sum, each) => sum + each.outputBytes, 0);
  checkOutputBytes(outputBytes, outputBytesMax);
  if (blocks.length > CHUNKS_FREE + outputBytes / CHUNK_OUTPUT_BYTES_MIN) {
    throw invalidRecord(`${blocks.length} snappy chunks for ${outputBytes} bytes`);
  }
  return SNAPPY.run(({ uncompress, uncompressSync }) => {
    if (outputBytes > SYNC_OUTPUT_BYTES_MAX) {
      return Promise.all(
        blocks.map((each) => uncompress(section.subarray(each.start, each.end), OPTIONS)),
      ).then((outputs) => joined(outputs, outputBytes));
    }
    return joined(
      blocks.map((each) => uncompressSync(section.subarray(each.start, each.end), OPTIONS)),
      outputBytes,
    );
  });
}

function hasXerialHeader(section: Buffer): boolean {
  return section.length >= XERIAL_HEADER_BYTES && section.compare(XERIAL_MAGIC, 0, 8, 0, 8) === 0;
}

function xerialBlocks(section: Buffer): Block[] {
  const blocks: Block[] = [];
  for (let at = XERIAL_HEADER_BYTES; at < section.length; ) {
    if (section.length - at < 4) throw invalidRecord('a snappy chunk without its length');
    const start = at + 4;
    const byteLength = section.readUInt32BE(at);
    if (byteLength > section.length - start) throw invalidRecord(`a snappy chunk of ${byteLength} bytes`);
    at = start + byteLength;
    blocks.push(block(section, start, at));
  }
  return blocks;
}

function block(section: Buffer, start: number, end: number): Block {
  let outputBytes = 0;
  for (let at = start, scale = 1; ; at++, scale *= 128) {
    if (at >= end || at - start >= 5) throw invalidRecord('a snappy block without its length');
    const byte = section[at]!;
    outputBytes += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
  }
  if (outputBytes > (end - start) * EXPANSION_MAX) {
    throw invalidRecord(`a snappy block of ${end - start} bytes that says it holds ${outputBytes}`);
  }
  return { start, end, outputBytes };
}

function joined(outputs: readonly (string | Buffer)[], outputBytes: number): Buffer {
  // Strings only come when `asBuffer` is false.
  const buffers = outputs as readonly Buffer[];
  const output = buffers.length === 1 ? buffers[0]! : Buffer.concat(buffers);
  if (output.length !== outputBytes) throw invalidRecord('a snappy block that does not hold what it says');
  return output;
}
