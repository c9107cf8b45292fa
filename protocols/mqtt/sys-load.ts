// How fast counters rise, a minute, as Mosquitto says it under `$SYS/broker/load/…`: averages of the last 1, 5 and 15
// minutes in which what is older counts for exponentially less, as with the load of a Unix system.

const MINUTE_MS = 60_000;
const WINDOWS_MINUTES = [1, 5, 15] as const;

interface Load {
  readonly read: () => number;
  last: number;
  /** One per window, a minute. */
  readonly averages: number[];
}

export class LoadAverages {
  readonly #loads = new Map<string, Load>();
  #updatedMs: number;

  /** @param nowMs of a clock that never goes back. */
  constructor(counts: Readonly<Record<string, () => number>>, nowMs: number) {
    this.#updatedMs = nowMs;
    for (const [name, read] of Object.entries(counts)) {
      this.#loads.set(name, { read, last: read(), averages: WINDOWS_MINUTES.map(() => 0) });
    }
  }

  update(nowMs: number): void {
    const minutes = (nowMs - this.#updatedMs) / MINUTE_MS;
    if (minutes <= 0) return;
    this.#updatedMs = nowMs;
    for (const load of this.#loads.values()) {
      const current = load.read();
      const aMinute = (current - load.last) / minutes;
      load.last = current;
      for (const [index, window] of WINDOWS_MINUTES.entries()) {
        const before = load.averages[index]!; // one per window
        load.averages[index] = aMinute + Math.exp(-minutes / window) * (before - aMinute);
      }
    }
  }

  /** By `<name>/<window>min`. */
  *values(): Iterable<readonly [name: string, read: () => string]> {
    for (const [name, { averages }] of this.#loads) {
      for (const [index, window] of WINDOWS_MINUTES.entries()) {
        yield [`${name}/${window}min`, () => (averages[index] ?? 0).toFixed(2)];
      }
    }
  }
}
