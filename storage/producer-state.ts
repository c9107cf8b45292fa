// What a log knows of one producer: its epoch, its last five batches, and what may come next. Pure: it is asked before
// an append and told after it, live and from the log alike. A producer numbers its records per log, from 0 with each
// epoch; a batch says the number of its first record, and the numbers go on at 0 behind 2^31 − 1.
//
// Memory per producer: one object and one array of 20 numbers, some 400 bytes.

/** Largest sequence number; 0 follows. */
export const SEQUENCE_MAX = 2 ** 31 - 1;
/** Batches that are told from each other when they come again: as many as a client has under way at most. */
export const REMEMBERED_BATCHES = 5;
/** Further back a number may be one of the next round's just as well. */
const COVERED_MAX = 2 ** 30;

/** Any sequence may come first. */
const NOTHING_KNOWN = -1;

/** baseSequence, recordCount (as appended), baseOffset, maxTimestampMs of each remembered batch. */
const FIELDS = 4;
const EMPTY_WINDOW: readonly number[] = new Array<number>(REMEMBERED_BATCHES * FIELDS).fill(-0.5);

/**
 * - `next`: append it.
 * - `duplicate`: it is one of the remembered batches, see {@link ProducerState.remembered}.
 * - `old-duplicate`: it was appended, and where has been forgotten.
 * - `gap`: something before it is missing, or it is not what was sent before.
 * - `fenced`: the producer has gone on with a higher epoch.
 */
export type ProducerVerdict = 'next' | 'duplicate' | 'old-duplicate' | 'gap' | 'fenced';

/** A batch that lies in the log. */
export interface StoredBatch {
  readonly baseOffset: number;
  readonly recordCount: number;
  readonly maxTimestampMs: number;
}

/** The same with its place in the producer's numbering. */
export interface SequencedBatch extends StoredBatch {
  readonly baseSequence: number;
}

/** What a snapshot remembers of one producer. */
export interface RememberedProducer {
  readonly epoch: number;
  readonly lastSequence: number;
  readonly covered: number;
  /** Of the coordinator that ended a transaction of it last, and the offset of the control batch; −1 = none is known. */
  readonly coordinatorEpoch: number;
  readonly controlOffset: number;
  /** The newest last. */
  readonly batches: readonly SequencedBatch[];
}

/** What remembers a producer: a log. */
export interface ProducerOwner {
  /** Only for one without an open transaction. */
  forget(state: ProducerState): void;
}

export class ProducerState {
  readonly producerId: number;
  /** Of its last batch; −1 before the first. */
  epoch = -1;
  /** Of the coordinator that ended a transaction of it last; −1 = none is known. */
  coordinatorEpoch = -1;
  /** Offset of the control batch that did; −1 = none is known. */
  controlOffset = -1;
  /** Wall clock of its last batch. */
  usedAtMs: number;
  /** Its log, and its neighbours among all producers of the store by last use: see producer-budget.ts. */
  readonly owner: ProducerOwner;
  older: ProducerState | undefined = undefined;
  newer: ProducerState | undefined = undefined;

  #lastSequence = NOTHING_KNOWN;
  /** How many numbers up to the last one are known to have been appended. */
  #covered = 0;
  /** How many of them the remembered batches hold. */
  #remembered = 0;
  #window: number[] = EMPTY_WINDOW.slice();
  #count = 0;
  /** Where the next batch goes. */
  #nextSlot = 0;

  constructor(producerId: number, usedAtMs: number, owner: ProducerOwner) {
    this.producerId = producerId;
    this.usedAtMs = usedAtMs;
    this.owner = owner;
  }

  judge(epoch: number, baseSequence: number, recordCount: number): ProducerVerdict {
    if (epoch !== this.epoch) {
      if (epoch < this.epoch) return 'fenced';
      return baseSequence === 0 ? 'next' : 'gap';
    }
    if (this.#lastSequence === NOTHING_KNOWN || baseSequence === sequenceAfter(this.#lastSequence, 1)) {
      return 'next';
    }
    if (this.#slotOf(baseSequence, recordCount) >= 0) return 'duplicate';
    const last = sequenceAfter(baseSequence, recordCount - 1);
    const behind = sequenceDistance(last, this.#lastSequence);
    const isOld = behind >= this.#remembered && behind + recordCount <= this.#covered;
    return isOld ? 'old-duplicate' : 'gap';
  }

  /** The batch that `judge` said is a duplicate of. */
  remembered(baseSequence: number, recordCount: number): StoredBatch | undefined {
    const at = this.#slotOf(baseSequence, recordCount);
    return at < 0 ? undefined : this.#batchAt(at);
  }

  /** Remembered batches, the oldest first. */
  get batches(): readonly SequencedBatch[] {
    const first = this.#nextSlot - this.#count + REMEMBERED_BATCHES;
    return Array.from({ length: this.#count }, (_, index) =>
      this.#batchAt(((first + index) % REMEMBERED_BATCHES) * FIELDS),
    );
  }

  /** Base offset of its newest batch; −1 when none is remembered. */
  get newestBaseOffset(): number {
    if (this.#count === 0) return -1;
    const slot = (this.#nextSlot + REMEMBERED_BATCHES - 1) % REMEMBERED_BATCHES;
    return this.#window[slot * FIELDS + 2]!; // a slot within the window
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  get covered(): number {
    return this.#covered;
  }

  /** A batch lies in the log. What it says counts, whatever was known: the log is the truth. */
  appended(epoch: number, batch: SequencedBatch): void {
    const { baseSequence, recordCount } = batch;
    const follows = epoch === this.epoch && baseSequence === sequenceAfter(this.#lastSequence, 1);
    if (!follows) this.#forget(epoch);
    const window = this.#window;
    const at = this.#nextSlot * FIELDS;
    if (this.#count < REMEMBERED_BATCHES) this.#count++;
    else this.#remembered -= window[at + 1]!; // a slot within the window
    window[at] = baseSequence;
    window[at + 1] = recordCount;
    window[at + 2] = batch.baseOffset;
    window[at + 3] = batch.maxTimestampMs;
    this.#nextSlot = (this.#nextSlot + 1) % REMEMBERED_BATCHES;
    this.#remembered += recordCount;
    this.#lastSequence = sequenceAfter(baseSequence, recordCount - 1);
    this.#covered = Math.min(this.#covered + recordCount, COVERED_MAX);
  }

  /** A control batch lies in the log: it has no sequence, and may raise the epoch, which then begins at 0. */
  controlled(epoch: number, coordinatorEpoch: number, controlOffset: number): void {
    this.coordinatorEpoch = coordinatorEpoch;
    this.controlOffset = controlOffset;
    if (epoch === this.epoch) return;
    const isKnown = this.epoch >= 0;
    this.#forget(epoch);
    if (isKnown) this.#lastSequence = SEQUENCE_MAX;
  }

  /** What a snapshot says. */
  restore(known: RememberedProducer): void {
    const { epoch } = known;
    this.#forget(epoch);
    for (const batch of known.batches) this.appended(epoch, batch);
    this.#lastSequence = known.lastSequence;
    this.#covered = known.covered;
    this.coordinatorEpoch = known.coordinatorEpoch;
    this.controlOffset = known.controlOffset;
  }

  #forget(epoch: number): void {
    this.epoch = epoch;
    this.#lastSequence = NOTHING_KNOWN;
    this.#covered = 0;
    this.#remembered = 0;
    this.#count = 0;
    this.#nextSlot = 0;
  }

  /** Position of the batch with just these numbers, or −1. */
  #slotOf(baseSequence: number, recordCount: number): number {
    for (let slot = 0; slot < this.#count; slot++) {
      const at = slot * FIELDS;
      if (this.#window[at] === baseSequence && this.#window[at + 1] === recordCount) return at;
    }
    return -1;
  }

  #batchAt(at: number): SequencedBatch {
    const window = this.#window;
    // A slot within the window.
    return {
      baseSequence: window[at]!,
      recordCount: window[at + 1]!,
      baseOffset: window[at + 2]!,
      maxTimestampMs: window[at + 3]!,
    };
  }
}

/** The number `count` behind `sequence`. Bits, since a remainder of doubles is a call. */
export function sequenceAfter(sequence: number, count: number): number {
  return (sequence + count) & SEQUENCE_MAX;
}

/** How many numbers `to` is ahead of `from`, going round. */
function sequenceDistance(from: number, to: number): number {
  return (to - from) & SEQUENCE_MAX;
}
