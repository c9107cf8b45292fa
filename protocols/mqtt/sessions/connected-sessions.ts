// The sessions that outlive their connections and are connected: what has changed of them and need not be on disk at once is
// written now and then.
import type { Clock, Timer } from '../../port.ts';
import type { DurableSession } from './durable-session.ts';
import type { Place } from './places.ts';

/** Cursors and acknowledgements of QoS 1 are written this often: after a crash their messages come again. */
const TOUCHED_INTERVAL_MS = 1000;
/** All cursors of a connected session are written when that was so long ago and they have moved … */
const REFRESH_AGE_MS = 60_000;
/** … so many sessions each time, so that those of very many partitions are no load: 1 MB for 10,000 partitions. */
const REFRESH_INTERVAL_MS = 1000;
const REFRESHES_MAX = 20;

export class ConnectedSessions {
  readonly #clock: Clock;
  readonly #sessions = new Set<DurableSession>();
  readonly #touched = new Set<DurableSession>();
  #touchedTimer: Timer | undefined;
  #refreshTimer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(durable: DurableSession): void {
    this.#sessions.add(durable);
    this.#refreshTimer ??= this.#clock.setTimer(REFRESH_INTERVAL_MS, () => this.#refresh());
  }

  delete(durable: DurableSession): void {
    this.#sessions.delete(durable);
    this.#touched.delete(durable);
  }

  touch(durable: DurableSession): void {
    this.#touched.add(durable);
    this.#touchedTimer ??= this.#clock.setTimer(TOUCHED_INTERVAL_MS, () => {
      this.#touchedTimer = undefined;
      for (const touched of this.#touched) void touched.flush(); // never rejects
      this.#touched.clear();
    });
  }

  /** Of each, what it has received; see received-tail.ts. */
  writeReceived(): Promise<(readonly Place[] | undefined)[]> {
    return Promise.all([...this.#sessions].map((session) => session.writeReceived()));
  }

  close(): void {
    this.#touchedTimer?.cancel();
    this.#refreshTimer?.cancel();
  }

  /** Sessions that are sent little do not fall behind in what is written of them, a few at a time. */
  #refresh(): void {
    this.#refreshTimer = undefined;
    let count = 0;
    for (const durable of this.#sessions) {
      if (count === REFRESHES_MAX) break;
      if (!durable.refresh(REFRESH_AGE_MS)) continue;
      count++;
      // Its turn comes again behind all others.
      this.#sessions.delete(durable);
      this.#sessions.add(durable);
    }
    if (this.#sessions.size === 0) return;
    this.#refreshTimer = this.#clock.setTimer(REFRESH_INTERVAL_MS, () => this.#refresh());
  }
}
