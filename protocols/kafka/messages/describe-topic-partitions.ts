// DescribeTopicPartitions (key 75).

import { array, boolean, int16, int32, string, struct, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeTopicPartitionsRequest = message(
  'DescribeTopicPartitionsRequest',
  { versions: [0, 0], flexible: 0 },
  {
    topics: array({ name: string() }),
    responsePartitionLimit: int32({ default: 2000 }),
    cursor: struct({ topicName: string(), partitionIndex: int32() }, { nullable: '0+', default: null }),
  },
);
export type DescribeTopicPartitionsRequest = MessageValue<typeof DescribeTopicPartitionsRequest>;

export const DescribeTopicPartitionsResponse = message(
  'DescribeTopicPartitionsResponse',
  { versions: [0, 0], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      errorCode: int16(),
      name: string({ nullable: '0+' }),
      topicId: uuid(),
      isInternal: boolean({ default: false }),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32({ default: -1 }),
        replicaNodes: array(int32()),
        isrNodes: array(int32()),
        eligibleLeaderReplicas: array(int32(), { nullable: '0+', default: null }),
        lastKnownElr: array(int32(), { nullable: '0+', default: null }),
        offlineReplicas: array(int32()),
      }),
      topicAuthorizedOperations: int32({ default: -2_147_483_648 }),
    }),
    nextCursor: struct({ topicName: string(), partitionIndex: int32() }, { nullable: '0+', default: null }),
  },
);
export type DescribeTopicPartitionsResponse = MessageInput<typeof DescribeTopicPartitionsResponse>;
