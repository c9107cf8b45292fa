// WriteTxnMarkers (key 27).

import { array, boolean, int8, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const WriteTxnMarkersRequest = message(
  'WriteTxnMarkersRequest',
  { versions: [1, 2], flexible: 1 },
  {
    markers: array({
      producerId: int64(),
      producerEpoch: int16(),
      /** True = the transaction is committed. */
      transactionResult: boolean(),
      topics: array({ name: string(), partitionIndexes: array(int32()) }),
      coordinatorEpoch: int32(),
      transactionVersion: int8({ versions: '2+', default: 0, ignorable: true }),
    }),
  },
);
export type WriteTxnMarkersRequest = MessageValue<typeof WriteTxnMarkersRequest>;

export const WriteTxnMarkersResponse = message(
  'WriteTxnMarkersResponse',
  { versions: [1, 2], flexible: 1 },
  {
    markers: array({
      producerId: int64(),
      topics: array({
        name: string(),
        partitions: array({ partitionIndex: int32(), errorCode: int16() }),
      }),
    }),
  },
);
export type WriteTxnMarkersResponse = MessageInput<typeof WriteTxnMarkersResponse>;
