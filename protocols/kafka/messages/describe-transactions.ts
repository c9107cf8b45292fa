// DescribeTransactions (key 65).

import { array, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeTransactionsRequest = message(
  'DescribeTransactionsRequest',
  { versions: [0, 0], flexible: 0 },
  { transactionalIds: array(string()) },
);
export type DescribeTransactionsRequest = MessageValue<typeof DescribeTransactionsRequest>;

export const DescribeTransactionsResponse = message(
  'DescribeTransactionsResponse',
  { versions: [0, 0], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    transactionStates: array({
      errorCode: int16(),
      transactionalId: string(),
      transactionState: string(),
      transactionTimeoutMs: int32(),
      transactionStartTimeMs: int64(),
      producerId: int64(),
      producerEpoch: int16(),
      topics: array({ topic: string(), partitions: array(int32()) }),
    }),
  },
);
export type DescribeTransactionsResponse = MessageInput<typeof DescribeTransactionsResponse>;
