// How much of a topic a tail shows: rows and bytes a second, with a second's worth in hand at the beginning.
import type { Clock } from '../../protocols/port.ts';

export interface TailRates {
  readonly rowsPerSecond: number;
  readonly bytesPerSecond: number;
}

export class TailPace {
  readonly #rates: TailRates;
  readonly #clock: Clock;
  #rows: number;
  #bytes: number;
  #atMs: number;

  constructor(rates: TailRates, clock: Clock) {
    this.#rates = rates;
    this.#clock = clock;
    this.#rows = rates.rowsPerSecond;
    this.#bytes = rates.bytesPerSecond;
    this.#atMs = clock.monotonic();
  }

  /** Whether one more may be shown now. One that is longer than a second's bytes is shown, and paid for afterwards. */
  get isOpen(): boolean {
    this.#refill();
    return this.#rows >= 1 && this.#bytes > 0;
  }

  /** One of so many bytes was shown. */
  spend(bytes: number): void {
    this.#rows -= 1;
    this.#bytes -= bytes;
  }

  /** Until the next may be shown. */
  get waitMs(): number {
    const rowsMs = (Math.max(0, 1 - this.#rows) * 1000) / this.#rates.rowsPerSecond;
    const bytesMs = (Math.max(0, 1 - this.#bytes) * 1000) / this.#rates.bytesPerSecond;
    return Math.ceil(Math.max(rowsMs, bytesMs, 1));
  }

  #refill(): void {
    const nowMs = this.#clock.monotonic();
    const seconds = (nowMs - this.#atMs) / 1000;
    if (seconds <= 0) return;
    this.#atMs = nowMs;
    const { rowsPerSecond, bytesPerSecond } = this.#rates;
    this.#rows = Math.min(rowsPerSecond, this.#rows + seconds * rowsPerSecond);
    this.#bytes = Math.min(bytesPerSecond, this.#bytes + seconds * bytesPerSecond);
  }
}
