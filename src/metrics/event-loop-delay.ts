// How late the event loop comes to what is due, which is how long whatever arrives waits for the processor: a timer is
// set again and again, and looked at when it comes. From the start on, so that the first scrape has something to tell.
//
// Not Node's own (perf_hooks.monitorEventLoopDelay): that counts the time between two of its timers, so that an idle loop
// is as late as they are apart, and forgets it all whenever somebody asks.
import type { Clock, Histogram, Timer } from '../../protocols/port.ts';

/**
 * Often enough for a 99th percentile of what is scraped each quarter of a minute. Waking an idle virtual machine costs more
 * than what is done then, some 0.15 ms: at 20 ms that was most of what an idle hub takes of a processor.
 */
export const SAMPLE_MS = 100;

export class EventLoopDelay {
  /** In seconds. What is below a millisecond is none: timers are no finer. */
  readonly seconds: Histogram;
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock, seconds: Histogram) {
    this.#clock = clock;
    this.seconds = seconds;
    this.#watch();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    const dueAtMs = this.#clock.monotonic() + SAMPLE_MS;
    this.#timer = this.#clock.setTimer(SAMPLE_MS, () => {
      this.seconds.observe(Math.max(0, this.#clock.monotonic() - dueAtMs) / 1000);
      this.#watch();
    });
  }
}
