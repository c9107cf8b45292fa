// TxnOffsetCommit (key 28).

import { array, int16, int32, int64, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const TxnOffsetCommitRequest = message(
  'TxnOffsetCommitRequest',
  { versions: [0, 6], flexible: 3 },
  {
    transactionalId: string(),
    groupId: string(),
    producerId: int64(),
    producerEpoch: int16(),
    /** Who consumed what is committed (KIP-447). */
    generationIdOrMemberEpoch: int32({ versions: '3+', default: -1 }),
    memberId: string({ versions: '3+', default: '' }),
    groupInstanceId: string({ versions: '3+', nullable: '3+', default: null }),
    topics: array({
      name: string({ versions: '0-5', ignorable: true }),
      topicId: uuid({ versions: '6+', ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32({ versions: '2+', default: -1, ignorable: true }),
        committedMetadata: string({ nullable: '0+' }),
      }),
    }),
  },
);
export type TxnOffsetCommitRequest = MessageValue<typeof TxnOffsetCommitRequest>;

export const TxnOffsetCommitResponse = message(
  'TxnOffsetCommitResponse',
  { versions: [0, 6], flexible: 3 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string({ versions: '0-5', ignorable: true }),
      topicId: uuid({ versions: '6+', ignorable: true }),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
);
export type TxnOffsetCommitResponse = MessageInput<typeof TxnOffsetCommitResponse>;
