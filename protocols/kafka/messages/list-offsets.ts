// ListOffsets (key 2).

import { array, int8, int16, int32, int64, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ListOffsetsRequest = message(
  'ListOffsetsRequest',
  { versions: [1, 11], flexible: 6 },
  {
    replicaId: int32(),
    isolationLevel: int8({ versions: '2+' }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        currentLeaderEpoch: int32({ versions: '4+', default: -1, ignorable: true }),
        /** −1 latest, −2 earliest, −3 largest timestamp (KIP-734), −4 and −5 tiers of storage. */
        timestamp: int64(),
      }),
    }),
    timeoutMs: int32({ versions: '10+', ignorable: true }),
  },
);
export type ListOffsetsRequest = MessageValue<typeof ListOffsetsRequest>;

export const ListOffsetsResponse = message(
  'ListOffsetsResponse',
  { versions: [1, 11], flexible: 6 },
  {
    throttleTimeMs: int32({ versions: '2+', default: 0, ignorable: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        timestamp: int64({ default: -1 }),
        offset: int64({ default: -1 }),
        leaderEpoch: int32({ versions: '4+', default: -1, ignorable: true }),
      }),
    }),
  },
);
export type ListOffsetsResponse = MessageInput<typeof ListOffsetsResponse>;
