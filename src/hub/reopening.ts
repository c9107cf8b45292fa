// Opens again what failed because the disk was full. Such a log has lost nothing that was promised: it is closed, what
// nobody was told of is cut, and under the next leader epoch it takes appends again. Other failures stay as they are
// until a restart or until somebody asks for it: a disk that could not flush is not to be trusted by itself.
import type { Clock, Log, Timer } from '../../protocols/port.ts';
import { type LogStore, StorageError } from '../../storage/index.ts';
import { REOPENING_DELAY_MAX_MS, REOPENING_DELAY_MIN_MS, REOPENING_FREE_BYTES } from './limits.ts';
import type { HubPartition } from './partition.ts';
import type { HubTopics } from './topics.ts';

export interface ReopeningOptions {
  readonly topics: HubTopics;
  readonly store: LogStore;
  readonly clock: Clock;
  readonly log: Log;
}

export class Reopening {
  readonly #options: ReopeningOptions;
  /** Those that wait for room. */
  readonly #waiting = new Set<HubPartition>();
  #timer: Timer | undefined;
  #delayMs = REOPENING_DELAY_MIN_MS;
  #running = false;
  #closed = false;

  constructor(options: ReopeningOptions) {
    this.#options = options;
  }

  /** The partition's log has just failed. */
  failed(partition: HubPartition): void {
    const cause = partition.log?.failed?.cause;
    if (!(cause instanceof StorageError) || cause.code !== 'disk-full') return;
    this.#waiting.add(partition);
    this.#wait();
  }

  /** Opens the partition's log again whatever made it fail, if it did. Resolves with whether it takes appends. */
  async reopen(partition: HubPartition): Promise<boolean> {
    await this.#reopenAll([partition]);
    this.#waiting.delete(partition);
    return partition.log !== undefined && partition.log.failed === undefined;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #wait(): void {
    if (this.#closed || this.#running || this.#timer !== undefined || this.#waiting.size === 0) return;
    this.#timer = this.#options.clock.setTimer(this.#delayMs, () => {
      this.#timer = undefined;
      void this.#run(); // never rejects
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    if (await this.#hasRoom()) await this.#reopenWaiting();
    this.#running = false;
    this.#wait();
  }

  async #hasRoom(): Promise<boolean> {
    const { store } = this.#options;
    if (store.isDiskShort) return false;
    const freeBytes = await store.freeBytes();
    return freeBytes === undefined || freeBytes >= REOPENING_FREE_BYTES;
  }

  async #reopenWaiting(): Promise<void> {
    await this.#reopenAll([...this.#waiting]);
    for (const partition of this.#waiting) {
      if (partition.deleted || partition.log?.failed === undefined) this.#waiting.delete(partition);
    }
    // What does not open now may never do; it must not raise its leader epoch each second.
    const isDone = this.#waiting.size === 0;
    this.#delayMs = isDone ? REOPENING_DELAY_MIN_MS : Math.min(2 * this.#delayMs, REOPENING_DELAY_MAX_MS);
  }

  /** Topic by topic: the leaders of a topic's partitions are one entry of the MetaStore. */
  async #reopenAll(partitions: readonly HubPartition[]): Promise<void> {
    const { topics, log } = this.#options;
    const byTopic = new Map<string, HubPartition[]>();
    for (const partition of partitions) {
      const known = byTopic.get(partition.topicId);
      if (known === undefined) byTopic.set(partition.topicId, [partition]);
      else known.push(partition);
    }
    for (const [topicId, failed] of byTopic) {
      if (this.#closed) return;
      try {
        await topics.reopen(topicId, failed);
      } catch (error) {
        log.error('partitions-not-reopened', { partitions: failed.map(({ name }) => name), error });
      }
    }
  }
}
