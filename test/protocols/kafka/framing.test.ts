// The framing, fed in every way a socket may cut its bytes.

import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { FrameReader } from '../../../protocols/kafka/framing.ts';

const FRAME_BYTES_MAX = 1 << 20;

function framed(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + body.length);
  frame.writeInt32BE(body.length, 0);
  frame.set(body, 4);
  return frame;
}

/** Feeds the chunks and takes what is whole after each. */
function takeAll(reader: FrameReader, chunks: readonly Buffer[]): string[] {
  const frames: string[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      frames.push(frame.toString('hex'));
    }
  }
  return frames;
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
}

const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 8 });

describe('framing', () => {
  property.prop([bodies, fc.array(fc.nat(), { maxLength: 12 })])(
    'any split gives the same frames',
    (list, cuts) => {
      const stream = Buffer.concat(list.map(framed));
      const reader = new FrameReader(FRAME_BYTES_MAX);
      expect(takeAll(reader, cutAt(stream, cuts))).toEqual(
        list.map((body) => Buffer.from(body).toString('hex')),
      );
      expect(reader.heldBytes).toBe(0);
    },
  );

  test('byte by byte', () => {
    const stream = Buffer.concat([
      framed(Buffer.from('abc')),
      framed(Buffer.alloc(0)),
      framed(Buffer.from('d')),
    ]);
    const frames = takeAll(
      new FrameReader(10),
      [...stream].map((byte) => Buffer.of(byte)),
    );
    expect(frames.map((hex) => Buffer.from(hex, 'hex').toString())).toEqual(['abc', '', 'd']);
  });

  test('a frame larger than many chunks is put together', () => {
    const body = Buffer.alloc(700_000, 7);
    const stream = Buffer.concat([framed(body), framed(Buffer.from('next'))]);
    const chunks = Array.from({ length: Math.ceil(stream.length / 65_536) }, (_, index) =>
      stream.subarray(index * 65_536, (index + 1) * 65_536),
    );
    const frames = takeAll(new FrameReader(FRAME_BYTES_MAX), chunks);
    expect(frames).toEqual([body.toString('hex'), Buffer.from('next').toString('hex')]);
  });

  test('frames wait when they are not taken, and keep their order', () => {
    const reader = new FrameReader(FRAME_BYTES_MAX);
    reader.push(Buffer.concat([framed(Buffer.from('a')), framed(Buffer.from('b'))]));
    expect(reader.next()?.toString()).toBe('a');
    reader.push(framed(Buffer.from('c')));
    expect([reader.next()?.toString(), reader.next()?.toString(), reader.next()]).toEqual([
      'b',
      'c',
      undefined,
    ]);
  });

  test.each([
    ['-1', 'ffffffff', 'negative-length'],
    ['the smallest int32', '80000000', 'negative-length'],
    ['2 GiB − 1', '7fffffff', 'too-large'],
    ['one above the limit', '00100001', 'too-large'],
  ])('a length of %s is refused at its fourth byte, nothing buffered', (_title, hex, fault) => {
    const reader = new FrameReader(FRAME_BYTES_MAX);
    expect(
      takeAll(
        reader,
        [...Buffer.from(hex, 'hex')].map((byte) => Buffer.of(byte)),
      ),
    ).toEqual([]);
    expect(reader.fault).toBe(fault);
    expect(takeAll(reader, [framed(Buffer.from('late'))])).toEqual([]);
  });

  test('the limit itself is accepted', () => {
    const body = Buffer.alloc(64);
    expect(takeAll(new FrameReader(64), [framed(body)])).toEqual([body.toString('hex')]);
  });
});
