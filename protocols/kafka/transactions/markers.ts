// Writes the markers of a decided transaction to all its partitions side by side, each again and again until it is written
// or there is nothing to write it to: a marker that is missing keeps readers of committed records from going on.

import type { Hub, Refused, Timer, TransactionEnd } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { type Outcome, outcomeOf, type Transaction } from './transaction.ts';

/** Where offsets of a transaction are: ended there as in a partition with records. */
export interface OffsetsOfTransactions {
  readonly topic: string;
  /** Done when it resolves with 0. Never rejects. */
  endTransaction(partition: number, producerId: number, outcome: Outcome): Promise<ErrorCode>;
}

const BACKOFF_MIN_MS = 20;
const BACKOFF_MAX_MS = 2_000;

export class MarkerWriter {
  readonly #hub: Hub;
  readonly #offsets: OffsetsOfTransactions;
  readonly #backoffs = new Set<() => void>();
  #isClosed = false;

  constructor(hub: Hub, offsets: OffsetsOfTransactions) {
    this.#hub = hub;
    this.#offsets = offsets;
  }

  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#backoffs]) end();
  }

  /** True when every marker is written, or its partition is gone; false when the writer was closed before. */
  async write(transaction: Transaction, coordinatorEpoch: number): Promise<boolean> {
    const { transactionalId, producerId, producerEpoch, partitions } = transaction;
    const end = { producerId, producerEpoch, outcome: outcomeOf(transaction), coordinatorEpoch };
    const written: Promise<boolean>[] = [];
    for (const [topic, ofTopic] of partitions)
      for (const partition of ofTopic)
        written.push(
          this.again({ transactionalId, topic, partition }, () => this.writeOne(topic, partition, end)),
        );
    return (await Promise.all(written)).every(Boolean);
  }

  /** One marker, once: undefined when it is on disk. Never rejects. */
  async writeOne(
    topic: string,
    partition: number,
    end: TransactionEnd,
  ): Promise<ErrorCode | Refused['refused'] | undefined> {
    if (topic === this.#offsets.topic) {
      const code = await this.#offsets.endTransaction(partition, end.producerId, end.outcome);
      return code === ERROR_CODES.NONE ? undefined : code;
    }
    const found = this.#hub.topics.partition(topic, partition);
    if (found === undefined) return 'unknown-topic';
    return (await found.endTransaction(end)).refused;
  }

  /** Until `attempt` succeeds, or can never; false when the writer was closed before. */
  async again(
    about: object,
    attempt: () => Promise<ErrorCode | Refused['refused'] | undefined>,
  ): Promise<boolean> {
    for (let backoffMs = BACKOFF_MIN_MS; ; backoffMs = Math.min(2 * backoffMs, BACKOFF_MAX_MS)) {
      const refused = await attempt();
      if (refused === undefined) return true;
      // A topic that was deleted has nothing to end. Where another coordinator has ended it with a higher epoch, as an
      // administrator may, it is ended.
      if (refused === 'unknown-topic') return true;
      if (refused === 'fenced-producer') {
        this.#hub.log.warn('transaction-marker-fenced', about);
        return true;
      }
      if (this.#isClosed) return false;
      if (backoffMs === BACKOFF_MAX_MS) this.#hub.log.error('transaction-not-ended', { ...about, refused });
      await this.#backoff(backoffMs);
      if (this.#isClosed) return false;
    }
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
