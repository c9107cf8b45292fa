// How a Fetch waits: until enough new bytes can be read, its time is up, a topic is deleted, or nobody needs the
// answer any more. Nothing is polled: partitions say when their bound moves, and only what is new is counted.

import type { Hub, Partition, Visibility } from '../port.ts';
import type { Call } from './api.ts';
import type { FetchedPartition, FetchSession } from './fetch-session.ts';
import { readableUpTo } from './readable-end.ts';

/** A partition that is waited for, and how far its bytes are counted already. */
export interface Watched {
  readonly partition: Partition;
  readonly asked: FetchedPartition;
  readonly fetchOffset: number;
  countedUpTo: number;
}

export interface FetchWait {
  readonly watched: readonly Watched[];
  /** Says as well when one of its partitions advances that is not among those: they are at their ends. */
  readonly session: FetchSession | undefined;
  /** Stored bytes that must come together, at least 1. */
  readonly missingBytes: number;
  readonly maxWaitMs: number;
  readonly upTo: Visibility;
}

/** Resolves when the Fetch should read again and answer with whatever is there; 'gone' = nobody is left to answer. */
export function waitForBytes(call: Call, wait: FetchWait): Promise<'read' | 'gone'> {
  const { clock } = call.kafka.hub;
  const sinceMs = clock.monotonic();
  return new Promise((resolve) => {
    const watch = new ByteWatch(call.kafka.hub, wait, () => end('read'));
    const timer = clock.setTimer(wait.maxWaitMs, () => end('read'));
    const stopHurry = call.onHurry((why) => end(why === 'gone' ? 'gone' : 'read'));
    function end(how: 'read' | 'gone'): void {
      watch.close();
      timer.cancel();
      stopHurry();
      call.kafka.timings.fetchWait.observe((clock.monotonic() - sinceMs) / 1000);
      resolve(how);
    }
    watch.start();
  });
}

/** Calls `onEnough` once, when the missing bytes have come or waiting for them makes no sense. */
class ByteWatch {
  readonly #hub: Hub;
  readonly #upTo: Visibility;
  readonly #onEnough: () => void;
  readonly #session: FetchSession | undefined;
  readonly #watched: Map<FetchedPartition, Watched>;
  readonly #removals: (() => void)[] = [];
  readonly #advanced = new Set<Watched>();
  #missingBytes: number;
  #isCounting = false;
  #isClosed = false;

  constructor(hub: Hub, wait: FetchWait, onEnough: () => void) {
    this.#hub = hub;
    this.#upTo = wait.upTo;
    this.#onEnough = onEnough;
    this.#missingBytes = wait.missingBytes;
    this.#session = wait.session;
    this.#watched = new Map(wait.watched.map((each) => [each.asked, each]));
  }

  start(): void {
    const session = this.#session;
    if (session !== undefined) {
      const onAdvance = (asked: FetchedPartition, partition: Partition): void =>
        this.#advancedBy(this.#watchedOf(asked, partition));
      this.#removals.push(session.listen({ onAdvance, onEnd: this.#onEnough }));
    }
    for (const watched of this.#watched.values()) {
      if (this.#isClosed) return;
      if (session === undefined)
        this.#removals.push(watched.partition.onAdvance(() => this.#advancedBy(watched)));
      else session.watch(watched.asked, watched.partition);
      // It may have moved while other partitions were read.
      this.#advancedBy(watched);
    }
  }

  #watchedOf(asked: FetchedPartition, partition: Partition): Watched {
    const known = this.#watched.get(asked);
    if (known !== undefined) return known;
    const { fetchOffset } = asked.request;
    const watched = { partition, asked, fetchOffset, countedUpTo: fetchOffset };
    this.#watched.set(asked, watched);
    return watched;
  }

  close(): void {
    this.#isClosed = true;
    for (const remove of this.#removals) remove();
  }

  #advancedBy(watched: Watched): void {
    if (this.#isClosed) return;
    const { partition, fetchOffset, countedUpTo } = watched;
    // Deleted, or the log start has overtaken the fetch: it is told at once.
    if (partition.deleted || partition.logStartOffset > fetchOffset) {
      this.#onEnough();
      return;
    }
    if (readableUpTo(partition, this.#upTo) <= countedUpTo) return;
    if (this.#missingBytes <= 1) {
      this.#onEnough();
      return;
    }
    this.#advanced.add(watched);
    if (!this.#isCounting) void this.#count();
  }

  /** Reads what is new, which the store has in memory, for its size. */
  async #count(): Promise<void> {
    this.#isCounting = true;
    for (const watched of this.#advanced) {
      this.#advanced.delete(watched);
      const { partition, countedUpTo: offset } = watched;
      const range = await partition.read({ offset, maxBytes: this.#missingBytes, upTo: this.#upTo });
      // Its size is all that is looked at.
      if (range.refused === undefined) range.release?.();
      if (this.#isClosed) return;
      if (range.refused !== undefined) {
        this.#hub.log.debug('kafka-fetch-refused', { topic: partition.topic, reason: range.message });
        this.#onEnough();
        return;
      }
      this.#missingBytes -= range.end - range.start;
      watched.countedUpTo = range.nextOffset;
      if (this.#missingBytes <= 0) {
        this.#onEnough();
        return;
      }
      if (range.nextOffset < readableUpTo(partition, this.#upTo)) this.#advanced.add(watched);
    }
    this.#isCounting = false;
  }
}
