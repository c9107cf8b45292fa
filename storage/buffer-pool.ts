// Large buffers, used again. On a virtual machine the first touch of a fresh MiB costs some 300 to 900 µs of page
// faults, ten to thirty times what writing it costs: more than encoding the records that go into it.
//
// A buffer comes back only when somebody says so; one that is forgotten is collected like any other. When there are as
// many free ones as may be, those go first whose size nobody has asked for in the longest time.
import { POOLED_BUFFER_BYTES_MAX, POOLED_BUFFER_BYTES_MIN } from './limits.ts';

interface SizeClass {
  readonly size: number;
  readonly free: Buffer[];
  /** The pool's count of calls when it was last asked for. */
  askedAt: number;
}

export class BufferPool {
  readonly #bytesMax: number;
  /** By size, powers of two. */
  readonly #classes = new Map<number, SizeClass>();
  #calls = 0;
  #bytes = 0;

  /** @param bytesMax free buffers together at most */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Of free buffers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A buffer of at least `bytes`, with whatever was in it. */
  take(bytes: number): Buffer {
    if (bytes > POOLED_BUFFER_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const sizeClass = this.#classFor(bytes);
    sizeClass.askedAt = ++this.#calls;
    const free = sizeClass.free.pop();
    if (free === undefined) return Buffer.allocUnsafeSlow(sizeClass.size);
    this.#bytes -= sizeClass.size;
    return free;
  }

  /** Nobody uses the buffer, or a view of it, any more. */
  giveBack(buffer: Buffer): void {
    const sizeClass = this.#classes.get(buffer.length);
    if (sizeClass === undefined || !this.#makeRoom(sizeClass)) return;
    sizeClass.free.push(buffer);
    this.#bytes += sizeClass.size;
  }

  #classFor(bytes: number): SizeClass {
    let size = POOLED_BUFFER_BYTES_MIN;
    while (size < bytes) size *= 2;
    let sizeClass = this.#classes.get(size);
    if (sizeClass === undefined) {
      sizeClass = { size, free: [], askedAt: 0 };
      this.#classes.set(size, sizeClass);
    }
    return sizeClass;
  }

  /** False when all that is free has been asked for more lately. */
  #makeRoom({ size, askedAt }: SizeClass): boolean {
    while (this.#bytes + size > this.#bytesMax) {
      let least: SizeClass | undefined;
      for (const each of this.#classes.values()) {
        if (each.free.length > 0 && each.askedAt < (least?.askedAt ?? askedAt)) least = each;
      }
      if (least === undefined) return false;
      least.free.pop();
      this.#bytes -= least.size;
    }
    return true;
  }
}
