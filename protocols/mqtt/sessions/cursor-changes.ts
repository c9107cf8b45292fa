// What has to be written of one session's cursors. All of them are written when its subscriptions change, when its connection
// ends and now and then; in between those alone that it was sent something from, since all that another partition has had
// meanwhile was not for it: a session that goes on from an older cursor there is sent nothing twice. By other mapping rules
// some of it may be: all are written again when rules have been replaced.
import type { LogSource } from '../log-source.ts';
import type { StoredCursors } from './delivery-record.ts';
import type { Place } from './places.ts';
import type { PositionSnapshot } from './position-snapshot.ts';
import { placeOf } from './position-snapshot.ts';

/** So many cursors need no record of their own beside what changes. */
const NAMED_MIN = 64;
/** Above this part of all partitions, those that differ cost more than new positions. */
const NAMED_PART = 1 / 4;

/** The dispatchers, as one session stands to them. */
export interface CursorSources {
  readonly all: ReadonlyMap<unknown, LogSource>;
  cursorOf(source: LogSource): number;
  sourceOf(place: Place): LogSource | undefined;
  snapshot(): PositionSnapshot;
  readonly latestSnapshot: PositionSnapshot | undefined;
  /** When other mapping rules came; milliseconds from an arbitrary start. */
  readonly rulesReplacedMs: number;
}

export interface CursorChange {
  /** Positions that the places are to be seen against; null = there are none any more, absent = the same as before. */
  readonly base?: PositionSnapshot | null;
  /** Cursors that are not as in the positions; undefined = there are no subscriptions. */
  readonly cursors: readonly Place[] | undefined;
}

export class CursorChanges {
  readonly #sources: CursorSources;
  /** What the record of cursors holds; `unknown` = something that is not in memory, `lost` = nobody can say. */
  #base: PositionSnapshot | 'unknown' | 'lost' | undefined;
  /** Named in the delivery record, whatever they are now. */
  #named = new Set<LogSource>();
  /** How many were when all were looked at last. */
  #namedThen = 0;
  #describedMs = Number.NEGATIVE_INFINITY;
  /** The positions were those when all cursors were written last. */
  #describedAt: PositionSnapshot | undefined;

  /**
   * @param stored what is on disk
   * @param named the cursors of the delivery record
   */
  constructor(sources: CursorSources, stored: StoredCursors | undefined, named: readonly Place[]) {
    this.#sources = sources;
    if (stored !== undefined) {
      const { latestSnapshot } = sources;
      this.#base = latestSnapshot?.id === stored.id ? latestSnapshot : 'unknown';
    }
    for (const place of named) {
      const source = sources.sourceOf(place);
      if (source !== undefined && !source.closed) this.#named.add(source);
    }
  }

  /** A message of the partition was sent, or passed over: an older cursor there will not do. */
  moved(source: LogSource): void {
    this.#named.add(source);
  }

  /** A write that had positions in it may have failed: whatever comes next brings its own. */
  forgetBase(): void {
    this.#base = 'lost';
    this.#describedAt = undefined;
  }

  /** When all cursors were looked at last, and whether any position has moved since. */
  isOlderThan(nowMs: number, ageMs: number): boolean {
    const isOld = nowMs - this.#describedMs >= ageMs || this.#isByOldRules;
    return isOld && this.#sources.snapshot() !== this.#describedAt;
  }

  get #isByOldRules(): boolean {
    return this.#describedMs < this.#sources.rulesReplacedMs;
  }

  /** Without subscriptions there are none. */
  takeNone(): CursorChange {
    this.#named.clear();
    this.#describedAt = undefined;
    if (this.#base === undefined) return { cursors: undefined };
    this.#base = undefined;
    return { base: null, cursors: undefined };
  }

  /** @param isComplete every cursor is as it is now, and not only those that count. */
  take(isComplete: boolean, nowMs: number): CursorChange {
    const base = this.#base;
    if (base === 'lost') return this.#rebase(nowMs);
    if (base === undefined) {
      return this.#sources.all.size <= NAMED_MIN
        ? { cursors: this.#describe(undefined, nowMs) }
        : this.#rebase(nowMs);
    }
    if (!isComplete && !this.#isByOldRules) {
      return this.#isLong(this.#named.size) ? this.#rebase(nowMs) : { cursors: this.#placesOf(this.#named) };
    }
    if (base === 'unknown') return this.#rebase(nowMs);
    const cursors = this.#describe(base, nowMs);
    return this.#isLong(cursors.length) ? this.#rebase(nowMs) : { cursors };
  }

  #rebase(nowMs: number): CursorChange {
    const base = this.#sources.snapshot();
    this.#base = base;
    const cursors = this.#describe(base, nowMs);
    this.#namedThen = cursors.length;
    return { base, cursors };
  }

  /** A session that is behind everywhere would be written positions again and again. */
  #isLong(count: number): boolean {
    return count > Math.max(NAMED_MIN, this.#sources.all.size * NAMED_PART, this.#namedThen * 2);
  }

  /** All that differ, which are those that are named from now on. */
  #describe(base: PositionSnapshot | undefined, nowMs: number): Place[] {
    this.#describedMs = nowMs;
    this.#describedAt = this.#sources.snapshot();
    const named = new Set<LogSource>();
    for (const source of this.#sources.all.values()) {
      if (this.#sources.cursorOf(source) !== (base?.offsetOf(source) ?? 0)) named.add(source);
    }
    this.#named = named;
    return this.#placesOf(named);
  }

  #placesOf(named: Set<LogSource>): Place[] {
    const places: Place[] = [];
    for (const source of named) {
      if (source.closed) named.delete(source);
      else places.push(placeOf(source, this.#sources.cursorOf(source)));
    }
    return places;
  }
}
