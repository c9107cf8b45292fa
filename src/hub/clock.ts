// The real clock and the real randomness. Everything below takes them as arguments, so that a simulation can
// put its own in their place.
import { randomInt, randomUUID } from 'node:crypto';
import type { Clock, Random, Timer } from '../../protocols/port.ts';

/** Node fires a longer timer at once, so a longer delay is waited for in pieces of this length. */
const TIMER_DELAY_MAX_MS = 2 ** 31 - 1;

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs, callback) => new SystemTimer(delayMs, callback),
};

export const SYSTEM_RANDOM: Random = {
  uuid: () => randomUUID(),
  below: (bound) => randomInt(bound),
};

/** A timer that keeps no process alive. */
class SystemTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;
  #remainingMs: number;
  readonly #callback: () => void;

  constructor(delayMs: number, callback: () => void) {
    this.#remainingMs = Math.max(0, delayMs);
    this.#callback = callback;
    this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#handle);
    this.#handle = undefined;
  }

  #arm(): void {
    const pieceMs = Math.min(this.#remainingMs, TIMER_DELAY_MAX_MS);
    this.#remainingMs -= pieceMs;
    this.#handle = setTimeout(() => {
      if (this.#remainingMs > 0) this.#arm();
      else this.#callback();
    }, pieceMs).unref();
  }
}
