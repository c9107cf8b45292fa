// The producers that wrote to one log, and their open transactions. Made with the first producer of a log, so that a
// log without any carries nothing. `judge` is asked before an append and changes nothing; `appended` is told after it.
import type { BatchOptions } from './batch-frame.ts';
import { assert, StorageError } from './errors.ts';
import type { ProducerBudget } from './producer-budget.ts';
import {
  type ProducerOwner,
  ProducerState,
  type RememberedProducer,
  SEQUENCE_MAX,
  type SequencedBatch,
  type StoredBatch,
} from './producer-state.ts';

/** What the log says of a batch with a producer, without its records. */
export interface ProducerBatch extends SequencedBatch {
  readonly producerId: number;
  readonly epoch: number;
  readonly isTransactional: boolean;
  /** Then it has no sequence, and ends the producer's transaction. */
  readonly isControl: boolean;
  /** Of a control batch, else −1. */
  readonly coordinatorEpoch: number;
}

/** A producer as a snapshot has it. */
export interface KnownProducer extends RememberedProducer {
  readonly producerId: number;
  readonly usedAtMs: number;
  /** First offset of its open transaction; −1 = it has none. */
  readonly transactionStart: number;
}

/** Who wants to end a producer's transaction. */
export interface JudgedEnd {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
}

/** A transaction that has ended, until its end is seen. */
interface EndedTransaction {
  readonly firstOffset: number;
  readonly controlOffset: number;
}

export class ProducerStates implements ProducerOwner {
  readonly #name: string;
  readonly #budget: ProducerBudget;
  readonly #states = new Map<number, ProducerState>();
  /** First offsets by producer id. Transactions begin in offset order, so the first entry is the oldest. */
  readonly #openTransactions = new Map<number, number>();
  /** A reader that sees the whole transaction must see how it ended. */
  #endedTransactions: EndedTransaction[] = [];
  /** What `judge` found, for `appended`: there is no await between them. */
  #judged: ProducerState | undefined;

  /** @param name of the log, for messages */
  constructor(name: string, budget: ProducerBudget) {
    this.#name = name;
    this.#budget = budget;
  }

  get size(): number {
    return this.#states.size;
  }

  /** In the order of their first batch. */
  get all(): IterableIterator<ProducerState> {
    return this.#states.values();
  }

  /** First offset of a producer's open transaction; −1 when it has none, or none of the epoch that is asked for. */
  transactionStartOf(producerId: number, producerEpoch?: number): number {
    if (producerEpoch !== undefined && this.#states.get(producerId)?.epoch !== producerEpoch) return -1;
    return this.#openTransactions.get(producerId) ?? -1;
  }

  /** First offset of the oldest transaction that is open, or whose end is not seen yet; `Infinity` when there is none. */
  get firstUnstableOffset(): number {
    let first = Number.POSITIVE_INFINITY;
    if (this.#openTransactions.size > 0) {
      for (const offset of this.#openTransactions.values()) {
        first = offset;
        break;
      }
    }
    for (const { firstOffset } of this.#endedTransactions) first = Math.min(first, firstOffset);
    return first;
  }

  /** Whether a producer's newest batch, or the end of its last transaction, stands there: compaction keeps them. */
  isNewestOf(producerId: number, baseOffset: number): boolean {
    const state = this.#states.get(producerId);
    return state?.newestBaseOffset === baseOffset || state?.controlOffset === baseOffset;
  }

  /**
   * Whether a batch may be appended (undefined), or which batch of the log it is again. Changes nothing.
   * @throws StorageError fenced-producer, sequence-gap, old-duplicate, invalid-transaction, busy
   */
  judge(options: BatchOptions): StoredBatch | undefined {
    const { producerId = -1, producerEpoch = -1, baseSequence = -1, recordCount = 0 } = options;
    assert(producerEpoch >= 0, 'a producer has an epoch');
    const state = this.#states.get(producerId);
    this.#judged = state;
    if (state === undefined) this.#budget.refuseUnlessRoom();
    assert(
      baseSequence >= 0 && baseSequence <= SEQUENCE_MAX && recordCount > 0,
      'a batch of a producer has a sequence and a record count',
    );
    if (state === undefined) return undefined;
    const verdict = state.judge(producerEpoch, baseSequence, recordCount);
    if (verdict === 'next') {
      if (options.transactional === true || !this.#openTransactions.has(producerId)) return undefined;
      throw this.#refusal(state, 'in-transaction', options);
    }
    if (verdict === 'duplicate') return state.remembered(baseSequence, recordCount);
    throw this.#refusal(state, verdict, options);
  }

  /**
   * Whether the producer's transaction may be ended with these epochs; where it began, −1 = none is open. Changes nothing.
   * @throws StorageError fenced-producer, fenced-coordinator, busy
   */
  judgeEnd({ producerId, producerEpoch, coordinatorEpoch }: JudgedEnd): number {
    assert(producerId >= 0 && producerEpoch >= 0, 'a producer has an id and an epoch');
    const state = this.#states.get(producerId);
    this.#judged = state;
    if (state === undefined) this.#budget.refuseUnlessRoom();
    else if (producerEpoch < state.epoch) throw this.#refusal(state, 'fenced', { producerId, producerEpoch });
    else if (coordinatorEpoch < state.coordinatorEpoch) {
      const who = `${this.#name}: coordinator epoch ${coordinatorEpoch}, producer ${producerId}`;
      const message = `${who}: it was ended by epoch ${state.coordinatorEpoch}`;
      throw new StorageError('fenced-coordinator', message);
    }
    return this.transactionStartOf(producerId);
  }

  /** First offset of the oldest open transaction but the producer's own; undefined when there is none. */
  firstOpenBeside(producerId: number): number | undefined {
    for (const [otherId, firstOffset] of this.#openTransactions) {
      if (otherId !== producerId) return firstOffset;
    }
    return undefined;
  }

  /** The batch that was judged last lies in the log now. */
  appended(batch: ProducerBatch, nowMs: number): void {
    let state = this.#judged;
    this.#judged = undefined;
    if (state === undefined) {
      state = new ProducerState(batch.producerId, nowMs, this);
      this.#states.set(batch.producerId, state);
      this.#budget.add(state);
    } else {
      state.usedAtMs = nowMs;
      this.#budget.touch(state);
    }
    this.#apply(state, batch);
  }

  /** A batch that was found in the log. @param usedAtMs when it was appended, as far as known */
  replay(batch: ProducerBatch, usedAtMs: number): void {
    const known = this.#states.get(batch.producerId);
    const state = known ?? this.#add(batch.producerId, usedAtMs);
    state.usedAtMs = Math.max(state.usedAtMs, usedAtMs);
    if (known !== undefined) this.#budget.touch(state);
    this.#apply(state, batch);
  }

  /** Producers from a snapshot, but those that have expired by now. */
  restore(producers: readonly KnownProducer[], nowMs: number): void {
    const inOrder = [...producers].sort((a, b) => a.transactionStart - b.transactionStart);
    for (const each of inOrder) {
      if (each.transactionStart < 0 && this.#budget.isExpired(each, nowMs)) continue;
      const state = this.#add(each.producerId, each.usedAtMs);
      state.restore(each);
      if (each.transactionStart >= 0) this.#begin(state, each.transactionStart);
    }
  }

  /** Forgets who had expired by then: of files that are read for the transactions that are open since. */
  forgetExpired(thenMs: number): void {
    for (const state of this.#states.values()) {
      const isOpen = this.#openTransactions.has(state.producerId);
      if (!isOpen && this.#budget.isExpired(state, thenMs)) this.forget(state);
    }
  }

  /** What is below is seen: transactions that end there are over. */
  seenUpTo(offset: number): void {
    if (this.#endedTransactions.length === 0) return;
    this.#endedTransactions = this.#endedTransactions.filter(({ controlOffset }) => controlOffset >= offset);
  }

  forget(state: ProducerState): void {
    this.#states.delete(state.producerId);
    this.#budget.remove(state, this.#openTransactions.has(state.producerId));
  }

  /** The log closes. */
  release(): void {
    for (const state of this.#states.values()) this.forget(state);
    this.#openTransactions.clear();
  }

  #add(producerId: number, usedAtMs: number): ProducerState {
    const state = new ProducerState(producerId, usedAtMs, this);
    this.#states.set(producerId, state);
    this.#budget.addKnown(state);
    return state;
  }

  #apply(state: ProducerState, batch: ProducerBatch): void {
    if (batch.isControl) {
      state.controlled(batch.epoch, batch.coordinatorEpoch, batch.baseOffset);
      this.#end(state, batch.baseOffset);
      return;
    }
    state.appended(batch.epoch, batch);
    if (batch.isTransactional && !this.#openTransactions.has(state.producerId)) {
      this.#begin(state, batch.baseOffset);
    }
  }

  #begin(state: ProducerState, firstOffset: number): void {
    this.#openTransactions.set(state.producerId, firstOffset);
    this.#budget.hold(state);
  }

  #end(state: ProducerState, controlOffset: number): void {
    const firstOffset = this.#openTransactions.get(state.producerId);
    if (firstOffset === undefined) return;
    this.#openTransactions.delete(state.producerId);
    this.#endedTransactions.push({ firstOffset, controlOffset });
    this.#budget.letGo(state);
  }

  #refusal(
    state: ProducerState,
    verdict: 'fenced' | 'gap' | 'old-duplicate' | 'in-transaction',
    options: BatchOptions,
  ): StorageError {
    const { producerId, producerEpoch, baseSequence } = options;
    const who = `${this.#name}: producer ${producerId}, epoch ${producerEpoch}`;
    switch (verdict) {
      case 'fenced':
        return new StorageError('fenced-producer', `${who}: the epoch is ${state.epoch} by now`);
      case 'gap':
        return new StorageError(
          'sequence-gap',
          `${who}: sequence ${baseSequence} does not follow ${state.lastSequence} of epoch ${state.epoch}`,
        );
      case 'old-duplicate':
        return new StorageError('old-duplicate', `${who}: sequence ${baseSequence} was appended long ago`);
      case 'in-transaction': {
        const began = this.transactionStartOf(state.producerId);
        return new StorageError('invalid-transaction', `${who} has a transaction open since offset ${began}`);
      }
      default:
        return verdict satisfies never;
    }
  }
}
