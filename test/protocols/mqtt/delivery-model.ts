// What clients are to be sent, by a linear scan of everything that was published: who was subscribed to what when a record
// was written, by a matcher written again. Steps are counted: each publish, subscription and connection has its own.
import { naiveMatches } from './naive-matcher.ts';

export type QoS = 0 | 1 | 2;

export interface ModelSubscription {
  readonly filter: string;
  readonly qos: QoS;
  readonly noLocal: boolean;
  readonly retainAsPublished: boolean;
  readonly identifier: number;
  readonly from: number;
  /** Infinity: it is still there. */
  to: number;
}

export interface ModelRecord {
  readonly step: number;
  readonly topic: string;
  readonly payload: string;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly clientId: string;
}

/** One way in which a client may get a record. */
export interface Expected {
  readonly qos: QoS;
  readonly retain: boolean;
  readonly identifiers: readonly number[];
}

export class ModelClient {
  readonly clientId: string;
  readonly subscriptions: ModelSubscription[] = [];
  /** Steps at which its connection ended. */
  readonly absences: { readonly from: number; to: number }[] = [];

  constructor(clientId: string) {
    this.clientId = clientId;
  }

  /** Whether its connection has lasted from a record on. */
  #wasHereSince(step: number): boolean {
    return this.absences.every(({ to }) => to < step);
  }

  /**
   * How it may get a record; `undefined` among them: not at all. What ends after the record was written may be looked at
   * or not: the record may have been on its way already.
   */
  expected(record: ModelRecord): readonly (Expected | undefined)[] {
    const matching = this.subscriptions.filter(
      ({ filter, from, to }) => from < record.step && record.step < to && naiveMatches(filter, record.topic),
    );
    const ends = [record.step, ...matching.map(({ to }) => to).filter((to) => to < Number.POSITIVE_INFINITY)];
    const ways = ends.map((at) =>
      this.#merged(
        record,
        matching.filter(({ to }) => to > at),
      ),
    );
    // Who is not there gets nothing at QoS 0.
    const isLossy = ways.some((way) => way?.qos === 0) && !this.#wasHereSince(record.step);
    return isLossy ? [...ways, undefined] : ways;
  }

  #merged(record: ModelRecord, subscriptions: readonly ModelSubscription[]): Expected | undefined {
    const counted = subscriptions.filter(({ noLocal }) => !(noLocal && record.clientId === this.clientId));
    if (counted.length === 0) return undefined;
    const qos = Math.min(record.qos, Math.max(...counted.map((each) => each.qos))) as QoS; // one of them
    const retain = record.retain && counted.some(({ retainAsPublished }) => retainAsPublished);
    const identifiers = counted.map(({ identifier }) => identifier).filter((identifier) => identifier > 0);
    return { qos, retain, identifiers: identifiers.sort((left, right) => left - right) };
  }
}
