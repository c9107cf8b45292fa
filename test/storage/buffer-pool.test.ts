// Buffers that are used again, within a bound.
import { expect, it } from 'vitest';
import { BufferPool } from '../../storage/buffer-pool.ts';

const KIB = 1024;

it('what comes back is given out again, for as much or less', () => {
  const pool = new BufferPool(256 * KIB);
  const buffer = pool.take(100 * KIB);
  expect(buffer.length).toBe(128 * KIB);
  pool.giveBack(buffer);
  expect(pool.bytes).toBe(128 * KIB);
  expect(pool.take(70 * KIB)).toBe(buffer);
  expect(pool.bytes).toBe(0);
  expect(pool.take(70 * KIB)).not.toBe(buffer);
});

it('what is not of the pool, or larger than it keeps, is left to the collector', () => {
  const pool = new BufferPool(64 * 1024 * KIB);
  pool.giveBack(Buffer.alloc(100));
  pool.giveBack(pool.take(5000 * KIB));
  expect(pool.bytes).toBe(0);
});

it('when it is full, sizes that nobody has asked for lately make way', () => {
  const pool = new BufferPool(128 * KIB);
  const small = Array.from({ length: 8 }, () => pool.take(16 * KIB));
  const large = pool.take(64 * KIB);
  for (const each of small) pool.giveBack(each);
  expect(pool.bytes).toBe(128 * KIB);
  pool.giveBack(large);
  expect(pool.bytes).toBe(128 * KIB);
  expect(pool.take(64 * KIB)).toBe(large);
});

it('when it is full of what was asked for later, what comes back is not kept', () => {
  const pool = new BufferPool(128 * KIB);
  const large = pool.take(64 * KIB);
  const small = Array.from({ length: 8 }, () => pool.take(16 * KIB));
  for (const each of small) pool.giveBack(each);
  pool.giveBack(large);
  expect(pool.bytes).toBe(128 * KIB);
  expect(pool.take(64 * KIB)).not.toBe(large);
});
