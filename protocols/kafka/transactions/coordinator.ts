// Owns the transactional ids of this node: decides about one at a time, writes the decision, and completes what is decided.
// Between a look at a transaction and the write of what follows there is no await.

import type { Hub, Timer } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { unexpected } from '../failures.ts';
import { ClientShares } from '../groups/client-shares.ts';
import { completed, type EndRequest, end, toldIdentity } from './end.ts';
import { fenced, type InitRequest, initialize } from './initialize.ts';
import { MarkerWriter, type OffsetsOfTransactions } from './markers.ts';
import {
  added,
  type ClientVersion,
  claimFault,
  holds,
  isPrepared,
  type ProducerClaim,
  partitionCount,
  type TopicPartition,
  type Transaction,
} from './transaction.ts';
import { isAtRest, nothingCode, rest, type TransactionEntry, TransactionStore } from './transaction-store.ts';
import type { TransactionVerification } from './verification.ts';

export interface TransactionSettings {
  /** Longest that a producer may ask its transactions to last. */
  readonly timeoutMaxMs: number;
  /** An id that has done nothing for so long is forgotten. */
  readonly idExpirationMs: number;
  readonly abortCheckMs: number;
  readonly expirationCheckMs: number;
  readonly idsMax: number;
  /** Ids that clients of one address may have made since the start. */
  readonly idsPerClientMax: number;
  readonly partitionsMax: number;
  /** What all ids may take together. */
  readonly heldBytesMax: number;
  /** How long a request waits for the end of the transaction before, until its client is told to come again. */
  readonly concurrentWaitMs: number;
}

export interface TransactionCounters {
  committed: number;
  aborted: number;
  timedOut: number;
  idsExpired: number;
}

export interface ProducerAnswer {
  readonly errorCode: ErrorCode;
  readonly producerId: number;
  readonly producerEpoch: number;
}

export class TransactionCoordinator implements TransactionVerification {
  readonly counters: TransactionCounters = { committed: 0, aborted: 0, timedOut: 0, idsExpired: 0 };
  readonly #hub: Hub;
  readonly #settings: TransactionSettings;
  readonly #store: TransactionStore;
  readonly #markers: MarkerWriter;
  readonly #shares: ClientShares;
  readonly #timers = new Set<Timer>();
  /** A run whose schedule is another one by now goes on and comes no more. */
  #schedule: object | undefined;
  /** Whose markers are being written. */
  readonly #completing = new Set<TransactionEntry>();
  #isDraining = false;

  private constructor(hub: Hub, settings: TransactionSettings, offsets: OffsetsOfTransactions) {
    this.#hub = hub;
    this.#settings = settings;
    this.#markers = new MarkerWriter(hub, offsets);
    this.#shares = new ClientShares(() => settings.idsPerClientMax);
    this.#store = new TransactionStore(hub, {
      serving: (entry) => this.#resume(entry),
      dropped: (entry) => {
        this.#shares.remove(entry);
        rest(entry);
      },
    });
  }

  /** Resolves when the state is read; what was decided before the start is completed from then on. */
  static async open(
    hub: Hub,
    settings: TransactionSettings,
    offsets: OffsetsOfTransactions,
  ): Promise<TransactionCoordinator> {
    const coordinator = new TransactionCoordinator(hub, settings, offsets);
    await coordinator.#store.load();
    coordinator.#scheduleChecks();
    return coordinator;
  }

  /** The settings are others now: what is waited for is waited for anew. */
  settingsChanged(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    if (!this.#isDraining) this.#scheduleChecks();
  }

  get store(): TransactionStore {
    return this.#store;
  }

  get markers(): MarkerWriter {
    return this.#markers;
  }

  availability(transactionalId: string): ErrorCode {
    return this.#isDraining ? ERROR_CODES.NOT_COORDINATOR : this.#store.availability(transactionalId);
  }

  /** @param client its address: an id that is made for it counts as its own. */
  async initProducerId(request: InitRequest, client: string, freshId?: number): Promise<ProducerAnswer> {
    const { transactionalId, timeoutMs } = request;
    if (transactionalId === '') return refusedProducer(ERROR_CODES.INVALID_REQUEST);
    if (timeoutMs <= 0 || timeoutMs > this.#settings.timeoutMaxMs)
      return refusedProducer(ERROR_CODES.INVALID_TRANSACTION_TIMEOUT);
    const answer = await this.#whenAtRest(transactionalId, async (entry) => {
      const decision = initialize(entry?.transaction, request, freshId, this.#hub.clock.now());
      switch (decision.kind) {
        case 'refuse':
          return refusedProducer(decision.errorCode);
        case 'allocate':
          return this.#withFreshId((allocated) => this.initProducerId(request, client, allocated));
        case 'abort':
          return this.#abortFirst(entry, decision.next);
        case 'next':
          return this.#begin(entry ?? this.#create(transactionalId, client), decision.next);
        default:
          decision satisfies never;
          throw new Error('no decision');
      }
    });
    return typeof answer === 'number' ? refusedProducer(answer) : answer;
  }

  async #abortFirst(entry: TransactionEntry | undefined, next: Transaction): Promise<ProducerAnswer> {
    if (entry === undefined) throw new Error(`${next.transactionalId} is open and not known`);
    const code = await this.#prepare(entry, next);
    return refusedProducer(code === ERROR_CODES.NONE ? ERROR_CODES.CONCURRENT_TRANSACTIONS : code);
  }

  async #begin(entry: TransactionEntry | undefined, next: Transaction): Promise<ProducerAnswer> {
    if (entry === undefined) return refusedProducer(ERROR_CODES.POLICY_VIOLATION);
    const errorCode = await this.#store.write(entry, next);
    if (errorCode === ERROR_CODES.NONE)
      return { errorCode, producerId: next.producerId, producerEpoch: next.producerEpoch };
    if (entry.transaction === undefined) this.#store.forget(entry);
    return refusedProducer(errorCode);
  }

  #create(transactionalId: string, client: string): TransactionEntry | undefined {
    const { idsMax, heldBytesMax } = this.#settings;
    if (this.#store.size >= idsMax || this.#store.heldBytes > heldBytesMax || !this.#shares.hasRoom(client)) {
      this.#hub.log.warn('transactional-id-not-created', { transactionalId, client, max: idsMax });
      return undefined;
    }
    const entry = this.#store.create(transactionalId);
    this.#shares.add(entry, client);
    return entry;
  }

  add(
    claim: ProducerClaim,
    partitions: readonly TopicPartition[],
    clientVersion: ClientVersion,
    groups: readonly string[] = [],
  ): Promise<ErrorCode> {
    return this.#whenClaimed(claim, (entry, transaction) => {
      const isHeld =
        partitions.every((place) => holds(transaction, place)) &&
        groups.every((group) => transaction.groups.has(group));
      if (transaction.state === 'ongoing' && isHeld) return ERROR_CODES.NONE;
      const next = added(transaction, partitions, groups, clientVersion, this.#hub.clock.now());
      const isTooLarge = partitionCount(next) + next.groups.size > this.#settings.partitionsMax;
      if (isTooLarge || this.#store.heldBytes > this.#settings.heldBytesMax) {
        this.#hub.log.warn('transaction-too-large', { transactionalId: claim.transactionalId });
        return ERROR_CODES.POLICY_VIOLATION;
      }
      return this.#store.write(entry, next);
    });
  }

  async verify(claim: ProducerClaim, partitions: readonly TopicPartition[]): Promise<readonly ErrorCode[]> {
    const codes = await this.#whenClaimed(claim, (_entry, transaction) =>
      partitions.map((place) =>
        transaction.state === 'ongoing' && holds(transaction, place)
          ? ERROR_CODES.NONE
          : ERROR_CODES.TRANSACTION_ABORTABLE,
      ),
    );
    return typeof codes === 'number' ? partitions.map(() => codes) : codes;
  }

  coordinatorEpochOf(transactionalId: string): number {
    const entry = this.#store.get(transactionalId);
    return entry === undefined ? -1 : this.#store.coordinatorEpochOf(entry);
  }

  /** Answered when the decision is on disk: from then on it is carried out, whatever comes. */
  async end(transactionalId: string, request: EndRequest, freshId?: number): Promise<ProducerAnswer> {
    if (transactionalId === '') return refusedProducer(ERROR_CODES.INVALID_REQUEST);
    const answer = await this.#whenAtRest(transactionalId, async (entry) => {
      if (entry?.transaction === undefined) return refusedProducer(ERROR_CODES.INVALID_PRODUCER_ID_MAPPING);
      const decision = end(entry.transaction, request, freshId, this.#hub.clock.now());
      switch (decision.kind) {
        case 'refuse':
          return refusedProducer(decision.errorCode);
        case 'nothing':
          return refusedProducer(nothingCode(entry));
        case 'done':
          return { errorCode: ERROR_CODES.NONE, ...toldIdentity(entry.transaction) };
        case 'allocate':
          return this.#withFreshId((allocated) => this.end(transactionalId, request, allocated));
        case 'next': {
          const errorCode = await this.#prepare(entry, decision.next);
          if (errorCode !== ERROR_CODES.NONE) return refusedProducer(errorCode);
          return { errorCode, ...toldIdentity(decision.next) };
        }
        default:
          decision satisfies never;
          throw new Error('no decision');
      }
    });
    return typeof answer === 'number' ? refusedProducer(answer) : answer;
  }

  /** Aborts what is open and fences its producer; undefined when nothing is open. Resolves when it is complete. */
  async abort(transactionalId: string): Promise<ErrorCode | undefined> {
    const code = await this.#whenAtRest(transactionalId, (entry) =>
      entry?.transaction?.state === 'ongoing'
        ? this.#prepare(entry, fenced(entry.transaction, this.#hub.clock.now()))
        : undefined,
    );
    return code === ERROR_CODES.NONE
      ? this.#whenAtRest<ErrorCode>(transactionalId, () => ERROR_CODES.NONE)
      : code;
  }

  /** From now on nobody is served; what is decided is completed until `close`. */
  drain(): void {
    this.#isDraining = true;
    for (const entry of this.#store.entries()) {
      const waiters = [...entry.waiters];
      entry.waiters.clear();
      for (const wake of waiters) wake();
    }
  }

  close(): void {
    this.drain();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#markers.close();
  }

  /** Acts when the producer may go on with its transaction, else says why not: in Kafka's order. */
  async #whenClaimed<Result>(
    claim: ProducerClaim,
    act: (entry: TransactionEntry, transaction: Transaction) => Result | Promise<Result>,
  ): Promise<Result | ErrorCode> {
    const { transactionalId } = claim;
    if (transactionalId === '') return ERROR_CODES.INVALID_REQUEST;
    return this.#whenAtRest<Result | ErrorCode>(transactionalId, (entry) => {
      const transaction = entry?.transaction;
      if (entry === undefined || transaction === undefined) return ERROR_CODES.INVALID_PRODUCER_ID_MAPPING;
      const fault = claimFault(transaction, claim);
      return fault === ERROR_CODES.NONE ? act(entry, transaction) : fault;
    });
  }

  /**
   * Acts, in the same turn, when a decision about the id can be made: at once if there is none under way. What asks while
   * the markers of the transaction before are written waits a little, which is quicker than to be told to ask again.
   * @param act gets undefined when there is no such id
   */
  async #whenAtRest<Result>(
    transactionalId: string,
    act: (entry: TransactionEntry | undefined) => Result | Promise<Result>,
  ): Promise<Result | ErrorCode> {
    const deadlineMs = this.#hub.clock.monotonic() + this.#settings.concurrentWaitMs;
    for (;;) {
      const availability = this.availability(transactionalId);
      if (availability !== ERROR_CODES.NONE) return availability;
      const entry = this.#store.get(transactionalId);
      if (entry === undefined || isAtRest(entry)) return act(entry);
      const leftMs = deadlineMs - this.#hub.clock.monotonic();
      if (leftMs <= 0) return ERROR_CODES.CONCURRENT_TRANSACTIONS;
      await this.#rested(entry, leftMs);
    }
  }

  #rested(entry: TransactionEntry, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        entry.waiters.delete(wake);
        resolve();
      };
      const timer = this.#hub.clock.setTimer(waitMs, wake);
      entry.waiters.add(wake);
    });
  }

  async #prepare(entry: TransactionEntry, next: Transaction): Promise<ErrorCode> {
    const code = await this.#store.write(entry, next);
    if (code === ERROR_CODES.NONE) this.#resume(entry);
    return code;
  }

  /**
   * In the turn in which the decision is known: what the producer sends behind the answer finds the markers in its way, and
   * does not become part of what has ended.
   */
  #resume(entry: TransactionEntry): void {
    const { transaction } = entry;
    if (transaction === undefined || !isPrepared(transaction) || this.#completing.has(entry)) return;
    this.#completing.add(entry);
    this.#complete(entry, transaction)
      .catch((error: unknown) => unexpected(this.#hub, `end of transaction ${entry.transactionalId}`, error))
      .finally(() => this.#completing.delete(entry));
  }

  /** Markers, then the record that says that they are there; both until they are written. */
  async #complete(entry: TransactionEntry, prepared: Transaction): Promise<void> {
    const { transactionalId } = entry;
    if (!(await this.#markers.write(prepared, this.#store.coordinatorEpochOf(entry)))) return;
    await this.#markers.again({ transactionalId }, async () => {
      // Meanwhile the id may have become another node's, which writes the markers again.
      if (this.#store.get(transactionalId) !== entry || entry.transaction !== prepared) return undefined;
      const code = await this.#store.write(entry, completed(prepared, this.#hub.clock.now()));
      if (code !== ERROR_CODES.NONE) return code;
      this.counters[prepared.state === 'prepare-commit' ? 'committed' : 'aborted']++;
      return undefined;
    });
  }

  /** An id is allocated, and what is asked decided anew: much may have happened meanwhile. */
  async #withFreshId(decideAgain: (freshId: number) => Promise<ProducerAnswer>): Promise<ProducerAnswer> {
    try {
      return await decideAgain(await this.#hub.cluster.allocateProducerId());
    } catch (error) {
      unexpected(this.#hub, 'InitProducerId', error);
      return refusedProducer(ERROR_CODES.COORDINATOR_NOT_AVAILABLE);
    }
  }

  #scheduleChecks(): void {
    const schedule = {};
    this.#schedule = schedule;
    this.#each(schedule, this.#settings.abortCheckMs, () => this.#abortTimedOut());
    this.#each(schedule, this.#settings.expirationCheckMs, () => this.#forgetExpired());
  }

  #each(schedule: object, intervalMs: number, run: () => Promise<void>): void {
    const timer = this.#hub.clock.setTimer(intervalMs, () => {
      this.#timers.delete(timer);
      run()
        .catch((error: unknown) => unexpected(this.#hub, 'timeouts of transactions', error))
        .finally(() => {
          if (!this.#isDraining && this.#schedule === schedule) this.#each(schedule, intervalMs, run);
        });
    });
    this.#timers.add(timer);
  }

  async #abortTimedOut(): Promise<void> {
    const nowMs = this.#hub.clock.now();
    const aborted: Promise<unknown>[] = [];
    for (const entry of [...this.#store.ongoing()]) {
      const { transaction, isChanging, transactionalId } = entry;
      if (transaction === undefined || isChanging || transaction.startedAtMs + transaction.timeoutMs >= nowMs)
        continue;
      this.#hub.log.warn('transaction-timed-out', { transactionalId, timeoutMs: transaction.timeoutMs });
      this.counters.timedOut++;
      aborted.push(this.#prepare(entry, fenced(transaction, nowMs)));
    }
    await Promise.all(aborted);
  }

  async #forgetExpired(): Promise<void> {
    const oldestMs = this.#hub.clock.now() - this.#settings.idExpirationMs;
    const forgotten: Promise<unknown>[] = [];
    for (const entry of [...this.#store.entries()]) {
      const { transaction } = entry;
      if (transaction === undefined || !isAtRest(entry) || transaction.state === 'ongoing') continue;
      if (transaction.updatedAtMs > oldestMs) continue;
      this.counters.idsExpired++;
      forgotten.push(this.#store.write(entry, null));
    }
    await Promise.all(forgotten);
  }
}

function refusedProducer(errorCode: ErrorCode): ProducerAnswer {
  return { errorCode, producerId: -1, producerEpoch: -1 };
}
