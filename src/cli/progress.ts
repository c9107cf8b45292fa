// How far long work is: on one line of the terminal, which is replaced as the work goes on and gone when it is done. Work
// that is done at once shows nothing, and so does any where nobody looks.
import type { Surroundings } from './surroundings.ts';

const FIRST_MS = 500;
const EVERY_MS = 200;

export class Progress {
  readonly #surroundings: Pick<Surroundings, 'progress'>;
  #nextMs = performance.now() + FIRST_MS;
  #isShown = false;

  constructor(surroundings: Pick<Surroundings, 'progress'>) {
    this.#surroundings = surroundings;
  }

  /** @param words made only when they are shown. */
  at(words: () => string): void {
    if (this.#surroundings.progress === undefined || performance.now() < this.#nextMs) return;
    this.#surroundings.progress(words());
    this.#nextMs = performance.now() + EVERY_MS;
    this.#isShown = true;
  }

  end(): void {
    if (this.#isShown) this.#surroundings.progress?.('');
    this.#isShown = false;
  }
}
