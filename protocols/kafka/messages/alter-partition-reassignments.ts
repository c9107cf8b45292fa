// AlterPartitionReassignments (key 45).

import { array, boolean, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const AlterPartitionReassignmentsRequest = message(
  'AlterPartitionReassignmentsRequest',
  { versions: [0, 1], flexible: 0 },
  {
    timeoutMs: int32({ default: 60_000 }),
    allowReplicationFactorChange: boolean({ versions: '1+', default: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        /** null = cancel a pending reassignment. */
        replicas: array(int32(), { nullable: '0+', default: null }),
      }),
    }),
  },
);
export type AlterPartitionReassignmentsRequest = MessageValue<typeof AlterPartitionReassignmentsRequest>;

export const AlterPartitionReassignmentsResponse = message(
  'AlterPartitionReassignmentsResponse',
  { versions: [0, 1], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    allowReplicationFactorChange: boolean({ versions: '1+', default: true, ignorable: true }),
    errorCode: int16(),
    errorMessage: string({ nullable: '0+', default: null }),
    responses: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: '0+', default: null }),
      }),
    }),
  },
);
export type AlterPartitionReassignmentsResponse = MessageInput<typeof AlterPartitionReassignmentsResponse>;
