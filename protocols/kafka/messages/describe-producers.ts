// DescribeProducers (key 61).

import { array, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeProducersRequest = message(
  'DescribeProducersRequest',
  { versions: [0, 0], flexible: 0 },
  {
    topics: array({ name: string(), partitionIndexes: array(int32()) }),
  },
);
export type DescribeProducersRequest = MessageValue<typeof DescribeProducersRequest>;

export const DescribeProducersResponse = message(
  'DescribeProducersResponse',
  { versions: [0, 0], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: '0+', default: null }),
        activeProducers: array({
          producerId: int64(),
          producerEpoch: int32(),
          lastSequence: int32({ default: -1 }),
          lastTimestamp: int64({ default: -1 }),
          coordinatorEpoch: int32(),
          currentTxnStartOffset: int64({ default: -1 }),
        }),
      }),
    }),
  },
);
export type DescribeProducersResponse = MessageInput<typeof DescribeProducersResponse>;
