// ConsumerGroupHeartbeat (key 68).

import { array, int16, int32, string, struct, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const ConsumerGroupHeartbeatRequest = message(
  'ConsumerGroupHeartbeatRequest',
  { versions: [0, 1], flexible: 0 },
  {
    groupId: string(),
    memberId: string(),
    /** 0 = join, −1 = leave, −2 = leave as a static member that will return (KIP-848). */
    memberEpoch: int32(),
    instanceId: string({ nullable: '0+', default: null }),
    rackId: string({ nullable: '0+', default: null }),
    rebalanceTimeoutMs: int32({ default: -1 }),
    subscribedTopicNames: array(string(), { nullable: '0+', default: null }),
    subscribedTopicRegex: string({ versions: '1+', nullable: '0+', default: null }),
    serverAssignor: string({ nullable: '0+', default: null }),
    topicPartitions: array(
      { topicId: uuid(), partitions: array(int32()) },
      { nullable: '0+', default: null },
    ),
  },
);
export type ConsumerGroupHeartbeatRequest = MessageValue<typeof ConsumerGroupHeartbeatRequest>;

const topicPartitions = { topicId: uuid(), partitions: array(int32()) };

export const ConsumerGroupHeartbeatResponse = message(
  'ConsumerGroupHeartbeatResponse',
  { versions: [0, 1], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    errorMessage: string({ nullable: '0+', default: null }),
    memberId: string({ nullable: '0+', default: null }),
    memberEpoch: int32(),
    heartbeatIntervalMs: int32(),
    assignment: struct({ topicPartitions: array(topicPartitions) }, { nullable: '0+', default: null }),
  },
);
export type ConsumerGroupHeartbeatResponse = MessageInput<typeof ConsumerGroupHeartbeatResponse>;
