// How fast connections begin: those beyond the rate wait in a line, unread, and begin one after another. Devices that come all
// at once, as after a power cut, are all let in; only those for whom the line would be too long are told to come back.
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../port.ts';
import { TokenBucket } from '../token-bucket.ts';

/** As long as it takes to let so much of the line in, another may join it. */
const WAIT_SECONDS_MAX = 5;

interface Waiting {
  readonly socket: Socket;
  readonly begin: () => void;
}

export class Admission {
  readonly #clock: Clock;
  #bucket: TokenBucket | undefined;
  #lineMax = 0;
  #line: Waiting[] = [];
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param rateMax connections a second; 0 = any number: then the line is let in. */
  change(rateMax: number): void {
    this.#bucket = rateMax > 0 ? new TokenBucket(rateMax, this.#clock.monotonic()) : undefined;
    this.#lineMax = Math.ceil(rateMax * WAIT_SECONDS_MAX);
    this.#timer?.cancel();
    this.#letIn();
  }

  /**
   * Calls `begin` now, or when it is the socket's turn; the socket is not read before.
   * @returns false when the line is too long: then it is not called.
   */
  enter(socket: Socket, begin: () => void): boolean {
    const { length } = this.#line;
    if (length === 0 && (this.#bucket === undefined || this.#bucket.take(this.#clock.monotonic()) === 0)) {
      begin();
      return true;
    }
    if (length >= this.#lineMax) return false;
    this.#line.push({ socket, begin });
    if (length === 0) this.#letIn();
    return true;
  }

  close(): void {
    this.#timer?.cancel();
    this.#line = [];
  }

  #letIn(): void {
    let count = 0;
    let waitMs = 0;
    for (const { socket, begin } of this.#line) {
      // One that has gone while it waited takes nobody's turn.
      if (!socket.destroyed) {
        waitMs = this.#bucket?.take(this.#clock.monotonic()) ?? 0;
        if (waitMs > 0) break;
        begin();
      }
      count++;
    }
    this.#line.splice(0, count);
    if (this.#line.length > 0) this.#timer = this.#clock.setTimer(waitMs, () => this.#letIn());
  }
}
