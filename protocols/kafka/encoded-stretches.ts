// Stretches of a partition as Fetch has encoded them, for the readers that come behind: when many consumers read one
// partition, its records are encoded once, and each answer after the first costs the system's copy to its socket.
//
// Where one reader is, nothing is kept: a stretch is worth keeping once two have begun at the same place lately. Readers
// that follow each other do, because an answer that begins with a stretch ends with one (readItem in fetch-reading.ts).
// What lies in a stretch never changes under its offsets but by compaction, and a reader may have come before that.
import type { AbortedTransaction, Partition, Visibility } from '../port.ts';
import type { LentBytes } from './wire/record-pieces.ts';

/** Of all partitions together; those that answers on their way still have are beside it. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Below this encoding costs less than all the rest of an answer. */
const STRETCH_BYTES_MIN = 4 * 1024;
const STRETCH_BYTES_MAX = BYTES_MAX / 4;
/** Buffers are made in steps of this. */
const STEP_BYTES = 64 * 1024;
/** Buffers that wait for the next stretch, together. */
const FREE_BYTES_MAX = 4 * 1024 * 1024;
/** Places where fetches began that are remembered of a partition. */
const BEGINNINGS_MAX = 16;
/** Since the last one that was used twice, so many stretches are kept. */
const KEPT_UNUSED_MAX = 64;

export interface StretchContent {
  readonly firstOffset: number;
  /** Where the next one goes on. */
  readonly nextOffset: number;
  readonly bytes: Buffer;
  readonly records: number;
  /** Those that overlap it, by their first offset. */
  readonly aborted: readonly AbortedTransaction[];
}

/** Held by the cache, and by each answer that has it until it is written. */
export class EncodedStretch implements LentBytes, StretchContent {
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly records: number;
  readonly aborted: readonly AbortedTransaction[];
  readonly leaderEpoch: number;
  readonly bytes: Buffer;
  readonly #onUnheld: (mayBeReused: boolean) => void;
  #holders = 1;
  #mayBeReused = true;

  constructor(
    content: StretchContent,
    leaderEpoch: number,
    bytes: Buffer,
    onUnheld: (mayBeReused: boolean) => void,
  ) {
    this.firstOffset = content.firstOffset;
    this.nextOffset = content.nextOffset;
    this.records = content.records;
    this.aborted = content.aborted;
    this.leaderEpoch = leaderEpoch;
    this.bytes = bytes;
    this.#onUnheld = onUnheld;
  }

  hold(): this {
    this.#holders++;
    return this;
  }

  letGo(mayBeReused: boolean): void {
    this.#mayBeReused &&= mayBeReused;
    this.#holders--;
    if (this.#holders === 0) this.#onUnheld(this.#mayBeReused);
  }
}

/** Of one partition, up to one bound. */
interface Readers {
  readonly stretches: Map<number, EncodedStretch>;
  /** Offsets; the oldest is replaced next. */
  readonly beginnings: number[];
  oldest: number;
  /** How many more are kept unless one is used again. */
  mayKeep: number;
}

interface Kept {
  readonly readers: Readers;
  readonly stretch: EncodedStretch;
}

export class EncodedStretches {
  readonly #bytesMax: number;
  readonly #readers = new WeakMap<Partition, Partial<Record<Visibility, Readers>>>();
  /** From `#first` on, the oldest first: readers come by once, so that the oldest is done with. */
  readonly #kept: Kept[] = [];
  #first = 0;
  #bytes = 0;
  readonly #free: Buffer[] = [];
  #freeBytes = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** What is kept, and what is free for more. */
  get byteLength(): number {
    return this.#bytes + this.#freeBytes;
  }

  /** The stretch that begins at `offset`, held for the caller. @param end what may be read ends there now */
  find(partition: Partition, offset: number, upTo: Visibility, end: number): EncodedStretch | undefined {
    const readers = this.#readers.get(partition)?.[upTo];
    const stretch = readers?.stretches.get(offset);
    if (readers === undefined || stretch === undefined) return undefined;
    // Another log may be behind the partition by now, which ends earlier.
    const isOfLog = stretch.leaderEpoch === partition.leaderEpoch && stretch.nextOffset <= end;
    if (!isOfLog) return undefined;
    readers.mayKeep = KEPT_UNUSED_MAX;
    return stretch.hold();
  }

  /** Keeps what a fetch has encoded, if others are likely to ask for it. Returns it then, held for the caller. */
  offer(partition: Partition, upTo: Visibility, content: StretchContent): EncodedStretch | undefined {
    const { firstOffset, bytes } = content;
    const { length } = bytes;
    if (length < STRETCH_BYTES_MIN || length > Math.min(STRETCH_BYTES_MAX, this.#bytesMax)) return undefined;
    const readers = this.#readersOf(partition, upTo);
    if (!isShared(readers, firstOffset)) return undefined;
    const buffer = this.#bufferFor(length);
    buffer.set(bytes);
    const stretch = new EncodedStretch(
      content,
      partition.leaderEpoch,
      buffer.subarray(0, length),
      (mayBeReused) => {
        if (mayBeReused) this.#giveBack(buffer);
      },
    );
    this.#forget(readers, readers.stretches.get(firstOffset));
    readers.stretches.set(firstOffset, stretch);
    this.#kept.push({ readers, stretch });
    this.#bytes += length;
    while (this.#bytes > this.#bytesMax) this.#forgetOldest();
    return stretch.hold();
  }

  #readersOf(partition: Partition, upTo: Visibility): Readers {
    let known = this.#readers.get(partition);
    if (known === undefined) {
      known = {};
      this.#readers.set(partition, known);
    }
    known[upTo] ??= { stretches: new Map(), beginnings: [], oldest: 0, mayKeep: 0 };
    return known[upTo];
  }

  #forgetOldest(): void {
    const { readers, stretch } = this.#kept[this.#first++]!; // what is kept takes more than nothing
    this.#forget(readers, stretch);
    // Not one by one from the front: each time all others would move up.
    if (2 * this.#first < this.#kept.length) return;
    this.#kept.splice(0, this.#first);
    this.#first = 0;
  }

  /** Its place in line stays, and comes to nothing. */
  #forget(readers: Readers, stretch: EncodedStretch | undefined): void {
    if (stretch === undefined || readers.stretches.get(stretch.firstOffset) !== stretch) return;
    readers.stretches.delete(stretch.firstOffset);
    this.#bytes -= stretch.bytes.length;
    stretch.letGo(true);
  }

  #bufferFor(length: number): Buffer {
    const index = this.#free.findIndex(
      (free) => free.length >= length && free.length <= 2 * length + STEP_BYTES,
    );
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    if (found === undefined) return Buffer.allocUnsafeSlow(Math.ceil(length / STEP_BYTES) * STEP_BYTES);
    this.#freeBytes -= found.length;
    return found;
  }

  #giveBack(buffer: Buffer): void {
    if (this.#freeBytes + buffer.length > FREE_BYTES_MAX) return;
    this.#free.push(buffer);
    this.#freeBytes += buffer.length;
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
  if (readers.mayKeep === 0) return false;
  readers.mayKeep--;
  return true;
}
