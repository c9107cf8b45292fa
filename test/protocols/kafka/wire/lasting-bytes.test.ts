// Memory that is used again only when nobody holds what is in it.
import { expect, it } from 'vitest';
import { LastingPool } from '../../../../protocols/kafka/wire/lasting-bytes.ts';

const BYTES = 100_000;
const some = (byte: number, byteLength = BYTES): Buffer => Buffer.alloc(byteLength, byte);

it('bytes stay as they are until the last one who holds them has let go', () => {
  const pool = new LastingPool(10 * BYTES);
  const first = pool.copy(some(1)).hold();
  first.letGo();
  const second = pool.copy(some(2));
  expect(first.bytes.equals(some(1))).toBe(true);
  first.letGo();
  const third = pool.copy(some(3));
  expect(third.bytes.buffer).toBe(first.bytes.buffer);
  expect([second.bytes.equals(some(2)), third.bytes.equals(some(3))]).toEqual([true, true]);
});

it('who lets go twice is told', () => {
  const bytes = new LastingPool(10 * BYTES).copy(some(1));
  bytes.letGo();
  expect(() => bytes.letGo()).toThrow('nobody holds');
  expect(() => bytes.hold()).toThrow('nobody has');
});

it('a buffer serves what takes half of it or more, and no more of them wait than may', () => {
  const pool = new LastingPool(3 * BYTES);
  const held = [1, 2, 3, 4].map((byte) => pool.copy(some(byte)));
  for (const each of held) each.letGo();
  const known = new Set(held.map(({ bytes }) => bytes.buffer));
  expect(known.has(pool.copy(some(5, BYTES / 4)).bytes.buffer)).toBe(false);
  const again = [6, 7, 8].map((byte) => pool.copy(some(byte, BYTES - 10)));
  expect(again.filter(({ bytes }) => known.has(bytes.buffer)).length).toBe(2);
});
