// Work that nobody waits for but the closing of a log: small files and index rows on their way. Not finishing it is
// no loss, since each is made anew when it is missing; a failure is reported here and nowhere else.
import type { Log } from './environment.ts';

export class BackgroundWork {
  readonly #name: string;
  readonly #log: Log;
  /** Only while there is any: thousands of logs have none. */
  #running: Set<Promise<void>> | undefined;

  constructor(name: string, log: Log) {
    this.#name = name;
    this.#log = log;
  }

  add(doing: string, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#log.warn('log.background-failed', { log: this.#name, doing, error }))
      .finally(() => {
        this.#running?.delete(tracked);
        if (this.#running?.size === 0) this.#running = undefined;
      });
    this.#running ??= new Set();
    this.#running.add(tracked);
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await Promise.all(this.#running);
  }
}
