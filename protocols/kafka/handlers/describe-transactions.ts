// DescribeTransactions (key 65), version 0 (KIP-664): where each transaction stands and what it holds, the partitions of its
// groups' offsets included.

import { allows, type Call, defineApi } from '../api.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import {
  DescribeTransactionsRequest,
  DescribeTransactionsResponse,
} from '../messages/describe-transactions.ts';
import { STATE_NAMES } from '../transactions/directory.ts';

type Described = DescribeTransactionsResponse['transactionStates'][number];

export const describeTransactions = defineApi({
  key: 65,
  name: 'DescribeTransactions',
  min: 0,
  max: 0,
  request: DescribeTransactionsRequest,
  response: DescribeTransactionsResponse,
  handle: handleDescribeTransactions,
});

/** An id that is named twice is described once, for a few bytes would ask for as much as there is. */
function handleDescribeTransactions(
  request: DescribeTransactionsRequest,
  call: Call,
): DescribeTransactionsResponse {
  const ids = new Set(request.transactionalIds);
  return { transactionStates: [...ids].map((transactionalId) => describe(call, transactionalId)) };
}

function describe(call: Call, transactionalId: string): Described {
  const { transactions, hub } = call.kafka;
  if (!allows(call, 'describe', 'transactional-id', transactionalId))
    return refused(transactionalId, ERROR_CODES.TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  if (transactionalId === '') return refused(transactionalId, ERROR_CODES.INVALID_REQUEST);
  const availability = transactions.availability(transactionalId);
  if (availability !== ERROR_CODES.NONE) return refused(transactionalId, availability);
  const transaction = transactions.store.get(transactionalId)?.transaction;
  if (transaction === undefined) return refused(transactionalId, ERROR_CODES.TRANSACTIONAL_ID_NOT_FOUND);
  const { timeoutMs, startedAtMs, producerId, producerEpoch, partitions, state } = transaction;
  // Of its topics a client is told those that it may know of.
  const topics = [...partitions].filter(
    ([topic]) => hub.topics.get(topic)?.internal === true || allows(call, 'describe', 'topic', topic),
  );
  return {
    errorCode: ERROR_CODES.NONE,
    transactionalId,
    transactionState: STATE_NAMES[state],
    transactionTimeoutMs: timeoutMs,
    transactionStartTimeMs: startedAtMs,
    ...{ producerId, producerEpoch },
    topics: topics.map(([topic, ofTopic]) => ({ topic, partitions: [...ofTopic] })),
  };
}

function refused(transactionalId: string, errorCode: ErrorCode): Described {
  return {
    ...{ errorCode, transactionalId, transactionState: '', transactionTimeoutMs: 0 },
    ...{ transactionStartTimeMs: 0, producerId: 0, producerEpoch: 0, topics: [] },
  };
}
