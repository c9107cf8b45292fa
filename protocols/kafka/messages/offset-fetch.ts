// OffsetFetch (key 9).

import { array, boolean, int16, int32, int64, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const OffsetFetchRequest = message(
  'OffsetFetchRequest',
  { versions: [1, 10], flexible: 6 },
  {
    groupId: string({ versions: '0-7' }),
    /** null = all topics with a committed offset. */
    topics: array({ name: string(), partitionIndexes: array(int32()) }, { versions: '0-7', nullable: '2-7' }),
    groups: array(
      {
        groupId: string(),
        memberId: string({ versions: '9+', nullable: '0+', default: null, ignorable: true }),
        memberEpoch: int32({ versions: '9+', default: -1, ignorable: true }),
        /** null = all topics with a committed offset. */
        topics: array(
          {
            name: string({ versions: '8-9', ignorable: true }),
            topicId: uuid({ versions: '10+', ignorable: true }),
            partitionIndexes: array(int32()),
          },
          { nullable: '0+' },
        ),
      },
      { versions: '8+' },
    ),
    requireStable: boolean({ versions: '7+', default: false }),
  },
);
export type OffsetFetchRequest = MessageValue<typeof OffsetFetchRequest>;

export const OffsetFetchResponse = message(
  'OffsetFetchResponse',
  { versions: [1, 10], flexible: 6 },
  {
    throttleTimeMs: int32({ versions: '3+', default: 0, ignorable: true }),
    topics: array(
      {
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          committedOffset: int64(),
          committedLeaderEpoch: int32({ versions: '5-7', default: -1, ignorable: true }),
          metadata: string({ nullable: '0+' }),
          errorCode: int16(),
        }),
      },
      { versions: '0-7' },
    ),
    errorCode: int16({ versions: '2-7', default: 0, ignorable: true }),
    groups: array(
      {
        groupId: string(),
        topics: array({
          name: string({ versions: '8-9', ignorable: true }),
          topicId: uuid({ versions: '10+', ignorable: true }),
          partitions: array({
            partitionIndex: int32(),
            committedOffset: int64(),
            committedLeaderEpoch: int32({ default: -1 }),
            metadata: string({ nullable: '0+' }),
            errorCode: int16(),
          }),
        }),
        errorCode: int16({ default: 0 }),
      },
      { versions: '8+' },
    ),
  },
);
export type OffsetFetchResponse = MessageInput<typeof OffsetFetchResponse>;
