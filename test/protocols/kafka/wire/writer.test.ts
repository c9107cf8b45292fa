// The writer's buffers: what was taken stays as it is until it is given back; large ones are used again.
import { expect, it } from 'vitest';
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
