// Hands over a partition's committed records range by range. It sleeps on the partition's wake-up, so an idle
// follower costs nothing; it reads the next range when the last one has been dealt with, so a slow one holds one
// range and no more.
import type {
  Clock,
  Followed,
  Log,
  ReadRefusal,
  ReadResult,
  RecordRange,
  Timer,
} from '../../protocols/port.ts';
import {
  FOLLOW_BYTES,
  FOLLOW_RANGES_PER_TURN,
  FOLLOW_RETRY_DELAY_MAX_MS,
  FOLLOW_RETRY_DELAY_MIN_MS,
} from './limits.ts';
import type { HubPartition } from './partition.ts';

export interface FollowOptions {
  readonly fromOffset?: number;
  readonly maxBytes?: number;
  readonly visibility?: 'lastStable' | 'highWatermark';
  onRange(range: RecordRange): void | Promise<void>;
  onSkip?(fromOffset: number, toOffset: number): void;
  onError?(refusal: ReadRefusal, message: string): void;
}

export class Follower implements Followed {
  readonly #partition: HubPartition;
  readonly #options: FollowOptions;
  readonly #visibility: 'lastStable' | 'highWatermark';
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onClosed: (follower: Follower) => void;
  readonly #stopListening: () => void;
  #offset: number;
  #running = false;
  #closed = false;
  #retryDelayMs = FOLLOW_RETRY_DELAY_MIN_MS;
  #retryTimer: Timer | undefined;

  constructor(
    partition: HubPartition,
    options: FollowOptions,
    surroundings: {
      readonly clock: Clock;
      readonly log: Log;
      readonly onClosed: (follower: Follower) => void;
    },
  ) {
    this.#partition = partition;
    this.#options = options;
    this.#clock = surroundings.clock;
    this.#log = surroundings.log;
    this.#onClosed = surroundings.onClosed;
    this.#visibility = options.visibility ?? 'lastStable';
    this.#offset = options.fromOffset ?? this.#end;
    this.#stopListening = partition.onAdvance(() => this.#wake());
    this.#wake();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    this.#retryTimer?.cancel();
    this.#onClosed(this);
  }

  #wake(): void {
    this.#returnToEnd();
    if (this.#running || this.#closed || this.#retryTimer !== undefined || !this.#hasMore()) return;
    this.#running = true;
    void this.#run(); // never rejects
  }

  /** A log that was not flushed at each batch may have lost its end: what comes in its place is new. */
  #returnToEnd(): void {
    const { logEndOffset, name } = this.#partition;
    if (this.#running || this.#partition.deleted || this.#offset <= logEndOffset) return;
    this.#log.warn('follower-beyond-end', { partition: name, offset: this.#offset, logEndOffset });
    this.#offset = logEndOffset;
  }

  #hasMore(): boolean {
    return this.#partition.deleted || this.#offset < this.#end;
  }

  /** What it hands over ends here. */
  get #end(): number {
    return this.#partition[this.#visibility === 'lastStable' ? 'lastStableOffset' : 'highWatermark'];
  }

  async #run(): Promise<void> {
    const maxBytes = this.#options.maxBytes ?? FOLLOW_BYTES;
    for (let ranges = 1; !this.#closed && this.#hasMore(); ranges++) {
      const result = await this.#read(maxBytes);
      if (this.#closed) {
        if (result.refused === undefined) result.release?.();
        break;
      }
      if (result.refused === undefined) await this.#handOver(result);
      else if (!this.#skipped(result.refused)) {
        this.#pause(result.refused, result.message);
        break;
      }
      if (ranges % FOLLOW_RANGES_PER_TURN === 0) await nextTurn();
    }
    this.#running = false;
  }

  /** A fault that nobody expected is a refusal too: it must not end the process. */
  async #read(maxBytes: number): Promise<ReadResult> {
    try {
      return await this.#partition.read({ offset: this.#offset, maxBytes, upTo: this.#visibility });
    } catch (error) {
      this.#log.error('follower-read-failed', {
        partition: this.#partition.name,
        offset: this.#offset,
        error,
      });
      return { refused: 'storage', message: `${this.#partition.name} could not be read` };
    }
  }

  async #handOver(range: RecordRange): Promise<void> {
    this.#retryDelayMs = FOLLOW_RETRY_DELAY_MIN_MS;
    const fromOffset = this.#offset;
    this.#offset = range.nextOffset;
    // The range was made for this follower alone.
    (range as { committedOnly?: boolean }).committedOnly = true;
    try {
      const handled = this.#options.onRange(range);
      if (handled !== undefined) await handled;
    } catch (error) {
      // The follower's own fault. Handing the range over again would fail again, and stopping would silence
      // everything behind it, so it goes on after the range, and says what was lost.
      const { name } = this.#partition;
      this.#log.error('follower-failed', { partition: name, fromOffset, toOffset: range.nextOffset, error });
    }
  }

  /** When retention overtook the follower: goes on at the log start. */
  #skipped(refusal: ReadRefusal): boolean {
    const { logStartOffset } = this.#partition;
    if (refusal !== 'offset-out-of-range' || this.#offset >= logStartOffset) return false;
    const fromOffset = this.#offset;
    this.#offset = logStartOffset;
    this.#options.onSkip?.(fromOffset, logStartOffset);
    return true;
  }

  /** Reports why nothing can be read; tries again later, unless the topic is gone. */
  #pause(refusal: ReadRefusal, message: string): void {
    if (refusal === 'unknown-topic') this.close();
    this.#options.onError?.(refusal, message);
    if (this.#closed) return;
    this.#retryTimer = this.#clock.setTimer(this.#retryDelayMs, () => {
      this.#retryTimer = undefined;
      this.#wake();
    });
    this.#retryDelayMs = Math.min(this.#retryDelayMs * 2, FOLLOW_RETRY_DELAY_MAX_MS);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
