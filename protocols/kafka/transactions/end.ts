// EndTxn: the decision to commit or abort, and what comes when every marker is written. A client of KIP-890 gets another
// epoch with each end, so that nothing of the transaction can come after it; that its epoch is the one before tells that
// it asks again.

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  type ClientVersion,
  claimFault,
  LAST_CLIENT_EPOCH,
  NO_GROUPS,
  NO_PARTITIONS,
  NO_PRODUCER_ID,
  type Outcome,
  outcomeOf,
  type Transaction,
} from './transaction.ts';

export interface EndRequest {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly outcome: Outcome;
  readonly clientVersion: ClientVersion;
}

export type EndDecision =
  | { readonly kind: 'refuse'; readonly errorCode: ErrorCode }
  | { readonly kind: 'allocate' }
  /** There is nothing to commit, yet: to be told to come again, once. */
  | { readonly kind: 'nothing' }
  /** It has ended so. */
  | { readonly kind: 'done' }
  | { readonly kind: 'next'; readonly next: Transaction };

const RAISES_EPOCH = 2;

/** @param freshId as of {@link initialize}. */
export function end(
  current: Transaction,
  request: EndRequest,
  freshId: number | undefined,
  nowMs: number,
): EndDecision {
  const isRetry = request.clientVersion >= RAISES_EPOCH && asksAgain(current, request);
  const fault = claimFault(current, request);
  if (fault !== ERROR_CODES.NONE && !isRetry) return { kind: 'refuse', errorCode: fault };
  const isSame = outcomeOf(current) === request.outcome;
  switch (current.state) {
    case 'ongoing':
      return isRetry
        ? { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED }
        : prepared(current, request, freshId, nowMs);
    case 'empty':
      if (isRetry) return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
      return nothingEnded(current, request, freshId, nowMs);
    case 'prepare-commit':
    case 'prepare-abort':
      if (isOfTimeout(current, request, isRetry))
        return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
      return {
        kind: 'refuse',
        errorCode: isSame ? ERROR_CODES.CONCURRENT_TRANSACTIONS : ERROR_CODES.INVALID_TXN_STATE,
      };
    case 'complete-commit':
    case 'complete-abort':
      // A fence has taken the epoch beyond the last: the producer needs another id, and InitProducerId gives one.
      if (isRetry && current.producerEpoch > LAST_CLIENT_EPOCH)
        return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
      if (isOfTimeout(current, request, isRetry))
        return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
      if (isRetry || request.clientVersion < RAISES_EPOCH)
        return isSame ? { kind: 'done' } : { kind: 'refuse', errorCode: ERROR_CODES.INVALID_TXN_STATE };
      return nothingEnded(current, request, freshId, nowMs);
    default:
      current.state satisfies never;
      throw new Error(`transaction ${current.transactionalId} in no state`);
  }
}

/** Its epoch was raised, by the end that it asks for or by a timeout, and it has not heard of it. */
function asksAgain(current: Transaction, { producerId, producerEpoch }: EndRequest): boolean {
  if (current.producerId === producerId) return producerEpoch + 1 === current.producerEpoch;
  const hasNewId = current.previousProducerId === producerId && current.producerEpoch === 0;
  return hasNewId && producerEpoch === LAST_CLIENT_EPOCH;
}

/**
 * A commit of what a timeout or an administrator has aborted meanwhile: its own end would have been a commit. A client that
 * is fenced can begin again; 48 would be the end of it (KAFKA-20785).
 */
function isOfTimeout(current: Transaction, { outcome }: EndRequest, isRetry: boolean): boolean {
  return isRetry && outcome === 'commit' && outcomeOf(current) === 'abort';
}

/**
 * A client of KIP-890 may abort without knowing whether anything has come. What it commits and is not there may be on its
 * way: Apache's producer looks for batches that wait before it takes its next request, and where the application has
 * written and asked for the end between the two, the end overtakes its transaction. Told to come again, it sends
 * the batches first.
 */
function nothingEnded(
  current: Transaction,
  request: EndRequest,
  freshId: number | undefined,
  nowMs: number,
): EndDecision {
  if (request.clientVersion < RAISES_EPOCH)
    return { kind: 'refuse', errorCode: ERROR_CODES.INVALID_TXN_STATE };
  if (request.outcome === 'commit') return { kind: 'nothing' };
  const empty = { ...current, partitions: NO_PARTITIONS, groups: NO_GROUPS, startedAtMs: nowMs };
  return prepared(empty, request, freshId, nowMs);
}

function prepared(
  current: Transaction,
  { outcome, clientVersion }: EndRequest,
  freshId: number | undefined,
  nowMs: number,
): EndDecision {
  const state = outcome === 'commit' ? 'prepare-commit' : 'prepare-abort';
  const next: Transaction = { ...current, state, clientVersion, updatedAtMs: nowMs };
  if (clientVersion < RAISES_EPOCH) return { kind: 'next', next };
  const { producerEpoch } = current;
  const isLast = producerEpoch >= LAST_CLIENT_EPOCH;
  if (isLast && freshId === undefined) return { kind: 'allocate' };
  return {
    kind: 'next',
    next: {
      ...next,
      ...{ producerEpoch: producerEpoch + 1, lastProducerEpoch: producerEpoch },
      nextProducerId: isLast && freshId !== undefined ? freshId : NO_PRODUCER_ID,
    },
  };
}

/** After every marker. */
export function completed(prepared: Transaction, nowMs: number): Transaction {
  const state = prepared.state === 'prepare-commit' ? 'complete-commit' : 'complete-abort';
  const { producerId, producerEpoch } = toldIdentity(prepared);
  const previousProducerId =
    producerId === prepared.producerId ? prepared.previousProducerId : prepared.producerId;
  return {
    ...prepared,
    ...{ state, producerId, producerEpoch, previousProducerId, nextProducerId: NO_PRODUCER_ID },
    ...{ partitions: NO_PARTITIONS, groups: NO_GROUPS, updatedAtMs: nowMs },
  };
}

/** Who the producer is from the end on. */
export function toldIdentity({ producerId, producerEpoch, nextProducerId }: Transaction): {
  readonly producerId: number;
  readonly producerEpoch: number;
} {
  return nextProducerId === NO_PRODUCER_ID
    ? { producerId, producerEpoch }
    : { producerId: nextProducerId, producerEpoch: 0 };
}
