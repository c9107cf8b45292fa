// Limits of what waits for a client, by age and by count: the oldest messages are skipped, counted, and the client is told
// how much of the log that was. They are held against when a client comes back, and when one that was too slow takes
// messages again; not while it takes none: what waits is the log's own and costs nothing until then.
import type { Clock, Log } from '../../port.ts';
import type { MqttCounters } from '../counters.ts';
import { deliveryOf } from '../deliveries.ts';
import type { LogSource } from '../log-source.ts';
import type { RecordReader } from '../record-reader.ts';
import type { Session } from '../session.ts';
import { isShared } from '../topic-filter.ts';

export interface QueueLimitsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: MqttCounters;
  readonly reader: RecordReader;
  /** 0 = no limit, as below. */
  readonly countMax: number;
  readonly ageMaxMs: number;
}

/** A session that goes on and on a little at a time is looked at this often. */
const INTERVAL_MS = 1000;
const READ_BYTES = 256 * 1024;

/** A message that waits. */
interface Waiting {
  readonly source: LogSource;
  readonly offset: number;
  readonly timestampMs: number;
}

export class QueueLimits {
  readonly #options: QueueLimitsOptions;
  /** One session is counted at a time, for that takes memory. */
  #counting: Promise<void> = Promise.resolve();
  readonly #lookedAtMs = new WeakMap<Session, number>();

  constructor(options: QueueLimitsOptions) {
    this.#options = options;
  }

  isDue(session: Session): boolean {
    const { countMax, ageMaxMs, clock } = this.#options;
    if (countMax === 0 && ageMaxMs === 0) return false;
    const lookedAtMs = this.#lookedAtMs.get(session);
    return lookedAtMs === undefined || clock.monotonic() - lookedAtMs >= INTERVAL_MS;
  }

  /** While nothing is read for the session: before its lag starts, or before it goes on. Rejects when the log cannot be read. */
  async apply(session: Session): Promise<void> {
    const { countMax, ageMaxMs, clock } = this.#options;
    this.#lookedAtMs.set(session, clock.monotonic());
    if (!waitsItself(session)) return;
    if (ageMaxMs > 0) await this.#skipOld(session);
    if (countMax === 0 || session.closed) return;
    const counted = this.#counting.then(() => this.#skipBeyond(session));
    this.#counting = counted.catch(() => undefined);
    await counted;
  }

  async #skipOld(session: Session): Promise<void> {
    const oldestMs = this.#options.clock.now() - this.#options.ageMaxMs;
    for (const [source, offset] of behind(session)) {
      const found = await source.partition.offsetForTime(oldestMs, 'highWatermark');
      if (session.closed) return;
      this.#skipTo(session, source, offset, found?.offset ?? source.position);
    }
  }

  async #skipBeyond(session: Session): Promise<void> {
    const { countMax } = this.#options;
    const sources = behind(session);
    const offsets = sources.reduce((sum, [source, offset]) => sum + source.position - offset, 0);
    if (offsets <= countMax) return;
    let newest: Waiting[] = [];
    for (const [source, offset] of sources) {
      const waiting = await this.#waitingFor(session, source, offset);
      if (session.closed) return;
      newest = [...newest, ...waiting].sort((left, right) => left.timestampMs - right.timestampMs);
      newest = newest.slice(-countMax);
    }
    const first = new Map<LogSource, number>();
    for (const { source, offset } of newest) first.set(source, Math.min(offset, first.get(source) ?? offset));
    for (const [source, offset] of sources) {
      this.#skipTo(session, source, offset, first.get(source) ?? source.position);
    }
  }

  /** The newest of a partition, as many as may wait in all. */
  async #waitingFor(session: Session, source: LogSource, fromOffset: number): Promise<Waiting[]> {
    const { reader, countMax } = this.#options;
    const end = source.position;
    let waiting: Waiting[] = [];
    let offset = Math.max(fromOffset, source.partition.logStartOffset);
    while (offset < end && !session.closed) {
      const range = await source.partition.read({ offset, maxBytes: READ_BYTES, upTo: 'lastStable' });
      if (range.refused !== undefined || range.nextOffset <= offset) break;
      reader.open(range);
      while (reader.next(offset) && reader.offset < end) {
        const delivery = deliveryOf(reader.match(source), session);
        if (delivery === undefined || delivery.qos === 0) continue;
        waiting.push({ source, offset: reader.offset, timestampMs: reader.timestampMs });
      }
      range.release?.();
      offset = range.nextOffset;
      if (waiting.length > countMax * 2) waiting = waiting.slice(-countMax);
    }
    return waiting;
  }

  #skipTo(session: Session, source: LogSource, fromOffset: number, toOffset: number): void {
    if (session.lag?.skipTo(source, toOffset) !== true) return;
    const skipped = toOffset - fromOffset;
    const { topic, partition } = source.partition;
    this.#options.counters.droppedQueueLimit += skipped;
    this.#options.log.warn('mqtt-queue-limit', {
      clientId: session.clientId,
      ...{ topic, partition, fromOffset, toOffset },
    });
    session.own.skipped += skipped;
  }
}

/** What waits for a shared subscription waits for the group. */
function waitsItself({ subscriptions }: Session): boolean {
  for (const filter of subscriptions.keys()) if (!isShared(filter)) return true;
  return false;
}

function behind(session: Session): (readonly [LogSource, number])[] {
  return (session.lag?.behind() ?? []).filter(
    ([source, offset]) => !source.closed && offset < source.position,
  );
}
