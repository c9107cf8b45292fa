// Decompression: what clients send decodes, damage is an error, and nothing grows beyond its bound.

import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Encoder } from '@toondepauw/node-zstd';
import { compressFrameSync } from 'lz4-napi';
import { compressSync } from 'snappy';
import { describe, expect, it } from 'vitest';
import { COMPRESSION, decompress } from '../../../../protocols/kafka/records/compression.ts';
import { RecordsError } from '../../../../protocols/kafka/records/errors.ts';
import { xxh32 } from '../../../../protocols/kafka/records/xxh32.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const LIMIT = 4 * MEBIBYTE;

const CODECS = [
  { name: 'gzip', code: COMPRESSION.gzip, compress: (data: Buffer) => gzipSync(data) },
  { name: 'snappy, one block', code: COMPRESSION.snappy, compress: (data: Buffer) => compressSync(data) },
  { name: 'snappy, Xerial framing', code: COMPRESSION.snappy, compress: xerial },
  { name: 'lz4', code: COMPRESSION.lz4, compress: (data: Buffer) => compressFrameSync(data) },
  {
    name: 'lz4 with checksums',
    code: COMPRESSION.lz4,
    compress: (data: Buffer) => compressFrameSync(data, { blockChecksums: true, contentChecksum: true }),
  },
  { name: 'lz4 as before KIP-57', code: COMPRESSION.lz4, compress: legacyLz4 },
  { name: 'zstd', code: COMPRESSION.zstd, compress: (data: Buffer) => new Encoder(3).encodeSync(data) },
] as const;

const TEXT = Buffer.from('the quick brown fox jumps over the lazy dog; '.repeat(40));

describe.each(CODECS)('$name', ({ code, compress }) => {
  it.each([0, 1, 100, 64 * KIBIBYTE, 128 * KIBIBYTE + 1, MEBIBYTE])(
    'gives back %d bytes',
    async (byteLength) => {
      const repetitive = Buffer.alloc(byteLength, TEXT);
      expect((await decompress(code, compress(repetitive), LIMIT)).equals(repetitive)).toBe(true);
      const random = randomBytes(byteLength);
      expect((await decompress(code, compress(random), LIMIT)).equals(random)).toBe(true);
    },
  );

  it('decompresses what is small at once, and what is large elsewhere', async () => {
    expect(decompress(code, compress(TEXT), LIMIT)).toBeInstanceOf(Buffer);
    const large = decompress(code, compress(Buffer.alloc(MEBIBYTE, TEXT)), LIMIT);
    expect(large).toBeInstanceOf(Promise);
    await large;
  });

  it('refuses a bomb', async () => {
    const bomb = compress(Buffer.alloc(16 * MEBIBYTE));
    expect(await faultOf(code, bomb, LIMIT)).toBe('too-large');
  });

  it('refuses one byte more than is allowed, and takes as much', async () => {
    const data = randomBytes(MEBIBYTE);
    const compressed = compress(data);
    expect(await faultOf(code, compressed, MEBIBYTE - 1)).toBe('too-large');
    // zstd's bound is counted in whole blocks.
    expect(await faultOf(code, compressed, MEBIBYTE + 128 * KIBIBYTE)).toBe(undefined);
  });

  it('answers every truncation with an error', async () => {
    // The last bytes of a gzip stream say how long it is: cut short, they say anything.
    const faults = code === COMPRESSION.gzip ? ['invalid-record', 'too-large'] : ['invalid-record'];
    for (const data of [TEXT, Buffer.alloc(3), randomBytes(300)]) {
      const compressed = compress(data);
      for (let length = 0; length < compressed.length; length++) {
        const output = await outcomeOf(code, compressed.subarray(0, length), LIMIT);
        // Cut between two chunks, the Xerial framing cannot know: then the section comes out short.
        if (output instanceof Buffer) expect(output.length, `${length}`).toBeLessThan(data.length);
        else expect(faults, `${length}`).toContain(output);
      }
    }
  });

  it('answers flipped bits with bytes within the bound or an error', async () => {
    const compressed = compress(TEXT);
    for (let bit = 0; bit < compressed.length * 8; bit++) {
      const damaged = Buffer.from(compressed);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const output = await outcomeOf(code, damaged, LIMIT);
      if (output instanceof Buffer) expect(output.length).toBeLessThanOrEqual(LIMIT);
      else expect(['invalid-record', 'too-large']).toContain(output);
    }
  });

  it('answers noise with an error', async () => {
    for (let length = 0; length < 200; length++) {
      const output = await outcomeOf(code, randomBytes(length), LIMIT);
      if (output instanceof Buffer) expect(output.length).toBeLessThanOrEqual(LIMIT);
      else expect(['invalid-record', 'too-large']).toContain(output);
    }
  });
});

it('passes on what is not compressed', () => {
  expect(decompress(COMPRESSION.none, TEXT, 1)).toBe(TEXT);
});

it.each([5, 6, 7])('does not know compression %d', (code) => {
  expect(() => decompress(code, TEXT, LIMIT)).toThrow(
    expect.objectContaining({ code: 'unsupported-compression' }),
  );
});

describe('gzip', () => {
  it('refuses a bomb whose trailer says that it is small', async () => {
    const bomb = gzipSync(Buffer.alloc(16 * MEBIBYTE));
    bomb.writeUInt32LE(10, bomb.length - 4);
    expect(await faultOf(COMPRESSION.gzip, bomb, LIMIT)).toBe('too-large');
  });
});

describe('snappy', () => {
  it('does not believe a length that its bytes cannot hold', async () => {
    const lie = Buffer.concat([Buffer.from([0x80, 0x80, 0x80, 0x01]), Buffer.alloc(10)]);
    expect(await faultOf(COMPRESSION.snappy, lie, LIMIT)).toBe('invalid-record');
  });

  it('refuses a stream of countless empty chunks', async () => {
    const chunk = Buffer.from([0, 0, 0, 1, 0]);
    const stream = Buffer.concat([xerial(Buffer.alloc(0)), ...Array.from({ length: 1000 }, () => chunk)]);
    expect(await faultOf(COMPRESSION.snappy, stream, LIMIT)).toBe('invalid-record');
  });
});

describe('lz4', () => {
  it('measures blocks exactly where their bound alone would be too much', async () => {
    const data = Buffer.alloc(40 * KIBIBYTE, randomBytes(1000));
    const compressed = compressFrameSync(data);
    expect(await faultOf(COMPRESSION.lz4, compressed, data.length)).toBe(undefined);
    expect(await faultOf(COMPRESSION.lz4, compressed, data.length - 1)).toBe('too-large');
  });

  it('insists on the end mark', async () => {
    const frame = compressFrameSync(TEXT);
    expect(await faultOf(COMPRESSION.lz4, frame.subarray(0, -4), LIMIT)).toBe('invalid-record');
    expect(await faultOf(COMPRESSION.lz4, Buffer.concat([frame, frame]), LIMIT)).toBe('invalid-record');
  });

  it('hashes as xxHash does', () => {
    // XXH32 of "", "a" and "Nobody inspects", seed 0.
    expect(xxh32(Buffer.alloc(0), 0, 0)).toBe(0x02cc5d05);
    expect(xxh32(Buffer.from('a'), 0, 1)).toBe(0x550d7456);
    expect(xxh32(Buffer.from('abc'), 0, 3)).toBe(0x32d153ff);
  });
});

describe('zstd', () => {
  it('refuses repeat blocks that stand for gigabytes', async () => {
    // One block of four bytes stands for 128 KiB of the same byte.
    const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
    const repeat = (last: number) =>
      Buffer.from([(((128 * KIBIBYTE) << 3) & 0xff) | 2 | last, 0x00, 0x10, 0x61]);
    const blocks = Array.from({ length: 10_000 }, (_, index) => repeat(index === 9_999 ? 1 : 0));
    expect(await faultOf(COMPRESSION.zstd, Buffer.concat([header, ...blocks]), LIMIT)).toBe('too-large');
    const few = await decompress(COMPRESSION.zstd, Buffer.concat([header, repeat(0), repeat(1)]), LIMIT);
    expect(few.equals(Buffer.alloc(256 * KIBIBYTE, 'a'))).toBe(true);
  });

  it('refuses a window of gigabytes', async () => {
    const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00]);
    expect(await faultOf(COMPRESSION.zstd, frame, LIMIT)).toBe('invalid-record');
  });

  it('takes several frames and skippable ones', async () => {
    const frame = new Encoder(3).encodeSync(TEXT);
    const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
    const output = await decompress(COMPRESSION.zstd, Buffer.concat([frame, skippable, frame]), LIMIT);
    expect(output.equals(Buffer.concat([TEXT, TEXT]))).toBe(true);
  });
});

/** snappy-java's framing with its default chunk of 32 KiB. */
function xerial(data: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from('82534e4150505900' + '00000001' + '00000001', 'hex')];
  for (let at = 0; at < data.length; at += 32 * KIBIBYTE) {
    const block = compressSync(data.subarray(at, at + 32 * KIBIBYTE));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/** A frame whose header checksum covers the magic too. */
function legacyLz4(data: Buffer): Buffer {
  const frame = Buffer.from(compressFrameSync(data));
  frame[6] = (xxh32(frame, 0, 6) >>> 8) & 0xff;
  return frame;
}

async function outcomeOf(code: number, bytes: Buffer, limit: number): Promise<Buffer | string> {
  try {
    return await decompress(code, bytes, limit);
  } catch (error) {
    if (error instanceof RecordsError) return error.code;
    throw error;
  }
}

async function faultOf(code: number, bytes: Buffer, limit: number): Promise<string | undefined> {
  const outcome = await outcomeOf(code, bytes, limit);
  return typeof outcome === 'string' ? outcome : undefined;
}
