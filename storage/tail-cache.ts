// Recent batches of all partitions in memory, within one bound. Whoever else keeps records because they are likely to be
// read soon (blocks read ahead, what a front end has encoded) keeps them within the same bound: the oldest chunks make
// way, down to a quarter of it. A chunk mirrors a stretch of a segment file byte for
// byte; the newest chunk of a partition is also its write buffer: appends encode into it, commits write from it and
// readers are served from it, with no copy between them.
//
//   0 ······ flushed ······ written ······ filled ······ (open batch) ······ capacity
//   on disk      given to the system   dirty      invisible
//
// Bytes below `filled` do not change, so a reader may keep them for as long as it likes. The memory of an evicted chunk
// is used again only if every reader that ever got a range of it has released that.
import type { AbortedTransaction } from './aborted-batches.ts';
import type { RecordRange } from './batch-cursor.ts';
import type { BufferPool } from './buffer-pool.ts';
import { viewOf } from './frame.ts';
import { CHUNK_BYTES_MAX, CHUNK_BYTES_MIN } from './limits.ts';
import type { RangePlace, Segment } from './segment.ts';
import { type Linked, UseOrder } from './use-order.ts';

export class Chunk implements Linked<Chunk> {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Set with the first finished batch, as are the next two. */
  segment: Segment | undefined = undefined;
  /** Position in the segment's file that byte 0 mirrors. */
  filePosition = 0;
  firstOffset = 0;
  /** One past the last offset of the finished batches. */
  endOffset = 0;
  /** End of the finished batches. */
  filled = 0;
  /** End of what was handed to the file system. */
  written = 0;
  /** End of what is on disk. */
  flushed = 0;
  /** Whether a batch is being encoded in it. */
  open = false;
  /** Ranges that were given out and not released. */
  leases = 0;
  /** Neighbours among the chunks of the cache, by age. */
  older: Chunk | undefined = undefined;
  newer: Chunk | undefined = undefined;
  isCached = false;
  /** Where its memory goes with the last lease; undefined while it is cached, or when it may be on its way to the disk. */
  leavesTo: BufferPool | undefined = undefined;
  readonly #owner: ChunkOwner;

  constructor(bytes: Buffer, owner: ChunkOwner) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.#owner = owner;
  }

  /** What is not on disk has no other place to be read from. */
  get evictable(): boolean {
    return !this.open && this.flushed === this.filled;
  }

  evict(): void {
    this.#owner.forget(this);
  }
}

/** A part of a chunk, given to a reader. */
export class ChunkRange implements RecordRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly nextOffset: number;
  aborted: readonly AbortedTransaction[] | undefined = undefined;
  committedOnly: boolean | undefined = undefined;
  #chunk: Chunk | undefined;

  constructor(chunk: Chunk, start: number, end: number, nextOffset: number) {
    this.bytes = chunk.bytes;
    this.start = start;
    this.end = end;
    this.nextOffset = nextOffset;
    this.#chunk = chunk;
    chunk.leases++;
  }

  /** Where the range lies, until it is released. */
  get place(): RangePlace | undefined {
    const { segment, filePosition } = this.#chunk ?? {};
    if (segment === undefined || filePosition === undefined) return undefined;
    return { segment, position: filePosition + this.start };
  }

  release(): void {
    const chunk = this.#chunk;
    if (chunk === undefined) return;
    this.#chunk = undefined;
    chunk.leases--;
    if (chunk.leases === 0) chunk.leavesTo?.giveBack(chunk.bytes);
  }
}

export interface ChunkOwner {
  forget(chunk: Chunk): void;
}

/** What the chunks have of the bound, whatever others keep. */
const CHUNKS_SHARE_MIN = 1 / 4;

/** The chunks of all partitions, oldest first, and their bound. */
export class TailCache {
  readonly bytesMax: number;
  readonly #pool: BufferPool;
  readonly #chunks = new UseOrder<Chunk>();
  #bytes = 0;
  #elsewhereBytes = 0;

  constructor(bytesMax: number, pool: BufferPool) {
    this.bytesMax = bytesMax;
    this.#pool = pool;
  }

  /** Of the chunks. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Somebody else keeps so many bytes of records more, or less. */
  keepElsewhere(bytes: number): void {
    this.#elsewhereBytes += bytes;
    if (bytes > 0) this.trim();
  }

  newChunk(roomBytes: number, owner: ChunkOwner): Chunk {
    // Whatever is in the buffer, only what has been encoded is ever shown.
    return new Chunk(this.#pool.take(roomBytes), owner);
  }

  add(chunk: Chunk): void {
    chunk.isCached = true;
    this.#chunks.add(chunk);
    this.#bytes += chunk.bytes.length;
    this.trim();
  }

  /** Its owner has forgotten the chunk. */
  remove(chunk: Chunk): void {
    if (!chunk.isCached) return;
    chunk.isCached = false;
    this.#chunks.remove(chunk);
    this.#bytes -= chunk.bytes.length;
    // A chunk that may not be evicted may be on its way to the disk.
    if (!chunk.evictable) return;
    if (chunk.leases === 0) this.#pool.giveBack(chunk.bytes);
    else chunk.leavesTo = this.#pool;
  }

  /** What may not be evicted takes more than all may. */
  get isOverfull(): boolean {
    return this.#bytes > this.bytesMax;
  }

  /** Evicts down to the bound; chunks that may not go are passed over and tried again next time. */
  trim(): void {
    const { bytesMax } = this;
    const bound = Math.max(bytesMax * CHUNKS_SHARE_MIN, bytesMax - this.#elsewhereBytes);
    if (this.#bytes <= bound) return;
    for (const chunk of this.#chunks) {
      if (!chunk.evictable) continue;
      chunk.evict();
      this.remove(chunk);
      if (this.#bytes <= bound) return;
    }
  }
}

/** The chunks of one partition, oldest first. */
export class PartitionTail implements ChunkOwner {
  readonly #cache: TailCache;
  readonly #onForget: (chunk: Chunk) => void;
  readonly #chunks: Chunk[] = [];

  /** @param onForget called when the cache takes a chunk away, so that nobody else holds on to it */
  constructor(cache: TailCache, onForget: (chunk: Chunk) => void) {
    this.#cache = cache;
    this.#onForget = onForget;
  }

  /** The newest chunk if `roomBytes` are free in it, else a new one. */
  withRoom(roomBytes: number): Chunk {
    const newest = this.#chunks.at(-1);
    if (newest !== undefined && newest.filled + roomBytes <= newest.bytes.length) return newest;
    return this.next(roomBytes);
  }

  /** A new chunk with room for `roomBytes` at least: twice the size of the last, smallest after a quiet time. */
  next(roomBytes: number): Chunk {
    const newest = this.#chunks.at(-1);
    const doubled = newest === undefined ? CHUNK_BYTES_MIN : 2 * newest.bytes.length;
    const chunk = this.#cache.newChunk(Math.max(Math.min(doubled, CHUNK_BYTES_MAX), roomBytes), this);
    if (newest !== undefined && newest.filled === 0) {
      this.#chunks.pop();
      this.#cache.remove(newest);
    }
    // Pinned until its first batch is finished, or add() might evict it at once.
    chunk.open = true;
    this.#chunks.push(chunk);
    this.#cache.add(chunk);
    return chunk;
  }

  /** The chunk that has `offset` in a finished batch. */
  find(offset: number): Chunk | undefined {
    for (let index = this.#chunks.length - 1; index >= 0; index--) {
      const chunk = this.#chunks[index]!; // index is below the length
      if (chunk.filled > 0 && offset >= chunk.firstOffset) {
        return offset < chunk.endOffset ? chunk : undefined;
      }
    }
    return undefined;
  }

  /** What has to be written, in order. Whoever takes it writes it. */
  takeDirty(): DirtyRange[] {
    const ranges: DirtyRange[] = [];
    for (const chunk of this.#chunks) {
      if (chunk.written === chunk.filled) continue;
      ranges.push({ chunk, start: chunk.written, end: chunk.filled });
      chunk.written = chunk.filled;
    }
    return ranges;
  }

  forget(chunk: Chunk): void {
    const index = this.#chunks.indexOf(chunk);
    if (index >= 0) this.#chunks.splice(index, 1);
    this.#onForget(chunk);
  }

  /** Forgets what mirrors files that are gone, but for the chunk that a batch is being encoded in. */
  forgetGone(): void {
    for (const chunk of this.#chunks.filter((each) => each.segment?.gone && each.evictable)) {
      this.forget(chunk);
      this.#cache.remove(chunk);
    }
  }

  /** Forgets everything. */
  release(): void {
    for (const chunk of this.#chunks) {
      this.#cache.remove(chunk);
      this.#onForget(chunk);
    }
    this.#chunks.length = 0;
  }
}

/** Finished bytes of a chunk that a commit writes: from `start` to `end`. */
export interface DirtyRange {
  readonly chunk: Chunk;
  readonly start: number;
  readonly end: number;
}
