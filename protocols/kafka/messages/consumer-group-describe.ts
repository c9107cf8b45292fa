// ConsumerGroupDescribe (key 69).

import { array, boolean, int8, int16, int32, string, struct, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ConsumerGroupDescribeRequest = message(
  'ConsumerGroupDescribeRequest',
  { versions: [0, 1], flexible: 0 },
  {
    groupIds: array(string()),
    includeAuthorizedOperations: boolean(),
  },
);
export type ConsumerGroupDescribeRequest = MessageValue<typeof ConsumerGroupDescribeRequest>;

const topicPartitions = { topicId: uuid(), topicName: string(), partitions: array(int32()) };

const assignment = { topicPartitions: array(topicPartitions) };

export const ConsumerGroupDescribeResponse = message(
  'ConsumerGroupDescribeResponse',
  { versions: [0, 1], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    groups: array({
      errorCode: int16(),
      errorMessage: string({ nullable: '0+', default: null }),
      groupId: string(),
      groupState: string(),
      groupEpoch: int32(),
      assignmentEpoch: int32(),
      assignorName: string(),
      members: array({
        memberId: string(),
        instanceId: string({ nullable: '0+', default: null }),
        rackId: string({ nullable: '0+', default: null }),
        memberEpoch: int32(),
        clientId: string(),
        clientHost: string(),
        subscribedTopicNames: array(string()),
        subscribedTopicRegex: string({ nullable: '0+', default: null }),
        assignment: struct(assignment),
        targetAssignment: struct(assignment),
        memberType: int8({ versions: '1+', default: -1, ignorable: true }),
      }),
      authorizedOperations: int32({ default: -2_147_483_648 }),
    }),
  },
);
export type ConsumerGroupDescribeResponse = MessageInput<typeof ConsumerGroupDescribeResponse>;
