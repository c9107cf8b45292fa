// Large buffers, used again. On a virtual machine the first touch of a fresh MiB costs some 300 to 900 µs of page
// faults, ten to thirty times what writing it costs: more than encoding the records that go into it.
//
// A buffer comes back only when somebody says so; one that is forgotten is collected like any other.
import { POOLED_BUFFER_BYTES_MAX, POOLED_BUFFER_BYTES_MIN } from './limits.ts';

export class BufferPool {
  readonly #bytesMax: number;
  /** Free buffers by size, powers of two. */
  readonly #free = new Map<number, Buffer[]>();
  #bytes = 0;

  /** @param bytesMax free buffers together at most */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** A buffer of at least `bytes`, with whatever was in it. */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const free = this.#free.get(size)?.pop();
    if (free === undefined) return Buffer.allocUnsafeSlow(size);
    this.#bytes -= size;
    return free;
  }

  /** Nobody uses the buffer, or a view of it, any more. */
  giveBack(buffer: Buffer): void {
    const size = buffer.length;
    if (size > POOLED_BUFFER_BYTES_MAX || this.#bytes + size > this.#bytesMax) return;
    const free = this.#free.get(size);
    if (free === undefined) this.#free.set(size, [buffer]);
    else free.push(buffer);
    this.#bytes += size;
  }
}

function sizeFor(bytes: number): number {
  if (bytes > POOLED_BUFFER_BYTES_MAX) return bytes;
  let size = POOLED_BUFFER_BYTES_MIN;
  while (size < bytes) size *= 2;
  return size;
}
