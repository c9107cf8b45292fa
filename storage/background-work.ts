// Work that nobody waits for but the closing of a log: small files and index rows on their way. Not finishing it is
// no loss, since each is made anew when it is missing; a failure is reported here and nowhere else.
import type { Log } from './environment.ts';

export class BackgroundWork {
  readonly #name: string;
  readonly #log: Log;
  readonly #running = new Set<Promise<void>>();

  constructor(name: string, log: Log) {
    this.#name = name;
    this.#log = log;
  }

  add(doing: string, work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.#log.warn('log.background-failed', { log: this.#name, doing, error }))
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
