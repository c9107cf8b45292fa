// What one client has published and the log has not yet stored: acknowledged in the order in which it came, each run of
// publishes that share a flush by one promise, and bounded, so that a client that floods is read no faster than the disk.
import type { Published, Refused } from '../port.ts';
import type { MqttCounters } from './counters.ts';
import { ACKNOWLEDGEMENT } from './packets/acknowledgement.ts';
import type { QoS } from './packets/publish.ts';
import { isFailure, REASON, REFUSAL_REASON } from './reason-codes.ts';
import type { Session } from './session.ts';

/** Bytes of payload on their way to the log, of all connections together. */
export class UnstoredBytes {
  readonly #bytesMax: number;
  readonly #waiting = new Set<() => void>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesMax;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    const wasFull = this.isFull;
    this.#bytes -= bytes;
    if (!wasFull || this.isFull) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const proceed of waiting) proceed();
  }

  /** Calls once when there is room again. */
  whenRoom(proceed: () => void): void {
    this.#waiting.add(proceed);
  }

  forget(proceed: () => void): void {
    this.#waiting.delete(proceed);
  }
}

/** Publishes that there is room for at first. */
const ENTRIES_MIN = 16;

/** Publishes one behind another that share a flush. */
interface Run {
  readonly stored: Promise<Published | Refused> | undefined;
  /** Undefined while the log has not answered. */
  reasonCode: number | undefined;
  message: string;
  /** How many of the entries are of it. */
  count: number;
  bytes: number;
}

export interface PublishFlowOptions {
  readonly session: Session;
  readonly counters: MqttCounters;
  readonly unstored: UnstoredBytes;
  readonly publishesMax: number;
  readonly bytesMax: number;
  /** Called after some were answered. */
  onProgress(): void;
  /** A publish was refused that the protocol has no answer for: the connection ends [MQTT-3.3.5-2]. */
  onUnanswerable(reasonCode: number, message: string): void;
  /** Every refusal, answered or not. */
  onRefused(reasonCode: number, message: string): void;
}

export class PublishFlow {
  readonly #options: PublishFlowOptions;
  readonly #runs: Run[] = [];
  /**
   * Packet identifier and QoS of each publish of all runs, as {@link entryOf} packs them: `#count` of them from `#first` on, in
   * a ring whose length is a power of two.
   */
  #entries = new Uint32Array(0);
  #first = 0;
  #count = 0;
  #bytes = 0;
  #answering = false;
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  constructor(options: PublishFlowOptions) {
    this.#options = options;
  }

  /** Whether the next publish has to wait. */
  get isFull(): boolean {
    const { publishesMax, bytesMax, unstored } = this.#options;
    return this.#count >= publishesMax || this.#bytes >= bytesMax || unstored.isFull;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Resolves when the log has answered everything. */
  settled(): Promise<void> {
    if (this.isEmpty) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A publish was handed to the log. */
  add(stored: Promise<Published | Refused>, qos: QoS, packetId: number, bytes: number): void {
    this.#push(entryOf(qos, packetId));
    this.#bytes += bytes;
    this.#options.unstored.add(bytes);
    if (qos === 2) this.#options.session.received.set(packetId, 'storing');
    const last = this.#runs.at(-1);
    if (last !== undefined && last.stored === stored) {
      last.count++;
      last.bytes += bytes;
      return;
    }
    this.#begin(stored, bytes);
  }

  /** Apart from {@link add}, in which the closure would be prepared for each publish. */
  #begin(stored: Promise<Published | Refused>, bytes: number): void {
    const run: Run = { stored, reasonCode: undefined, message: '', count: 1, bytes };
    this.#runs.push(run);
    void stored.then((result) => {
      run.reasonCode = result.refused === undefined ? REASON.SUCCESS : REFUSAL_REASON[result.refused];
      run.message = result.refused === undefined ? '' : result.message;
      this.#settle();
    });
  }

  /** A publish was not handed to the log; its answer waits for those before it. */
  refuse(reasonCode: number, message: string, qos: QoS, packetId: number): void {
    this.#push(entryOf(qos, packetId));
    this.#runs.push({ stored: undefined, reasonCode, message, count: 1, bytes: 0 });
    this.#settle();
  }

  /** The client sends a QoS 2 publish again: it is answered again, and not stored again [MQTT-4.3.3-10]. */
  repeat(packetId: number): void {
    const { session } = this.#options;
    if (session.received.get(packetId) !== 'stored') return;
    session.acknowledge(ACKNOWLEDGEMENT.PUBREC, packetId, REASON.SUCCESS);
  }

  /** Answers go nowhere any more; what is on its way to the log stays counted until it is there. */
  close(): void {
    this.#closed = true;
  }

  /** Answers what the log has answered, up to the first that it has not. */
  #settle(): void {
    // Who hears of an answer may publish, and come back here: its run has its turn when this one's entries are all taken.
    if (this.#answering || !this.#answerSettled()) return;
    if (this.isEmpty) for (const resolve of this.#waiting.splice(0)) resolve();
    this.#options.onProgress();
  }

  /** @returns whether there was any. */
  #answerSettled(): boolean {
    let hasSettled = false;
    this.#answering = true;
    try {
      for (;;) {
        const run = this.#runs[0];
        if (run?.reasonCode === undefined) break;
        // Nothing is added to it any more.
        this.#runs.shift();
        hasSettled = true;
        this.#bytes -= run.bytes;
        this.#answer(run, run.reasonCode);
        this.#options.unstored.remove(run.bytes);
      }
    } finally {
      this.#answering = false;
    }
    return hasSettled;
  }

  #answer(run: Run, reasonCode: number): void {
    const failed = isFailure(reasonCode);
    if (failed) {
      this.#options.counters.publishesRefused += run.count;
      this.#options.onRefused(reasonCode, run.message);
    }
    let isUnanswerable = false;
    for (let left = run.count; left > 0; left--) {
      const entry = this.#shift();
      if (entry === 0) continue;
      if (entry >> 16 === 2) this.#noteReceived(entry & 0xffff, failed);
      if (this.#closed || isUnanswerable) continue;
      if (failed && this.#options.session.version < 5) {
        isUnanswerable = true;
        this.#options.onUnanswerable(reasonCode, run.message);
      } else if (failed) {
        // What entryOf has packed.
        const qos = (entry >> 16) as QoS;
        this.#options.session.refusePublish(qos, entry & 0xffff, reasonCode, run.message);
      } else {
        this.#acknowledge(entry >> 16, entry & 0xffff, reasonCode);
      }
    }
  }

  /** A refusal ends the exchange (section 4.3.3); so does a PUBREL that came early. */
  #noteReceived(packetId: number, failed: boolean): void {
    const { received, durable } = this.#options.session;
    if (failed) {
      received.delete(packetId);
      durable?.received.refused(packetId);
    } else if (received.has(packetId)) {
      received.set(packetId, 'stored');
      durable?.received.stored(packetId);
    }
  }

  #acknowledge(qos: number, packetId: number, reasonCode: number): void {
    const firstByte = qos === 1 ? ACKNOWLEDGEMENT.PUBACK : ACKNOWLEDGEMENT.PUBREC;
    this.#options.session.acknowledge(firstByte, packetId, reasonCode);
  }

  #push(entry: number): void {
    if (this.#count === this.#entries.length) this.#growEntries();
    this.#entries[(this.#first + this.#count) & (this.#entries.length - 1)] = entry;
    this.#count++;
  }

  /** The oldest; there is one. */
  #shift(): number {
    const entry = this.#entries[this.#first]!;
    this.#first = (this.#first + 1) & (this.#entries.length - 1);
    this.#count--;
    return entry;
  }

  #growEntries(): void {
    const entries = this.#entries;
    const grown = new Uint32Array(Math.max(ENTRIES_MIN, entries.length * 2));
    grown.set(entries.subarray(this.#first));
    grown.set(entries.subarray(0, this.#first), entries.length - this.#first);
    this.#entries = grown;
    this.#first = 0;
  }
}

/** 0 for QoS 0, which has no answer. */
function entryOf(qos: QoS, packetId: number): number {
  return qos === 0 ? 0 : (qos << 16) | packetId;
}
