// The pace of work that must not be felt: after a short slice it gives way to whatever else the event loop has to do,
// and it moves no more bytes per second than it may.
import type { Clock } from './environment.ts';
import { PACE_BURST_SECONDS, PACE_REST_MAX_MS, PACE_SLICE_MS } from './limits.ts';

export class Pace {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number;
  #sliceStartMs: number;
  /** Bytes that may be spent now; what has been spent too much is below 0. */
  #credit: number;
  #creditedAtMs: number;

  /** @param bytesPerSecond `Infinity` = as fast as it goes */
  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
    this.#sliceStartMs = clock.monotonic();
    this.#creditedAtMs = this.#sliceStartMs;
    this.#credit = bytesPerSecond * PACE_BURST_SECONDS;
  }

  /** Bytes were read or written. */
  spend(bytes: number): void {
    this.#credit -= bytes;
  }

  /** Whether it is time to `rest`. */
  isSpent(): boolean {
    return this.#credit < 0 || this.#clock.monotonic() - this.#sliceStartMs >= PACE_SLICE_MS;
  }

  /** Lets others go first, for as long as it takes to have credit again, but not so long that nobody could stop it. */
  async rest(): Promise<void> {
    this.#earn();
    if (this.#credit >= 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    } else {
      const missingMs = Math.ceil((-this.#credit / this.#bytesPerSecond) * 1000);
      await new Promise<void>((resolve) => {
        this.#clock.setTimer(Math.min(missingMs, PACE_REST_MAX_MS), resolve);
      });
      this.#earn();
    }
    this.#sliceStartMs = this.#clock.monotonic();
  }

  #earn(): void {
    const nowMs = this.#clock.monotonic();
    const earned = ((nowMs - this.#creditedAtMs) / 1000) * this.#bytesPerSecond;
    this.#creditedAtMs = nowMs;
    if (this.#bytesPerSecond === Number.POSITIVE_INFINITY) this.#credit = Number.POSITIVE_INFINITY;
    else this.#credit = Math.min(this.#credit + earned, this.#bytesPerSecond * PACE_BURST_SECONDS);
  }
}
