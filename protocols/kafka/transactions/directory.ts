// Transactions as they are listed and described: for the admin API, DescribeTransactions and ListTransactions.

import type { TransactionDirectory, TransactionView } from '../../port.ts';
import { ERROR_CODES, errorName } from '../error-codes.ts';
import { OFFSETS_TOPIC } from '../groups/group-store.ts';
import type { TransactionCoordinator } from './coordinator.ts';
import { isPrepared, type Transaction, type TransactionState } from './transaction.ts';

/** Kafka's names. */
export const STATE_NAMES: Readonly<Record<TransactionState, string>> = {
  empty: 'Empty',
  ongoing: 'Ongoing',
  'prepare-commit': 'PrepareCommit',
  'prepare-abort': 'PrepareAbort',
  'complete-commit': 'CompleteCommit',
  'complete-abort': 'CompleteAbort',
};

export function transactionDirectory(coordinator: TransactionCoordinator): TransactionDirectory {
  const { store } = coordinator;
  return {
    list: () =>
      [...store.entries()].flatMap(({ transaction }) =>
        transaction === undefined ? [] : [viewOf(transaction)],
      ),
    get: (transactionalId) => {
      const transaction = store.get(transactionalId)?.transaction;
      return transaction === undefined ? undefined : viewOf(transaction);
    },
    abort: async (transactionalId) => {
      if (store.get(transactionalId)?.transaction === undefined)
        return { error: 'unknown-transaction', message: `there is no transactional id ${transactionalId}` };
      const code = await coordinator.abort(transactionalId);
      if (code === ERROR_CODES.NONE) return undefined;
      return code === undefined
        ? { error: 'not-open', message: `transactional id ${transactionalId} has no open transaction` }
        : { error: 'unavailable', message: `${transactionalId} is not complete now: ${errorName(code)}` };
    },
  };
}

function viewOf(transaction: Transaction): TransactionView {
  const { transactionalId, producerId, producerEpoch, state, timeoutMs, updatedAtMs, groups } = transaction;
  const isOpen = state === 'ongoing' || isPrepared(transaction);
  return {
    ...{ transactionalId, producerId, producerEpoch, state, timeoutMs, updatedAtMs },
    startedAtMs: isOpen ? transaction.startedAtMs : -1,
    // Where the offsets of its groups are is nobody's concern: the groups are listed.
    partitions: [...transaction.partitions]
      .filter(([topic]) => topic !== OFFSETS_TOPIC)
      .flatMap(([topic, partitions]) => [...partitions].map((partition) => ({ topic, partition }))),
    groups: [...groups],
  };
}
