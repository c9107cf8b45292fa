// What those who write ask the coordinator of a transaction, so that nothing is written that no marker will end: records
// and offsets of a transaction go only where the coordinator knows of them (KIP-890). The coordinator may be on another
// node: answers come later. Whoever asked acts on the answer at once, in the turn of the event loop in which it came: a
// marker takes the coordinator a write to disk first, so none comes between.

import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import type { ClientVersion, ProducerClaim, TopicPartition } from './transaction.ts';

export interface TransactionVerification {
  /** The partitions, and offsets of the groups, are in the transaction when it resolves with 0: all or none. */
  add(
    claim: ProducerClaim,
    partitions: readonly TopicPartition[],
    clientVersion: ClientVersion,
    groups?: readonly string[],
  ): Promise<ErrorCode>;
  /** Whether they are in the transaction already; one code for each. */
  verify(claim: ProducerClaim, partitions: readonly TopicPartition[]): Promise<readonly ErrorCode[]>;
  /** Of the coordinator that has just answered: those of the past end nothing of what is written now. −1 = it has gone. */
  coordinatorEpochOf(transactionalId: string): number;
}

/** What the versions of an API that writes into transactions can do. */
export interface WriterVersions {
  /** From here on writing adds what is written to, and the client knows every code. */
  readonly adds: number;
  /** From here on the client knows TRANSACTION_ABORTABLE. */
  readonly knowsAbortable: number;
}

export const PRODUCE_VERSIONS: WriterVersions = { adds: 12, knowsAbortable: 11 };
export const OFFSET_COMMIT_VERSIONS: WriterVersions = { adds: 5, knowsAbortable: 4 };

/**
 * The coordinator's code as one who writes is told it: a producer that is fenced has an epoch that is not valid (47), and
 * what can be tried again is `retriable`, which does not send a client that does not know better after its coordinator.
 */
export function writerCode(
  code: ErrorCode,
  version: number,
  { adds, knowsAbortable }: WriterVersions,
  retriable: ErrorCode,
): ErrorCode {
  switch (code) {
    case ERROR_CODES.PRODUCER_FENCED:
      return ERROR_CODES.INVALID_PRODUCER_EPOCH;
    case ERROR_CODES.TRANSACTION_ABORTABLE:
      return version >= knowsAbortable ? code : ERROR_CODES.INVALID_TXN_STATE;
    case ERROR_CODES.CONCURRENT_TRANSACTIONS:
      return version >= adds ? code : retriable;
    case ERROR_CODES.NOT_COORDINATOR:
    case ERROR_CODES.COORDINATOR_NOT_AVAILABLE:
    case ERROR_CODES.COORDINATOR_LOAD_IN_PROGRESS:
      return retriable;
    default:
      return code;
  }
}
