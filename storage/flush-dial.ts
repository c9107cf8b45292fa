// The dial between safety and speed: after how many records, or how much time, what was written is flushed. With
// `flushMessages` 1 every write is followed by its flush. Above it, several writes share one, and what waits for it
// cannot leave the memory; so the flush is also due when much waits, or when memory is short.
import { CommitGroup, Outcome } from './commit-group.ts';
import type { Clock, Timer } from './environment.ts';
import type { StorageError } from './errors.ts';
import { UNFLUSHED_BYTES_HIGH, UNFLUSHED_LOG_BYTES_MAX } from './limits.ts';
import type { DirtyRange } from './tail-cache.ts';

export interface FlushPolicy {
  readonly flushMessages: number;
  readonly flushMs: number;
}

export interface FlushDialOptions {
  readonly policy: FlushPolicy;
  readonly clock: Clock;
  /** What waits in all logs together. */
  unflushedBytes(): number;
  /** The cache holds more than it may. */
  memoryIsShort(): boolean;
  /** The flush is due, and no write may come that would bring it. */
  onDue(): void;
}

/** What one flush has covered. */
export interface Flushed {
  /** One past the last offset. */
  readonly endOffset: number;
  readonly batches: number;
  readonly bytes: number;
}

export class FlushDial {
  readonly #options: FlushDialOptions;
  #policy: FlushPolicy;
  /** Of the flush that comes next. */
  #outcome = new Outcome();
  /** Written, and on disk when that flush is done. */
  #ranges: DirtyRange[] = [];
  #endOffset = 0;
  #batches = 0;
  #records = 0;
  #bytes = 0;
  /** When the first of it came. */
  #sinceMs = 0;
  #asked = false;
  #timer: Timer | undefined;

  constructor(options: FlushDialOptions) {
    this.#options = options;
    this.#policy = options.policy;
  }

  /** A group that begins now. */
  newGroup(): CommitGroup {
    return new CommitGroup(this.#policy.flushMessages <= 1, this.#outcome);
  }

  /** What is written and not flushed is flushed when the new policy asks for more. */
  setPolicy(policy: FlushPolicy): void {
    const { flushMessages, flushMs } = this.#policy;
    this.#policy = policy;
    if (policy.flushMessages >= flushMessages && policy.flushMs >= flushMs) return;
    this.#asked = true;
    this.#options.onDue();
  }

  get isEmpty(): boolean {
    return this.#batches === 0;
  }

  /** Somebody, or the time, wants the flush whatever the policy says. */
  get isAsked(): boolean {
    return this.#asked;
  }

  ask(): Promise<StorageError | undefined> {
    this.#asked = true;
    return this.#outcome.promise;
  }

  /** Whether the commit of these ends with a flush. */
  isDue(group: CommitGroup | undefined, ranges: readonly DirtyRange[]): boolean {
    if (group?.durable || this.#asked) return true;
    const { flushMessages, flushMs } = this.#policy;
    if (this.#records + (group?.records ?? 0) >= flushMessages || flushMs === 0) return true;
    let bytes = this.#bytes;
    for (const { start, end } of ranges) bytes += end - start;
    return (
      bytes >= UNFLUSHED_LOG_BYTES_MAX ||
      this.#options.unflushedBytes() >= UNFLUSHED_BYTES_HIGH ||
      this.#options.memoryIsShort()
    );
  }

  /** A flush is decided: groups that begin from now on wait for the one after it. Returns its outcome. */
  begin(): Outcome {
    const outcome = this.#outcome;
    this.#outcome = new Outcome();
    this.#asked = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    return outcome;
  }

  wroteRange(range: DirtyRange): void {
    this.#bytes += range.end - range.start;
    if (this.#ranges.at(-1)?.chunk === range.chunk) this.#ranges.pop();
    this.#ranges.push(range);
  }

  wroteGroup(group: CommitGroup, sinceMs: number): void {
    if (this.isEmpty) this.#sinceMs = sinceMs;
    this.#endOffset = group.endOffset;
    this.#batches += group.batches;
    this.#records += group.records;
  }

  /** They are on disk: a segment is flushed when the next one begins. */
  takeRanges(): readonly DirtyRange[] {
    const ranges = this.#ranges;
    this.#ranges = [];
    return ranges;
  }

  /** All that was written is on disk. */
  take(): Flushed {
    const flushed = { endOffset: this.#endOffset, batches: this.#batches, bytes: this.#bytes };
    this.#batches = 0;
    this.#records = 0;
    this.#bytes = 0;
    return flushed;
  }

  /** A commit ended with its write: the flush comes in time. One timer for many commits. */
  startTimer(): void {
    const { clock } = this.#options;
    const { flushMs } = this.#policy;
    if (this.#timer !== undefined || flushMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.setTimer(Math.max(0, this.#sinceMs + flushMs - clock.monotonic()), () => {
      this.#timer = undefined;
      if (this.isEmpty) return;
      this.#asked = true;
      this.#options.onDue();
    });
  }

  /** Nothing is flushed any more. */
  close(): Outcome {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#outcome;
  }
}
