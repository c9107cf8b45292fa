// Writes the markers of a decided transaction to all its partitions side by side, each again and again until it is written
// or there is nothing to write it to: a marker that is missing keeps readers of committed records from going on.

import type { Hub, Refused, Timer, TransactionEnd } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { outcomeOf, type Transaction } from './transaction.ts';

/** Where offsets of a transaction are: ended there as in a partition with records. */
export interface OffsetsOfTransactions {
  readonly topic: string;
  /** Done when it resolves with 0. Never rejects. */
  endTransaction(partition: number, end: TransactionEnd): Promise<ErrorCode>;
}

export interface MarkerCounters {
  /** On disk. */
  markersWritten: number;
  /** Refusals after which a marker is tried again. */
  markersRefused: number;
  /** Not written, and not tried again: the topic is gone. */
  markersOfGoneTopics: number;
  /** Not written, and not tried again: it is refused for good. */
  markersGivenUp: number;
}

/**
 * What becomes of a marker that is refused: `again` where that may change, `gone` where there is nothing to end, and
 * `give up` where it never will be taken.
 */
type Fate = 'again' | 'gone' | 'give up';

const FATE_BY_REFUSAL: Readonly<Record<Refused['refused'], Fate>> = {
  // The log is closed, or its leader is being found; full, or sticky until it is opened again; or busy for a moment.
  'not-leader': 'again',
  'fenced-epoch': 'again',
  'unknown-epoch': 'again',
  'not-enough-replicas': 'again',
  'not-enough-replicas-after-append': 'again',
  timeout: 'again',
  storage: 'again',
  'disk-full': 'again',
  'unknown-topic': 'gone',
  // Somebody has ended it with a higher epoch, as an administrator may: what the log knows is newer than this decision.
  'fenced-producer': 'give up',
  'fenced-coordinator': 'give up',
  // Nothing that is said of a marker: whatever it means, it would be said again.
  duplicate: 'give up',
  gap: 'give up',
  'invalid-transaction': 'give up',
  'too-large': 'give up',
};

/** Codes of the groups' offsets: their coordinator is somewhere else, or cannot write. */
const FATE_BY_CODE = new Map<ErrorCode, Fate>([
  [ERROR_CODES.INVALID_PRODUCER_EPOCH, 'give up'],
  [ERROR_CODES.TRANSACTION_COORDINATOR_FENCED, 'give up'],
]);

const BACKOFF_MIN_MS = 20;
const BACKOFF_MAX_MS = 2_000;

type Attempt = () => Promise<ErrorCode | Refused['refused'] | undefined>;

export class MarkerWriter {
  readonly counters: MarkerCounters = {
    ...{ markersWritten: 0, markersRefused: 0, markersOfGoneTopics: 0, markersGivenUp: 0 },
  };
  readonly #hub: Hub;
  readonly #offsets: OffsetsOfTransactions;
  readonly #backoffs = new Set<() => void>();
  #pending = 0;
  #isClosed = false;

  constructor(hub: Hub, offsets: OffsetsOfTransactions) {
    this.#hub = hub;
    this.#offsets = offsets;
  }

  /** Markers of decided transactions that are not written. */
  get pending(): number {
    return this.#pending;
  }

  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#backoffs]) end();
  }

  /** True when of every marker it is decided what becomes of it; false when the writer was closed before. */
  async write(transaction: Transaction, coordinatorEpoch: number): Promise<boolean> {
    const { transactionalId, producerId, producerEpoch, partitions } = transaction;
    const end = { producerId, producerEpoch, outcome: outcomeOf(transaction), coordinatorEpoch };
    const written: Promise<boolean>[] = [];
    for (const [topic, ofTopic] of partitions)
      for (const partition of ofTopic)
        written.push(
          this.#writeUntil({ transactionalId, topic, partition }, () =>
            this.#writeOne(topic, partition, end),
          ),
        );
    return (await Promise.all(written)).every(Boolean);
  }

  async #writeUntil(about: object, attempt: Attempt): Promise<boolean> {
    this.#pending++;
    try {
      return await this.again(about, attempt);
    } finally {
      this.#pending--;
    }
  }

  /** Once: undefined when it is on disk. Never rejects. */
  async #writeOne(
    topic: string,
    partition: number,
    end: TransactionEnd,
  ): Promise<ErrorCode | Refused['refused'] | undefined> {
    const refused = await this.#refusalOf(topic, partition, end);
    if (refused === undefined) this.counters.markersWritten++;
    return refused;
  }

  async #refusalOf(
    topic: string,
    partition: number,
    end: TransactionEnd,
  ): Promise<ErrorCode | Refused['refused'] | undefined> {
    if (topic === this.#offsets.topic) {
      const code = await this.#offsets.endTransaction(partition, end);
      return code === ERROR_CODES.NONE ? undefined : code;
    }
    const found = this.#hub.topics.partition(topic, partition);
    if (found === undefined) return 'unknown-topic';
    return (await found.endTransaction(end)).refused;
  }

  /** Until `attempt` succeeds, or can never; false when the writer was closed before. */
  async again(about: object, attempt: Attempt): Promise<boolean> {
    let isReported = false;
    for (let backoffMs = BACKOFF_MIN_MS; ; backoffMs = Math.min(2 * backoffMs, BACKOFF_MAX_MS)) {
      const refused = await attempt();
      if (refused === undefined) return true;
      const fate = typeof refused === 'string' ? FATE_BY_REFUSAL[refused] : FATE_BY_CODE.get(refused);
      if (fate === 'gone' || fate === 'give up') {
        this.#forget(about, refused, fate);
        return true;
      }
      if (this.#isClosed) return false;
      this.counters.markersRefused++;
      // Once: it may go on for as long as a disk is full, or until somebody opens a damaged log again.
      if (backoffMs === BACKOFF_MAX_MS && !isReported) {
        isReported = true;
        this.#hub.log.error('transaction-not-ended', { ...about, refused });
      }
      await this.#backoff(backoffMs);
      if (this.#isClosed) return false;
    }
  }

  #forget(about: object, refused: ErrorCode | Refused['refused'], fate: 'gone' | 'give up'): void {
    if (fate === 'gone') {
      this.counters.markersOfGoneTopics++;
      this.#hub.log.info('transaction-marker-without-topic', about);
      return;
    }
    this.counters.markersGivenUp++;
    this.#hub.log.warn('transaction-marker-given-up', { ...about, refused });
  }

  #backoff(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#backoffs.delete(end);
        resolve();
      };
      const timer: Timer = this.#hub.clock.setTimer(delayMs, end);
      this.#backoffs.add(end);
    });
  }
}
