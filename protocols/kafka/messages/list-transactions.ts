// ListTransactions (key 66).

import { array, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ListTransactionsRequest = message(
  'ListTransactionsRequest',
  { versions: [0, 2], flexible: 0 },
  {
    stateFilters: array(string()),
    producerIdFilters: array(int64()),
    /** Milliseconds that a transaction has lasted at least; negative = any. */
    durationFilter: int64({ versions: '1+', default: -1 }),
    /** RE2 (KIP-1152); null or empty = any. */
    transactionalIdPattern: string({ versions: '2+', nullable: '2+', default: null }),
  },
);
export type ListTransactionsRequest = MessageValue<typeof ListTransactionsRequest>;

export const ListTransactionsResponse = message(
  'ListTransactionsResponse',
  { versions: [0, 2], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    unknownStateFilters: array(string()),
    transactionStates: array({
      transactionalId: string(),
      producerId: int64(),
      transactionState: string(),
    }),
  },
);
export type ListTransactionsResponse = MessageInput<typeof ListTransactionsResponse>;
