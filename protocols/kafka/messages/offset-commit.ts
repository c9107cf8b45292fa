// OffsetCommit (key 8).

import { array, int16, int32, int64, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const OffsetCommitRequest = message(
  'OffsetCommitRequest',
  { versions: [2, 10], flexible: 8 },
  {
    groupId: string(),
    generationIdOrMemberEpoch: int32({ default: -1 }),
    memberId: string(),
    groupInstanceId: string({ versions: '7+', nullable: '0+', default: null }),
    retentionTimeMs: int64({ versions: '2-4', default: -1, ignorable: true }),
    topics: array({
      name: string({ versions: '0-9', ignorable: true }),
      topicId: uuid({ versions: '10+', ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32({ versions: '6+', default: -1, ignorable: true }),
        committedMetadata: string({ nullable: '0+' }),
      }),
    }),
  },
);
export type OffsetCommitRequest = MessageValue<typeof OffsetCommitRequest>;

export const OffsetCommitResponse = message(
  'OffsetCommitResponse',
  { versions: [2, 10], flexible: 8 },
  {
    throttleTimeMs: int32({ versions: '3+', default: 0, ignorable: true }),
    topics: array({
      name: string({ versions: '0-9', ignorable: true }),
      topicId: uuid({ versions: '10+', ignorable: true }),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
);
export type OffsetCommitResponse = MessageInput<typeof OffsetCommitResponse>;
