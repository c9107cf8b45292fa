// Counts frames of four bytes of length and what they say, as Kafka's requests and answers are, without keeping a byte.

export class FrameCounter {
  #head = 0;
  #headBytes = 0;
  #left = 0;

  /** @returns how many frames end in this chunk */
  push(chunk: Uint8Array): number {
    let ended = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        at += taken;
        this.#left -= taken;
        if (this.#left === 0) ended++;
        continue;
      }
      this.#head = this.#head * 256 + (chunk[at++] ?? 0);
      if (++this.#headBytes < 4) continue;
      this.#left = this.#head;
      this.#head = 0;
      this.#headBytes = 0;
    }
    return ended;
  }
}
