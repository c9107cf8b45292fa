// Bytes that stay as they are while anybody holds them, in memory that is used again once nobody does: a fresh megabyte costs
// the system as much as encoding a third of one, and the garbage collector is to find it. Who forgets to let go, or cannot
// tell whether the bytes are still on their way, costs a buffer that is not used again, and harms nobody.

import assert from 'node:assert/strict';

/** What is smaller is soon made anew. */
const POOLED_BYTES_MIN = 16 * 1024;
/** A buffer may be so many times as large as what is put in it. */
const SLACK = 2;
const ROUNDING_BYTES = 64 * 1024;

export class LastingBytes {
  readonly bytes: Buffer;
  readonly #memory: Buffer;
  readonly #pool: LastingPool;
  #holders = 1;

  /** By {@link LastingPool.copy}. */
  constructor(pool: LastingPool, memory: Buffer, byteLength: number) {
    this.#pool = pool;
    this.#memory = memory;
    this.bytes = memory.subarray(0, byteLength);
  }

  hold(): this {
    assert(this.#holders > 0, 'bytes are held that nobody has any more');
    this.#holders++;
    return this;
  }

  /** To be called once for each that holds them, who must not look at them any more. */
  letGo(): void {
    assert(this.#holders > 0, 'bytes are let go of that nobody holds');
    if (--this.#holders === 0) this.#pool.giveBack(this.#memory);
  }
}

export class LastingPool {
  readonly #bytesMax: number;
  readonly #spares: Buffer[] = [];
  #bytes = 0;

  /** @param bytesMax of buffers that wait to be used again */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Held by the caller. */
  copy(bytes: Uint8Array): LastingBytes {
    const memory = this.#take(bytes.length);
    memory.set(bytes);
    return new LastingBytes(this, memory, bytes.length);
  }

  giveBack(memory: Buffer): void {
    if (memory.length < POOLED_BYTES_MIN || this.#bytes + memory.length > this.#bytesMax) return;
    this.#spares.push(memory);
    this.#bytes += memory.length;
  }

  #take(byteLength: number): Buffer {
    const index = this.#spares.findIndex(
      ({ length }) => length >= byteLength && length <= SLACK * byteLength,
    );
    if (index >= 0) {
      const [spare] = this.#spares.splice(index, 1) as [Buffer]; // it is there
      this.#bytes -= spare.length;
      return spare;
    }
    const isPooled = byteLength >= POOLED_BYTES_MIN;
    return Buffer.allocUnsafeSlow(
      isPooled ? Math.ceil(byteLength / ROUNDING_BYTES) * ROUNDING_BYTES : byteLength,
    );
  }
}
