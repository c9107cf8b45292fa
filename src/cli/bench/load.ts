// The load itself, whatever carries it: payloads that tell when they were sent, a window of what is not acknowledged, a
// rate to keep, and what came out of it when they arrive.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** What takes payloads to the hub. */
export interface Sender {
  /** Most payloads that one call takes. */
  readonly batchMax: number;
  /** Most payloads that are not acknowledged. */
  readonly windowMax: number;
  /** Resolves once the hub has acknowledged them. */
  send(payloads: readonly Buffer[]): Promise<void>;
}

export interface LoadOptions {
  readonly records: number;
  /** Bytes of a value: at least {@link SIZE_MIN}. */
  readonly size: number;
  /** Records a second; undefined = as fast as they are acknowledged. */
  readonly rate: number | undefined;
  readonly interrupted: AbortSignal | undefined;
  progress?(arrived: number): void;
}

export interface LoadResult {
  readonly sent: number;
  readonly arrived: number;
  readonly seconds: number;
  readonly recordsPerSecond: number;
  readonly megabytesPerSecond: number;
  /** From when a record was due to be sent until it arrived. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

const RUN_BYTES = 8;
/** Which run, and when it was sent: 8 bytes each. */
export const SIZE_MIN = RUN_BYTES + 8;
/** Nothing arrived for so long: what is missing does not come. */
const SILENCE_MS = 10_000;
const PACE_MS = 1;

export class Load {
  readonly #options: LoadOptions;
  readonly #run = randomBytes(RUN_BYTES);
  readonly #latenciesMs: Float32Array;
  #arrived = 0;
  #lastArrivalMs = 0;
  #pending = 0;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#latenciesMs = new Float32Array(options.records);
  }

  /** A value arrived; those of others, and of former runs, are not counted. */
  take(value: Uint8Array): void {
    if (value.length < SIZE_MIN || this.#arrived === this.#latenciesMs.length) return;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
    if (this.#run.compare(bytes, 0, RUN_BYTES) !== 0) return;
    this.#lastArrivalMs = performance.now();
    this.#latenciesMs[this.#arrived++] = this.#lastArrivalMs - bytes.readDoubleBE(RUN_BYTES);
    if (this.#arrived === this.#latenciesMs.length) this.#wake();
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** Sends everything and waits until it has arrived; ends early when interrupted. Throws what a sender throws. */
  async run(sender: Sender): Promise<LoadResult> {
    const { progress, interrupted } = this.#options;
    const timer = setInterval(() => progress?.(this.#arrived), 1_000).unref();
    const wake = (): void => this.#wake();
    interrupted?.addEventListener('abort', wake);
    const startMs = performance.now();
    this.#lastArrivalMs = startMs;
    try {
      const sent = await this.#send(sender, startMs);
      await this.#arrival(sent);
      return this.#result(sent, startMs);
    } finally {
      clearInterval(timer);
      interrupted?.removeEventListener('abort', wake);
    }
  }

  async #send(sender: Sender, startMs: number): Promise<number> {
    const { records, rate, interrupted } = this.#options;
    let sent = 0;
    while (sent < records && interrupted?.aborted !== true) {
      if (this.#failure !== undefined) throw this.#failure;
      const nowMs = performance.now();
      const due = rate === undefined ? records : Math.floor(((nowMs - startMs) * rate) / 1_000) + 1;
      const count = Math.min(due - sent, records - sent, sender.batchMax);
      if (count <= 0) await delay(PACE_MS);
      else if (this.#pending + count > sender.windowMax) await this.#change();
      else {
        this.#sendSome(sender, count, (index) =>
          // Late because the hub was slow counts as its latency, not as a pause of ours.
          rate === undefined ? nowMs : startMs + ((sent + index) * 1_000) / rate,
        );
        sent += count;
      }
    }
    return sent;
  }

  #sendSome(sender: Sender, count: number, dueMs: (index: number) => number): void {
    const payloads = Array.from({ length: count }, (_each, index) => {
      const payload = Buffer.alloc(this.#options.size, '.');
      this.#run.copy(payload);
      payload.writeDoubleBE(dueMs(index), RUN_BYTES);
      return payload;
    });
    this.#pending += count;
    sender.send(payloads).then(
      () => {
        this.#pending -= count;
        this.#wake();
      },
      (error: Error) => this.fail(error),
    );
  }

  async #arrival(sent: number): Promise<void> {
    const { interrupted } = this.#options;
    const sinceMs = performance.now();
    while (this.#arrived < sent || this.#pending > 0) {
      if (this.#failure !== undefined) throw this.#failure;
      const quietMs = performance.now() - Math.max(sinceMs, this.#lastArrivalMs);
      if (interrupted?.aborted === true || quietMs >= SILENCE_MS) return;
      await Promise.race([this.#change(), delay(SILENCE_MS - quietMs, undefined, { ref: false })]);
    }
  }

  /** An acknowledgement, the last arrival, an interruption or a failure. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      // What came before anybody waited.
      if (this.#failure !== undefined || this.#options.interrupted?.aborted === true) resolve();
    });
  }

  #result(sent: number, startMs: number): LoadResult {
    const seconds = (this.#lastArrivalMs - startMs) / 1_000;
    const sorted = this.#latenciesMs.subarray(0, this.#arrived).sort();
    const recordsPerSecond = seconds > 0 ? this.#arrived / seconds : 0;
    const quantile = (share: number): number | null => {
      const latencyMs = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
      return latencyMs === undefined ? null : rounded(latencyMs, 3);
    };
    return {
      ...{ sent, arrived: this.#arrived, seconds: rounded(seconds, 3) },
      recordsPerSecond: Math.round(recordsPerSecond),
      megabytesPerSecond: rounded((recordsPerSecond * this.#options.size) / 1e6, 3),
      ...{ p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) },
    };
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
