// Writes what was decided about groups of the consumer protocol. Of one group one write is on its way at a time; what
// is decided meanwhile goes out with the next, so that a thousand members that join share a few flushes. Memory is
// ahead of the log by what is on its way: if a write is refused, all of that is taken back, the latest first.

import type { StateRecord } from '../../port.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { GroupEntry, GroupStore } from './group-store.ts';

class Batch {
  readonly records: StateRecord[] = [];
  readonly undo: (() => void)[] = [];
  readonly done: Promise<ErrorCode>;
  #settle: (code: ErrorCode) => void = () => undefined;

  constructor() {
    this.done = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  settle(code: ErrorCode): void {
    this.#settle(code);
  }

  takeBack(): void {
    for (const undo of this.undo.reverse()) undo();
  }
}

interface Queue {
  writing: Batch;
  next: Batch | undefined;
}

export class RecordQueue {
  readonly #store: GroupStore;
  readonly #queues = new Map<GroupEntry, Queue>();
  readonly #onTakenBack: (entry: GroupEntry) => void;

  /** @param onTakenBack called when memory is as the log has it again. */
  constructor(store: GroupStore, onTakenBack: (entry: GroupEntry) => void) {
    this.#store = store;
    this.#onTakenBack = onTakenBack;
  }

  /** Resolves when this and all that was decided before is on disk, with 0, or was taken back, with why. */
  write(
    entry: GroupEntry,
    records: readonly StateRecord[],
    undo: readonly (() => void)[],
  ): Promise<ErrorCode> {
    const queue = this.#queues.get(entry);
    if (records.length === 0 && undo.length === 0)
      return (queue?.next ?? queue?.writing)?.done ?? Promise.resolve(ERROR_CODES.NONE);
    const batch = queue === undefined ? new Batch() : (queue.next ?? new Batch());
    batch.records.push(...records);
    batch.undo.push(...undo);
    if (queue === undefined) {
      const started: Queue = { writing: batch, next: undefined };
      this.#queues.set(entry, started);
      void this.#drain(entry, started);
    } else {
      queue.next = batch;
    }
    return batch.done;
  }

  async #drain(entry: GroupEntry, queue: Queue): Promise<void> {
    entry.recordsInFlight++;
    for (;;) {
      const { writing } = queue;
      const code = await this.#store.write(entry, writing.records);
      const { next } = queue;
      queue.next = undefined;
      if (code !== ERROR_CODES.NONE) {
        next?.takeBack();
        writing.takeBack();
        this.#queues.delete(entry);
        entry.recordsInFlight--;
        this.#onTakenBack(entry);
        writing.settle(code);
        next?.settle(code);
        return;
      }
      if (next !== undefined) queue.writing = next;
      else {
        this.#queues.delete(entry);
        entry.recordsInFlight--;
      }
      writing.settle(code);
      if (next === undefined) return;
    }
  }
}
