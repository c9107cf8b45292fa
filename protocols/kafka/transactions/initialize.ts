// InitProducerId of a transactional id: a new producer takes the id and fences the one before (KIP-98), or one that goes
// on after an error says who it is, and gets another epoch if nobody came between (KIP-360).

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  LAST_CLIENT_EPOCH,
  NO_EPOCH,
  NO_GROUPS,
  NO_PARTITIONS,
  NO_PRODUCER_ID,
  type Transaction,
} from './transaction.ts';

export interface InitRequest {
  readonly transactionalId: string;
  readonly timeoutMs: number;
  /** Who the producer says it is; undefined = it has just begun. */
  readonly expected: { readonly producerId: number; readonly producerEpoch: number } | undefined;
}

export type InitDecision =
  | { readonly kind: 'refuse'; readonly errorCode: ErrorCode }
  /** Another id is wanted, and the decision to be made again with it. */
  | { readonly kind: 'allocate' }
  /** To be written; then the producer is told who it is. */
  | { readonly kind: 'next'; readonly next: Transaction }
  /** What is open is to be aborted first; the producer asks again. */
  | { readonly kind: 'abort'; readonly next: Transaction };

/** @param freshId a producer id that nobody has; undefined = none was allocated. */
export function initialize(
  current: Transaction | undefined,
  request: InitRequest,
  freshId: number | undefined,
  nowMs: number,
): InitDecision {
  if (current === undefined)
    return freshId === undefined
      ? { kind: 'allocate' }
      : { kind: 'next', next: firstOf(request, freshId, nowMs) };
  if (!mayGoOn(current, request)) return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
  switch (current.state) {
    case 'prepare-commit':
    case 'prepare-abort':
      return { kind: 'refuse', errorCode: ERROR_CODES.CONCURRENT_TRANSACTIONS };
    case 'ongoing':
      // The epoch that this takes is told to nobody: the producer asks again and gets the one after.
      return { kind: 'abort', next: fenced(current, nowMs) };
    case 'empty':
    case 'complete-commit':
    case 'complete-abort':
      return raised(current, request, freshId, nowMs);
    default:
      current.state satisfies never;
      throw new Error(`transaction ${current.transactionalId} in no state`);
  }
}

/** The epoch itself is looked at when it is raised, and not at all while something is open, as Kafka has it. */
function mayGoOn(current: Transaction, { expected }: InitRequest): boolean {
  if (expected === undefined || expected.producerId === current.producerId) return true;
  // It was given another id when its epochs ran out, and did not hear of it.
  return expected.producerId === current.previousProducerId && expected.producerEpoch >= LAST_CLIENT_EPOCH;
}

function raised(
  current: Transaction,
  request: InitRequest,
  freshId: number | undefined,
  nowMs: number,
): InitDecision {
  const { expected, timeoutMs } = request;
  const { producerEpoch, lastProducerEpoch } = current;
  const isCurrent = expected === undefined || expected.producerEpoch === producerEpoch;
  if (!isCurrent && expected.producerEpoch !== lastProducerEpoch)
    return { kind: 'refuse', errorCode: ERROR_CODES.PRODUCER_FENCED };
  const next: Transaction = {
    ...current,
    ...{ state: 'empty', timeoutMs, partitions: NO_PARTITIONS, groups: NO_GROUPS },
    ...{ nextProducerId: NO_PRODUCER_ID, startedAtMs: -1, updatedAtMs: nowMs },
  };
  const told = expected === undefined ? NO_EPOCH : expected.producerEpoch;
  if (producerEpoch > LAST_CLIENT_EPOCH || (producerEpoch === LAST_CLIENT_EPOCH && isCurrent)) {
    if (freshId === undefined) return { kind: 'allocate' };
    const previousProducerId = current.producerId;
    return {
      kind: 'next',
      next: { ...next, producerId: freshId, producerEpoch: 0, lastProducerEpoch: told, previousProducerId },
    };
  }
  // It had asked before: the answer was lost.
  if (!isCurrent) return { kind: 'next', next };
  return { kind: 'next', next: { ...next, producerEpoch: producerEpoch + 1, lastProducerEpoch: told } };
}

/** Aborted, and whoever has the present epoch writes no more: for a new producer, a timeout and administrators. */
export function fenced(current: Transaction, nowMs: number): Transaction {
  const { producerEpoch } = current;
  return {
    ...current,
    ...{ state: 'prepare-abort', updatedAtMs: nowMs },
    ...{ producerEpoch: producerEpoch + 1, lastProducerEpoch: producerEpoch },
  };
}

function firstOf(
  { transactionalId, timeoutMs }: InitRequest,
  producerId: number,
  nowMs: number,
): Transaction {
  return {
    ...{ transactionalId, producerId, timeoutMs },
    ...{ state: 'empty', producerEpoch: 0, lastProducerEpoch: NO_EPOCH },
    ...{ previousProducerId: NO_PRODUCER_ID, nextProducerId: NO_PRODUCER_ID },
    ...{
      partitions: NO_PARTITIONS,
      groups: NO_GROUPS,
      startedAtMs: -1,
      updatedAtMs: nowMs,
      clientVersion: 0,
    },
  };
}
