// Tells when a commit was not done in its time. One timer for many commits: when it fires it looks how old the oldest
// under way is, and comes back later.
import type { Clock, Timer } from './environment.ts';

export interface CommitWatchdogOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** When the oldest commit under way began; undefined when none is, or nobody wants to know. */
  startedAtMs(): number | undefined;
  onTimeout(): void;
}

export class CommitWatchdog {
  readonly #options: CommitWatchdogOptions;
  #timer: Timer | undefined;

  constructor(options: CommitWatchdogOptions) {
    this.#options = options;
  }

  /** A commit has begun. */
  watch(): void {
    if (this.#timer === undefined) this.#watchFor(this.#options.timeoutMs);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #watchFor(delayMs: number): void {
    const { clock, timeoutMs } = this.#options;
    this.#timer = clock.setTimer(delayMs, () => {
      this.#timer = undefined;
      const startedAtMs = this.#options.startedAtMs();
      if (startedAtMs === undefined) return;
      const remainingMs = startedAtMs + timeoutMs - clock.monotonic();
      if (remainingMs > 0) this.#watchFor(remainingMs);
      else this.#options.onTimeout();
    });
  }
}
