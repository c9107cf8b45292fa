// Stretches of a partition as Fetch has encoded them, for the readers that come behind: when many consumers read one
// partition, its records are encoded once, and each answer after the first costs the system's copy to its socket.
//
// Where one reader is, nothing is kept: a stretch is worth keeping once two have begun at the same place lately. Readers
// that follow each other do, because an answer that begins with a stretch ends with one (readItem in fetch-reading.ts).
// What lies in a stretch never changes under its offsets but by compaction, and a reader may have come before that: by no
// more than a stretch's age.
import type { AbortedTransaction, Clock, Partition, Visibility } from '../port.ts';

/** Of all partitions together; those that answers on their way still have are beside it. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Below this encoding costs less than all the rest of an answer. */
const STRETCH_BYTES_MIN = 4 * 1024;
const STRETCH_BYTES_MAX = BYTES_MAX / 4;
const AGE_MAX_MS = 60_000;
/** Places where fetches began that are remembered of a partition. */
const BEGINNINGS_MAX = 16;
/** Since the last one that was used twice, so many stretches are kept. */
const KEPT_UNUSED_MAX = 64;

export interface EncodedStretch {
  readonly firstOffset: number;
  /** Where the next one goes on. */
  readonly nextOffset: number;
  readonly bytes: Buffer;
  readonly records: number;
  /** Those that overlap it, by their first offset. */
  readonly aborted: readonly AbortedTransaction[];
  /** Of the partition when its records were read. */
  readonly leaderEpoch: number;
}

/** Of one partition, up to one bound. */
interface Readers {
  readonly kept: Map<number, Kept>;
  /** Offsets; the oldest is replaced next. */
  readonly beginnings: number[];
  oldest: number;
  /** How many more are kept unless one is used again. */
  mayKeep: number;
}

interface Kept {
  readonly readers: Readers;
  readonly stretch: EncodedStretch;
  readonly keptAtMs: number;
  /** Kept before it, and after it. */
  older: Kept | undefined;
  newer: Kept | undefined;
}

export class EncodedStretches {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #bytesMax: number;
  readonly #readers = new WeakMap<Partition, Partial<Record<Visibility, Readers>>>();
  /**
   * Readers come by once, so that the oldest is done with before the others. Linked, and not in a Set, which takes the
   * longer to find its first the more have been taken out before it.
   */
  #oldest: Kept | undefined;
  #newest: Kept | undefined;
  #bytes = 0;

  constructor(clock: Pick<Clock, 'monotonic'>, bytesMax = BYTES_MAX) {
    this.#clock = clock;
    this.#bytesMax = bytesMax;
  }

  /** Of what is kept. */
  get byteLength(): number {
    return this.#bytes;
  }

  /** The stretch that begins at `offset`, if it ends at or before `end` and takes no more than `bytesMax`. */
  find(
    partition: Partition,
    upTo: Visibility,
    { offset, end, bytesMax }: { readonly offset: number; readonly end: number; readonly bytesMax: number },
  ): EncodedStretch | undefined {
    const readers = this.#readers.get(partition)?.[upTo];
    const kept = readers?.kept.get(offset);
    if (readers === undefined || kept === undefined || !this.#isOfUse(kept, partition)) return undefined;
    const { stretch } = kept;
    if (stretch.nextOffset > end || stretch.bytes.length > bytesMax) return undefined;
    readers.mayKeep = KEPT_UNUSED_MAX;
    return stretch;
  }

  /**
   * Keeps what a fetch has encoded, if others are likely to ask for it and nothing larger begins there.
   * @returns it with bytes that stay as they are; undefined = it is not kept
   */
  offer(partition: Partition, upTo: Visibility, stretch: EncodedStretch): EncodedStretch | undefined {
    const { firstOffset, bytes, leaderEpoch } = stretch;
    const { length } = bytes;
    if (length < STRETCH_BYTES_MIN || length > Math.min(STRETCH_BYTES_MAX, this.#bytesMax)) return undefined;
    const readers = this.#readersOf(partition, upTo);
    if (!isShared(readers, firstOffset) || leaderEpoch !== partition.leaderEpoch) return undefined;
    const before = readers.kept.get(firstOffset);
    if (before !== undefined) {
      if (before.stretch.bytes.length >= length && this.#isOfUse(before, partition)) return undefined;
      this.#forget(before);
    }
    readers.mayKeep--;
    // Not a buffer that is used again: fresh memory costs some hundredths of what encoding does, and needs no owner.
    const copy = Buffer.allocUnsafeSlow(length);
    copy.set(bytes);
    const keptAtMs = this.#clock.monotonic();
    const lasting = { ...stretch, bytes: copy };
    const kept: Kept = { readers, stretch: lasting, keptAtMs, older: this.#newest, newer: undefined };
    readers.kept.set(firstOffset, kept);
    if (this.#newest === undefined) this.#oldest = kept;
    else this.#newest.newer = kept;
    this.#newest = kept;
    this.#bytes += length;
    this.#forgetOldest();
    return kept.stretch;
  }

  #readersOf(partition: Partition, upTo: Visibility): Readers {
    let known = this.#readers.get(partition);
    if (known === undefined) {
      known = {};
      this.#readers.set(partition, known);
    }
    known[upTo] ??= { kept: new Map(), beginnings: [], oldest: 0, mayKeep: 0 };
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
    while (this.#oldest !== undefined && (this.#bytes > this.#bytesMax || this.#isOld(this.#oldest)))
      this.#forget(this.#oldest);
  }

  #forget({ readers, stretch, older, newer }: Kept): void {
    readers.kept.delete(stretch.firstOffset);
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.#bytes -= stretch.bytes.length;
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
