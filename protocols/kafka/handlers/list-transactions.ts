// ListTransactions (key 66), versions 0–2 (KIP-664): by state, producer, how long they last (KIP-994) and an expression over
// their ids (KIP-1152). A state that is none is told, and then lets nothing through.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES } from '../error-codes.ts';
import { compileTopicRegex } from '../groups/consumer/topic-regex.ts';
import { ListTransactionsRequest, ListTransactionsResponse } from '../messages/list-transactions.ts';
import { STATE_NAMES } from '../transactions/directory.ts';
import type { Transaction } from '../transactions/transaction.ts';

/** States that Kafka has and no id that is listed. */
const UNSEEN_STATES = ['Dead', 'PrepareEpochFence'];
const STATES: ReadonlySet<string> = new Set([...Object.values(STATE_NAMES), ...UNSEEN_STATES]);

export const listTransactions = defineApi({
  key: 66,
  name: 'ListTransactions',
  min: 0,
  max: 2,
  request: ListTransactionsRequest,
  response: ListTransactionsResponse,
  handle: handleListTransactions,
});

function handleListTransactions(request: ListTransactionsRequest, call: Call): ListTransactionsResponse {
  const { stateFilters, transactionalIdPattern } = request;
  const pattern = transactionalIdPattern === null ? '' : transactionalIdPattern;
  const matches = pattern === '' ? () => true : compileTopicRegex(pattern);
  if (typeof matches !== 'function')
    return {
      errorCode: ERROR_CODES.INVALID_REGULAR_EXPRESSION,
      ...{ unknownStateFilters: [], transactionStates: [] },
    };
  const listed = [...call.kafka.transactions.store.entries()].flatMap(({ transaction }) =>
    transaction !== undefined &&
    isAskedFor(request, transaction, call) &&
    matches(transaction.transactionalId)
      ? [transaction]
      : [],
  );
  return {
    errorCode: ERROR_CODES.NONE,
    unknownStateFilters: stateFilters.filter((state) => !STATES.has(state)),
    transactionStates: listed.map(({ transactionalId, producerId, state }) => ({
      ...{ transactionalId, producerId },
      transactionState: STATE_NAMES[state],
    })),
  };
}

function isAskedFor(
  { stateFilters, producerIdFilters, durationFilter }: ListTransactionsRequest,
  { transactionalId, state, producerId, startedAtMs }: Transaction,
  call: Call,
): boolean {
  if (stateFilters.length > 0 && !stateFilters.includes(STATE_NAMES[state])) return false;
  if (producerIdFilters.length > 0 && !producerIdFilters.includes(producerId)) return false;
  if (durationFilter >= 0 && call.kafka.hub.clock.now() - startedAtMs <= durationFilter) return false;
  return allows(call, 'describe', 'transactional-id', transactionalId);
}
