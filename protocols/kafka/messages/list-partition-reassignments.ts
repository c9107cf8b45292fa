// ListPartitionReassignments (key 46).

import { array, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ListPartitionReassignmentsRequest = message(
  'ListPartitionReassignmentsRequest',
  { versions: [0, 0], flexible: 0 },
  {
    timeoutMs: int32({ default: 60_000 }),
    topics: array({ name: string(), partitionIndexes: array(int32()) }, { nullable: '0+', default: null }),
  },
);
export type ListPartitionReassignmentsRequest = MessageValue<typeof ListPartitionReassignmentsRequest>;

export const ListPartitionReassignmentsResponse = message(
  'ListPartitionReassignmentsResponse',
  { versions: [0, 0], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    errorMessage: string({ nullable: '0+', default: null }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        replicas: array(int32()),
        addingReplicas: array(int32()),
        removingReplicas: array(int32()),
      }),
    }),
  },
);
export type ListPartitionReassignmentsResponse = MessageInput<typeof ListPartitionReassignmentsResponse>;
