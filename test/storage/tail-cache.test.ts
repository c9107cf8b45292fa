// The newest batches in memory: what is evicted gives its memory back once nobody reads it any more.
import { expect, it } from 'vitest';
import { BufferPool } from '../../storage/buffer-pool.ts';
import { CHUNK_BYTES_MIN } from '../../storage/limits.ts';
import { type Chunk, ChunkRange, PartitionTail, TailCache } from '../../storage/tail-cache.ts';

/** A cache of two smallest chunks. */
function opened(): { readonly pool: BufferPool; readonly tail: PartitionTail; filled(): Chunk } {
  const pool = new BufferPool(1 << 20);
  const tail = new PartitionTail(new TailCache(2 * CHUNK_BYTES_MIN, pool), () => {});
  const filled = (): Chunk => {
    const chunk = tail.withRoom(CHUNK_BYTES_MIN);
    chunk.open = false;
    chunk.filled = CHUNK_BYTES_MIN;
    chunk.written = chunk.filled;
    chunk.flushed = chunk.filled;
    return chunk;
  };
  return { pool, tail, filled };
}

it('a chunk that is evicted is used again', () => {
  const { pool, filled } = opened();
  filled();
  filled();
  expect(pool.bytes).toBe(CHUNK_BYTES_MIN);
});

it('while it is read it is not, and then it is', () => {
  const { pool, filled } = opened();
  const chunk = filled();
  const ranges = [0, 1].map(() => new ChunkRange(chunk, 0, chunk.filled, 1));
  filled();
  expect(pool.bytes).toBe(0);
  ranges[0]!.release();
  ranges[0]!.release();
  expect(pool.bytes).toBe(0);
  ranges[1]!.release();
  expect(pool.bytes).toBe(CHUNK_BYTES_MIN);
  expect(pool.take(CHUNK_BYTES_MIN)).toBe(chunk.bytes);
});

it('what may be on its way to the disk is not, whoever lets go of it', () => {
  const { pool, tail, filled } = opened();
  const chunk = filled();
  chunk.flushed = 0;
  const range = new ChunkRange(chunk, 0, chunk.filled, 1);
  tail.release();
  range.release();
  expect(pool.bytes).toBe(0);
});
