// Frames in a stream of bytes, however it is cut.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FRAME, findFrame, flagsAreLegal } from '../../../protocols/mqtt/framing.ts';
import { InputBuffer } from '../../../protocols/mqtt/input-buffer.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

function find(bytes: Buffer, bytesMax = 1_000_000) {
  const bounds = { bodyStart: -1, bodyEnd: -1 };
  const outcome = findFrame(bytes, 0, bytes.length, bytesMax, bounds);
  return { outcome, ...bounds };
}

describe('a frame', () => {
  it.each([
    ['c0 00', 2, 2],
    ['30 03 616263', 2, 5],
    [`30 8001 ${'00'.repeat(128)}`, 3, 131],
    // The largest length of each size, and the smallest of the next (table 2-4 of 3.1.1).
    [`30 7f ${'00'.repeat(127)}`, 2, 129],
    [`30 ff7f ${'00'.repeat(16_383)}`, 3, 16_386],
    [`30 808001 ${'00'.repeat(16_384)}`, 4, 16_388],
  ])('%.20s… is complete', (text, bodyStart, bodyEnd) => {
    expect(find(hex(text))).toEqual({ outcome: FRAME.COMPLETE, bodyStart, bodyEnd });
  });

  it('ends where its length says, whatever comes behind', () => {
    expect(find(hex('c000 c000'))).toEqual({ outcome: FRAME.COMPLETE, bodyStart: 2, bodyEnd: 2 });
  });

  it.each(['30', '30 80', '30 ffff', '30 ffffff', '30 05 0000'])('%s needs more', (text) => {
    expect(find(hex(text)).outcome).toBe(FRAME.NEED_MORE);
  });

  it.each(['30 ffffffff', '30 80808080 00', '30 8000', '30 808000', '30 80808000'])(
    '%s has no length',
    (text) => {
      expect(find(hex(text)).outcome).toBe(FRAME.MALFORMED);
    },
  );

  it('is judged by its length alone, before any of it has come', () => {
    expect(find(hex('30 ffffff7f'), 1024).outcome).toBe(FRAME.TOO_LARGE);
  });

  it('may be exactly as large as allowed, its header counted', () => {
    expect(find(hex('30 03 616263'), 5).outcome).toBe(FRAME.COMPLETE);
    expect(find(hex('30 03 616263'), 4).outcome).toBe(FRAME.TOO_LARGE);
  });
});

describe('flags of a fixed header', () => {
  it.each([
    [0x10, true],
    [0x11, false],
    [0x3d, true],
    [0x62, true],
    [0x60, false],
    [0x82, true],
    [0x83, false],
    [0xa2, true],
    [0xc0, true],
    [0xc1, false],
    [0xe8, false],
    [0xf0, true],
  ])('0x%s are legal: %s', (firstByte, legal) => {
    expect(flagsAreLegal(firstByte, 5)).toBe(legal);
    expect(flagsAreLegal(firstByte, 4)).toBe(legal);
  });

  it('of 3.1 may say DUP on more than PUBLISH, and what has no meaning is not looked at (3.1 section 2.1)', () => {
    for (const firstByte of [0x62, 0x6a, 0x8a, 0xaa, 0xc1]) expect(flagsAreLegal(firstByte, 3)).toBe(true);
  });
});

describe('the input buffer', () => {
  /** Frames found when the bytes come in these pieces. */
  function framesOf(pieces: readonly Buffer[]): string[] {
    const input = new InputBuffer();
    const bounds = { bodyStart: 0, bodyEnd: 0 };
    const frames: string[] = [];
    for (const piece of pieces) {
      input.push(piece);
      while (findFrame(input.bytes, input.start, input.end, 1 << 20, bounds) === FRAME.COMPLETE) {
        frames.push(input.bytes.toString('hex', input.start, bounds.bodyEnd));
        input.start = bounds.bodyEnd;
      }
      input.release();
    }
    return frames;
  }

  const frames = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });

  it('finds the same frames however they are cut', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(400)), (bodies, cuts) => {
        const packets = bodies.map((body) => frameOf(Buffer.from(body)));
        const stream = Buffer.concat(packets);
        const pieces: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          pieces.push(stream.subarray(at, at + cut));
          at += cut;
        }
        pieces.push(stream.subarray(at));
        expect(framesOf(pieces)).toEqual(packets.map((packet) => packet.toString('hex')));
      }),
    );
  });

  it('finds them byte by byte', () => {
    const packets = [
      frameOf(Buffer.alloc(200, 1)),
      frameOf(Buffer.alloc(0)),
      frameOf(Buffer.alloc(20_000, 2)),
    ];
    const pieces = [...Buffer.concat(packets)].map((byte) => Buffer.from([byte]));
    expect(framesOf(pieces)).toEqual(packets.map((packet) => packet.toString('hex')));
  });

  it('takes no more than twice what has come of a packet, however much that has announced', () => {
    const input = new InputBuffer();
    input.push(hex('30 ffffff7f'));
    for (let received = 5; received < 1 << 20; received += 1000) {
      input.push(Buffer.alloc(1000));
      input.release();
      expect(input.bytes.length).toBeLessThanOrEqual(2 * input.length);
    }
  });

  it('keeps a few unread bytes, not the piece they came in', () => {
    const input = new InputBuffer();
    input.push(Buffer.alloc(65_536));
    input.start = 65_530;
    input.release();
    expect(input.length).toBe(6);
    expect(input.bytes.length).toBe(6);
  });

  it('holds nothing when everything is read', () => {
    const input = new InputBuffer();
    input.push(Buffer.alloc(65_536));
    input.start = input.end;
    input.release();
    expect(input.bytes.length).toBe(0);
  });
});

function frameOf(body: Buffer): Buffer {
  const header = [0x30];
  let rest = body.length;
  do {
    header.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>= 7;
  } while (rest > 0);
  return Buffer.concat([Buffer.from(header), body]);
}
