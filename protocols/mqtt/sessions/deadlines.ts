// Which of many things is due next: a heap in which each knows its place, so that one whose deadline changes leaves nothing
// behind, and one timer for all of them.
import type { Clock, Timer } from '../../port.ts';

interface Entry<Key> {
  readonly key: Key;
  deadlineMs: number;
  place: number;
}

export class Deadlines<Key> {
  readonly #clock: Clock;
  readonly #onDue: (key: Key) => void;
  readonly #entries = new Map<Key, Entry<Key>>();
  readonly #heap: Entry<Key>[] = [];
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  #closed = false;

  /** @param onDue called once for a key whose deadline has come; it is not in here any more then. */
  constructor(clock: Clock, onDue: (key: Key) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** @param deadlineMs milliseconds since the epoch; Infinity is the same as {@link delete}. */
  set(key: Key, deadlineMs: number): void {
    if (deadlineMs === Number.POSITIVE_INFINITY || this.#closed) {
      this.delete(key);
      return;
    }
    const existing = this.#entries.get(key);
    if (existing === undefined) {
      const entry = { key, deadlineMs, place: this.#heap.length };
      this.#entries.set(key, entry);
      this.#heap.push(entry);
      this.#rise(entry);
    } else {
      existing.deadlineMs = deadlineMs;
      this.#rise(existing);
      this.#sink(existing);
    }
    this.#arm();
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const last = this.#heap.pop() as Entry<Key>; // there is one: the entry itself
    if (last === entry) return;
    this.#put(last, entry.place);
    this.#rise(last);
    this.#sink(last);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#entries.clear();
    this.#heap.length = 0;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || this.#timerMs <= first.deadlineMs) return;
    this.#timer?.cancel();
    this.#timerMs = first.deadlineMs;
    this.#timer = this.#clock.setTimer(Math.max(0, first.deadlineMs - this.#clock.now()), () => this.#wake());
  }

  #wake(): void {
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.now();
    for (let first = this.#heap[0]; first !== undefined && first.deadlineMs <= nowMs; first = this.#heap[0]) {
      this.delete(first.key);
      this.#onDue(first.key);
    }
    this.#arm();
  }

  #rise(entry: Entry<Key>): void {
    while (entry.place > 0) {
      const parentPlace = (entry.place - 1) >> 1;
      const parent = this.#heap[parentPlace]!;
      if (parent.deadlineMs <= entry.deadlineMs) return;
      this.#put(parent, entry.place);
      this.#put(entry, parentPlace);
    }
  }

  #sink(entry: Entry<Key>): void {
    for (;;) {
      const left = this.#heap[entry.place * 2 + 1];
      const right = this.#heap[entry.place * 2 + 2];
      const child =
        right !== undefined && left !== undefined && right.deadlineMs < left.deadlineMs ? right : left;
      if (child === undefined || child.deadlineMs >= entry.deadlineMs) return;
      const { place } = child;
      this.#put(child, entry.place);
      this.#put(entry, place);
    }
  }

  #put(entry: Entry<Key>, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }
}
