// OffsetForLeaderEpoch (key 23).

import { array, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const OffsetForLeaderEpochRequest = message(
  'OffsetForLeaderEpochRequest',
  { versions: [2, 4], flexible: 4 },
  {
    replicaId: int32({ versions: '3+', default: -2, ignorable: true }),
    topics: array({
      topic: string(),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32({ default: -1 }),
        leaderEpoch: int32(),
      }),
    }),
  },
);
export type OffsetForLeaderEpochRequest = MessageValue<typeof OffsetForLeaderEpochRequest>;

export const OffsetForLeaderEpochResponse = message(
  'OffsetForLeaderEpochResponse',
  { versions: [2, 4], flexible: 4 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      topic: string(),
      partitions: array({
        errorCode: int16(),
        partition: int32(),
        leaderEpoch: int32({ default: -1 }),
        endOffset: int64({ default: -1 }),
      }),
    }),
  },
);
export type OffsetForLeaderEpochResponse = MessageInput<typeof OffsetForLeaderEpochResponse>;
