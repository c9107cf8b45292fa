// Keep Alive (section 3.1.2.10): a client that has nothing to say says PINGREQ; one that is silent for too long is gone.
import type { Clock, Timer } from '../port.ts';

export interface KeepAliveOptions {
  readonly clock: Clock;
  /** How long the client may be silent: one and a half times what it says [MQTT-3.1.2-22]. */
  readonly keepAliveMs: number;
  /** While nothing is read from the client, nothing of it can be missed. */
  isReading(): boolean;
  onSilent(): void;
}

export class KeepAlive {
  readonly #options: KeepAliveOptions;
  #heardMs: number;
  #timer: Timer;

  constructor(options: KeepAliveOptions) {
    this.#options = options;
    this.#heardMs = options.clock.monotonic();
    this.#timer = this.#checkIn(options.keepAliveMs);
  }

  /** Something has come, or what has come is read at last: any packet counts. */
  heard(): void {
    this.#heardMs = this.#options.clock.monotonic();
  }

  close(): void {
    this.#timer.cancel();
  }

  #checkIn(delayMs: number): Timer {
    return this.#options.clock.setTimer(delayMs, () => this.#check());
  }

  #check(): void {
    const { clock, keepAliveMs } = this.#options;
    const idleMs = clock.monotonic() - this.#heardMs;
    if (idleMs < keepAliveMs) this.#timer = this.#checkIn(keepAliveMs - idleMs);
    else if (!this.#options.isReading()) this.#timer = this.#checkIn(keepAliveMs);
    else this.#options.onSilent();
  }
}
