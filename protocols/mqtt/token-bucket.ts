// How often something may happen: so many times a second, and as many at once.

/** Sums of fractions are a little off. */
const ROUNDING = 1e-6;

export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledMs: number;

  /** @param nowMs of a clock that never goes back. */
  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = Math.max(perSecond, 1);
    this.#tokens = this.#burst;
    this.#filledMs = nowMs;
  }

  /** @returns 0 when it may happen now, and has; else how many milliseconds from now on it may. */
  take(nowMs: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledMs) * this.#perMs);
    this.#filledMs = nowMs;
    if (this.#tokens < 1 - ROUNDING) return Math.ceil((1 - this.#tokens) / this.#perMs - ROUNDING);
    this.#tokens--;
    return 0;
  }
}
