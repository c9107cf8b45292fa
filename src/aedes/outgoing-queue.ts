// What memory keeps of one client's outgoing messages: where each lies in the table, and what it is found by.
import type { Origin } from './deliveries.ts';

export interface QueueEntry {
  /** In the order of the queue. */
  readonly number: number;
  readonly partition: number;
  readonly offset: number;
  readonly brokerId: string | undefined;
  readonly brokerCounter: number | undefined;
  readonly messageId: number | undefined;
}

export class OutgoingQueue {
  /** By number. */
  #entries: QueueEntry[] = [];
  #lastNumber = 0;
  /** Numbers that were taken for messages which are still to be written. */
  #pending = 0;

  /** Nothing is in it, and nothing is on its way. */
  get isIdle(): boolean {
    return this.#entries.length === 0 && this.#pending === 0;
  }

  /** For the next message; none that is there has it. To be followed by {@link settled}. */
  takeNumber(): number {
    this.#pending++;
    return ++this.#lastNumber;
  }

  /** The message is written, or never will be. */
  settled(): void {
    this.#pending--;
  }

  set(entry: QueueEntry): void {
    this.#lastNumber = Math.max(this.#lastNumber, entry.number);
    const at = this.#placeOf(entry.number);
    const isThere = this.#entries[at]?.number === entry.number;
    this.#entries.splice(at, isThere ? 1 : 0, entry);
  }

  delete(number: number): void {
    const at = this.#placeOf(number);
    if (this.#entries[at]?.number === number) this.#entries.splice(at, 1);
  }

  /** As they are now, in order. */
  entries(): readonly QueueEntry[] {
    return [...this.#entries];
  }

  /**
   * The entry that an update is for, by aedes' rule: of the same broker it is told by the broker's counter, of another by
   * its message identifier.
   */
  findUpdated(origin: Origin, messageId: number | undefined): QueueEntry | undefined {
    return this.#entries.find((entry) =>
      entry.brokerId === origin.brokerId
        ? entry.brokerCounter === origin.brokerCounter
        : entry.messageId === messageId,
    );
  }

  findById(messageId: number): QueueEntry | undefined {
    return this.#entries.find((entry) => entry.messageId === messageId);
  }

  /** Where the number stands, or would. Most are the last. */
  #placeOf(number: number): number {
    let at = this.#entries.length;
    if (at === 0 || this.#entries[at - 1]!.number < number) return at;
    let low = 0;
    while (low < at) {
      const middle = (low + at) >> 1;
      if (this.#entries[middle]!.number < number) low = middle + 1;
      else at = middle;
    }
    return low;
  }
}
