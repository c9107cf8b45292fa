// What all connections together hold of requests that have not come whole and of answers that their peers have not
// read. Each is bounded by itself, and ten thousand of them are not: when it is too much, the one that has held
// memory longest without getting rid of any is closed. Whoever sends and reads at any pace is never that one for long.

/** A connection may hold as much without being counted. */
const FREE_BYTES = 256 * 1024;

export interface MemoryHolder {
  /** Lets go of its memory, by closing. */
  relieve(): void;
}

export class ConnectionMemory {
  readonly #bytesMax: () => number;
  /** In the order in which they last held less than before, or began to hold. */
  readonly #held = new Map<MemoryHolder, number>();
  #totalBytes = 0;

  /** @param bytesMax asked each time: it may change */
  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  /** What the connections hold that hold more than is free. */
  get byteLength(): number {
    return this.#totalBytes;
  }

  get bytesMax(): number {
    return this.#bytesMax();
  }

  /** @param bytes that it holds now; 0 = it is closed */
  set(holder: MemoryHolder, bytes: number): void {
    const counted = bytes > FREE_BYTES ? bytes : 0;
    const before = this.#held.get(holder) ?? 0;
    if (counted === before) return;
    if (counted < before) this.#held.delete(holder);
    if (counted > 0) this.#held.set(holder, counted);
    this.#totalBytes += counted - before;
    if (this.#totalBytes > this.#bytesMax()) this.#relieve();
  }

  #relieve(): void {
    for (const [holder, bytes] of this.#held) {
      this.#held.delete(holder);
      this.#totalBytes -= bytes;
      holder.relieve();
      if (this.#totalBytes <= this.#bytesMax()) return;
    }
  }
}
