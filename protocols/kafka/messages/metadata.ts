// Metadata (key 3).

import { array, boolean, int16, int32, string, uuid } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const MetadataRequest = message(
  'MetadataRequest',
  { versions: [0, 13], flexible: 9 },
  {
    /** Version 0: empty = all topics. Later: null = all, empty = none. */
    topics: array(
      { topicId: uuid({ versions: '10+', ignorable: true }), name: string({ nullable: '10+' }) },
      { nullable: '1+' },
    ),
    allowAutoTopicCreation: boolean({ versions: '4+', default: true }),
    includeClusterAuthorizedOperations: boolean({ versions: '8-10' }),
    includeTopicAuthorizedOperations: boolean({ versions: '8+' }),
  },
);
export type MetadataRequest = MessageValue<typeof MetadataRequest>;

export const MetadataResponse = message(
  'MetadataResponse',
  { versions: [0, 13], flexible: 9 },
  {
    throttleTimeMs: int32({ versions: '3+', ignorable: true }),
    brokers: array({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: string({ versions: '1+', nullable: '1+', default: null, ignorable: true }),
    }),
    clusterId: string({ versions: '2+', nullable: '2+', default: null, ignorable: true }),
    controllerId: int32({ versions: '1+', default: -1, ignorable: true }),
    topics: array({
      errorCode: int16(),
      name: string({ nullable: '12+' }),
      topicId: uuid({ versions: '10+', ignorable: true }),
      isInternal: boolean({ versions: '1+', ignorable: true }),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32({ versions: '7+', default: -1, ignorable: true }),
        replicaNodes: array(int32()),
        isrNodes: array(int32()),
        offlineReplicas: array(int32(), { versions: '5+', ignorable: true }),
      }),
      topicAuthorizedOperations: int32({ versions: '8+', default: -2_147_483_648 }),
    }),
    clusterAuthorizedOperations: int32({ versions: '8-10', default: -2_147_483_648 }),
    errorCode: int16({ versions: '13+', ignorable: true }),
  },
);
export type MetadataResponse = MessageInput<typeof MetadataResponse>;
