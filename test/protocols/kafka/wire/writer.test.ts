// The writer's buffers: what was taken stays as it is until it is given back; large ones are used again.
import { describe, expect, it } from 'vitest';
import { type LastingBytes, LastingPool } from '../../../../protocols/kafka/wire/lasting-bytes.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';

const LARGE_BYTES = 200_000;

function written(writer: WireWriter, byte: number, byteLength: number): Buffer {
  writer.raw(Buffer.alloc(byteLength, byte));
  return writer.take();
}

it('a large buffer that is given back serves the next large frame', () => {
  const writer = new WireWriter();
  const first = written(writer, 1, LARGE_BYTES);
  writer.afterWriting(first)?.();
  const second = written(writer, 2, LARGE_BYTES);
  expect(second.buffer).toBe(first.buffer);
  expect(second.equals(Buffer.alloc(LARGE_BYTES, 2))).toBe(true);
});

it('a large buffer that is not given back, or whose write failed, is left alone', () => {
  const writer = new WireWriter();
  const first = written(writer, 1, LARGE_BYTES);
  const second = written(writer, 2, LARGE_BYTES);
  writer.afterWriting(second)?.(new Error('the peer is gone'));
  const third = written(writer, 3, LARGE_BYTES);
  expect(new Set([first.buffer, second.buffer, third.buffer]).size).toBe(3);
  expect(first.equals(Buffer.alloc(LARGE_BYTES, 1))).toBe(true);
  expect(second.equals(Buffer.alloc(LARGE_BYTES, 2))).toBe(true);
});

it('a buffer that is too small for the next frame waits for another', () => {
  const writer = new WireWriter();
  const small = written(writer, 1, LARGE_BYTES);
  writer.afterWriting(small)?.();
  const large = written(writer, 2, 10 * LARGE_BYTES);
  expect(large.equals(Buffer.alloc(10 * LARGE_BYTES, 2))).toBe(true);
  expect(written(writer, 3, LARGE_BYTES).buffer).toBe(small.buffer);
});

it('small frames share a slab, which nobody gives back', () => {
  const writer = new WireWriter();
  const first = written(writer, 1, 10);
  expect(writer.afterWriting(first)).toBeUndefined();
  expect(written(writer, 2, 10).buffer).toBe(first.buffer);
  expect([...first]).toEqual(new Array(10).fill(1));
});

describe('lent bytes', () => {
  const LENT_BYTES = 40_000;
  const pool = new LastingPool(10 * LENT_BYTES);
  const lasting = (byteLength: number, byte: number): LastingBytes =>
    pool.copy(Buffer.alloc(byteLength, byte));

  /** What a stream was given, part by part. */
  function streamOf() {
    const parts: Buffer[] = [];
    const ends: ((error?: Error) => void)[] = [];
    let corked = 0;
    const stream = {
      write(bytes: Buffer, done?: (error?: Error) => void): void {
        expect(corked).toBe(1);
        parts.push(bytes);
        if (done !== undefined) ends.push(done);
      },
      cork: () => void corked++,
      uncork: () => void corked--,
    };
    return { stream, parts, ends };
  }

  it('go out where they were put, from where they lie, and count in their frame', () => {
    const writer = new WireWriter();
    const lent = lasting(LENT_BYTES, 7);
    for (const value of [1, 2]) {
      const frame = writer.startFrame();
      writer.int8(value);
      writer.lend(lent.hold());
      if (value === 2) writer.int8(3);
      writer.endFrame(frame);
    }
    const { stream, parts } = streamOf();
    writer.writeTo(stream);
    expect(parts[1]).toBe(lent.bytes);
    const whole = Buffer.concat(parts);
    expect(whole.readInt32BE(0)).toBe(1 + LENT_BYTES);
    expect(whole.readInt32BE(5 + LENT_BYTES)).toBe(1 + LENT_BYTES + 1);
    expect(whole.length).toBe(2 * (5 + LENT_BYTES) + 1);
    expect(writer.length).toBe(0);
  });

  it('are held until they have been written, and for good when they could not be', () => {
    for (const error of [undefined, new Error('the peer is gone')]) {
      const writer = new WireWriter();
      const lent = lasting(LENT_BYTES, 7);
      const { buffer } = lent.bytes;
      writer.lend(lent.hold());
      lent.letGo();
      const { stream, ends } = streamOf();
      writer.writeTo(stream);
      expect(lasting(LENT_BYTES, 8).bytes.buffer).not.toBe(buffer);
      ends[0]!(error);
      expect(lasting(LENT_BYTES, 9).bytes.buffer === buffer).toBe(error === undefined);
    }
  });

  it('are copied when they are few, or somebody takes all', () => {
    const writer = new WireWriter();
    const few = lasting(10, 1);
    const many = lasting(LENT_BYTES, 2);
    writer.lend(few);
    writer.lend(many);
    expect(writer.take().equals(Buffer.concat([few.bytes, many.bytes]))).toBe(true);
  });

  it('go with a frame that is taken back, and no others', () => {
    const writer = new WireWriter();
    const kept = lasting(LENT_BYTES, 1);
    writer.int8(1);
    writer.lend(kept);
    const frame = writer.startFrame();
    writer.lend(lasting(LENT_BYTES, 2));
    writer.rewind(frame);
    expect(writer.take().equals(Buffer.concat([Buffer.from([1]), kept.bytes]))).toBe(true);
  });
});
