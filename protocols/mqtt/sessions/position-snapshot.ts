// Where the dispatchers stood at one moment, for all sessions that write their cursors about then: a session that is live has
// the same ones as any other, so its record says which moment it means, and what is different.
import type { LogSource } from '../log-source.ts';
import { encodeCursors } from './delivery-record.ts';
import type { Place } from './places.ts';

/** Positions that have moved are taken anew after so long … */
const AGE_MAX_MS = 10_000;
/** … and when many of them have, after so long already. */
const AGE_MIN_MS = 1000;
const MANY = 1 / 8;

export class PositionSnapshot {
  readonly id: string;
  readonly takenMs: number;
  readonly #offsets = new Map<LogSource, number>();
  #encoded: Buffer | undefined;

  constructor(id: string, takenMs: number, sources: Iterable<LogSource>) {
    this.id = id;
    this.takenMs = takenMs;
    for (const source of sources) if (source.position > 0) this.#offsets.set(source, source.position);
  }

  get size(): number {
    return this.#offsets.size;
  }

  /** 0 of a partition that came later. */
  offsetOf(source: LogSource): number {
    return this.#offsets.get(source) ?? 0;
  }

  /** The record's value, made once. */
  encode(): Buffer {
    if (this.#encoded === undefined) {
      const places = [...this.#offsets].map(([source, offset]) => placeOf(source, offset));
      this.#encoded = encodeCursors({ id: this.id, places });
    }
    return this.#encoded;
  }
}

export class PositionSnapshots {
  /** The newest. */
  latest: PositionSnapshot | undefined;
  readonly #newId: () => string;

  /** @param newId never gives the same one twice, whichever process asks. */
  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** One that is not old, as far as it matters. */
  current(sources: ReadonlyMap<unknown, LogSource>, nowMs: number): PositionSnapshot {
    if (this.latest === undefined || this.#isOutdated(this.latest, sources, nowMs)) {
      this.latest = new PositionSnapshot(this.#newId(), nowMs, sources.values());
    }
    return this.latest;
  }

  /** Its dispatchers are gone. */
  forget(): void {
    this.latest = undefined;
  }

  #isOutdated(latest: PositionSnapshot, sources: ReadonlyMap<unknown, LogSource>, nowMs: number): boolean {
    const ageMs = nowMs - latest.takenMs;
    if (ageMs < AGE_MIN_MS) return false;
    // Of topics that are gone nothing is held on to.
    let moved = Math.max(0, latest.size - sources.size);
    for (const source of sources.values()) if (source.position !== latest.offsetOf(source)) moved++;
    return moved > 0 && (ageMs >= AGE_MAX_MS || moved > sources.size * MANY);
  }
}

export function placeOf({ partition }: LogSource, offset: number): Place {
  return { topicId: partition.topicId, partition: partition.partition, offset };
}
