// Transactions as numbers, for whoever watches the hub: plain values of now, and counts since the start.

import type { TransactionalOffsets } from '../groups/transactional-offsets.ts';
import type { TransactionCoordinator } from './coordinator.ts';
import { isPrepared } from './transaction.ts';

export interface TransactionStatistics {
  /** Transactional ids that are known now. */
  readonly ids: number;
  /** Transactions that are open now: readers of committed records, and MQTT subscribers, wait for them. */
  readonly open: number;
  /** How long the oldest of those has been open; 0 = none is. */
  readonly oldestOpenMs: number;
  /** Decided now, and not all of their markers written. */
  readonly ending: number;
  /** Markers of those that are not written. */
  readonly markersPending: number;
  /** Offsets of transactions that have not ended. */
  readonly offsetsPending: number;
  /** From here on counts since the start. Complete with their last marker. */
  readonly committed: number;
  /** For whatever reason; those that lasted too long are among them. */
  readonly aborted: number;
  readonly timedOut: number;
  /** Ids that did nothing for so long that they were forgotten. */
  readonly idsExpired: number;
  readonly markersWritten: number;
  /** Refusals after which a marker is tried again. */
  readonly markersRefused: number;
  readonly markersOfGoneTopics: number;
  /** Refused for good. */
  readonly markersGivenUp: number;
  /** Offsets that a transaction was not given, because it, or its group, had as many as it may. */
  readonly offsetsRefused: number;
}

export function transactionStatistics(
  { store, markers, counters }: TransactionCoordinator,
  offsets: TransactionalOffsets,
  nowMs: number,
): TransactionStatistics {
  let [open, oldestMs, ending] = [0, nowMs, 0];
  for (const { transaction } of store.ongoing()) {
    open++;
    oldestMs = Math.min(oldestMs, transaction?.startedAtMs ?? nowMs);
  }
  for (const { transaction } of store.entries())
    if (transaction !== undefined && isPrepared(transaction)) ending++;
  return {
    ...{ ids: store.size, open, oldestOpenMs: nowMs - oldestMs, ending },
    ...{ markersPending: markers.pending, offsetsPending: offsets.pendingCount },
    ...counters,
    ...markers.counters,
    ...offsets.counters,
  };
}
