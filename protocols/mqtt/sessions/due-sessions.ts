// When something is due of a session whose client is away: its end, or its will. What could not be done then is tried again,
// and not at once: a log that cannot be written may be so for days.
import type { Clock } from '../../port.ts';
import { Deadlines } from './deadlines.ts';
import type { SessionIndex } from './session-index.ts';

const RETRY_MS = 10_000;

export class DueSessions {
  readonly #clock: Clock;
  readonly #index: SessionIndex;
  readonly #deadlines: Deadlines<string>;
  /** When what could not be done is tried again. */
  readonly #retryMs = new Map<string, number>();

  /** @param onDue called once for each that was {@link set}; by {@link tried} it says when that is over. */
  constructor(clock: Clock, index: SessionIndex, onDue: (clientId: string) => void) {
    this.#clock = clock;
    this.#index = index;
    this.#deadlines = new Deadlines(clock, onDue);
  }

  /** Its client is away, and what is known of it is as it is now. */
  set(clientId: string): void {
    this.#deadlines.set(clientId, Math.max(this.#dueMs(clientId), this.#retryMs.get(clientId) ?? 0));
  }

  /** Its client is back, or about to be. */
  delete(clientId: string): void {
    this.#deadlines.delete(clientId);
  }

  /** What was due is done, or could not be. */
  tried(clientId: string): void {
    const nowMs = this.#clock.now();
    if (this.#dueMs(clientId) <= nowMs) this.#retryMs.set(clientId, nowMs + RETRY_MS);
    else this.#retryMs.delete(clientId);
  }

  /** There is no such session any more. */
  forget(clientId: string): void {
    this.#retryMs.delete(clientId);
  }

  close(): void {
    this.#deadlines.close();
  }

  #dueMs(clientId: string): number {
    return Math.min(this.#index.deadlineMs(clientId), this.#index.willDeadlineMs(clientId));
  }
}
