// DeleteRecords (key 21).

import { array, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DeleteRecordsRequest = message(
  'DeleteRecordsRequest',
  { versions: [0, 2], flexible: 2 },
  {
    topics: array({ name: string(), partitions: array({ partitionIndex: int32(), offset: int64() }) }),
    timeoutMs: int32(),
  },
);
export type DeleteRecordsRequest = MessageValue<typeof DeleteRecordsRequest>;

export const DeleteRecordsResponse = message(
  'DeleteRecordsResponse',
  { versions: [0, 2], flexible: 2 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), lowWatermark: int64(), errorCode: int16() }),
    }),
  },
);
export type DeleteRecordsResponse = MessageInput<typeof DeleteRecordsResponse>;
