// DescribeCluster (key 60).

import { array, boolean, int8, int16, int32, string } from '../wire/fields.ts';
import { type MessageInput, type MessageValue, message } from '../wire/message.ts';

export const DescribeClusterRequest = message(
  'DescribeClusterRequest',
  { versions: [0, 2], flexible: 0 },
  {
    includeClusterAuthorizedOperations: boolean(),
    /** 1 = brokers, 2 = controllers (KIP-919). */
    endpointType: int8({ versions: '1+', default: 1 }),
    includeFencedBrokers: boolean({ versions: '2+' }),
  },
);
export type DescribeClusterRequest = MessageValue<typeof DescribeClusterRequest>;

export const DescribeClusterResponse = message(
  'DescribeClusterResponse',
  { versions: [0, 2], flexible: 0 },
  {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    errorMessage: string({ nullable: '0+', default: null }),
    endpointType: int8({ versions: '1+', default: 1 }),
    clusterId: string(),
    controllerId: int32({ default: -1 }),
    brokers: array({
      brokerId: int32(),
      host: string(),
      port: int32(),
      rack: string({ nullable: '0+', default: null }),
      isFenced: boolean({ versions: '2+' }),
    }),
    clusterAuthorizedOperations: int32({ default: -2_147_483_648 }),
  },
);
export type DescribeClusterResponse = MessageInput<typeof DescribeClusterResponse>;
