// The transactional ids of this node in memory, as the log tells them: every change comes in through `apply`, at start-up
// and live alike. The coordinator decides and writes; it changes no transaction itself.

import type { Hub, StatePartitionState, StateTable } from '../../port.ts';
import { availabilityOf, coordinatorCode } from '../coordinator-state.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { decodeKey, decodeValue, encodeTransaction } from './state-records.ts';
import { assertLegal, bytesOf, isPrepared, type Transaction } from './transaction.ts';

export const TRANSACTIONS_TOPIC = '__transaction_state';

export interface TransactionEntry {
  readonly transactionalId: string;
  readonly statePartition: number;
  /** Undefined = its first record is being written. */
  transaction: Transaction | undefined;
  /** A decision is being written: the next one waits for it. */
  isChanging: boolean;
  /** Called when the entry may have come to rest. */
  readonly waiters: Set<() => void>;
  madeBy: string | undefined;
  /** The transaction as it was when its commit came before anything of it. */
  committedNothing: Transaction | undefined;
}

export interface TransactionStoreListener {
  /** The entry is served from now on; what was decided and not completed is to be completed. */
  serving(entry: TransactionEntry): void;
  /** It is no longer this node's, or forgotten. */
  dropped(entry: TransactionEntry): void;
}

export class TransactionStore {
  readonly #hub: Hub;
  readonly #listener: TransactionStoreListener;
  readonly #entries = new Map<string, TransactionEntry>();
  /** Those whose transaction is open: what timeouts are about. */
  readonly #ongoing = new Set<TransactionEntry>();
  #table: StateTable | undefined;
  #heldBytes = 0;

  constructor(hub: Hub, listener: TransactionStoreListener) {
    this.#hub = hub;
    this.#listener = listener;
  }

  /** Resolves once the state topic is replayed; to be called once, before all else. */
  async load(): Promise<void> {
    this.#table = await this.#hub.stateTable({
      topic: TRANSACTIONS_TOPIC,
      apply: (partition, key, value) => this.#apply(partition, key, value),
      onState: (partition, state) => this.#partitionIs(partition, state),
    });
    for (const entry of [...this.#entries.values()]) this.#listener.serving(entry);
  }

  /** About the memory that all of them take. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): IterableIterator<TransactionEntry> {
    return this.#entries.values();
  }

  ongoing(): Iterable<TransactionEntry> {
    return this.#ongoing;
  }

  get(transactionalId: string): TransactionEntry | undefined {
    return this.#entries.get(transactionalId);
  }

  /** 14 while the id's state is read, 16 when it is another node's, else 0. */
  availability(transactionalId: string): ErrorCode {
    return availabilityOf(this.#opened(), transactionalId);
  }

  create(transactionalId: string): TransactionEntry {
    return this.#createAt(transactionalId, this.#opened().partitionOf(transactionalId));
  }

  forget(entry: TransactionEntry): void {
    if (!this.#entries.delete(entry.transactionalId)) return;
    this.#ongoing.delete(entry);
    if (entry.transaction !== undefined) this.#heldBytes -= bytesOf(entry.transaction);
    entry.transaction = undefined;
    this.#listener.dropped(entry);
  }

  /** Raised by each start, so that a coordinator of the past cannot end what one of now has begun. */
  coordinatorEpochOf({ statePartition }: TransactionEntry): number {
    return this.#hub.topics.partition(TRANSACTIONS_TOPIC, statePartition)?.leaderEpoch ?? 0;
  }

  /** On disk and applied when it resolves with 0; null = the id is forgotten. Never rejects. */
  async write(entry: TransactionEntry, next: Transaction | null): Promise<ErrorCode> {
    if (next !== null) assertLegal(entry.transaction, next);
    const { transactionalId, statePartition } = entry;
    const record = encodeTransaction(transactionalId, next);
    if (record === undefined) return ERROR_CODES.INVALID_REQUEST;
    entry.isChanging = true;
    const refused = await this.#opened().write(statePartition, [record]);
    entry.isChanging = false;
    rest(entry);
    if (refused === undefined) return ERROR_CODES.NONE;
    this.#hub.log.warn('transaction-state-not-written', {
      ...{ transactionalId, refused: refused.refused, reason: refused.message },
    });
    return coordinatorCode(refused.refused, ERROR_CODES.UNKNOWN_SERVER_ERROR);
  }

  #opened(): StateTable {
    // `load` comes first, and nothing is asked of a store before.
    if (this.#table === undefined) throw new Error('the transaction store is not open');
    return this.#table;
  }

  #createAt(transactionalId: string, statePartition: number): TransactionEntry {
    const entry: TransactionEntry = {
      ...{ transactionalId, statePartition, transaction: undefined, isChanging: false },
      ...{ waiters: new Set<() => void>(), madeBy: undefined, committedNothing: undefined },
    };
    this.#entries.set(transactionalId, entry);
    return entry;
  }

  #apply(partition: number, keyBytes: Buffer, value: Buffer | null): void {
    const transactionalId = decodeKey(keyBytes);
    if (transactionalId === undefined) {
      this.#hub.log.warn('transaction-state-unknown-record', { topic: TRANSACTIONS_TOPIC, partition });
      return;
    }
    const known = this.#entries.get(transactionalId);
    if (value === null) {
      if (known !== undefined) this.forget(known);
      return;
    }
    const transaction = decodeValue(transactionalId, value);
    if (transaction === undefined) {
      this.#hub.log.error('transaction-state-unreadable', { transactionalId, topic: TRANSACTIONS_TOPIC });
      return;
    }
    const entry = known ?? this.#createAt(transactionalId, partition);
    if (entry.transaction !== undefined) this.#heldBytes -= bytesOf(entry.transaction);
    this.#heldBytes += bytesOf(transaction);
    entry.transaction = transaction;
    if (transaction.state === 'ongoing') this.#ongoing.add(entry);
    else this.#ongoing.delete(entry);
    // Nobody waits for it: whoever wrote it was told that it may not be there.
    const isServing = this.#table?.stateOf(partition) === 'serving';
    if (isServing && !entry.isChanging) this.#listener.serving(entry);
  }

  #partitionIs(partition: number, state: StatePartitionState): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.statePartition !== partition) continue;
      if (state === 'gone') this.forget(entry);
      else if (state === 'serving' && this.#table !== undefined) this.#listener.serving(entry);
    }
  }
}

/** Whether the next decision can be made now. */
export function isAtRest({ isChanging, transaction }: TransactionEntry): boolean {
  return !isChanging && (transaction === undefined || !isPrepared(transaction));
}

/** Tells whoever waits that the entry is at rest, or gone. */
export function rest(entry: TransactionEntry): void {
  if (!isAtRest(entry)) return;
  const waiters = [...entry.waiters];
  entry.waiters.clear();
  for (const wake of waiters) wake();
}

/** What a commit of nothing is told: to come again, once; as long as nothing happens to the transaction, no more. */
export function nothingCode(entry: TransactionEntry): ErrorCode {
  if (entry.committedNothing === entry.transaction) return ERROR_CODES.INVALID_TXN_STATE;
  entry.committedNothing = entry.transaction;
  return ERROR_CODES.CONCURRENT_TRANSACTIONS;
}
