// Stretches of a partition as Fetch has encoded them, for the readers that come behind: when many consumers read one
// partition, its records are encoded once, and each answer after the first costs the system's copy to its socket.
//
// Where one reader is, nothing is kept: a stretch is worth keeping once two have begun at the same place lately. Readers
// that follow each other do, because an answer that begins with a stretch ends with one (readItem in fetch-reading.ts).
// What lies in a stretch never changes under its offsets but by compaction, and a reader may have come before that: by no
// more than a stretch's age.
//
// A stretch that was encoded ahead of a reader (fetch-ahead.ts) is for that one, and is gone when it has come.
import type { AbortedTransaction, Clock, Partition, Timer, Visibility } from '../port.ts';
import { type LastingBytes, LastingPool } from './wire/lasting-bytes.ts';

/**
 * Of all partitions together; those that answers on their way still have are beside it. Readers of one partition drift
 * apart, and those who have lost the first one's stretches encode anew: ten of them on two processors need more than 16 MiB.
 */
const BYTES_MAX = 36 * 1024 * 1024;
/** Below this encoding costs less than all the rest of an answer. */
const STRETCH_BYTES_MIN = 4 * 1024;
const STRETCH_BYTES_MAX = 4 * 1024 * 1024;
const AGE_MAX_MS = 60_000;
/** Places where fetches began that are remembered of a partition. */
const BEGINNINGS_MAX = 16;
/** Since the last one that was used twice, so many stretches are kept. */
const KEPT_UNUSED_MAX = 64;
/** Of stretches that are for one reader, those being encoded included. Who finds no room does without. */
const AHEAD_BYTES_MAX = 8 * 1024 * 1024;
/** Of buffers that were stretches and will be again. */
const SPARE_BYTES_MAX = 4 * 1024 * 1024;
/** So many answers that go on from one another are one reader's. */
const RUN_MIN = 2;

export interface EncodedStretch {
  readonly firstOffset: number;
  /** Where the next one goes on. */
  readonly nextOffset: number;
  /** The encoder's, or those that last. */
  readonly bytes: Buffer;
  readonly records: number;
  /** Those that overlap it, by their first offset. */
  readonly aborted: readonly AbortedTransaction[];
  /** Of the partition when its records were read. */
  readonly leaderEpoch: number;
}

/** One whose bytes stay as they are for as long as they are held. */
export interface LastingStretch extends EncodedStretch {
  readonly lasting: LastingBytes;
}

/** Of one partition, up to one bound. */
interface Readers {
  readonly kept: Map<number, Kept>;
  /** Offsets; the oldest is replaced next. */
  readonly beginnings: number[];
  oldest: number;
  /** How many more are kept unless one is used again. */
  mayKeep: number;
  /** Where answers ended that were full, and how many before each it went on from; the oldest is replaced next. */
  readonly ends: number[];
  readonly runs: number[];
  oldestEnd: number;
  /** Where a stretch is being encoded ahead. */
  readonly ahead: Set<number>;
}

interface Kept {
  readonly readers: Readers;
  readonly stretch: LastingStretch;
  readonly keptAtMs: number;
  /** For the reader that it was encoded for, who has not come yet. */
  isAhead: boolean;
  /** Kept before it, and after it. */
  older: Kept | undefined;
  newer: Kept | undefined;
}

export class EncodedStretches {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly bytesMax: number;
  readonly #onKept: (bytes: number) => void;
  readonly #readers = new WeakMap<Partition, Partial<Record<Visibility, Readers>>>();
  /**
   * Readers come by once, so that the oldest is done with before the others. Linked, and not in a Set, which takes the
   * longer to find its first the more have been taken out before it.
   */
  #oldest: Kept | undefined;
  #newest: Kept | undefined;
  #bytes = 0;
  #aheadBytes = 0;
  readonly #pool = new LastingPool(SPARE_BYTES_MAX);
  /** Set while something is kept. */
  #sweep: Timer | undefined;

  /** @param onKept told of bytes that are kept more, or less */
  constructor(
    clock: Pick<Clock, 'monotonic' | 'setTimer'>,
    bytesMax = BYTES_MAX,
    onKept: (bytes: number) => void = () => {},
  ) {
    this.#clock = clock;
    this.bytesMax = bytesMax;
    this.#onKept = onKept;
  }

  close(): void {
    this.#sweep?.cancel();
  }

  /** Of what is kept. */
  get byteLength(): number {
    return this.#bytes;
  }

  /**
   * The stretch that begins at `offset`, if it ends at or before `end` and takes no more than `bytesMax`. The caller holds
   * it then.
   */
  find(
    partition: Partition,
    upTo: Visibility,
    { offset, end, bytesMax }: { readonly offset: number; readonly end: number; readonly bytesMax: number },
  ): LastingStretch | undefined {
    const readers = this.#readers.get(partition)?.[upTo];
    const kept = readers?.kept.get(offset);
    if (readers === undefined || kept === undefined || !this.#isOfUse(kept, partition)) return undefined;
    const { stretch } = kept;
    if (stretch.nextOffset > end || stretch.bytes.length > bytesMax) return undefined;
    stretch.lasting.hold();
    if (!kept.isAhead) readers.mayKeep = KEPT_UNUSED_MAX;
    else {
      kept.isAhead = false;
      this.#aheadBytes -= stretch.bytes.length;
      if (!isShared(readers, offset)) this.#forget(kept);
    }
    return stretch;
  }

  /**
   * Keeps what a fetch has encoded, if others are likely to ask for it and nothing larger begins there.
   * @returns it with bytes that stay as they are, held by the caller; undefined = it is not kept
   */
  offer(partition: Partition, upTo: Visibility, stretch: EncodedStretch): LastingStretch | undefined {
    const { firstOffset, bytes, leaderEpoch } = stretch;
    const { length } = bytes;
    if (length < STRETCH_BYTES_MIN || length > Math.min(STRETCH_BYTES_MAX, this.bytesMax)) return undefined;
    const readers = this.#readersOf(partition, upTo);
    if (!isShared(readers, firstOffset) || leaderEpoch !== partition.leaderEpoch) return undefined;
    const before = readers.kept.get(firstOffset);
    if (before !== undefined) {
      if (before.stretch.bytes.length >= length && this.#isOfUse(before, partition)) return undefined;
      this.#forget(before);
    }
    readers.mayKeep--;
    const lasting = this.#lastingOf(stretch);
    lasting.lasting.hold();
    this.#keep(readers, lasting, false);
    return lasting;
  }

  /** Notes where a full answer ended. @returns whether whoever it is for reads on from answer to answer */
  noteFull(partition: Partition, upTo: Visibility, firstOffset: number, nextOffset: number): boolean {
    const readers = this.#readersOf(partition, upTo);
    const { ends, runs } = readers;
    const another = ends.indexOf(nextOffset);
    if (another >= 0) return runs[another]! >= RUN_MIN; // as long as `ends`, here and below
    const before = ends.indexOf(firstOffset);
    const place = before < 0 ? readers.oldestEnd : before;
    if (before < 0) readers.oldestEnd = (readers.oldestEnd + 1) % BEGINNINGS_MAX;
    ends[place] = nextOffset;
    runs[place] = before < 0 ? 0 : runs[before]! + 1;
    return runs[place]! >= RUN_MIN;
  }

  /**
   * Makes room for a stretch that will be encoded ahead. @returns false when there is none, or the stretch is there or on
   * its way; else {@link endAhead} must follow
   */
  beginAhead(partition: Partition, upTo: Visibility, offset: number, bytesMax: number): boolean {
    this.#forgetOldest();
    const readers = this.#readersOf(partition, upTo);
    const kept = readers.kept.get(offset);
    const isThere = readers.ahead.has(offset) || (kept !== undefined && this.#isOfUse(kept, partition));
    if (isThere || this.#aheadBytes + bytesMax > Math.min(AHEAD_BYTES_MAX, this.bytesMax)) return false;
    readers.ahead.add(offset);
    this.#aheadBytes += bytesMax;
    return true;
  }

  /** @param stretch what was encoded, if anything was */
  endAhead(
    partition: Partition,
    upTo: Visibility,
    { offset, bytesMax }: { readonly offset: number; readonly bytesMax: number },
    stretch: EncodedStretch | undefined,
  ): void {
    this.#aheadBytes -= bytesMax;
    const readers = this.#readersOf(partition, upTo);
    readers.ahead.delete(offset);
    if (stretch === undefined || stretch.leaderEpoch !== partition.leaderEpoch) return;
    const { firstOffset, bytes } = stretch;
    if (bytes.length < STRETCH_BYTES_MIN || bytes.length > bytesMax || readers.kept.has(firstOffset)) return;
    // Where several read, all of them come for it.
    const isAhead = readers.mayKeep === 0;
    if (!isAhead) readers.mayKeep--;
    this.#keep(readers, this.#lastingOf(stretch), isAhead);
  }

  #lastingOf(stretch: EncodedStretch): LastingStretch {
    const lasting = this.#pool.copy(stretch.bytes);
    return { ...stretch, bytes: lasting.bytes, lasting };
  }

  #keep(readers: Readers, stretch: LastingStretch, isAhead: boolean): void {
    const { length } = stretch.bytes;
    const keptAtMs = this.#clock.monotonic();
    const kept: Kept = { readers, stretch, keptAtMs, isAhead, older: this.#newest, newer: undefined };
    readers.kept.set(stretch.firstOffset, kept);
    if (this.#newest === undefined) this.#oldest = kept;
    else this.#newest.newer = kept;
    this.#newest = kept;
    this.#bytes += length;
    this.#onKept(length);
    if (isAhead) this.#aheadBytes += length;
    this.#forgetOldest();
    this.#sweepLater();
  }

  /** What is too old goes when nobody fetches any more, too: the newest records have made way for it. */
  #sweepLater(): void {
    if (this.#oldest === undefined) return;
    this.#sweep ??= this.#clock.setTimer(AGE_MAX_MS, () => {
      this.#sweep = undefined;
      this.#forgetOldest();
      this.#sweepLater();
    });
  }

  #readersOf(partition: Partition, upTo: Visibility): Readers {
    let known = this.#readers.get(partition);
    if (known === undefined) {
      known = {};
      this.#readers.set(partition, known);
    }
    known[upTo] ??= {
      ...{ kept: new Map(), beginnings: [], oldest: 0, mayKeep: 0 },
      ...{ ends: [], runs: [], oldestEnd: 0, ahead: new Set() },
    };
    return known[upTo];
  }

  /** Another log may be behind the partition by now. */
  #isOfUse(kept: Kept, { leaderEpoch }: Partition): boolean {
    return kept.stretch.leaderEpoch === leaderEpoch && !this.#isOld(kept);
  }

  #isOld({ keptAtMs }: Kept): boolean {
    return this.#clock.monotonic() - keptAtMs > AGE_MAX_MS;
  }

  #forgetOldest(): void {
    while (this.#oldest !== undefined && (this.#bytes > this.bytesMax || this.#isOld(this.#oldest)))
      this.#forget(this.#oldest);
  }

  #forget({ readers, stretch, isAhead, older, newer }: Kept): void {
    readers.kept.delete(stretch.firstOffset);
    if (isAhead) this.#aheadBytes -= stretch.bytes.length;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.#bytes -= stretch.bytes.length;
    this.#onKept(-stretch.bytes.length);
    stretch.lasting.letGo();
  }
}

/** Whether somebody else began there, or stretches of the partition were used by more than one. Notes that it begins there. */
function isShared(readers: Readers, offset: number): boolean {
  const { beginnings } = readers;
  if (beginnings.includes(offset)) readers.mayKeep = KEPT_UNUSED_MAX;
  else if (beginnings.length < BEGINNINGS_MAX) beginnings.push(offset);
  else {
    beginnings[readers.oldest] = offset;
    readers.oldest = (readers.oldest + 1) % BEGINNINGS_MAX;
  }
  return readers.mayKeep > 0;
}
