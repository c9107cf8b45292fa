// OffsetDelete (key 47).

import { array, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const OffsetDeleteRequest = message(
  'OffsetDeleteRequest',
  { versions: [0, 0] },
  {
    groupId: string(),
    topics: array({ name: string(), partitions: array({ partitionIndex: int32() }) }),
  },
);
export type OffsetDeleteRequest = MessageValue<typeof OffsetDeleteRequest>;

export const OffsetDeleteResponse = message(
  'OffsetDeleteResponse',
  { versions: [0, 0] },
  {
    errorCode: int16(),
    throttleTimeMs: int32({ default: 0 }),
    topics: array({ name: string(), partitions: array({ partitionIndex: int32(), errorCode: int16() }) }),
  },
);
export type OffsetDeleteResponse = MessageInput<typeof OffsetDeleteResponse>;
