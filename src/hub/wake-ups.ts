// Those who wait for a partition to advance: called in the tick in which it does.

interface Listener {
  call(): void;
  /** Among all; −1 = removed. */
  place: number;
}

export class WakeUps {
  /** A removal leaves a gap; gaps are closed when they are half of all and nothing is being called, so that it costs little. */
  readonly #listeners: (Listener | undefined)[] = [];
  readonly #onFailure: (error: unknown) => void;
  #waking = false;
  #gaps = 0;

  /** @param onFailure a listener threw: that must reach neither the others nor the store, which is in the middle of a commit */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Returns its removal. */
  add(listener: () => void): () => void {
    // Its own entry, so that one function given twice is removed once.
    const entry = { call: listener, place: this.#listeners.length };
    this.#listeners.push(entry);
    return () => this.#remove(entry);
  }

  call(): void {
    // Listeners added by a listener wait for the next advance.
    const count = this.#listeners.length;
    this.#waking = true;
    for (let index = 0; index < count; index++) this.#callOne(index);
    this.#waking = false;
    this.#closeGaps();
  }

  #callOne(index: number): void {
    try {
      this.#listeners[index]?.call();
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #remove(entry: Listener): void {
    if (entry.place < 0) return;
    this.#listeners[entry.place] = undefined;
    entry.place = -1;
    this.#gaps++;
    if (!this.#waking) this.#closeGaps();
  }

  #closeGaps(): void {
    if (this.#gaps * 2 < this.#listeners.length) return;
    let kept = 0;
    for (const listener of this.#listeners) {
      if (listener === undefined) continue;
      listener.place = kept;
      this.#listeners[kept++] = listener;
    }
    this.#listeners.length = kept;
    this.#gaps = 0;
  }
}
